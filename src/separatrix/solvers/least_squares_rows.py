"""Least squares for fewer samples than features: a pivoted factor of the samples' inner products.

With A the samples about their mean, each times the root of its weight, (n, d), and AA' = LL', where
L, (n, r), has the rows of r pivots in a triangle L1 on top, the columns of Q = A1' L1'^-1 are orthonormal
and span the rows of A: A = LQ'. So W = Qc, and c solves a problem of r columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.interruptible import lower_cholesky
from separatrix.solvers.least_squares import TINY
from separatrix.types import Codes, Matrix, Vector

PANEL = 96  # rows of the factor that are made before the rest of the matrix is brought up to date
ROWS = 512  # of the matrix that are brought up to date at a time
REFINEMENTS = 8  # of the weights, at most
GAIN = 0.1  # share of a step that the next one may have, to be no rounding


class RowsFit(NamedTuple):
    """Weights of samples about their mean."""

    W: Matrix  # shape: (d, p)
    rank: int
    gradient: float  # largest entry of A'(T - AW) - ridge W, over that at W = 0


def solve_rows(
    K: Matrix,  # shape: (n, n); AA', becomes scratch
    T: Matrix,  # shape: (n, p)
    *,
    ridge: float,
    multiply: Callable[[Matrix], Matrix],
    combine: Callable[[Matrix], Matrix],
) -> RowsFit:
    """The shortest weights with the least squares, from inner products of the samples.

    Problem
        min over W of  |T - AW|^2 + ridge |W|^2;  of several the one with the least |W|

    Given
        K          AA' to rounding
        T          targets about their mean, times the root of each weight
        multiply   AW for W, (d, p) -> (n, p)
        combine    A'V for V, (n, p) -> (d, p)

    Returns W = Qc with (L'L + ridge) c = L'T. Without a ridge, with v = L1 c and F = L2 L1^-1 for the rows
    below the triangle, v = T1 + F'(I + FF')^-1 (T2 - FT1), of as many equations as rows are dependent. As K
    squares the condition of A, the weights are refined with residuals from the samples themselves until
    the steps no longer shrink.

    Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), sections 10.3 and 20.5.
    """
    R, order = pivoted_cholesky(K)
    rank = len(R)
    R1 = np.ascontiguousarray(R[:, :rank])
    step_of = _plain_steps(R1, R[:, rank:]) if ridge == 0 else _ridge_steps(R, ridge)
    spread = np.zeros_like(T)

    def weights_of(c: Matrix) -> Matrix:  # (r, p) -> (d, p)
        spread[order[:rank]] = solve_triangular(R1, c, check_finite=False)
        return combine(spread)

    c, rest, before = np.zeros((rank, T.shape[1])), T, np.inf
    W = first = combine(T)
    for _ in range(REFINEMENTS):
        step = step_of(rest[order], c)
        size = float(np.linalg.norm(step))
        if not size < GAIN * before:
            break
        c, before = c + step, size
        W = weights_of(step) if W is first else W + weights_of(step)
        rest = T - multiply(W)
    gradient, scale = combine(rest) - ridge * W, np.abs(first).max(initial=0.0)
    return RowsFit(W, rank, float(np.abs(gradient).max(initial=0.0) / (scale or 1.0)))


def _ridge_steps(R: Matrix, ridge: float) -> Callable[[Matrix, Matrix], Matrix]:
    """The step of c under a ridge, from residuals in the order of the pivots and c."""
    M = R @ R.T
    M.flat[:: len(M) + 1] += ridge
    factor = lower_cholesky(M)
    return lambda rest, c: cho_solve(factor, R @ rest - ridge * c, check_finite=False)


def _plain_steps(R1: Matrix, R2: Matrix) -> Callable[[Matrix, Matrix], Matrix]:
    """The step of c without a ridge, from residuals in the order of the pivots; c does not count."""
    rank, dependent = R2.shape
    F = solve_triangular(R1, R2, check_finite=False)  # its transpose in the text
    S = F.T @ F
    S.flat[:: dependent + 1] += 1.0
    factor = lower_cholesky(S)

    def step_of(rest: Matrix, _c: Matrix) -> Matrix:
        v, below = rest[:rank], rest[rank:]
        if dependent:
            v = v + F @ cho_solve(factor, below - F.T @ v, check_finite=False)
        return np.asarray(solve_triangular(R1, v, trans=1, check_finite=False))

    return step_of


def pivoted_cholesky(A: Matrix) -> tuple[Matrix, Codes]:
    """R, (r, n), with A[order][:, order] = R'R for a positive semi-definite A, and the order, (n,).

    R begins with an upper triangle. The pivot is the largest that is left; the factor ends where that is
    rounding. A becomes scratch, and R lies in it.

    >>> R, order = pivoted_cholesky(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> R.tolist(), order.tolist()
    ([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [1, 2, 0])
    """
    n = len(A)
    order, left = np.arange(n), np.diag(A).copy()
    least = max(n, 10) * TINY * left.max(initial=0.0)
    rank = 0
    while rank < n:
        panel, positions = _panel(A, left, rank, least)
        begin, rank = rank, rank + len(panel)
        _reorder(A, order, begin, positions)
        A[begin:rank, begin:] = panel[:, positions]
        if len(panel) < PANEL:
            break
        rest = A[begin:rank, rank:]
        for rows in row_blocks(n - rank, ROWS):
            A[rank + rows.start : rank + rows.stop, rank:] -= rest[:, rows].T @ rest
        left = np.diag(A).copy()
    for j in range(rank):
        A[j, :j] = 0.0
    return A[:rank], order


def _panel(A: Matrix, left: Vector, begin: int, least: float) -> tuple[Matrix, Codes]:
    """The next rows of the factor, in the order of the columns from `begin`, and their new order."""
    left = left[begin:]
    panel = np.empty((min(PANEL, len(left)), len(left)))
    positions, where = np.arange(len(left)), np.arange(len(left))
    for j in range(len(panel)):
        pivot = int(np.argmax(left))
        if not left[pivot] > least:
            return panel[:j], positions
        row = A[begin + pivot, begin:] - panel[:j, pivot] @ panel[:j]
        row /= np.sqrt(left[pivot])
        row[pivot] = np.sqrt(left[pivot])
        row[positions[:j]] = 0.0
        panel[j] = row
        left -= row**2
        left[pivot] = -np.inf
        displaced, hole = positions[j], where[pivot]
        positions[[j, hole]] = pivot, displaced
        where[[pivot, displaced]] = j, hole
    return panel, positions


def _reorder(A: Matrix, order: Codes, begin: int, positions: Codes) -> None:
    """Bring rows and columns from `begin` into their new order; most stay where they are."""
    moved = np.flatnonzero(positions != np.arange(len(positions)))
    to, source = begin + moved, begin + positions[moved]
    A[to] = A[source]
    order[to] = order[source]
    for rows in row_blocks(len(A), ROWS):
        part = A[rows]
        part[:, to] = part[:, source]
