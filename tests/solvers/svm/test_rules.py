"""When problems stop, how their work is divided, and what certificates say: each rule by itself."""

from collections import Counter

import numpy as np
import pytest

from separatrix.kernels import Gaussian
from separatrix.kernels.gram import HeldGram, make_gram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm import nu, smo, solve_svms
from separatrix.solvers.svm.batch import HANDED_OVER, NEVER, ProblemBatch
from separatrix.solvers.svm.nu import NuBatch
from separatrix.solvers.svm.problem import (
    StoppingRule,
    SvmFit,
    SvmProblem,
    make_feasible,
    ticks_due,
    ticks_of,
)
from separatrix.solvers.svm.stacked import StackedProblems
from separatrix.solvers.svm.working_set import (
    ALPHA,
    DUAL,
    ERRORS,
    GAP,
    LAST_VIOLATION,
    LEAST_SQUARE,
    LIMIT,
    PAUSED,
    REACHED,
    RUNNING,
    SQUARE,
    STATUS,
    STEPS,
    STUCK,
    TOL,
    VIOLATION,
    Y,
)

RULE = StoppingRule.of(1e-3, "kkt", -1)


def sizes_to_gram(*sizes):
    ends = np.cumsum([0, *sizes])
    segments = tuple(
        slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    )
    rng = np.random.default_rng(0)
    A = rng.normal(size=(ends[-1], 3))
    return HeldGram(A @ A.T + np.eye(ends[-1]), segments=segments)


def batch_of(*sizes, sides=None, C=2.0, rule=RULE, monitor=None):
    gram = sizes_to_gram(*sizes)
    pairs = [(0, s) for s in range(1, len(sizes))]
    made = [
        np.array([(s == b) * 1 - (s == a) * 1 for s in range(len(sizes))], np.int8)
        for a, b in pairs
    ]
    problems = [SvmProblem(one, np.full(gram.shape[0], C)) for one in sides or made]
    return ProblemBatch(gram, problems, rule, monitor or FitMonitor())


def test_tolerances_of_each_kind_of_stop():
    most = np.iinfo(np.int64).max
    assert StoppingRule.of(1e-5, "kkt", -1) == (1e-5, 0.99e-3, most)
    assert StoppingRule.of(1e-2, "kkt", 0) == (1e-2, 0.99e-2, 0)
    assert StoppingRule.of(1e-5, "violation", 7) == (1e-5, np.inf, 7)
    assert StoppingRule.of(1e-5, "gap", 7) == (np.inf, 0.99e-5, 7)
    scales = np.array([1e3, 1.001e3])
    assert StoppingRule.of(1e-5, "kkt", -1).gaps_for(scales).tolist() == [0.99e-3, np.inf]
    assert StoppingRule.of(1e-5, "gap", -1).gaps_for(scales).tolist() == [0.99e-5, 0.99e-5]


def test_progress_of_many_problems_is_one_tick_each():
    assert [ticks_of(n) for n in (1, 10, 11)] == [10, 10, 1]
    assert ticks_due(np.array([2.0, 0.2, 0.02, 2e-9]), 2e-4, np.zeros(4, bool), 10).tolist() == [
        0,
        2,
        5,
        9,
    ]
    due = ticks_due(np.array([0.2, 0.02]), 2e-4, np.zeros(2, bool), 1000)
    assert due.tolist() in ([250, 500], [249, 499], [250, 499], [249, 500])  # to rounding
    assert ticks_due(np.array([50.0, np.inf]), 0.1, np.array([True, False]), 10).tolist() == [10, 0]


def test_a_fit_says_its_gap_margin_and_scores():
    y, errors = np.array([1.0, -1.0]), np.array([0.5, 0.25])
    fit = SvmFit(np.arange(2), y, y, y, errors, 0.125, 0.0, 6.0, 3.0, 16.0, 1, "tol", 0.5)
    assert fit.gap == 0.5
    assert fit.margin_width == 0.5
    assert fit._replace(square=0.0).margin_width == np.inf
    assert fit.scores.tolist() == [1.625, -0.625]


def test_the_heavier_side_is_scaled_down():
    y, box = np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 2.0)
    assert make_feasible(np.array([5.0, -1.0, 0.5, 0.5]), y, box).tolist() == [1.0, 0.0, 0.5, 0.5]
    assert make_feasible(np.array([0.5, 0.5, 5.0, 2.0]), y, box).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert make_feasible(np.array([1.0, 0.0, 1.0, 0.0]), y, box).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_changes_are_those_other_than_zero_with_three_unused_entries():
    change = smo.AlphaStep.of(np.array([4, 7, 9]), np.array([0.5, 0.0, -1.0]))
    assert change.rows.tolist() == [4, 9, 4, 4, 4]
    assert change.steps.tolist() == [0.5, -1.0, 0.0, 0.0, 0.0]
    assert (change.size, smo.NO_CHANGE.size) == (2, 0)


def test_shares_of_problems_have_about_equal_work():
    batch = batch_of(2, *[2] * 6)  # six equal problems
    assert [part.tolist() for part in smo._shares(batch, 3)] == [[0, 1], [2, 3], [4, 5]]
    assert [len(part) for part in smo._shares(batch, 1)] == [6]
    assert smo._values(batch) == 6 * 16
    uneven = batch_of(2, 8, 2, 2)
    assert [part.tolist() for part in smo._shares(uneven, 2)] == [[0], [1, 2]]
    assert sum(len(part) for part in smo._shares(uneven, 50)) == 3


def test_problems_on_the_same_rows_follow_each_other():
    sides = [np.array(one, np.int8) for one in ([-1, 0, 1], [-1, 1, 0], [-1, 0, 1], [0, -1, 1])]
    batch = batch_of(3, 3, 3, sides=sides)
    (order,) = smo._shares(batch, 1)
    assert order.tolist() == [1, 0, 2, 3]


def test_the_size_of_a_working_set_grows_with_the_rows_and_then_with_the_rounds():
    assert [smo._set_size(n) for n in (10, 10_239, 10_240, 20_480, 10**6)] == [
        256,
        256,
        512,
        1024,
        1024,
    ]
    batch = batch_of(30, 30)
    one = smo.WorkingSet(batch, 0, capacity=20, most=50, dtype=np.dtype(np.float32))
    assert (one.size, one.largest, len(one.taken), one.first) == (20, 50, 60, 0)
    assert one.tile.shape == (20, 36)
    one.count = 3
    one.work[:3], one.tile[:3, :3] = [5, 6, 7], np.arange(9).reshape(3, 3)
    one._grow()
    assert one.size == 40
    assert one.work[:3].tolist() == [5, 6, 7]
    assert one.tile[:3, :3].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert one.tile.dtype == np.float32
    one._grow()
    assert one.size == 50


def test_rows_that_stay_keep_their_kernel_values():
    batch = batch_of(6, 6)
    gram = sizes_to_gram(6, 6)
    one = smo.WorkingSet(batch, 0, capacity=6, most=6, dtype=np.dtype(np.float64))
    index = np.array([3, 8, 1, 10, 0])
    one.count = 5
    one.tile[2:4, 2:4] = gram.matrix[np.ix_([3, 8], [3, 8])]
    one._fill_tile(gram, index, 2, 4, alone=0)
    np.testing.assert_array_equal(one.tile[:5, :5], gram.matrix[np.ix_(index, index)])


def test_groups_of_problems_fit_in_memory_together():
    batch = batch_of(30, 30, 30, 30)
    sets = [smo.WorkingSet(batch, p, 20, 20, np.dtype(float)) for p in range(3)]
    assert [len(group) for group in smo._groups(batch, sets, 40)] == [2, 1]
    assert [len(group) for group in smo._groups(batch, sets, 39)] == [1, 1, 1]
    assert [len(group) for group in smo._groups(batch, sets, 60)] == [3]
    # the first segment is in all problems, the second only in the first
    assert list(smo._pieces(batch, 1, 20)) == [
        (0, 0, 0, 20),
        (0, 0, 20, 30),
        (2, 30, 30, 50),
        (2, 30, 50, 60),
    ]
    assert Counter(segment for segment, *_ in smo._pieces(batch, 2, 100)) == {0: 1, 3: 1}


def review(status, *, gap=0.0, violation=1e-4, steps=0, monitor=None, **changes):
    """What becomes of one problem of such a state; the batch and those that go on."""
    batch = batch_of(4, 4, monitor=monitor, **changes)
    batch.certify = lambda chosen: None
    batch.arrays.whole[STATUS], batch.arrays.whole[STEPS] = status, steps
    batch.arrays.real[VIOLATION], batch.certificates[GAP] = violation, gap
    return batch, batch.review(np.array([0]))


def test_a_problem_is_done_when_its_violation_and_its_gap_are_small():
    batch, left = review(REACHED, gap=0.99e-3)
    assert (batch.stop[0], len(left)) == ("tol", 0)
    batch, left = review(REACHED, gap=1e-3)
    assert (batch.stop[0], left.tolist()) == ("", [0])
    assert batch.arrays.real[TOL, 0] == 0.5e-4
    batch, left = review(REACHED, gap=1.0, violation=0.0)
    assert batch.stop[0] == "tol"
    batch, left = review(STUCK)
    assert batch.stop[0] == "stalled"
    batch, left = review(RUNNING, violation=1.0)
    assert (batch.stop[0], left.tolist(), batch.arrays.real[TOL, 0]) == ("", [0], 1e-3)


def test_a_monitor_stops_what_has_not_ended_and_is_told_the_progress():
    told = []
    monitor = FitMonitor(None, told.append)
    review(REACHED, monitor=monitor)
    assert len(told) == 10
    monitor = FitMonitor()
    monitor.should_stop = lambda: True
    assert review(RUNNING, violation=1.0, monitor=monitor)[0].stop[0] == "stopped"
    assert review(REACHED, monitor=monitor)[0].stop[0] == "tol"


def test_a_limit_of_steps_ends_a_problem_and_a_pause_does_not():
    rule = StoppingRule.of(1e-3, "kkt", 120_000)
    batch, _ = review(PAUSED, violation=1.0, steps=50_000, rule=rule)
    assert (batch.stop[0], batch.arrays.whole[LIMIT, 0]) == ("", 100_000)
    batch, _ = review(RUNNING, violation=1.0, steps=49_999, rule=rule)
    assert (batch.stop[0], batch.arrays.whole[LIMIT, 0]) == ("", 50_000)
    batch, _ = review(RUNNING, violation=1.0, steps=110_000, rule=rule)
    assert (batch.stop[0], batch.arrays.whole[LIMIT, 0]) == ("", 120_000)
    assert review(RUNNING, violation=1.0, steps=120_000, rule=rule)[0].stop[0] == "max_iter"


def test_a_problem_whose_dual_objective_does_not_rise_has_stalled():
    batch, _ = review(PAUSED, violation=1.0)
    for steps, dual, stop in (
        (100_000, 5.0, ""),
        (199_999, 5.0, ""),  # not looked at yet
        (200_000, 5.0 + 1e-11, ""),
        (300_000, 5.0 + 1e-11, "stalled"),
    ):
        batch.arrays.whole[STEPS], batch.certificates[DUAL] = steps, dual
        batch._review_steps(0)
        assert batch.stop[0] == stop


@pytest.mark.parametrize(("C", "stop"), [(np.inf, "not separable"), (1e15, "stalled"), (1e9, "")])
def test_hulls_that_touch_are_not_separable(C, stop):
    batch, _ = review(PAUSED, violation=1.0, C=C)
    batch.arrays.state[ALPHA] = 3.0  # sum 24
    batch.stop[:] = ""  # a review of coefficients 0 finds hulls that touch
    batch.certificates[LAST_VIOLATION] = 1.0
    limit = 1e-12 * batch.scales[0] * 24.0**2 / 4.0
    for square, found in ((limit * 1.001, ""), (limit * 0.999, stop)):
        batch.certificates[SQUARE] = square
        batch._review_steps(0)
        assert batch.stop[0] == found


def test_a_large_scale_problem_seeks_a_small_gap_as_others_do():
    batch, left = review(REACHED, gap=1.0, C=1e9)
    assert (batch.stop[0], left.tolist()) == ("", [0])
    batch, left = review(PAUSED, gap=1.0, steps=50_000, C=1e9)
    assert (batch.stop[0], left.tolist()) == ("", [0])


def test_a_problem_that_may_be_handed_over_is_where_others_stall():
    for steps, stop in ((199_999, ""), (200_000, HANDED_OVER)):
        batch, _ = review(PAUSED, violation=1.0)
        batch.hand_over_after(np.array([200_000]))
        batch.arrays.whole[STEPS], batch.certificates[DUAL] = steps, 5.0
        batch._review_steps(0)
        assert batch.stop[0] == stop
    batch, _ = review(PAUSED, violation=1.0)
    batch.hand_over_after(np.array([10**7]))
    for steps, stop in ((100_000, ""), (200_000, HANDED_OVER)):  # its dual objective does not rise
        batch.arrays.whole[STEPS], batch.certificates[DUAL] = steps, 5.0
        batch._review_steps(0)
        assert batch.stop[0] == stop


def test_a_problem_that_is_never_handed_over_has_the_steps_of_libsvm():
    for steps, stop in ((9_999_999, ""), (10_000_000, "stalled")):
        batch, _ = review(PAUSED, violation=1.0)
        batch.hand_over_after(np.array([NEVER]))
        batch.arrays.whole[STEPS], batch.certificates[DUAL] = steps, float(steps)
        batch._review_steps(0)
        assert batch.stop[0] == stop


def test_a_problem_that_comes_back_makes_steps_again():
    batch, _ = review(PAUSED, violation=1.0)
    batch.hand_over_after(np.array([0]))
    assert (batch.stop[0], batch.open().tolist()) == (HANDED_OVER, [])
    batch.resume(0)
    assert (batch.stop[0], batch.ends[0], batch.may_hand_over[0]) == ("", 10_000_000, False)
    batch.arrays.whole[STEPS] = 70
    batch.polish(0)
    assert (batch.ends[0], batch.arrays.whole[LIMIT, 0]) == (150, 150)  # ten for each row


def test_a_fit_that_meets_its_tolerances_is_solved_however_it_ended():
    batch = batch_of(4, 4)
    batch.certify = lambda chosen: None
    batch.stop[:] = "stopped"
    batch.certificates[4], batch.certificates[GAP] = 1e-3, 0.99e-3
    assert batch.results()[0].stop == "tol"
    batch.certificates[GAP] = 1e-3
    assert batch.results()[0].stop == "stopped"


def test_stacked_problems_say_which_have_a_start():
    gram = sizes_to_gram(2, 2)
    sides, box = np.array([-1, 1], np.int8), np.ones(4)
    start = np.array([0.5, 0.0, 0.25, 0.25])
    given = [
        SvmProblem(sides, box),
        SvmProblem(sides, box, start),
        SvmProblem(sides, 2 * box, start, -start),
    ]
    found = StackedProblems.of(gram.segments, given)
    for one, other in zip(found, given, strict=True):
        for field, wanted in zip(one, other, strict=True):
            np.testing.assert_array_equal(field, wanted)
    assert found[-1].start_errors is not None
    assert [one.start is None for one in found[:2]] == [True, False]
    assert StackedProblems.of(gram.segments, found) is found
    again = found.again([3 * box, box], np.zeros(12), None)
    assert again.given.all()
    assert not again.known.any()
    assert found.again([box], np.zeros(12), np.ones(12)).known.all()
    assert not found.again([box], None, None).given.any()


def test_the_errors_of_a_later_problem_begin_at_its_own_rows():
    """Initial coefficients of the second of two problems, over rows that are fetched in parts."""
    gram = sizes_to_gram(3, 4, 5)
    rng = np.random.default_rng(2)
    sides = [np.array([-1, 1, 0], np.int8), np.array([0, -1, 1], np.int8)]
    start = rng.uniform(0.1, 1.0, 9)
    start[:4] *= start[4:].sum() / start[:4].sum()
    problems = [
        SvmProblem(sides[0], np.full(12, 5.0)),
        SvmProblem(sides[1], np.full(12, 5.0), start),
    ]
    batch = ProblemBatch(gram, problems, RULE, FitMonitor())
    smo.begin(batch, smo.fetch_held(gram), 4, batch.warm_starts())
    y = np.repeat([-1.0, 1.0], [4, 5])
    rows = np.arange(3, 12)
    expected = gram.matrix[np.ix_(rows, rows)] @ (start * y) - y
    np.testing.assert_allclose(batch.arrays.state[ERRORS, 7:], expected)
    np.testing.assert_array_equal(batch.arrays.state[ERRORS, :7], np.repeat([1.0, -1.0], [3, 4]))


def nu_batch(*sizes, sides, box, share=0.4, tol=1e-3):
    gram = sizes_to_gram(*sizes)
    rule = StoppingRule.of(tol, "kkt", -1)
    return gram, NuBatch(
        gram, [SvmProblem(np.array(sides, np.int8), box)], rule, FitMonitor(), share
    )


def test_the_sum_of_a_side_is_a_share_of_all_bounds_or_what_it_can_hold():
    box = np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    assert nu_batch(2, 3, sides=[-1, 1], box=box, share=0.25)[1].sums.tolist() == [2.0]
    assert nu_batch(2, 3, sides=[-1, 1], box=box, share=0.75)[1].sums.tolist() == [3.0]
    assert nu_batch(3, 2, sides=[1, -1], box=box[::-1].copy(), share=0.75)[1].sums.tolist() == [3.0]
    _, one = nu_batch(2, 3, sides=[1, 1], box=box, share=0.25)
    assert (one.sums.tolist(), one.one_sided.tolist()) == ([4.0], [True])


def side_of(margins, alpha, box):
    """The level of one side, the mean of its free rows, and its violation."""
    free = (alpha > 0) & (alpha < box)
    lowest, highest = margins[alpha < box].min(), margins[alpha > 0].max()
    level = margins[free].mean() if free.any() else 0.5 * (lowest + highest)
    return level, max(highest - lowest, 0.0)


@pytest.mark.parametrize("sides", [[-1, 1], [1, 1]])
@pytest.mark.parametrize("shift", [0.0, 0.75])
def test_the_certificate_of_a_nu_machine_is_that_of_its_formulas(sides, shift):
    rng = np.random.default_rng(1)
    box = rng.uniform(0.5, 2.0, size=7)
    gram, batch = nu_batch(3, 4, sides=sides, box=box)
    y, state = batch.arrays.state[Y], batch.arrays.state
    batch.warm_starts()
    alpha = state[ALPHA].copy()
    two = not batch.one_sided[0]
    for side in (1.0, -1.0) if two else (1.0,):
        np.testing.assert_allclose(alpha[y == side].sum(), batch.sums[0])
    f = gram.matrix @ (alpha * y)
    state[ERRORS] = f - y
    if two:  # a shift of the errors of one side, as the choice of rows makes
        state[ERRORS][y < 0] += shift
        batch.shifts[0] = shift
    batch.measure()
    np.testing.assert_allclose(batch.arrays.real[LEAST_SQUARE, 0], nu.NO_MARGIN * (alpha * y) @ f)

    batch.certify(np.array([0]))

    levels = [
        side_of(s * f[y == s], alpha[y == s], box[y == s]) for s in ((1.0, -1.0) if two else (1.0,))
    ]
    loss = sum(
        box[y == s] @ np.maximum(level - s * f[y == s], 0.0)
        for s, (level, _) in zip((1.0, -1.0), levels, strict=False)
    )
    total, square = sum(level for level, _ in levels), (alpha * y) @ f
    r = total / len(levels)
    primal, dual = 0.5 * square + loss - batch.sums[0] * total, -0.5 * square
    bias = 0.5 * (levels[1][0] - levels[0][0]) if two else -r
    found = batch.certificates[:, 0]
    violation = max(violation for _, violation in levels)
    gap = (primal - dual) / max(0.5 * square + loss, r * r)
    if two and 0 < r < 1 and violation > 1e-3 * r:
        gap = np.inf
    np.testing.assert_allclose(found, [bias, primal, dual, square, violation, gap])
    assert batch.margins[0] == pytest.approx(r)
    assert batch.stop[0] == ""


def test_errors_of_a_division_by_a_small_margin_count():
    _, batch = nu_batch(2, 2, sides=[-1, 1], box=np.ones(4), share=0.5, tol=0.1)
    state = batch.arrays.state
    state[ALPHA] = [0.5, 0.5, 0.5, 0.5]
    y = state[Y]
    for r, violation, infinite in (
        (0.5, 0.04, False),
        (0.5, 0.06, True),
        (2.0, 0.06, False),
        (1.0, 0.15, False),
    ):
        state[ERRORS] = y * (r + np.array([0.0, 0.0, violation, 0.0])) - y
        batch.stop[:] = ""
        batch.certify(np.array([0]))
        assert batch.certificates[4, 0] == pytest.approx(violation)
        assert np.isinf(batch.certificates[GAP, 0]) == infinite


def test_a_margin_too_small_for_its_violation_ends_after_many_steps(monkeypatch):
    monkeypatch.setattr(nu, "MOST_EXTRA_STEPS", 10)
    _, batch = nu_batch(2, 2, sides=[-1, 1], box=np.ones(4), share=0.5, tol=0.1)
    batch.margins[:] = 0.5
    steps = batch.arrays.whole[STEPS]
    for now, violation, stop in (
        (7, 0.06, ""),
        (17, 0.06, ""),
        (18, 0.05, ""),
        (18, 0.06, "no margin"),
    ):
        steps[:] = now
        batch.stop[:] = ""
        batch.certificates[LAST_VIOLATION] = violation
        batch._limit_margin(0)
        assert batch.stop[0] == stop


def with_sum(alpha, box, total):
    """The coefficients of side -1 between two other problems, which are not touched."""
    n = len(alpha)
    y, bounds = -np.ones(n + 2), np.concatenate([[9.0], box, [9.0]])
    found = np.array([7.0, *alpha, 7.0])
    nu.set_sums(np.array([1, n + 1]), np.array([total]), y, bounds, found)
    assert found[[0, -1]].tolist() == [7.0, 7.0]
    return found[1:-1]


def test_a_sum_goes_to_the_first_rows_and_a_start_is_scaled():
    box = np.array([1.0, 2.0, 0.5])
    assert with_sum([0.0, 0.0, 0.0], box, 2.5).tolist() == [1.0, 1.5, 0.0]
    assert with_sum([0.0, 1.0, 1.0], box, 2.0).tolist() == [0.5, 1.0, 0.5]
    assert with_sum([1.0, 1.0, 0.0], box, 1.0).tolist() == [0.5, 0.5, 0.0]


def test_dividing_by_the_margin_keeps_the_boundary():
    _, batch = nu_batch(2, 2, sides=[-1, 1], box=np.full(4, 4.0), share=0.5)
    alpha, y, f = np.array([3.0, 1.0, 2.0, 2.0]), batch.arrays.state[Y], [-0.5, -0.5, 1.0, 1.0]
    batch.arrays.state[ALPHA], batch.arrays.state[ERRORS] = alpha, f - y
    (fit,) = batch.results()
    r, bias, loss, square = 0.75, -0.25, 0.0, 0.5 * 4.0 + 4.0
    assert batch.margins.tolist() == [r]
    np.testing.assert_allclose(fit.alpha, alpha / r)
    np.testing.assert_allclose(fit.box, 4.0 / r)
    np.testing.assert_allclose(fit.scores, (f + np.array(bias)) / r)
    primal, dual = 0.5 * square + loss - 4.0 * 2 * r, -0.5 * square
    np.testing.assert_allclose(
        [fit.square, fit.primal, fit.dual],
        [square / r**2, primal / r**2 + 8.0 / r, dual / r**2 + 8.0 / r],
    )
    assert fit.gap == (fit.primal - fit.dual) / max(fit.primal, 1.0)
    assert (fit.stop, fit.violation) == ("tol", 0.0)


def test_other_matrices_are_refused_and_computed_rows_are_not():
    sides, box = np.array([-1, 1], np.int8), np.ones(8)
    with pytest.raises(TypeError, match="must be held, by rows or on a device"):
        solve_svms(object(), [SvmProblem(sides, box)])
    with pytest.raises(TypeError, match="must be held or by rows"):
        nu.solve_nu_svms(WithoutRows(sizes_to_gram(4, 4)), [SvmProblem(sides, box)], nu=0.5)
    X = np.random.default_rng(3).normal(size=(8, 2)) + np.repeat([[-1.0], [1.0]], 4, axis=0)
    segments = (slice(0, 4), slice(4, 8))
    held, lazy = (
        make_gram(Gaussian(0.5), X, segments=segments, hold=hold) for hold in (True, False)
    )
    first, second = (
        solve_svms(gram, [SvmProblem(sides, box)], tol=1e-6)[0] for gram in (held, lazy)
    )
    np.testing.assert_allclose(first.alpha, second.alpha, atol=1e-4)


class WithoutRows:
    """A Gram that can neither be held nor gives rows."""

    def __init__(self, gram):
        self.segments, self.shape, self.dtype = gram.segments, gram.shape, gram.dtype
        self.diagonal = gram.diagonal
