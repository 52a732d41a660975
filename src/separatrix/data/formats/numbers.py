"""Lines of numbers, all of one width: blocks at full speed, and a slow second pass for errors.

If NumPy refuses a block, or a number is not finite, its lines are read one by one to locate the error.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from separatrix.data.streams import ByteSource, newlines
from separatrix.errors import DataFileError

_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?")

_SEPARATORS = re.compile(rb"[\x1c-\x1f]")  # of files, groups, records and units: blanks to NumPy


def number_rows(
    source: ByteSource, *, columns: int | None = None, commas: bool = False
) -> npt.NDArray[np.float64]:
    """All numbers of a source, (n, columns); empty lines are skipped.

    With `commas`, the numbers of a line are separated by single commas.
    """
    parts = []
    line, rows = source.line, 0
    for block in source.blocks():
        found = _parse_block(source, block, line, columns, commas)
        line += newlines(block)
        if len(found):
            columns = found.shape[1]
            rows += len(found)
            source.require_limit("rows", rows, line=line)
            source.require_limit("columns", columns, line=line)
            source.require_limit("values", rows * columns, line=line)
            parts.append(found)
    if not parts:
        raise source.error(found="no numbers", expected="at least one line of them")
    return np.concatenate(parts)


def refuse_first(
    source: ByteSource, is_valid: Callable[[float], bool], expected: str, column: int | None = None
) -> None:
    """Report the first number that is not valid; `column` counts from 0, None for any."""
    source.rewind()
    for line, text in source.lines():
        for position, word in enumerate(re.finditer(rb"[^\s,]+", text)):
            if column in (None, position) and not is_valid(float(word[0])):
                raise _word_error(source, line, word, expected)
    raise source.error(found="a file that changes", expected=expected)


def _parse_block(
    source: ByteSource, block: bytes, line: int, columns: int | None, commas: bool
) -> npt.NDArray[np.float64]:
    if not block.strip():
        return np.empty((0, 0))
    values = _parse_numbers(block, "," if commas else None)
    if values is None or values.shape[1] != (columns or values.shape[1]):
        return _parse_lines(source, block, line, columns, commas)
    return values


def _parse_numbers(block: bytes, delimiter: str | None) -> npt.NDArray[np.float64] | None:
    """All numbers of a block; None unless they are finite and equally many in each line."""
    if _SEPARATORS.search(block):
        return None
    try:
        values = np.loadtxt(
            io.BytesIO(block), delimiter=delimiter, comments=None, ndmin=2, encoding="ascii"
        )
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _parse_lines(
    source: ByteSource, block: bytes, line: int, columns: int | None, commas: bool
) -> npt.NDArray[np.float64]:
    """The numbers word by word, with errors that name line and column."""
    rows = []
    for number, text in enumerate(block.split(b"\n"), start=line):
        words = list(re.finditer(rb"[^\s,]+" if commas else rb"\S+", text))
        if commas and text.count(b",") != max(len(words) - 1, 0):
            found = f"{text.count(b',')} commas around {len(words)} numbers"
            raise source.error(number, found=found, expected="one between any two")
        if not words:
            continue
        columns = columns or len(words)
        if len(words) != columns:
            raise source.error(number, found=f"{len(words)} numbers", expected=f"{columns}")
        rows.append([_parse_word(source, number, word) for word in words])
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns or 0)


def _parse_word(source: ByteSource, line: int, word: re.Match[bytes]) -> float:
    if _NUMBER.fullmatch(word[0]) is None or not math.isfinite(value := float(word[0])):
        raise _word_error(source, line, word, "a finite number")
    return value


def _word_error(
    source: ByteSource, line: int, word: re.Match[bytes], expected: str
) -> DataFileError:
    found = ascii(word[0][:40].decode("latin1"))
    return source.error(line, word.start() + 1, found=found, expected=expected)
