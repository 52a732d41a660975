"""Compiled loops as plain Python, for coverage and mutants: run with NUMBA_DISABLE_JIT=1.

numba then leaves functions as they are. The intrinsics, which exist in compiled code only, are replaced by
twins in NumPy before any other module imports them; `install` is called by `tests/conftest.py`.
"""

import os
import struct
import sys

import numpy as np
from numba import typeof

ROW_FUNCTIONS = ("dot_row", "score_row", "add_row", "add_scores", "add_outer")
FULL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def is_asked_for():
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def install():
    """Put the twins into their modules; integers wrap around without a warning, as compiled ones do."""
    np.seterr(over="ignore")
    from separatrix.kernels import epilogues
    from separatrix.kernels.strings import subsequence_simd
    from separatrix.runtime import exponential, simd
    from separatrix.solvers import rows

    _replace(epilogues._exponentials_of, exponentials_of)
    _replace(exponential.power_of_2, power_of_2)
    _replace(subsequence_simd.sweep, sweep)
    twins = (
        *(hamming_mask, abs_difference_mask, at_least_mask, squared_distance, absolute_distance),
        *(rows_within_mask, boxes_within_mask, first_bit, bits_of, float_of),
    )
    for twin in twins:
        _replace(getattr(simd, twin.__name__), twin)
    for name in ROW_FUNCTIONS:
        _replace(getattr(rows, name), row_function(name))


def _replace(original, twin):
    """Put a twin wherever a module of separatrix, also one imported later, finds the original."""
    for name, module in list(sys.modules.items()):
        if name.startswith("separatrix"):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    setattr(module, attribute, twin)


def row_function(name):
    """What numba compiles for this kind of samples, as a Python function."""
    from separatrix.solvers import rows

    choose = getattr(rows, f"_{name}")

    def call(samples, *arguments):
        return choose((typeof(samples.data),), *arguments)(samples, *arguments)

    return call


def exponentials_of(P, sx, sz, gamma):
    """What numba compiles for this precision."""
    from separatrix.kernels import epilogues

    single = P.dtype == np.float32
    compute = epilogues._exponentials_single if single else epilogues._exponentials_double
    compute(P, sx, sz, gamma)


def power_of_2(whole):
    return 2.0**whole


class Word(int):
    """64 bits, whose shifts take their count modulo 64, as those of processors do."""

    def __rshift__(self, count):
        return Word(int(self) >> (int(count) & 63))

    def __xor__(self, other):
        return Word(int(self) ^ int(other))


def bits_of(value):
    return Word(struct.unpack("<q", struct.pack("<d", value))[0])


def float_of(bits):
    return struct.unpack("<d", struct.pack("<q", int(bits)))[0]


def first_bit(mask):
    return (int(mask) & -int(mask)).bit_length() - 1


def _mask(inside):
    return np.uint64(sum(1 << int(lane) for lane in np.flatnonzero(inside)))


def _words(queries, i, first=0, last=None):
    return (queries[i, first:last] & np.uint64(0xFFFF)).astype(np.int64)


def hamming_mask(blocks, b, queries, i, counts, limit):
    different = blocks[b].astype(np.uint16) ^ _words(queries, i).astype(np.uint16)[:, None]
    counts[:] = np.bitwise_count(different).sum(axis=0)
    return _mask(counts < limit)


def abs_difference_mask(blocks, b, queries, i, first, last, sums, position, limit):
    gaps = np.abs(blocks[b, first:last].astype(np.int64) - _words(queries, i, first, last)[:, None])
    total = np.minimum(gaps.sum(axis=0), 65535)
    inside = total <= limit
    if inside.any() or first == last:
        sums[position] = total
    return FULL if first == last else _mask(inside)


def at_least_mask(array, row, start, least):
    return _mask(array[row, start : start + 64] >= np.float32(least))


def squared_distance(X, row, Q, i, limit):
    gap = X[row].astype(np.float64) - Q[i]
    return float((gap * gap).sum())  # BLAS may multiply and add with one rounding


def absolute_distance(X, row, Q, i, limit):
    return float(np.abs(X[row].astype(np.float64) - Q[i]).sum())


def _norm(gaps, p):
    if p == 2:
        return (gaps * gaps).sum(axis=0)
    return np.abs(gaps).sum(axis=0) if p == 1 else np.abs(gaps).max(axis=0, initial=0.0)


def rows_within_mask(blocks, b, queries, i, limit, p):
    reach = limit * limit if p == 2 else limit
    return _mask(_norm(blocks[b] - queries[i][:, None], p) <= reach)


def boxes_within_mask(boxes, b, queries, i, limit, p, found):
    low, high, margins = boxes[b, :-1:2], boxes[b, 1::2], boxes[b, -1]
    query = queries[i][:, None]
    total = _norm(np.maximum(np.maximum(low - query, query - high), 0.0), p)
    with np.errstate(invalid="ignore"):  # a box without rows is infinitely far, its margin infinite
        found[:] = (np.sqrt(total) if p == 2 else total) - margins
    return _mask(found <= limit)


def sweep(levels, every, passes, buffers, i, j, width, a, low, feed, stride, out):
    """One row after the other where the compiled loop advances `ROWS` at once."""
    from separatrix.kernels.strings.subsequence_simd import ROWS

    S, T, P, carry, feeds, down, sums = buffers
    summed = range(levels) if every and levels else [levels - 1]
    rows, mine = range(ROWS), slice(low, low + levels)
    along, before = carry[i : i + ROWS, mine, 0].copy(), carry[i : i + ROWS, mine, 1].copy()
    step = len(P) + 1

    def pass_on(number):
        for row in rows:
            feeds[out + step * row + number] = before[row, -1]

    if passes:
        pass_on(0)
    for b in range(width):
        for row in rows:
            same = S[i + row] == T[j + b]
            below = [feeds[feed + stride * row + b].copy(), *before[row].copy()]
            for level in summed:
                value = below[level + 1] * down[a + row + b]
                sums[low + level + 1] += np.where(same, value, 0.0)
            for level in range(levels):
                along[row, level] += np.where(same, below[level], 0.0)
        for level in range(levels):
            for row in rows:
                before[row, level] = P[b, low + level]
                P[b, low + level] += along[row, level]
        if passes:
            pass_on(b + 1)
    carry[i : i + ROWS, mine, 0], carry[i : i + ROWS, mine, 1] = (
        along * down[width],
        before * down[width],
    )
