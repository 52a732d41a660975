import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.logistic.sparse_products import (
    add_products,
    head_moments,
    scores_of,
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


@pytest.mark.parametrize("head", [[2, 3, 7, 9], [2, 3, 7], [0, 8], [9]])  # 9: the intercept
def test_moments_of_some_features_are_those_of_dense_samples(head):
    X, weights = sparse_samples(40, 9), np.random.default_rng(1).random(40)
    position = np.full(10, -1)
    position[head] = np.arange(len(head))

    found = head_moments(Block(X, np.zeros(40, int), weights), position=position)

    part = np.column_stack([X.toarray(), np.ones(40)])[:, head]
    np.testing.assert_allclose(found, part.T @ (weights[:, None] * part), atol=1e-12)


def test_values_stored_twice_do_not_overflow():
    X = csr_array((np.ones(60), np.zeros(60, int), np.array([0, 60])), shape=(1, 2))
    position = np.array([0, -1, 1])
    found = head_moments(Block(X, np.zeros(1, int), np.ones(1)), position=position)
    assert found.shape == (2, 2)
    assert np.isfinite(found).all()
