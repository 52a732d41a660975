"""The records of delimited text, block by block, on their way to a table."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from separatrix.data.formats import cells
from separatrix.data.formats.cells import NUMBER, SKIP, TEXT, THREADS
from separatrix.data.formats.columns import Category, Table, Wanted, stacked
from separatrix.data.formats.layout import Layout
from separatrix.data.limits import Limits
from separatrix.data.streams import Source, newlines, open_
from separatrix.errors import DataFileError

_BOM, _WIDE_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_UTF8 = "save the file as UTF-8"


def text_blocks(source: Source) -> Iterator[bytes]:
    """Blocks of lines, the first without its byte order mark; what is no UTF-8 text is refused."""
    blocks = source.blocks()
    first = next(blocks, b"")
    if first.startswith(_WIDE_BOMS):
        raise DataFileError(source.name, 1, found="UTF-16 text", expected="UTF-8 text", hint=_UTF8)
    if first:
        yield first.removeprefix(_BOM)
    yield from blocks


def _place(block: bytes, line: int, at: int) -> tuple[int, int]:
    """Line and column of a byte in a block that begins with `line`."""
    return line + block.count(b"\n", 0, at), at - block.rfind(b"\n", 0, at)


class _Parsed(NamedTuple):
    """Records of a block."""

    end: int  # where the first one that is not whole begins
    rows: int
    numbers: npt.NDArray[np.float64]  # shape: (rows and some, numbers)
    spans: npt.NDArray[np.int64]  # shape: (texts, rows and some, 2)
    codes: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]]  # of each text, in this block


class Reading:
    """One file on its way to a table."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        layout: Layout,
        target: str | None,
        wanted: Wanted | None,
        limits: Limits,
    ) -> None:
        self.path, self.layout, self.target, self.limits = path, layout, target, limits
        self.required = set() if wanted is None else wanted.numeric()
        self.kinds = np.full(len(layout.names), NUMBER, dtype=np.int8)
        for i, name in enumerate(layout.names):
            if wanted is not None and name not in self.required:
                self.kinds[i] = TEXT if name in wanted.columns else SKIP
            if name == target:
                self.kinds[i] = TEXT

    def table(self) -> Table:
        """The columns; begun again where one that seemed to hold numbers turns out to hold texts."""
        while True:
            self._begin()
            with open_(self.path, self.limits) as source:
                self._read(source)
            if not self.texts:
                return self._table()
            self.kinds[sorted(self.texts)] = TEXT

    def _begin(self) -> None:
        self.positions = np.zeros(len(self.kinds), dtype=np.int64)
        for kind in (NUMBER, TEXT):
            chosen = self.kinds == kind
            self.positions[chosen] = np.arange(chosen.sum())
        self.numbers: list[npt.NDArray[np.float64]] = []
        self.codes: list[npt.NDArray[np.int32]] = []  # shapes: (texts, rows of a block)
        self.values: list[dict[str, int]] = [{} for _ in self._named(TEXT)]
        self.rows, self.texts = 0, set[int]()

    def _named(self, kind: int) -> tuple[str, ...]:
        return tuple(self.layout.names[i] for i in np.flatnonzero(self.kinds == kind))

    def _read(self, source: Source) -> None:
        """Take block after block, those without quotes ahead of their turn in other threads.

        A record with a newline in quotes may need the next block too, so such blocks wait their turn.
        """
        held, line, header = b"", 1, self.layout.header
        ahead: deque[tuple[bytes, int, Future[_Parsed]]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for block in text_blocks(source):
                block = held + block
                self._require_no_zero(source, block, line)
                lines = newlines(block)
                if self.codes and not held and b'"' not in block:
                    parsed = pool.submit(self._parse_all, source, block, line, 0, lines)
                    ahead.append((block, line, parsed))
                    self._keep_ahead(source, ahead, most=THREADS)
                    line += lines
                    continue
                self._keep_ahead(source, ahead, most=0)
                at, header = self._after_header(source, block, line) if header else (0, False)
                end = 0 if header else self._take(source, block, line, at, lines)
                held = block[end:]
                line += lines - newlines(held)
                if len(held) > self.limits.line_bytes:
                    break
                if self.texts and self.rows and not held and len(self.codes) == 1:
                    return  # seen at once: no need to read on
            self._keep_ahead(source, ahead, most=0)
        if held:
            raise DataFileError(
                source.name,
                line,
                found="quotes that are opened and not closed",
                expected='"..." around a cell',
            )

    def _require_no_zero(self, source: Source, block: bytes, line: int) -> None:
        at = block.find(b"\0")
        if at >= 0:
            raise DataFileError(
                source.name,
                *_place(block, line, at),
                found="a zero byte",
                expected="UTF-8 text",
                hint=_UTF8,
            )

    def _after_header(self, source: Source, block: bytes, line: int) -> tuple[int, bool]:
        """Where the first record ends, and whether it goes on in the next block."""
        none = np.full(len(self.kinds), SKIP, dtype=np.int8)
        parsed = self._parse(source, block, line, 0, none, 1)
        return parsed.end, parsed.rows == 0

    def _keep_ahead(
        self, source: Source, ahead: deque[tuple[bytes, int, Future[_Parsed]]], most: int
    ) -> None:
        """Keep blocks in their order until at most so many are left."""
        while len(ahead) > most:
            block, line, parsed = ahead.popleft()
            self._keep(source, block, line, parsed.result())

    def _take(self, source: Source, block: bytes, line: int, at: int, lines: int) -> int:
        """Keep the records of a block from `at` on; where the first one that is not whole begins."""
        parsed = self._parse_all(source, block, line, at, lines)
        self._keep(source, block, line, parsed)
        return parsed.end

    def _keep(self, source: Source, block: bytes, line: int, parsed: _Parsed) -> None:
        self.rows += parsed.rows
        self._require_size(source)
        self.numbers.append(parsed.numbers[: parsed.rows])
        codes = np.empty((len(parsed.spans), parsed.rows), dtype=np.int32)
        for column, name in enumerate(self._named(TEXT)):
            codes[column] = self._coded(source, block, line, parsed, column, name)
        self.codes.append(codes)

    def _parse_all(self, source: Source, block: bytes, line: int, at: int, lines: int) -> _Parsed:
        lines += block.count(b"\r") if b"\r" in block else 0
        most = min(lines, len(block) // len(self.kinds)) + 1  # a cell takes a byte with its end
        return self._parse(source, block, line, at, self.kinds, most)

    def _parse(
        self,
        source: Source,
        block: bytes,
        line: int,
        at: int,
        kinds: npt.NDArray[np.int8],
        most_rows: int,
    ) -> _Parsed:
        numbers = np.empty((most_rows, int((kinds == NUMBER).sum())))
        spans = np.empty((int((kinds == TEXT).sum()), most_rows, 2), dtype=np.int64)
        long = np.empty((len(block) // 8 + 1, 4), dtype=np.int64)  # none is shorter than 1e100000
        wrong = np.full(len(kinds), -1, dtype=np.int64)
        outcome, end, rows, longs = cells.parse_cells(
            *(np.frombuffer(block, dtype=np.uint8), at, ord(self.layout.delimiter)),
            *(kinds, self.positions, most_rows, cells.NO_VALUE, cells.ENDLESS),
            *(numbers, numbers.view(np.uint64), spans, long, wrong),
        )
        if outcome not in (cells.DONE, cells.OPEN):
            raise self._refusal(source, block, line, outcome, end)
        for row, position, start, stop in long[:longs].tolist():
            numbers[row, position] = float(block[start:stop])
        self._note_texts(source, block, line, wrong)
        text = np.frombuffer(block, dtype=np.uint8)
        codes = [cells.coded(text, inside) for inside in spans[:, :rows]]
        return _Parsed(end, rows, numbers, spans, codes)

    def _note_texts(
        self, source: Source, block: bytes, line: int, wrong: npt.NDArray[np.int64]
    ) -> None:
        for column in np.flatnonzero(wrong >= 0).tolist():
            name = self.layout.names[column]
            if name in self.required:
                at = int(wrong[column])
                raise DataFileError(
                    source.name,
                    *_place(block, line, at),
                    found=f"{_cell(block, at, self.layout.delimiter)} in {name!r}",
                    expected="a number, as the model was fitted on",
                )
            self.texts.add(column)

    def _require_size(self, source: Source) -> None:
        width = int((self.kinds != SKIP).sum())
        for name, found in (("rows", self.rows), ("values", self.rows * width)):
            most = getattr(self.limits, name)
            if found > most:
                raise DataFileError(
                    source.name,
                    found=f"more than {most:,} {name}",
                    expected="fewer",
                    hint=f"raise `{name}` of Limits if this is right",
                )

    def _coded(
        self,
        source: Source,
        block: bytes,
        line: int,
        parsed: _Parsed,
        column: int,
        name: str,
    ) -> npt.NDArray[np.int32]:
        """Codes of a column's texts, the same all through the file; -1 for no value."""
        local, firsts = parsed.codes[column]
        spans = parsed.spans[column]
        known = self.values[column]
        codes = np.empty(len(firsts), dtype=np.int32)
        for i, (start, end) in enumerate(spans[firsts].tolist()):
            value = self._value(source, block, line, start, end)
            if value not in cells.MISSING:
                codes[i] = known.setdefault(value, len(known))
            elif name == self.target:
                raise DataFileError(
                    source.name,
                    *_place(block, line, start),
                    found=f"no label in {name!r}",
                    expected="one in every row",
                )
            else:
                codes[i] = -1
        if name != self.target and len(known) > self.limits.categories:
            raise DataFileError(
                source.name,
                found=f"more than {self.limits.categories:,} different texts in {name!r}",
                expected="a column of numbers or of fewer categories",
                hint="leave the column out, or raise `categories` of Limits",
            )
        return np.asarray(codes[local])

    def _value(self, source: Source, block: bytes, line: int, start: int, end: int) -> str:
        raw = block[start : abs(end)]
        try:
            value = raw.decode()
        except UnicodeDecodeError as error:
            position = _place(block, line, start + error.start)
            raise DataFileError(
                source.name,
                *position,
                found=f"the byte 0x{raw[error.start]:02x}",
                expected="UTF-8 text",
                hint=_UTF8,
            ) from None
        return value.replace('""', '"') if end < 0 else value

    def _refusal(
        self, source: Source, block: bytes, line: int, outcome: int, at: int
    ) -> DataFileError:
        columns = len(self.layout.names)
        found, expected = {
            cells.TOO_MANY: (f"more than {columns} cells", f"{columns} as in the first row"),
            cells.TOO_FEW: (f"fewer than {columns} cells", f"{columns} as in the first row"),
            cells.AFTER_QUOTE: ("text after closing quotes", "a delimiter"),
        }[outcome]
        return DataFileError(source.name, *_place(block, line, at), found=found, expected=expected)

    def _table(self) -> Table:
        if not self.rows:
            raise DataFileError(self.path, found="no rows", expected="at least one")
        codes = np.concatenate(self.codes, axis=1)
        categories = {
            name: Category(codes[i], list(self.values[i]))
            for i, name in enumerate(self._named(TEXT))
        }
        numbers = stacked(self.numbers, self.rows)
        return Table(str(self.path), self.rows, numbers, self._named(NUMBER), categories)


def _cell(block: bytes, at: int, delimiter: str) -> str:
    """The cell at a place, short enough for a sentence."""
    line = block[at : at + 60].split(b"\n")[0].split(delimiter.encode())[0]
    return repr(line.decode(errors="backslashreplace").strip())
