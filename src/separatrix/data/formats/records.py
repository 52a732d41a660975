"""Delimited text to a `ColumnTable`, batch by batch: large plain ones by compiled code, else by pyarrow.

Numbers are converted while they are read. Only where pyarrow refuses a batch is it read again as texts,
to see which columns hold texts or which cell is wrong, and split cell by cell to report line and column.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from separatrix.data.formats.cells import MalformedRecordError, RecordSplitter, TableCell
from separatrix.data.formats.columns import (
    ColumnChoice,
    ColumnTable,
    MissingLabel,
    TableBuilder,
    choose_columns,
)
from separatrix.data.formats.layout import TableLayout, text_blocks
from separatrix.data.formats.plain_rows import parse_plain
from separatrix.data.numerals import MISSING, is_number
from separatrix.data.streams import ByteSource, locate, newlines
from separatrix.errors import DataFileError

_BATCH_BYTES = 8 << 20  # parsed at once
_COMPILED_BYTES = 2 << 20  # from which compiling a parser, once in an installation, pays
_MOST_WORKERS = 4
_TEXT = pa.dictionary(pa.int32(), pa.string())
_MISSING = pa.array(MISSING)
_FEW_MALFORMED = 0.05  # share of the rows
_MOST_FOOTNOTES = 20  # lines of one cell
_MOST_MALFORMED = 10_000  # lines that are kept until all rows are counted
_LEAST_WIDTH = 3  # of a table in which a line of one cell is no row
_ROW_HINT = (
    'a cell with the delimiter in it needs quotes, "a, b", and a quote in a quoted cell is doubled; '
    "lines that are no rows must be deleted"
)


def read_columns(
    source: ByteSource,
    layout: TableLayout,
    choice: ColumnChoice | None = None,
    missing_label: MissingLabel = "error",
    order: Literal["C", "F"] = "C",
) -> ColumnTable:
    """The columns of delimited text from the position of the source on; by default all of them.

    A column with a cell that is neither a number nor missing is a category, and so is the target.
    """
    choice = choice or choose_columns(source, layout.names)
    return _RecordReader(source, layout, choice).read(missing_label, order)


class _RecordBlock(NamedTuple):
    """Complete records: `raw` from the offset `start` on."""

    raw: bytes
    position: int  # of the first byte of raw in the file
    start: int = 0
    text: bytes = b""  # the same records for pyarrow


class _RecordReader:
    """Reads a source until every column is known to hold numbers or texts."""

    def __init__(self, source: ByteSource, layout: TableLayout, choice: ColumnChoice) -> None:
        self.source, self.layout = source, layout
        self.used, self.target, features = choice.used, choice.target, choice.features
        self.start = source.position, source.line
        self.plain = True  # whether blocks may be parsed by compiled code
        self.splitter = RecordSplitter(layout.delimiter, len(layout.names))
        self.header = RecordSplitter(layout.delimiter, layout.header_width or len(layout.names))
        self.malformed: dict[int, tuple[_RecordBlock, list[str]]] = {}  # by position of the block
        self.required = choice.numeric()
        self.categories = set() if self.target is None else {self.target}
        if features is not None:
            self.categories |= set(self.used) - self.required
        self.categories |= choice.as_text.intersection(self.used)
        hints = layout.texts.intersection(self.used) if features is None else set()
        self.texts = self.categories | hints

    def read(self, missing_label: MissingLabel, order: Literal["C", "F"]) -> ColumnTable:
        """The table; read again if a column that seemed numeric turns out to hold texts."""
        hinted = self.texts - self.categories
        while True:
            self.source.rewind(*self.start)
            numbers = [name for name in self.used if name not in self.texts]
            texts = [name for name in self.used if name in self.texts]
            builder = TableBuilder(self.source, numbers, texts, self.target, missing_label)
            found: set[str] = set()
            for number, (block, parsed) in enumerate(self._parse_ahead(builder, found)):
                self._add(builder, block, parsed, found)
                if found and number == 0:
                    break  # no need to look for more before the second pass
            if not found:
                notes = self._note_malformed(builder.rows)
                table = replace(builder.table(order), notes=notes)
                found = {
                    name for name in hinted if all(map(is_number, table.categories[name].values))
                }
                if not found:
                    return table
                hinted = set()
            self.texts ^= found

    def _blocks(self) -> Iterator[_RecordBlock]:
        """Blocks of complete records, without the header."""
        held, position, header = b"", self.start[0], self.layout.header + self.layout.units
        for block in self._batches():
            block = held + block if held else block
            self._require_text(block, position)
            start = 0
            if header:
                ends = (end for _, end in self._split(_RecordBlock(block, position), self.header))
                start = next(islice(ends, header - 1, None), 0)
                header = 0 if start else header
            end = start
            if not header:
                text, end = self._normalize(_RecordBlock(block, position, start))
                if text:
                    yield _RecordBlock(block, position, start, text)
            held = block[end:]
            position += end
            if len(held) > self.source.limits.line_bytes:
                break
        if held:
            line = self._line(position) + newlines(held[: self.splitter.skip_empty(held)])
            raise self.source.error(
                line, found="quotes that are opened and not closed", expected='"..." around a cell'
            )

    def _line(self, position: int) -> int:
        return self.source.line_at(position, self.start)

    def _batches(self) -> Iterator[bytes]:
        parts, size = list[bytes](), 0
        for block in text_blocks(self.source, _BATCH_BYTES):
            parts.append(block)
            size += len(block)
            if size >= _BATCH_BYTES // 2:  # a block ends with its last complete line
                yield b"".join(parts)
                parts, size = [], 0
        if parts:
            yield b"".join(parts)

    def _require_text(self, block: bytes, position: int) -> None:
        """Refuse bytes that are not UTF-8, which pyarrow could not locate, and zero bytes."""
        try:
            if not block.isascii():
                block.decode()
        except UnicodeDecodeError as error:
            line, column = locate(block, self._line(position), error.start)
            begin = error.start - column + 1
            self.source.decode(block[begin : error.end], line)
        offset = block.find(b"\0")
        if offset >= 0:
            raise self.source.error(
                *locate(block, self._line(position), offset),
                found="a zero byte",
                expected="UTF-8 text",
                hint="delete zero bytes: tr -d '\\0' < FILE > CLEAN; or name the encoding with --encoding",
            )

    def _normalize(self, block: _RecordBlock) -> tuple[bytes, int]:
        try:
            return self.splitter.normalize(block.raw, block.start)
        except MalformedRecordError as error:
            raise self._malformed(error, block) from None

    def _split(
        self, block: _RecordBlock, splitter: RecordSplitter | None = None
    ) -> Iterator[tuple[list[TableCell], int]]:
        try:
            yield from (splitter or self.splitter).records(block.raw, block.start)
        except MalformedRecordError as error:
            raise self._malformed(error, block) from None

    def _malformed(self, error: MalformedRecordError, block: _RecordBlock) -> DataFileError:
        where = locate(block.raw, self._line(block.position), error.offset)
        return self.source.error(*where, found=error.found, expected=error.expected, hint=_ROW_HINT)

    def _parse_ahead(
        self, builder: TableBuilder, found: set[str]
    ) -> Iterator[tuple[_RecordBlock, Any]]:
        """Each block with its columns, None if pyarrow refuses it; the next one is parsed meanwhile."""
        types = {name: pa.float64() for name in builder.numbers} | dict.fromkeys(self.texts, _TEXT)

        def parse(block: _RecordBlock) -> Any:
            if found:
                return None
            if self.plain and len(block.text) >= _COMPILED_BYTES:
                texts = [name for name in self.used if name in self.texts]
                where = self.layout.delimiter, self.layout.names
                table = parse_plain(block.text, *where, builder.numbers, texts)
                if table is not None:
                    return table
                self.plain = False
            try:
                return self._parse(block, types)
            except pa.ArrowInvalid:
                return None

        blocks = self._blocks()
        begun = list(islice(blocks, 2))
        if len(begun) < 2:  # a thread would take longer to start than a small file to parse
            yield from ((block, parse(block)) for block in begun)
            return
        workers = max(1, min(_MOST_WORKERS, pa.cpu_count()))
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[tuple[_RecordBlock, Future[Any]]] = deque()
            for block in chain(begun, blocks):
                waiting.append((block, pool.submit(parse, block)))
                if len(waiting) > workers:
                    oldest, parsed = waiting.popleft()
                    yield oldest, parsed.result()
            for oldest, parsed in waiting:
                yield oldest, parsed.result()

    def _add(self, builder: TableBuilder, block: _RecordBlock, table: Any, found: set[str]) -> None:
        """Add the records of a block; `found` gets the columns that turn out to hold texts."""
        if table is None or _has_nan(block, table, builder.numbers):
            table = self._convert_exactly(builder.numbers, block, found)
        if not found:
            builder.add(table, partial(self._locate, block, self.target or ""))

    def _parse(self, block: _RecordBlock, types: dict[str, Any]) -> Any:
        """The columns named in `types` as a pyarrow table."""
        odd = list[str]()
        self.malformed[block.position] = (block, odd)
        return pyarrow.csv.read_csv(
            pa.BufferReader(block.text),
            read_options=pyarrow.csv.ReadOptions(column_names=self.layout.names),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self.layout.delimiter,
                newlines_in_values=b'"' in block.text,
                invalid_row_handler=partial(self._handle_invalid_row, odd),
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=self.used,
                column_types=types,
                null_values=list(MISSING),
                strings_can_be_null=True,
            ),
        )

    def _handle_invalid_row(self, odd: list[str], row: Any) -> str:
        """Skip lines that are no rows, and those of other widths, about which `_note_malformed` decides."""
        text = row.text.strip(self.splitter.blanks.decode())
        if not text or (self.layout.comments and text[0] == "#"):
            return "skip"
        odd.append(text)
        return "skip" if len(odd) <= _MOST_MALFORMED else "error"

    def _note_malformed(self, rows: int) -> tuple[str, ...]:
        """A note on lines of too few or too many cells, which were skipped; an error if they are many.

        Without labels, rows are predicted: only footnotes below all of them may be skipped.
        """
        blocks = [(block, odd) for block, odd in self.malformed.values() if odd]
        if not blocks:
            return ()
        found = [text for _, odd in blocks for text in odd]
        rest = sum(self.layout.delimiter in text for text in found)
        width = len(self.layout.names)
        few = rest <= _FEW_MALFORMED * rows and len(found) - rest <= _MOST_FOOTNOTES
        aligned = self.target is not None or (not rest and self._ends_with(found))
        if not few or not aligned or width < _LEAST_WIDTH:
            raise self._find_error(blocks[0][0])
        shown = ", ".join(repr(text[:40]) for text in found[:3]) + ", ..." * (len(found) > 3)
        lines = "1 line has" if len(found) == 1 else f"{len(found):,} lines have"
        verb = "is" if len(found) == 1 else "are"
        return (f"{lines} other than {width} cells and {verb} set aside: {shown}",)

    def _ends_with(self, texts: list[str]) -> bool:
        """Whether these are the last lines of the text."""
        last = self.malformed[max(self.malformed)][0].raw.decode(errors="replace")
        lines = [line.strip() for line in last.splitlines() if line.strip()]
        return lines[-len(texts) :] == [text.strip() for text in texts]

    def _convert_exactly(
        self, numbers: tuple[str, ...], block: _RecordBlock, found: set[str]
    ) -> Any:
        """The block read as texts, then converted; wrong records and cells are reported."""
        types = {name: pa.string() for name in numbers} | dict.fromkeys(self.texts, _TEXT)
        try:
            table = self._parse(block, types)
        except pa.ArrowInvalid:
            raise self._find_error(block) from None
        for name in numbers:
            column = pc.ascii_trim(table.column(name), " \t")
            column = pc.if_else(pc.is_in(column, _MISSING), None, column)
            values = column.to_pylist()
            wrong = next((i for i, v in enumerate(values) if v and not is_number(v)), None)
            if wrong is None:
                column = column.cast(pa.float64())
                table = table.set_column(table.column_names.index(name), name, column)
            elif name in self.required:
                raise self.source.error(
                    *self._locate(block, name, wrong),
                    found=f"{values[wrong]!r:.60} in {name!r}",
                    expected="a number, as the model was fitted on",
                )
            else:
                found.add(name)
        return table

    def _find_error(self, block: _RecordBlock) -> DataFileError:
        """Why pyarrow cannot read a block: a wrong record."""
        deque(self._split(block), maxlen=0)  # refuses it
        line = self._line(block.position)
        return self.source.error(line, found="unreadable records", expected="delimited text")

    def _locate(self, block: _RecordBlock, name: str, row: int) -> tuple[int, int]:
        """Line and column of a cell in a row of the block."""
        column = self.layout.names.index(name)
        cells, _ = next(islice(self._split(block), row, None))
        return locate(block.raw, self._line(block.position), cells[column].offset)


def _has_nan(block: _RecordBlock, table: Any, names: tuple[str, ...]) -> bool:
    """Whether a number is NaN and not null: pyarrow takes NAN and nan(1) for numbers."""
    possible = b"n" in block.text or b"N" in block.text
    return possible and any(pc.any(pc.is_nan(table.column(name))).as_py() for name in names)
