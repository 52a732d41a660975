"""The layout of a delimited file, detected from its beginning: delimiter, header, column names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from separatrix.data.formats.columns import TARGETS
from separatrix.data.numerals import MISSING, is_missing, is_number, is_numeral
from separatrix.data.streams import BLOCK, ByteSource, unpacked_suffix

DELIMITERS = (",", ";", "\t", "|", "^", " ", ":")
"""In the order of preference; a colon also stands in times, so that it must give three cells."""
DELIMITER_NAMES = {
    "tab": "\t",
    "\\t": "\t",
    "space": " ",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "caret": "^",
    "colon": ":",
}
"""Words for delimiters, for a command line."""

_SAMPLE_RECORDS, _SAMPLE_BYTES = 100, 1 << 18
_TITLE_LINES, _TITLE_ROWS = 10, 5  # lines above a table at most; its rows that show it
_LEAST_BELOW_UNITS, _MOST_UNITS = 3, 2
_LEAST_BELOW_CORNER = 3  # names of rows below an empty cell
INVISIBLE = "\u200b\u2060\ufeff\u00ad"
"""Characters without a width, which programs put between others."""
_CLEAN_NAME = str.maketrans({**dict.fromkeys(INVISIBLE), "\u00a0": " "})
_BOM = b"\xef\xbb\xbf"
_SEPARATOR_LINE = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?[ \t]*\r?\n', re.IGNORECASE)  # Excel's
_QUOTED = re.compile(rb'"[^"]*"')
_QUOTED_OR_BARE = re.compile(r'"([^"]*)"|(\S+)')
_DECIMAL_COMMA = re.compile(r"(?<![0-9]),|,(?![0-9])")


@dataclass(frozen=True)
class TableLayout:
    """Delimiter, header and column names of a delimited file."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    texts: frozenset[str] = frozenset()  # columns that seem to hold texts; need not be complete
    notes: tuple[str, ...] = ()
    encoding: str = "utf-8"
    codes: frozenset[str] = frozenset()  # columns with cells such as 007
    units: int = 0  # rows beside the header that are none: titles, units, or questions of a survey
    header_width: int = 0  # cells of the header if rows have one more, without a name; else 0
    comments: bool = False  # whether lines that begin with # are no rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns but an empty one behind the last delimiter of every row."""
        return self.names[: self.header_width] if self._ends_empty else self.names

    @property
    def _ends_empty(self) -> bool:
        return bool(self.header_width) and self.names[0] != default_names(1)[0]

    def __str__(self) -> str:
        words = {"\t": "tab", " ": "blank", **{v: k for k, v in DELIMITER_NAMES.items() if v > " "}}
        header = "header" if self.header else "no header"
        return f"{self.encoding.upper()}, {words[self.delimiter]}s, {header}"


def text_blocks(source: ByteSource, size: int = BLOCK) -> Iterator[bytes]:
    """Blocks of complete lines, the first without its byte order mark."""
    blocks = source.blocks(size)
    first = next(blocks, b"")
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
    """The layout of a source at its beginning; the source is rewound to its first record.

    `features` are names of a fitted model: a first record that has one of them is a header.
    """
    given, start = _skip_separator_line(source)
    delimiter = delimiter or given
    head = b""
    for block in text_blocks(source):
        head += block
        if len(head) >= _SAMPLE_BYTES:
            break
    source.rewind(*start)
    _require_no_page(source, head)
    title = _find_title(head[:_SAMPLE_BYTES], (delimiter,) if delimiter else DELIMITERS[:5])
    skipped: tuple[str, ...] = ()
    comments = bool(title) and all(line[:1] in (b"", b"#") for line in title.split(b"\n"))
    if title:
        more = "; other lines that begin with # are skipped as well" if comments else ""
        skipped = (_note_title(title) + more,)
        marked = not start[0] and source.encoding == "utf-8" and _begins_with_mark(source)
        start = (start[0] + 3 * marked + len(title), start[1] + title.count(b"\n"))
        head = head[len(title) :]
        source.rewind(*start)
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
    above = _count_above(records) if header is None else 0
    for row in records[:above]:
        skipped = (*skipped, f"row above the header skipped: {', '.join(row)[:60]}")
    del records[:above]
    if header is None:
        header = bool(set(features or ()) & set(records[0])) or _has_header(records)
    units = _count_units(records) if header else 0
    for row in records[1 : 1 + units]:
        skipped = (*skipped, f"row of units below the header skipped: {', '.join(row)[:60]}")
    del records[1 : 1 + units]
    short = len(records[0]) if header and _lacks_a_name(records) else 0
    if short:
        skipped = (*skipped, _add_name(records))
    width = len(records[0])
    names = column_names(records[0]) if header else default_names(width)
    notes = note_renamed(records[0], names) if header else ()
    sample = records[header : header + 20]
    samples = ({row[i] for row in sample if i < len(row)} for i in range(width))
    texts = {name for name, cells in zip(names, samples, strict=True) if not _is_numeric(cells)}
    codes = (name for i, name in enumerate(names) if _holds_codes(records[header:], i))
    found = frozenset(texts), (*skipped, *notes), source.encoding, frozenset(codes)
    return TableLayout(delimiter, header, names, *found, above + units, short, comments)


def _require_no_page(source: ByteSource, head: bytes) -> None:
    """Refuse a page of the web, which a download may give in place of a table."""
    if re.match(rb"\s*<(?:!doctype|html|table|\?xml)", head, re.IGNORECASE):
        raise source.error(
            1,
            found="a page of the web, HTML or XML",
            expected="delimited text",
            hint="download the file itself, or save the table as CSV",
        )


def _skip_separator_line(source: ByteSource) -> tuple[str | None, tuple[int, int]]:
    """The delimiter of Excel's line `sep=;`, which is skipped, and where the records begin."""
    found = _SEPARATOR_LINE.match(bytes(source.read_up_to(32)))
    delimiter = found[1].decode("latin-1") if found else ""
    if found is None or delimiter not in DELIMITERS:
        source.rewind()
        return None, (0, 1)
    source.rewind(found.end(), 2)
    return delimiter, (found.end(), 2)


def _find_title(head: bytes, delimiters: Sequence[str]) -> bytes:
    """The lines before a table, such as a title: few cells, above many rows of more; b"" for none.

    >>> _find_title(b"Sales of 2024\\n\\n" + 5 * b"1,2,3\\n", ",")
    b'Sales of 2024\\n\\n'
    """
    lines = head.split(b"\n")[: _TITLE_LINES + _TITLE_ROWS]
    plain = [_QUOTED.sub(b"", line) for line in lines]
    words = [len(line.split()) for line in plain]
    cells = [
        [line.count(delimiter.encode()) + 1 if line.strip() else 0 for line in plain]
        for delimiter in delimiters
    ]
    if any(len(set(sizes) - {0}) == 1 < max(sizes) for sizes in (words, *cells)):
        return b""  # a table from its first line on
    for sizes in cells:
        for end in range(1, min(_TITLE_LINES, len(lines) - _TITLE_ROWS) + 1):
            below = set(sizes[end : end + _TITLE_ROWS])
            width = below.pop()
            few = all(size <= 2 and size < width for row in cells for size in row[:end])
            if not below and width > 2 and few:
                above = b"\n".join(lines[:end]) + b"\n"
                return above if above.strip() and b'"' not in above else b""
    return b""


def _note_title(title: bytes) -> str:
    lines = [line for line in title.decode("utf-8", errors="replace").splitlines() if line.strip()]
    number = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"{number} above the table skipped: {lines[0].strip()[:40]!r}"


def _begins_with_mark(source: ByteSource) -> bool:
    source.rewind()
    return source.read(len(_BOM)) == _BOM


def default_names(columns: int) -> tuple[str, ...]:
    """x1, x2, ...: names of columns without a header."""
    return tuple(f"x{i}" for i in range(1, columns + 1))


def _require_columns(source: ByteSource, head: bytes, delimiters: tuple[str, ...]) -> None:
    """Refuse a first line of too many cells before it is split."""
    line = head.partition(b"\n")[0]
    found = max(line.count(delimiter.encode()) for delimiter in delimiters) + 1
    if len(line) > source.limits.columns:
        source.require_limit("columns", found, line=1, found=f"{found:,} columns")


def _sample_records(text: str, delimiter: str, most: int = _SAMPLE_RECORDS) -> list[list[str]]:
    """The first records that are not empty, cells without surrounding blanks."""
    if delimiter == " ":
        rows = (_split_at_blanks(line) for line in text.splitlines())
        return list(islice((row for row in rows if row), most))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    found = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1:
                found.append([cell.strip(" \t") for cell in row])
            if len(found) == most:
                break
    except csv.Error:  # reported with line and column when the records are read
        pass
    return found


def _split_at_blanks(line: str) -> list[str]:
    """The cells of a line, some of them in quotes.

    >>> _split_at_blanks('"net pay" 3  x')
    ['net pay', '3', 'x']
    """
    if '"' not in line:
        return line.split()
    return [text or quoted for quoted, text in _QUOTED_OR_BARE.findall(line)]


def _detect_delimiter(text: str) -> str:
    """The first one that splits the first records into equally many cells, more than one.

    A comma that is only seen between digits is a decimal comma if another delimiter splits them, too.
    """
    found = []
    for delimiter in DELIMITERS:
        if delimiter != " " and delimiter not in text:
            continue
        rows = _sample_records(text, delimiter, 20)
        sizes = {len(row) for row in (rows[1:] if _lacks_a_name(rows) and len(rows) > 2 else rows)}
        if len(sizes) == 1 and sizes.pop() > (2 if delimiter == ":" else 1):
            found.append(delimiter)
    first = text.split("\n", 1)[0]
    if not found:
        return max(DELIMITERS[:5], key=first.count)
    decimal = found[0] == "," and len(found) > 1 and found[1] != " "
    return found[1] if decimal and not _DECIMAL_COMMA.search(text) else found[0]


def splits_evenly(text: str) -> bool:
    """Whether a rare delimiter, a caret or colons, splits the first records into equally many cells.

    >>> splits_evenly("a:b:c\\n1:2:x\\n"), splits_evenly("12:30\\n14:05\\n"), splits_evenly("a:b:c")
    (True, False, False)
    """
    return text.count("\n") > 1 and _detect_delimiter(text) in "^:" and "," not in text


def _has_header(records: list[list[str]]) -> bool:
    """Whether the first record has a text above numbers, or only texts that do not recur below.

    A single record is a header if nothing in it is a number. One with the name of a target, such as
    class, may have other texts that recur: a column named "ja" of answers ja and nein. The first cell
    may be empty above names or numbers of the rows, as R and pandas write it.
    """
    first = records[0]
    below = [row for row in records[1:] if row != first]  # repeated where files were put together
    texts = [not is_value(cell) for cell in first]
    for column, text in enumerate(texts):
        cells = {row[column] for row in below if column < len(row)}.difference(MISSING)
        if text and cells and all(map(is_value, cells)):
            return True
    corner = _has_corner(first, below)
    names = first[corner:]
    if len(set(names)) < len(names):
        return False
    if not all(texts[corner:]):
        return corner and "" not in names and _name_rows([row[0] for row in below])
    recurs = [any(cell in row[i : i + 1] for row in below) for i, cell in enumerate(names, corner)]
    named = any(
        cell.casefold() in TARGETS and len(cell) > 1 and not again
        for cell, again in zip(names, recurs, strict=True)
    )
    return named or not any(recurs)


def _has_corner(first: list[str], below: list[list[str]]) -> bool:
    """Whether the first cell is empty, and no other one of the first column is."""
    return len(first) > 1 and not first[0] and not any(is_missing(row[0]) for row in below)


def _name_rows(cells: list[str]) -> bool:
    """Whether cells are different texts, or count the rows.

    >>> _name_rows(["Oslo", "Ulm", "Bern"]), _name_rows(["7", "8", "9"]), _name_rows(["1.5", "2", "3"])
    (True, True, False)
    """
    if len(cells) < _LEAST_BELOW_CORNER or len(set(cells)) < len(cells):
        return False
    if not any(map(is_value, cells)):
        return True
    counts = [int(cell) for cell in cells if cell.isascii() and cell.isdigit() and len(cell) < 10]
    return counts == list(range(counts[0], counts[0] + len(cells))) if counts else False


def _count_above(records: list[list[str]]) -> int:
    """Rows above the header, of a title or of merged cells: texts, some of them empty or repeated.

    >>> _count_above([["Person", "Person", ""], ["age", "pay", "job"], ["31", "5", "x"], ["2", "3", "y"]])
    1
    """
    for count, row in enumerate(records[: _TITLE_LINES + 1]):
        names = len(set(row)) == len(row) and "" not in row
        if names:
            return count if count and _is_above_numbers(records[count:]) else 0
        if any(is_value(cell) for cell in row if cell):
            return 0
    return 0


def _is_above_numbers(records: list[list[str]]) -> bool:
    """Whether the first record is of texts, one of them above a column of values only."""
    if len(records) < 3 or any(map(is_value, records[0])):
        return False
    columns = ({row[i] for row in records[1:] if i < len(row)} for i in range(len(records[0])))
    known = (cells.difference(MISSING) for cells in columns)
    return any(cells and sum(map(is_value, cells)) >= 0.9 * len(cells) for cells in known)


def _lacks_a_name(records: list[list[str]]) -> bool:
    """Whether all rows have one cell more than the header."""
    if len(records) < 2 or len(records[0]) < 2:
        return False
    return {len(row) - len(records[0]) for row in records[1:]} == {1}


def _add_name(records: list[list[str]]) -> str:
    """Name the column that the header lacks: the last if it is empty, else the first; returns a note."""
    empty = not any(row[-1] for row in records[1:])
    records[0] = [*records[0], ""] if empty else ["", *records[0]]
    if empty:
        return "every row ends with a delimiter: the last column is empty"
    return "the header has one name less than the rows have cells: the first column has no name"


def _count_units(records: list[list[str]]) -> int:
    """Rows below the header that hold no values: one of units, or one or two with questions of a survey.

    >>> _count_units([["size", "class"], ["cm", "-"], ["1", "a"], ["2", "b"], ["3", "a"]])
    1
    """
    for count in range(_MOST_UNITS, 0, -1):
        below = records[1 + count :]
        if len(below) >= _LEAST_BELOW_UNITS and all(
            _are_units(row, below) and len(row) == len(records[0]) for row in records[1 : 1 + count]
        ):
            return count
    return 0


def _are_units(row: list[str], below: list[list[str]]) -> bool:
    """Whether a row has a text above columns of numbers, no numbers there, and values of no other column.

    A column of one text, an answer that was ticked, may repeat it.
    """
    above = False
    for column, unit in enumerate(row):
        cells = {cells[column] for cells in below if column < len(cells)}.difference(MISSING)
        if cells and all(map(is_value, cells)):
            if is_value(unit) and not is_missing(unit):
                return False
            above = above or not is_missing(unit)
        elif unit in cells and len(cells) > 1:
            return False
    return above


def is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or missing: no name of a column."""
    return is_numeral(cell) or is_number(cell) or is_missing(cell) or bool(_DATE.match(cell))


_DATE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[ T].*)?$")


def _is_numeric(cells: set[str]) -> bool:
    return all(is_number(cell) or cell in MISSING for cell in cells)


def _holds_codes(records: list[list[str]], column: int) -> bool:
    """Whether a cell such as 007 or 01234 shows that its column holds codes and not numbers."""
    return any(column < len(row) and _has_leading_zero(row[column]) for row in records)


def _has_leading_zero(cell: str) -> bool:
    """Whether a cell is a whole number with a zero before it.

    >>> [_has_leading_zero(cell) for cell in ("007", "0", "0.5", "-1")]
    [True, False, False, False]
    """
    return len(cell) > 1 and cell[0] == "0" and cell.isdigit()


def column_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Names from a header; a column without one is named by its position, a repeated one numbered.

    >>> column_names(["a ", "a", ""])
    ('a_2', 'a', 'x3')
    """
    named = zip(map(clean_name, cells), default_names(len(cells)), strict=True)
    names = [cell or name for cell, name in named]
    order = sorted(range(len(names)), key=lambda i: names[i] != cells[i])  # names as written first
    unique = dict(zip(order, number_names([names[i] for i in order]), strict=True))
    return tuple(unique[i] for i in range(len(names)))


def clean_name(name: str) -> str:
    """A name of a column without invisible characters and blanks around it.

    >>> clean_name("\\ufeffage\\u200b"), clean_name("net\\u00a0pay ")
    ('age', 'net pay')
    """
    return name.translate(_CLEAN_NAME).strip()


def number_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that all differ: the second column named a becomes a_2.

    >>> number_names(["a", "b", "a", "a_2", "a"])
    ('a', 'b', 'a_3', 'a_2', 'a_4')
    """
    given, taken, found = set(names), set[str](), list[str]()
    last = dict.fromkeys(names, 1)  # number of the latest column of a name
    for name in names:
        unique = name
        while unique in taken or (unique != name and unique in given):
            last[name] += 1
            unique = f"{name}_{last[name]}"
        taken.add(unique)
        found.append(unique)
    return tuple(found)


def note_renamed(cells: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Notes on columns of the same name, blanks aside, and on names with invisible characters."""
    pairs = [(clean_name(cell), name) for cell, name in zip(cells, names, strict=True)]
    renamed = [f"{cell!r} is now {name!r}" for cell, name in pairs if cell and cell != name]
    notes = [f"columns of the same name were numbered: {', '.join(renamed)}"] if renamed else []
    hidden = [clean_name(cell) for cell in cells if set(cell) & set(INVISIBLE)]
    shown = ", ".join(map(repr, hidden[:5])) + (", ..." if len(hidden) > 5 else "")
    if hidden:
        notes.append(f"invisible characters were removed from the names {shown}")
    return tuple(notes)
