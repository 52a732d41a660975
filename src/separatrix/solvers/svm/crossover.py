"""From an interior point to a vertex: coefficients that are exactly 0, exactly at their bound, or needed.

An interior-point method leaves every coefficient between its bounds. Rows whose margin decides get their
bound; among the others those that depend on the rest move, weights unchanged, until a coefficient reaches
a bound; what remains solves a linear system.

Reference: Megiddo, On Finding Primal- and Dual-Optimal Bases, ORSA J. Comput. 3 (1991).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack, lstsq, qr, solve_triangular

from separatrix.jit import njit
from separatrix.solvers.svm.interior_point import BoxFit, BoxProblem, Columns, KernelMatrix
from separatrix.types import Codes, Flags, Matrix, Vector

INDEPENDENT = 1e-11  # smallest pivot of an independent row, of the largest
INDEPENDENT_VALUES = 3e-7  # the same of a factor of kernel values
SMALLEST_PIVOT = 1e-9  # of a step that moves dependent rows
ROUNDS = 100  # of exchanging rows whose sign is wrong
OUTSIDE = 1e-9  # of an upper bound: a solved coefficient beyond its bounds
SUMS = 1e3  # weight of the equations of the given sums, which hold to the last digits


def find_vertex(quadratic: Any, problem: BoxProblem, fit: BoxFit, Q: Matrix | None) -> Vector:
    """Coefficients of the same solution with as few as possible between their bounds, (r,)."""
    box = problem.box
    largest = np.minimum(box, fit.alpha.max())
    share = fit.alpha / largest
    over = (fit.margins - problem.margin) / (problem.margin or _size(fit.margins))
    zero = over > share
    bound = ~zero & np.isfinite(box) & (-over > (box - fit.alpha) / largest)
    alpha: Vector = np.where(zero, 0.0, np.where(bound, box, fit.alpha))
    free = np.flatnonzero(~(zero | bound))
    linear = isinstance(quadratic, Columns)
    if linear:
        rows = np.concatenate([quadratic.V[free], problem.sides[free]], axis=1)
    else:
        rows = _factor(quadratic.Q, problem.sides, free)
    free = _independent(rows, free, alpha, box, INDEPENDENT if Q is None else INDEPENDENT_VALUES)
    if Q is None:
        solve_free = _solve_at_weights
    else:
        solve_free, quadratic = _solve_at_margins, KernelMatrix(Q, problem.sides)
    for _ in range(ROUNDS):
        if not len(free):
            break
        rest = alpha.copy()
        rest[free] = 0.0
        change = solve_free(quadratic, problem, fit, rest, free) - alpha[free]
        old, most = alpha[free], box[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(change < 0.0, -old / change, (most - old) / change)
        reach[np.isnan(reach)] = np.inf
        blocking = (reach < 1.0) & (np.abs(change) > OUTSIDE * largest[free])
        length = min(1.0, float(reach[blocking].min(initial=1.0)))
        alpha[free] = np.clip(old + length * change, 0.0, most)
        if not blocking.any():
            break
        ends = blocking & (reach <= length)
        alpha[free[ends]] = np.where(change[ends] < 0.0, 0.0, most[ends])
        free = free[~ends]
    return alpha


def _solve_at_weights(
    columns: Columns, problem: BoxProblem, fit: BoxFit, alpha: Vector, free: Codes
) -> Vector:
    """The free coefficients with which V'a are the weights, and the sums those that are given."""
    E = problem.sides
    A = np.concatenate([columns.V[free].T, SUMS * E[free].T])
    sums = SUMS * (problem.totals - E.T @ alpha)
    right = np.concatenate([columns.ridge * fit.w - columns.V.T @ alpha, sums])
    return np.asarray(lstsq(A, right, lapack_driver="gelsy", cond=1e-14)[0])


def _solve_at_margins(
    matrix: KernelMatrix, problem: BoxProblem, fit: BoxFit, alpha: Vector, free: Codes
) -> Vector:
    """The free coefficients with which their rows are on the margin, and the sums those that are given."""
    E, n = problem.sides, len(free)
    m = E.shape[1]
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:], K[n:, :n] = matrix.Q[np.ix_(free, free)], E[free], E[free].T
    scale = np.ones(n + m)
    scale[:n] = 1.0 / np.sqrt(np.maximum(K.diagonal()[:n], np.finfo(float).tiny))
    used = np.flatnonzero(alpha)
    margins = problem.margin - matrix.Q[np.ix_(free, used)] @ alpha[used]
    right = scale * np.concatenate([margins, problem.totals - E.T @ alpha])
    found = lstsq(K * scale[:, None] * scale, right, lapack_driver="gelsy", cond=1e-15)[0]
    return np.asarray((scale * found)[:n])


def _size(values: Vector) -> float:
    return float(np.sqrt(np.mean(values**2))) or 1.0


def _factor(Q: Matrix, sides: Matrix, free: Codes) -> Matrix:
    """Rows whose products are those of the free rows and their sides."""
    E = sides[free]
    K = Q[np.ix_(free, free)]
    K += (np.trace(K) / max(1, len(free))) * (E @ E.T)
    L, pivots, rank, _ = lapack.dpstrf(K, tol=INDEPENDENT * K.diagonal().max(initial=0.0), lower=1)
    rows = np.empty((len(free), rank))
    rows[pivots - 1] = np.tril(L)[:, :rank]
    return rows


def _independent(rows: Matrix, free: Codes, alpha: Vector, box: Vector, tol: float) -> Codes:
    """Move the coefficients of dependent rows to bounds; return the rows that are left."""
    if not len(free):
        return free
    interior = np.minimum(alpha[free], np.where(np.isfinite(box[free]), box[free] - alpha[free], np.inf))
    weight = np.sqrt(interior / interior.max())
    R, order = qr((rows * weight[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(diagonal > tol * diagonal[0]))
    if rank == len(free):
        return free
    weight, chosen = weight[order], free[order]
    T = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    T *= weight[:rank, None] / weight[rank:]
    a, bounds = alpha[chosen], box[chosen]
    basis = np.arange(rank)
    move_to_bounds(np.ascontiguousarray(T), basis, a, bounds)
    alpha[chosen] = a
    return np.sort(chosen[basis[(a[basis] > 0.0) & (a[basis] < bounds[basis])]])


@njit(cache=True, nogil=True)
def move_to_bounds(T: Matrix, basis: Codes, a: Vector, box: Vector) -> None:
    """Move coefficients along dependencies of rows until each dependent row has one at a bound.

    The rows of the basis come first; row `len(basis) + j` is the sum of T[k, j] times row k of the basis.
    """
    rank, count = T.shape
    for j in range(count):
        own = rank + j
        length, blocking = a[own], -1
        for k in range(rank):
            slope = T[k, j]  # a of the basis grows by the slope when that of the row falls
            if slope > SMALLEST_PIVOT:
                room = (box[basis[k]] - a[basis[k]]) / slope
            elif slope < -SMALLEST_PIVOT:
                room = -a[basis[k]] / slope
            else:
                continue
            if room < length:
                length, blocking = max(room, 0.0), k
        a[own] -= length
        for k in range(rank):
            i = basis[k]
            a[i] = min(max(a[i] + length * T[k, j], 0.0), box[i])
        if blocking < 0:
            a[own] = 0.0
            continue
        i = basis[blocking]
        a[i] = box[i] if T[blocking, j] > 0.0 else 0.0
        basis[blocking] = own
        pivot = T[blocking, j]
        for other in range(j + 1, count):
            factor = T[blocking, other] / pivot
            if factor != 0.0:
                for k in range(rank):
                    T[k, other] -= factor * T[k, j]
                T[blocking, other] = factor
