import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from tests.solvers.linear_svm.test_dual_descent import made, problem_of

import separatrix.solvers.linear_svm.primal_newton as module
from separatrix.solvers.linear_svm.dual_descent import solve_dual
from separatrix.solvers.linear_svm.primal_newton import solve_newton


def test_the_squared_hinge_is_where_a_general_minimiser_ends():
    X, y = made(1, n=40, d=3)
    problem = problem_of(X, y, loss="squared_hinge")

    def objective(v):
        z = y * (X @ v[:-1] + v[-1])
        return v @ v / 2 + problem.price @ np.maximum(0, 1 - z) ** 2

    reference = minimize(objective, np.zeros(4), tol=1e-12)
    fit = solve_newton(problem, tol=1e-10, max_iter=50)
    np.testing.assert_allclose(np.append(fit.w, fit.b), reference.x, atol=1e-5)
    assert fit.objective <= reference.fun + 1e-10


@pytest.mark.parametrize("samples", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("bias_step", [0.0, 1.0, np.inf])
def test_conjugate_gradients_find_what_factoring_finds(bias_step, samples, monkeypatch):
    X, y = made(3)
    problem = problem_of(samples(X), y, loss="squared_hinge", bias_step=bias_step)
    direct = solve_newton(problem, tol=1e-8, max_iter=300)
    monkeypatch.setattr(module, "DIRECT", 0)
    without = solve_newton(problem, tol=1e-8, max_iter=300)
    assert without.stop == "tol"
    np.testing.assert_allclose(without.w, direct.w, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_the_curvature_is_held_once_conjugate_gradients_cost_as_much(samples, monkeypatch):
    X, y = made(7, n=320, d=300)
    held = []
    follow = module.HingeCurvature.follow
    monkeypatch.setattr(
        module.HingeCurvature, "follow", lambda *args: (held.append(1), follow(*args))
    )
    monkeypatch.setattr(module, "SLOWER", 1)  # as if samples were wider
    easy = problem_of(samples(X), y, C=1e-3, loss="squared_hinge")
    few = solve_newton(easy, tol=1e-6, max_iter=300)
    assert few.stop == "tol"
    assert not held

    hard = problem_of(samples(X * np.logspace(0, 3, 300)), y, C=100.0, loss="squared_hinge")
    many = solve_newton(hard, tol=1e-6, max_iter=300)
    assert many.stop == "tol"
    assert held
    monkeypatch.setattr(module, "FEWEST", np.inf)
    for problem, fit in ((easy, few), (hard, many)):
        direct = solve_newton(problem, tol=1e-6, max_iter=300)
        np.testing.assert_allclose(fit.objective, direct.objective, rtol=1e-6)


def test_curvature_kept_up_to_date_is_the_curvature_summed_anew(monkeypatch):
    X, y = made(4, n=300, d=6)
    for samples in (X, csr_array(X)):
        problem = problem_of(samples, y, loss="squared_hinge", C=10.0)
        kept = solve_newton(problem, tol=1e-6, max_iter=300)
        monkeypatch.setattr(module, "REFRESH", 0)
        anew = solve_newton(problem, tol=1e-6, max_iter=300)
        monkeypatch.undo()
        np.testing.assert_allclose(kept.w, anew.w, atol=1e-7)
        assert abs(kept.n_iter - anew.n_iter) <= 3


def test_a_start_at_the_optimum_stays_there():
    problem = problem_of(*made(5), loss="squared_hinge")
    first = solve_dual(problem, tol=1e-7, max_iter=50_000, seed=3)
    again = solve_newton(problem, tol=1e-6, max_iter=300, start=first)
    assert again.n_iter < solve_newton(problem, tol=1e-6, max_iter=300).n_iter / 2
    np.testing.assert_allclose(again.w, first.w, atol=1e-5)


def test_the_line_search_ends_where_the_slope_is_all_but_gone():
    rng = np.random.default_rng(0)
    raw, dz, cap = rng.normal(size=50), rng.normal(size=50), rng.random(50)
    linear = -5.0 + np.clip(raw, 0, cap) @ dz

    def slope(s):
        return linear + s * 0.1 - np.clip(raw - s * 2.0 * dz, 0, cap) @ dz

    length = module.line_length(raw, 2.0 * dz, dz, cap, linear, 0.1)
    assert length > 0
    assert abs(slope(length)) <= 0.1 * abs(slope(0.0))
    assert module.line_length(raw, 2.0 * dz, dz, cap, linear + 6.0, 0.1) == 0.0


def plain_length(raw, rate, dz, cap, linear, quadratic):
    """Newton's method on the slope, within brackets: doubled while there is no upper one, else halved."""

    def slope(s):
        force = raw - s * rate
        bends = (force >= 0.0) & (force <= cap)
        value = linear + s * quadratic - np.clip(force, 0.0, cap) @ dz
        return value, quadratic + (rate * dz)[bends].sum()

    first = -slope(0.0)[0]
    low, high, s = 0.0, np.inf, 1.0
    if first <= 0.0:
        return 0.0
    for _ in range(99):
        value, bend = slope(s)
        if abs(value) <= module.LINE * first:
            return s
        low, high = (low, s) if value > 0 else (s, high)
        s = s - value / bend if bend > 0.0 else np.nan
        if not low < s < high:
            s = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low


def test_the_line_search_takes_newtons_steps_within_brackets():
    one = np.ones(1)
    # flat, then rising to a slope of 1, then flat again: no step of Newton's helps on the flat parts
    for reach in np.geomspace(0.3, 60.0, 40):
        given = reach * one, one, one, 3.0 * one, 1.0, 0.0
        assert module.line_length(*given) == pytest.approx(plain_length(*given), rel=1e-12)
    for linear in (-10.0, -1.0, -0.5, 0.0, 0.5):
        for quadratic in (0.0, 0.25, 0.5, 11.0):
            given = np.zeros(1), one, np.zeros(1), one, linear, quadratic
            assert module.line_length(*given) == pytest.approx(plain_length(*given), rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 5))
        raw, dz, cap = rng.integers(-2, 5, n) / 2.0, rng.integers(-2, 3, n) / 2.0, rng.random(n)
        cap = np.where(rng.random(n) < 0.3, np.inf, cap)
        given = raw, rng.choice([0.5, 2.0]) * dz, dz, cap, *rng.choice([[-2.0, 0.1], [0.5, 0.0]])
        assert module.line_length(*given) == pytest.approx(plain_length(*given), rel=1e-9)


def test_a_slope_that_is_a_tenth_of_the_first_ends_the_line_search():
    nothing = np.zeros(1)
    assert module.line_length(nothing, nothing, nothing, nothing, -10.0, 11.0) == 1.0
    # a slope that never rises: doubled to the end
    assert module.line_length(nothing, nothing, nothing, nothing, -1.0, 0.0) == 2.0**98
