"""Rows in the body of `/predict`: JSON objects by column name, JSON lists, or CSV with a header."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import orjson
import pyarrow

from separatrix.data.data_table import ColumnSpec
from separatrix.data.read_table import table_of
from separatrix.serving.served_model import Rows, ServedModel
from separatrix.web.request_error import RequestError, shorten

NUMBERS: set[type] = {int, float}
CELLS: set[type] = {int, float, bool, str, type(None)}
LONGEST_CELL = 100_000  # characters


def parse_json(body: bytes) -> Any:
    """Parse JSON: numbers are finite."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(400, "json", f"the body is not JSON: {shorten(str(error))}") from None


def rows_of_json(model: ServedModel, body: bytes, most: int) -> Rows:
    """Parse a list of rows, or an object with such a list under "rows"."""
    rows = parse_json(body)
    if isinstance(rows, dict):
        if set(rows) != {"rows"}:
            refuse(f'found an object with {_list_names(rows)}, expected {{"rows": [...]}}')
        rows = rows["rows"]
    if not isinstance(rows, list):
        refuse(f"found {_kind(rows)} for the rows, expected a list")
    require_count(len(rows), most)
    return rows_of_cells(model, [_cells(model, row, number) for number, row in enumerate(rows)])


def rows_of_csv(model: ServedModel, body: bytes, most: int) -> Rows:
    """Parse CSV with a header; columns may be in any order."""
    try:
        lines = csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True)
        header = next(lines, [])
        _require_columns(model, header, "the header")
        order = [header.index(name) for name in model.columns]
        rows: list[list[Any]] = []
        for line in lines:
            if not line:
                continue
            if len(line) != len(header):
                found = f"row {len(rows)}: found {len(line)} cells"
                refuse(f"{found}, expected {len(header)}")
            rows.append([line[j] or None for j in order])
            if len(rows) > most:
                break
    except UnicodeDecodeError as error:
        raise RequestError(400, "csv", f"the body is not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise RequestError(400, "csv", f"the body is not CSV: {shorten(str(error))}") from None
    require_count(len(rows), most)
    if model.encoder is None:
        rows = [[_as_number(cell) for cell in row] for row in rows]
    return rows_of_cells(model, rows)


def rows_of_cells(model: ServedModel, rows: Sequence[Sequence[Any]]) -> Rows:
    """Rows of cells, in the order of the model's columns, as samples."""
    kinds: set[type] = set()
    for row in rows:
        kinds.update(map(type, row))
    if model.encoder is not None:
        if not kinds <= CELLS:
            _refuse_cell(rows, model, lambda c: type(c) in CELLS, "a number, a text or null")
        return _table(model, rows)
    if not kinds <= NUMBERS:
        allowed = NUMBERS | ({type(None)} if model.imputes else set())
        if not kinds <= allowed:
            _refuse_cell(rows, model, lambda cell: type(cell) in allowed, "a number")
        rows = [[math.nan if cell is None else cell for cell in row] for row in rows]
    X = np.array(rows, dtype=np.float64)
    require_finite(model, X)
    return X


def require_finite(model: ServedModel, X: Any) -> None:
    """Refuse infinite values, and NaN unless the model imputes."""
    if np.isfinite(X).all():
        return
    bad = np.isinf(X) if model.imputes else ~np.isfinite(X)
    if bad.any():
        row, j = np.argwhere(bad)[0].tolist()
        found = f"row {row}, column {shorten(repr(model.columns[j]))}: found {X[row, j]}"
        refuse(f"{found}, expected a finite number")


def require_count(n: int, most: int) -> None:
    """Refuse no rows, and too many."""
    if n > most:
        raise RequestError(413, "rows", f"found more than {most} rows, which is the limit")
    if n == 0:
        refuse("found no rows, expected at least one")


def refuse(sentence: str) -> NoReturn:
    """Refuse a request whose values do not fit the model."""
    raise RequestError(422, "rows", sentence)


def _cells(model: ServedModel, row: Any, number: int) -> Sequence[Any]:
    if type(row) is dict:
        if len(row) != len(model.columns) or not row.keys() >= model.column_set:
            _require_columns(model, list(row), f"row {number}")
        return [row[name] for name in model.columns]
    if type(row) is not list:
        refuse(f"row {number}: found {_kind(row)}, expected an object of columns")
    if len(row) != len(model.columns):
        refuse(f"row {number}: found {len(row)} values, expected {len(model.columns)}")
    return row


def _require_columns(model: ServedModel, found: Sequence[str], where: str) -> None:
    unknown = [name for name in found if name not in model.column_set | model.dropped]
    if unknown:
        refuse(f"{where}: the model has no column {shorten(repr(unknown[0]))}")
    missing = [name for name in model.columns if name not in found]
    if missing:
        refuse(f"{where}: column {shorten(repr(missing[0]))} is missing")
    if len(set(found)) < len(found):
        refuse(f"{where}: a column occurs twice")


def _table(model: ServedModel, rows: Sequence[Sequence[Any]]) -> Rows:
    """Cells as a table with the roles that the encoder was fitted to."""
    columns = {}
    for j, spec in enumerate(model.specs):
        columns[spec.name] = pyarrow.array(_column(spec, [row[j] for row in rows]))
    assert model.encoder is not None
    table = table_of(pyarrow.table(columns), specs=model.encoder.columns_).table
    if np.isinf(table.numbers).any():
        refuse("found an infinite number, expected finite ones")
    return table


def _column(spec: ColumnSpec, cells: list[Any]) -> list[float | None] | list[str | None]:
    if spec.role == "number" and all(cell is None or type(cell) in NUMBERS for cell in cells):
        return [None if cell is None else float(cell) for cell in cells]
    texts = [None if cell is None else _as_text(spec, cell) for cell in cells]
    if any(text is not None and len(text) > LONGEST_CELL for text in texts):
        refuse(
            f"column {shorten(repr(spec.name))}: a text is longer than {LONGEST_CELL} characters"
        )
    return texts


def _as_text(spec: ColumnSpec, cell: Any) -> str:
    if isinstance(cell, bool):
        words = spec.format.split("/") if spec.role == "boolean" else ["false", "true"]
        return words[cell]
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _as_number(cell: str | None) -> Any:
    """The number that a cell of CSV holds; other text is kept, and refused later with its position."""
    if cell is None:
        return None
    try:
        return float(cell)
    except ValueError:
        return cell


def _refuse_cell(
    rows: Sequence[Sequence[Any]], model: ServedModel, fits: Any, expected: str
) -> NoReturn:
    for number, row in enumerate(rows):
        for name, cell in zip(model.columns, row, strict=True):
            if not fits(cell):
                found = f"row {number}, column {shorten(repr(name))}: found {_kind(cell)}"
                refuse(f"{found}, expected {expected}")
    raise AssertionError("no cell is wrong")


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {shorten(repr(value))}"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "a number"


def _list_names(names: Any) -> str:
    return shorten(", ".join(map(repr, names)) or "no fields")
