"""From an interior point to a vertex: coefficients that are 0, at their upper bound, or needed.

An interior-point method leaves every coefficient strictly between its bounds. Rows whose margin decides
get a bound. Coefficients of rows that depend on others, as repeated ones, move with the weights unchanged
until one is at a bound. Those that are left solve a linear system; one that meets a bound stays there.

Reference: Megiddo, On Finding Primal- and Dual-Optimal Bases, ORSA J. Comput. 3 (1991).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack, lstsq, qr, solve_triangular

from separatrix.jit import njit
from separatrix.solvers.svm.interior_point import TINY, BoxFit, BoxProblem, Columns, KernelMatrix
from separatrix.types import Codes, Flags, Matrix, Vector

INDEPENDENT = 1e-11  # smallest pivot of independent rows of columns, of the largest one
INDEPENDENT_VALUES = 3e-7  # the same of a factor of kernel values, which has half of their digits
SMALLEST_SLOPE = 1e-9  # of a coefficient along a dependency
ROUNDS = 100  # of leaving a bound out of the linear system
UNMOVED = 1e-9  # of the largest coefficient: changes that end at no bound
SUMS = 1e3  # weight of the equations of the given sums, which hold to the last digits
SINGULAR = 1e-14  # share of the largest singular value that counts as 0


def find_vertex(
    quadratic: Columns | KernelMatrix, problem: BoxProblem, fit: BoxFit, Q: Matrix | None
) -> Vector:
    """Coefficients of the same solution, as few as possible of them between their bounds, (r,).

    Given
        quadratic, problem, fit  of the interior-point method
        Q                        kernel values y_i y_j K_ij with which free rows are to have their margin;
                                 None if the weights are those of the fit
    """
    box = problem.box
    largest = np.minimum(box, fit.alpha.max())
    unit = problem.margin or float(np.sqrt(np.mean(fit.margins**2))) or 1.0
    over = (fit.margins - problem.margin) / unit
    zero = over > fit.alpha / largest
    bound = ~zero & np.isfinite(box) & (-over > (box - fit.alpha) / largest)
    alpha: Vector = np.where(zero, 0.0, np.where(bound, box, fit.alpha))
    free = np.flatnonzero(~(zero | bound))
    if isinstance(quadratic, Columns):
        rows = quadratic.with_sides[free]
    else:
        rows = _factor(quadratic.Q[np.ix_(free, free)], problem.sides[free])
    tol = INDEPENDENT if Q is None else INDEPENDENT_VALUES
    free = _keep_independent(rows, free, alpha, box, tol)
    for _ in range(ROUNDS):
        if not len(free):
            break
        rest = alpha.copy()
        rest[free] = 0.0
        if Q is None:
            assert isinstance(quadratic, Columns)
            solved = _solve_for_weights(quadratic, problem, fit, rest, free)
        else:
            solved = _solve_for_margins(Q, problem, rest, free)
        moving = _move_towards(solved, alpha, box, free, UNMOVED * largest[free])
        if moving.all():
            break
        free = free[moving]
    return alpha


def _factor(K: Matrix, sides: Matrix) -> Matrix:
    """Rows whose products are kernel values plus those of their sides."""
    K += (np.trace(K) / max(1, len(K))) * (sides @ sides.T)
    L, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    rows = np.empty((len(K), rank))
    rows[pivots - 1] = np.tril(L[:, :rank])
    return rows


def _keep_independent(rows: Matrix, free: Codes, alpha: Vector, box: Vector, tol: float) -> Codes:
    """Move the coefficients of dependent rows to bounds; return the rows that are left."""
    if not len(free):
        return free
    inside = np.minimum(
        alpha[free], box[free] - alpha[free]
    )  # rows far from both bounds come first
    weight = np.sqrt(np.maximum(inside / inside.max(), TINY))
    R, order = qr((rows * weight[:, None]).T, mode="r", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(pivots > tol * pivots[0]))
    if rank == len(free):
        return free
    weight, chosen = weight[order], free[order]
    T = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    T *= weight[:rank, None] / weight[rank:]
    values, bounds, basis = alpha[chosen], box[chosen], np.arange(rank)
    move_to_bounds(np.ascontiguousarray(T), basis, values, bounds)
    alpha[chosen] = values
    left: Codes = chosen[basis[(values[basis] > 0.0) & (values[basis] < bounds[basis])]]
    return left


@njit(cache=True, nogil=True)
def move_to_bounds(T: Matrix, basis: Codes, a: Vector, box: Vector) -> None:
    """Lower the coefficient of each dependent row to 0, or as far as another one's bound, in place.

    Row len(basis) + j is the sum of T[k, j] times row basis[k]; a row that reaches a bound leaves the basis
    to the dependent one, and T is updated.
    """
    rank, count = T.shape
    for j in range(count):
        own = rank + j
        length, blocking = a[own], -1
        for k in range(rank):
            slope = T[k, j]
            if slope > SMALLEST_SLOPE:
                room = (box[basis[k]] - a[basis[k]]) / slope
            elif slope < -SMALLEST_SLOPE:
                room = -a[basis[k]] / slope
            else:
                continue
            if room < length:
                length, blocking = max(room, 0.0), k
        a[own] -= length
        for k in range(rank):
            a[basis[k]] = min(max(a[basis[k]] + length * T[k, j], 0.0), box[basis[k]])
        if blocking < 0:
            a[own] = 0.0
            continue
        a[basis[blocking]] = box[basis[blocking]] if T[blocking, j] > 0.0 else 0.0
        basis[blocking] = own
        for other in range(j + 1, count):
            factor = T[blocking, other] / T[blocking, j]
            if factor != 0.0:
                for k in range(rank):
                    T[k, other] -= factor * T[k, j]
                T[blocking, other] = factor


def _solve_for_weights(
    columns: Columns, problem: BoxProblem, fit: BoxFit, rest: Vector, free: Codes
) -> Vector:
    """Free coefficients with which V'a are the weights of the fit, and the sums those that are given."""
    E = problem.sides
    A = np.concatenate([columns.V[free].T, SUMS * E[free].T])
    missing = columns.ridge * fit.weights - columns.V.T @ rest
    right = np.concatenate([missing, SUMS * (problem.totals - E.T @ rest)])
    return np.asarray(lstsq(A, right, cond=SINGULAR, lapack_driver="gelsy")[0])


def _solve_for_margins(Q: Matrix, problem: BoxProblem, rest: Vector, free: Codes) -> Vector:
    """Free coefficients with which free rows have their margin, and the sums are those that are given."""
    E, n = problem.sides, len(free)
    K = np.zeros((n + E.shape[1], n + E.shape[1]))
    K[:n, :n], K[:n, n:], K[n:, :n] = Q[np.ix_(free, free)], E[free], E[free].T
    scale = np.ones(len(K))
    scale[:n] = 1.0 / np.sqrt(np.maximum(K.diagonal()[:n], TINY))
    used = np.flatnonzero(rest)
    missing = problem.margin - Q[np.ix_(free, used)] @ rest[used]
    right = scale * np.concatenate([missing, problem.totals - E.T @ rest])
    K *= scale[:, None]
    solved = lstsq(K * scale, right, cond=SINGULAR, lapack_driver="gelsy")[0]
    return np.asarray((scale * solved)[:n])


def _move_towards(
    solved: Vector, alpha: Vector, box: Vector, free: Codes, unmoved: Vector
) -> Flags:
    """Move free coefficients as far as the first bound, in place; return which are at none."""
    old, most = alpha[free], box[free]
    change = solved - old
    room = np.where(change < 0.0, old, most - old)
    reach = np.full(len(free), np.inf)
    np.divide(room, np.abs(change), out=reach, where=np.abs(change) > unmoved)
    length = min(1.0, float(reach.min()))
    alpha[free] = np.clip(old + length * change, 0.0, most)
    ends = (reach <= length) & (reach < 1.0)
    alpha[free[ends]] = np.where(change < 0.0, 0.0, most)[ends]
    return ~ends
