"""Problems that working sets would solve late or never: the interior-point method takes over.

A problem may make as many steps on two rows as take about the time of the interior-point method. Then, or at
once where that is cheaper than the kernel rows of a linear kernel, its bounds and samples are handed over, and
the vertex that comes back is reviewed like any other state. Data and parameters decide, never a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.svm.batch import HANDED_OVER, NEVER, ProblemBatch
from separatrix.solvers.svm.crossover import find_vertex
from separatrix.solvers.svm.interior_point import (
    BoxFit,
    BoxProblem,
    Columns,
    KernelMatrix,
    low_rank,
    solve_interior_point,
)
from separatrix.solvers.svm.working_set import ALPHA, BOX, ERRORS, GAP, STEPS, Y
from separatrix.types import Codes, Gram, Matrix, Vector

NEWTON_STEPS = 25  # that a problem takes, about
BLAS_SPEED = 4  # multiply-adds of a matrix product in the time of one of a step on two rows
RANK = 0.2  # of a kernel matrix, as a share of its rows: those of raw columns are often lower
ROW_WORK = 20  # multiply-adds of a row in a Newton step beside those of the product
FEWEST_STEPS = 50_000  # before a problem is handed over: they take a few milliseconds
AT_ONCE = 80.0  # times more rows than columns: fewer operations than the kernel rows of all problems need
LARGEST_MATRIX = 4096  # rows of a kernel matrix that is factorised
TILE_ROWS = 512
SOLVED = 1e-3  # relative gap of an interior point that is worth taking over
VERTEX = 1e-6  # relative gap up to which a vertex is as good as the point it came from
SHARED_WORK = 2**24  # multiply-adds of a product that BLAS may share among its threads


class TakenOver(NamedTuple):
    """What the interior-point method made of a problem."""

    alpha: Vector  # shape: (trained,)
    interior: Vector  # shape: (trained,); the same before the vertex was sought
    w: Vector | None  # shape: (d,); weights of the columns, if there are any
    n_iter: int
    bounded: bool


def steps_before(gram: Gram, sizes: Codes, set_size: int, hard: Any) -> Codes:
    """Steps on two rows that each problem may make before it is handed over, (p,)."""
    n = sizes.astype(np.float64)
    d = _width(gram)
    linear = 2.0 * d <= n
    with np.errstate(over="ignore", invalid="ignore"):
        work = NEWTON_STEPS * np.where(linear, n * d * (d + ROW_WORK), n * (RANK * n) ** 2)
    steps = np.maximum(work / (BLAS_SPEED * 4.0 * np.minimum(n, set_size)), FEWEST_STEPS)
    steps[linear & (n > AT_ONCE * (d + ROW_WORK))] = 0.0
    steps[hard & (linear | (n <= LARGEST_MATRIX))] = 0.0
    steps[~linear & (n > LARGEST_MATRIX)] = np.inf
    return np.where(np.isinf(steps), NEVER, np.minimum(steps, 2.0**62)).astype(np.int64)


def _width(gram: Gram) -> float:
    """Number of columns of a linear kernel; infinite of others."""
    columns = getattr(gram, "columns", None)
    return float(columns.width) if columns is not None else np.inf


def solve_by_interior_point(
    gram: Gram,
    rows: Codes,  # shape: (r,); rows of the Gram that train
    problem: BoxProblem,
    y: Vector,  # shape: (r,)
    monitor: FitMonitor,
) -> TakenOver | None:
    """Solve a problem over some rows of a Gram; None if no method here can."""
    r = len(rows)
    if 2.0 * _width(gram) <= r:
        X = gram.columns.take(rows)  # type: ignore[attr-defined]
        quadratic: Any = Columns(_about_mean(X, problem) * y[:, None], problem.sides)
        Q, work = None, r * X.shape[1] ** 2
    elif r <= LARGEST_MATRIX:
        K = _values(gram, rows)
        G, work = low_rank(K), r**3
        Q = K * y[:, None]
        Q *= y
        quadratic = KernelMatrix(Q, problem.sides)
        if G is not None:
            quadratic = Columns(_about_mean(G, problem) * y[:, None], problem.sides)
    else:
        return None
    with blas_on_one_thread() if work < SHARED_WORK else nullcontext():
        fit = solve_interior_point(quadratic, problem, monitor)
        if not fit.bounded:
            return TakenOver(fit.alpha, fit.alpha, None, fit.n_iter, False)
        if not fit.gap <= SOLVED:
            return None
        alpha = find_vertex(quadratic, problem, fit, Q)
    w = fit.w / quadratic.scale if Q is None else None
    return TakenOver(alpha, _balanced(fit, problem), w, fit.n_iter, True)


def take_over(
    gram: Gram, batch: ProblemBatch, rescore: Callable[[Codes], None], threads: int
) -> bool:
    """Solve the problems of a batch that were handed over; return whether there are any.

    `rescore` computes the errors of the rows of some problems from their coefficients.
    """
    waiting = np.flatnonzero(batch.stop == HANDED_OVER)

    def solve(p: int) -> TakenOver | None:
        rows, state = batch.arrays.rows[batch.span(p)], batch.arrays.state[:, batch.span(p)]
        trained = np.flatnonzero(state[BOX] > 0.0)
        y = state[Y, trained]
        problem = BoxProblem(state[BOX, trained], y[:, None], np.zeros(1), 1.0)
        return solve_by_interior_point(gram, rows[trained], problem, y, batch.monitor)

    found = in_threads(solve, waiting.tolist(), threads=threads, monitor=batch.monitor)
    for p, solution in zip(waiting.tolist(), found, strict=True):
        batch.resume(p)
        if solution is not None:
            _install(gram, batch, p, solution, rescore)
    return len(waiting) > 0


def _install(
    gram: Gram, batch: ProblemBatch, p: int, solution: TakenOver, rescore: Callable[[Codes], None]
) -> None:
    """Write a solution into the batch: the vertex, or the interior point if its gap is smaller."""
    if not solution.bounded:
        batch.stop[p] = "not separable"
        return
    state, one = batch.arrays.state[:, batch.span(p)], np.array([p])
    trained = state[BOX] > 0.0
    errors = None
    if solution.w is not None:
        X = gram.columns.take(batch.arrays.rows[batch.span(p)])  # type: ignore[attr-defined]
        errors = X @ solution.w - state[Y]

    def install(alpha: Vector) -> float:
        state[ALPHA] = 0.0
        state[ALPHA, trained] = alpha
        if errors is None:
            np.negative(state[Y], out=state[ERRORS])
            rescore(one)
        else:
            state[ERRORS] = errors
        batch.certify(one)
        return float(batch.certificates[GAP, p])

    before = state[[ALPHA, ERRORS]].copy()
    batch.certify(one)
    gap_before = float(batch.certificates[GAP, p])
    gap = install(solution.alpha)
    if gap > VERTEX and install(solution.interior) > gap:
        install(solution.alpha)
    if batch.certificates[GAP, p] > max(gap_before, SOLVED):
        state[[ALPHA, ERRORS]] = before
        return
    batch.arrays.whole[STEPS, p] += solution.n_iter
    batch.polish(p)
    if solution.w is not None:
        batch.weights[p] = solution.w
        batch.stop[p] = "tol" if batch.certificates[GAP, p] <= batch.gaps[p] else "stalled"


def _about_mean(X: Matrix, problem: BoxProblem) -> Matrix:
    """Columns about their mean, where the sums that are given make it no difference."""
    return X - X.mean(axis=0) if problem.sides.shape[1] and not problem.totals.any() else X


def _values(gram: Gram, rows: Codes) -> Matrix:
    K = np.empty((len(rows), len(rows)))
    for part in row_blocks(len(rows), TILE_ROWS):
        K[part] = gram.tile(rows[part], rows)
    return K


def _balanced(fit: BoxFit, problem: BoxProblem) -> Vector:
    """The interior coefficients with exact sums."""
    alpha = fit.alpha.copy()
    for side, total in zip(problem.sides.T, problem.totals, strict=True):
        room = np.where(np.isinf(problem.box), alpha, np.minimum(alpha, problem.box - alpha))
        room *= np.abs(side)
        if room.any():
            alpha += side * room * (total - side @ alpha) / (room @ np.abs(side))
    return np.clip(alpha, 0.0, problem.box)
