"""The GPU solver finds the solutions of the CPU solver; torch on the CPU stands in for a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from separatrix.estimators.base.support import class_segments
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels.gram import make_gram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import coding
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import TICKS, SvmProblem

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")
cuda = pytest.importorskip("separatrix.solvers.svm.cuda")
DeviceGram = pytest.importorskip("separatrix.kernels.gram.device_gram").DeviceGram

CPU = torch.device("cpu")
KERNEL = Gaussian(0.3)


def problems_of(n, k, scheme, *, C, d=5, held_out=0.1, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(np.arange(n) % k)
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[y]
    box = np.full(n, float(C))
    box[rng.random(n) < held_out] = 0.0
    sides = coding(k, scheme)
    return X, class_segments(y, k), [SvmProblem(side, box) for side in sides.T]


def on_device(X, segments, kernel=KERNEL, **more):
    return make_gram(kernel, X, segments=segments, device=CPU, **more)


def assert_same_solutions(X, segments, problems, kernel=KERNEL, *, tol=1e-3, **more):
    """The solver of a device finds the solutions of the CPU solver."""
    K = make_gram(kernel, X, segments=segments)
    here = solve_svms(K, problems, tol=tol)
    there = solve_svms(on_device(X, segments, kernel, **more), problems, tol=tol)
    K = K.matrix
    for one, other in zip(here, there, strict=True):
        assert other.stop == "tol"
        assert other.violation <= tol
        np.testing.assert_array_equal(other.rows, one.rows)
        assert (other.alpha >= 0).all()
        assert (other.alpha <= other.box).all()
        assert abs(other.alpha @ other.y) <= 1e-10 * other.alpha.sum()
        np.testing.assert_allclose(other.dual, one.dual, rtol=max(1e-5, 1e-2 * tol))
        signed = K[np.ix_(other.rows, other.rows)] @ (other.alpha * other.y)
        np.testing.assert_allclose(
            other.errors, signed - other.y, atol=1e-9 * (1 + abs(signed).max())
        )
        assert other.primal >= other.dual - 1e-9
        np.testing.assert_allclose(other.intercept, one.intercept, atol=5 * tol)


@pytest.mark.slow
@pytest.mark.parametrize("working_set", [32, 2048])
@pytest.mark.parametrize(
    ("scheme", "C", "kernel"),
    [
        ("ovo", 1.0, Gaussian(0.3)),
        ("ovr", 10.0, Gaussian(0.3)),
        ("ovo", 1.0, Polynomial(2, coef0=1.0)),
        ("ovo", 5.0, Linear()),
        ("ovo", 1000.0, Gaussian(0.3)),
    ],
)
def test_all_pairs_at_once_are_solved_as_they_are_one_by_one(
    scheme, C, kernel, working_set, monkeypatch
):
    monkeypatch.setattr(cuda, "WORKING_SET", working_set)
    assert_same_solutions(*problems_of(200, 3, scheme, C=C), kernel)


@pytest.fixture
def small_sets(monkeypatch):
    monkeypatch.setattr(cuda, "WORKING_SET", 32)


def test_a_tight_tolerance_is_met(small_sets):
    assert_same_solutions(*problems_of(150, 3, "ovo", C=1.0), tol=1e-9)


def test_rows_that_come_and_go_change_nothing(monkeypatch):
    monkeypatch.setattr(cuda, "WORKING_SET", 64)
    X, segments, problems = problems_of(500, 3, "ovo", C=1.0)
    assert not on_device(X, segments, memory=8 * 500 * 180).complete
    assert_same_solutions(X, segments, problems, memory=8 * 500 * 180)


def test_problems_with_different_boxes_end_together(small_sets):
    X, segments, problems = problems_of(150, 2, "ovo", C=1.0)
    grid = [problems[0]._replace(box=C * problems[0].box) for C in (0.01, 1.0, 100.0)]
    assert_same_solutions(X, segments, grid)


@pytest.mark.parametrize("errors_known", [True, False])
def test_a_start_at_the_solution_needs_no_step(errors_known, small_sets):
    X, segments, problems = problems_of(150, 3, "ovo", C=1.0)
    gram = on_device(X, segments)
    first = solve_svms(gram, problems, tol=1e-6)
    starts = [
        problem._replace(start=fit.alpha, start_errors=fit.errors if errors_known else None)
        for problem, fit in zip(problems, first, strict=True)
    ]

    again = solve_svms(gram, starts, tol=1e-3)

    assert [fit.n_iter for fit in again] == [0, 0, 0]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_allclose(other.errors, one.errors, atol=1e-9)


def test_a_hard_margin_is_found_or_refused():
    X, segments, problems = problems_of(60, 2, "ovo", C=np.inf, held_out=0.0)

    separable = on_device(X, segments, Gaussian(5.0))
    mixed = on_device(np.ones_like(X), segments, Linear())

    assert solve_svms(separable, problems)[0].stop == "tol"
    assert solve_svms(mixed, problems)[0].stop == "not separable"


def test_a_limit_on_steps_and_a_monitor_stop_it(small_sets, cancelled):
    X, segments, problems = problems_of(200, 2, "ovo", C=10.0)
    gram = on_device(X, segments)

    limited = solve_svms(gram, problems, max_iter=7)[0]
    cut_short = solve_svms(gram, problems, monitor=cancelled)[0]

    assert (limited.stop, limited.n_iter) == ("max_iter", 7)
    assert (cut_short.stop, cut_short.n_iter) == ("stopped", 0)


def test_a_round_is_stopped_between_the_problems_that_fit_in_memory(small_sets, monkeypatch):
    X, segments, problems = problems_of(200, 3, "ovo", C=10.0)
    gram, monitor = on_device(X, segments), FitMonitor()
    monkeypatch.setattr(cuda.DeviceBatch, "_tiles_that_fit", lambda *_: 1)
    asked = iter(range(100))  # before the first round, and before its second and third problem
    monitor.should_stop = lambda: next(asked) > 1

    fits = solve_svms(gram, problems, monitor=monitor, tol=1e-6)

    K = make_gram(KERNEL, X, segments=segments).matrix
    assert [fit.n_iter > 0 for fit in fits] == [True, True, False]
    assert {fit.stop for fit in fits} == {"stopped"}
    for fit in fits:
        signed = K[np.ix_(fit.rows, fit.rows)] @ (fit.alpha * fit.y)
        np.testing.assert_allclose(fit.errors, signed - fit.y, atol=1e-9)


def test_many_problems_take_fewer_steps_in_a_round():
    assert cuda._most_steps(1) == cuda._most_steps(cuda.TILES_AT_ONCE) == cuda.STEPS_AT_ONCE
    assert cuda._most_steps(2 * cuda.TILES_AT_ONCE) == cuda.STEPS_AT_ONCE // 2
    assert cuda._most_steps(10**6) == cuda.LEAST_STEPS


def test_progress_is_reported_in_the_steps_of_the_cpu_solver(small_sets):
    X, segments, problems = problems_of(150, 3, "ovo", C=1.0)
    steps = []

    solve_svms(on_device(X, segments), problems, monitor=FitMonitor(on_step=steps.append))

    assert len(steps) == 3 * TICKS


def test_more_problems_than_memory_holds_are_solved_in_groups(monkeypatch):
    X, segments, problems = problems_of(120, 4, "ovo", C=1.0)
    gram = on_device(X, segments)
    together = solve_svms(gram, problems)
    monkeypatch.setattr(cuda, "free_bytes", lambda device: 4 * 8 * cuda.STATE_ARRAYS * 61)

    apart = solve_svms(gram, problems)

    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)


def test_tiles_take_no_more_memory_than_there_is(monkeypatch):
    X, segments, problems = problems_of(120, 4, "ovo", C=1.0)
    gram = on_device(X, segments)
    together, gathered, gather = solve_svms(gram, problems), [], cuda.gather_tiles
    free = 4 * 2 * 8 * 64**2  # of which a quarter is two tiles
    monkeypatch.setattr(cuda, "free_bytes", lambda device: free)
    monkeypatch.setattr(
        cuda, "gather_tiles", lambda *args: gathered.append(gather(*args)) or gathered[-1]
    )

    apart = solve_svms(gram, problems)

    assert max(tiles.nbytes for tiles in gathered) <= free // 4
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)


def test_what_stalls_in_float32_goes_on_in_float64(monkeypatch):
    X, segments, problems = problems_of(120, 3, "ovo", C=1.0)
    K = make_gram(Gaussian(0.3), X, segments=segments).matrix.astype(np.float32)
    gram = DeviceGram(torch.as_tensor(K), torch.ones(120, dtype=torch.float64), segments)
    solve = cuda.solve_tiles
    types = []

    def stuck_in_float32(*args, single):
        types.append(single)
        return torch.zeros_like(args[-1]) if single else solve(*args)

    monkeypatch.setattr(cuda, "solve_tiles", stuck_in_float32)

    there = solve_svms(gram, problems)

    assert types[:2] == [True, False]
    assert {fit.stop for fit in there} == {"tol"}


def test_no_step_at_all_is_a_stall_with_and_without_a_margin(monkeypatch):
    X, segments, (soft,) = problems_of(60, 2, "ovo", C=1.0, held_out=0.0)
    hard = soft._replace(box=np.full(60, np.inf))
    gram = on_device(X, segments, Gaussian(5.0))
    monkeypatch.setattr(cuda, "solve_tiles", lambda *args, single: torch.zeros_like(args[-1]))

    there = solve_svms(gram, [soft, hard])

    assert [fit.stop for fit in there] == ["stalled", "stalled"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Triton needs Linux")
def test_triton_programs_do_what_the_compiled_loops_do():
    """In Triton's interpreter, which must be asked for before the programs are imported."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.gpu", "--pretend", "tile", "rows_are_added"],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 passed, 0 skipped" in ran.stdout


def test_a_large_scale_problem_has_a_small_gap_too_if_some_steps_reach_it(monkeypatch):
    X, segments, problems = problems_of(150, 2, "ovo", C=1e6)
    gram = on_device(X, segments)

    [whole] = solve_svms(gram, problems)
    monkeypatch.setattr(cuda, "STEPS_FOR_GAP", 0)
    [rough] = solve_svms(gram, problems)

    assert (whole.stop, rough.stop) == ("tol", "tol")
    assert max(whole.violation, rough.violation) <= 1e-3
    assert whole.gap <= 1e-3 < rough.gap
    assert rough.n_iter < whole.n_iter


def test_rounding_that_ends_the_way_to_the_gap_leaves_the_violation(monkeypatch):
    X, segments, problems = problems_of(150, 2, "ovo", C=1e6)
    gram = on_device(X, segments)
    monkeypatch.setattr(cuda, "STEPS_FOR_GAP", 0)
    [rough] = solve_svms(gram, problems)
    monkeypatch.undo()
    start = [problems[0]._replace(start=rough.alpha, start_errors=rough.errors)]
    monkeypatch.setattr(cuda, "solve_tiles", lambda *args, single: torch.zeros_like(args[-1]))

    [stuck] = solve_svms(gram, start)
    [tight] = solve_svms(gram, start, tol=1e-9)

    assert (stuck.stop, tight.stop) == ("tol", "stalled")
    assert stuck.gap > 1e-3


def test_rounding_of_a_bound_does_not_move_an_intercept_that_is_not_unique():
    x = np.array([[0.0], [0.5], [1.0], [2.0]])
    hair = np.array([0.01, 0.01, 0.01, np.nextafter(0.01, 0.0)])
    gram = on_device(x, (slice(0, 2), slice(2, 4)), Linear())
    problem = SvmProblem(coding(2, "ovo")[:, 0], np.full(4, 0.01), start=hair)
    [fit] = solve_svms(gram, [problem])
    np.testing.assert_array_equal(fit.alpha, hair)
    np.testing.assert_allclose(fit.intercept, (-1.0 + 0.95) / 2)
