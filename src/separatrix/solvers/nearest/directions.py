"""Unit vectors: half their squared distance is 1 minus the cosine of the angle between them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from separatrix.jit import njit
from separatrix.runtime.sums import canonical
from separatrix.types import Codes, Flags, Matrix, Vector


class Directions(NamedTuple):
    """Rows as unit vectors."""

    rows: Any  # shape: (n, d); of length 1 in float64, dense or CSR
    none: Flags  # shape: (n,); whether a row is all zeros, and stays so


def directions_of(X: Any) -> Directions:
    """Unit vectors, copied. Integer multiples of a row give the same vector to the last bit.

    >>> directions_of(np.array([[3.0, 4.0], [0.0, 0.0]])).rows
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    U = canonical(X.astype(np.float64)) if issparse(X) else X.astype(np.float64, order="C")
    n, d = U.shape
    none = np.zeros(n, dtype=bool)
    if issparse(U):
        _scale(U.data, U.indptr, none)
    else:
        _scale(U.reshape(-1), np.arange(n + 1) * d, none)
    return Directions(U, none)


def with_flags(U: Any, flags: Flags) -> Any:
    """Rows with one column more: 1 where flagged, else 0."""
    column: Matrix = flags.astype(np.float64)[:, None]
    return csr_array(hstack([U, csr_array(column)])) if issparse(U) else np.hstack([U, column])


@njit(cache=True, nogil=True)
def _scale(values: Vector, ends: Codes, none: Flags) -> None:
    """Rows are values[ends[i] : ends[i + 1]]; zeros between them would not change any sum."""
    for i in range(none.shape[0]):
        largest = 0.0
        for position in range(ends[i], ends[i + 1]):
            largest = max(largest, abs(values[position]))
        if largest == 0.0:
            none[i] = True
            continue
        total = 0.0
        for position in range(ends[i], ends[i + 1]):
            values[position] /= largest  # so that squares neither overflow nor underflow
            total += values[position] * values[position]
        length = math.sqrt(total)
        for position in range(ends[i], ends[i + 1]):
            values[position] /= length
