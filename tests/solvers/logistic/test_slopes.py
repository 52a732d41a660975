"""Steps of L-BFGS where scores lose their slope: the guess of the Hessian follows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from separatrix import LogisticRegression
from separatrix.solvers.logistic.block_sums import head_moments_of, moments_of, slope_of, squares_of
from separatrix.types import Block


@pytest.mark.parametrize(("C", "most"), [(1.0, 130), (1e4, 400)])
def test_separated_digits_take_few_steps(C, most):
    X, y = load_digits(return_X_y=True)  # 265 and 1,098 steps with the guess at weights of 0
    model = LogisticRegression(C=C, max_iter=2000).fit(X, y)
    assert model.solver_.startswith("L-BFGS")
    assert model.n_iter_[0] <= most
    exact = LogisticRegression(C=C, max_iter=2000, tol=1e-9).fit(X, y)
    assert model.objective_ <= exact.objective_ * (1.0 + 1e-5)


def test_separated_sparse_samples_take_few_steps():
    rng = np.random.default_rng(0)
    n, d, k = 600, 2000, 5
    y = np.arange(n) % k
    signs = np.where(rng.random((k, d)) < 0.01, rng.random((k, d)), 0.0)
    X = csr_array(np.where(rng.random((n, d)) < 0.01, rng.random((n, d)), 0.0) + signs[y])
    model = LogisticRegression(C=1000.0, max_iter=2000).fit(X, y)
    assert model.solver_.startswith("L-BFGS")
    assert model.n_iter_[0] <= 60


def test_sums_weighted_by_slopes_are_those_of_weighted_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    theta, weights = rng.normal(size=(3, 5)), rng.random(30)
    scores = X @ theta[:, :4].T + theta[:, 4]
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    slopes = weights * (P * (1.0 - P)).mean(axis=1)
    at, position = {"theta": theta, "intercept": True}, np.array([0, -1, 1, -1, -1])
    for samples in (X, csr_array(X)):
        block = Block(samples, y, weights)
        np.testing.assert_allclose(slope_of(block, **at), slopes.sum())
        np.testing.assert_allclose(squares_of(block, **at), slopes @ X**2)
        moments = moments_of(block, **at)
        np.testing.assert_allclose(moments[:4, :4], (X * slopes[:, None]).T @ X, atol=1e-12)
    head = head_moments_of(block, position=position, **at)
    np.testing.assert_allclose(head, (X * slopes[:, None]).T[[0, 2]] @ X[:, [0, 2]])


def test_a_start_that_meets_the_tolerance_is_returned_as_it_is():
    X, y = load_digits(return_X_y=True)
    first = LogisticRegression(C=1.0, tol=1e-3, max_iter=500, warm_start=True).fit(X, y)
    before = first.coef_.copy()
    again = first.set_params(tol=1e-2).fit(X, y)
    assert again.n_iter_[0] == 0
    np.testing.assert_array_equal(again.coef_, before)
