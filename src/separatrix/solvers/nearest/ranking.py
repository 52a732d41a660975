"""The k nearest rows so far, as a heap whose first entry is the farthest.

Rows are compared by distance and then by number, so their order does not matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes, Matrix

NOBODY = np.iinfo(np.int64).max  # the row number of an empty slot


class Neighbors(NamedTuple):
    """The nearest rows of each query, nearest first; or their heaps."""

    distances: Matrix  # shape: (m, k); float64
    rows: Codes  # shape: (m, k)

    def of(self, queries: Any) -> Neighbors:
        """Those of some queries."""
        return Neighbors(self.distances[queries], self.rows[queries])


def no_neighbors(m: int, k: int) -> Neighbors:
    """Empty heaps for k neighbours of m queries."""
    return Neighbors(np.full((m, k), np.inf), np.full((m, k), NOBODY))


@njit(cache=True, nogil=True)
def enter(heaps: Neighbors, i: int, distance: float, row: int) -> bool:
    """Put a row into the heap of query i if it is nearer than the farthest there; returns whether."""
    distances, rows = heaps
    if distance > distances[i, 0] or (distance == distances[i, 0] and row > rows[i, 0]):
        return False
    _sift(distances, rows, i, distance, row, distances.shape[1])
    return True


@njit(cache=True, nogil=True)
def sort_heaps(heaps: Neighbors) -> None:
    """Turn the heaps of all queries into lists with the nearest first."""
    for i in range(heaps.distances.shape[0]):
        sort_heap(heaps, i)


@njit(cache=True, nogil=True)
def sort_heap(heaps: Neighbors, i: int) -> None:
    """Turn the heap of query i into a list with the nearest first."""
    distances, rows = heaps
    for size in range(distances.shape[1] - 1, 0, -1):
        distance, row = distances[i, size], rows[i, size]
        distances[i, size], rows[i, size] = distances[i, 0], rows[i, 0]
        _sift(distances, rows, i, distance, row, size)


@njit(cache=True, nogil=True)
def _sift(distances: Matrix, rows: Codes, i: int, distance: float, row: int, size: int) -> None:
    """Replace the first of `size` entries and restore the order of the heap."""
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            distances[i, right] > distances[i, child]
            or (distances[i, right] == distances[i, child] and rows[i, right] > rows[i, child])
        ):
            child = right
        if distances[i, child] < distance or (
            distances[i, child] == distance and rows[i, child] < row
        ):
            break
        distances[i, position], rows[i, position] = distances[i, child], rows[i, child]
        position = child
    distances[i, position], rows[i, position] = distance, row
