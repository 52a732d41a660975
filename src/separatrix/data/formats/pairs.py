"""Lines of `label index:value ...` in compiled code, for the svmlight format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix.data.formats.decimals import READ, WRONG, read_decimal, read_plain

WHOLE, LABEL, INDEX, VALUE, ORDER, BASE, WIDTH, ENDLESS = range(8)
"""How a block ended: well, or at a wrong label, index:value, value, order of indices, 0, ..."""


@njit(cache=True, nogil=True)
def parse_pairs(
    text: Any,  # shape: (bytes,)
    least: int,
    most: int,
    labels: Any,
    label_bits: Any,  # the same memory as labels
    ends: Any,
    indices: Any,
    values: Any,
    value_bits: Any,  # the same memory as values
    long: Any,  # shape: (numbers, 3); numbers left to `float`: place, start, end
) -> tuple[int, int, int, int, int, int]:
    """Read whole lines into arrays that can hold a row a line and a value a colon.

    Returns what is wrong and where, the rows, the values, the numbers left over, the qid pairs.
    """
    at, size, row, pair, longs, queries = 0, len(text), 0, 0, 0, 0
    nothing: Any = np.int64(0)
    while at < size:
        while at < size and _is_blank(text[at]):
            at += 1
        if at < size and text[at] == 35:
            while at < size and text[at] != 10:
                at += 1
        if at == size or text[at] == 10:
            at += 1
            continue
        start = at
        what, at, bits = read_decimal(text, at, size)
        if what == WRONG or (at < size and text[at] > 32):
            return LABEL, start, row, pair, longs, queries
        label_bits[row] = bits
        if what != READ:
            long[longs, 0], long[longs, 1], long[longs, 2] = -1 - row, start, at
            longs += 1
        elif not np.isfinite(labels[row]):
            return ENDLESS, start, row, pair, longs, queries
        previous = nothing - 1
        while True:
            while at < size and _is_blank(text[at]):
                at += 1
            if at < size and text[at] == 35:
                while at < size and text[at] != 10:
                    at += 1
            if at == size or text[at] == 10:
                break
            start, index = at, nothing
            while at < size and 48 <= text[at] <= 57:
                index = min(index * 10 + np.int64(text[at]) - 48, most + 1)
                at += 1
            if at in (start, size) or text[at] != 58:
                if not _is_query(text, start, size):
                    return INDEX, start, row, pair, longs, queries
                while at < size and text[at] > 32:
                    at += 1
                queries += 1
                continue
            if index > most:
                return WIDTH, start, row, pair, longs, queries
            if index < least:
                return BASE, start, row, pair, longs, queries
            if index <= previous:
                return ORDER, start, row, pair, longs, queries
            previous = index
            start = at + 1
            at, value = read_plain(text, start, size)
            if at > start and (at == size or text[at] <= 32):
                indices[pair], values[pair] = index, value
                pair += 1
                continue
            what, at, bits = read_decimal(text, start, size)
            if what == WRONG or (at < size and text[at] > 32):
                return VALUE, start, row, pair, longs, queries
            indices[pair] = index
            value_bits[pair] = bits
            if what != READ:
                long[longs, 0], long[longs, 1], long[longs, 2] = pair, start, at
                longs += 1
            elif not np.isfinite(values[pair]):
                return ENDLESS, start, row, pair, longs, queries
            pair += 1
        ends[row] = pair
        row += 1
        at += 1
    return WHOLE, at, row, pair, longs, queries


@njit(cache=True, nogil=True, forceinline=True)
def _is_blank(character: int) -> bool:
    return bool(character == 32 or character == 9 or 11 <= character <= 13)


@njit(cache=True, nogil=True, forceinline=True)
def _is_query(text: Any, at: int, size: int) -> bool:
    """Whether the word is `qid:` with something behind."""
    return bool(
        at + 4 < size
        and text[at] == 113
        and text[at + 1] == 105
        and text[at + 2] == 100
        and text[at + 3] == 58
    )
