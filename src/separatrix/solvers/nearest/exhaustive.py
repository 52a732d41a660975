"""Exhaustive search: every row, until its distance is known to be too large; for every metric."""

from __future__ import annotations

from typing import Any

from numba import njit

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.nearest.groups import search_groups
from separatrix.solvers.nearest.metrics import Metric, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors
from separatrix.types import Codes, Matrix

QUERIES = 16  # of a group, which shares rows in the cache
ROWS = 256


class Exhaustive:
    """Unprocessed rows."""

    method = "exhaustive"
    nbytes = 0

    def __init__(self, X: Any, metric: Metric) -> None:
        self._X = X
        self._metric = metric

    def nearest(
        self, Q: Matrix, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query; see `Index`."""
        found = no_neighbors(len(Q), k)
        n, d = self._X.shape
        at_once = max(ROWS, CHUNK // (QUERIES * max(d, 1)))

        def scan(queries: slice, monitor: FitMonitor) -> None:
            for rows in row_blocks(n, at_once):
                if monitor.should_stop():
                    return
                _scan(
                    self._X, rows.start, rows.stop, Q[queries], skip[queries],
                    self._metric.code, self._metric.p,
                    found.distances[queries], found.rows[queries],
                )  # fmt: skip

        search_groups(scan, len(Q), QUERIES, found, threads=threads, monitor=monitor)
        return found


@njit(cache=True, nogil=True)
def _scan(
    X: Any,
    start: int,
    stop: int,
    Q: Matrix,
    skip: Codes,
    code: int,
    p: float,
    distances: Matrix,
    rows: Codes,
) -> None:
    for first in range(start, stop, ROWS):
        for i in range(Q.shape[0]):
            for row in range(first, min(first + ROWS, stop)):
                if row != skip[i]:
                    distance = raw_distance(X, row, Q, i, code, p, distances[i, 0])
                    enter(distances, rows, i, distance, row)
