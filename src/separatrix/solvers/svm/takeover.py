"""Problems that working sets would solve late or never: the interior-point method takes over.

A problem may make as many steps on two rows as take about the time of the interior-point method. Then, or
at once where that is cheaper than the rows of a linear kernel, it is handed over, and the vertex that comes
back is reviewed like any other state. Data and parameters decide, never a clock.
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
from separatrix.solvers.svm.working_set import ALPHA, BOX, DUAL, ERRORS, GAP, STEPS, Y
from separatrix.types import Codes, Gram, Matrix, Vector

NEWTON_STEPS = 25  # that a problem takes, about
BLAS_SPEED = 4  # multiply-adds of a matrix product in the time of one of a step on two rows
RANK = 0.2  # of a kernel matrix, as a share of its rows: those of raw columns are often lower
ROW_WORK = 20  # multiply-adds of a row in a Newton step beside those of the product
AT_ONCE = 80.0  # times more rows than columns: fewer operations than the kernel rows need
LARGEST_MATRIX = 4096  # rows of a kernel matrix that is factorised
LARGEST_HARD = 1024  # rows of a hard margin over a kernel matrix that is handed over at once
TILE_ROWS = 512
SOLVED = 1e-3  # relative gap of an interior point that is worth taking over
VERTEX = 1e-4  # share of the dual value that a vertex may lose: a tenth of the gap that is promised
BALANCED = 1e-9  # of the sum of coefficients: more off the given sums is no dual point
SHARED_WORK = 2**30  # multiply-adds of a product that BLAS may share among its threads


class TakenOver(NamedTuple):
    """What the interior-point method made of a problem."""

    alpha: Vector  # shape: (trained,)
    w: Vector | None  # shape: (d,); weights of the columns, if there are any
    n_iter: int
    bounded: bool
    solved: bool  # to a small gap


def solved_at_once(n: Any, d: Any) -> Any:
    """Whether n samples of a linear kernel of d columns are handed over without a step."""
    return n > AT_ONCE * (d + ROW_WORK)


def steps_before(gram: Gram, sizes: Codes, set_size: int, fewest: int, hard: Any) -> Codes:
    """Steps on two rows that each problem may make before it is handed over, at least `fewest`, (p,)."""
    n = sizes.astype(np.float64)
    d = _width(gram)
    linear = 2.0 * d <= n
    work = NEWTON_STEPS * np.where(linear, n * d * (d + ROW_WORK), n * (RANK * n) ** 2)
    steps = np.maximum(work / (BLAS_SPEED * 4.0 * np.minimum(n, set_size)), fewest)
    steps[linear & solved_at_once(n, d)] = 0.0
    steps[hard & (linear | (n <= LARGEST_HARD))] = 0.0
    steps[~linear & (n > LARGEST_MATRIX)] = np.inf
    found = np.minimum(steps, 2.0**62).astype(np.int64)
    found[np.isinf(steps)] = NEVER
    return found


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
    max_iter: int,
) -> TakenOver | None:
    """Solve a problem over some rows of a Gram; None if no method here can."""
    r = len(rows)
    X: Matrix | None = None
    Q: Matrix | None = None
    if 2.0 * _width(gram) <= r:
        X = _samples(gram, rows)
    elif r <= LARGEST_MATRIX:
        K = _values(gram, rows)
        X = low_rank(K)
        Q = K * y[:, None]
        Q *= y
    else:
        return None
    work = r * r * r if X is None else r * X.shape[1] ** 2
    with blas_on_one_thread() if work < SHARED_WORK else nullcontext(), np.errstate(all="ignore"):
        quadratic: Columns | KernelMatrix
        if X is not None:
            quadratic = Columns(_about_mean(X, problem) * y[:, None], problem.sides)
        elif Q is not None:
            quadratic = KernelMatrix(Q, problem.sides)
        fit = solve_interior_point(quadratic, problem, monitor, max_iter)
        if not fit.bounded:
            return TakenOver(fit.alpha, None, fit.n_iter, False, False)
        if not fit.gap <= SOLVED and problem.margin:
            return None
        vertex = find_vertex(quadratic, problem, fit, Q)

        def square(alpha: Vector) -> float:
            if Q is not None:
                return float(alpha @ (Q @ alpha))
            return quadratic.squares(fit.weights, alpha, fit.margins)[1]

        alpha = _best_feasible(problem, fit, vertex, square)
    if alpha is None:
        return None
    w = None
    if Q is None and isinstance(quadratic, Columns) and problem.margin:
        w = fit.weights / quadratic.scale
    return TakenOver(alpha, w, fit.n_iter, True, fit.gap <= SOLVED)


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
        problem = BoxProblem(state[BOX, trained], *batch.given_sums(p, y))
        return solve_by_interior_point(
            gram, rows[trained], problem, y, batch.monitor, batch.max_iter
        )

    found = in_threads(solve, waiting.tolist(), threads=threads, monitor=batch.monitor)
    for p, solution in zip(waiting.tolist(), found, strict=True):
        batch.resume(p)
        if solution is not None:
            _install(gram, batch, p, solution, rescore)
    return len(waiting) > 0


def _install(
    gram: Gram, batch: ProblemBatch, p: int, solution: TakenOver, rescore: Callable[[Codes], None]
) -> None:
    """Write a solution into the batch, unless its dual value is below that of the working sets.

    Weights that come with it are final; other solutions go on with a few steps.
    """
    if not solution.bounded:
        batch.stop[p] = "not separable"
        return
    state, one = batch.arrays.state[:, batch.span(p)], np.array([p])
    before = state[ALPHA].copy()
    batch.certify(one)
    dual = float(batch.certificates[DUAL, p])

    def install(alpha: Vector) -> float:
        state[ALPHA] = alpha
        batch.forget_errors(p)
        rescore(one)
        batch.certify(one)
        return float(batch.certificates[DUAL, p])

    alpha = np.zeros(len(before))
    alpha[state[BOX] > 0.0] = solution.alpha
    if solution.w is not None:
        state[ALPHA] = alpha
        rows = batch.arrays.rows[batch.span(p)]
        np.subtract(_samples(gram, rows) @ solution.w, state[Y], out=state[ERRORS])
        batch.certify(one)
    elif not install(alpha) >= dual - VERTEX * abs(dual):
        install(before)
        return
    batch.arrays.whole[STEPS, p] += solution.n_iter
    batch.polish(p)
    if not solution.solved:
        batch.stop[p] = "no margin"
    if solution.w is not None:
        batch.weights[p] = solution.w
        batch.stop[p] = "tol" if batch.certificates[GAP, p] <= batch.gaps[p] else "stalled"


def _samples(gram: Gram, rows: Codes) -> Matrix:
    """Rows of the samples of a linear kernel."""
    return np.asarray(gram.columns.take(rows))  # type: ignore[attr-defined]


def _best_feasible(
    problem: BoxProblem, fit: BoxFit, vertex: Vector, square: Callable[[Vector], float]
) -> Vector | None:
    """The vertex, or the interior point if its dual value is larger; `square` computes |V'a|^2.

    None if neither has the given sums.
    """

    def value(alpha: Vector) -> float:
        off = np.abs(problem.sides.T @ alpha - problem.totals).max(initial=0.0)
        if not off <= BALANCED * alpha.sum():
            return -np.inf
        return problem.margin * float(alpha.sum()) - 0.5 * square(alpha)

    interior = _with_sums(fit.alpha, problem)
    values = value(vertex), value(interior)
    if max(values) == -np.inf:
        return None
    return vertex if values[0] >= values[1] - VERTEX * abs(values[1]) else interior


def _about_mean(X: Matrix, problem: BoxProblem) -> Matrix:
    """Columns about their mean, where the sums that are given make it no difference."""
    any_point = len(problem.totals) == 2 or (len(problem.totals) and not problem.totals.any())
    return X - X.mean(axis=0) if any_point else X


def _values(gram: Gram, rows: Codes) -> Matrix:
    K = np.empty((len(rows), len(rows)))
    for part in row_blocks(len(rows), TILE_ROWS):
        K[part] = gram.tile(rows[part], rows)
    return K


def _with_sums(alpha: Vector, problem: BoxProblem) -> Vector:
    """Interior coefficients moved to the given sums by a share of their room."""
    for side, total in zip(problem.sides.T, problem.totals, strict=True):
        room = np.where(side != 0.0, np.minimum(alpha, problem.box - alpha), 0.0)
        if room.any():
            alpha = alpha + side * room * (total - side @ alpha) / room.sum()
    return np.clip(alpha, 0.0, problem.box)
