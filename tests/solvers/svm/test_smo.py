from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC as Peer

import separatrix.solvers.svm.smo as smo
import separatrix.solvers.svm.working_set as working_set
from separatrix.kernels import Gaussian
from separatrix.kernels.gram import HeldGram, make_gram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import coding
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.batch import ProblemBatch
from separatrix.solvers.svm.problem import StoppingRule, SvmProblem, make_feasible
from separatrix.solvers.svm.smo import WorkingSet

RNG = np.random.default_rng(0)
SIDES = coding(2, "ovo")[:, 0]


def two_classes(n=300, d=5, shift=0.7, seed=0):
    """Overlapping classes in class order: samples, y of +-1, segments."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :] += shift
    y = np.repeat([-1.0, 1.0], [n // 2, n - n // 2])
    return X, y, (slice(0, n // 2), slice(n // 2, n))


def solve(gram, box, *, start=None, **terms):
    """The solution of one problem over a Gram, or over a matrix of two equal halves."""
    n = len(gram) if isinstance(gram, np.ndarray) else gram.shape[0]
    if isinstance(gram, np.ndarray):
        gram = HeldGram(gram, segments=(slice(0, n // 2), slice(n // 2, n)))
    box = np.broadcast_to(np.asarray(box, dtype=float), n).copy()
    [fit] = solve_svms(gram, [SvmProblem(SIDES, box, start=start)], **terms)
    return fit


def certificate(K, y, box, fit):
    """Violation and relative gap from scratch, in float64 and without the solver's own errors."""
    f = K @ (fit.alpha * y)
    minus_error = y - f
    up = ((y > 0) & (fit.alpha < box)) | ((y < 0) & (fit.alpha > 0))
    down = ((y > 0) & (fit.alpha > 0)) | ((y < 0) & (fit.alpha < box))
    violation = max(0.0, minus_error[up].max() - minus_error[down].min())
    square = (fit.alpha * y) @ f
    dual = fit.alpha.sum() - square / 2
    primal = square / 2 + box @ np.maximum(0, 1 - y * (f + fit.intercept))
    return violation, (primal - dual) / max(abs(primal), 1), dual


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n", [60, 300, 1500])
def test_the_certificate_holds_when_recomputed_and_the_peer_is_no_better(C, n):
    X, y, _ = two_classes(n)
    K = Gaussian(0.1).block(X, X)
    box = np.full(n, C)
    fit = solve(K, box)
    violation, gap, dual = certificate(K, y, box, fit)
    assert fit.stop == "tol"
    assert violation <= 1e-3 + 1e-9
    assert gap <= 1e-3
    assert abs(fit.alpha @ y) < 1e-9 * C * n
    assert ((fit.alpha >= 0) & (fit.alpha <= box)).all()
    np.testing.assert_allclose(fit.dual, dual, rtol=1e-9)
    np.testing.assert_allclose([fit.violation, fit.gap], [violation, gap], atol=1e-8)
    peer = Peer(kernel="precomputed", C=C).fit(K, y)
    coef = np.zeros(n)
    coef[peer.support_] = np.abs(peer.dual_coef_[0])
    theirs = coef.sum() - 0.5 * (coef * y) @ K @ (coef * y)
    assert dual >= theirs - 1e-4 * abs(theirs)


def test_it_is_the_minimum_that_a_general_solver_finds():
    X, y, _ = two_classes(30, 2)
    Q = (X @ X.T + 1e-9) * np.outer(y, y)
    best = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.full(30, 0.1),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, 2.0)] * 30,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda _: y},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    fit = solve(X @ X.T + 1e-9, 2.0, tol=1e-8)
    np.testing.assert_allclose(fit.dual, -best.fun, rtol=1e-6)


def test_the_gap_rule_reaches_its_gap():
    X, y, _ = two_classes()
    K = Gaussian(0.1).block(X, X)
    fit = solve(K, 5.0, tol=1e-6, stop="gap")
    assert certificate(K, y, np.full(300, 5.0), fit)[1] <= 1.01e-6


def problems_of_three(segments, C=3.0):
    return [SvmProblem(side, np.full(segments[-1].stop, C)) for side in coding(3, "ovo").T]


def three_classes(n=600):
    rng = np.random.default_rng(1)
    y = np.sort(rng.integers(0, 3, size=n))
    X = rng.normal(size=(n, 4)) + y[:, None]
    cuts = np.searchsorted(y, np.arange(4))
    return X, y, tuple(slice(*cut) for cut in np.stack([cuts[:-1], cuts[1:]], axis=1).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 10], ids=["a tile at once", "rows of tiles"])
@pytest.mark.parametrize("memory", [10**9, 2_000_000, 700_000, 200_000])
def test_the_form_of_the_matrix_and_the_threads_change_nothing(memory, few, monkeypatch):
    monkeypatch.setattr(smo, "WORTH_THREADS", 0)
    monkeypatch.setattr(smo, "FEW_ACTIVE", few)
    X, _, segments = three_classes()
    reference = solve_svms(
        make_gram(Gaussian(0.2), X, segments=segments), problems_of_three(segments), tol=1e-7
    )
    grams = [make_gram(Gaussian(0.2), X, segments=segments, memory=memory) for _ in range(3)]
    gram = grams[0]
    fits, in_two, in_five = (
        solve_svms(gram, problems_of_three(segments), tol=1e-7, threads=threads)
        for gram, threads in zip(grams, (1, 2, 5), strict=True)
    )
    assert isinstance(gram, HeldGram) == (memory == 10**9)
    for fit, same, two, five in zip(fits, reference, in_two, in_five, strict=True):
        np.testing.assert_allclose(fit.alpha, same.alpha, atol=1e-4)
        np.testing.assert_allclose(fit.dual, same.dual, rtol=1e-9)
        assert fit.violation <= 1e-7
        np.testing.assert_array_equal(two.alpha, fit.alpha)
        np.testing.assert_array_equal(five.alpha, fit.alpha)


@pytest.mark.parametrize("together", [False, True])
def test_small_and_large_working_sets_find_the_same_optimum(together, monkeypatch):
    X, _, segments = three_classes()
    gram = make_gram(Gaussian(0.2), X, segments=segments)
    whole = solve_svms(gram, problems_of_three(segments), tol=1e-8)
    monkeypatch.setattr(working_set, "SMALL_SET", 16)
    monkeypatch.setattr(smo, "WORKING_SET", 64)
    monkeypatch.setattr(smo, "LARGE_PROBLEM", 0 if together else 10**6)
    small = solve_svms(gram, problems_of_three(segments), tol=1e-8)
    for one, other in zip(whole, small, strict=True):
        assert {one.stop, other.stop} == {"tol"}
        np.testing.assert_allclose(one.alpha, other.alpha, atol=1e-5)
        np.testing.assert_allclose(one.dual, other.dual, rtol=1e-10)


def test_rows_without_a_box_are_scored_and_not_trained_on():
    X, y, _ = two_classes()
    K = Gaussian(0.1).block(X, X)
    box = np.where(np.arange(300) % 5 == 0, 0.0, 2.0)
    fit = solve(K, box)
    inside = box > 0
    assert not fit.alpha[~inside].any()
    peer = Peer(kernel="precomputed", C=2.0).fit(K[np.ix_(inside, inside)], y[inside])
    scores = peer.decision_function(K[:, inside])
    np.testing.assert_allclose(fit.scores, scores, atol=3e-3)


def test_a_start_is_made_feasible_and_saves_steps():
    X, _, segments = two_classes()
    gram = make_gram(Gaussian(0.1), X, segments=segments)
    box = np.full(300, 5.0)
    cold = solve(gram, box)
    assert solve(gram, box, start=cold.alpha).n_iter == 0
    box[:3] = 0.0
    warm, fresh = solve(gram, box, start=cold.alpha), solve(gram, box)
    assert not warm.alpha[:3].any()
    assert warm.n_iter < fresh.n_iter
    np.testing.assert_allclose(warm.dual, fresh.dual, rtol=1e-4)


def at_their_bounds():
    """Rows whose coefficients all end at C: kernel values and C; b is free between -1 and 0.95."""
    x = np.array([0.0, 0.5, 1.0, 2.0])  # of -1, -1, 1, 1, so that w = 2.5 C
    return np.outer(x, x), 0.01


def test_rounding_of_a_bound_does_not_move_an_intercept_that_is_not_unique():
    K, C = at_their_bounds()
    hair = np.array([C, C, C, np.nextafter(C, 0.0)])
    plain, near = solve(K, C), solve(K, C, start=hair)
    np.testing.assert_array_equal([plain.alpha, near.alpha], [np.full(4, C), hair])
    np.testing.assert_allclose([plain.intercept, near.intercept], (-1.0 + 0.95) / 2)
    assert near.violation == 0.0
    assert abs(near.gap) < 1e-15


def test_a_feasible_start_is_balanced():
    y = np.where(RNG.random(50) < 0.5, 1.0, -1.0)
    alpha = make_feasible(RNG.normal(size=50) * 3, y, np.full(50, 2.0))
    assert abs(alpha @ y) < 1e-12
    assert ((alpha >= 0) & (alpha <= 2)).all()


@pytest.mark.parametrize("memory", [None, 200_000])
def test_a_fit_that_is_cut_short_is_a_feasible_model(memory, cancelled, monkeypatch):
    monkeypatch.setattr(
        smo, "CHUNK", 1
    )  # multiply-adds: the time limit is checked after every round
    X, y, segments = two_classes(1200)
    gram = make_gram(Gaussian(0.1), X, segments=segments, memory=memory)
    short, stopped = solve(gram, 5.0, max_iter=7), solve(gram, 5.0, monitor=cancelled)
    assert (short.n_iter, short.stop) == (7, "max_iter")
    assert stopped.stop == "stopped"
    for fit in (short, stopped):
        assert abs(fit.alpha @ y) < 1e-9
        assert fit.violation > 1e-3


def test_hard_margin_is_the_limit_of_large_C():
    X, _, segments = two_classes(100, 3, shift=8.0)
    gram = make_gram(Gaussian(0.01), X, segments=segments)
    hard, soft = (solve(gram, C, tol=1e-6) for C in (np.inf, 1e6))
    assert hard.stop == "tol"
    assert hard.gap < 1e-3
    np.testing.assert_allclose(hard.alpha, soft.alpha, rtol=1e-3, atol=1e-4)
    assert (hard.y * hard.scores).min() > 1 - 1e-5


@pytest.mark.parametrize("duplicate", [True, False])
def test_classes_that_overlap_have_no_hard_margin(duplicate):
    X, _, _ = two_classes(100, 2, shift=8.0 if duplicate else 0.5)
    if duplicate:
        X[60] = X[10]
    assert solve(X @ X.T, np.inf).stop == "not separable"


def test_one_row_on_each_side_is_solved_in_one_step():
    fit = solve(np.eye(2), 10.0)
    np.testing.assert_allclose(fit.alpha, [1.0, 1.0])
    assert (fit.n_iter, fit.intercept) == (1, 0.0)


def test_an_indefinite_matrix_ends_at_a_point_that_meets_the_conditions():
    X, y, _ = two_classes()
    K = np.tanh(0.5 * X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K)[0] < -1
    fit = solve(K, 1.0)
    assert fit.stop == "tol"
    assert certificate(K, y, np.ones(300), fit)[0] <= 1e-3 + 1e-9


def test_a_tolerance_below_the_numbers_stalls_and_says_so():
    X, _, _ = two_classes(200)
    assert solve(1e8 * Gaussian(0.1).block(X, X), 1e3, tol=1e-13).stop == "stalled"


@pytest.mark.parametrize("n", [60, 1500])
def test_a_problem_that_may_make_no_step_is_not_said_to_be_solved(n):
    X, _, _ = two_classes(n)
    fit = solve(Gaussian(0.1).block(X, X), 1.0, max_iter=0)
    assert (fit.n_iter, fit.stop) == (0, "max_iter")
    assert fit.violation == 2.0


def test_problems_together_ask_for_no_more_rows_of_a_segment_than_memory_holds(monkeypatch):
    monkeypatch.setattr(smo, "WORKING_SET", 32)
    n, k, capacity = 200, 5, 100
    segments = tuple(slice(40 * c, 40 * c + 40) for c in range(k))
    gram = HeldGram(np.eye(n), segments=segments)
    problems = [SvmProblem(side, np.ones(n)) for side in coding(k, "ovo").T]
    batch = ProblemBatch(gram, problems, StoppingRule.of(1e-3, "kkt", -1), FitMonitor())
    sets = [WorkingSet(batch, p, capacity, 32, np.dtype(float)) for p in range(len(problems))]
    groups = list(smo._groups(batch, sets, capacity))
    assert [one.p for group in groups for one in group] == list(range(len(problems)))
    assert len(groups) > 1
    for group in groups:
        rows = Counter()
        for one in group:
            rows.update({segment: one.size for segment, _, _ in batch.segments(one.p)})
        assert max(rows.values()) <= capacity
    assert max(len(group) for group in groups) * 32 > capacity  # not all pairs share a class


@pytest.mark.parametrize("n", [100, 200])
def test_small_problems_over_computed_rows_reach_the_optimum_of_held_ones(n):
    rng = np.random.default_rng(n)
    X, half = rng.normal(size=(n, 4)), n // 2
    X[half:] += 0.5
    problem = SvmProblem(np.array([-1, 1], np.int8), np.full(n, 10.0))
    fits = []
    for hold in (True, False):
        segments = (slice(0, half), slice(half, n))
        gram = make_gram(Gaussian(0.2), X, segments=segments, hold=hold, tolerance=1e-12)
        fits += solve_svms(gram, [problem], tol=1e-5)
    held, computed = fits
    assert computed.stop == "tol"
    assert computed.dual == pytest.approx(held.dual, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_errors_of_initial_coefficients_are_those_of_a_product(threads):
    rng = np.random.default_rng(3)
    gram = make_gram(
        Gaussian(0.3),
        rng.normal(size=(90, 4)),
        segments=tuple(slice(i, i + 30) for i in (0, 30, 60)),
    )
    alphas = rng.uniform(0, 1, size=(3, 60)) * rng.integers(0, 2, size=(3, 60))
    problems = [
        SvmProblem(side, np.ones(90), start=a)
        for side, a in zip(coding(3, "ovo").T, alphas, strict=True)
    ]
    batch = ProblemBatch(gram, problems, StoppingRule.of(1e-3, "kkt", -1), FitMonitor())
    smo._begin_on_held(gram, batch, threads, batch.warm_starts())
    starts, rows, state = batch.arrays.starts, batch.arrays.rows, batch.arrays.state
    for p in range(3):
        own = slice(starts[p], starts[p + 1])
        y, a = state[working_set.Y, own], state[working_set.ALPHA, own]
        assert a.any()
        assert abs(y @ a) < 1e-9
        K = gram.matrix[np.ix_(rows[own], rows[own])]
        np.testing.assert_allclose(state[working_set.ERRORS, own], K @ (a * y) - y, atol=1e-10)


def test_a_pause_after_every_round_changes_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 5))
    gram = make_gram(Gaussian(0.2), X, segments=(slice(0, 450), slice(450, 900)))
    results = []
    for most_work in (1, 2**40):
        problem = SvmProblem(np.array([1, -1], np.int8), np.full(900, 2.0))
        batch = ProblemBatch(gram, [problem], StoppingRule.of(1e-3, "kkt", -1), FitMonitor())
        scratch = working_set.Scratch.of(batch.arrays.work.shape[1], batch.largest)
        rounds = 0
        while batch.arrays.whole[working_set.STATUS, 0] != working_set.REACHED:
            working_set.solve_problems(gram.matrix, batch.arrays, np.array([0]), scratch, most_work)
            rounds += 1
        results.append((rounds, batch.arrays.state[working_set.ALPHA].copy()))
    (many, one), (once, other) = results
    assert many > 10 > once
    np.testing.assert_array_equal(one, other)


def test_small_problems_are_for_one_thread(monkeypatch):
    X, _, segments = three_classes(60)
    gram = make_gram(Gaussian(0.2), X, segments=segments)
    rule = StoppingRule.of(1e-3, "kkt", -1)
    batch = ProblemBatch(gram, problems_of_three(segments), rule, FitMonitor())
    values = smo._values(batch)
    for worth, threads in ((10 * values, 1), (values // 3, 3), (0, 8)):
        monkeypatch.setattr(smo, "WORTH_THREADS", worth)
        assert smo.worthwhile_threads(batch, 8) == threads


@pytest.mark.parametrize("size", [4, 64])
def test_scratch_arrays_hold_a_whole_working_set(size):
    scratch = working_set.Scratch.of(size, 100)
    assert min(scratch.tile.shape) >= size
    assert scratch.sets.shape[1] >= size
    assert len(scratch.keys) >= size
    assert len(scratch.found) >= size
    assert not scratch.taken.any()
