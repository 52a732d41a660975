"""Rows of Python values to the columns of a table: worksheets, databases, JSON lines, ARFF, frames."""

from __future__ import annotations

import datetime
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from separatrix.data.formats.arrow import add_notes, collect_columns
from separatrix.data.formats.columns import TableContents
from separatrix.data.formats.layout import (
    clean_name,
    column_names,
    is_value,
    note_renamed,
    number_names,
)
from separatrix.data.formats.nested import flatten_nested
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource
from separatrix.errors import DataError

_BATCH = 50_000  # rows converted at once


def scan_rows(
    source: ByteSource, names: Sequence[str], rows: Iterable[Sequence[Any]], **options: Any
) -> TableContents:
    """The columns of rows of Python values; options as for `collect_columns`."""
    unique = column_names(names)
    columns: list[list[Any]] = [[] for _ in unique]
    count = 0
    for row in rows:
        count += 1
        source.require_limit("rows", count)
        source.require_limit("values", count * len(unique))
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    if not count:
        raise source.error(found="no rows", expected="at least one")
    with _refuse_surrogates():
        arrays = [as_array(values) for values in columns]
        table = pa.table(dict(zip(unique, arrays, strict=True)))
    contents = scan_arrow_table(source, table, **options)
    return contents._replace(notes=(*note_renamed(names, unique), *contents.notes))


def scan_arrow_table(source: ByteSource, table: Any, **options: Any) -> TableContents:
    """The columns of an Arrow table."""
    batches = lambda names: table.select(list(names)).to_batches(max_chunksize=_BATCH)  # noqa: E731
    schema, batches, notes = flatten_nested(table.schema, batches)
    return add_notes(collect_columns(source, schema, batches, **options), notes, options)


def as_array(values: Sequence[Any]) -> Any:
    """An Arrow array of numbers, booleans or texts from Python values of any types."""
    types = {type(value) for value in values} - {type(None)}
    if types <= {bool}:
        return pa.array(values, pa.bool_() if types else pa.string())
    if types <= {int, float}:
        return pa.array([None if v is None else _as_float(v) for v in values], pa.float64())
    if types and types <= {bytes, bytearray, memoryview} and not _are_texts(values):
        return pa.array([None if v is None else bytes(v) for v in values], pa.binary())
    return pa.array([_as_text(value) for value in values], pa.string())


@contextmanager
def _refuse_surrogates() -> Iterator[None]:
    """Refuse what Python allows in a text and UTF-8 does not."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise DataError(
            f"found half of a surrogate pair in the text {str(error.object)[:40]!a}, "
            "expected text that UTF-8 can encode"
        ) from None


def _as_float(value: float) -> float:
    """The nearest float; infinite for an integer beyond all of them, as 1e999 is."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _are_texts(values: Sequence[Any]) -> bool:
    """Whether bytes are printable texts in UTF-8, as databases may store them."""
    try:
        texts = [bytes(value).decode() for value in values if value is not None]
    except UnicodeDecodeError:
        return False
    return all("".join(text.split()).isprintable() for text in texts)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time(0)
        return value.date().isoformat() if midnight else value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value)


def split_header(rows: Sequence[Sequence[Any]], header: bool | None) -> bool:
    """Whether the first row names the columns: texts, at least one above a column of other values."""
    if header is not None or not rows:
        return bool(header)
    first, below = rows[0], rows[1:100]
    if any(cell is not None and not isinstance(cell, str) for cell in first):
        return False
    texts = [isinstance(cell, str) and not is_value(cell) for cell in first]
    seen = [{_as_text(row[j]) for row in below} for j in range(len(first))]
    return all(
        text or cell in (None, "") for text, cell in zip(texts, first, strict=True)
    ) and not any(cell in column for cell, column in zip(first, seen, strict=True) if cell)


def memory_source(name: str, limits: Limits | None = None) -> ByteSource:
    """A source without bytes, for limits and errors of tables that are in memory."""
    return ByteSource(name, io.BytesIO(b""), limits or Limits())


def frame_to_arrow(frame: Any) -> Any:
    """A pandas, polars or pyarrow table as an Arrow table with unique names."""
    with _refuse_surrogates():
        table = _to_arrow(frame)
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    table = table.select(names).replace_schema_metadata(None)
    return table.rename_columns(list(number_names([clean_name(str(name)) for name in names])))


def _to_arrow(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "to_arrow"):  # polars, of which old versions have no stream
        table = frame.to_arrow()
        if isinstance(table, pa.Table):
            return table
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__dataframe__"):
        try:
            return pa.table(frame)
        except (pa.ArrowException, TypeError, ValueError):
            return pa.table({str(name): as_array(list(frame[name])) for name in frame.columns})
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
        return pa.table({str(name): as_array(list(frame[name])) for name in frame.columns})
    raise DataError(f"expected a table of pandas, polars or pyarrow; got {type(frame).__name__}")
