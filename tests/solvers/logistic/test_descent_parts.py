"""The parts of logistic descents: costs, line searches, stopping rules, guesses, each by its formula."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.solvers.logistic.test_descent import Blocks, samples, solver_of

from separatrix.errors import DataError, MemoryBudgetError
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic import descent, lbfgs, newton, quadratic
from separatrix.solvers.logistic.costs import LogisticCosts
from separatrix.solvers.logistic.laplace import laplace
from separatrix.solvers.logistic.passes import Sums
from separatrix.solvers.logistic.preconditioner import Diagonal, Factored, Partial
from separatrix.solvers.logistic.separation import is_separated
from separatrix.types import Block


def costs(n=1000, D=20, p=1, per_sample=20, sparse=False, tol=1e-4):
    return LogisticCosts(n, D, p, n * per_sample, sparse, tol)


def test_newtons_method_pays_where_its_hessians_cost_less_than_more_passes():
    for p, n, per_sample, tol in (
        (1, 1000, 20, 1e-4),
        (3, 500, 7, 1e-2),
        (1, 80, 3, 1.0),
        (4, 9000, 40, 1e-8),
    ):
        steps = 4 * max(1.0, -np.log10(tol))
        for D in range(1, 120):
            numbers = p * D
            hessians = numbers**2 / 2 + numbers**3 / (3 * n) + (30 * numbers if p > 1 else 0)
            newton_cost = 5 * (hessians + 50 * p)
            lbfgs_cost = per_sample * min(D, per_sample) + steps * p * (2 * per_sample + 50)
            pays = costs(n, D, p, per_sample, tol=tol).newton_pays()
            assert pays == (newton_cost <= lbfgs_cost)


@pytest.mark.parametrize("sparse", [False, True])
def test_moments_pay_where_the_steps_that_they_save_cost_more(sparse):
    found = set()
    for p, n, tol in ((1, 1000, 1e-4), (1, 10_000, 1e-2), (5, 300, 1e-6), (2, 5000, 0.1)):
        for D in (5, 127, 128, 129, 200, 400):
            for stored in (5, min(D, 100), D):
                one = LogisticCosts(n, D, p, n * stored, sparse, tol)
                step = n * p * (2 * stored + 50)
                moments = n * stored**2 * (12.0 if sparse else 0.2)
                moments += 0.0 if D <= 128 else 0.2 * 2 * D**3
                inside = 0.0 if D <= 128 else 0.2 * 2 * p * D**2
                pays = moments <= 17 * max(0.0, -np.log10(tol) - 1.0) * (step - inside)
                assert one.moments_pay() == pays
                tried = int(moments / step) if pays and not sparse and D > 128 else 0
                assert one.trial_steps() == (tried if tried >= 4 else 0)
                found.add((pays, bool(one.trial_steps())))
    assert {(True, False), (False, False)} <= found
    assert sparse or (True, True) in found


def sums(loss, gradient, hessian=None):
    return Sums(loss, np.asarray(gradient, float), hessian, 0.0, 0.0)


def test_the_reasons_to_stop_in_their_order():
    reason = newton.stopping_reason
    assert reason(sums(1.0, [[0.02]]), 0, 2.0, 0.01, 9, None) == "tol"
    assert reason(sums(1.0, [[0.021]]), 8, 2.0, 0.01, 9, None) == ""
    assert reason(sums(1.0, [[-0.03]]), 9, 2.0, 0.01, 9, None) == "max_iter"
    assert reason(sums(np.inf, [[0.0]]), 0, 1.0, 1.0, 9, None) == "overflow"
    assert reason(sums(1.0, [[0.0, np.nan]]), 0, 1.0, 1.0, 9, None) == "overflow"
    assert reason(sums(1.0, [[0.0]], np.array([[np.inf]])), 0, 1.0, 1.0, 9, None) == "overflow"
    monitor = FitMonitor()
    monitor.should_stop = lambda: True
    assert reason(sums(1.0, [[1.0]]), 0, 1.0, 0.01, 9, monitor) == "stopped"


def test_the_prior_adds_to_loss_gradient_and_hessian():
    theta, a = np.array([[1.0, -2.0]]), np.array([[4.0, 0.5]])
    found = newton.add_prior(sums(3.0, [[1.0, 1.0]], np.ones((2, 2))), theta, a)
    assert found.loss == 3.0 + 0.5 * (4.0 * 1.0 + 0.5 * 4.0)
    assert found.gradient.tolist() == [[5.0, 0.0]]
    assert found.hessian.tolist() == [[5.0, 1.0], [1.0, 1.5]]


def test_steps_solve_the_system_and_the_shortest_one_where_it_is_singular():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    H, g = A @ A.T, rng.normal(size=(1, 6))
    np.testing.assert_allclose(newton._solved(H, g).ravel(), np.linalg.solve(H, g.ravel()))
    damped = np.linalg.solve(H + 2.0 * np.eye(6), g.ravel())
    np.testing.assert_allclose(newton._solved(H, g, damping=2.0).ravel(), damped)
    low = A[:, :4] @ A[:, :4].T
    inside = (low @ rng.normal(size=6)).reshape(1, 6)
    shortest = np.linalg.pinv(low) @ inside.ravel()
    np.testing.assert_allclose(newton._solved(low, inside).ravel(), shortest, rtol=1e-6)


def test_directions_that_nothing_holds_are_made_as_steep_as_their_column():
    H, precision = np.diag([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0])
    assert newton.pinned_steepness(H, precision, 2).tolist() == [2.0]  # of the columns 1 and 3
    found = newton.pinned(H, precision, 2)
    expected = H.copy()
    expected[np.ix_([0, 2], [0, 2])] += 1.0
    np.testing.assert_array_equal(found, expected)
    assert newton.pinned(H, np.ones(2), 2) is H
    assert len(newton.pinned_steepness(H, np.zeros(4), 1)) == 0


def cubic(x):
    """Loss, gradient and Hessian of a convex function of one variable, log(1 + e^x) - x / 4."""
    p = 1.0 / (1.0 + np.exp(-x))
    return np.log1p(np.exp(x)) - 0.25 * x, p - 0.25, p * (1.0 - p)


def evaluate(theta, hessian):
    loss, slope, bend = cubic(theta[0, 0])
    return sums(loss, [[slope]], np.array([[bend]]) if hessian else None)


def test_newton_takes_the_steps_of_a_plain_loop():
    """One Hessian at the start; where a step leaves more than a fifth of the gradient, another."""
    precision, x, steps, near = 0.1, 2.0, 0, False
    bend = cubic(x)[2] + precision
    while abs(cubic(x)[1] + precision * x) > 1e-9:
        before = abs(cubic(x)[1] + precision * x)
        x -= (cubic(x)[1] + precision * x) / bend
        left = abs(cubic(x)[1] + precision * x) / before
        if not near or left > newton.GOOD:
            bend = cubic(x)[2] + precision
        near = left < 0.5
        steps += 1
    found = newton.solve_newton(
        evaluate,
        np.array([[2.0]]),
        precision=np.array([precision]),
        weight=1.0,
        tol=1e-9,
        max_iter=50,
    )
    assert found.stop == "tol"
    np.testing.assert_allclose(found.theta[0, 0], x, rtol=1e-12)
    assert found.n_iter == steps
    cut = newton.solve_newton(
        evaluate,
        np.array([[2.0]]),
        precision=np.array([precision]),
        weight=1.0,
        tol=1e-9,
        max_iter=2,
    )
    assert (cut.n_iter, cut.stop) == (2, "max_iter")


def test_a_line_search_interpolates_and_lengthens():
    asked = []

    def at(z):
        asked.append(float(z[0]))
        loss = (z[0] - 3.0) ** 2
        return z, sums(loss, [[0.0]]), np.array([2.0 * (z[0] - 3.0)])

    start = sums(9.0, [[-6.0]])
    size, trial = lbfgs._search_line(at, np.zeros(1), start, np.array([60.0]), -360.0)
    assert asked[0] == pytest.approx(60.0 * 9.0 / 360.0)  # F is at least 0: no farther than that
    assert size * 60.0 == pytest.approx(trial[0][0])
    asked.clear()
    steep = sums(1e9, [[-6.0]])
    size, trial = lbfgs._search_line(
        at, np.zeros(1), steep._replace(loss=9.0), np.array([0.1]), -0.6
    )
    assert asked == pytest.approx([0.1, 0.4])  # four times as far while the slope hardly falls
    asked.clear()
    found = lbfgs._search_line(at, np.full(1, 2.9), sums(0.01, [[-0.2]]), np.array([2.0]), -0.4)
    assert asked[0] == pytest.approx(2.9 + 2.0 * 0.01 / 0.4)
    assert found is not None


def test_a_step_too_far_is_cut_by_a_parabola():
    asked = []

    def at(z):
        asked.append(float(z[0]))
        return z, sums(100.0 * (z[0] - 0.3) ** 2 + 1e3, [[0.0]]), np.array([200.0 * (z[0] - 0.3)])

    now = sums(1009.0, [[-60.0]])
    size, _ = lbfgs._search_line(at, np.zeros(1), now, np.ones(1), -60.0)
    assert asked == pytest.approx([1.0, 0.3])
    assert size == pytest.approx(0.3)


def test_lbfgs_on_a_parabola_counts_its_steps():
    H = np.diag([1.0, 4.0, 9.0])

    def value(theta, hessian):
        x = theta.ravel()
        return sums(0.5 * x @ H @ x + 1.0, (H @ x).reshape(theta.shape))

    told = []
    found = lbfgs.solve_lbfgs(
        value, np.ones((1, 3)), precision=np.zeros(3), preconditioner=Diagonal.of(np.ones(3)),
        weight=2.0, tol=1e-8, max_iter=100, monitor=FitMonitor(None, told.append),
    )  # fmt: skip
    assert found.stop == "tol"
    assert len(told) == found.n_iter <= 12
    assert found.gradient == np.abs(H @ found.theta.ravel()).max() / 2.0 <= 1e-8


def test_a_support_is_solved_and_ends_at_the_first_change_of_sign():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    H, w = A @ A.T + np.eye(5), np.array([1.0, -1.0, 0.0, 2.0, 0.5])
    gradient, penalty = rng.normal(size=5), np.array([0.1, 0.2, 0.1, 0.0, 0.3])
    u, v = w.copy(), gradient.copy()
    quadratic._solve_support(H, u, v, penalty)
    np.testing.assert_allclose(v, gradient + H @ (u - w), atol=1e-9)
    kept = u != 0
    assert np.abs((v + penalty * np.sign(u))[kept]).max() < 1e-7
    best = quadratic.minimise_quadratic(H, gradient, w, penalty, share=1e-10)
    slope = gradient + H @ (best - w)
    assert quadratic.violations(best, slope, penalty).max() < 1e-9

    u, v = np.array([0.0, 1.0]), np.array([1.0, -2.0])  # a weight without a penalty begins at 0
    quadratic._solve_support(np.eye(2), u, v, np.array([0.0, 0.5]))
    np.testing.assert_allclose(u, [-1.0, 2.5])

    # two weights of which one must stop at 0 on the way
    u, v = np.array([1.0, 1.0]), np.array([5.0, 1.5])
    quadratic._solve_support(np.eye(2), u, v, np.array([0.1, 0.1]))
    assert u[0] == 0.0
    assert u[1] == 0.0


def test_violations_at_and_beside_zero():
    found = quadratic.violations(
        np.array([0.0, 0.0, 2.0, -2.0]), np.array([0.5, -1.5, 1.0, 1.0]), np.ones(4)
    )
    assert found.tolist() == [0.0, 0.5, 2.0, 0.0]


def test_the_evidence_is_that_of_the_formula():
    theta, precision = np.array([[0.5, -1.0]]), np.array([2.0, 0.0])
    H = np.array([[5.0, 1.0], [1.0, 3.0]])
    found = laplace(theta, H, 7.0, precision, unit=4.0)
    volume = 0.5 * 2 * np.log(2 * np.pi) - 0.5 * np.log(np.linalg.det(H))
    expected = -7.0 + 0.5 * np.log(2.0 / (2 * np.pi)) + volume - np.log(4.0)
    assert found.log_evidence == pytest.approx(expected)
    np.testing.assert_allclose(found.covariance(), np.linalg.inv(H))
    np.testing.assert_allclose(found.deviations(), np.sqrt(np.diag(np.linalg.inv(H)))[None])
    X = np.array([[1.0, 2.0], [0.5, -1.0]])
    np.testing.assert_allclose(
        found.score_covariances(X)[:, 0, 0], np.einsum("ij,jk,ik->i", X, np.linalg.inv(H), X)
    )
    three = np.diag(np.arange(1.0, 7.0)) + 0.1
    many = laplace(np.zeros((3, 2)), three, 1.0, np.array([2.0, 3.0]))
    expected = -1.0 + 0.5 * 3 * np.log(np.array([2.0, 3.0]) / (2 * np.pi)).sum()
    expected += 3 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(three)[1]
    assert many.log_evidence == pytest.approx(expected)
    assert many.deviations().shape == (3, 2)
    assert laplace(theta, np.zeros((2, 2)), 7.0, precision) is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_which_solver_is_chosen_and_why(n_classes, monkeypatch):
    X, y, weights = samples(n_classes)
    p = 1 if n_classes == 2 else 3
    for name, words in (
        ("newton-cholesky", "Newton"),
        ("newton-cg", "Newton"),
        ("lbfgs", "L-BFGS"),
    ):
        assert solver_of(X, y, weights, name).words == f"{words}: solver={name!r}"
    assert solver_of(X, y, weights, "auto").words == f"Newton: n=90, {5 * p} parameters"
    monkeypatch.setattr(descent, "MAX_NEWTON", 5 * p - 1)
    assert solver_of(X, y, weights, "newton-cg").words == f"L-BFGS: n=90, {5 * p} parameters"
    monkeypatch.setattr(descent, "MAX_NEWTON", 5 * p)
    monkeypatch.setattr(LogisticCosts, "newton_pays", lambda self: False)
    found = solver_of(X, y, weights, "auto")
    assert (found.words, found.numbers) == (f"L-BFGS: n=90, {5 * p} parameters", 5 * p)
    assert found._choose("auto", True)[0]


def test_the_gap_grows_with_loose_tolerances_and_precisions_have_a_column_for_the_bias():
    X, y, weights = samples(2)
    assert solver_of(X, y, weights, tol=1e-9).gap == newton.GAP
    assert solver_of(X, y, weights, tol=10 * newton.USUAL_TOL).gap == pytest.approx(10 * newton.GAP)
    found = solver_of(X, y, weights)
    assert found.precision(4.0).tolist() == [0.25] * 4 + [0.0]
    assert solver_of(X, y, weights, intercept=False).precision(4.0).tolist() == [0.25] * 4
    np.testing.assert_allclose(found._size, weights @ (X**2).sum(axis=1) / weights.sum())


def test_blocks_are_large_enough_for_threads(monkeypatch):
    X, y, weights = samples(2)
    asked = []
    found = solver_of(X, y, weights)
    cut = found._all.cut
    monkeypatch.setattr(found._all, "cut", lambda rows, **options: asked.append(rows) or cut(rows))
    found._cut()
    monkeypatch.setattr(descent, "BLOCK_WORK", 58.0 * 30)  # 30 samples of 2 * 4 + 50
    monkeypatch.setattr(descent, "MERGED", 0)
    found._cut()
    monkeypatch.setattr(descent, "MERGED", 40)  # 40 samples with all features
    found._cut()
    monkeypatch.setattr(descent, "MOST_BLOCKS", 2)
    found._cut()
    assert asked == [90, 30, 30, 45]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_guess_of_the_hessian_is_moments_times_a_slope(classes, intercept, monkeypatch):
    X, y, weights = samples(classes)
    found = solver_of(X, y, weights, "lbfgs", intercept)
    precision = found.precision(2.0)
    Z = np.c_[X, np.ones(90)] if intercept else X
    bend = 0.5 / classes
    guess = found._preconditioner(precision)
    assert isinstance(guess, Factored)
    whole = bend * (Z * weights[:, None]).T @ Z + np.diag(precision)
    V = np.random.default_rng(0).normal(size=(found.p, len(precision)))
    back = guess.point(guess.variables(V))
    np.testing.assert_allclose(back, V)
    np.testing.assert_allclose(
        (guess.variables(V) ** 2).sum(), np.einsum("ci,ij,cj->", V, whole, V)
    )
    monkeypatch.setattr(LogisticCosts, "moments_pay", lambda self: False)
    diagonal = found._preconditioner(precision)
    assert isinstance(diagonal, Diagonal)
    np.testing.assert_allclose(
        (diagonal.variables(V) ** 2).sum(), np.einsum("ci,i,ci->", V, np.diag(whole), V)
    )


def test_frequent_features_of_sparse_samples_have_their_moments(monkeypatch):
    X, y, weights = samples(2)
    X = X * (np.abs(X) > 0.4)
    found = solver_of(csr_array(X), y, weights, "lbfgs", False)
    monkeypatch.setattr(LogisticCosts, "moments_pay", lambda self: False)
    precision = found.precision(2.0)
    guess = found._preconditioner(precision)
    assert isinstance(guess, Partial)
    moments = descent.SURE * (X * weights[:, None]).T @ X
    whole = moments + np.diag(precision) + 0.01 * np.diag(np.diag(moments))
    V = np.random.default_rng(0).normal(size=(1, 4))
    np.testing.assert_allclose((guess.variables(V) ** 2).sum(), V[0] @ whole @ V[0])
    monkeypatch.setattr(descent, "MOST_HEAD", 1)
    assert isinstance(found._preconditioner(precision), Diagonal)


def test_slopes_that_are_four_times_as_large_or_small_have_changed():
    X, y, weights = samples(2)
    found = solver_of(X, y, weights, "lbfgs")
    for slope, changed in (
        (0.25 * 3.99, False),
        (0.25 * 4.01, True),
        (0.25 / 3.99, False),
        (0.25 / 4.01, True),
    ):
        found._slope = slope
        assert found._slope_changed(np.zeros((1, 5))) == changed  # at 0 it is a quarter
        assert found._slope == (pytest.approx(0.25) if changed else slope)


def test_a_hessian_that_does_not_fit_is_refused_with_its_size(monkeypatch):
    X, y, weights = samples(2)
    found = solver_of(X, y, weights)
    monkeypatch.setattr(descent, "default_budget", lambda: 8 * 4 * 25)
    found._require_memory()
    monkeypatch.setattr(descent, "default_budget", lambda: 8 * 4 * 25 - 1)
    with pytest.raises(MemoryBudgetError, match="the Hessian of 5 parameters needs 800"):
        found._require_memory()
    monkeypatch.undo()
    free = solver_of(np.zeros((90, 4)), y, weights)
    with pytest.raises(DataError, match="flat in some direction"):
        free.posterior(free.solve(np.inf), np.inf)


def test_subsamples_are_every_so_many_rows_and_hold_all_classes(monkeypatch):
    X, y, weights = samples(2)
    monkeypatch.setattr(descent, "SUBSAMPLES", (9, 3))
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 10)
    found = solver_of(X, y, weights, tol=1e-9)
    some = list(found._subsamples(10))
    assert [len(few[0].y) for few, _, _ in some] == [10, 30]
    for (_, scale, tol), n, every in zip(some, (10, 30), (9, 3), strict=True):
        assert scale == pytest.approx(weights.sum() / weights[::every].sum())
        assert tol == pytest.approx(0.1 / np.sqrt(n))
    assert [len(few[0].y) for few, _, _ in found._subsamples(11)] == [30]
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 31)
    assert list(found._subsamples(1)) == []
    of_one_class = solver_of(X, np.r_[np.ones(1, int), np.zeros(88, int), np.ones(1, int)], weights)
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 1)
    assert len(list(of_one_class._subsamples(1))) == 2


def test_a_subsample_without_a_class_is_left_out(monkeypatch):
    X, y, weights = samples(2)
    monkeypatch.setattr(descent, "SUBSAMPLES", (9, 2))
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 1)
    y = (np.arange(90) % 9 == 4).astype(int)  # no row 0, 9, ...; every second row has some
    some = list(solver_of(X, y, weights)._subsamples(1))
    assert [len(few[0].y) for few, _, _ in some] == [45]


def test_newtons_method_begins_at_the_minimum_of_a_subsample(monkeypatch):
    X, y, weights = samples(2)
    monkeypatch.setattr(descent, "SUBSAMPLES", (9, 2))
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 10)
    found = solver_of(X, y, weights)
    found.numbers = 0  # else a subsample needs 16 samples for each
    start = found._base_rates()
    begin = found._start_with_subsample(2.0, start)
    few = np.arange(0, 90, 2)
    scaled = weights[few] * weights.sum() / weights[few].sum()
    sums = solver_of(X[few], y[few], scaled)._evaluate([Block(X[few], y[few], scaled)])(
        begin, False
    )
    gradient = sums.gradient + found.precision(2.0) * begin
    assert np.abs(gradient).max() <= 0.1 / np.sqrt(45) * weights.sum()  # its own tolerance
    steps = found._newton_steps
    for change in ({"most": 1001.0}, {"theta": np.full((1, 5), np.nan)}):
        monkeypatch.setattr(
            found, "_newton_steps", lambda *given, to=change: steps(*given)._replace(**to)
        )
        assert found._start_with_subsample(2.0, start) is start  # separated, or of one class


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_a_stream_has_no_subsamples_and_the_same_minimum(solver, monkeypatch):
    X, y, weights = samples(3)
    whole = solver_of(X, y, weights, solver)
    monkeypatch.setattr(descent, "MIN_SUBSAMPLE", 1)
    monkeypatch.setattr(Blocks, "cut", lambda self, rows, **options: None)
    stream = solver_of(X, y, weights, solver)
    assert stream._samples is stream._all
    assert list(stream._subsamples(1)) == []
    np.testing.assert_allclose(stream.solve(2.0).theta, whole.solve(2.0).theta, atol=1e-6)


def test_separation_does_not_depend_on_units_or_on_an_empty_feature():
    X = np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 4.0, 0.0]])
    for scale in (1e-9, 1.0, 1e9):
        assert is_separated(X * scale, np.array([0, 0, 1, 1]), n_classes=2, intercept=True)
        assert not is_separated(X * scale, np.array([0, 1, 0, 1]), n_classes=2, intercept=True)
        assert not is_separated(X * scale, np.array([0, 0, 1, 1]), n_classes=2, intercept=False)
        assert is_separated(X * scale, np.array([0, 0, 1, 2]), n_classes=3, intercept=True)
        assert is_separated(
            csr_array(X * scale), np.array([0, 0, 2, 2]), n_classes=3, intercept=True
        )


@pytest.mark.parametrize("stop", ["rounding", "tol", "max_iter"])
def test_where_differences_of_the_objective_are_rounding_newtons_method_goes_on(stop, monkeypatch):
    X, y, weights = samples(2)
    found = solver_of(X, y, weights, "lbfgs")
    fit = found.solve(1.0)
    asked = []

    def newton_steps(samples, C, begin, tol, max_iter, scale=1.0):
        asked.append((begin, max_iter))
        return fit._replace(n_iter=3)

    monkeypatch.setattr(found, "_lbfgs", lambda *given: fit._replace(stop=stop, n_iter=40))
    monkeypatch.setattr(found, "_newton_steps", newton_steps)
    again = found.solve(1.0)
    if stop != "rounding":
        assert (again.n_iter, asked) == (40, [])
        return
    assert again.n_iter == 43
    ((begin, most),) = asked
    assert most == 500 - 40
    np.testing.assert_array_equal(begin, fit.theta)
    monkeypatch.setattr(descent, "MAX_NEWTON", 4)
    assert found.solve(1.0).n_iter == 40
    assert found.solve(1.0, most=2).stop == "rounding"
