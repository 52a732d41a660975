"""Linear support vector machines with sparse weights: the squared hinge under an l1 penalty.

Symbols: w weights (d + 1,), the last of a constant feature; s slacks 1 - y <w, x>, (n,).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, hstack

from separatrix.jit import njit
from separatrix.runtime.blocks import rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.linear_svm.dual_descent import LinearFit, balance
from separatrix.solvers.linear_svm.shrinking import DescentState, draw_next, leave_out
from separatrix.types import Codes, Vector

ENOUGH, TRIALS = 0.01, 20  # share of the promised decrease, and halvings, of the line search
FLAT = 1e-12  # least curvature


def columns_of(X: Any, constant: float) -> Any:
    """Samples by columns, the constant feature last, as CSC."""
    last = csc_array(np.full((X.shape[0], 1), constant))
    return csc_array(hstack([csc_array(X), last], format="csc"))


class ColumnProblem(NamedTuple):
    """Samples by columns and what each of them and each weight costs."""

    data: Vector  # as indices and indptr: of CSC
    indices: Codes
    indptr: Codes
    y: Vector  # shape: (n,)
    price: Vector  # shape: (n,)
    penalty: Vector  # shape: (d + 1,)
    squares: Vector  # shape: (d + 1,); sum_i price_i x_ij^2


def solve_l1(
    columns: Any,
    y: Vector,  # shape: (n,)
    price: Vector,  # shape: (n,)
    penalty: Vector,  # shape: (d + 1,)
    *,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: FitMonitor | None = None,
) -> LinearFit:
    """Coordinate descent by Newton steps in random order, with shrinking.

    Problem
        min_w  sum_j penalty_j |w_j| + sum_i price_i max(0, 1 - y_i <w, x_i>)^2

    Given
        columns    the samples by columns, from `columns_of`
        penalty    1; 0 for the constant feature if the bias is free
        tol        stop when the violations of a pass over all weights sum to at most
                   tol min(n+, n-) / n of those of the first, as LIBLINEAR does
        max_iter   passes at most
        seed       draws the orders

    Returns the weights, with that of the constant feature as b; the lower bound comes from the slacks,
    scaled to be feasible in the dual.

    Reference: Yuan, Chang, Hsieh and Lin, A Comparison of Optimization Methods and Software for
    Large-scale L1-regularized Linear Classification, JMLR 11 (2010).
    """
    monitor = monitor or FitMonitor()
    n, size = columns.shape
    parts = columns.data.astype(np.float64), columns.indices, columns.indptr
    problem = ColumnProblem(*parts, y, price, penalty, columns.multiply(columns).T @ price)
    w, slack = np.zeros(size), np.ones(n)
    state = DescentState.start(np.arange(size), [np.inf, 0.0, 0.0, np.inf], seed)
    above = int(np.count_nonzero(y > 0))
    fewer = max(1, min(above, n - above))
    share = tol * fewer / n
    budget = rows_that_fit(4 * max(1, len(columns.data) // size), CHUNK)
    some_weights = partial(_passes, problem, share, w, slack, state, max_iter, budget)
    stop = state.run(some_weights, max_iter, monitor)
    slack = np.maximum(0.0, 1.0 - y * (columns @ w))
    objective = float(penalty @ np.abs(w)) + float(price @ slack**2)
    a, below = _lower_bound(columns, y, price, penalty, slack)
    _, last, _, first = state.bounds
    reached = float(last / (first * fewer / n)) if 0 < first < np.inf else 0.0
    return LinearFit(w[:-1], w[-1], a, objective, below, reached, state.passes, stop)


def _lower_bound(
    columns: Any, y: Vector, price: Vector, penalty: Vector, slack: Vector
) -> tuple[Vector, float]:
    """Dual variables 2 price slack scaled to be feasible and best, and their objective.

    The dual is max_a sum_i a_i - a_i^2 / (4 price_i) with |sum_i a_i y_i x_ij| <= penalty_j.
    """
    a: Vector = 2.0 * price * slack
    if penalty[-1] == 0.0:
        a = balance(a, y)
    pull = float(np.abs(columns.T @ (a * y))[penalty > 0].max(initial=0.0))
    linear, square = float(a.sum()), float((a**2 / price).sum()) / 4.0
    scale = min(1.0 / pull if pull else np.inf, linear / (2.0 * square) if square else 1.0)
    return scale * a, scale * linear - scale**2 * square


@njit(cache=True, nogil=True)
def _passes(
    problem: ColumnProblem,
    share: float,
    w: Vector,
    slack: Vector,
    state: DescentState,
    max_iter: int,
    budget: int,
) -> bool:
    """Meet at most `budget` weights; returns whether a pass over all of them met the tolerance.

    bounds: largest violation of the last pass; sum and largest of this one; sum of the first.
    """
    data, indices, indptr, y, _, penalty, _ = problem
    active, progress, sums = state.active, state.progress, state.bounds
    n, all_weights, random = len(y), len(active), state.random[0]
    met, size, passes = progress
    before, total, largest, first = sums
    while budget > 0 and passes < max_iter:
        if met == 0:
            total = largest = 0.0
        while met < size and budget > 0:
            budget -= 1
            random, j = draw_next(active, met, size, random)
            slope, bend = _derivatives(problem, j, slack)
            up, down = slope + penalty[j], slope - penalty[j]
            if w[j] == 0.0:
                violation = max(-up, down, 0.0)
                if violation == 0.0 and up > before / n and down < -before / n:
                    size = leave_out(active, met, size)
                    continue
            else:
                violation = abs(up) if w[j] > 0.0 else abs(down)
            met += 1
            total += violation
            largest = max(largest, violation)
            if up < bend * w[j]:
                step = -up / bend
            elif down > bend * w[j]:
                step = -down / bend
            else:
                step = -w[j]
            if abs(step) < FLAT:
                continue
            step = _shorten(problem, j, w[j], slope, step, slack)
            w[j] += step
            for position in range(indptr[j], indptr[j + 1]):
                slack[indices[position]] -= step * y[indices[position]] * data[position]
        if met < size:
            break
        passes += 1
        met = 0
        if first == np.inf:
            first = total
        before = largest
        if total <= share * first:
            if size == all_weights:
                progress[:] = met, size, passes
                sums[:] = before, total, largest, first
                return True
            size, before = all_weights, np.inf
    progress[:] = met, size, passes
    sums[:] = before, total, largest, first
    state.random[0] = random
    return False


@njit(cache=True, nogil=True)
def _derivatives(problem: ColumnProblem, j: int, slack: Vector) -> tuple[float, float]:
    """First and second derivative of the loss with respect to weight j."""
    data, indices, indptr, y, price, _, _ = problem
    slope = bend = 0.0
    for position in range(indptr[j], indptr[j + 1]):
        i = indices[position]
        if slack[i] > 0.0:
            pull = price[i] * data[position]
            slope -= pull * y[i] * slack[i]
            bend += pull * data[position]
    return 2.0 * slope, max(2.0 * bend, FLAT)


@njit(cache=True, nogil=True)
def _shorten(
    problem: ColumnProblem, j: int, weight: float, slope: float, step: float, slack: Vector
) -> float:
    """The step, halved until the objective falls by a share of what its slope promised; or 0."""
    data, indices, indptr, y, price, _, _ = problem
    penalty, square = problem.penalty[j], problem.squares[j]
    promised = penalty * (abs(weight + step) - abs(weight)) + slope * step
    for _ in range(TRIALS):
        rest = penalty * (abs(weight + step) - abs(weight)) - ENOUGH * promised
        if square * step * step + slope * step + rest <= 0.0:  # a bound that costs no pass
            return step
        change = 0.0
        for position in range(indptr[j], indptr[j + 1]):
            i = indices[position]
            old = max(slack[i], 0.0)
            new = max(slack[i] - step * y[i] * data[position], 0.0)
            change += price[i] * (new * new - old * old)
        if change + rest <= 0.0:
            return step
        step *= 0.5
        promised *= 0.5
    return 0.0
