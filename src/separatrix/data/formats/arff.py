"""Weka's format ARFF, and KEEL's .dat: declared attributes, then dense or sparse rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from separatrix.data.counts import count_of
from separatrix.data.dataset import Dataset
from separatrix.data.encodings import note_encoding
from separatrix.data.formats.columns import TableContents, format_names
from separatrix.data.formats.layout import column_names
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import scan_rows
from separatrix.data.numerals import is_number
from separatrix.data.streams import ByteSource

_QUOTED = r"'(?:[^'\\]|\\.|'')*+'|\"(?:[^\"\\]|\\.|\"\")*+\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)", re.IGNORECASE | re.DOTALL)
_CELL = re.compile(rf"\s*({_QUOTED}|(?![\s'\"])[^,\t]*)\s*(,|\t|$)")
_PAIR = re.compile(rf"\s*([0-9]+)\s+({_QUOTED}|(?![\s'\"])[^,]*)\s*(,|$)")
_WEIGHT = re.compile(r",\s*\{\s*[0-9.eE+-]+\s*\}$")
_NUMERIC = ("numeric", "real", "integer")
_ABSENT = ("?", "", "<null>")  # the last one is KEEL's
_SKIPPED = ("@relation", "@inputs", "@input", "@outputs", "@output")  # all but the first are KEEL's


class Attribute(NamedTuple):
    """A declared column: its type, and the values of a nominal one."""

    name: str
    type: str  # number, nominal, string or date
    values: tuple[str, ...] = ()


def read_arff(source: ByteSource, **options: Any) -> Dataset:
    """The samples of an ARFF file; options as for `read_csv`."""
    return as_dataset(source, scan_arff(source, **options))


def scan_arff(source: ByteSource, *, encoding: str | None = None, **options: Any) -> TableContents:
    """The columns of an ARFF file; nominal attributes are categories, whatever their values look like."""
    source.use_encoding(encoding)
    lines = source.lines()
    attributes = _read_header(source, lines)
    weighted: list[int] = []
    rows = _rows(source, lines, attributes, weighted)
    declared = [attribute.name for attribute in attributes]
    contents = scan_rows(
        *(source, declared, rows),
        how=f"{len(attributes)} declared attributes",
        **options,
    )
    named = zip(column_names(declared), attributes, strict=True)
    roles = {name: "category" for name, a in named if a.type == "nominal" and len(a.values) > 2}
    number = count_of(len(weighted), "row")
    notes = (f"the weights of {number}, such as {{2}}, are not used",) if weighted else ()
    about = note_encoding(source.encoding, encoding)
    return contents._replace(roles=roles, notes=(*about, *contents.notes, *notes))


def _read_header(source: ByteSource, lines: Iterator[tuple[int, bytes]]) -> list[Attribute]:
    found: list[Attribute] = []
    for number, line in lines:
        text = source.decode(line, number).removeprefix("\ufeff" if number == 1 else "").strip()
        word = text.split(None, 1)[0].lower() if text else ""
        if not text or text.startswith("%") or word in _SKIPPED:
            continue
        if word == "@data":
            if not found:
                raise source.error(number, found="@data", expected="@attribute lines before it")
            return found
        declared = _ATTRIBUTE.fullmatch(text)
        attribute = _declare(declared) if declared else None
        if attribute is None:
            raise source.error(
                number,
                1,
                found=f"{text[:40]!r}",
                expected="@attribute NAME and numeric, string, date or {value, ...}",
            )
        found.append(attribute)
        source.require_limit("columns", len(found), line=number)
    raise source.error(found="no line @data", expected="@data before the rows")


def _declare(declared: re.Match[str]) -> Attribute | None:
    name, kind = _unquote(declared[1]), declared[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        values = _split_cells(kind[1:-1])
        return None if values is None else Attribute(name, "nominal", tuple(values))
    word = re.split(r"[\s\[]", kind, maxsplit=1)[0].lower()  # KEEL: real[0.0,1.0], a range
    if word in _NUMERIC:
        return Attribute(name, "number")
    return Attribute(name, word) if word in ("string", "date") else None


def _rows(
    source: ByteSource,
    lines: Iterator[tuple[int, bytes]],
    attributes: list[Attribute],
    weighted: list[int],
) -> Iterator[list[Any]]:
    """The cells of each row; `weighted` gets the lines of rows that have a weight."""
    known = [set(attribute.values) for attribute in attributes]
    zero = [_default(attribute) for attribute in attributes]
    for number, line in lines:
        text = source.decode(line, number).strip()
        if not text or text.startswith("%"):
            continue
        if text.endswith("}") and (weight := _WEIGHT.search(text)):
            text = text[: weight.start()].rstrip()
            weighted.append(number)
        sparse = text.startswith("{") and text.endswith("}")
        cells = _split_sparse(text[1:-1], zero) if sparse else _split_cells(text)
        if cells is None or len(cells) != len(attributes):
            count = f"{text[:40]!r}" if cells is None else f"{len(cells)} cells"
            expected = f"{len(attributes)} cells, quotes around the whole of one"
            raise source.error(number, 1, found=count, expected=expected)
        yield [
            _convert(source, number, cell, attribute, values)
            for cell, attribute, values in zip(cells, attributes, known, strict=True)
        ]


def _default(attribute: Attribute) -> str:
    """What a sparse row leaves out: 0, or the first value of a nominal attribute."""
    return attribute.values[0] if attribute.values else "0"


def _convert(
    source: ByteSource, line: int, cell: str, attribute: Attribute, values: set[str]
) -> Any:
    if cell in _ABSENT:  # NaN, so that a column without a single value is one of numbers
        return math.nan if attribute.type == "number" else None
    if attribute.type == "number":
        if not is_number(cell):
            raise source.error(
                line, found=f"{cell!r:.40} in {attribute.name!r}", expected="a number or ?"
            )
        return float(cell)
    if attribute.type == "nominal" and cell not in values:
        raise source.error(
            line,
            found=f"{cell!r:.40} in {attribute.name!r}",
            expected=f"one of its values {format_names(attribute.values)}",
        )
    return cell


def _split_cells(text: str) -> list[str] | None:
    """The cells of a dense row; None if its quotes do not match."""
    if "'" not in text and '"' not in text and "\t" not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, at = [], 0
    while True:
        found = _CELL.match(text, at)
        if found is None:
            return None
        cells.append(_unquote(found[1].strip()))
        at = found.end()
        if not found[2]:
            return cells if at == len(text) else None


def _split_sparse(text: str, zero: list[str]) -> list[str] | None:
    """The cells of a sparse row such as `1 0.5, 3 red`."""
    cells, at, text = list(zero), 0, text.rstrip()
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None or len(found[1]) > 9 or int(found[1]) >= len(cells):
            return None
        cells[int(found[1])] = _unquote(found[2].strip())
        at = found.end()
    return cells


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(rf"\\(.)|{text[0]}({text[0]})", r"\1\2", text[1:-1])
    return text
