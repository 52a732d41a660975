"""Rows in cells of similar rows: split recursively at the median of the widest axis.

A group of queries scans its own cell first, so that bounds are tight before the far cells come.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import uintp

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.threads import in_threads
from separatrix.solvers.nearest.metrics import EUCLIDEAN, MANHATTAN
from separatrix.types import Codes, Matrix, Vector

MANY = 2**15  # rows from which threads pay
SAMPLE_ROWS = 32  # of a part, from which its widest axis is estimated
FEW_KEYS = 32  # that are sorted by counting
SAMPLE_KEYS = 15  # of a part, from which a pivot is taken


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
    return Cells(order_by_cells(Z, (size,)), np.append(np.arange(0, len(Z), size), len(Z)))


def order_by_cells(Z: Matrix, sizes: Iterable[int], *, threads: int = 1) -> Codes:
    """Row numbers, (n,), cell after cell of the first size; inside those, of the next one, and so on.

    Sizes decrease, each a multiple of the next. Threads work on the cells of one size.
    """
    n, order = len(Z), _numbers(len(Z))
    left, outer = [size for size in sizes if size < n], n
    while left:
        enough = threads == 1 or n < MANY or outer * threads <= n  # cells for all threads
        some, left = (left, []) if enough else (left[:1], left[1:])
        cut_cell = partial(_cut_cell, Z, order, np.array(some))
        in_threads(cut_cell, row_blocks(n, outer), threads=threads)
        outer = some[-1]
    return order


def _cut_cell(Z: Matrix, order: Codes, sizes: Codes, cell: slice) -> None:
    _cut(Z, order[cell], sizes)


def _numbers(n: int) -> Codes:
    """0, 1, ..., n - 1 in the smallest type."""
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)


def sides_of(Z: Matrix, cells: Cells) -> tuple[Matrix, Matrix]:
    """The lowest and the highest values of each cell; Z is in the order of the cells."""
    starts = cells.starts[:-1]
    return np.minimum.reduceat(Z, starts, axis=0), np.maximum.reduceat(Z, starts, axis=0)


@njit(cache=True, nogil=True)
def _cut(Z: Matrix, order: Codes, sizes: Codes) -> None:
    """Sort parts about their middle along their widest axis, until they are cells of the last size."""
    sums, squares = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    keys, spare_keys, spare = (
        np.empty(len(order), Z.dtype),
        np.empty(len(order), Z.dtype),
        np.empty_like(order),
    )
    starts, stops, levels = (
        np.empty(128, np.int64),
        np.empty(128, np.int64),
        np.empty(128, np.int64),
    )
    starts[0], stops[0], levels[0], left = 0, len(order), 0, 1
    while left:
        left -= 1
        start, stop, level = starts[left], stops[left], levels[left]
        while level < len(sizes) and stop - start <= sizes[level]:
            level += 1
        if level == len(sizes):
            continue
        parts = -(-(stop - start) // sizes[level])
        middle = start + parts // 2 * sizes[level]
        axis = _widest(Z, order, start, stop, sums, squares)
        for position in range(start, stop):
            keys[position] = Z[order[position], axis]
        _select(keys, order, start, stop, middle, spare_keys, spare)
        starts[left], stops[left], levels[left] = start, middle, level
        starts[left + 1], stops[left + 1], levels[left + 1] = middle, stop, level
        left += 2


@njit(cache=True, nogil=True)
def _select(
    keys: Vector, order: Codes, low: int, high: int, rank: int, spare_keys: Vector, spare: Codes
) -> None:
    """Reorder keys and rows low..high-1: keys before position `rank` are no larger, after it no smaller.

    Quickselect with a pivot of that rank in a sample, and partitions without branches.
    """
    sample = np.empty(SAMPLE_KEYS, keys.dtype)
    while high - low > FEW_KEYS:
        for t in range(SAMPLE_KEYS):
            key, spot = keys[low + t * (high - low) // SAMPLE_KEYS], t
            while spot > 0 and sample[spot - 1] > key:
                sample[spot] = sample[spot - 1]
                spot -= 1
            sample[spot] = key
        pivot = sample[SAMPLE_KEYS * (rank - low) // (high - low)]
        middle = _partition(keys, order, low, high, pivot, spare_keys, spare)
        if rank < middle:
            high = middle
        elif middle > low:
            low = middle
        else:  # the pivot is the least key
            pivot = np.nextafter(pivot, np.float32(np.inf))
            low = _partition(keys, order, low, high, pivot, spare_keys, spare)
            if rank < low:
                return
    _sort(keys, order, low, high, spare_keys, spare)


@njit(cache=True, nogil=True)
def _sort(
    keys: Vector, order: Codes, low: int, high: int, spare_keys: Vector, spare: Codes
) -> None:
    """Sort a few keys and rows by counting the keys before each."""
    for position in range(low, high):
        key, before = keys[uintp(position)], 0
        for other in range(low, position):
            before += keys[uintp(other)] <= key
        for other in range(position + 1, high):
            before += keys[uintp(other)] < key
        spare_keys[low + before], spare[low + before] = key, order[position]
    _copy(spare_keys, spare, low, high, keys, order)


@njit(cache=True, nogil=True)
def _partition(
    keys: Vector,
    order: Codes,
    low: int,
    high: int,
    pivot: float,
    spare_keys: Vector,
    spare: Codes,
) -> int:
    """Move keys below the pivot to the front; returns where the others begin."""
    left, right = low, high - 1
    for position in range(low, high):
        key, row = keys[uintp(position)], order[uintp(position)]
        spare_keys[uintp(left)], spare[uintp(left)] = key, row
        spare_keys[uintp(right)], spare[uintp(right)] = key, row
        below = int(key < pivot)
        left += below
        right += below - 1
    _copy(spare_keys, spare, low, high, keys, order)
    return left


@njit(cache=True, nogil=True)
def _copy(keys: Vector, order: Codes, low: int, high: int, into_keys: Vector, into: Codes) -> None:
    """Copy some keys and rows; an assignment of slices takes a second to compile."""
    for position in range(uintp(low), uintp(high)):
        into_keys[position], into[position] = keys[position], order[position]


@njit(cache=True, nogil=True)
def _widest(Z: Matrix, order: Codes, start: int, stop: int, sums: Vector, squares: Vector) -> int:
    """The axis of the largest variance of some rows, estimated from a sample."""
    sums[:] = 0.0
    squares[:] = 0.0
    count = 0
    for position in range(start, stop, max(1, (stop - start) // SAMPLE_ROWS)):
        row = order[position]
        count += 1
        for j in range(Z.shape[1]):
            sums[j] += Z[row, j]
            squares[j] += Z[row, j] * Z[row, j]
    widest = 0
    for j in range(Z.shape[1]):
        squares[j] -= sums[j] * sums[j] / count
        if squares[j] > squares[widest]:
            widest = j
    return widest


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
