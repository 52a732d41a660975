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

from separatrix.runtime.interruptible import lower_cholesky
from separatrix.solvers.least_squares import TINY
from separatrix.types import Codes, Matrix

PANEL = (
    96  # columns of the factor that are made before the rest of the matrix is brought up to date
)
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

    Returns W = Qc with (L'L + ridge) c = L'T. As K squares the condition of A, the weights are refined
    with residuals from the samples themselves until the steps no longer shrink.

    Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), sections 10.3 and 20.5.
    """
    L, pivots = pivoted_cholesky(K)
    rank = L.shape[1]
    M = L.T @ L
    M.flat[:: rank + 1] += ridge
    factor = lower_cholesky(M)
    spread = np.zeros_like(T)

    def weights_of(c: Matrix) -> Matrix:  # (r, p) -> (d, p)
        spread[pivots] = solve_triangular(L[pivots], c, lower=True, trans=1, check_finite=False)
        return combine(spread)

    c, rest, before = np.zeros((rank, T.shape[1])), T, np.inf
    W = first = combine(T)
    for _ in range(REFINEMENTS):
        step = cho_solve(factor, L.T @ rest - ridge * c, check_finite=False)
        size = float(np.linalg.norm(step))
        if not size < GAIN * before:
            break
        c, before = c + step, size
        W = weights_of(step) if W is first else W + weights_of(step)
        rest = T - multiply(W)
    gradient, scale = combine(rest) - ridge * W, np.abs(first).max(initial=0.0)
    return RowsFit(W, rank, float(np.abs(gradient).max(initial=0.0) / (scale or 1.0)))


def pivoted_cholesky(A: Matrix) -> tuple[Matrix, Codes]:
    """L, (n, r), with A = LL' for a positive semi-definite A, and the r rows of its triangle.

    The pivot is the largest that is left; the factor ends where that is rounding. A becomes scratch.

    >>> L, pivots = pivoted_cholesky(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> L.tolist(), pivots.tolist()
    ([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1, 2])
    """
    n = len(A)
    order, left = np.arange(n), np.diag(A).copy()
    least = max(n, 10) * TINY * left.max(initial=0.0)
    for begin in range(0, n, PANEL):
        end = min(begin + PANEL, n)
        for j in range(begin, end):
            pivot = j + int(np.argmax(left[j:]))
            if not left[pivot] > least:
                return _factor(A, order, j)
            _exchange(A, order, left, j, pivot)
            column = A[j:, j] - A[j:, begin:j] @ A[j, begin:j]
            A[j:, j] = column / np.sqrt(left[j])
            A[j, j] = np.sqrt(left[j])
            left[j + 1 :] -= A[j + 1 :, j] ** 2
        done = A[end:, begin:end]
        A[end:, end:] -= done @ done.T
        left[end:] = np.diag(A)[end:]
    return _factor(A, order, n)


def _exchange(A: Matrix, order: Codes, left: Matrix, j: int, pivot: int) -> None:
    """Exchange two rows and columns of what is left, and the rows of what is done."""
    if j == pivot:
        return
    for values in (A, A.T, order, left):
        values[[j, pivot]] = values[[pivot, j]]


def _factor(A: Matrix, order: Codes, rank: int) -> tuple[Matrix, Codes]:
    """L with its rows as they were."""
    L = np.empty((len(A), rank))
    L[order] = np.tril(A[:, :rank])
    return L, order[:rank]
