"""The preview of an uploaded file, in a process of its own: the server never reads one itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.read import format_of, read
from separatrix.errors import DataError
from separatrix.workbench.worker import Channel, describe_error

ROWS, CELLS, CHARACTERS = 5, 50, 200  # of a preview
HEAD = 1 << 18  # characters at the start of a table that the preview is taken from


def main(channel: Channel, path: str) -> None:
    """Send the preview of a file, or why it cannot be read."""
    try:
        kind, body = "preview", preview(path)
    except Exception as error:
        kind, body = "refused", dict(describe_error(error))
    channel.send({"kind": kind}, json.dumps(body, allow_nan=False).encode())


def preview(path: str) -> dict[str, Any]:
    """The number of rows, the columns, the likely target, notes and the first rows of a file."""
    data = read(path)
    if data.y is None:
        raise DataError(f"{path} has samples, but no labels")
    if len(data.y) == 0:
        raise DataError(f"{path} has no rows")
    table = _table_rows(path) if format_of(path) == "csv" else None
    names = [] if table is None else table[0]
    if table is None and data.target:
        names = list(dict.fromkeys(name.split("=")[0] for name in data.features or ()))
        names.append(data.target)
    return {
        "rows": len(data.y),
        "columns": [{"name": name, "kind": _column_kind(name, data)} for name in names],
        "target": data.target,
        "notes": list(data.notes),
        "preview": [_cut(row) for row in (_samples(data) if table is None else table[1])],
    }


def _column_kind(name: str, data: Dataset) -> str:
    """Whether the reader took a column for numbers or for categories."""
    if name == data.target:
        return "number" if data.y.dtype.kind in "iuf" else "category"
    return "number" if name in (data.features or ()) else "category"


def _table_rows(path: str) -> tuple[list[str], list[list[str]]]:
    """The column names and the first rows of a table, as text."""
    from separatrix.data.formats.layout import detect_layout, text_blocks
    from separatrix.data.streams import open_

    with open_(path, Limits()) as source:
        layout = detect_layout(source)
        head = next(iter(text_blocks(source)), b"")
    text = io.StringIO(head[:HEAD].decode("utf-8", errors="replace"), newline="")
    csv.field_size_limit(max(csv.field_size_limit(), HEAD))  # one cell may be all of it
    rows: Iterable[list[str]]
    if layout.delimiter == " ":
        rows = (line.split() for line in text)
    else:
        rows = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True)
    full = (row for row in rows if any(cell.strip() for cell in row))
    return list(layout.names), list(islice(full, layout.header, ROWS + layout.header))


def _samples(data: Dataset) -> list[list[str]]:
    """The first samples with their labels, of a file that is not a table."""
    return [_sample(data, row) for row in range(min(ROWS, len(data.y)))]


def _sample(data: Dataset, row: int) -> list[str]:
    label = str(data.y[row])
    if isinstance(data.X, list):
        return [label, str(data.X[row])]
    values = data.X[row]
    values = values.toarray().ravel() if hasattr(values, "toarray") else values
    return [*(f"{value:g}" for value in values[:CELLS]), label]


def _cut(cells: list[str]) -> list[str]:
    return [cell.strip()[:CHARACTERS] for cell in cells[:CELLS]]
