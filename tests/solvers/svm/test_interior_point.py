"""The interior-point method: identities of its problems, the equations of its steps, its certificates."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.svm import NuSVC as PeerNuSVC
from sklearn.svm import OneClassSVM as PeerOneClassSVM

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm import interior_point
from separatrix.solvers.svm.interior_point import (
    BoxProblem,
    Columns,
    KernelMatrix,
    ScaledFactor,
    low_rank,
    solve_interior_point,
)

CANCER, ILL = load_breast_cancer(return_X_y=True)


def two_classes(n=80, d=4, shift=1.0, seed=0):
    """Signed samples y_i x_i of overlapping classes, and y."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    return (rng.normal(size=(n, d)) + shift * np.maximum(y, 0.0)[:, None]) * y[:, None], y


def soft(y, C):
    return BoxProblem(
        np.broadcast_to(np.asarray(C, float), y.shape).copy(), y[:, None], np.zeros(1), 1.0
    )


def dual_value(V, problem, a):
    w = V.T @ a
    return problem.margin * a.sum() - 0.5 * w @ w


def primal_value(V, problem, w, levels):
    short = np.maximum(0.0, problem.margin - V @ w - problem.sides @ levels)
    return 0.5 * w @ w + problem.box @ short + problem.totals @ levels


# ---- identities --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_columns_and_their_kernel_matrix_have_the_same_optimum(C):
    V, y = two_classes()
    problem = soft(y, C)

    by_columns = solve_interior_point(Columns(V, problem.sides), problem)
    by_matrix = solve_interior_point(KernelMatrix(V @ V.T, problem.sides), problem)

    assert max(by_columns.gap, by_matrix.gap) <= 1e-10
    values = [dual_value(V, problem, fit.alpha) for fit in (by_columns, by_matrix)]
    np.testing.assert_allclose(*values, rtol=1e-9)
    np.testing.assert_allclose(by_columns.margins, by_matrix.margins, atol=1e-4)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e6])
def test_the_gap_is_that_of_its_weights_levels_and_coefficients(C):
    V, y = two_classes()
    problem, quadratic = soft(y, C), Columns(V, y[:, None])

    fit = solve_interior_point(quadratic, problem)

    w = fit.weights / quadratic.scale
    primal = primal_value(V, problem, w, fit.levels)
    assert ((fit.alpha > 0.0) & (fit.alpha < C)).all()
    assert abs(y @ fit.alpha) <= 1e-9 * fit.alpha.sum()
    np.testing.assert_allclose(fit.margins, V @ w + y * fit.levels, atol=1e-9)
    np.testing.assert_allclose(primal, dual_value(V, problem, fit.alpha), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_dividing_a_column_by_a_number_and_its_weight_too_changes_nothing(seed):
    """|w|^2 = sum_j (c_j v_j)^2 for the weights v = w / c of the columns c_j V_j: another ridge."""
    V, y = two_classes(seed=seed)
    problem = soft(y, 1.0)
    plain, other = Columns(V, problem.sides), Columns(V, problem.sides)
    other.scale = plain.scale * 10.0 ** np.random.default_rng(seed).uniform(-6, 6, V.shape[1])
    other.ridge = other.scale**-2.0
    other.with_sides = np.concatenate([V / other.scale, problem.sides], axis=1)
    other.V = other.with_sides[:, : V.shape[1]]

    one, two = (solve_interior_point(quadratic, problem) for quadratic in (plain, other))

    assert max(one.gap, two.gap) <= 1e-10
    np.testing.assert_allclose(two.weights / other.scale, one.weights / plain.scale, atol=1e-6)
    np.testing.assert_allclose(two.margins, one.margins, atol=1e-6)
    np.testing.assert_allclose(two.alpha.sum(), one.alpha.sum(), rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_any_scale_take_few_steps(seed):
    V, y = two_classes(n=200, d=6, seed=seed)
    V *= 10.0 ** np.random.default_rng(seed).uniform(-6, 6, 6)
    for C in (1e-2, 1.0, 1e4):
        fit = solve_interior_point(Columns(V, y[:, None]), soft(y, C))
        assert fit.gap <= 1e-8
        assert fit.n_iter <= 60


def test_multiplying_all_columns_and_dividing_bounds_by_the_square_is_the_same_problem():
    """With x -> s x, C -> C / s^2 the optimum is D / s^2 and a / s^2."""
    V, y = two_classes()
    s = 1024.0

    fit = solve_interior_point(Columns(V, y[:, None]), soft(y, 2.0))
    scaled = solve_interior_point(Columns(s * V, y[:, None]), soft(y, 2.0 / s**2))

    values = dual_value(V, soft(y, 2.0), fit.alpha), dual_value(s * V, soft(y, 1.0), scaled.alpha)
    np.testing.assert_allclose(values[1] * s**2, values[0], rtol=1e-6)
    np.testing.assert_allclose(scaled.margins, fit.margins, atol=1e-3)


def test_bounds_that_differ_by_row_are_those_of_repeated_rows():
    V, y = two_classes(n=40)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted, repeated = soft(y, 0.5 * times), soft(np.repeat(y, times), 0.5)

    one = solve_interior_point(Columns(V, weighted.sides), weighted)
    other = solve_interior_point(Columns(np.repeat(V, times, axis=0), repeated.sides), repeated)

    assert (one.alpha < weighted.box).all()
    sums = np.add.reduceat(other.alpha, np.r_[0, np.cumsum(times)[:-1]])
    np.testing.assert_allclose(
        dual_value(V, weighted, one.alpha), dual_value(V, weighted, sums), rtol=1e-9
    )
    np.testing.assert_allclose(np.repeat(one.margins, times), other.margins, atol=1e-4)


def test_without_a_given_sum_there_is_no_intercept():
    V, y = two_classes()
    problem = BoxProblem(np.full(len(y), 3.0), np.zeros((len(y), 0)), np.zeros(0), 1.0)

    for quadratic in (Columns(V, problem.sides), KernelMatrix(V @ V.T, problem.sides)):
        fit = solve_interior_point(quadratic, problem)
        assert fit.gap <= 1e-10
        assert fit.levels.shape == (0,)
        short = np.maximum(0.0, 1.0 - V @ (V.T @ fit.alpha))
        primal = 0.5 * np.square(V.T @ fit.alpha).sum() + 3.0 * short.sum()
        np.testing.assert_allclose(primal, dual_value(V, problem, fit.alpha), rtol=1e-6)


# ---- hard margins ------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [True, False])
def test_a_hard_margin_meets_its_conditions_and_leaves_few_coefficients(columns):
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(-2, 0.5, (6, 2)), rng.normal(2, 0.5, (9, 2))]
    y = np.repeat([-1.0, 1.0], [6, 9])
    V, problem = X * y[:, None], soft(y, np.inf)
    quadratic = Columns(V, problem.sides) if columns else KernelMatrix(V @ V.T, problem.sides)

    fit = solve_interior_point(quadratic, problem)

    assert fit.bounded
    assert fit.n_iter <= 25
    np.testing.assert_allclose(fit.alpha @ y, 0.0, atol=1e-9)
    assert (fit.margins >= 1.0 - 1e-6).all()
    assert 2 <= np.count_nonzero(fit.alpha > 1e-6 * fit.alpha.max()) <= 3
    np.testing.assert_allclose(fit.margins[fit.alpha > 1e-3 * fit.alpha.max()], 1.0, atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("columns", [True, False])
def test_only_classes_that_a_hyperplane_separates_are_bounded(seed, columns):
    """A linear program says which are; infinite bounds ask for it."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), np.repeat([-1.0, 1.0], 6)
    X[6:] += rng.choice([0.5, 1.5, 3.0])
    V = X * y[:, None]
    program = linprog(np.zeros(4), -np.c_[V, y], -np.ones(12), bounds=[(None, None)] * 4)
    quadratic = Columns(V, y[:, None]) if columns else KernelMatrix(V @ V.T, y[:, None])

    fit = solve_interior_point(quadratic, soft(y, np.inf))

    assert fit.bounded == (program.status == 0)


def test_a_row_of_infinite_bound_beside_others_has_its_margin():
    V, y = two_classes()
    box = np.ones(len(y))
    box[[3, 50]] = np.inf
    problem = BoxProblem(box, y[:, None], np.zeros(1), 1.0)

    fit = solve_interior_point(Columns(V, problem.sides), problem)

    assert fit.bounded
    assert fit.gap <= 1e-8
    assert (fit.margins[[3, 50]] >= 1.0 - 1e-6).all()
    assert (fit.margins < 0.9).any()


# ---- nu machines -------------------------------------------------------------------------------


def separated(n=60, seed=2):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], n // 2)
    X = rng.normal(size=(n, 3)) + 2.0 * np.maximum(y, 0.0)[:, None]
    return np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2)), y


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("factor", [True, False])
def test_one_given_sum_without_a_margin_is_the_one_class_machine(nu, factor):
    K, _ = separated()
    n = len(K)
    problem = BoxProblem(np.ones(n), np.ones((n, 1)), np.array([nu * n]), 0.0)
    G = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    quadratic = Columns(G, problem.sides) if factor else KernelMatrix(K, problem.sides)

    fit = solve_interior_point(quadratic, problem)

    peer = PeerOneClassSVM(nu=nu, kernel="precomputed", tol=1e-6).fit(K)
    theirs = np.zeros(n)
    theirs[peer.support_] = peer.dual_coef_[0]
    assert fit.gap <= 1e-9
    np.testing.assert_allclose(fit.alpha.sum(), nu * n, rtol=1e-9)
    np.testing.assert_allclose(fit.alpha @ K @ fit.alpha, theirs @ K @ theirs, rtol=1e-5)
    np.testing.assert_allclose(fit.margins[fit.alpha > 0.9].max(initial=0.0), 0.0, atol=1e-4)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("factor", [True, False])
def test_two_given_sums_without_a_margin_are_the_nu_machine(nu, factor):
    K, y = separated()
    n, sides = len(K), np.stack([y > 0, y < 0], axis=1).astype(float)
    problem = BoxProblem(np.ones(n), sides, np.full(2, nu * n / 2), 0.0)
    G, Q = np.linalg.cholesky(K + 1e-12 * np.eye(n)), K * np.outer(y, y)
    quadratic = Columns(G * y[:, None], sides) if factor else KernelMatrix(Q, sides)

    fit = solve_interior_point(quadratic, problem)

    peer = PeerNuSVC(nu=nu, kernel="precomputed", tol=1e-6).fit(K, y)
    theirs = np.zeros(n)
    theirs[peer.support_] = np.abs(peer.dual_coef_[0])
    theirs *= nu * n / theirs.sum()  # they divide by the margin
    assert fit.gap <= 1e-8
    np.testing.assert_allclose(sides.T @ fit.alpha, nu * n / 2, rtol=1e-9)
    np.testing.assert_allclose(fit.alpha @ Q @ fit.alpha, theirs @ Q @ theirs, rtol=1e-4)


# ---- steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("columns", [True, False])
def test_a_newton_system_is_solved(columns, m):
    """All first-order equations of a step, from the change that the factor gives."""
    rng = np.random.default_rng(4)
    V, sides = rng.normal(size=(12, 5)), rng.choice([-1.0, 1.0], (12, m))
    quadratic = Columns(V, sides) if columns else KernelMatrix(V @ V.T, sides)
    precisions, rows = rng.uniform(0.1, 10.0, (2, 12))
    residual, sums = rng.normal(size=5 if columns else 0), rng.normal(size=m)

    da, dw, levels = quadratic.newton(precisions).solve(rows, residual, sums)

    scores = quadratic.V @ dw if columns else V @ V.T @ da
    np.testing.assert_allclose(da / precisions + scores + sides @ levels, rows, atol=1e-10)
    np.testing.assert_allclose(sides.T @ da, sums, atol=1e-10)
    if columns:
        np.testing.assert_allclose(quadratic.ridge * dw - quadratic.V.T @ da, residual, atol=1e-10)


@pytest.mark.parametrize("columns", [True, False])
def test_a_whole_step_meets_the_linear_equations_from_any_point(columns):
    """Sums, slacks and margins are linear: a full step would meet them, a share of it that share."""
    rng = np.random.default_rng(5)
    V, y = two_classes(n=20, d=3)
    problem = soft(y, 2.0)
    quadratic = Columns(V, problem.sides) if columns else KernelMatrix(V @ V.T, problem.sides)
    a, s, t, x = rng.uniform(0.1, 1.0, (4, 20))
    w, levels = rng.normal(size=3 if columns else 0), rng.normal(size=1)
    point = interior_point._Point(a, s, t, x, w, levels)

    def misses(at):
        margins = quadratic.scores(at.w, at.a) + problem.sides @ at.levels
        return np.concatenate([
            problem.totals - problem.sides.T @ at.a,
            problem.box - at.a - at.s,
            problem.margin - margins - at.x + at.t,
            quadratic.residual(at.w, at.a) if columns else np.empty(0),
        ])  # fmt: skip

    margins = quadratic.scores(point.w, point.a) + problem.sides @ point.levels
    moved = interior_point._step(quadratic, problem, point, np.zeros(20, bool), margins)

    share = misses(moved) / misses(point)
    np.testing.assert_allclose(share, share[0], atol=1e-6)
    assert 0.0 <= share[0] < 1.0
    assert min(part.min() for part in moved[:4]) > 0.0


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
def test_raw_breast_cancer_takes_at_most_40_steps(C):
    y = np.where(ILL == 1, 1.0, -1.0)
    quadratic = Columns((CANCER - CANCER.mean(axis=0)) * y[:, None], y[:, None])

    fit = solve_interior_point(quadratic, soft(y, C))

    assert fit.n_iter <= 40
    assert fit.gap <= 1e-9
    known = {1.0: 48.875726, 1e2: 2892.0885, 1e4: 177682.66}  # of PIQP, an independent solver
    if C in known:
        value = dual_value((CANCER - CANCER.mean(axis=0)) * y[:, None], soft(y, C), fit.alpha)
        np.testing.assert_allclose(value, known[C], rtol=1e-6)


def test_a_monitor_ends_the_steps_at_the_best_point_so_far():
    V, y = two_classes()
    told = []

    class Third(FitMonitor):
        def should_stop(self):
            told.append(0)
            return len(told) == 3

    fit = solve_interior_point(Columns(V, y[:, None]), soft(y, 1.0), Third())
    whole = solve_interior_point(Columns(V, y[:, None]), soft(y, 1.0), FitMonitor())

    assert len(told) == 3
    assert fit.n_iter <= 2
    assert whole.gap < fit.gap
    assert ((fit.alpha > 0.0) & (fit.alpha < 1.0)).all()


# ---- factors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 3, 10])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_a_factor_of_low_rank_makes_its_matrix(rank, size):
    A = size * np.random.default_rng(6).normal(size=(40, rank))
    K = A @ A.T

    G = low_rank(K)

    assert G.shape == (40, rank)
    np.testing.assert_allclose(G @ G.T, K, atol=1e-12 * np.abs(K).max())


def test_a_matrix_of_high_rank_has_no_factor_of_low_rank():
    assert low_rank(np.eye(4)) is None
    assert low_rank(np.kron(np.eye(2), np.ones((2, 2)))).shape == (4, 2)


def test_a_factor_leaves_its_matrix_and_solves_however_it_is_scaled():
    rng = np.random.default_rng(7)
    A = rng.normal(size=(6, 6))
    scale = 10.0 ** rng.uniform(-8, 8, 6)
    K = (A @ A.T + np.eye(6)) * np.outer(scale, scale)
    kept = K.copy()
    wanted = rng.normal(size=6) / scale

    found = ScaledFactor.of(K, np.zeros(6)).solve(K @ wanted)

    np.testing.assert_array_equal(K, kept)
    np.testing.assert_allclose(found * scale, wanted * scale, rtol=1e-8, atol=1e-10)


def test_a_matrix_that_rounding_made_indefinite_gets_a_small_nugget():
    K = np.ones((3, 3))
    K[0, 0] -= 1e-14
    z = ScaledFactor.of(K, np.zeros(3)).solve(np.full(3, 3.0))
    np.testing.assert_allclose(K @ z, 3.0, rtol=1e-6)
    with pytest.raises(np.linalg.LinAlgError):
        ScaledFactor.of(np.array([[1.0, 3.0], [3.0, 1.0]]), np.zeros(2))
