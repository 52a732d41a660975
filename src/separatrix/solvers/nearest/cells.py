"""Rows in cells of similar rows: split recursively at the median of the widest axis.

A group of queries scans its own cell first, so that bounds are tight before the far cells come.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from separatrix.runtime.compiled import FAST_SUMS
from separatrix.solvers.nearest.metrics import EUCLIDEAN, MANHATTAN
from separatrix.solvers.selection import select
from separatrix.types import Codes, Matrix, Vector

SAMPLE_ROWS = 512  # of a part, from which its widest axis is estimated


class Cells(NamedTuple):
    """Rows sorted by cell."""

    order: Codes  # shape: (n,); row numbers, cell after cell
    starts: Codes  # shape: (cells + 1,); where each cell begins in `order`

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.starts) - 1


def plain_cells(n: int, size: int) -> Cells:
    """Cells of `size` rows in their order."""
    return Cells(_numbers(n), np.append(np.arange(0, n, size), n))


def cells_of(Z: Matrix, size: int) -> Cells:
    """Cells of `size` similar rows of Z, (n, d), and one of the remainder.

    >>> cells_of(np.array([[5.0], [1.0], [6.0], [2.0]]), 2).order.tolist()
    [1, 3, 0, 2]
    """
    n = len(Z)
    order, starts, parts = _numbers(n), np.array([0, n]), np.array([max(1, -(-n // size))])
    while parts.max() > 1:  # cells in each part
        lower = parts // 2
        middles = starts[:-1] + lower * size
        _cut(Z, order, starts, middles)
        keep = np.ravel(np.stack([lower > 0, parts > 0], axis=1))
        starts = np.append(np.ravel(np.stack([starts[:-1], middles], axis=1))[keep], n)
        parts = np.ravel(np.stack([lower, parts - lower], axis=1))[keep]
    for start, stop in pairwise(starts):
        order[start:stop].sort()  # in the order of memory
    return Cells(order, starts)


def _numbers(n: int) -> Codes:
    """0, 1, ..., n - 1 in the smallest type."""
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)


def sides_of(Z: Matrix, cells: Cells) -> tuple[Matrix, Matrix]:
    """The lowest and the highest values of each cell; Z is in the order of the cells."""
    starts = cells.starts[:-1]
    return np.minimum.reduceat(Z, starts, axis=0), np.maximum.reduceat(Z, starts, axis=0)


@njit(cache=True, nogil=True)
def _cut(Z: Matrix, order: Codes, starts: Codes, middles: Codes) -> None:
    """Sort each part about its middle along its widest axis."""
    d = Z.shape[1]
    sums, squares = np.empty(d), np.empty(d)
    for part in range(middles.shape[0]):
        start, middle, stop = starts[part], middles[part], starts[part + 1]
        if middle == start:
            continue
        sums[:] = 0.0
        squares[:] = 0.0
        count = 0
        for position in range(start, stop, max(1, (stop - start) // SAMPLE_ROWS)):
            row = order[position]
            count += 1
            for j in range(d):
                sums[j] += Z[row, j]
                squares[j] += Z[row, j] * Z[row, j]
        widest = 0
        for j in range(d):
            squares[j] -= sums[j] * sums[j] / count
            if squares[j] > squares[widest]:
                widest = j
        select(Z[:, widest], order, start, stop - 1, middle)


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def distances_to_boxes(
    lows: Matrix, highs: Matrix, margins: Vector, Z: Matrix, code: int
) -> Matrix:
    """Lower bounds of the distances of queries, (d, group), to the rows of boxes, (boxes, group).

    margins: rounding of the rows of a box to float32, which is subtracted; that of queries is not.
    """
    found = np.zeros((lows.shape[0], Z.shape[1]), np.float32)
    zero, rounded = np.float32(0), np.float32(1 - (Z.shape[0] + 4) * 2.0**-24)
    for box in range(lows.shape[0]):
        for j in range(Z.shape[0]):
            low, high = lows[box, j], highs[box, j]
            for i in range(Z.shape[1]):
                below, above = low - Z[j, i], Z[j, i] - high
                gap = (below if below > zero else zero) + (above if above > zero else zero)
                if code == EUCLIDEAN:
                    found[box, i] += gap * gap
                elif code == MANHATTAN:
                    found[box, i] += gap
                else:
                    found[box, i] = gap if gap > found[box, i] else found[box, i]
        for i in range(Z.shape[1]):
            distance = np.sqrt(found[box, i]) if code == EUCLIDEAN else found[box, i]
            found[box, i] = distance * rounded - np.float32(margins[box])
    return found
