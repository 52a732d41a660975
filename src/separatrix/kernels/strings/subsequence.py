"""Gap-weighted subsequences of strings: the dynamic programme, many pairs at a time.

K_k(s, t) = sum over index tuples i of s and j of t, k long, whose letters are the same, of
decay^(length of i + length of j), where a tuple's length is last - first + 1. With
    P_0(i, j) = 1
    P_l(i, j) = sum over g <= i, h <= j with s_g = t_h of decay^(i - g + j - h) P_(l-1)(g - 1, h - 1)
it is decay^2k times the sum of P_(k-1)(i - 1, j - 1) over all i, j with s_i = t_j. P_l is a sum along
the row, added to the row above. The matrix is cut into tiles, and in each P_l is kept as
P_l decay^(2l - a - b), where (a, b) is the place in the tile: so both sums are plain sums, without a
product at every step. Only where a new tile begins are they scaled. All numbers are 0 or above, so
nothing cancels. Tiles are so small that the scale stays below 2^96.

Each lane of a vector is a pair of its own, so the number of threads does not change a bit. Which side
lies in rows is chosen by what fills the lanes best; that can change the last digit.
Memory: beside the result, for each thread some
8 LANES (2k n + m) bytes, n and m the longest strings; 1 MB for 1,500 letters and k = 5.

Reference: Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text Classification using String
Kernels, JMLR 2 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from threading import Lock
from typing import NamedTuple

import numpy as np
from numba import njit

from separatrix.kernels.strings.sequences import Letters
from separatrix.kernels.strings.subsequence_attribution import letter_shares
from separatrix.kernels.strings.subsequence_simd import (
    LANES,
    LEVELS,
    ROWS,
    Room,
    aligned,
    by_length,
    lay,
    plain,
    sweep,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes, Matrix

__all__ = ["Letters", "letter_shares", "self_products", "steps", "subsequence_products"]

CHUNK = 250_000_000  # steps, of one level of one cell, between two returns to Python
WIDEST, TALLEST = 64, 32  # of a tile: its state stays in a core's first-level cache


class _Task(NamedTuple):
    """Which pairs there are, for compiled code."""

    first: Codes  # letters, 0 or above
    first_starts: Codes
    second: Codes
    second_starts: Codes
    rows: Codes  # numbers of the first strings, the shortest first
    columns: Codes  # numbers of the second strings, the shortest first
    symmetric: bool  # only columns up to the row's own place are computed
    turned: bool  # what is first here was given as second


class _Part(NamedTuple):
    """Some rows with some columns, as places in a task's rows and columns."""

    top: int
    bottom: int
    left: int
    right: int


def subsequence_products(
    first: Letters,
    second: Letters | None,
    k: int,
    decay: float,
    *,
    all_levels: bool = False,
    threads: int,
    on_step: Callable[[int], object] | None = None,
) -> Matrix:
    """K_k of all strings with all others, (n, m); with all_levels K_1 to K_k, (k, n, m).

    second=None: of the first with themselves, half of it computed and mirrored. k is 1 or above,
    decay above 0 and at most 1. `on_step` is told how many of the `steps` are done so far: by any
    thread, one at a time.

    >>> car_and_cat = Letters(np.array([3, 1, 18, 3, 1, 20]), np.array([0, 3, 6]))
    >>> subsequence_products(car_and_cat, None, 2, 0.5, threads=1)
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """
    task = _task(first, second)
    n, m = len(first.starts) - 1, len((first if second is None else second).starts) - 1
    out = np.zeros((k if all_levels else 1, n, m))
    monitor, report = FitMonitor(), _Report(on_step)

    def work(part: _Part) -> None:
        if monitor.should_stop():
            return
        height, width = _longest(task, part)
        room = _room(height, width, k, decay)
        if k * LANES * height * width <= CHUNK:
            _cover(task, part, room, all_levels, out)
            report(k * _cells(task, part))
        else:  # then the part is one group of lanes
            columns = task.columns[part.left : part.right]
            rows = np.repeat(task.rows[part.top], len(columns))
            lay(task.first, task.first_starts, rows, -1, room.S)
            lay(task.second, task.second_starts, columns, -2, room.T)
            _sweep_by_and_by(room, all_levels, monitor, report)
            _keep(task, part.top, part.left, part.right, room.sums, out)

    in_threads(work, _parts(task, k), threads=threads, monitor=monitor)
    return out if all_levels else out[0]


def self_products(
    first: Letters, k: int, decay: float, *, all_levels: bool = False, threads: int
) -> Matrix:
    """K_k of each string with itself, (n,); with all_levels K_1 to K_k, (k, n).

    >>> car_aaa_and_nothing = Letters(np.array([3, 1, 18, 1, 1, 1]), np.array([0, 3, 6, 6]))
    >>> self_products(car_aaa_and_nothing, 2, 1.0, threads=1)
    array([3., 9., 0.])
    """
    codes, starts = plain(first)[0]
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    out = np.zeros((k if all_levels else 1, len(lengths)))
    monitor = FitMonitor()

    def work(positions: slice) -> None:
        if monitor.should_stop():
            return
        chosen = order[positions]
        longest = int(lengths[chosen].max())
        room = _room(longest, longest, k, decay)
        lay(codes, starts, chosen, -1, room.S)
        lay(codes, starts, chosen, -2, room.T)
        _sweep_by_and_by(room, all_levels, monitor, _Report(None))
        out[:, chosen] = room.sums[-len(out) :, : len(chosen)]

    in_threads(work, row_blocks(len(order), LANES), threads=threads, monitor=monitor)
    return out if all_levels else out[0]


def steps(first: Letters, second: Letters | None, k: int) -> int:
    """All the work of `subsequence_products`: levels times letters times letters, over the pairs.

    >>> three, two_and_four = [Letters(np.arange(s[-1]), np.array(s)) for s in ([0, 3], [0, 2, 6])]
    >>> steps(three, two_and_four, k=2)
    36
    """
    task = _task(first, second)
    return k * _cells(task, _Part(0, len(task.rows), 0, len(task.columns)))


class _Report:
    """Adds up what is done, and says so."""

    def __init__(self, on_step: Callable[[int], object] | None) -> None:
        self.on_step, self.done, self.lock = on_step, 0, Lock()

    def __call__(self, more: int) -> None:
        if self.on_step is not None:
            with self.lock:
                self.done += more
                self.on_step(self.done)


def _task(first: Letters, second: Letters | None) -> _Task:
    """Pairs in order of length, so that lanes end together; the side that fills lanes best in columns."""
    if second is None:
        (letters,) = plain(first)
        order = by_length(letters)
        return _Task(*letters, *letters, order, order, True, False)
    sides = plain(first, second)
    straight, turned = (
        np.diff(one.starts).sum() * _widths(np.sort(np.diff(two.starts))).sum()
        for one, two in (sides, sides[::-1])
    )
    one, two = sides[::-1] if turned < straight else sides
    return _Task(*one, *two, by_length(one), by_length(two), False, bool(turned < straight))


def _widths(lengths: Codes) -> Codes:
    """Columns that each group of lanes takes, of lengths in order."""
    ends = np.minimum(np.arange(LANES, len(lengths) + LANES, LANES), len(lengths))
    return np.asarray(LANES * lengths[ends - 1])


def _parts(task: _Task, k: int) -> Iterator[_Part]:
    """All pairs in parts of about a chunk; the longest rows first, so that threads end together."""
    heights = np.diff(task.first_starts)[task.rows]
    upto = np.r_[0, np.cumsum(_widths(np.diff(task.second_starts)[task.columns]))]
    m, bottom, cost = len(task.columns), len(heights), 0
    for row in reversed(range(len(heights))):
        right = row + 1 if task.symmetric else m
        own = k * int(heights[row] * upto[-(-right // LANES)])
        if bottom > row + 1 and cost + own > CHUNK:
            yield _Part(row + 1, bottom, 0, m)
            bottom, cost = row + 1, 0
        if own > CHUNK:
            yield from _parts_of_row(row, right, upto, CHUNK / (k * heights[row]))
            bottom = row
        else:
            cost += own
    if bottom:
        yield _Part(0, bottom, 0, m)


def _parts_of_row(row: int, right: int, upto: Codes, most: float) -> Iterator[_Part]:
    """One row in parts of at most that many columns, or of one group of lanes."""
    start, groups = 0, -(-right // LANES)
    while start < groups:
        stop = max(start + 1, int(np.searchsorted(upto, upto[start] + most, side="right")) - 1)
        yield _Part(row, row + 1, start * LANES, min(stop * LANES, right))
        start = stop


def _longest(task: _Task, part: _Part) -> tuple[int, int]:
    """Letters of the longest row and the longest column of a part."""
    heights = np.diff(task.first_starts)[task.rows[part.top : part.bottom]]
    right = min(part.bottom, part.right) if task.symmetric else part.right
    widths = np.diff(task.second_starts)[task.columns[part.left : right]]
    return int(heights.max(initial=0)), int(widths.max(initial=0))


def _cells(task: _Task, part: _Part) -> int:
    """Letters times letters, over the pairs of a part."""
    upto = np.r_[0, np.cumsum(np.diff(task.second_starts)[task.columns])]
    positions = np.arange(part.top, part.bottom)
    right = np.clip(positions + 1, part.left, part.right) if task.symmetric else part.right
    heights = np.diff(task.first_starts)[task.rows[positions]]
    return int((heights * (upto[right] - upto[part.left])).sum())


def _room(height: int, width: int, k: int, decay: float) -> Room:
    """Room for strings of that many letters."""
    bits = max(-math.log2(decay), 1e-9)  # that one step takes off
    c = max(1, min(WIDEST, int(WIDEST / bits)))
    a = max(ROWS, min(TALLEST, int(TALLEST / bits)) // ROWS * ROWS)
    n = -(-height // ROWS) * ROWS
    feeds = aligned(a + c + 2 * ROWS * (c + 1), LANES)
    feeds[: a + c] = decay ** (2.0 - np.arange(a + c))[:, None]
    return Room(
        S=aligned(n, LANES, dtype=np.int64),
        T=aligned(width, LANES, dtype=np.int64),
        P=aligned(c, k - 1, LANES),
        carry=aligned(n, k - 1, 2, LANES),
        feeds=feeds,
        down=decay ** np.arange(float(a + c)),
        sums=aligned(k, LANES),
    )


def _sweep_by_and_by(room: Room, every: bool, monitor: FitMonitor, report: _Report) -> None:
    """The sums of pairs that are laid out, in chunks of columns."""
    k, n, c = len(room.sums), len(room.S), len(room.P)
    size = max(1, CHUNK // (k * LANES * max(1, n) * c)) * c
    letters = (room.S >= 0).sum(axis=0)
    for columns in row_blocks(len(room.T), size):
        if monitor.should_stop():
            return
        _sweep(room, n, columns.start, columns.stop, every)
        report(k * int(letters @ (room.T[columns] >= 0).sum(axis=0)))


@njit(cache=True, nogil=True)
def _cover(task: _Task, part: _Part, room: Room, every: bool, out: Matrix) -> None:
    """Values of all pairs of a part."""
    for row in range(part.top, part.bottom):
        n = lay(task.first, task.first_starts, np.full(LANES, task.rows[row]), -1, room.S)
        n = -(-n // ROWS) * ROWS
        end = min(part.right, row + 1) if task.symmetric else part.right
        for left in range(part.left, end, LANES):
            right = min(left + LANES, end)
            m = lay(task.second, task.second_starts, task.columns[left:right], -2, room.T)
            _clear(room, n)
            _sweep(room, n, 0, m, every)
            _keep(task, row, left, right, room.sums, out)


@njit(cache=True, nogil=True)
def _keep(task: _Task, row: int, left: int, right: int, sums: Matrix, out: Matrix) -> None:
    """Write what was summed in the lanes of columns left to right - 1 where it belongs."""
    lowest = len(sums) - len(out)
    for lane in range(right - left):
        i, j = task.rows[row], task.columns[left + lane]
        if task.turned:
            i, j = j, i
        for level in range(len(out)):
            out[level, i, j] = sums[lowest + level, lane]
            if task.symmetric:
                out[level, j, i] = sums[lowest + level, lane]


@njit(cache=True, nogil=True)
def _sweep(room: Room, n: int, start: int, stop: int, every: bool) -> None:
    """Columns start to stop - 1 of n rows, tile by tile from top to bottom."""
    c = len(room.P)
    a = len(room.down) - c
    for left in range(start, stop, c):
        width = min(c, stop - left)
        _scale(room.P, 0.0)
        for top in range(0, n, a):
            if top:
                _scale(room.P, room.down[a])
            for position in range(0, min(a, n - top), ROWS):
                _take(room, top + position, left, width, position, every)


@njit(cache=True, nogil=True)
def _scale(P: Matrix, factor: float) -> None:
    """P times a factor; 0 makes all of it 0, whatever it was."""
    for b in range(P.shape[0]):
        for level in range(P.shape[1]):
            for lane in range(LANES):
                P[b, level, lane] = P[b, level, lane] * factor if factor else 0.0


@njit(cache=True, nogil=True)
def _clear(room: Room, n: int) -> None:
    """Nothing carried in the first n rows, nothing summed."""
    for i in range(n):
        for level in range(room.carry.shape[1]):
            for lane in range(LANES):
                room.carry[i, level, 0, lane] = room.carry[i, level, 1, lane] = 0.0
    for level in range(len(room.sums)):
        for lane in range(LANES):
            room.sums[level, lane] = 0.0


@njit(cache=True, nogil=True)
def _take(room: Room, i: int, j: int, width: int, a: int, every: bool) -> None:
    """All levels of ROWS rows in one tile, as many levels at a time as there are registers."""
    levels = len(room.sums) - 1
    feed, stride = a, 1
    out = len(room.down)
    if every or levels == 0:
        sweep(0, 0, 0, room, i, j, width, a, 0, feed, stride, out)
    for low in range(0, levels, LEVELS):
        if low + LEVELS < levels:
            if every:
                sweep(4, 1, 1, room, i, j, width, a, low, feed, stride, out)
            else:
                sweep(4, 0, 1, room, i, j, width, a, low, feed, stride, out)
            stride = len(room.P) + 1
            feed, out = out, 2 * len(room.down) + ROWS * stride - out
        elif every:
            if low + 4 == levels:
                sweep(4, 1, 0, room, i, j, width, a, low, feed, stride, out)
            elif low + 3 == levels:
                sweep(3, 1, 0, room, i, j, width, a, low, feed, stride, out)
            elif low + 2 == levels:
                sweep(2, 1, 0, room, i, j, width, a, low, feed, stride, out)
            else:
                sweep(1, 1, 0, room, i, j, width, a, low, feed, stride, out)
        elif low + 4 == levels:
            sweep(4, 0, 0, room, i, j, width, a, low, feed, stride, out)
        elif low + 3 == levels:
            sweep(3, 0, 0, room, i, j, width, a, low, feed, stride, out)
        elif low + 2 == levels:
            sweep(2, 0, 0, room, i, j, width, a, low, feed, stride, out)
        else:
            sweep(1, 0, 0, room, i, j, width, a, low, feed, stride, out)
