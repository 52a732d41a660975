"""Lines of `label index:value ...` in compiled code, for the svmlight format."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix.data.formats.decimals import READ, WRONG, read_decimal, read_plain

COMPLETE, LABEL, INDEX, VALUE, ORDER, BASE, WIDTH, INFINITE = range(8)
"""Outcome of a block: read, or what is wrong with it."""


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
    long: Any,  # shape: (numbers, 3); numbers left to `float`: position, start, end
) -> tuple[int, int, int, int, int, int]:
    """Read complete lines into arrays that can hold a row a line and a value a colon.

    Returns the outcome, where it was reached, and the numbers of rows, values, long numbers and qid
    pairs.
    """
    at, size, row, pair, longs, queries = 0, len(text), 0, 0, 0, 0
    while at < size:
        at = _skip_blanks(text, at, size)
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
            return INFINITE, start, row, pair, longs, queries
        previous: Any = np.int64(-1)
        while True:
            at = _skip_blanks(text, at, size)
            if at == size or text[at] == 10:
                break
            start = at
            at, index = _read_index(text, at, size, most)
            if at in (start, size) or text[at] != 58:
                if not _is_query(text, start, size):
                    return INDEX, start, row, pair, longs, queries
                while at < size and text[at] > 32:
                    at += 1
                queries += 1
                continue
            if not least <= index <= most or index <= previous:
                wrong = WIDTH if index > most else BASE if index < least else ORDER
                return wrong, start, row, pair, longs, queries
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
                return INFINITE, start, row, pair, longs, queries
            pair += 1
        ends[row] = pair
        row += 1
        at += 1
    return COMPLETE, at, row, pair, longs, queries


@njit(cache=True, nogil=True, forceinline=True)
def _skip_blanks(text: Any, at: int, size: int) -> int:
    """Offset of the next word or newline; a comment counts as blank."""
    while at < size and (text[at] == 32 or text[at] == 9 or 11 <= text[at] <= 13):
        at += 1
    if at < size and text[at] == 35:
        while at < size and text[at] != 10:
            at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def _read_index(text: Any, at: int, size: int, most: int) -> tuple[int, int]:
    """Offset behind the digits of an index, and its value, at most `most` + 1."""
    index: Any = np.int64(0)
    while at < size and 48 <= text[at] <= 57:
        index = min(index * 10 + np.int64(text[at]) - 48, most + 1)
        at += 1
    return at, index


@njit(cache=True, nogil=True, forceinline=True)
def _is_query(text: Any, at: int, size: int) -> bool:
    """Whether the word is `qid:` followed by something."""
    return bool(
        at + 4 < size
        and text[at] == 113
        and text[at + 1] == 105
        and text[at + 2] == 100
        and text[at + 3] == 58
    )
