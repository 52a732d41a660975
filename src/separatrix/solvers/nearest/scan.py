"""Euclidean neighbours without an index: the products of all queries with all rows, in float64.

Squared distances from products, |x|^2 - 2 q . x + |q|^2, are off by less than e (|x|^2 + |q|^2), with
e = 8 (d + 8) 2^-53. Rows that this does not rule out get an exact distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.simd import squared_distance
from separatrix.runtime.threads import in_threads
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors, sort_heaps
from separatrix.types import Codes, Matrix, Vector

BLOCK_BYTES = 8 * MEBIBYTE  # of rows, and of their products
GROUP = 64  # queries, at most


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
        X, (Q, skip) = self._X, (search.Q, search.skip)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # what is not a number gets an exact distance
            own = np.einsum("ij,ij->i", Q, Q)
            size = rows_that_fit(8 * max(X.shape[1], len(Q)), BLOCK_BYTES)
            squares = np.empty(len(X)) if self._squares is None else self._squares
            for rows in row_blocks(len(X), size):
                block = np.asarray(X[rows], dtype=np.float64)
                if self._squares is None:
                    np.einsum("ij,ij->i", block, block, out=squares[rows])
                products = Q @ block.T

                def keep(
                    queries: slice, start: int = rows.start, products: Matrix = products
                ) -> None:
                    own_part = Q[queries], skip[queries], own[queries], heaps.of(queries)
                    _keep(products[queries], squares, start, X, *own_part)

                in_threads(
                    keep, row_blocks(len(Q), -(-len(Q) // search.threads)), threads=search.threads
                )
        self._squares = squares
        sort_heaps(heaps)


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
