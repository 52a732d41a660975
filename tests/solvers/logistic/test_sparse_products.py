import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix import LogisticRegression
from separatrix.solvers.logistic.sparse_products import (
    add_products,
    head_moments,
    scores_of,
    squares_of,
)
from separatrix.types import Block


def sparse_samples(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return csr_array(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3))


@pytest.mark.parametrize("kind", ["float64", "float32", "long columns"])
@pytest.mark.parametrize("p", [1, 2, 7])
def test_products_are_those_of_dense_samples(p, kind):
    X, rng = sparse_samples(40, 9), np.random.default_rng(1)
    X = X.astype(np.float32) if kind == "float32" else X
    if kind == "long columns":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    theta, R = rng.normal(size=(p, 10)), rng.normal(size=(p, 40))
    gradient = np.ones((p, 10), order="F")
    dense = X.toarray().astype(np.float64)

    np.testing.assert_allclose(scores_of(X, theta), theta[:, :9] @ dense.T, atol=1e-12)
    add_products(X, R, gradient)
    np.testing.assert_allclose(gradient[:, :9], 1.0 + R @ dense, atol=1e-12)
    np.testing.assert_array_equal(gradient[:, 9], 1.0)


@pytest.mark.parametrize("every", [1, 3])
def test_moments_of_some_features_are_those_of_dense_samples(every):
    X, weights = sparse_samples(40, 9), np.random.default_rng(1).random(40)
    head = np.array([2, 3, 7, 9])  # 9: the intercept
    position = np.full(10, -1)
    position[head] = np.arange(4)

    found = head_moments(Block(X, np.zeros(40, int), weights), position=position, every=every)

    part = np.column_stack([X.toarray(), np.ones(40)])[::every, head]
    np.testing.assert_allclose(found, part.T @ (weights[::every, None] * part), atol=1e-12)
    squares = weights @ X.toarray() ** 2
    np.testing.assert_allclose(squares_of(X, weights), squares, atol=1e-12)


def test_values_stored_twice_do_not_overflow():
    X = csr_array((np.ones(60), np.zeros(60, int), np.array([0, 60])), shape=(1, 2))
    position = np.array([0, -1, 1])
    found = head_moments(Block(X, np.zeros(1, int), np.ones(1)), position=position, every=1)
    assert found.shape == (2, 2)
    assert np.isfinite(found).all()


def words(n, d, k, seed=0):
    """Sparse rows like texts: some words are everywhere, others belong to a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    usual = np.minimum(rng.pareto(1.0, size=(n, 30)) * d / 50, d - 1).astype(int)
    own = rng.integers(d, size=(k, 30))[y]
    chosen = np.where(rng.random(usual.shape) < 0.2, own, usual)
    X = csr_array((np.ones(n * 30), (np.repeat(np.arange(n), 30), chosen.ravel())), shape=(n, d))
    return X / np.sqrt(30), y


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("k", [2, 5])
def test_a_default_fit_of_texts_ends_within_a_millionth_of_the_minimum(k, C):
    X, y = words(600, 2000, k)
    usual = LogisticRegression(C=C).fit(X, y)
    exact = LogisticRegression(C=C, tol=1e-9, max_iter=2000).fit(X, y)
    assert usual.objective_ <= exact.objective_ * (1 + 1e-6)
    assert usual.gradient_ <= usual.tol
    assert usual.n_iter_[0] < 50


def test_without_a_prior_frequent_words_are_no_trouble():
    X, y = words(600, 2000, 3)
    rng = np.random.default_rng(2)
    y = rng.permutation(y)  # no words tell the classes apart, yet 2000 weights separate 600 samples
    with pytest.warns(match="separated"):
        model = LogisticRegression(C=np.inf, max_iter=30).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.95
