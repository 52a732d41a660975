"""The distances that decide: float64 differences of the rows themselves.

Whatever pre-selects rows, in float32 or through bounds, only these functions say how far a dense row
is, so every way of searching finds the same neighbours to the last bit on one machine. (From 16
features on, the compiler chooses the order of a sum.) They work with *raw* distances, what
is left out being a rising function (the square root): d^2, the sum of |differences|, their largest,
or the sum of their p-th powers. Sums of whole numbers are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uintp

from separatrix.arrays import Matrix

EUCLIDEAN, MANHATTAN, CHEBYSHEV, MINKOWSKI = range(4)
NAMES = ("euclidean", "manhattan", "chebyshev", "minkowski")
CHUNK = 128  # features between two looks at whether a row is out already
SUMMED_IN_TURN = 16  # below that many features, as anybody would sum them


class Metric(NamedTuple):
    """One of the p-norms of a difference."""

    code: int
    p: float = 2.0

    @property
    def name(self) -> str:
        """What scikit-learn calls it."""
        return NAMES[self.code]

    def distances(self, raw: Matrix) -> Matrix:
        """Distances from raw ones."""
        if self.code == EUCLIDEAN:
            return np.sqrt(raw)
        return raw ** (1.0 / self.p) if self.code == MINKOWSKI else raw


def metric_of(name: str, p: float = 2.0) -> Metric:
    """The metric that scikit-learn's name (and p, for "minkowski") stands for.

    >>> metric_of("minkowski", 1) == metric_of("cityblock")
    True
    """
    names = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0}
    p = np.inf if name in ("chebyshev", "infinity") else names.get(name, p)
    codes = {1.0: MANHATTAN, 2.0: EUCLIDEAN, np.inf: CHEBYSHEV}
    return Metric(codes.get(p, MINKOWSKI), float(p))


@njit(cache=True, nogil=True)
def raw_distance(X: Any, row: int, Q: Matrix, i: int, code: int, p: float, limit: float) -> float:
    """How far X[row] is from Q[i], exactly; or something above `limit`, once it is known to be."""
    row, i, d = (
        uintp(row),
        uintp(i),
        X.shape[1],
    )  # an index without a sign need not be checked for one
    total = 0.0
    if code == EUCLIDEAN:
        if d < SUMMED_IN_TURN:
            for j in range(d):
                gap = np.float64(X[row, j]) - Q[i, j]
                total += gap * gap
            return total
        for start in range(0, d, CHUNK):
            total += _squares(X, row, Q, i, start, min(CHUNK, d - start))
            if total > limit:
                break
    elif code == MANHATTAN:
        for start in range(0, d, CHUNK):
            total += _sizes(X, row, Q, i, start, min(CHUNK, d - start))
            if total > limit:
                break
    elif code == CHEBYSHEV:
        for j in range(d):
            total = max(total, abs(np.float64(X[row, j]) - Q[i, j]))
    else:
        for j in range(d):
            total += abs(np.float64(X[row, j]) - Q[i, j]) ** p
            if total > limit:
                break
    return total


# no "contract": a fused multiply-add would tell a^2 + b^2 from b^2 + a^2
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _squares(X: Any, row: int, Q: Matrix, i: int, start: int, count: int) -> float:
    total = 0.0
    for j in range(count):
        gap = np.float64(X[row, uintp(start + j)]) - Q[i, uintp(start + j)]
        total += gap * gap
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _sizes(X: Any, row: int, Q: Matrix, i: int, start: int, count: int) -> float:
    total = 0.0
    for j in range(count):
        total += abs(np.float64(X[row, uintp(start + j)]) - Q[i, uintp(start + j)])
    return total
