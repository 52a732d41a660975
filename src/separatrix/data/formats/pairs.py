"""Lines of `label index:value ...` in compiled code, for the svmlight format."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit

COMPLETE, LABEL, INDEX, VALUE, ORDER, BASE, WIDTH = range(7)
"""Outcome of a block: read, or what is wrong with it."""

_PLAIN = 15  # any number of so many digits is exact in float64, and so is 10^15
_TENS = 10.0 ** np.arange(_PLAIN + 1)


@njit(cache=True, nogil=True)
def parse_pairs(
    text: Any,  # shape: (bytes,)
    least: int,
    most: int,
    labels: Any,
    ends: Any,
    indices: Any,
    values: Any,
    long: Any,  # shape: (numbers, 3); numbers left to the caller: position, start, end
) -> tuple[int, int, int, int, int, int]:
    """Read complete lines into arrays that can hold a row a line and a value a colon.

    Returns the outcome, where it was reached, and the numbers of rows, values, long numbers and qid
    pairs. The position of a long number is that of a value, or -1 - row for a label.
    """
    at, size, row, pair, longs, queries = 0, len(text), 0, 0, 0, 0
    while at < size:
        at = _skip_blanks(text, at, size)
        if at == size or text[at] == 10:
            at += 1
            continue
        start = at
        at, plain, labels[row] = _read_number(text, at, size)
        if at == start or (at < size and text[at] > 32):
            return LABEL, start, row, pair, longs, queries
        if not plain:
            long[longs, 0], long[longs, 1], long[longs, 2] = -1 - row, start, at
            longs += 1
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
            at, plain, value = _read_number(text, start, size)
            if at == start or (at < size and text[at] > 32):
                return VALUE, start, row, pair, longs, queries
            indices[pair], values[pair] = index, value
            if not plain:
                long[longs, 0], long[longs, 1], long[longs, 2] = pair, start, at
                longs += 1
            pair += 1
        ends[row] = pair
        row += 1
        at += 1
    return COMPLETE, at, row, pair, longs, queries


@njit(cache=True, nogil=True, forceinline=True)
def _read_number(text: Any, start: int, size: int) -> tuple[int, bool, float]:
    """Offset behind a decimal number, whether it is plain, and the value of a plain one.

    Plain numbers have at most 15 digits and no exponent; most are. Without a number the offset is
    `start`.
    """
    at, w, digits, after, plain = start, np.int64(0), 0, 0, True
    if at < size and (text[at] == 43 or text[at] == 45):
        at += 1
    negative = at > start and text[start] == 45
    while at < size and 48 <= text[at] <= 57:
        if digits < _PLAIN:
            w = w * 10 + (np.int64(text[at]) - 48)
        digits += 1
        at += 1
    if at < size and text[at] == 46:
        at += 1
        while at < size and 48 <= text[at] <= 57:
            if digits < _PLAIN:
                w = w * 10 + (np.int64(text[at]) - 48)
                after += 1
            digits += 1
            at += 1
    if digits == 0:
        return start, False, 0.0
    if at < size and (text[at] == 101 or text[at] == 69):
        plain = False
        at += 1
        if at < size and (text[at] == 43 or text[at] == 45):
            at += 1
        if at == size or text[at] < 48 or text[at] > 57:
            return start, False, 0.0
        while at < size and 48 <= text[at] <= 57:
            at += 1
    value = np.float64(w) / _TENS[after]  # both exact, so the quotient is rounded once
    return at, plain and digits <= _PLAIN, -value if negative else value


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
