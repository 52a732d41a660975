"""Dynamic programme of the gap-weighted subsequence kernel, vectorised over pairs of strings.

K_k(s, t) = sum over index tuples i of s and j of t of k equal letters of
decay^(length of i + length of j), where a tuple's length is last - first + 1. With
    P_0(i, j) = 1
    P_l(i, j) = sum over g <= i, h <= j with s_g = t_h of decay^(i - g + j - h) P_(l-1)(g - 1, h - 1)
it is decay^2k times the sum of P_(k-1)(i - 1, j - 1) over all i, j with s_i = t_j. P_l is a sum along
the row, added to the row above. The matrix is split into tiles that store P_l decay^(2l - a - b) at
position (a, b) of the tile: both sums are then plain sums, without a product per step, and are rescaled
only at tile boundaries. All terms are nonnegative, so nothing cancels. Tiles are small enough to keep
the scale below 2^96.

Each SIMD lane holds one pair, so the result does not depend on the number of threads. The side that
fills the lanes best is put in the columns; this choice can change the last digit.
Memory per thread, in addition to the result: about 8 LANES (2k n + m) bytes for longest strings of n and
m letters; 1 MB for 1,500 letters and k = 5.

Reference: Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text Classification using String
Kernels, JMLR 2 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from threading import Lock
from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.kernels.strings.subsequence_simd import (
    LANES,
    LEVELS,
    ROWS,
    LaneBuffers,
    aligned_zeros,
    fill_lanes,
    nonnegative_codes,
    order_by_length,
    sweep,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes, Matrix, Vector

CHUNK = 250_000_000  # steps (one level of one cell) between two returns to Python
MAX_TILE_COLUMNS, MAX_TILE_ROWS = 64, 32  # the state of a tile stays in the L1 cache


class _Task(NamedTuple):
    """All pairs of strings, as arrays for compiled code."""

    first: Codes  # letters, 0 or above
    first_starts: Codes
    second: Codes
    second_starts: Codes
    rows: Codes  # indices of the first strings, the shortest first
    columns: Codes  # indices of the second strings, the shortest first
    symmetric: bool  # compute the lower triangle only
    transposed: bool  # `first` was passed as `second`


class _PairBlock(NamedTuple):
    """A block of pairs, as ranges of a task's rows and columns."""

    top: int
    bottom: int
    left: int
    right: int


def subsequence_products(
    first: EncodedSequences,
    second: EncodedSequences | None,
    k: int,
    decay: float,
    *,
    all_levels: bool = False,
    threads: int,
    on_step: Callable[[int], object] | None = None,
) -> Matrix:
    """K_k of all pairs of strings, (n, m); with all_levels K_1 to K_k, (k, n, m).

    second=None computes the lower triangle of `first` with itself and mirrors it. k is at least 1,
    decay above 0 and at most 1. `on_step` receives the steps done so far (of `count_steps`), from any
    thread, one call at a time.

    >>> car_and_cat = EncodedSequences(np.array([3, 1, 18, 3, 1, 20]), np.array([0, 3, 6]))
    >>> subsequence_products(car_and_cat, None, 2, 0.5, threads=1)
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """
    task = _task(first, second)
    n, m = len(first.starts) - 1, len((first if second is None else second).starts) - 1
    out = np.zeros((k if all_levels else 1, n, m))
    monitor, count_done = FitMonitor(), _StepCounter(on_step)

    def work(block: _PairBlock) -> None:
        if monitor.should_stop():
            return
        height, width = _longest(task, block)
        buffers = _allocate_buffers(height, width, k, decay)
        if k * LANES * height * width <= CHUNK:
            _compute_block(task, block, buffers, all_levels, out)
            count_done(k * _count_cells(task, block))
        else:  # the block is one group of lanes
            columns = task.columns[block.left : block.right]
            rows = np.repeat(task.rows[block.top], len(columns))
            fill_lanes(task.first, task.first_starts, rows, -1, buffers.S)
            fill_lanes(task.second, task.second_starts, columns, -2, buffers.T)
            _sweep_in_chunks(buffers, all_levels, monitor, count_done)
            _store_sums(task, block.top, block.left, block.right, buffers.sums, out)

    in_threads(work, _split_task(task, k), threads=threads, monitor=monitor)
    return out if all_levels else out[0]


def self_products(first: EncodedSequences, k: int, decay: float, *, threads: int) -> Vector:
    """K_k of each string with itself, (n,).

    >>> car_aaa_and_empty = EncodedSequences(np.array([3, 1, 18, 1, 1, 1]), np.array([0, 3, 6, 6]))
    >>> self_products(car_aaa_and_empty, 2, 1.0, threads=1)
    array([3., 9., 0.])
    """
    codes, starts = nonnegative_codes(first)[0]
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    out, monitor = np.zeros(len(lengths)), FitMonitor()

    def work(positions: slice) -> None:
        if monitor.should_stop():
            return
        chosen = order[positions]
        longest = int(lengths[chosen].max())
        buffers = _allocate_buffers(longest, longest, k, decay)
        fill_lanes(codes, starts, chosen, -1, buffers.S)
        fill_lanes(codes, starts, chosen, -2, buffers.T)
        _sweep_in_chunks(buffers, False, monitor, _StepCounter(None))
        out[chosen] = buffers.sums[-1, : len(chosen)]

    in_threads(work, row_blocks(len(order), LANES), threads=threads, monitor=monitor)
    return out


def count_steps(first: EncodedSequences, second: EncodedSequences | None, k: int) -> int:
    """Work of `subsequence_products`: levels times letters times letters, summed over the pairs.

    >>> three, two_and_four = [
    ...     EncodedSequences(np.arange(s[-1]), np.array(s)) for s in ([0, 3], [0, 2, 6])
    ... ]
    >>> count_steps(three, two_and_four, k=2)
    36
    """
    task = _task(first, second)
    return k * _count_cells(task, _PairBlock(0, len(task.rows), 0, len(task.columns)))


class _StepCounter:
    """Adds up the steps done by all threads and reports the total."""

    def __init__(self, on_step: Callable[[int], object] | None) -> None:
        self.on_step, self.done, self.lock = on_step, 0, Lock()

    def __call__(self, more: int) -> None:
        if self.on_step is not None:
            with self.lock:
                self.done += more
                self.on_step(self.done)


def _task(first: EncodedSequences, second: EncodedSequences | None) -> _Task:
    """Pairs sorted by length, so that lanes end together; the side that fills lanes best in columns."""
    if second is None:
        (letters,) = nonnegative_codes(first)
        order = order_by_length(letters)
        return _Task(*letters, *letters, order, order, True, False)
    sides = nonnegative_codes(first, second)
    straight, transposed = (
        np.diff(one.starts).sum() * _widths(np.sort(np.diff(two.starts))).sum()
        for one, two in (sides, sides[::-1])
    )
    one, two = sides[::-1] if transposed < straight else sides
    return _Task(
        *one, *two, order_by_length(one), order_by_length(two), False, bool(transposed < straight)
    )


def _widths(lengths: Codes) -> Codes:
    """Columns of each group of lanes, for sorted lengths."""
    ends = np.minimum(np.arange(LANES, len(lengths) + LANES, LANES), len(lengths))
    return np.asarray(LANES * lengths[ends - 1])


def _split_task(task: _Task, k: int) -> Iterator[_PairBlock]:
    """All pairs in blocks of about one chunk; the longest rows first, so that threads end together."""
    heights = np.diff(task.first_starts)[task.rows]
    cumulative = np.r_[0, np.cumsum(_widths(np.diff(task.second_starts)[task.columns]))]
    m, bottom, cost = len(task.columns), len(heights), 0
    for row in reversed(range(len(heights))):
        right = row + 1 if task.symmetric else m
        own = k * int(heights[row] * cumulative[-(-right // LANES)])
        if bottom > row + 1 and cost + own > CHUNK:
            yield _PairBlock(row + 1, bottom, 0, m)
            bottom, cost = row + 1, 0
        if own > CHUNK:
            yield from _split_row(row, right, cumulative, CHUNK / (k * heights[row]))
            bottom = row
        else:
            cost += own
    if bottom:
        yield _PairBlock(0, bottom, 0, m)


def _split_row(row: int, right: int, cumulative: Codes, most: float) -> Iterator[_PairBlock]:
    """One row in blocks of at most `most` columns, or of one group of lanes."""
    start, groups = 0, -(-right // LANES)
    while start < groups:
        stop = max(
            start + 1, int(np.searchsorted(cumulative, cumulative[start] + most, side="right")) - 1
        )
        yield _PairBlock(row, row + 1, start * LANES, min(stop * LANES, right))
        start = stop


def _longest(task: _Task, block: _PairBlock) -> tuple[int, int]:
    """Letters of the longest row and the longest column of a block."""
    heights = np.diff(task.first_starts)[task.rows[block.top : block.bottom]]
    right = min(block.bottom, block.right) if task.symmetric else block.right
    widths = np.diff(task.second_starts)[task.columns[block.left : right]]
    return int(heights.max(initial=0)), int(widths.max(initial=0))


def _count_cells(task: _Task, block: _PairBlock) -> int:
    """Letters times letters, summed over the pairs of a block."""
    cumulative = np.r_[0, np.cumsum(np.diff(task.second_starts)[task.columns])]
    positions = np.arange(block.top, block.bottom)
    right = np.clip(positions + 1, block.left, block.right) if task.symmetric else block.right
    heights = np.diff(task.first_starts)[task.rows[positions]]
    return int((heights * (cumulative[right] - cumulative[block.left])).sum())


def _allocate_buffers(height: int, width: int, k: int, decay: float) -> LaneBuffers:
    bits = max(-math.log2(decay), 1e-9)  # lost per step
    c = max(1, min(MAX_TILE_COLUMNS, int(MAX_TILE_COLUMNS / bits)))
    a = max(ROWS, min(MAX_TILE_ROWS, int(MAX_TILE_ROWS / bits)) // ROWS * ROWS)
    n = -(-height // ROWS) * ROWS
    feeds = aligned_zeros(a + c + 2 * ROWS * (c + 1), LANES)
    feeds[: a + c] = decay ** (2.0 - np.arange(a + c))[:, None]
    return LaneBuffers(
        S=aligned_zeros(n, LANES, dtype=np.int64),
        T=aligned_zeros(width, LANES, dtype=np.int64),
        P=aligned_zeros(c, k - 1, LANES),
        carry=aligned_zeros(n, k - 1, 2, LANES),
        feeds=feeds,
        down=decay ** np.arange(float(a + c)),
        sums=aligned_zeros(k, LANES),
    )


def _sweep_in_chunks(
    buffers: LaneBuffers, every: bool, monitor: FitMonitor, count_done: _StepCounter
) -> None:
    """Sums of the pairs in the lanes, in chunks of columns."""
    k, n, c = len(buffers.sums), len(buffers.S), len(buffers.P)
    size = max(1, CHUNK // (k * LANES * max(1, n) * c)) * c
    letters = (buffers.S >= 0).sum(axis=0)
    for columns in row_blocks(len(buffers.T), size):
        if monitor.should_stop():
            return
        _sweep(buffers, n, columns.start, columns.stop, every)
        count_done(k * int(letters @ (buffers.T[columns] >= 0).sum(axis=0)))


@njit(cache=True, nogil=True)
def _compute_block(
    task: _Task, block: _PairBlock, buffers: LaneBuffers, every: bool, out: Matrix
) -> None:
    """Values of all pairs of a block."""
    for row in range(block.top, block.bottom):
        n = fill_lanes(task.first, task.first_starts, np.full(LANES, task.rows[row]), -1, buffers.S)
        n = -(-n // ROWS) * ROWS
        end = min(block.right, row + 1) if task.symmetric else block.right
        for left in range(block.left, end, LANES):
            right = min(left + LANES, end)
            m = fill_lanes(task.second, task.second_starts, task.columns[left:right], -2, buffers.T)
            _clear(buffers, n)
            _sweep(buffers, n, 0, m, every)
            _store_sums(task, row, left, right, buffers.sums, out)


@njit(cache=True, nogil=True)
def _store_sums(task: _Task, row: int, left: int, right: int, sums: Matrix, out: Matrix) -> None:
    """Copy the sums of the lanes of columns left to right - 1 into the result."""
    lowest = len(sums) - len(out)
    for lane in range(right - left):
        i, j = task.rows[row], task.columns[left + lane]
        if task.transposed:
            i, j = j, i
        for level in range(len(out)):
            out[level, i, j] = sums[lowest + level, lane]
            if task.symmetric:
                out[level, j, i] = sums[lowest + level, lane]


@njit(cache=True, nogil=True)
def _sweep(buffers: LaneBuffers, n: int, start: int, stop: int, every: bool) -> None:
    """Columns start to stop - 1 of n rows, tile by tile from top to bottom."""
    c = len(buffers.P)
    a = len(buffers.down) - c
    for left in range(start, stop, c):
        width = min(c, stop - left)
        _scale(buffers.P, 0.0)
        for top in range(0, n, a):
            if top:
                _scale(buffers.P, buffers.down[a])
            for position in range(0, min(a, n - top), ROWS):
                _sweep_rows(buffers, top + position, left, width, position, every)


@njit(cache=True, nogil=True)
def _scale(P: Matrix, factor: float) -> None:
    """P times a factor; a factor of 0 also clears NaN."""
    for b in range(P.shape[0]):
        for level in range(P.shape[1]):
            for lane in range(LANES):
                P[b, level, lane] = P[b, level, lane] * factor if factor else 0.0


@njit(cache=True, nogil=True)
def _clear(buffers: LaneBuffers, n: int) -> None:
    """Clear the carried state of the first n rows and the sums."""
    for i in range(n):
        for level in range(buffers.carry.shape[1]):
            for lane in range(LANES):
                buffers.carry[i, level, 0, lane] = buffers.carry[i, level, 1, lane] = 0.0
    for level in range(len(buffers.sums)):
        for lane in range(LANES):
            buffers.sums[level, lane] = 0.0


@njit(cache=True, nogil=True)
def _sweep_rows(buffers: LaneBuffers, i: int, j: int, width: int, a: int, every: bool) -> None:
    """All levels of ROWS rows in one tile, LEVELS at a time: as many as the registers hold."""
    levels = len(buffers.sums) - 1
    feed, stride = a, 1
    out = len(buffers.down)
    if every or levels == 0:
        sweep(0, 0, 0, buffers, i, j, width, a, 0, feed, stride, out)
    for low in range(0, levels, LEVELS):
        if low + LEVELS < levels:
            if every:
                sweep(4, 1, 1, buffers, i, j, width, a, low, feed, stride, out)
            else:
                sweep(4, 0, 1, buffers, i, j, width, a, low, feed, stride, out)
            stride = len(buffers.P) + 1
            feed, out = out, 2 * len(buffers.down) + ROWS * stride - out
        elif low + 1 == levels:  # one level, which is the top one: `every` makes no difference
            sweep(1, 0, 0, buffers, i, j, width, a, low, feed, stride, out)
        elif every:
            if low + 4 == levels:
                sweep(4, 1, 0, buffers, i, j, width, a, low, feed, stride, out)
            elif low + 3 == levels:
                sweep(3, 1, 0, buffers, i, j, width, a, low, feed, stride, out)
            else:
                sweep(2, 1, 0, buffers, i, j, width, a, low, feed, stride, out)
        elif low + 4 == levels:
            sweep(4, 0, 0, buffers, i, j, width, a, low, feed, stride, out)
        elif low + 3 == levels:
            sweep(3, 0, 0, buffers, i, j, width, a, low, feed, stride, out)
        else:
            sweep(2, 0, 0, buffers, i, j, width, a, low, feed, stride, out)
