"""The layout of a delimited file, detected from its beginning: delimiter, header, column names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from separatrix.data.streams import UTF8_HINT, ByteSource, unpacked_suffix

DELIMITERS = (",", ";", "\t", " ")
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None")
"""Cells that stand for a missing value."""

_SAMPLE_RECORDS, _SAMPLE_BYTES = 100, 1 << 18
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE
)
_BOM, _UTF16_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TableLayout:
    """Delimiter, header and column names of a delimited file."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    texts: frozenset[str] = frozenset()  # columns that seem to hold texts; need not be complete


def is_number(cell: str) -> bool:
    """Whether a cell is a decimal number or an infinity.

    >>> [cell for cell in ("1", "-.5e3", "007", "+inf", "1_0", "nan", "") if is_number(cell)]
    ['1', '-.5e3', '007', '+inf']
    """
    return _NUMBER.fullmatch(cell) is not None


def text_blocks(source: ByteSource) -> Iterator[bytes]:
    """Blocks of complete lines, the first without its byte order mark; UTF-16 is refused."""
    blocks = source.blocks()
    first = next(blocks, b"")
    if first.startswith(_UTF16_BOMS):
        raise source.error(1, found="UTF-16 text", expected="UTF-8 text", hint=UTF8_HINT)
    if first:
        yield first.removeprefix(_BOM)
    yield from blocks


def detect_layout(
    source: ByteSource,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    features: Sequence[str] | None = None,
) -> TableLayout:
    """The layout of a source at its beginning, to which it is rewound.

    `features` are names of a fitted model: a first record that has one of them is a header.
    """
    head = b""
    for block in text_blocks(source):
        head += block
        if len(head) >= _SAMPLE_BYTES:
            break
    source.rewind()
    _require_columns(source, head, DELIMITERS if delimiter is None else (delimiter,))
    text = head[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
    if len(head) > _SAMPLE_BYTES:
        text = text[: text.rfind("\n") + 1] or head.split(b"\n")[0].decode(errors="replace")
    if delimiter is None:
        tabs = unpacked_suffix(source.name) in (".tsv", ".tab")
        delimiter = "\t" if tabs else _detect_delimiter(text)
    records = _sample_records(text, delimiter)
    if not records:
        raise source.error(1, found="nothing", expected="at least one row")
    if header is None:
        header = bool(set(features or ()) & set(records[0])) or _has_header(records)
    width = len(records[0])
    names = _column_names(source, records[0]) if header else default_names(width)
    sample = records[header : header + 20]
    samples = ({row[i] for row in sample if i < len(row)} for i in range(width))
    texts = (name for name, cells in zip(names, samples, strict=True) if not _is_numeric(cells))
    return TableLayout(delimiter, header, names, frozenset(texts))


def default_names(columns: int) -> tuple[str, ...]:
    """x1, x2, ...: names of columns without a header."""
    return tuple(f"x{i}" for i in range(1, columns + 1))


def _require_columns(source: ByteSource, head: bytes, delimiters: tuple[str, ...]) -> None:
    """Refuse a first line of too many cells before it is split."""
    line = head.partition(b"\n")[0]
    found = max(line.count(delimiter.encode()) for delimiter in delimiters) + 1
    if len(line) > source.limits.columns:
        source.require_limit("columns", found, line=1, found=f"{found:,} columns")


def _sample_records(text: str, delimiter: str) -> list[list[str]]:
    """The first records that are not empty, cells without surrounding blanks."""
    if delimiter == " ":
        rows = (line.split() for line in text.splitlines())
        return list(islice((row for row in rows if row), _SAMPLE_RECORDS))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    found = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1:
                found.append([cell.strip(" \t") for cell in row])
            if len(found) == _SAMPLE_RECORDS:
                break
    except csv.Error:  # reported with line and column when the records are read
        pass
    return found


def _detect_delimiter(text: str) -> str:
    """The first one that splits the first records into equally many cells, more than one."""
    for delimiter in DELIMITERS:
        sizes = {len(row) for row in _sample_records(text, delimiter)[:20]}
        if len(sizes) == 1 and sizes.pop() > 1:
            return delimiter
    first = text.split("\n", 1)[0]
    return max(DELIMITERS[:3], key=first.count)


def _has_header(records: list[list[str]]) -> bool:
    """Whether the first record has a text above numbers, or only texts that do not recur below.

    A single record is a header if nothing in it is a number.
    """
    first, below = records[0], records[1:]
    texts = [not is_number(cell) and cell not in MISSING for cell in first]
    for column, text in enumerate(texts):
        cells = {row[column] for row in below if column < len(row)}.difference(MISSING)
        if text and cells and _is_numeric(cells):
            return True
    if not all(texts) or len(set(first)) < len(first):
        return False
    recurs = any(cell in row[i : i + 1] for i, cell in enumerate(first) for row in below)
    return not recurs


def _is_numeric(cells: set[str]) -> bool:
    return all(is_number(cell) or cell in MISSING for cell in cells)


def _column_names(source: ByteSource, cells: list[str]) -> tuple[str, ...]:
    """Names from a header; a column without one is named by its position."""
    names = tuple(cell or name for cell, name in zip(cells, default_names(len(cells)), strict=True))
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise source.error(
            1,
            found=f"two columns named {twice!r}",
            expected="unique names",
            hint="rename one, or pass header=False if the first row is data",
        )
    return names
