"""Rows in the body of `/predict`: JSON objects by column name, JSON lists, or CSV with a header."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import orjson

from separatrix.data.column_forms import LONGEST_CELL, cell_error, describe_cell
from separatrix.data.numerals import BLANKS, MISSING, is_number
from separatrix.errors import DataError
from separatrix.runtime.strict_json import require_unique_keys
from separatrix.serving.served_model import Rows, ServedModel
from separatrix.web.request_error import RequestError, shorten

NUMBERS: set[type] = {int, float}


def parse_json(body: bytes) -> Any:
    """Parse JSON: numbers are finite, keys of an object differ."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestError(400, "json", f"the body is not JSON: {shorten(str(error))}") from None
    try:
        require_unique_keys(body, value)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, "json", f"the body: {shorten(str(error))}") from None
    return value


def rows_of_json(model: ServedModel, body: bytes, most: int) -> Rows:
    """Parse a list of rows, or an object with such a list under "rows"."""
    rows = parse_json(body)
    if isinstance(rows, dict):
        if set(rows) != {"rows"}:
            refuse(f'found an object with {_list_names(rows)}, expected {{"rows": [...]}}')
        rows = rows["rows"]
    if not isinstance(rows, list):
        refuse(f"found {describe_cell(rows)} for the rows, expected a list")
    require_count(len(rows), most)
    return rows_of_cells(model, [_cells(model, row, number) for number, row in enumerate(rows)])


def rows_of_csv(model: ServedModel, body: bytes, most: int) -> Rows:
    """Parse CSV with a header; columns may be in any order."""
    csv.field_size_limit(max(csv.field_size_limit(), len(body)))  # the form of a column refuses it
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
            rows.append([line[j].strip(BLANKS) or None for j in order])
            if len(rows) > most:
                break
    except UnicodeDecodeError as error:
        raise RequestError(400, "csv", f"the body is not UTF-8 at byte {error.start}") from None
    except csv.Error as error:
        raise RequestError(400, "csv", f"the body is not CSV: {shorten(str(error))}") from None
    require_count(len(rows), most)
    if model.encoder is None:
        rows = [[_as_number(cell, model.imputes) for cell in row] for row in rows]
    return rows_of_cells(model, rows)


def rows_of_cells(model: ServedModel, rows: Sequence[Sequence[Any]]) -> Rows:
    """Rows of cells, in the order of the model's columns, as samples."""
    if model.encoder is not None:
        return model.read_columns(list(zip(*rows, strict=True)))
    kinds: set[type] = set()
    for row in rows:
        kinds.update(map(type, row))
    if not kinds <= NUMBERS:
        allowed = NUMBERS | ({type(None)} if model.imputes else set())
        if not kinds <= allowed:
            raise _first_error(rows, model, allowed)
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
        refuse(f"row {number}: found {describe_cell(row)}, expected an object of columns")
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


def _as_number(cell: str | None, imputes: bool) -> Any:
    """The plain number that a cell of CSV holds; other text is kept, and refused with its position."""
    if cell is None or (imputes and cell in MISSING):
        return None
    return float(cell) if len(cell) <= LONGEST_CELL and is_number(cell) else cell


def _first_error(
    rows: Sequence[Sequence[Any]], model: ServedModel, allowed: set[type]
) -> DataError:
    number, j = next(
        (number, j)
        for number, row in enumerate(rows)
        for j, cell in enumerate(row)
        if type(cell) not in allowed
    )
    return cell_error(number, model.columns[j], rows[number][j], "a number")


def _list_names(names: Any) -> str:
    return shorten(", ".join(map(repr, names)) or "no fields")
