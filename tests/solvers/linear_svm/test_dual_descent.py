import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as Peer

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.dual_descent import (
    LinearProblem,
    LinearSamples,
    balance,
    solve_dual,
    spread,
)
from separatrix.solvers.linear_svm.hinge import solve_hinge
from separatrix.solvers.linear_svm.primal_newton import solve_newton

LOSSES = ("hinge", "squared_hinge")
STORED = {
    "dense": lambda X: X,
    "sparse": csr_array,
    "ones": lambda X: csr_array((X > 0.5).astype(float)),
    "mostly zero": lambda X: np.where(X > 1.0, X, 0.0),
}


def made(seed=0, n=60, d=5, flip=0.15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.3 > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < flip, -y, y)


def problem_of(X, y, *, loss="hinge", C=1.0, bias_step=1.0):
    price = C * np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    return LinearProblem(LinearSamples.of(X), y, price, loss, bias_step)


def newton_steps(problem, *, tol=1e-9, max_iter=300):
    """The way to the minimum of this loss that takes Newton steps."""
    if problem.loss == "hinge":
        return solve_hinge(problem, gap=tol, max_iter=max_iter, monitor=FitMonitor())
    return solve_newton(problem, tol=tol, max_iter=max_iter)


def certificate(problem, fit):
    """Both objectives from the formulas, feature by feature, whatever the solver says."""
    X = problem.samples.X
    X = X.toarray() if not isinstance(X, np.ndarray) else X
    y, price, s = problem.y, problem.price, problem.bias_step
    slack = np.maximum(0, 1 - y * (X @ fit.w + fit.b))
    bias = fit.b**2 / s if 0 < s < np.inf else 0.0
    power = 1 if problem.loss == "hinge" else 2
    primal = (fit.w @ fit.w + bias) / 2 + price @ slack**power
    assert (fit.a >= 0).all()
    w, total = X.T @ (fit.a * y), fit.a @ y
    dual = fit.a.sum() - w @ w / 2
    if problem.loss == "hinge":
        assert (fit.a <= price * (1 + 1e-12)).all()
    else:
        dual -= np.sum(fit.a**2 / price) / 4
    if np.isinf(s):
        assert abs(total) <= 1e-9 * max(1, fit.a.sum())
    else:
        dual -= s * total**2 / 2
    return primal, dual


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("bias_step", [0.0, 1.0, 9.0, np.inf])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_objectives_meet_and_are_what_the_formulas_say(loss, bias_step, stored):
    X, y = made()
    problem = problem_of(STORED[stored](X), y, loss=loss, bias_step=bias_step)
    dual_fit = solve_dual(problem, tol=1e-7, max_iter=20_000, seed=3)
    newton_fit = newton_steps(problem, tol=1e-8)
    for fit, gap in ((dual_fit, 1e-5), (newton_fit, 1e-7)):
        primal, dual = certificate(problem, fit)
        assert fit.stop == "tol"
        assert fit.objective == pytest.approx(primal, rel=1e-12)
        assert fit.dual_objective == pytest.approx(dual, rel=1e-10)
        assert -1e-12 <= fit.gap < gap


@pytest.mark.parametrize("bias_step", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("loss", LOSSES)
def test_coordinate_descent_and_newton_find_the_same_weights(loss, bias_step):
    problem = problem_of(*made(1), loss=loss, bias_step=bias_step)
    dual = solve_dual(problem, tol=1e-9, max_iter=100_000, seed=3)
    newton = newton_steps(problem)
    np.testing.assert_allclose(newton.w, dual.w, atol=1e-6)
    assert newton.b == pytest.approx(dual.b, abs=1e-5)


def test_dense_and_sparse_rows_take_the_same_steps():
    X, y = made(2)
    fits = [
        solve_dual(problem_of(samples, y), tol=1e-4, max_iter=500, seed=3)
        for samples in (X, csr_array(X))
    ]
    np.testing.assert_allclose(fits[0].a, fits[1].a, atol=1e-10)
    assert fits[0].n_iter == fits[1].n_iter


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_no_higher_than_liblinears(loss):
    X, y = made(3, n=200, d=20)
    problem = problem_of(X, y, loss=loss)._replace(price=np.ones(200))
    fit = solve_dual(problem, tol=1e-4, max_iter=2000, seed=3)
    peer = Peer(loss=loss, dual=True, random_state=0, max_iter=100_000).fit(X, y)
    theirs = fit._replace(w=peer.coef_[0], b=peer.intercept_[0])
    assert fit.objective <= certificate(problem, theirs)[0] * (1 + 1e-6)


def test_a_free_bias_gives_the_machine_of_svc():
    X, y = made(4)
    problem = problem_of(X, y, bias_step=np.inf)._replace(price=np.full(60, 0.7))
    fit = solve_dual(problem, tol=1e-8, max_iter=100_000, seed=3)
    peer = SVC(kernel="linear", C=0.7, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(fit.w, peer.coef_[0], atol=1e-5)
    assert fit.b == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_a_start_at_the_optimum_stays_there():
    problem = problem_of(*made(5))
    first = solve_dual(problem, tol=1e-6, max_iter=5000, seed=3)
    again = solve_dual(problem, tol=1e-6, max_iter=5000, seed=9, start=first.a)
    assert again.n_iter < first.n_iter / 3
    np.testing.assert_allclose(again.w, first.w, atol=1e-5)


def test_one_side_alone_lies_on_its_own_side_of_a_free_bias():
    X, _ = made(8)
    for side in (-1.0, 1.0):
        problem = problem_of(X, np.full(60, side), bias_step=np.inf)
        fit = solve_dual(problem, tol=1e-4, max_iter=100, seed=3)
        assert (fit.objective, fit.dual_objective, fit.b) == (0.0, 0.0, side)


def test_the_spread_counts_only_what_may_still_move():
    gradient = np.array([2.0, -3.0, 5.0, -7.0])
    assert spread(gradient, np.array([0.0, 1.0, 1.0, 0.0]), np.ones(4)) == 12.0
    assert spread(gradient, np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)) == 0.0


def test_balanced_variables_are_feasible_and_no_larger():
    rng = np.random.default_rng(0)
    a, y = rng.random(20), np.where(rng.random(20) < 0.3, 1.0, -1.0)
    even = balance(a, y)
    assert even @ y == pytest.approx(0.0, abs=1e-12)
    assert (even <= a).all()
    np.testing.assert_array_equal(balance(np.zeros(3), np.array([1.0, -1.0, 1.0])), np.zeros(3))


def test_products_with_sparse_samples_are_those_of_dense_ones():
    X, _ = made(7, n=6, d=4)
    X[X < 0.2] = 0.0
    for c in (np.array([1.0, 0.0, 2.0, -1.0, 0.5, 1.0]), np.zeros(6)):
        np.testing.assert_allclose(LinearSamples.of(csr_array(X)).combine(c), X.T @ c, atol=1e-14)
        np.testing.assert_allclose(LinearSamples.of(X).combine(c), X.T @ c, atol=1e-14)
    w = np.array([1.0, -2.0, 0.0, 0.5])
    np.testing.assert_allclose(LinearSamples.of(csr_array(X)).times(w), X @ w, atol=1e-14)
