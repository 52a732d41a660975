"""The preview of an uploaded file, in a process of its own: the server never reads one itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from separatrix.data.data_table import KEPT, DataTable
from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.read import TABLES, format_of, read
from separatrix.errors import DataError
from separatrix.workbench.worker import Channel, describe_error

ROWS, CELLS, CHARACTERS = 5, 50, 200  # of a preview
MOST_CODES = 10  # different whole numbers that are taken for classes
CATEGORIES = ("category", "codes")
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
    format = format_of(path)
    data = _read_guessed(path) if format in TABLES else read(path)
    if data.y is None:
        raise DataError(f"{path} has samples, but no labels")
    if len(data.y) == 0:
        raise DataError(f"{path} has no rows")
    names: list[str] = []
    if format == "csv":
        names, rows = _table_rows(path)
    else:
        rows = _samples(data)
        if data.target:
            names = [*(data.features or ()), data.target]
    return {
        "rows": len(data.y),
        "columns": [{"name": name, "kind": _column_kind(name, data)} for name in names],
        "target": data.target,
        "guess": _explain_guess(data),
        "notes": list(data.notes),
        "preview": [[cell.strip()[:CHARACTERS] for cell in row[:CELLS]] for row in rows],
    }


def _read_guessed(path: str) -> Dataset:
    """A table with the likely target: one named "class" or so, the only category, or the last."""
    from separatrix.data.read_table import read_table

    data = read_table(path)
    if data.y is None or _is_named(data) or not _is_measured(data.y):
        return data
    specs = data.X.specs if isinstance(data.X, DataTable) else ()
    categories = [spec.name for spec in specs if spec.role in CATEGORIES]
    return read_table(path, target=categories[0]) if len(categories) == 1 else data


def _is_named(data: Dataset) -> bool:
    """Whether the target has a name that says so; the import loads pyarrow, the server does not."""
    from separatrix.data.formats.columns import TARGETS

    return data.target.casefold() in TARGETS


def _is_measured(y: Any) -> bool:
    """Whether labels are numbers that were measured rather than codes of classes."""
    if y.dtype.kind not in "iuf":
        return False
    return len(np.unique(y)) > MOST_CODES or bool((y != np.round(y)).any())


def _explain_guess(data: Dataset) -> str:
    """Why a column is taken for the one to predict."""
    if not data.target:
        return ""
    if _is_named(data):
        return "by its name"
    if data.y.dtype.kind in "iuf":
        return "the last column"
    specs = data.X.specs if isinstance(data.X, DataTable) else ()
    only = not any(spec.role in CATEGORIES for spec in specs)
    return "the only column of categories" if only else "the last column"


def _column_kind(name: str, data: Dataset) -> str:
    """The role of a column, as `look` prints it; category for one of many values, drop for one left out."""
    if name == data.target:
        return "number" if data.y.dtype.kind in "iuf" else "category"
    specs = data.X.specs if isinstance(data.X, DataTable) else ()
    role = {spec.name: spec.role for spec in specs}.get(name)
    return "category" if role in CATEGORIES else role if role in KEPT else "drop"


def _table_rows(path: str) -> tuple[list[str], list[list[str]]]:
    """The column names and the first rows of a table, as text."""
    from separatrix.data.formats.layout import detect_layout, text_blocks
    from separatrix.data.streams import open_

    with open_(path, Limits()) as source:
        source.use_encoding()
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
    """The first samples with their labels, of a file that is not delimited text."""
    X, labels = data.X[:ROWS], [str(label) for label in data.y[:ROWS]]
    if isinstance(X, DataTable):
        shown = np.asarray(X).tolist()
        return [
            [*("" if cell is None else str(cell) for cell in row), label]
            for row, label in zip(shown, labels, strict=True)
        ]
    if isinstance(X, list):
        return [[label, str(x)] for x, label in zip(X, labels, strict=True)]
    X = X.toarray() if hasattr(X, "toarray") else X
    cells = ([f"{value:g}" for value in x[:CELLS]] for x in X)
    return [[*row, label] for row, label in zip(cells, labels, strict=True)]
