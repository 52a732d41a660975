"""What each letter of a string has in its subsequence kernel with others.

With P_l of `subsequence.py`, and R_l the same from the ends of the strings, all pairs of
index tuples that meet in letters i and j weigh decay^2k sum_l P_l(i - 1, j - 1) R_(k-1-l)(i + 1, j + 1).
A tuple's weight is shared by its k letters equally, so a letter has 1 / k of all that go through it.

P of every row is needed on the way back. It is kept at the begin of each of sqrt(n) blocks of rows, and
computed again for one block at a time: some 16 LANES k m sqrt(n) bytes for each thread, n letters of the
string and m of the longest other; 40 MB for 1,500 letters and k = 5.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from separatrix.kernels.strings.sequences import Letters
from separatrix.kernels.strings.subsequence_simd import LANES, by_length, lay, plain
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes, Matrix, Vector

CHUNK = 25_000_000  # steps, of one level of one cell, between two returns to Python


def letter_shares(
    x: Codes, others: Letters, coef: Vector, k: int, decay: float, *, threads: int = 1
) -> Vector:
    """The share of each letter of x in sum_j coef_j K_k(x, z_j), (len(x),); they add up to it.

    k times a share is what the sum would lose if the letter were one that matches nothing.

    >>> x, others = np.array([1, 2, 3]), Letters(np.array([1, 2, 9]), np.array([0, 3]))
    >>> letter_shares(x, others, np.array([2.0]), k=2, decay=1.0)
    array([1., 1., 0.])
    """
    one, many = plain(Letters(x, np.array([0, len(x)])), others)
    order = by_length(many)
    order = order[coef[order] != 0]
    monitor = FitMonitor()

    def work(positions: slice) -> Vector:
        chosen = order[positions]
        weights = np.zeros(LANES)
        weights[: len(chosen)] = coef[chosen] * decay ** (2 * k) / k
        T = np.zeros((int(np.diff(many.starts)[chosen].max()), LANES), np.int64)
        lay(many.codes, many.starts, chosen, -2, T)
        return _shares(one.codes, T, weights, k, decay, monitor)

    groups = in_threads(work, row_blocks(len(order), LANES), threads=threads, monitor=monitor)
    return np.asarray(np.sum([np.zeros(len(x)), *groups], axis=0))


def _shares(
    x: Codes, T: Codes, weights: Vector, k: int, decay: float, monitor: FitMonitor
) -> Vector:
    """Shares of the letters of x with the strings in the lanes of T, (m, LANES).

    State has levels and lanes in one axis: level 0 first in P, last in R, so that levels meet.
    """
    n, m = len(x), len(T)
    blocks = list(row_blocks(n, max(1, math.isqrt(n))))
    size = max(1, CHUNK // (k * max(1, m) * LANES))
    begins = np.zeros((len(blocks) + 1, m + 1, k * LANES))
    rows = np.zeros((math.isqrt(n) + 1, m + 1, k * LANES))  # [i, j] is P of i - 1, j - 1
    back = np.zeros((m + 1, k * LANES))
    begins[..., :LANES] = rows[..., :LANES] = back[:, -LANES:] = 1.0
    shares = np.zeros(n)

    def ahead(number: int) -> None:
        rows[0] = begins[number]
        letters = x[blocks[number]]
        for part in row_blocks(len(letters), size):
            if not monitor.should_stop():
                _ahead(letters, part.start, part.stop, T, decay, rows)

    for number, block in enumerate(blocks):
        ahead(number)
        begins[number + 1] = rows[block.stop - block.start]
    for number in reversed(range(len(blocks))):
        ahead(number)
        block = blocks[number]
        for part in reversed(list(row_blocks(block.stop - block.start, size))):
            if not monitor.should_stop():
                _back(x[block], part.start, part.stop, T, decay, rows, back, weights, shares[block])
    return shares


@njit(cache=True, nogil=True)
def _ahead(x: Codes, start: int, stop: int, T: Codes, decay: float, rows: Matrix) -> None:
    """P after rows start to stop - 1, each from the one above."""
    count = rows.shape[2]
    along, same = np.zeros(count), np.zeros(count)
    for i in range(start, stop):
        along[:] = 0.0
        for j in range(len(T)):
            _compare(x[i], T, j, same)
            left, above, new = rows[i, j], rows[i, j + 1], rows[i + 1, j + 1]
            for f in range(LANES, count):
                along[f] = decay * along[f] + (left[f - LANES] if same[f] > 0.0 else 0.0)
                new[f] = decay * above[f] + along[f]


@njit(cache=True, nogil=True)
def _back(
    x: Codes,
    start: int,
    stop: int,
    T: Codes,
    decay: float,
    rows: Matrix,
    back: Matrix,
    weights: Vector,
    shares: Vector,
) -> None:
    """Rows stop - 1 to start from the other end: R in `back`, and what meets P in `shares`."""
    count = rows.shape[2]
    along, through, same = np.zeros(count), np.zeros(count), np.zeros(count)
    after, kept = np.zeros(count), np.zeros(count)
    for i in range(stop - 1, start - 1, -1):
        along[:] = 0.0
        through[:] = 0.0
        after[:] = back[len(T)]
        for j in range(len(T) - 1, -1, -1):
            _compare(x[i], T, j, same)
            left, here = rows[i, j], back[j]
            for f in range(count):
                through[f] += left[f] * after[f] if same[f] > 0.0 else 0.0
                kept[f] = here[f]
            for f in range(count - LANES):
                along[f] = decay * along[f] + (after[f + LANES] if same[f] > 0.0 else 0.0)
                here[f] = decay * here[f] + along[f]
            after, kept = kept, after
        for f in range(count):
            shares[i] += weights[f % LANES] * through[f]


@njit(cache=True, nogil=True)
def _compare(letter: int, T: Codes, j: int, same: Vector) -> None:
    """1 in the lanes of column j that have that letter, else 0; for all levels."""
    for level in range(0, len(same), LANES):
        for lane in range(LANES):
            same[level + lane] = 1.0 if T[j, lane] == letter else 0.0
