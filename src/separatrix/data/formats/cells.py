"""Records of delimited text as pyarrow's CSV reader takes them.

A record ends with a newline outside quotes; a cell in quotes may hold delimiters, newlines and doubled
quotes (RFC 4180). Blanks around a cell do not count, nor do blank lines; a run of blanks is one
delimiter where the delimiter is a blank. pyarrow agrees wherever quotes enclose complete cells: such
text passes unchanged. Other text is split by regular expressions, slowly, which also locates errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class TableCell(NamedTuple):
    """A cell without quotes and surrounding blanks, and its offset in the text."""

    offset: int
    text: bytes


class MalformedRecordError(Exception):
    """A record of the wrong length, or text after a closing quote."""

    def __init__(self, offset: int, found: str, expected: str) -> None:
        super().__init__(found)
        self.offset, self.found, self.expected = offset, found, expected


class RecordSplitter:
    """Records of `columns` cells each."""

    def __init__(self, delimiter: str, columns: int) -> None:
        self.delimiter, self.columns = delimiter.encode(), columns
        self.blanks = b" " if delimiter == "\t" else b" \t"
        self._by_blanks = delimiter == " "
        stops = b" \t\r\n" if self._by_blanks else self.delimiter + b"\r\n"
        self._skip_blanks = re.compile(b"[%b]*" % self.blanks)
        self._empty = re.compile(b"[%b\r\n]*" % self.blanks)
        self._quoted = re.compile(rb'"((?:[^"]++|"")*+)"')
        self._bare = re.compile(b"[^%b]*" % stops)
        self._stops = frozenset(stops)

    def normalize(self, raw: bytes, start: int = 0) -> tuple[bytes, int]:
        """Complete records from an offset on as text for pyarrow, and the offset where they end."""
        block = raw[start:] if start else raw
        if b'"' not in block:
            if self._by_blanks:
                single = re.sub(rb"[ \t]+", b" ", block)
                block = re.sub(rb" ?([\r\n]) ?", rb"\1", single).strip(b" ")
            elif self.columns == 1:
                block = re.sub(b"(?m)^[%b]+\r?$" % self.blanks, b"", block)
            return block, len(raw)
        if not self._by_blanks and self.columns > 1:
            end = self._end_of_regular(block)
            if end is not None:
                return block[:end], start + end
        records = list(self.records(raw, start))
        lines = (
            self.delimiter.join(b'"%b"' % cell.text.replace(b'"', b'""') for cell in cells)
            for cells, _ in records
        )
        return b"\n".join(lines), self.skip_empty(raw, records[-1][1] if records else start)

    def _end_of_regular(self, block: bytes) -> int | None:
        """Where complete records end if all quotes enclose complete cells; None if some do not."""
        text = np.frombuffer(block, dtype=np.uint8)
        quotes = np.flatnonzero(text == 34)
        stop = np.zeros(256, dtype=bool)
        stop[list(self._stops)] = True
        opening, closing = quotes[0::2], quotes[1::2]
        inside = np.zeros(len(opening), dtype=bool)
        inside[1:] = np.diff(quotes)[1::2] == 1  # the second of a doubled quote
        doubled = np.append(inside[1:], False)[: len(closing)]
        starts = inside | (opening == 0) | stop[text[opening - 1]]
        ends = doubled | (closing == len(text) - 1) | stop[text[(closing + 1) % len(text)]]
        if not (starts.all() and ends.all()):
            return None
        if len(quotes) % 2 == 0:
            return len(block)
        newlines = np.flatnonzero((text == 10) | (text == 13))
        outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
        return int(outside[-1]) + 1 if len(outside) else 0

    def records(self, block: bytes, offset: int = 0) -> Iterator[tuple[list[TableCell], int]]:
        """Each complete record, and the offset behind it; stops before a quote that does not close."""
        while True:
            offset = self.skip_empty(block, offset)
            record = self._split(block, offset) if offset < len(block) else None
            if record is None:
                return
            yield record
            offset = record[1]

    def skip_empty(self, block: bytes, offset: int = 0) -> int:
        """Offset behind blank lines and the blanks that begin a record."""
        found = self._empty.match(block, offset)
        return found.end() if found else offset

    def _split(self, block: bytes, offset: int) -> tuple[list[TableCell], int] | None:
        cells: list[TableCell] = []
        expected = f"{self.columns} as in the first row"
        while True:
            if len(cells) == self.columns:
                raise MalformedRecordError(offset, f"more than {self.columns} cells", expected)
            found = self._cell(block, offset)
            if found is None:
                return None
            cell, offset = found
            cells.append(cell)
            if self._by_blanks:
                offset = self._behind_blanks(block, offset)
            if offset == len(block) or block[offset] in b"\r\n":
                break
            offset += not self._by_blanks
        if len(cells) < self.columns:
            raise MalformedRecordError(offset, f"fewer than {self.columns} cells", expected)
        return cells, min(offset + 1, len(block))

    def _cell(self, block: bytes, offset: int) -> tuple[TableCell, int] | None:
        """A cell and the offset behind it; None if its quotes do not close."""
        start = self._behind_blanks(block, offset)
        if block[start : start + 1] != b'"':
            found = self._bare.match(block, start)
            text = found[0] if found else b""
            return TableCell(start, text.strip(b" \t")), start + len(text)
        self._require_no_tab(block, start)
        found = self._quoted.match(block, start)
        if found is None:
            return None
        end = found.end() if self._by_blanks else self._behind_blanks(block, found.end())
        if end < len(block) and block[end] not in self._stops:
            raise MalformedRecordError(found.end(), "text after closing quotes", "a delimiter")
        text = found[1].lstrip(b" \t")
        text_start = found.end(1) - len(text)
        return TableCell(text_start, text.rstrip(b" \t").replace(b'""', b'"')), end

    def _require_no_tab(self, block: bytes, quote: int) -> None:
        """Refuse a tab before a quote: other readers take the quotes behind it for text."""
        before = quote
        while not self._by_blanks and before and block[before - 1] in self.blanks:
            before -= 1
            if block[before] == 9:
                raise MalformedRecordError(
                    before, "a tab before quotes", "quotes right behind a delimiter"
                )

    def _behind_blanks(self, block: bytes, offset: int) -> int:
        found = self._skip_blanks.match(block, offset)
        return found.end() if found else offset
