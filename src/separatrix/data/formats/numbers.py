"""Lines of numbers, all of one width: blocks at full speed, and a slow second look for errors.

NumPy reads a block as one run of numbers. Where the count of words, of lines and of numbers do not
agree, or a number is not finite, the lines of that block are read one by one to say where.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from separatrix.data.streams import Source
from separatrix.errors import DataFileError

_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?")
_SPACES = np.zeros(256, dtype=bool)
_SPACES[[9, 10, 11, 12, 13, 32]] = True
_COMMA = ord(",")

Check = Callable[[float], bool]


def number_rows(
    source: Source, *, columns: int | None = None, commas: bool = False
) -> npt.NDArray[np.float64]:
    """All numbers of a file, (n, columns); empty lines are passed over.

    With `commas`, one stands between any two numbers of a line.
    """
    parts = []
    line = rows = 0
    for block in blocks_of(source):
        found = _block(source, block, line, columns, commas)
        line += block.count(b"\n")
        if len(found):
            columns = found.shape[1]
            rows += len(found)
            _require_size(source, line, rows, columns)
            parts.append(found)
    if not parts:
        raise DataFileError(source.name, found="no numbers", expected="at least one line of them")
    return np.concatenate(parts)


def refuse_first(source: Source, right: Check, expected: str, *, column: int | None = None) -> None:
    """Say where the first number is that is not right; `column` counts from 0, None: any."""
    for line, text in numbered_lines(source):
        for position, word in enumerate(re.finditer(rb"[^\s,]+", text)):
            if column in (None, position) and not right(float(word[0])):
                raise _wrong(source, line, word.start() + 1, word[0], expected)
    raise DataFileError(source.name, found="a file that changes", expected=expected)


def blocks_of(source: Source) -> Iterator[bytes]:
    """Blocks of whole lines. Nothing is parsed before a bomb has had the room to show itself."""
    held: list[bytes] = []
    blocks = source.blocks()
    size = 0
    for block in blocks:
        held.append(block)
        size += len(block)
        if size > source.limits.inflation_free:
            break
    while held:
        yield held.pop(0)
    yield from blocks


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, counted from 1, without what ends it."""
    line = 0
    for block in blocks_of(source):
        lines = block.split(b"\n")
        if block.endswith(b"\n"):
            lines.pop()
        for text in lines:
            line += 1
            yield line, text.removesuffix(b"\r")


def _block(
    source: Source, block: bytes, line: int, columns: int | None, commas: bool
) -> npt.NDArray[np.float64]:
    letters = np.frombuffer(block, np.uint8)
    space = _SPACES[letters]
    if commas:
        space |= letters == _COMMA
    begins = ~space
    begins[1:] &= space[:-1]
    ends = np.flatnonzero(letters == ord("\n"))
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    counts = np.diff(np.searchsorted(np.flatnonzero(begins), ends), prepend=0)
    counts = counts[counts > 0]
    if not len(counts):
        return _slow(source, block, line, columns, commas) if commas else np.empty((0, 0))
    width = int(columns or counts[0])
    if (counts == width).all() and (
        not commas or np.count_nonzero(letters == _COMMA) == len(counts) * (width - 1)
    ):
        values = _at_once(block.replace(b",", b" ") if commas else block)
        if values is not None and len(values) == len(counts) * width and np.isfinite(values).all():
            return values.reshape(len(counts), width)
    return _slow(source, block, line, columns, commas)


def _at_once(block: bytes) -> npt.NDArray[np.float64] | None:
    """Every number of a block; None where something is no number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(block, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _slow(
    source: Source, block: bytes, line: int, columns: int | None, commas: bool
) -> npt.NDArray[np.float64]:
    """The same, word by word, with an error that says which."""
    rows = []
    for text in block.split(b"\n"):
        line += 1
        words = list(re.finditer(rb"[^\s,]+" if commas else rb"\S+", text))
        if commas and text.count(b",") != max(len(words) - 1, 0):
            found = f"{text.count(b',')} commas around {len(words)} numbers"
            raise DataFileError(source.name, line, found=found, expected="one between any two")
        if not words:
            continue
        columns = columns or len(words)
        if len(words) != columns:
            raise DataFileError(
                source.name, line, found=f"{len(words)} numbers", expected=f"{columns}"
            )
        rows.append([_number(source, line, word) for word in words])
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns or 0)


def _number(source: Source, line: int, word: re.Match[bytes]) -> float:
    if _NUMBER.fullmatch(word[0]) is None or not math.isfinite(value := float(word[0])):
        raise _wrong(source, line, word.start() + 1, word[0], "a finite number")
    return value


def _wrong(source: Source, line: int, column: int, word: bytes, expected: str) -> DataFileError:
    found = ascii(word[:40].decode("latin1"))
    return DataFileError(source.name, line, column, found=found, expected=expected)


def _require_size(source: Source, line: int, rows: int, columns: int) -> None:
    limits = source.limits
    for name, size, most in (
        ("rows", rows, limits.rows),
        ("columns", columns, limits.columns),
        ("values", rows * columns, limits.values),
    ):
        if size > most:
            raise DataFileError(
                source.name,
                line,
                found=f"more than {most:,} {name}",
                expected="fewer",
                hint=f"raise `{name}` of Limits if this is right",
            )
