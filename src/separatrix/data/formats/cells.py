"""Cells of delimited text in compiled code: numbers to float64, texts to places and codes.

A block holds whole lines. A record ends with a newline outside quotes; a cell in quotes may hold
delimiters, newlines and, doubled, quotes (RFC 4180). Blanks around a cell do not count.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from separatrix.data.formats.decimals import READ, WRONG, read_decimal, read_plain

NUMBER, TEXT, SKIP = 0, 1, 2
"""What becomes of a column."""

DONE, OPEN, TOO_MANY, TOO_FEW, AFTER_QUOTE = range(5)
"""How a block ended: well, inside quotes, or with a record of the wrong length or a stray quote."""

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None")
"""Cells that stand for no value."""

THREADS = min(4, os.cpu_count() or 1)
"""That parse blocks at a time."""

_SEED = np.uint64(int.from_bytes(os.urandom(8), "little"))  # so that nobody can plan collisions
_PRIME = np.uint64(0x100000001B3)
_SHIFT = np.uint64(29)


def _table(words: tuple[str, ...]) -> npt.NDArray[np.uint8]:
    """Words as rows of bytes, the length of each in front."""
    found = np.zeros((len(words), 10), dtype=np.uint8)
    for row, word in zip(found, words, strict=True):
        row[0] = len(word)
        row[1 : 1 + len(word)] = np.frombuffer(word.encode(), dtype=np.uint8)
    return found


NO_VALUE = _table(MISSING)
ENDLESS = _table(("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"))


@njit(cache=True, nogil=True)
def parse_cells(
    text: Any,  # shape: (bytes,)
    at: int,
    delimiter: int,
    kinds: Any,  # shape: (columns,)
    positions: Any,  # shape: (columns,); where a column goes among its kind
    most_rows: int,
    no_value: Any,
    endless: Any,
    numbers: Any,  # shape: (rows, numbers)
    number_bits: Any,  # the same memory as numbers
    spans: Any,  # shape: (texts, rows, 2); start and end, negative where quotes are doubled inside
    long: Any,  # shape: (some, 4); numbers left to `float`: row, place, start, end
    wrong: Any,  # shape: (columns,); where a NUMBER column first has none, else -1
) -> tuple[int, int, int, int]:
    """Read records into arrays that can hold `most_rows` of them.

    Returns how it ended; where that is, or the next record begins; the rows; the numbers left over.
    """
    size, columns, row, longs = len(text), len(kinds), 0, 0
    spaced = delimiter == 32
    while row < most_rows:
        while at < size and _is_blank(text[at], delimiter):
            at += 1
        if at >= size:  # one past it after a last record without a newline
            break
        if text[at] == 10 or text[at] == 13:
            at += 1
            continue
        record, column = at, 0
        while True:
            if column == columns:
                return TOO_MANY, at, row, longs
            kind, position = kinds[column], positions[column]
            start, end, doubled, known = at, at, False, False
            if kind == NUMBER:  # most cells are plain numbers: looked at before all else
                end, value = read_plain(text, at, size)
                known = end > at and (end == size or _closes(text[end], delimiter))
            if known:
                numbers[row, position] = value
                at = end
            else:
                start = at
                while start < size and _is_blank(text[start], delimiter):
                    start += 1
                if start < size and text[start] == 34:
                    start += 1
                    end = start
                    while end < size:
                        if text[end] == 34:
                            if end + 1 == size or text[end + 1] != 34:
                                break
                            doubled = True
                            end += 1
                        end += 1
                    if end >= size:
                        return OPEN, record, row, longs
                    at = end + 1
                    while not spaced and at < size and _is_blank(text[at], delimiter):
                        at += 1
                    if at < size and not _closes(text[at], delimiter):
                        return AFTER_QUOTE, end + 1, row, longs
                    while start < end and _is_blank(text[start], 0):
                        start += 1
                else:
                    end = start
                    while end < size and not _closes(text[end], delimiter):
                        end += 1
                    at = end
                while end > start and _is_blank(text[end - 1], 0):
                    end -= 1
            if kind == TEXT:
                spans[position, row, 0] = start
                spans[position, row, 1] = -end if doubled else end
            elif kind == NUMBER and not known:
                what, value_end, bits = read_decimal(text, start, end)
                if value_end != end:
                    what = WRONG
                if what == READ:
                    number_bits[row, position] = bits
                elif what != WRONG:
                    long[longs, 0], long[longs, 1] = row, position
                    long[longs, 2], long[longs, 3] = start, end
                    longs += 1
                elif _one_of(no_value, text, start, end, False):
                    numbers[row, position] = np.nan
                elif _one_of(endless, text, start, end, True):
                    numbers[row, position] = -np.inf if text[start] == 45 else np.inf
                elif wrong[column] < 0:
                    wrong[column] = start
            while spaced and at < size and _is_blank(text[at], delimiter):
                at += 1
            column += 1
            if at == size or text[at] == 10 or text[at] == 13:
                break
            if not spaced:
                at += 1
        if column < columns:
            return TOO_FEW, at, row, longs
        row += 1
        at += 1
    return DONE, min(at, size), row, longs


# Small functions take characters, not the text: handing an array on costs two atomic counts.


@njit(cache=True, nogil=True, forceinline=True)
def _is_blank(character: int, delimiter: int) -> bool:
    return bool(character == 32 or (character == 9 and delimiter != 9))


@njit(cache=True, nogil=True, forceinline=True)
def _closes(character: int, delimiter: int) -> bool:
    """Whether a cell ends here."""
    return bool(
        character == delimiter
        or character == 10
        or character == 13
        or (delimiter == 32 and character == 9)
    )


@njit(cache=True, nogil=True, forceinline=True)
def _one_of(words: Any, text: Any, start: int, end: int, any_case: bool) -> bool:
    for word in range(len(words)):
        if words[word, 0] != end - start:
            continue
        same = True
        for i in range(end - start):
            found = text[start + i]
            if any_case and 65 <= found <= 90:
                found += 32
            same = same and found == words[word, 1 + i]
        if same:
            return True
    return False


@njit(cache=True, nogil=True)
def code_texts(
    text: Any,
    spans: Any,  # shape: (rows, 2)
    seed: Any,
    slots: Any,  # shape: (power of two,); all -1; at least twice as many as rows
    codes: Any,  # shape: (rows,)
    firsts: Any,  # shape: (rows,); the row where each code is met first
) -> int:
    """Give equal texts equal codes, in the order they are met; how many codes there are."""
    mask, known = len(slots) - 1, 0
    for row in range(len(spans)):
        start, end = spans[row, 0], abs(spans[row, 1])
        hashed = seed
        for i in range(start, end):
            hashed = (hashed ^ np.uint64(text[i])) * _PRIME
        slot = np.int64((hashed ^ (hashed >> _SHIFT)) & np.uint64(mask))
        while slots[slot] >= 0:
            other = firsts[slots[slot]]
            begin, stop = spans[other, 0], spans[other, 1]
            same = abs(stop) - begin == end - start and (stop < 0) == (spans[row, 1] < 0)
            i = start
            while same and i < end:
                same = text[i] == text[begin + i - start]
                i += 1
            if same:
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = known
            firsts[known] = row
            known += 1
        codes[row] = slots[slot]
    return known


@njit(cache=True, nogil=True)
def fill_rows(
    X: Any,  # shape: (rows, columns); zeros
    numbers: Any,  # shape: (rows, numbers)
    kept: Any,  # shape: (some,); columns of numbers
    moved: Any,  # shape: (some,); where they go
    ones: Any,  # shape: (categories, rows); columns that are one, -1 for none
    start: int,
    stop: int,
) -> None:
    """Rows `start` to `stop` of X, each while it is at hand."""
    for row in range(start, stop):
        for j in range(len(kept)):
            X[row, moved[j]] = numbers[row, kept[j]]
        for c in range(len(ones)):
            if ones[c, row] >= 0:
                X[row, ones[c, row]] = 1.0


def coded(
    text: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Codes of the texts at `spans`, (n, 2), and the row where each code is met first."""
    codes, firsts = np.empty(len(spans), dtype=np.int32), np.empty(len(spans), dtype=np.int64)
    slots = np.full(1 << (2 * len(spans) + 1).bit_length(), -1, dtype=np.int32)
    known = code_texts(text, spans, _SEED, slots, codes, firsts)
    return codes, firsts[:known]
