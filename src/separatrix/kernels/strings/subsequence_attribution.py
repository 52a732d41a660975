"""Attribution of subsequence kernel values to the letters of one string.

With P_l of `subsequence.py`, and R_l computed from the other end of the strings, all pairs of index
tuples through letters i and j have the weight decay^2k sum_l P_l(i - 1, j - 1) R_(k-1-l)(i + 1, j + 1).
The k letters of a tuple get equal parts of its weight, so a letter gets 1 / k of all tuples through it.

The backward pass needs P of every row. P is stored at the start of each of sqrt(n) blocks of rows, and
recomputed for one block at a time: about 16 LANES k m sqrt(n) bytes per thread for n letters of the
string and m of the longest other one; 40 MB for 1,500 letters and k = 5.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.jit import njit
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.kernels.strings.subsequence_simd import (
    LANES,
    fill_lanes,
    nonnegative_codes,
    order_by_length,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.types import Codes, Matrix, Vector

CHUNK = 25_000_000  # steps (one level of one cell) between two returns to Python


def attribute_letters(
    x: Codes, others: EncodedSequences, coef: Vector, k: int, decay: float, *, threads: int = 1
) -> Vector:
    """Contribution of each letter of x to sum_j coef_j K_k(x, z_j), (len(x),); they add up to it.

    k times a contribution is what the sum loses if the letter is replaced by one that matches nothing.

    >>> x, others = np.array([1, 2, 3]), EncodedSequences(np.array([1, 2, 9]), np.array([0, 3]))
    >>> attribute_letters(x, others, np.array([2.0]), k=2, decay=1.0)
    array([1., 1., 0.])
    """
    one, many = nonnegative_codes(EncodedSequences(x, np.array([0, len(x)])), others)
    order = order_by_length(many)
    order = order[coef[order] != 0]
    monitor = FitMonitor()

    def work(positions: slice) -> Vector:
        chosen = order[positions]
        weights = np.zeros(LANES)
        weights[: len(chosen)] = coef[chosen] * decay ** (2 * k) / k
        T = np.zeros((int(np.diff(many.starts)[chosen].max()), LANES), np.int64)
        fill_lanes(many.codes, many.starts, chosen, -2, T)
        return _attribute_group(one.codes, T, weights, k, decay, monitor)

    groups = in_threads(work, row_blocks(len(order), LANES), threads=threads, monitor=monitor)
    return np.asarray(np.sum([np.zeros(len(x)), *groups], axis=0))


def _attribute_group(
    x: Codes, T: Codes, weights: Vector, k: int, decay: float, monitor: FitMonitor
) -> Vector:
    """Contributions of the letters of x with the strings in the lanes of T, (m, LANES).

    The state has levels and lanes on one axis: level 0 first in P and last in R, so that P_l and
    R_(k-1-l) are at the same index.
    """
    n, m = len(x), len(T)
    blocks = list(row_blocks(n, max(1, math.isqrt(n))))
    size = max(1, CHUNK // (k * max(1, m) * LANES))
    begins = np.zeros((len(blocks) + 1, m + 1, k * LANES))
    rows = np.zeros((math.isqrt(n) + 1, m + 1, k * LANES))  # [i, j] is P of i - 1, j - 1
    back = np.zeros((m + 1, k * LANES))
    begins[..., :LANES] = rows[..., :LANES] = back[:, -LANES:] = 1.0
    values = np.zeros(n)

    def forward_block(number: int) -> None:
        rows[0] = begins[number]
        letters = x[blocks[number]]
        for part in row_blocks(len(letters), size):
            if not monitor.should_stop():
                _advance_forward(letters, part.start, part.stop, T, decay, rows)

    for number, block in enumerate(blocks):
        forward_block(number)
        begins[number + 1] = rows[block.stop - block.start]
    for number in reversed(range(len(blocks))):
        forward_block(number)
        block = blocks[number]
        for part in reversed(list(row_blocks(block.stop - block.start, size))):
            if not monitor.should_stop():
                _advance_backward(
                    x[block], part.start, part.stop, T, decay, rows, back, weights, values[block]
                )
    return values


@njit(cache=True, nogil=True)
def _advance_forward(x: Codes, start: int, stop: int, T: Codes, decay: float, rows: Matrix) -> None:
    """Compute P for rows start to stop - 1."""
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
def _advance_backward(
    x: Codes,
    start: int,
    stop: int,
    T: Codes,
    decay: float,
    rows: Matrix,
    back: Matrix,
    weights: Vector,
    values: Vector,
) -> None:
    """Compute R for rows stop - 1 to start in `back`, and add the products with P to `values`."""
    count = rows.shape[2]
    along, through, same = np.zeros(count), np.zeros(count), np.zeros(count)
    after, kept = np.zeros(count), np.zeros(count)
    for i in range(stop - 1, start - 1, -1):
        along[:] = 0.0
        through[:] = 0.0
        after[:] = back[len(T)]
        for j in range(len(T) - 1, -1, -1):
            _compare(x[i], T, j, same)
            left, state = rows[i, j], back[j]
            for f in range(count):
                through[f] += left[f] * after[f] if same[f] > 0.0 else 0.0
                kept[f] = state[f]
            for f in range(count - LANES):
                along[f] = decay * along[f] + (after[f + LANES] if same[f] > 0.0 else 0.0)
                state[f] = decay * state[f] + along[f]
            after, kept = kept, after
        for f in range(count):
            values[i] += weights[f % LANES] * through[f]


@njit(cache=True, nogil=True)
def _compare(letter: int, T: Codes, j: int, same: Vector) -> None:
    """1 in the lanes of column j that equal `letter`, else 0; for all levels."""
    for level in range(0, len(same), LANES):
        for lane in range(LANES):
            same[level + lane] = 1.0 if T[j, lane] == letter else 0.0
