"""How a delimited file is laid out, seen from its beginning: delimiter, names, where data begins."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice

from separatrix.data.formats.cells import MISSING
from separatrix.data.streams import Source
from separatrix.errors import DataFileError

DELIMITERS = (",", ";", "\t", " ")
_LOOK = 100  # records to look at
LOOK_BYTES = 1 << 18
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE
)


@dataclass(frozen=True)
class Layout:
    """Where the cells are and what their columns are called."""

    delimiter: str
    header: bool
    names: tuple[str, ...]


def is_number(cell: str) -> bool:
    """Whether a cell is a plain decimal or an infinity.

    >>> [cell for cell in ("1", "-.5e3", "007", "+inf", "1_0", "nan", "") if is_number(cell)]
    ['1', '-.5e3', '007', '+inf']
    """
    return _NUMBER.fullmatch(cell) is not None


def find_layout(
    source: Source,
    head: bytes,
    suffix: str,
    *,
    delimiter: str | None,
    header: bool | None,
    known: tuple[str, ...] = (),
) -> Layout:
    """The layout of a file that begins with `head`, whole lines; `known` are names to expect."""
    _require_narrow(source, head, DELIMITERS if delimiter is None else (delimiter,))
    text = head[:LOOK_BYTES].decode("utf-8", errors="replace")
    if len(head) > LOOK_BYTES:
        text = text[: text.rfind("\n") + 1] or head.split(b"\n")[0].decode(errors="replace")
    if delimiter is None:
        delimiter = "\t" if suffix in (".tsv", ".tab") else _likely_delimiter(text)
    records = _records(text, delimiter)
    if not records:
        raise DataFileError(source.name, 1, found="nothing", expected="at least one row")
    if header is None:
        header = bool(set(known) & set(records[0])) or _looks_like_header(records)
    names = _names(source, records[0]) if header else _positions(len(records[0]))
    return Layout(delimiter, header, names)


def _require_narrow(source: Source, head: bytes, delimiters: tuple[str, ...]) -> None:
    """Refuse a first line of too many cells before anything is made of them."""
    end = head.find(b"\n")
    line = head if end < 0 else head[:end]
    most = source.limits.columns
    found = max(line.count(delimiter.encode()) for delimiter in delimiters) + 1
    if found > most and len(line) > most:
        raise DataFileError(
            source.name,
            1,
            found=f"{found:,} columns",
            expected=f"at most {most:,}",
            hint="raise `columns` of Limits if this is right; svmlight suits wide sparse tables",
        )


def _records(text: str, delimiter: str) -> list[list[str]]:
    """The first records that are not empty, cells without the blanks around them."""
    if delimiter == " ":
        rows = (line.split() for line in text.splitlines())
        return list(islice((row for row in rows if row), _LOOK))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    found = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1:
                found.append([cell.strip(" \t") for cell in row])
            if len(found) == _LOOK:
                break
    except csv.Error:  # it is found again, with its place, when the cells are read
        pass
    return found


def _likely_delimiter(text: str) -> str:
    """The first one that cuts the first records into equally many cells, more than one."""
    for delimiter in DELIMITERS:
        sizes = {len(row) for row in _records(text, delimiter)[:20]}
        if len(sizes) == 1 and sizes.pop() > 1:
            return delimiter
    first = text.split("\n", 1)[0]
    return max(DELIMITERS[:3], key=first.count)


def _looks_like_header(records: list[list[str]]) -> bool:
    """Whether the first record has a text above numbers, or nothing but texts not met below.

    A file of one record has a header if nothing in it is a number.
    """
    first, below = records[0], records[1:]
    texts = [not is_number(cell) and cell not in MISSING for cell in first]
    for column, text in enumerate(texts):
        cells = {row[column] for row in below if column < len(row)}.difference(MISSING)
        if text and cells and all(map(is_number, cells)):
            return True
    if not all(texts) or len(set(first)) < len(first):
        return False
    met = any(cell in row[i : i + 1] for i, cell in enumerate(first) for row in below)
    return not met


def _names(source: Source, cells: list[str]) -> tuple[str, ...]:
    """Names from a header; a column without one is named by its position."""
    names = tuple(cell or f"x{i}" for i, cell in enumerate(cells, start=1))
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataFileError(
            source.name,
            1,
            found=f"two columns named {twice!r}",
            expected="names that differ",
            hint="rename one, or say header=False if the first row is data",
        )
    return names


def _positions(columns: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(1, columns + 1))
