"""Rows of delimited text without quotes in compiled code: numbers, and texts as codes.

What is not plain is left to pyarrow: other cells in a column of numbers, rows of another width, carriage
returns inside rows, very many different texts. A number of more than 15 digits or with an exponent is
read by Python; others are exact, as they are the quotient of two exact numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from separatrix.data.numerals import MISSING
from separatrix.jit import njit

SKIPPED, FIRST_TEXT = -1, -2  # kinds of columns; a column of numbers has its position
_MOST_TEXTS = 1 << 14  # different ones of a column in a block
_LONG_SHARE = 16  # one in so many numbers may be long
_PLAIN = 15  # any number of so many digits is exact in float64, and so is 10^15
_TENS = 10.0 ** np.arange(_PLAIN + 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Words of up to seven bytes, each as one number.
_MISSING = np.array([int.from_bytes(word.encode(), "little") for word in MISSING], dtype=np.int64)


def parse_plain(
    text: bytes, delimiter: str, names: Sequence[str], numbers: Sequence[str], texts: Sequence[str]
) -> Any | None:
    """The named columns of complete rows as an Arrow table; None if the text is not plain."""
    if b'"' in text or len(names) < 2:
        return None
    text = text if text.endswith(b"\n") else text + b"\n"
    buffer = np.frombuffer(text, dtype=np.uint8)
    most = int(np.count_nonzero(buffer == 10))
    kinds = np.full(len(names), SKIPPED, dtype=np.int64)
    position = {name: i for i, name in enumerate(names)}
    kinds[[position[name] for name in numbers]] = np.arange(len(numbers))
    kinds[[position[name] for name in texts]] = FIRST_TEXT - np.arange(len(texts))
    values = np.empty((len(numbers), most))
    codes = np.empty((len(texts), most), dtype=np.int32)
    spans = np.empty((len(texts), _MOST_TEXTS, 2), dtype=np.int64)
    counts = np.zeros(len(texts), dtype=np.int64)
    slots = np.zeros((len(texts), 4 * _MOST_TEXTS), dtype=np.int32)
    long = np.empty((values.size // _LONG_SHARE + 1, 4), dtype=np.int64)
    rows, longs = parse_rows(
        *(buffer, ord(delimiter), kinds, _MISSING),
        *(values, codes, spans, counts, slots, long),
    )
    if rows < 0:
        return None
    for column, row, start, end in long[:longs].tolist():
        values[column, row] = float(text[start:end])
    arrays = [pa.array(column[:rows], from_pandas=True) for column in values]  # NaN is null
    for t in range(len(texts)):
        words = [text[start:end].decode() for start, end in spans[t, : counts[t]].tolist()]
        arrays.append(
            pa.DictionaryArray.from_arrays(pa.array(codes[t, :rows]), pa.array(words, pa.string()))
        )
    return pa.table(arrays, names=[*numbers, *texts])


@njit(cache=True, nogil=True)
def parse_rows(
    text: Any,  # shape: (bytes,); the last one is a newline
    delimiter: int,
    kinds: Any,  # shape: (columns,)
    missing: Any,  # shape: (words,); packed
    values: Any,  # shape: (numbers, most rows)
    codes: Any,  # shape: (texts, most rows)
    spans: Any,  # shape: (texts, most codes, 2); start and end of the first cell of each code
    counts: Any,  # shape: (texts,); codes in use
    slots: Any,  # shape: (texts, slots); a hash table of codes + 1
    long: Any,  # shape: (long numbers, 4); numbers left to the caller: column, row, start, end
) -> tuple[int, int]:
    """Read complete rows into arrays; returns the numbers of rows and long numbers, or -1 and 0.

    Offsets are unsigned: signed ones are tested for counting from the end, which takes four times as long.
    """
    at, size, row, longs, last = _ZERO, np.uint64(len(text)), 0, 0, len(kinds) - 1
    while at < size:
        if text[at] == 13:
            at += _ONE
        if text[at] == 10:  # an empty line
            at += _ONE
            continue
        for j in range(len(kinds)):
            kind = kinds[j]
            if kind >= 0:
                while text[at] == 32 and delimiter != 32:
                    at += _ONE
                begin = at
                at, plain, value = _read_number(text, begin)
                if at == begin:
                    at, absent = _read_missing(text, begin, delimiter, missing)
                    if not absent:
                        return -1, 0
                elif not plain:
                    if longs == len(long):
                        return -1, 0
                    long[longs, 0], long[longs, 1] = kind, row
                    long[longs, 2], long[longs, 3] = begin, at
                    longs += 1
                while text[at] == 32 and delimiter != 32:
                    at += _ONE
                values[kind, row] = value
            else:
                begin = at
                at, mixed = _skip_cell(text, begin, delimiter)
                if kind != SKIPPED:
                    t = FIRST_TEXT - kind
                    code = _find_code(text, begin, at, mixed, spans, counts, slots, t)
                    if code < 0:
                        return -1, 0
                    codes[t, row] = code
            if j < last:
                if text[at] != delimiter:
                    return -1, 0
                at += _ONE
        if text[at] == 13:
            at += _ONE
        if text[at] != 10:
            return -1, 0
        at += _ONE
        row += 1
    return row, longs


@njit(cache=True, nogil=True, forceinline=True)
def _read_number(text: Any, start: Any) -> tuple[Any, bool, float]:
    """Offset behind a decimal number, whether it is plain, and its value then; else NaN, at the start."""
    at, w, digits, after = start, np.int64(0), 0, _ZERO
    negative = text[at] == 45
    if negative:
        at += _ONE
    digit = np.int64(text[at]) - 48
    while 0 <= digit <= 9:
        w = w * 10 + digit
        digits += 1
        at += _ONE
        digit = np.int64(text[at]) - 48
    if digit == -2:
        at += _ONE
        digit = np.int64(text[at]) - 48
        while 0 <= digit <= 9:
            w = w * 10 + digit
            digits += 1
            after += _ONE
            at += _ONE
            digit = np.int64(text[at]) - 48
    if digits == 0:
        return start, False, np.nan
    if digit == 53 or digit == 21:  # e, E
        at += _ONE
        if text[at] == 43 or text[at] == 45:
            at += _ONE
        behind = at
        while 48 <= text[at] <= 57:
            at += _ONE
        return (at if at > behind else start), False, np.nan
    if digits > _PLAIN:
        return at, False, np.nan
    value = np.float64(w) / _TENS[after]  # both exact, so the quotient is rounded once
    return at, True, -value if negative else value


@njit(cache=True, nogil=True, forceinline=True)
def _skip_cell(text: Any, at: Any, delimiter: int) -> tuple[Any, Any]:
    """Offset behind a cell, and a hash of it (FNV-1a)."""
    mixed = np.uint64(14695981039346656037)
    while text[at] != delimiter and text[at] != 10 and text[at] != 13:
        mixed = (mixed ^ np.uint64(text[at])) * np.uint64(1099511628211)
        at += _ONE
    return at, mixed


@njit(cache=True, nogil=True, forceinline=True)
def _read_missing(text: Any, start: Any, delimiter: int, missing: Any) -> tuple[Any, bool]:
    """Offset behind a cell, and whether it stands for a missing value."""
    at, packed, shift = start, np.int64(0), np.int64(0)
    while text[at] != delimiter and text[at] != 10 and text[at] != 13:
        if shift == 56:
            return at, False
        packed |= np.int64(text[at]) << shift
        shift += 8
        at += _ONE
    for word in missing:
        if word == packed:
            return at, True
    return at, False


@njit(cache=True, nogil=True, forceinline=True)
def _find_code(
    text: Any, start: Any, end: Any, mixed: Any, spans: Any, counts: Any, slots: Any, t: int
) -> int:
    """The code of a cell, a new one for a new text; -1 if there are too many."""
    mask = np.uint64(slots.shape[1] - 1)
    slot = (mixed ^ (mixed >> np.uint64(29))) & mask
    while slots[t, slot] != 0:
        code = np.uint64(slots[t, slot] - 1)
        i, first = start, np.uint64(spans[t, code, 0])
        if np.uint64(spans[t, code, 1]) - first == end - start:
            while i < end and text[first] == text[i]:
                i += _ONE
                first += _ONE
            if i == end:
                return int(code)
        slot = (slot + _ONE) & mask
    new = counts[t]
    if new == spans.shape[1]:
        return -1
    spans[t, new, 0], spans[t, new, 1] = start, end
    counts[t] = new + 1
    slots[t, slot] = new + 1
    return int(new)
