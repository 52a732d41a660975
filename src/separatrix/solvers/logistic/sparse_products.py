"""Products of CSR samples with weights and with residuals, and second moments of some features, compiled.

Parameters of a feature lie side by side: theta, (p, D), is in Fortran order, or is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix.solvers.rows import CompiledRows, add_outer, add_row, add_scores, dot_row
from separatrix.types import Block, Codes, Matrix, Vector


def scores_of(X: Any, theta: Matrix) -> Matrix:
    """Scores of CSR samples without a bias, (p, n)."""
    n, p = X.shape[0], len(theta)
    if p == 1:
        F = np.empty((1, n))
        score_rows(compiled_rows(X), np.ascontiguousarray(theta[0]), F[0])
        return F
    S = np.zeros((n, p))
    score_rows_by_class(compiled_rows(X), np.ascontiguousarray(theta.T), S)
    return np.ascontiguousarray(S.T)


def add_products(X: Any, R: Matrix, gradient: Matrix) -> None:
    """Add R X, of residuals (p, n) and CSR samples, to a gradient, (p, D), in Fortran order."""
    if len(R) == 1:
        add_rows(compiled_rows(X), R[0], gradient[0])
    else:
        add_rows_by_class(compiled_rows(X), np.ascontiguousarray(R.T), gradient.T)


def compiled_rows(X: Any) -> CompiledRows:
    """CSR samples as they are; columns unsigned, so that compiled code need not check for negative ones."""
    columns = X.indices.view(np.uint32 if X.indices.itemsize == 4 else np.uint64)
    return CompiledRows(X.data, columns, X.indptr)


def squares_of(X: Any, weights: Vector) -> Vector:
    """Weighted sum over CSR samples of each feature's square, (d,)."""
    sums = np.zeros(X.shape[1])
    rows = compiled_rows(X)
    add_rows(rows._replace(data=np.square(rows.data)), weights, sums)
    return sums


def head_moments(block: Block, *, position: Codes, every: int) -> Matrix:
    """Weighted second moments of some features over one in `every` of CSR samples, (q, q).

    `position`, (D,), is where a feature comes in the result, -1 if nowhere; its last entry, beyond the
    features, is that of the intercept.
    """
    S = np.zeros((int(position.max()) + 1,) * 2)
    add_moments(compiled_rows(block.X), block.weights, position, every, S)
    return S + np.tril(S, -1).T


@njit(cache=True, nogil=True)
def score_rows(rows: CompiledRows, w: Vector, f: Vector) -> None:
    """f becomes <w, x_i>."""
    for i in range(len(f)):
        f[i] = dot_row(rows, i, w)


@njit(cache=True, nogil=True)
def score_rows_by_class(rows: CompiledRows, W: Matrix, S: Matrix) -> None:
    """Add <w_c, x_i> to S, (n, k), with W (D, k)."""
    for i in range(len(S)):
        add_scores(rows, i, W, S[i])


@njit(cache=True, nogil=True)
def add_rows(rows: CompiledRows, steps: Vector, w: Vector) -> None:
    """Add the sum of step_i x_i to w."""
    for i in range(len(steps)):
        add_row(rows, i, steps[i], w)


@njit(cache=True, nogil=True)
def add_rows_by_class(rows: CompiledRows, steps: Matrix, W: Matrix) -> None:
    """Add the sum of step_ic x_i to w_c, with W (D, k)."""
    for i in range(len(steps)):
        add_outer(rows, i, steps[i], W)


@njit(cache=True, nogil=True)
def add_moments(
    rows: CompiledRows, weights: Vector, position: Codes, every: int, S: Matrix
) -> None:
    """Add to the lower triangle of S the second moments of some features."""
    data, indices, indptr = rows
    places, values = np.empty(len(S), np.int64), np.empty(len(S))
    bias = position[-1]
    for i in range(0, len(weights), every):
        count = 0
        for j in range(indptr[i], indptr[i + 1]):
            place = position[indices[j]]
            if place >= 0 and count < len(S):
                places[count], values[count] = place, data[j]
                count += 1
        if bias >= 0 and count < len(S):
            places[count], values[count] = bias, 1.0
            count += 1
        for a in range(count):
            place, value = places[a], weights[i] * values[a]
            for b in range(a + 1):
                S[place, places[b]] += value * values[b]
