"""Nested columns of Arrow tables as plain ones: who.age of a struct, x.0 and x.1 of lists of numbers.

Other lists and maps are texts in JSON, as in files of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Batches = Callable[[Sequence[str]], Iterable[Any]]
MOST_VALUES = 4096
"""Lists of more numbers are not made into columns."""

_DEEPEST = 4  # structs inside each other that become columns


def flatten_nested(schema: Any, batches: Batches) -> tuple[Any, Batches, list[str]]:
    """The schema and the batches without nested columns, and notes of what became of them."""
    nested = [field for field in schema if pa.types.is_nested(field.type)]
    if not nested:
        return schema, batches, []
    widths = {
        field.name: _common_length(field.type, batches, field.name)
        for field in nested
        if _is_list(field.type)
    }
    empty = pa.Table.from_batches([], schema).combine_chunks()
    parents = {field.name: _flatten(field.name, empty[field.name], widths) for field in schema}
    owner = {name: parent for parent, parts in parents.items() for name in parts}
    flat = pa.schema(
        [(name, part.type) for parts in parents.values() for name, part in parts.items()]
    )

    def read(names: Sequence[str]) -> Iterable[Any]:
        wanted = list(dict.fromkeys(owner[name] for name in names))
        for batch in batches(wanted):
            batch.validate(full=True)
            parts: dict[str, Any] = {}
            for parent in wanted:
                parts |= _flatten(parent, batch.column(parent), widths)
            yield pa.RecordBatch.from_pydict({name: parts[name] for name in names})

    return flat, read, [nested_note(field.name, list(parents[field.name])) for field in nested]


def nested_note(name: str, parts: list[str]) -> str:
    """What became of a nested column."""
    if parts == [name]:
        return f"{name}: lists or maps are read as texts in JSON"
    shown = ", ".join(parts[:3]) + (f", ... {parts[-1]}" if len(parts) > 3 else "")
    return f"{name}: nested values are the columns {shown}"


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _common_length(kind: Any, batches: Batches, name: str) -> int:
    """The length of all lists of numbers in a column; 0 if they differ, or hold other values."""
    inner = kind.value_type
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
        return 0
    lengths: set[int] = set()
    for batch in batches([name]):
        batch.validate(full=True)
        sizes = pc.unique(pc.list_value_length(batch.column(name))).to_pylist()
        lengths |= {size for size in sizes if size is not None}
    length = lengths.pop() if len(lengths) == 1 else 0
    return length if length <= MOST_VALUES else 0


def _flatten(name: str, column: Any, widths: dict[str, int], depth: int = 1) -> dict[str, Any]:
    """A column as plain ones, by name."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_struct(kind) and kind.num_fields and depth <= _DEEPEST:
        found: dict[str, Any] = {}
        for field, part in zip(kind, column.flatten(), strict=True):
            found |= _flatten(f"{name}.{field.name}", part, widths, depth + 1)
        return found
    if width := widths.get(name, 0):
        return {f"{name}.{i}": _element(column, i) for i in range(width)}
    if pa.types.is_nested(kind):
        texts = [None if v is None else json.dumps(v, default=str) for v in column.to_pylist()]
        return {name: pa.array(texts, pa.string())}
    return {name: column}


def _element(column: Any, index: int) -> Any:
    """The value at an index of each list, null where the list is."""
    present = pc.drop_null(column)
    values = pc.list_element(present, index)
    positions = pc.subtract(pc.cumulative_sum(pc.cast(column.is_valid(), pa.int64())), 1)
    return values.take(pc.if_else(column.is_valid(), positions, None))
