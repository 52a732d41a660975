"""Lines of numbers, all of one width: blocks at full speed, and a slow second pass for errors.

NumPy reads a block as one run of numbers. If the counts of words, lines and numbers disagree, or a
number is not finite, the lines of that block are read one by one to locate the error.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from separatrix.data.streams import ByteSource, newlines
from separatrix.errors import DataFileError

_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?")
_SPACES = np.zeros(256, dtype=bool)
_SPACES[[9, 10, 11, 12, 13, 32]] = True
_COMMA = ord(",")


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
    characters = np.frombuffer(block, np.uint8)
    space = _SPACES[characters]
    if commas:
        space |= characters == _COMMA
    begins = ~space
    begins[1:] &= space[:-1]
    ends = np.flatnonzero(characters == ord("\n"))
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    counts = np.diff(np.searchsorted(np.flatnonzero(begins), ends), prepend=0)
    counts = counts[counts > 0]
    if not len(counts):
        return _parse_lines(source, block, line, columns, commas) if commas else np.empty((0, 0))
    width = int(columns or counts[0])
    if (counts == width).all() and (
        not commas or np.count_nonzero(characters == _COMMA) == len(counts) * (width - 1)
    ):
        values = _parse_run(block.replace(b",", b" ") if commas else block)
        if values is not None and len(values) == len(counts) * width and np.isfinite(values).all():
            return values.reshape(len(counts), width)
    return _parse_lines(source, block, line, columns, commas)


def _parse_run(block: bytes) -> npt.NDArray[np.float64] | None:
    """Every number of a block; None if some word is not a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(block, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


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
