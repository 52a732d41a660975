"""Chunks of rows find the solutions of the whole matrix; torch on the CPU stands in for a GPU."""

import numpy as np
import pytest

from separatrix.kernels import Gaussian, Polynomial
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import TICKS

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")
cuda = pytest.importorskip("separatrix.solvers.svm.cuda")
chunks = pytest.importorskip("separatrix.solvers.svm.cuda_chunks")
helpers = pytest.importorskip("tests.solvers.svm.test_cuda")

ROWS = 700
MEMORY = 8 * ROWS * 400  # of 700 rows


@pytest.fixture
def solved(monkeypatch):
    """Rows of each chunk, its level and what is near; small levels, so that there are several."""
    monkeypatch.setattr(chunks, "FIRST_LEVEL", 40)
    monkeypatch.setattr(chunks, "LEAST_CACHED", 1)
    monkeypatch.setattr(cuda, "WORKING_SET", 64)
    seen, solve = [], chunks.ChunkedBatch._solve_chunks

    def recorded(self, groups, *args):
        rows = max(int(chunk.sum()) for _, chunk in groups)
        seen.append((rows, int(self.level.sum()), int(self.near.sum())))
        return solve(self, groups, *args)

    monkeypatch.setattr(chunks.ChunkedBatch, "_solve_chunks", recorded)
    return seen


@pytest.mark.parametrize(
    ("scheme", "C", "kernel"),
    [("ovo", 1.0, Gaussian(0.3)), ("ovr", 10.0, Gaussian(0.3)), ("ovo", 0.1, Polynomial(2))],
)
def test_levels_and_left_out_rows_change_nothing(scheme, C, kernel, solved):
    X, segments, problems = helpers.problems_of(ROWS, 3, scheme, C=C)

    helpers.assert_same_solutions(X, segments, problems, kernel, memory=MEMORY)

    levels = {level for _, level, _ in solved}
    assert len(levels) == 3
    assert max(levels) == ROWS
    assert all(chunk <= level for chunk, level, _ in solved)


def test_a_large_scale_problem_has_a_small_gap_too_if_some_steps_reach_it(solved, monkeypatch):
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=1e4)
    gram = helpers.on_device(X, segments, Gaussian(2.0), memory=MEMORY)

    [whole] = solve_svms(gram, problems)
    monkeypatch.setattr(cuda, "STEPS_FOR_GAP", 0)
    [rough] = solve_svms(gram, problems)

    assert (whole.stop, rough.stop) == ("tol", "tol")
    assert max(whole.violation, rough.violation) <= 1e-3
    assert whole.gap <= 1e-3 < rough.gap


def test_rows_far_from_the_boundary_are_left_out_and_looked_at_again(solved, monkeypatch):
    monkeypatch.setattr(chunks, "NEAR", 0.0)  # too little: some must come back
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=5.0)

    helpers.assert_same_solutions(X, segments, problems, memory=MEMORY)

    at_the_end = [near for _, level, near in solved if level == ROWS]
    assert min(at_the_end) < ROWS / 2
    assert at_the_end.count(ROWS) >= 2


def test_a_start_looks_at_all_rows_and_needs_no_step_at_the_solution(solved):
    X, segments, problems = helpers.problems_of(ROWS, 3, "ovo", C=1.0)
    gram = helpers.on_device(X, segments, memory=MEMORY)
    first = solve_svms(gram, problems, tol=1e-5)
    solved.clear()

    starts = [p._replace(start=fit.alpha) for p, fit in zip(problems, first, strict=True)]
    again = solve_svms(gram, starts, tol=1e-3)

    assert not solved
    assert [fit.n_iter for fit in again] == [0, 0, 0]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_allclose(other.errors, one.errors, atol=1e-9)


def test_a_chunk_of_few_violators_still_comes_to_the_end(solved, monkeypatch):
    monkeypatch.setattr(cuda, "WORKING_SET", 16)
    X, segments, problems = helpers.problems_of(ROWS, 3, "ovo", C=1.0)
    gram = helpers.on_device(X, segments, memory=MEMORY)
    whole = solve_svms(gram, problems)
    most = max(chunk for chunk, _, _ in solved)
    monkeypatch.setattr(type(gram), "largest_part", lambda *_: most * 3 // 4)
    solved.clear()

    small = solve_svms(gram, problems)

    assert max(chunk for chunk, _, _ in solved) <= most * 3 // 4
    assert {fit.stop for fit in small} == {"tol"}
    for one, other in zip(whole, small, strict=True):
        np.testing.assert_allclose(other.dual, one.dual, rtol=1e-4)


def test_more_support_vectors_than_fit_are_solved_by_cached_rows(solved, monkeypatch):
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=1.0)
    gram = helpers.on_device(X, segments, memory=MEMORY)
    monkeypatch.setattr(type(gram), "largest_part", lambda *_: 140)

    [fit] = solve_svms(gram, problems)

    assert fit.stop == "tol"
    assert np.count_nonzero(fit.alpha) > 140
    assert max(chunk for chunk, _, _ in solved) <= 140


def test_being_told_to_stop_leaves_errors_that_belong_to_the_coefficients(solved):
    X, segments, problems = helpers.problems_of(ROWS, 3, "ovo", C=1.0)
    gram = helpers.on_device(X, segments, memory=MEMORY)
    monitor = FitMonitor()
    counted = iter(range(10_000))
    monitor.should_stop = lambda: next(counted) > 12  # after a few rounds

    fits = solve_svms(gram, problems, monitor=monitor, tol=1e-6)

    K = helpers.make_gram(helpers.KERNEL, X, segments=segments).matrix
    assert "stopped" in {fit.stop for fit in fits}
    for fit in fits:
        signed = K[np.ix_(fit.rows, fit.rows)] @ (fit.alpha * fit.y)
        np.testing.assert_allclose(fit.errors, signed - fit.y, atol=1e-9)


def test_a_chunk_that_is_stopped_before_its_first_step_is_not_stalled(solved, monkeypatch):
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=1.0)
    gram, monitor = helpers.on_device(X, segments, memory=MEMORY), FitMonitor()
    part = type(gram).part

    def stopped(*args):
        monitor.cancel()
        return part(*args)

    monkeypatch.setattr(type(gram), "part", stopped)
    [fit] = solve_svms(gram, problems, monitor=monitor, tol=1e-6)

    assert (fit.stop, fit.n_iter) == ("stopped", 0)


def test_the_time_that_the_errors_of_all_rows_need_is_left_for_them(solved, monkeypatch):
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=1.0)
    gram, monitor = helpers.on_device(X, segments, memory=MEMORY), FitMonitor()
    monkeypatch.setattr(monitor, "seconds_left", lambda: 1000.0)
    batches = []

    def slow(self, *args):
        batches.append(self)
        advance(self, *args)
        self._pairs_per_second = 1e-3  # all rows would take longer than the time that is left

    advance = chunks.ChunkedBatch._advance
    monkeypatch.setattr(chunks.ChunkedBatch, "_advance", slow)
    [fit] = solve_svms(gram, problems, monitor=monitor, tol=1e-6)

    assert len(solved) == 1
    assert fit.stop == "stopped"
    assert fit.n_iter > 0
    K = helpers.make_gram(helpers.KERNEL, X, segments=segments).matrix
    signed = K[np.ix_(fit.rows, fit.rows)] @ (fit.alpha * fit.y)
    np.testing.assert_allclose(fit.errors, signed - fit.y, atol=1e-9)


def test_progress_is_reported_in_the_steps_of_the_cpu_solver(solved):
    X, segments, problems = helpers.problems_of(ROWS, 3, "ovo", C=1.0)
    steps = []

    monitor = FitMonitor(on_step=steps.append)
    solve_svms(helpers.on_device(X, segments, memory=MEMORY), problems, monitor=monitor)

    assert len(steps) == 3 * TICKS


def test_a_matrix_of_which_many_rows_fit_is_solved_by_cached_rows(solved, monkeypatch):
    X, segments, problems = helpers.problems_of(ROWS, 2, "ovo", C=1.0)
    gram = helpers.on_device(X, segments, memory=MEMORY)
    monkeypatch.setattr(chunks, "LEAST_CACHED", 3)
    solve_svms(gram, problems)
    assert not solved
    monkeypatch.setattr(chunks, "LEAST_CACHED", 1)
    solve_svms(gram, problems)
    assert solved


@pytest.mark.parametrize("memory", [None, MEMORY])
@pytest.mark.parametrize("late", [False, True])
def test_errors_of_other_kernel_values_stay_where_time_is_short(memory, late, solved):
    X, segments, problems = helpers.problems_of(ROWS, 3, "ovo", C=5.0)
    gram = helpers.on_device(X, segments, **({} if memory is None else {"memory": memory}))
    exact = solve_svms(gram, problems, tol=1e-3)
    begun = [
        problem._replace(start=fit.alpha, start_errors=fit.errors + 1e-5 * fit.y, rough=True)
        for problem, fit in zip(problems, exact, strict=True)
    ]
    found = solve_svms(gram, begun, tol=1e-2, monitor=FitMonitor(0.0 if late else None))
    for fit, problem, one in zip(found, begun, exact, strict=True):
        np.testing.assert_array_equal(fit.alpha, one.alpha)
        expected = problem.start_errors if late else one.errors
        np.testing.assert_allclose(fit.errors, expected, rtol=0, atol=1e-9)
        assert fit.stop == ("stopped" if late else "tol")  # of errors that are not its own
