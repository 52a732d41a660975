"""Nearest neighbours on a card: the same rows, ties included, and the same distances."""

import numpy as np
from tests.gpu.at_hand import case, clouds, digits, mnist, size

from separatrix import KNeighborsClassifier


def require_the_same_neighbors(X, y, asked, k=7, **parameters):
    here, there = (
        KNeighborsClassifier(k, device=device, **parameters).fit(X, y) for device in ("cpu", "cuda")
    )
    (far_here, rows_here), (far_there, rows_there) = (
        model.kneighbors(asked) for model in (here, there)
    )
    np.testing.assert_array_equal(rows_there, rows_here)
    np.testing.assert_allclose(far_there, far_here, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(there.predict(asked), here.predict(asked))


def test_rows_and_distances_are_those_of_the_cpu():
    many = size(5000, 800)
    for n, d in ((500, 2), (many, 20), (many, 300)):
        X, y = clouds(n, d, seed=d)
        asked, _ = clouds(400, d, seed=d + 1)
        for k in (1, 5, 40):
            with case(n, d, k):
                require_the_same_neighbors(X, y, asked, k)


def test_among_equal_distances_the_lower_row_is_nearer_there_too():
    rng = np.random.default_rng(0)
    X, asked = (
        rng.integers(0, 3, (2000, 3)).astype(float),
        rng.integers(0, 3, (200, 3)).astype(float),
    )
    require_the_same_neighbors(X, rng.integers(0, 4, 2000), asked, 15)


def test_samples_far_from_the_origin_lose_no_digits():
    X, y = clouds(2000, 10)
    asked, _ = clouds(300, 10, seed=9)
    require_the_same_neighbors(X + 1e6, y, asked + 1e6)


def test_samples_twice_in_the_data_are_both_found():
    X, y = digits(800)
    require_the_same_neighbors(np.concatenate([X, X]), np.concatenate([y, y]), X[:200], 6)


def test_without_samples_to_ask_each_row_is_left_out_of_its_own():
    X, y = digits(600)
    here, there = (KNeighborsClassifier(4, device=d).fit(X, y) for d in ("cpu", "cuda"))
    for mine, theirs in zip(there.kneighbors(None), here.kneighbors(None), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_mnist_has_the_neighbors_of_the_cpu():
    X, y, asked, _ = mnist(20_000)
    require_the_same_neighbors(X, y, asked, 5)
