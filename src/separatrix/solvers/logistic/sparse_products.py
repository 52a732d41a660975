"""Products of CSR samples with weights and with residuals, and second moments of some features, compiled.

Parameters of a feature lie side by side: theta, (p, D), is in Fortran order, or is copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.sums import canonical
from separatrix.types import Block, Codes, Matrix, Vector

ONE, TWO, THREE, FOUR = np.arange(1, 5, dtype=np.uint64)  # a sum with a signed number is a float


def scores_of(X: Any, theta: Matrix) -> Matrix:
    """Scores of CSR samples without a bias, (p, n)."""
    n, p = X.shape[0], len(theta)
    if p == 1:
        F = np.empty((1, n))
        score_rows(*arrays_of(X), np.ascontiguousarray(theta[0]), F[0])
        return F
    S = np.zeros((n, p))
    score_rows_by_class(*arrays_of(X), np.ascontiguousarray(theta.T), S)
    return np.ascontiguousarray(S.T)


def add_products(X: Any, R: Matrix, gradient: Matrix) -> None:
    """Add R X, of residuals (p, n) and CSR samples, to a gradient, (p, D), in Fortran order."""
    if len(R) == 1:
        add_rows(*arrays_of(X), R[0], gradient[0])
    else:
        add_rows_by_class(*arrays_of(X), np.ascontiguousarray(R.T), gradient.T)


def squares_of(X: Any, weights: Vector) -> Vector:
    """Weighted sum over CSR samples of each feature's square, (d,)."""
    X = canonical(X)
    sums = np.zeros(X.shape[1])
    data, columns, starts = arrays_of(X)
    add_rows(np.square(data), columns, starts, weights, sums)
    return sums


def head_moments(block: Block, *, position: Codes) -> Matrix:
    """Weighted second moments of some features of CSR samples, (q, q).

    `position`, (D,), is where a feature comes in the result, -1 if nowhere; its last entry, beyond the
    features, is that of the intercept.
    """
    S = np.zeros((int(position.max()) + 1,) * 2)
    add_moments(*arrays_of(canonical(block.X)), block.weights, position, S)
    return S + np.tril(S, -1).T


def arrays_of(X: Any) -> tuple[Vector, Any, Any]:
    """Values, columns and starts of CSR rows; unsigned, so that compiled code expects no negative ones."""
    unsigned = np.uint32 if X.indices.itemsize == 4 else np.uint64
    return X.data, X.indices.view(unsigned), X.indptr.view(unsigned)


# arrays, not a tuple of them, and no generic loops of `rows.py`: these compile five times as fast
@njit(cache=True, nogil=True)
def score_rows(data: Vector, columns: Codes, starts: Codes, w: Vector, f: Vector) -> None:
    """f becomes <w, x_i>: four sums, which do not wait for each other."""
    for i in range(len(f)):
        j, end = np.uint64(starts[i]), np.uint64(starts[i + 1])
        a = b = c = d = 0.0
        while j + THREE < end:
            a += data[j] * w[columns[j]]
            b += data[j + ONE] * w[columns[j + ONE]]
            c += data[j + TWO] * w[columns[j + TWO]]
            d += data[j + THREE] * w[columns[j + THREE]]
            j += FOUR
        while j < end:
            a += data[j] * w[columns[j]]
            j += ONE
        f[i] = (a + b) + (c + d)


@njit(cache=True, nogil=True)
def score_rows_by_class(data: Vector, columns: Codes, starts: Codes, W: Matrix, S: Matrix) -> None:
    """Add <w_c, x_i> to S, (n, k), with W (D, k): two values at a time, so that S is read half as often."""
    for i in range(len(S)):
        j, end = np.uint64(starts[i]), np.uint64(starts[i + 1])
        while j + ONE < end:
            value, column, other, following = data[j], columns[j], data[j + ONE], columns[j + ONE]
            for c in range(S.shape[1]):
                S[i, c] += value * W[column, c] + other * W[following, c]
            j += TWO
        if j < end:
            value, column = data[j], columns[j]
            for c in range(S.shape[1]):
                S[i, c] += value * W[column, c]


@njit(cache=True, nogil=True)
def add_rows(data: Vector, columns: Codes, starts: Codes, steps: Vector, w: Vector) -> None:
    """Add the sum of step_i x_i to w."""
    for i in range(len(steps)):
        for j in range(starts[i], starts[i + 1]):
            w[columns[j]] += steps[i] * data[j]


@njit(cache=True, nogil=True)
def add_rows_by_class(data: Vector, columns: Codes, starts: Codes, R: Matrix, W: Matrix) -> None:
    """Add the sum of r_ic x_i to w_c, with R (n, k) and W (D, k)."""
    for i in range(len(R)):
        for j in range(starts[i], starts[i + 1]):
            value, column = data[j], columns[j]
            for c in range(R.shape[1]):
                W[column, c] += value * R[i, c]


@njit(cache=True, nogil=True)
def add_moments(
    data: Vector,
    columns: Codes,
    starts: Codes,
    weights: Vector,
    position: Codes,
    S: Matrix,
) -> None:
    """Add to the lower triangle of S the second moments of some features, columns in order."""
    bias = position[-1]
    longest = np.uint64(0)
    for i in range(len(weights)):
        longest = max(longest, np.uint64(starts[i + 1] - starts[i]))
    kept, values = np.empty(longest + 2, np.int64), np.empty(longest + 2)
    for i in range(len(weights)):
        count = 0
        for j in range(starts[i], starts[i + 1]):
            row = position[columns[j]]
            kept[count], values[count] = row, data[j]
            count += row >= 0  # without a branch
        if bias >= 0:
            kept[count], values[count] = bias, 1.0
            count += 1
        for second in range(count):
            row, value = kept[second], weights[i] * values[second]
            for first in range(second + 1):
                S[row, kept[first]] += value * values[first]
