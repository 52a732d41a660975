"""Exhaustive search: every row, until its distance is known to be too large; for every metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import squared_distance
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import EUCLIDEAN, Metric, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter
from separatrix.types import Codes, Matrix

QUERIES = 16  # of a group, which shares rows in the cache
ROWS = 256


class Exhaustive(Index):
    """Unprocessed rows."""

    method = "exhaustive"

    def __init__(self, X: Any, metric: Metric) -> None:
        self._X, self._metric = X, metric

    def answer(self, search: Search) -> Neighbors:
        n, d = self._X.shape
        at_once = max(ROWS, CHUNK // (QUERIES * max(d, 1)))

        def scan(queries: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            Q, skip = search.Q[queries], search.skip[queries]
            for rows in row_blocks(n, at_once):
                if monitor.should_stop():
                    return
                _scan(self._X, rows.start, rows.stop, Q, skip, self._metric, heaps)

        return search.in_groups(scan, QUERIES)


def raw_distances(X: Any, Q: Matrix, metric: Metric) -> Matrix:
    """Raw distances of queries Q, (m, d), float64 and C-contiguous, to all dense rows, (m, n)."""
    found = np.empty((len(Q), len(X)))
    _measure(X, Q, metric, found)
    return found


@njit(cache=True, nogil=True)
def _measure(X: Any, Q: Matrix, metric: Metric, out: Matrix) -> None:
    code, p = metric
    for first in range(0, X.shape[0], ROWS):
        for i in range(Q.shape[0]):
            for row in range(first, min(first + ROWS, X.shape[0])):
                if code == EUCLIDEAN:
                    out[i, row] = squared_distance(X, row, Q, i, np.inf)
                else:
                    out[i, row] = raw_distance(X, row, Q, i, code, p, np.inf)


@njit(cache=True, nogil=True)
def _scan(
    X: Any, start: int, stop: int, Q: Matrix, skip: Codes, metric: Metric, heaps: Neighbors
) -> None:
    distances, (code, p) = heaps.distances, metric
    for first in range(start, stop, ROWS):
        for i in range(Q.shape[0]):
            for row in range(first, min(first + ROWS, stop)):
                if code == EUCLIDEAN:
                    distance = squared_distance(X, row, Q, i, distances[i, 0])
                else:
                    distance = raw_distance(X, row, Q, i, code, p, distances[i, 0])
                if distance <= distances[i, 0] and row != skip[i]:
                    enter(heaps, i, distance, row)
