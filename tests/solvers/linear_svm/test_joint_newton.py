import numpy as np
import pytest
from sklearn.datasets import make_classification

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm import joint_newton as module
from separatrix.solvers.linear_svm.dual_descent import LinearProblem, LinearSamples
from separatrix.solvers.linear_svm.joint_newton import solve_newton_jointly
from separatrix.solvers.linear_svm.primal_newton import solve_newton


def several(d, *, n=400, p=4, weighted=False):
    rng = np.random.default_rng(d)
    y = rng.integers(p, size=n)
    X = rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((p, d))[y] / np.sqrt(d)
    Y = np.where(y == np.arange(p)[:, None], 1.0, -1.0)
    price = np.where(Y > 0, 2.0, 0.5) if weighted else np.ones((p, n))
    return LinearSamples.of(X), Y, price


@pytest.mark.parametrize("bias_step", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", ["pairs", "factoring", "products"])
def test_each_boundary_is_that_of_newtons_method_alone(bias_step, weighted, way, monkeypatch):
    if way != "pairs":
        monkeypatch.setattr(module, "PAIRS", 0)
    if way == "products":
        monkeypatch.setattr(module, "MANY_FEATURES", 1)
        monkeypatch.setattr(module, "ROUNDS", 0.0)
    samples, Y, price = several(12, weighted=weighted)

    found = solve_newton_jointly(samples, Y, price, bias_step=bias_step, tol=1e-8, max_iter=50)

    for c, fit in enumerate(found):
        problem = LinearProblem(samples, Y[c], price[c], "squared_hinge", bias_step)
        alone = solve_newton(problem, tol=1e-8, max_iter=50)
        assert fit.stop == "tol"
        assert fit.objective == pytest.approx(alone.objective, rel=1e-9)
        assert fit.gap <= 1e-8
        np.testing.assert_allclose(fit.w, alone.w, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("d", [5, 40, 300])
def test_threads_and_groups_of_boundaries_do_not_change_the_result(d, monkeypatch):
    samples, Y, price = several(d)
    how = {"bias_step": 1.0, "tol": 1e-6, "max_iter": 50}
    together = solve_newton_jointly(samples, Y, price, **how)
    threaded = solve_newton_jointly(samples, Y, price, threads=3, **how)
    monkeypatch.setattr(module, "CURVATURE_BYTES", 8 * d * d)
    one_by_one = solve_newton_jointly(samples, Y, price, **how)
    for first, second, third in zip(together, threaded, one_by_one, strict=True):
        np.testing.assert_allclose(second.w, first.w, rtol=1e-9, atol=1e-12)
        assert third.objective == pytest.approx(first.objective, rel=1e-6)


def test_a_cancelled_fit_says_so():
    samples, Y, price = several(5)
    monitor = FitMonitor()
    monitor.cancel()
    found = solve_newton_jointly(
        samples, Y, price, bias_step=1.0, tol=1e-6, max_iter=50, monitor=monitor
    )
    assert {fit.stop for fit in found} == {"stopped"}


def test_boundaries_whose_gap_is_wide_are_not_called_solved():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    sides = np.where(y == np.arange(3)[:, None], 1.0, -1.0)
    samples = LinearSamples.of(X + 1e9)
    fits = solve_newton_jointly(
        samples, sides, np.ones_like(sides), bias_step=1.0, tol=1e-4, max_iter=1000
    )
    assert all(fit.gap <= 1e-3 or fit.stop == "max_iter" for fit in fits)
