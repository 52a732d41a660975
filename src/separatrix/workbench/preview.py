"""What the process runs that looks at an uploaded file, so that the server never reads one itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.read import format_of, read
from separatrix.errors import DataError
from separatrix.workbench.dispatcher import LIBRARIES, refusal_of
from separatrix.workbench.limits import die_with_parent, limit_memory

ROWS, CELLS, LETTERS = 5, 50, 200  # of a preview
HEAD = 1 << 18  # letters of a table that a preview is taken from


def main(connection: Connection, text: str) -> None:
    """The process that looks at a file, once."""
    die_with_parent()
    asked = json.loads(text)
    limit_memory(asked["memory"] + LIBRARIES)
    try:
        found: dict[str, Any] = look(asked["path"])
    except Exception as error:
        found = dict(refusal_of(error))
    connection.send_bytes(json.dumps(found, allow_nan=False).encode())


def look(path: str) -> dict[str, Any]:
    """What a page shows of a file before anything is done with it."""
    data = read(path)
    if data.y is None:
        raise DataError(f"{path} has samples, but no labels")
    if len(data.y) == 0:
        raise DataError(f"{path} has no rows")
    table = _cells(path) if format_of(path) == "csv" else None
    names = [] if table is None else table[0]
    if table is None and data.target:
        names = list(dict.fromkeys(name.split("=")[0] for name in data.features or ()))
        names.append(data.target)
    return {
        "rows": len(data.y),
        "columns": [{"name": name, "kind": _kind(name, data)} for name in names],
        "target": data.target,
        "notes": list(data.notes),
        "preview": [_shown(row) for row in (_samples(data) if table is None else table[1])],
    }


def _kind(name: str, data: Dataset) -> str:
    """Whether a column was read as numbers or as categories."""
    if name == data.target:
        return "number" if data.y.dtype.kind in "iuf" else "category"
    return "number" if name in (data.features or ()) else "category"


def _cells(path: str) -> tuple[list[str], list[list[str]]]:
    """The names and the first rows of a table as they are written."""
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
    """The first samples with their labels, where a file is no table."""
    return [_sample(data, row) for row in range(min(ROWS, len(data.y)))]


def _sample(data: Dataset, row: int) -> list[str]:
    label = str(data.y[row])
    if isinstance(data.X, list):
        return [label, str(data.X[row])]
    values = data.X[row]
    values = values.toarray().ravel() if hasattr(values, "toarray") else values
    return [*(f"{value:g}" for value in values[:CELLS]), label]


def _shown(cells: list[str]) -> list[str]:
    return [cell.strip()[:LETTERS] for cell in cells[:CELLS]]
