"""Who is handed to the interior-point method, when, and that the answer is the same either way."""

import numpy as np
import pytest

from separatrix.kernels import Gaussian, Linear
from separatrix.kernels.gram import HeldGram, make_gram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm import batch, smo, solve_svms, takeover
from separatrix.solvers.svm.batch import HANDED_OVER, NEVER, ProblemBatch
from separatrix.solvers.svm.problem import StoppingRule, SvmProblem
from separatrix.solvers.svm.takeover import steps_before

FEWEST = 50_000
SIDES = np.array([-1, 1], np.int8)


class Shape:
    """What `steps_before` reads of a Gram: the columns of a linear kernel, if there are any."""

    def __init__(self, width=None):
        if width is not None:
            self.columns = type("Columns", (), {"width": width})()


def steps(n, width=None, *, hard=False, set_size=256):
    return int(steps_before(Shape(width), np.array([n]), set_size, FEWEST, np.array([hard]))[0])


def two_classes(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :] += 0.7
    return X, np.repeat([-1.0, 1.0], n // 2), (slice(0, n // 2), slice(n // 2, n))


def solve(gram, box, **terms):
    box = np.broadcast_to(np.asarray(box, float), gram.shape[0]).copy()
    [fit] = solve_svms(gram, [SvmProblem(SIDES, box)], **terms)
    return fit


@pytest.fixture
def at_once(monkeypatch):
    """Hand every problem over before its first step."""
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.zeros(len(sizes), np.int64))


def never(monkeypatch):
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.full(len(sizes), NEVER))


# ---- when --------------------------------------------------------------------------------------


def test_many_rows_of_few_columns_are_handed_over_at_once():
    assert steps(2001, width=5) == 0
    assert steps(2000, width=5) > 0
    assert steps(50_000, width=50) == 0
    assert steps(2001, width=None) > 0


def test_a_large_matrix_without_columns_is_never_handed_over():
    assert 0 < steps(4096) < NEVER
    assert steps(4097) == NEVER
    assert steps(4097, width=3000) == NEVER  # more than half as many columns
    assert steps(4097, width=2000) < NEVER
    assert steps(10**7, width=3) == 0


def test_a_hard_margin_is_handed_over_at_once_where_its_matrix_is_small():
    assert steps(1024, hard=True) == 0
    assert steps(1025, hard=True) > 0
    assert steps(4097, hard=True) == NEVER
    assert steps(1500, width=100, hard=True) == 0


def test_a_problem_may_make_the_steps_that_the_other_method_would_take():
    assert steps(60) == steps(150, width=4) == FEWEST
    few, many = steps(1000, width=100), steps(1000, width=400)
    assert FEWEST < few < many
    assert steps(4000) > steps(2000) > FEWEST
    assert steps(4000, set_size=2048) < steps(4000, set_size=256)  # whose steps are dearer


def test_each_problem_of_a_batch_has_its_own_number_of_steps():
    sizes, hard = np.array([60, 3000, 5000, 60]), np.array([False, False, False, True])
    found = steps_before(Shape(), sizes, 256, FEWEST, hard)
    assert found.tolist() == [steps(60), steps(3000), NEVER, 0]


def test_a_batch_limits_the_steps_and_hands_over_what_has_none():
    X, _, segments = two_classes()
    gram = make_gram(Gaussian(0.1), X, segments=segments)
    problems = [SvmProblem(SIDES, np.ones(200))] * 3
    one = ProblemBatch(gram, problems, StoppingRule.of(1e-3, "kkt", -1), FitMonitor())

    one.hand_over_after(np.array([0, 70, NEVER]))

    assert one.stop.tolist() == [HANDED_OVER, "", ""]
    assert one.open().tolist() == [1, 2]
    assert one.may_hand_over.tolist() == [True, True, False]
    assert one.arrays.whole[batch.LIMIT].tolist() == [1, 70, batch.STEPS_AT_ONCE]
    assert one.ends[2] == batch.MOST_STEPS


# ---- the same answer ---------------------------------------------------------------------------

KERNELS = [Linear(), Gaussian(0.1), Gaussian(5.0)]  # columns, a factor of low rank, the matrix


@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("hold", [True, False])
def test_the_answer_is_the_same_from_the_start_as_takeover_and_without(
    kernel, C, hold, monkeypatch
):
    X, _, segments = two_classes(n=120)
    found = {}
    for name, limit in (("start", 0), ("later", 20), ("never", NEVER)):
        gram = make_gram(kernel, X, segments=segments, hold=hold, tolerance=1e-12)
        monkeypatch.setattr(
            smo, "steps_before", lambda gram, sizes, *_, n=limit: np.full(len(sizes), n)
        )
        found[name] = solve(gram, C, tol=1e-6)

    for fit in found.values():
        assert fit.stop == "tol"
        np.testing.assert_allclose(fit.dual, found["never"].dual, rtol=1e-7)
        np.testing.assert_allclose(fit.scores, found["never"].scores, atol=1e-2)
        assert abs(fit.alpha @ fit.y) <= 1e-9 * fit.alpha.sum()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("limit", [0, 20])
@pytest.mark.parametrize("hold", [True, False])
def test_the_number_of_threads_changes_no_bit(kernel, limit, hold, monkeypatch):
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.full(len(sizes), limit))
    monkeypatch.setattr(smo, "WORTH_THREADS", 0)
    X, _, segments = two_classes()
    problems = [SvmProblem(SIDES, np.full(200, C)) for C in (0.1, 1.0, 10.0, 100.0)]

    one, two = (
        solve_svms(
            make_gram(kernel, X, segments=segments, hold=hold), problems, tol=1e-4, threads=threads
        )
        for threads in (1, 2)
    )

    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.alpha, second.alpha)
        np.testing.assert_array_equal(first.errors, second.errors)
        assert (first.n_iter, first.stop) == (second.n_iter, second.stop)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.usefixtures("at_once")
def test_rows_with_a_bound_of_0_are_scored_and_not_trained_on(kernel):
    X, y, segments = two_classes()
    gram = make_gram(kernel, X, segments=segments, tolerance=1e-12)
    box = np.where(np.arange(200) % 5 == 0, 0.0, 2.0)

    fit = solve(gram, box, tol=1e-6)

    assert fit.stop == "tol"
    assert not fit.alpha[box == 0].any()
    K = kernel.block(X, X)
    np.testing.assert_allclose(fit.scores, K @ (fit.alpha * y) + fit.intercept, atol=1e-6)
    inside = np.flatnonzero(box)
    alone = make_gram(kernel, X[inside], segments=(slice(0, 80), slice(80, 160)), tolerance=1e-12)
    np.testing.assert_allclose(fit.dual, solve(alone, 2.0, tol=1e-6).dual, rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.usefixtures("at_once")
def test_a_bound_that_differs_by_row_is_never_exceeded(kernel):
    X, y, segments = two_classes()
    gram = make_gram(kernel, X, segments=segments, tolerance=1e-12)
    box = np.random.default_rng(1).uniform(0.1, 5.0, 200)
    fit = solve(gram, box)
    assert ((fit.alpha >= 0.0) & (fit.alpha <= box)).all()
    assert (fit.alpha == box).any()
    assert abs(fit.alpha @ y) <= 1e-12 * fit.alpha.sum()


@pytest.mark.usefixtures("at_once")
def test_columns_give_their_weights_and_a_kernel_matrix_has_none():
    X, y, segments = two_classes()
    linear = solve_svms(
        make_gram(Linear(), X, segments=segments), [SvmProblem(SIDES, np.ones(200))] * 2
    )
    assert sorted(linear.weights) == [0, 1]
    for p, w in linear.weights.items():
        np.testing.assert_allclose(w, X.T @ (linear[p].alpha * y), atol=1e-8)
    other = solve_svms(
        make_gram(Gaussian(0.1), X, segments=segments), [SvmProblem(SIDES, np.ones(200))]
    )
    assert other.weights == {}


@pytest.mark.usefixtures("at_once")
def test_classes_that_overlap_have_no_hard_margin_and_others_do():
    X, y, segments = two_classes()
    assert solve(make_gram(Linear(), X, segments=segments), np.inf).stop == "not separable"
    fit = solve(make_gram(Linear(), X + 20.0 * y[:, None], segments=segments), np.inf)
    assert fit.stop == "tol"
    assert (fit.y * fit.scores).min() >= 1.0 - 1e-5


# ---- what cannot be taken over -----------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 500])
def test_an_indefinite_matrix_goes_on_with_working_sets_and_ends(limit, monkeypatch):
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.full(len(sizes), limit))
    monkeypatch.setattr(batch, "MOST_STEPS", 20_000)
    X, _, segments = two_classes()
    K = np.tanh(0.5 * X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K)[0] < -1

    fit = solve(HeldGram(K, segments=segments), 10.0)

    assert fit.stop in ("tol", "stalled")
    assert ((fit.alpha >= 0.0) & (fit.alpha <= 10.0)).all()
    assert abs(fit.alpha @ fit.y) <= 1e-9 * fit.alpha.sum()
    assert fit.n_iter <= 20_000 + 200 * batch.MOST_STEPS_A_ROW


def test_what_no_method_can_take_goes_on_as_if_it_was_never_handed_over(monkeypatch):
    X, _, segments = two_classes()
    gram = make_gram(Gaussian(0.1), X, segments=segments, tolerance=1e-12)
    with monkeypatch.context() as alone:
        never(alone)
        plain = solve(gram, 10.0)
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.full(len(sizes), 20))
    monkeypatch.setattr(takeover, "solve_by_interior_point", lambda *_: None)

    fit = solve(gram, 10.0)

    assert fit.stop == plain.stop == "tol"
    np.testing.assert_allclose(fit.dual, plain.dual, rtol=1e-3)


@pytest.mark.parametrize("limit", [0, 20])
def test_a_cancelled_fit_is_a_feasible_model(limit, cancelled, monkeypatch):
    monkeypatch.setattr(smo, "CHUNK", 1)  # multiply-adds between two checks
    monkeypatch.setattr(smo, "steps_before", lambda gram, sizes, *_: np.full(len(sizes), limit))
    X, _, segments = two_classes()
    fit = solve(make_gram(Linear(), X, segments=segments), 5.0, monitor=cancelled)
    assert fit.stop == "stopped"
    assert abs(fit.alpha @ fit.y) <= 1e-9 * max(1.0, fit.alpha.sum())


@pytest.mark.usefixtures("at_once")
def test_no_step_is_made_where_none_is_allowed():
    X, _, segments = two_classes()
    fit = solve(make_gram(Linear(), X, segments=segments), 5.0, max_iter=0)
    assert (fit.n_iter, fit.stop) == (0, "max_iter")


def test_steps_without_a_limit_are_a_number_of_64_bits(recwarn):
    assert steps_before(Shape(), np.array([10**5]), 256, FEWEST, np.array([False])).tolist() == [
        NEVER
    ]
    assert not recwarn.list
