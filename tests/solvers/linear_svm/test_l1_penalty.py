import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC as Peer
from tests.solvers.linear_svm.test_dual_descent import made

from separatrix.solvers.linear_svm.l1_penalty import columns_of, solve_l1


def solved(X, y, *, C=1.0, constant=1.0, free=False, **more):
    penalty = np.ones(X.shape[1] + 1)
    penalty[-1] = 0.0 if free else 1.0
    more = {"tol": 1e-9, "max_iter": 20_000, "seed": 3} | more
    return solve_l1(columns_of(X, constant), y, np.full(len(y), C), penalty, **more)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_the_bound_from_below_is_feasible_and_meets_the_objective(C, free):
    X, y = made()
    fit = solved(X, y, C=C, free=free)
    slack = np.maximum(0, 1 - y * (X @ fit.w + fit.b))
    cost = np.abs(fit.w).sum() + (0.0 if free else abs(fit.b))
    assert fit.objective == pytest.approx(cost + C * slack @ slack, rel=1e-12)
    assert (fit.a >= 0).all()
    assert np.abs(X.T @ (fit.a * y)).max() <= 1 + 1e-12
    assert abs(fit.a @ y) <= (1e-9 if free else 1 + 1e-12)
    assert fit.dual_objective == pytest.approx(fit.a.sum() - fit.a @ fit.a / C / 4)
    assert fit.stop == "tol"
    assert -1e-12 <= fit.gap < 1e-4


def test_weights_are_liblinears_and_the_same_ones_are_zero():
    X, y = made(1, n=100, d=15)
    fit = solved(X, y, C=0.05)
    peer = Peer(penalty="l1", dual=False, C=0.05, tol=1e-10, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(fit.w, peer.coef_[0], atol=1e-5)
    np.testing.assert_array_equal(fit.w == 0, peer.coef_[0] == 0)
    assert 0 < np.count_nonzero(fit.w == 0) < 15


def test_dense_and_sparse_samples_take_the_same_steps():
    X, y = made(2)
    dense, sparse = solved(X, y), solved(csr_array(X), y)
    np.testing.assert_array_equal(dense.w, sparse.w)
    assert dense.n_iter == sparse.n_iter


def test_without_a_constant_there_is_no_bias():
    assert solved(*made(3), constant=0.0).b == 0.0


@pytest.mark.parametrize("max_iter", [1, 3])
def test_the_bound_from_below_holds_also_after_few_passes(max_iter):
    X, y = made(4)
    best = solved(X, y, free=True).objective
    fit = solved(X, y, free=True, max_iter=max_iter)
    assert abs(fit.a @ y) < 1e-9 * fit.a.sum()
    assert np.abs(X.T @ (fit.a * y)).max() <= 1 + 1e-12
    assert fit.dual_objective <= best * (1 + 1e-9)
