"""JSON lines: one object a line, its keys are the columns."""

from __future__ import annotations

import json
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import TableContents
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import scan_rows
from separatrix.data.streams import ByteSource


def read_json_lines(source: ByteSource, **options: Any) -> Dataset:
    """The samples of a file of JSON lines; options as for `read_csv`."""
    return as_dataset(source, scan_json_lines(source, **options))


def scan_json_lines(
    source: ByteSource, *, encoding: str | None = None, **options: Any
) -> TableContents:
    """The columns of a file of JSON lines; a key that a line lacks is missing."""
    source.use_encoding(encoding)
    names: dict[str, None] = {}
    records: list[dict[str, Any]] = []
    for number, line in source.lines():
        text = source.decode(line, number).removeprefix("\ufeff").strip()
        if not text:
            continue
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not record:
            raise source.error(
                number, 1, found=f"{text[:40]!r}", expected='an object such as {"age": 31}'
            )
        names.update(dict.fromkeys(record))
        source.require_limit("columns", len(names), line=number)
        source.require_limit("rows", len(records) + 1, line=number)
        records.append(record)
    if not records:
        raise source.error(found="nothing", expected="at least one line")
    source.require_limit("values", len(records) * len(names))
    rows = ([record.get(name) for name in names] for record in records)
    return scan_rows(source, list(names), rows, how="one object a line", **options)
