"""Rows of dense or CSR samples, as compiled loops read them: products with weights, and additions.

Samples are `CompiledRows`: the arrays of CSR rows, with the number 1.0 for data if all stored values
are 1; or the matrix, 0 and 0. Each function is specialised when it is compiled. A caller that writes to
arrays of a tuple takes them as `state.b` or `sums[0]`: where a function was inlined, numba removes
assignments to arrays from an unpacked tuple as dead code.
"""

# ruff: noqa: ARG001, ARG005 - numba calls an overload with all arguments of the function

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from scipy.sparse import issparse

from separatrix.jit import njit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.types import Matrix, Vector

# Column numbers are unsigned, so that compiled code need not check for negative ones.
ONE, THREE, FOUR = np.uint64(1), np.uint64(3), np.uint64(4)


class CompiledRows(NamedTuple):
    """Samples as arguments of compiled loops."""

    data: Any  # stored values, or 1.0 if they all are 1; or the matrix, (n, d), C-contiguous
    indices: Any  # column numbers in the narrowest type, since rows are read in random order; or 0
    indptr: Any  # shape: (n + 1,); or 0

    @property
    def values_per_row(self) -> int:
        """Stored values of a row, on average."""
        if np.ndim(self.data) == 2:
            return int(self.data.shape[1])
        return len(self.indices) // max(1, len(self.indptr) - 1)


def rows_of(X: Any) -> CompiledRows:
    """Dense or CSR samples, (n, d), for compiled loops."""
    if not issparse(X):
        return CompiledRows(np.ascontiguousarray(X), 0, 0)
    kinds = (np.uint8, np.uint16, np.uint32)
    narrow = next(kind for kind in kinds if X.shape[1] - 1 <= np.iinfo(kind).max)
    data = 1.0 if (X.data == 1.0).all() else X.data
    return CompiledRows(data, X.indices.astype(narrow), X.indptr.astype(np.int64))


def _is_dense(rows: Any) -> bool:
    return isinstance(rows[0], types.Array) and rows[0].ndim == 2


def value_at(data: Any, j: Any) -> float:
    """Stored value number j; 1 if all are."""
    return float(data[j]) if np.ndim(data) else 1.0


@overload(value_at, strict=False)  # not strict: annotations would have to be the same too
def _value_at(data: Any, j: Any) -> Any:
    if isinstance(data, types.Array):
        return lambda data, j: data[j]
    return lambda data, j: 1.0


def dot_row(rows: CompiledRows, i: int, w: Vector) -> float:
    """<w, x_i>. Sparse products go to four sums, so that no addition waits for the last one."""
    raise NotImplementedError


@overload(dot_row, inline="always", strict=False)
def _dot_row(rows: Any, i: Any, w: Any) -> Any:
    if _is_dense(rows):
        return lambda rows, i, w: _dense_dot(rows.data, i, w)

    def sparse(rows: CompiledRows, i: int, w: Vector) -> float:
        data, indices, indptr = rows
        j, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        one = two = three = four = 0.0
        end_of_fours = stop - ((stop - j) & THREE)
        while j < end_of_fours:
            one += value_at(data, j) * w[indices[j]]
            two += value_at(data, j + ONE) * w[indices[j + ONE]]
            three += value_at(data, j + ONE + ONE) * w[indices[j + ONE + ONE]]
            four += value_at(data, j + THREE) * w[indices[j + THREE]]
            j += FOUR
        while j < stop:
            one += value_at(data, j) * w[indices[j]]
            j += ONE
        return (one + two) + (three + four)

    return sparse


def score_row(rows: CompiledRows, i: int, w: Vector, bias: float) -> float:
    """bias + <w, x_i>. Sparse products are summed in order."""
    raise NotImplementedError


@overload(score_row, inline="always", strict=False)
def _score_row(rows: Any, i: Any, w: Any, bias: Any) -> Any:
    if _is_dense(rows):
        return lambda rows, i, w, bias: _dense_dot(rows.data, i, w) + bias

    def sparse(rows: CompiledRows, i: int, w: Vector, bias: float) -> float:
        data, indices, indptr = rows
        score = bias
        for j in range(indptr[i], indptr[i + 1]):
            score += w[indices[j]] * value_at(data, j)
        return score

    return sparse


def add_row(rows: CompiledRows, i: int, step: float, w: Vector) -> None:
    """Add step x_i to w."""
    raise NotImplementedError


@overload(add_row, inline="always", strict=False)
def _add_row(rows: Any, i: Any, step: Any, w: Any) -> Any:
    if _is_dense(rows):
        return lambda rows, i, step, w: _dense_add(rows.data, i, step, w)

    def sparse(rows: CompiledRows, i: int, step: float, w: Vector) -> None:
        data, indices, indptr = rows
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            w[indices[j]] += step * value_at(data, j)

    return sparse


def add_scores(rows: CompiledRows, i: int, W: Matrix, out: Vector) -> None:
    """Add <w_c, x_i> to out_c for every class c, with W (d, k)."""
    raise NotImplementedError


@overload(add_scores, strict=False)
def _add_scores(rows: Any, i: Any, W: Any, out: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: CompiledRows, i: int, W: Matrix, out: Vector) -> None:
            X = rows.data
            for j in range(X.shape[1]):
                for c in range(len(out)):
                    out[c] += X[i, j] * W[j, c]

        return dense

    def sparse(rows: CompiledRows, i: int, W: Matrix, out: Vector) -> None:
        data, indices, indptr = rows
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(len(out)):
                out[c] += value_at(data, j) * W[indices[j], c]

    return sparse


def add_outer(rows: CompiledRows, i: int, step: Vector, W: Matrix) -> None:
    """Add step_c x_i to w_c for every class c, with W (d, k)."""
    raise NotImplementedError


@overload(add_outer, strict=False)
def _add_outer(rows: Any, i: Any, step: Any, W: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: CompiledRows, i: int, step: Vector, W: Matrix) -> None:
            X = rows.data
            for j in range(X.shape[1]):
                for c in range(len(step)):
                    W[j, c] += X[i, j] * step[c]

        return dense

    def sparse(rows: CompiledRows, i: int, step: Vector, W: Matrix) -> None:
        data, indices, indptr = rows
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(len(step)):
                W[indices[j], c] += value_at(data, j) * step[c]

    return sparse


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _dense_dot(X: Any, i: int, w: Vector) -> float:
    total = 0.0
    for j in range(len(w)):
        total += w[j] * X[i, j]
    return total


@njit(cache=True, nogil=True)
def _dense_add(X: Any, i: int, step: float, w: Vector) -> None:
    for j in range(len(w)):
        w[j] += step * X[i, j]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def score_rows(X: Matrix, W: Matrix, b: Vector, S: Matrix) -> None:
    """S becomes X W' + b, (n, p), summed in float64 whatever X is; four boundaries read a row together."""
    d, p = X.shape[1], len(W)
    fours = p - p % 4
    for i in range(len(X)):
        for c in range(0, fours, 4):
            one = two = three = four = 0.0
            for j in range(d):
                x = X[i, j]
                one += x * W[c, j]
                two += x * W[c + 1, j]
                three += x * W[c + 2, j]
                four += x * W[c + 3, j]
            S[i, c], S[i, c + 1] = one + b[c], two + b[c + 1]
            S[i, c + 2], S[i, c + 3] = three + b[c + 2], four + b[c + 3]
        for c in range(fours, p):
            S[i, c] = _dense_dot(X, i, W[c]) + b[c]
