"""Grams of sequences and graphs: every form has the values of the kernel's own blocks."""

import numpy as np
import pytest
from scipy.sparse import random_array

from separatrix.data.graph import Graph
from separatrix.kernels import (
    BagOfWords,
    Normalized,
    ShortestPath,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)
from separatrix.kernels.gram import CachedGram, LazyGram, SharedProducts, kernel_blocks, make_gram
from separatrix.kernels.prepared import Vectors
from separatrix.kernels.products import products_by_column

RNG = np.random.default_rng(0)
STRINGS = ["".join(RNG.choice(list("ACGT"), RNG.integers(0, 20))) for _ in range(60)]


def _graph(rng):
    n = int(rng.integers(1, 9))
    pairs = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.4])
    return Graph(n, pairs.reshape(-1, 2).astype(int), rng.integers(0, 3, n))


GRAPHS = [_graph(RNG) for _ in range(60)]
KERNELS = [
    Spectrum(2),
    Normalized(Spectrum(3, shortest=1, weights=(1.0, 2.0, 0.5))),
    WeightedDegree(4),
    2.0 * Normalized(WeightedDegree(3)),
    Normalized(Subsequence(3, 0.7)),
    Spectrum(2) + Normalized(Spectrum(2)),
    Spectrum(1) * Spectrum(3),
    BagOfWords() + Subsequence(2),
    Normalized(WeisfeilerLehman(3)),
    ShortestPath() * VertexHistogram(),
]


def _samples(kernel):
    objects = np.empty(60, dtype=object)
    objects[:] = STRINGS if kernel.takes == "sequences" else GRAPHS
    return objects


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_held_cached_and_lazy_have_the_values_of_the_blocks(kernel):
    X = _samples(kernel)
    order = np.random.default_rng(1).permutation(60)
    expected = kernel.block(X, X.copy())[np.ix_(order, order)]

    held = make_gram(kernel, X, order=order)
    cached = make_gram(kernel, X, order=order, memory=200 * 60 * 8, hold=False)
    lazy = make_gram(kernel, X, order=order, memory=20 * 60 * 8)

    assert isinstance(cached, CachedGram)
    assert type(lazy) is LazyGram
    np.testing.assert_allclose(held.matrix, expected, rtol=1e-12, atol=1e-14)
    for gram in (held, cached, lazy):
        rows = np.array([5, 1, 59])
        np.testing.assert_allclose(
            gram.tile(rows, slice(None)), expected[rows], rtol=1e-12, atol=1e-14
        )
        np.testing.assert_allclose(gram.diagonal(), np.diagonal(expected), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_blocks_for_prediction_have_the_values_of_the_kernel(kernel):
    X = _samples(kernel)
    expected = kernel.block(X[:25], X[25:])
    for rows, values in kernel_blocks(kernel, X[:25], X[25:]):
        np.testing.assert_allclose(values, expected[rows], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernels",
    [
        [Normalized(WeisfeilerLehman(h)) for h in (3, 0, 2)],
        [Spectrum(k) for k in (1, 3, 2)] + [Spectrum(3, shortest=1, weights=(4, 2, 1))],
        [Normalized(WeightedDegree(k)) for k in (2, 5, 1)],
        [Subsequence(k, 0.5) for k in (1, 4, 2)] + [Normalized(Subsequence(3, 0.5))],
        [WeisfeilerLehman(1), ShortestPath(), Normalized(WeisfeilerLehman(2)), ShortestPath()],
    ],
    ids=lambda kernels: repr(kernels[0]),
)
def test_kernels_of_a_family_share_their_levels(kernels):
    X = _samples(kernels[0])
    for kernel, gram in zip(kernels, SharedProducts(X).grams(kernels), strict=True):
        np.testing.assert_allclose(gram.matrix, kernel.block(X, X), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(gram.diagonal(), kernel.diagonal(X), rtol=1e-12)


def test_all_rounds_come_from_one_scan_of_the_graphs(monkeypatch):
    calls = []
    find = WeisfeilerLehman.encode
    monkeypatch.setattr(
        WeisfeilerLehman, "encode", lambda self, *args: calls.append(1) or find(self, *args)
    )
    kernels = [Normalized(WeisfeilerLehman(h)) for h in range(6)]
    for _ in SharedProducts(_samples(kernels[0])).grams(kernels):
        pass
    assert len(calls) == 1


def test_levels_that_do_not_fit_the_memory_are_not_kept():
    kernels = [Spectrum(k) for k in (1, 2, 3)]
    X = _samples(kernels[0])
    for kernel, gram in zip(
        kernels, SharedProducts(X, memory=4 * 60 * 60 * 8).grams(kernels), strict=True
    ):
        np.testing.assert_allclose(
            gram.tile(np.arange(60), slice(None)), kernel.block(X, X), rtol=1e-12, atol=1e-14
        )


@pytest.mark.parametrize("density", [0.001, 0.02, 0.3])
def test_products_found_through_the_columns_are_the_products(density):
    rng = np.random.default_rng(0)
    X, Z = (
        random_array((m, 200), density=density, random_state=rng, format="csr", dtype=np.float64)
        for m in (300, 150)
    )
    np.testing.assert_allclose(
        products_by_column(X, Z, None), (X @ Z.T).toarray(), rtol=1e-12, atol=1e-15
    )
    whole = Vectors(X, np.zeros(300), None, None).own_products(2)
    np.testing.assert_allclose(whole, (X @ X.T).toarray(), rtol=1e-12, atol=1e-15)
