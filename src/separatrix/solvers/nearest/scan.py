"""Euclidean neighbours without an index: the products of all queries with all rows, in float64.

Squared distances from products, |x|^2 - 2 q . x + |q|^2, are off by less than e (|x|^2 + |q|^2), with
e = 8 (d + 8) 2^-53. Rows that this does not rule out get an exact distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.simd import squared_distance
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.nearest.groups import WORTH_A_THREAD, Index, Search
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors, sort_heaps
from separatrix.types import Codes, Matrix, Vector

BLOCK_BYTES = 8 * MEBIBYTE  # of rows, and of their products
GROUP = 64  # queries, at most
PER_VALUE, PER_PRODUCT = 1.0, 0.05  # nanoseconds, about


class ProductScan(Index):
    """Dense rows of any number type, as they are; best for few queries."""

    method = "exhaustive"

    def __init__(self, X: Any) -> None:
        self._X = X
        self._squares: Vector | None = None

    def answer(self, search: Search) -> Neighbors:
        found, inner = no_neighbors(len(search.Q), search.k), search.monitor.inner()
        for queries in row_blocks(len(search.Q), GROUP):
            if inner.should_stop():
                break
            self._scan(search.of(queries), found.of(queries))
            search.monitor.step()
        return found

    def _scan(self, search: Search, heaps: Neighbors) -> None:
        (n, d), Q, skip = self._X.shape, search.Q, search.skip
        known = self._squares is not None
        squares = self._squares if self._squares is not None else np.empty(n)
        own = np.einsum("ij,ij->i", Q, Q)
        work = n * d * (PER_VALUE + PER_PRODUCT * len(Q))
        threads = int(min(search.threads, max(1, work // WORTH_A_THREAD)))

        def scan(rows: slice) -> Neighbors:
            found = heaps if threads == 1 else no_neighbors(len(Q), search.k)
            block = np.asarray(self._X[rows], dtype=np.float64)
            if not known:
                np.einsum("ij,ij->i", block, block, out=squares[rows])
            _keep(Q @ block.T, squares, rows.start, self._X, Q, skip, own, found)
            return found

        size = rows_that_fit(8 * max(d, len(Q)), BLOCK_BYTES, most=-(-n // threads))
        with blas_on_one_thread(), np.errstate(over="ignore", invalid="ignore"):
            parts = in_threads(scan, row_blocks(n, size), threads=threads)
        for part in parts if threads > 1 else []:
            _merge(part, heaps)
        self._squares = squares
        sort_heaps(heaps)


@njit(cache=True, nogil=True)
def _merge(part: Neighbors, heaps: Neighbors) -> None:
    distances, rows = part
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            enter(heaps, i, distances[i, j], rows[i, j])


@njit(cache=True, nogil=True)
def _keep(
    products: Matrix,
    squares: Vector,
    start: int,
    X: Any,
    Q: Matrix,
    skip: Codes,
    own: Vector,
    heaps: Neighbors,
) -> None:
    """Compute exact distances of the rows from `start` on that their products do not rule out."""
    distances, e = heaps.distances, 8 * (X.shape[1] + 8) * 2.0**-53
    for i in range(products.shape[0]):
        limit = distances[i, 0] * (1 + e) - own[i] * (1 - e)
        for j in range(products.shape[1]):
            if not squares[start + j] * (1 - e) - 2 * products[i, j] > limit:
                row = start + j
                distance = squared_distance(X, row, Q, i, distances[i, 0])
                if distance <= distances[i, 0] and row != skip[i]:
                    enter(heaps, i, distance, row)
                    limit = distances[i, 0] * (1 + e) - own[i] * (1 - e)
