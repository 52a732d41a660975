"""Rows known only through blocks of distances: kernels, functions, precomputed distances.

Every distance is computed; a block is at most 32 MB. Raw distances are distances here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors, enter, no_neighbors, sort_heaps
from separatrix.types import Codes, Matrix, Vector

BLOCK_BYTES = 32 * MEBIBYTE
ROWS = 4096  # of a block
MIN_QUERIES = 64  # of a block, so that reading the rows pays


class Blocks(Index):
    """n rows, and a function that computes the distances of some queries to a range of rows.

    >>> gaps = Blocks(3, lambda Q, rows: abs(Q - np.array([5.0, 1.0, 3.0])[rows]))
    >>> gaps.nearest(np.array([[2.0]]), 2, np.array([-1]), threads=1).rows  # 1 and 3 are equally near
    array([[1, 2]])
    """

    method = "blocks"

    def __init__(
        self, n: int, distances: Callable[[Any, slice], Any], *, threaded: bool = False
    ) -> None:
        self._n = n
        self._distances = distances
        self._threaded = threaded  # whether the function may run in several threads at once

    def answer(self, search: Search) -> Neighbors:
        if not self._threaded:
            search = search._replace(threads=1)
        share = max(MIN_QUERIES, -(-search.Q.shape[0] // search.threads))
        size = rows_that_fit(8 * min(self._n, ROWS), BLOCK_BYTES, most=share)

        def scan(queries: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            Q, skip = search.Q[queries], search.skip[queries]
            for rows in row_blocks(self._n, ROWS):
                if monitor.should_stop():
                    return
                D = np.ascontiguousarray(self._distances(Q, rows), dtype=np.float64)
                wanted = (Q.shape[0], rows.stop - rows.start)
                if D.shape != wanted:
                    raise DataError(f"a block of distances must have shape {wanted}; got {D.shape}")
                _enter_all(D, rows.start, skip, heaps)

        return search.in_groups(scan, size)


class PrecomputedDistances(Index):
    """n rows, and queries, dense or CSR, that are their distances to the rows.

    In a sparse matrix only stored entries are neighbours.
    """

    method = "precomputed"

    def __init__(self, n: int) -> None:
        self._all = Blocks(n, _columns, threaded=True)

    def answer(self, search: Search) -> Neighbors:
        Q, k = search.Q, search.k
        if not issparse(Q):
            return self._all.answer(search)
        found = no_neighbors(Q.shape[0], k)
        _enter_stored(Q.indptr, Q.indices, Q.data, search.skip, found)
        sort_heaps(found)
        fewest = int((found.rows != NOBODY).sum(axis=1).min(initial=k))
        if fewest < k:
            raise DataError(
                f"{k} neighbors per samples are required, but some samples have only {fewest} "
                "neighbors in precomputed graph matrix. Decrease number of neighbors used or "
                "recompute the graph with more neighbors."
            )
        return found


def _columns(Q: Matrix, rows: slice) -> Matrix:
    return Q[:, rows]


@njit(cache=True, nogil=True)
def _enter_all(D: Matrix, start: int, skip: Codes, heaps: Neighbors) -> None:
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            if start + j != skip[i]:
                distance = D[i, j] if D[i, j] == D[i, j] else np.inf  # NaN is far
                enter(heaps, i, distance, start + j)


@njit(cache=True, nogil=True)
def _enter_stored(
    ends: Codes, columns: Codes, values: Vector, skip: Codes, heaps: Neighbors
) -> None:
    for i in range(len(skip)):
        for position in range(ends[i], ends[i + 1]):
            row = np.int64(columns[position])
            if row != skip[i]:
                enter(heaps, i, np.float64(values[position]), row)
