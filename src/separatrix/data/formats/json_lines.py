"""JSON: one object a line, or an array of objects; their keys are the columns."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import TableContents
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import scan_rows
from separatrix.data.streams import ByteSource

_HEAD = 64  # bytes that show whether a file is an array


def read_json_lines(source: ByteSource, **options: Any) -> Dataset:
    """The samples of a file of JSON lines; options as for `read_csv`."""
    return as_dataset(source, scan_json_lines(source, **options))


def scan_json_lines(
    source: ByteSource, *, encoding: str | None = None, **options: Any
) -> TableContents:
    """The columns of a file of JSON lines, or of one array; a key that an object lacks is missing."""
    source.use_encoding(encoding)
    first = bytes(source.read_up_to(_HEAD)).removeprefix(codecs.BOM_UTF8).lstrip()
    source.rewind()
    array = first.startswith(b"[")
    names: dict[str, None] = {}
    records: list[dict[str, Any]] = []
    for line, record in _array(source) if array else _lines(source):
        names.update(dict.fromkeys(record))
        source.require_limit("columns", len(names), line=line)
        source.require_limit("rows", len(records) + 1, line=line)
        records.append(record)
    if not records:
        raise source.error(found="nothing", expected="at least one object")
    source.require_limit("values", len(records) * len(names))
    rows = ([record.get(name) for name in names] for record in records)
    return scan_rows(
        source,
        list(names),
        rows,
        how="an array of objects" if array else "one object a line",
        **options,
    )


def _lines(source: ByteSource) -> Iterator[tuple[int, dict[str, Any]]]:
    """The object of each line that is not empty, with its number."""
    for number, line in source.lines():
        text = source.decode(line, number).removeprefix("\ufeff").strip()
        if text:
            yield number, _require_object(source, _load(text), text, number)


def _array(source: ByteSource) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array, which may have many lines."""
    text = source.decode(source.read_all(), 1).removeprefix("\ufeff")
    found = _load(text)
    if not isinstance(found, list):
        raise source.error(found="a damaged array", expected='[{"age": 31}, ...]')
    for record in found:
        yield 0, _require_object(source, record, str(record), 0)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _require_object(source: ByteSource, record: Any, text: str, line: int) -> dict[str, Any]:
    if not isinstance(record, dict) or not record:
        raise source.error(
            line, int(line > 0), found=f"{text[:40]!r}", expected='an object such as {"age": 31}'
        )
    return record
