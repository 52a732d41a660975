"""Exact distances: float64 differences of the rows, summed in one fixed order.

Whatever pre-selects rows, in float32 or through bounds, only `raw_distance` decides, so every search
method finds the same neighbours to the last bit. *Raw* distances omit a final increasing function (the
root): d^2, the sum of |differences|, their maximum, or the sum of their p-th powers. Sums of integers
are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uintp

from separatrix.jit import njit
from separatrix.runtime.simd import absolute_distance, squared_distance
from separatrix.types import Matrix

EUCLIDEAN, MANHATTAN, CHEBYSHEV, MINKOWSKI = range(4)


class Metric(NamedTuple):
    """One of the p-norms of a difference."""

    code: int
    p: float = 2.0

    def distances(self, raw: Matrix) -> Matrix:
        """Distances from raw ones."""
        if self.code == EUCLIDEAN:
            return np.sqrt(raw)
        return raw ** (1.0 / self.p) if self.code == MINKOWSKI else raw


def metric_of(name: str, p: float = 2.0) -> Metric:
    """The metric of scikit-learn's name, with p for "minkowski".

    >>> metric_of("minkowski", 1) == metric_of("cityblock")
    True
    """
    names = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0}
    p = np.inf if name in ("chebyshev", "infinity") else names.get(name, p)
    codes = {1.0: MANHATTAN, 2.0: EUCLIDEAN, np.inf: CHEBYSHEV}
    return Metric(codes.get(p, MINKOWSKI), float(p))


@njit(cache=True, nogil=True)
def raw_distance(X: Any, row: int, Q: Matrix, i: int, code: int, p: float, limit: float) -> float:
    """Exact raw distance of X[row] and Q[i]; or some number above `limit` if the distance is.

    X is C-contiguous uint8, float32 or float64, Q C-contiguous float64. Loops that are for one metric
    only call `squared_distance` or `absolute_distance` themselves.
    """
    if code == EUCLIDEAN:
        return squared_distance(X, row, Q, i, limit)  # type: ignore[no-any-return]
    if code == MANHATTAN:
        return absolute_distance(X, row, Q, i, limit)  # type: ignore[no-any-return]
    row, i, total = uintp(row), uintp(i), 0.0  # unsigned indexes need no check
    if code == CHEBYSHEV:
        for j in range(X.shape[1]):
            total = max(total, abs(np.float64(X[row, j]) - Q[i, j]))
    else:
        for j in range(X.shape[1]):
            total += abs(np.float64(X[row, j]) - Q[i, j]) ** p
            if total > limit:
                break
    return total
