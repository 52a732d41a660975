"""The parts of the linear solvers, each against dense algebra or the formula it stands for."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.solvers.linear_svm.test_dual_descent import made, problem_of

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm import (
    dual_descent,
    joint_newton,
    newton_products,
    primal_newton,
)
from separatrix.solvers.linear_svm.boundary_stops import BoundaryStops
from separatrix.solvers.linear_svm.dual_descent import LinearSamples, certify, solve_dual
from separatrix.solvers.linear_svm.primal_newton import HingeCurvature, SquaredHinge, solve_newton
from separatrix.solvers.linear_svm.shrinking import DescentState, draw_next, leave_out
from separatrix.solvers.rows import rows_of

WRAP = 2**64 - 1


def setting(loss="squared_hinge", bias_step=1.0, stored=np.asarray, n=30, d=4):
    X, y = made(5, n=n, d=d)
    problem = problem_of(stored(X), y, loss=loss, bias_step=bias_step)
    rng = np.random.default_rng(0)
    problem = problem._replace(price=rng.uniform(0.5, 2.0, n))
    w, b = rng.normal(size=d), 0.4
    return X, y, problem, w, b


@pytest.mark.parametrize("bias_step", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objectives_are_those_of_the_formulas(loss, bias_step):
    X, y, problem, w, b = setting(loss, bias_step)
    z = y * (X @ w + b)
    np.testing.assert_allclose(problem.margins(w, b), z)
    slack = np.maximum(0, 1 - z) ** (1 if loss == "hinge" else 2)
    penalty = 0.0 if bias_step in (0.0, np.inf) else b * b / bias_step
    primal = 0.5 * (w @ w + penalty) + problem.price @ slack
    assert problem.primal(w, b, z) == pytest.approx(primal)
    a = np.random.default_rng(1).uniform(0, 0.5, len(y))
    own = X.T @ (a * y)
    np.testing.assert_allclose(problem.weights(a), own)
    ridge = 0.0 if loss == "hinge" else (a**2 / (2 * problem.price)).sum()
    bias = 0.0 if np.isinf(bias_step) else bias_step * (a @ y) ** 2
    assert problem.dual(a, own) == pytest.approx(a.sum() - 0.5 * (own @ own + bias + ridge))
    fit = certify(problem, own, 0.1, a, n_iter=3, stop="tol")
    feasible = dual_descent.balance(a, y) if np.isinf(bias_step) else a
    assert fit.dual_objective == pytest.approx(problem.dual(feasible, X.T @ (feasible * y)))
    assert fit.violation == problem.violation(a, problem.margins(own, 0.1))
    given = certify(problem, w, b, a, n_iter=3, stop="tol", violation=0.25)
    assert (given.violation, given.n_iter) == (0.25, 3)
    assert given.dual_objective == pytest.approx(problem.dual(feasible, X.T @ (feasible * y)))
    assert given.objective == pytest.approx(primal)


def test_dense_rows_of_many_zeros_are_read_as_sparse_ones():
    most = int(dual_descent.MAX_DENSITY * 32)
    for count, sparse in ((most, True), (most + 1, False)):
        X = np.zeros(32)
        X[:count] = 3.0
        found = LinearSamples.of(X.reshape(4, 8))
        assert isinstance(found.rows.indptr, np.ndarray) == sparse
        np.testing.assert_allclose(found.squares, (X.reshape(4, 8) ** 2).sum(axis=1))
        plain = LinearSamples.of(X.reshape(4, 8), seek_zeros=False)
        assert not isinstance(plain.rows.indptr, np.ndarray)
    np.testing.assert_allclose(LinearSamples.of(csr_array(X.reshape(4, 8))).squares, found.squares)


@pytest.mark.parametrize("stored", [np.asarray, csr_array])
@pytest.mark.parametrize("bias_step", [0.0, 2.0, np.inf])
def test_newtons_direction_solves_its_system(bias_step, stored):
    X, y, problem, w, b = setting("squared_hinge", bias_step, stored)
    curve = SquaredHinge(problem)
    point = curve.point(w, b, problem.margins(w, b))
    force = np.maximum(2.0 * problem.price * (1.0 - point.z), 0.0)
    np.testing.assert_allclose(point.force, force)
    np.testing.assert_allclose(point.g, w - X.T @ (force * y))
    g_bias = 0.0 if bias_step == 0.0 else problem.bias_price * b - force @ y
    assert point.g_bias == pytest.approx(g_bias)
    scale = 1.0 if np.isinf(bias_step) else bias_step
    assert point.square(problem) == pytest.approx(point.g @ point.g + scale * g_bias**2)

    bent = point.raw > 0.0
    A = np.c_[X, np.ones(30)][bent] * np.sqrt(curve.slope[bent])[:, None]
    H = A.T @ A + np.diag([1.0] * 4 + [problem.bias_price])
    gradient = np.append(point.g, point.g_bias)
    size = 5 if bias_step else 4
    expected = np.linalg.solve(H[:size, :size], -gradient[:size])
    v, v_bias = HingeCurvature(problem).direction(bent, curve.slope, point, FitMonitor())
    np.testing.assert_allclose(np.append(v, v_bias)[:size], expected, rtol=1e-9)
    found = newton_products.approach_direction(
        problem, bent, curve.slope, gradient, FitMonitor(), 50
    )
    assert found.solved
    assert 1 <= found.steps <= 5
    left = gradient[:size] + H[:size, :size] @ np.append(*found.direction)[:size]
    assert np.linalg.norm(left) <= 0.021 * np.linalg.norm(gradient)
    cut = newton_products.approach_direction(problem, bent, curve.slope, gradient, FitMonitor(), 1)
    assert (cut.steps, cut.solved) == (1, False)


def test_conjugate_gradients_are_plain_ones_with_a_diagonal():
    X, _, problem, _, _ = setting()
    slope, bent = 2.0 * problem.price, np.arange(30) < 20
    gradient = np.random.default_rng(2).normal(size=5)
    A = np.c_[X, np.ones(30)][bent] * np.sqrt(slope[bent])[:, None]
    H = A.T @ A + np.diag([1.0] * 4 + [problem.bias_price])
    x, r = np.zeros(5), -gradient
    z = p = r / np.diag(H)
    for _ in range(2):
        step = (r @ z) / (p @ H @ p)
        x, r, before = x + step * p, r - step * (H @ p), r @ z
        z = r / np.diag(H)
        p = z + (r @ z) / before * p
    found = newton_products.approach_direction(problem, bent, slope, gradient, FitMonitor(), 2)
    np.testing.assert_allclose(np.append(*found.direction), x, rtol=1e-9)


@pytest.mark.parametrize("bias_step", [0.0, 1.0, np.inf])
def test_a_certificate_recomputed_from_scratch_meets_the_tolerance_in_few_steps(bias_step):
    X, y, problem, _, _ = setting("squared_hinge", bias_step, n=60)
    fit = solve_newton(problem, tol=1e-6, max_iter=200)
    z = problem.margins(fit.w, fit.b)
    assert fit.stop == "tol"
    assert fit.n_iter <= 10
    size = max(1.0, fit.objective)
    assert -1e-14 * size <= fit.objective - fit.dual_objective <= 1e-6 * size  # below 0: rounding
    force = 2.0 * problem.price * np.maximum(1 - z, 0)
    g = np.append(fit.w - X.T @ (force * y), 0.0)
    at_zero = np.append(X.T @ (2.0 * problem.price * y), 0.0)
    if bias_step:
        g[-1] = (0.0 if np.isinf(bias_step) else fit.b / bias_step) - force @ y
        at_zero[-1] = 2.0 * problem.price @ y
    fewer = min((y > 0).sum(), (y < 0).sum()) / len(y)
    reached = np.linalg.norm(g) / (fewer * np.linalg.norm(at_zero))
    assert fit.violation == pytest.approx(reached, rel=1e-3, abs=1e-13)
    cut = solve_newton(problem, tol=1e-6, max_iter=1)
    assert (cut.n_iter, cut.stop) == (1, "max_iter")


@pytest.mark.parametrize("max_iter", [1, 7])
def test_passes_of_a_free_bias_are_counted_over_all_rounds(max_iter):
    _, _, problem, _, _ = setting("squared_hinge", np.inf)
    fit = solve_dual(problem, tol=1e-12, max_iter=max_iter, seed=3)
    assert (fit.n_iter, fit.stop) == (max_iter, "max_iter")
    whole = solve_dual(problem, tol=1e-6, max_iter=100_000, seed=3)
    assert whole.stop == "tol"
    assert abs(whole.a @ problem.y) <= 2e-6
    assert -1e-9 <= whole.gap <= 1e-5


def test_draws_are_those_of_the_published_generator():
    active, state = np.array([10, 11, 12, 13, 14]), 12345
    plain = active.tolist()
    random = np.uint64(state)
    for met in range(4):
        random, drawn = draw_next(active, met, 5, np.uint64(random))
        state ^= state >> 12
        state ^= (state << 25) & WRAP
        state ^= state >> 27
        chosen = met + ((((state * 0x2545F4914F6CDD1D) & WRAP) >> 32) * (5 - met) >> 32)
        plain[chosen], plain[met] = plain[met], plain[chosen]
        assert (int(random), int(drawn)) == (state, plain[met])
        assert active.tolist() == plain
    assert leave_out(active, 1, 4) == 3
    assert active[[1, 3]].tolist() == [plain[3], plain[1]]


def test_a_descent_runs_until_it_meets_its_tolerance_or_its_limits():
    state, told = DescentState.start(np.arange(3), [0.0], 5), []
    monitor = FitMonitor(None, told.append)
    answers = iter([False, False, True])

    def some_steps():
        state.progress[2] += 1
        return next(answers)

    assert state.run(some_steps, 10, monitor) == "tol"
    assert (state.passes, len(told)) == (3, 2)
    assert state.run(lambda: True, 3, monitor) == "max_iter"
    assert state.progress.tolist() == [0, 3, 3]
    monitor.should_stop = lambda: True
    assert state.run(lambda: False, 4, monitor) == "stopped"


def test_conjugate_gradients_may_cost_half_of_what_the_curvature_does(monkeypatch):
    """The allowance grows by half of H's cost, and each step takes off its own."""
    X, _, problem, w, b = setting(n=30, d=4)
    curve = SquaredHinge(problem)
    point = curve.point(w, b, problem.margins(w, b))
    bent = point.raw > 0.0
    count, values = np.count_nonzero(bent) + 1, 5
    monkeypatch.setattr(primal_newton, "CALLS", 0)
    monkeypatch.setattr(primal_newton, "FEWEST", 1)
    for solved in (True, False):
        asked = []

        def approach(problem, bent, slope, gradient, monitor, most, solved=solved, asked=asked):
            asked.append(most)
            return newton_products.ApproachedDirection((gradient[:-1], 0.0), 3, solved)

        monkeypatch.setattr(primal_newton, "approach_direction", approach)
        curvature = HingeCurvature(problem, allowance=1e6)
        curvature.cheaper_direction(bent, curve.slope, point, FitMonitor())
        product = 8 * 4 * count * values
        assert curvature.allowance == pytest.approx(1e6 + 0.5 * 4**3 / 3 - 3 * product)
        assert asked == [5]
        assert (curvature.slope is None) == solved
    first = HingeCurvature(problem)
    first.cheaper_direction(bent, curve.slope, point, FitMonitor())
    assert first.allowance == pytest.approx(0.5 * (4**3 / 3 + count * values * 4))
    assert len(asked) == 1  # not even one was affordable
    sparse = HingeCurvature(problem._replace(samples=LinearSamples.of(csr_array(X))))
    sparse.cheaper_direction(bent, curve.slope, point, FitMonitor())
    assert sparse.allowance == pytest.approx(0.5 * (4**3 / 3 + count * values * 8 * values))


def test_rows_that_began_to_bend_are_counted():
    _, _, problem, _, _ = setting()
    curvature, slope = HingeCurvature(problem), np.ones(30)
    bent = np.arange(30) < 12
    assert curvature.rows_to_add(bent) == 12
    curvature.follow(bent, slope, FitMonitor())
    assert curvature.rows_to_add(np.arange(30) < 14) == 2
    assert curvature.rows_to_add(np.arange(30) >= 27) == 3
    other = HingeCurvature(problem)
    other.copy(curvature, slope)
    other.follow(np.arange(30) < 13, slope, FitMonitor())
    assert (other.changes, curvature.changes) == (2, 1)
    A = np.c_[problem.samples.X, np.ones(30)][:13]
    np.testing.assert_allclose(np.triu(other.H), np.triu((A.T @ A)[:4, :4]))
    np.testing.assert_allclose(other.border, (A.T @ A)[4])


def test_a_matrix_that_rounding_left_indefinite_is_raised_a_little():
    M = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-13]], order="F")
    x = primal_newton.solve_definite(M.copy(order="F"), np.array([1.0, 1.0]))
    np.testing.assert_allclose(x.sum(), 1.0, rtol=1e-6)
    N = np.array([[2.0, 1.0], [1.0, 3.0]], order="F")
    np.testing.assert_allclose(
        primal_newton.solve_definite(N.copy(order="F"), np.array([3.0, 5.0])), [0.8, 1.4]
    )


def test_boundaries_end_at_limits_and_flat_ones_by_what_they_reached():
    stops = BoundaryStops(np.array([2.0, 0.0]), 1e-3, 50)
    assert stops.scale.tolist() == [2.0, 1.0]
    stops.review(4, np.array([(2e-3) ** 2, 1.0]), np.array([1.0, 1.0]))
    assert stops.active.tolist() == [1]
    assert (stops.words.tolist(), stops.steps.tolist()) == (["tol", "max_iter"], [4, 50])
    for step in range(5, 5 + primal_newton.PATIENCE + 1):
        assert stops.active.tolist() == [1]
        stops.review(step, np.array([0.0, 0.95]), np.array([1.0, 1.0]))
    assert stops.active.tolist() == []
    assert (stops.words[1], stops.steps[1]) == ("flat", 4 + primal_newton.PATIENCE + 1)
    stops.close()
    assert stops.words.tolist() == ["tol", "max_iter"]
    assert rows_of(np.eye(2)).values_per_row == 2


@pytest.mark.parametrize("bias_step", [0.0, 2.0, np.inf])
def test_all_ways_to_newtons_directions_of_several_boundaries_solve_their_systems(
    bias_step, monkeypatch
):
    X, _ = made(6, n=40, d=4)
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((3, 40)) < 0.4, 1.0, -1.0)
    price = rng.uniform(0.5, 2.0, (3, 40))
    W, b = rng.normal(size=(3, 4)), rng.normal(size=3) * bool(bias_step)
    Z = (W @ X.T + b[:, None]) * Y
    at = joint_newton.Boundaries(LinearSamples.of(X), Y, price, bias_step, W, b, Z)
    penalty = 0.5 / bias_step * b**2 if 0 < bias_step < np.inf else 0.0
    slack = np.maximum(0, 1 - Z)
    np.testing.assert_allclose(
        at.primal(), 0.5 * (W**2).sum(axis=1) + penalty + (price * slack**2).sum(axis=1)
    )
    G = W - (2 * price * slack * Y) @ X
    g_bias = (at.bias_price * b - (2 * price * slack * Y).sum(axis=1)) * bool(bias_step)
    scale = 1.0 if np.isinf(bias_step) else bias_step
    np.testing.assert_allclose(at.squares(), (G**2).sum(axis=1) + scale * g_bias**2)
    size = 5 if bias_step else 4
    expected = []
    for c in range(3):
        A = np.c_[X, np.ones(40)] * np.sqrt(2 * price[c] * (slack[c] > 0))[:, None]
        H = A.T @ A + np.diag([1.0] * 4 + [at.bias_price])
        expected.append(np.linalg.solve(H[:size, :size], -np.append(G[c], g_bias[c])[:size]))
    some = np.array([0, 2])

    def found(curvatures, threads=1):
        V, bias = curvatures.directions(some, FitMonitor())
        return np.c_[V, bias][:, :size]

    curvatures = joint_newton.Curvatures(at, 1)
    assert curvatures._pairs is not None
    np.testing.assert_allclose(found(curvatures), np.array(expected)[some], rtol=1e-8)
    monkeypatch.setattr(joint_newton, "PAIRS", 0)
    curvatures = joint_newton.Curvatures(at, 2)
    assert curvatures._pairs is None
    np.testing.assert_allclose(found(curvatures), np.array(expected)[some], rtol=1e-8)
    monkeypatch.setattr(joint_newton, "MANY_FEATURES", 1)
    monkeypatch.setattr(joint_newton, "ROUNDS", 0.0)
    monkeypatch.setattr(joint_newton, "SOLVED", 1e-9)
    curvatures = joint_newton.Curvatures(at, 1)
    np.testing.assert_allclose(found(curvatures), np.array(expected)[some], rtol=1e-6)
    assert ((curvatures._rounds[some] >= 1) & (curvatures._rounds[some] <= 5)).all()
    M = curvatures._where_all_bend(FitMonitor())
    A = np.c_[X, np.ones(40)] * np.sqrt(2 * price.mean(axis=0))[:, None]
    whole = A.T @ A + np.diag([1.0] * 4 + [at.bias_price])
    if not bias_step:
        whole[4], whole[:, 4], whole[4, 4] = 0.0, 0.0, 1.0
    np.testing.assert_allclose(np.triu(M), np.triu(whole), rtol=1e-9)


def test_pairs_of_features_and_the_room_that_they_need(monkeypatch):
    X = np.arange(6.0).reshape(2, 3)
    first, second = np.triu_indices(3)
    np.testing.assert_array_equal(joint_newton._pairs_of(X), X[:, first] * X[:, second])
    at = joint_newton.Boundaries(LinearSamples.of(X), np.ones((2, 2)), np.ones((2, 2)), 1.0,
                                 np.zeros((2, 3)), np.zeros(2), np.zeros((2, 2)))  # fmt: skip
    for pairs, room, held in ((9, 10**9, True), (8, 10**9, False), (9, 72, True), (9, 71, False)):
        monkeypatch.setattr(joint_newton, "PAIRS", pairs)
        monkeypatch.setattr(joint_newton, "PAIRS_BYTES", room)
        assert (joint_newton.Curvatures(at, 1)._pairs is not None) == held


def test_certificates_of_several_boundaries_are_those_of_each(monkeypatch):
    X, _ = made(6, n=40, d=4)
    Y = np.where(np.random.default_rng(0).random((3, 40)) < 0.4, 1.0, -1.0)
    price = np.random.default_rng(1).uniform(0.5, 2.0, (3, 40))
    samples = LinearSamples.of(X)
    for bias_step in (0.0, 2.0, np.inf):
        fits = joint_newton.solve_newton_jointly(
            samples, Y, price, bias_step=bias_step, tol=1e-9, max_iter=30
        )
        start = np.array([fit.w for fit in fits]), np.array([fit.b for fit in fits])
        again = joint_newton.solve_newton_jointly(
            samples, Y, price, bias_step=bias_step, tol=1e-6, max_iter=30, start=start
        )
        for c, fit in enumerate(fits):
            problem = dual_descent.LinearProblem(
                samples, Y[c], price[c], "squared_hinge", bias_step
            )
            same = certify(problem, fit.w, fit.b, fit.a, n_iter=1, stop="tol", violation=0.0)
            assert fit.objective == pytest.approx(same.objective)
            assert fit.dual_objective == pytest.approx(same.dual_objective)
            assert 0 < fit.n_iter <= 10
            assert again[c].n_iter == 0
            np.testing.assert_allclose(again[c].w, fit.w)
        cut = joint_newton.solve_newton_jointly(
            samples, Y, price, bias_step=bias_step, tol=1e-9, max_iter=1
        )
        assert [fit.n_iter for fit in cut] == [1] * 3
