"""Tables as Parquet, Feather or Arrow files, with columns handled as those of a CSV file.

pyarrow alone does not defend against hostile files: sizes are compared with the limits before a batch is
read, and every batch is validated in full before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import (
    ColumnChoice,
    MissingLabel,
    TableBuilder,
    TableContents,
    choose_columns,
    drop_unlabelled,
    require_target,
)
from separatrix.data.formats.nested import Batches, flatten_nested
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.streams import ByteSource
from separatrix.errors import SeparatrixError
from separatrix.validation import require_choice


def read_arrow(source: ByteSource, **options: Any) -> Dataset:
    """The samples of a Parquet, Feather or Arrow file; the first bytes tell which it is.

    Integers, floats and decimals are numbers; texts, booleans, dates and times are categories. The
    options target, missing_label and features, and one-hot categories, are as for `read_csv`.
    """
    return as_dataset(source, scan_arrow(source, **options))


def scan_arrow(source: ByteSource, **options: Any) -> TableContents:
    """The columns of a Parquet, Feather or Arrow file; options as for `collect_columns`."""
    content = source.read_all()
    with _refuse_damaged(source):
        schema, batches, notes = flatten_nested(*_open_content(source, content))
        _require_limit(source, "columns", len(schema.names))
        contents = collect_columns(source, schema, batches, **options)
        return add_notes(contents, notes, options)


def add_notes(
    contents: TableContents, notes: Sequence[str], options: Mapping[str, Any]
) -> TableContents:
    """The contents with notes on nested columns, unless columns were chosen by a model."""
    chosen = options.get("columns") is not None or options.get("features") is not None
    return contents if chosen else contents._replace(notes=(*notes, *contents.notes))


@contextmanager
def _refuse_damaged(source: ByteSource) -> Iterator[None]:
    try:
        yield
    except SeparatrixError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        reason = str(error).split("\n")[0][:120]
        raise source.error(
            found=f"a damaged file ({reason})", expected="Parquet, Feather or Arrow"
        ) from None


def collect_columns(
    source: ByteSource,
    schema: Any,
    batches: Batches,
    *,
    target: str | int | None = "auto",
    missing_label: MissingLabel = "error",
    features: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    as_text: Sequence[str] = (),
    by_columns: bool = False,
    how: str = "typed columns",
) -> TableContents:
    """The columns of Arrow batches; options as for `scan_csv`."""
    require_target("read_arrow", target)
    require_choice("read_arrow", "missing_label", missing_label, ("error", "drop"))
    names = tuple(schema.names)
    if not names or len(set(names)) < len(names) or not all(names):
        raise source.error(found=f"columns named {names!r:.80}", expected="other names")
    nested: list[str] = []
    if columns is None and features is None:
        names, nested = _without_nested(schema, target)
    choice = choose_columns(source, names, target, features, columns=columns, as_text=as_text)
    numbers = [name for name in choice.used if _is_number(source, schema, name, choice)]
    known = set(numbers)  # tables may have 100,000 columns
    texts = [name for name in choice.used if name not in known]
    builder = TableBuilder(source, numbers, texts, choice.target, missing_label)
    for batch in batches(choice.used):
        batch.validate(full=True)
        builder.add(pa.Table.from_batches([_encode_texts(batch, texts)]))
    table, dropped = drop_unlabelled(builder.table("F" if by_columns else "C"), choice.target)
    notes = (*nested, *dropped)
    return TableContents(replace(table, order=tuple(choice.used)), choice, notes, how)


def _without_nested(schema: Any, target: object) -> tuple[tuple[str, ...], list[str]]:
    """Names of the columns of single values, and of the target; notes about the others."""
    kept, notes = [], []
    for field in schema:
        nested = pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
        if nested and field.name != target:
            notes.append(f"{field.name}: {field.type} holds no numbers, texts or dates; left out")
        else:
            kept.append(field.name)
    return (tuple(kept), notes) if len(kept) > 1 else (tuple(schema.names), [])


def _open_content(source: ByteSource, content: bytes) -> tuple[Any, Batches]:
    """The schema of a file, and a function from column names to batches."""
    if content.startswith(b"PAR1"):
        return _open_parquet(source, content)
    if content.startswith(b"ARROW1"):
        reader = pa.ipc.open_file(pa.BufferReader(content))
        _require_limit(source, "columns", len(reader.schema.names))
        numbers = range(reader.num_record_batches)
        return reader.schema, lambda _: (reader.get_batch(number) for number in numbers)
    raise source.error(
        found=f"a file that begins with {content[:6]!r}", expected="Parquet, Feather or Arrow"
    )


def _open_parquet(source: ByteSource, content: bytes) -> tuple[Any, Batches]:
    limits = source.limits
    file = pyarrow.parquet.ParquetFile(
        pa.BufferReader(content), thrift_container_size_limit=4 * limits.columns
    )
    about = file.metadata
    inflated = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    values = about.num_rows * about.num_columns
    _require_limit(source, "columns", about.num_columns)
    _require_limit(source, "rows", about.num_rows)
    _require_limit(source, "values", values)
    _require_limit(source, "inflated_bytes", inflated)
    if 8 * values > limits.inflation_free + limits.inflation * len(content):
        raise source.error(
            found=f"{values:,} values in {len(content):,} bytes",
            expected=f"less than {limits.inflation} bytes for each compressed byte",
            hint="raise `inflation` of Limits if this is intended",
        )
    return file.schema_arrow, lambda names: file.iter_batches(columns=list(names))


def _require_limit(source: ByteSource, name: str, size: int) -> None:
    source.require_limit(name, size, found=f"{size:,} {name.replace('_', ' ')}")


def _is_number(source: ByteSource, schema: Any, name: str, choice: ColumnChoice) -> bool:
    """Whether a column is read as numbers; refused if its type is neither numeric nor text."""
    types, kind = pa.types, schema.field(name).type
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    number = any(test(kind) for test in numeric)
    plain = kind.value_type if types.is_dictionary(kind) else kind
    strings = (types.is_string, types.is_large_string, types.is_string_view)
    textual = (*strings, types.is_boolean, types.is_temporal)
    if not number and not any(test(plain) for test in textual):
        raise source.error(found=f"{kind} in {name!r}", expected="numbers, texts, dates or times")
    required = name in choice.numeric()
    if required and not number:
        raise source.error(
            found=f"{kind} in {name!r}", expected="numbers, as the model was fitted on"
        )
    free = choice.features is None and name not in choice.as_text
    return number and name != choice.target and (free or required)


def _encode_texts(batch: Any, texts: Sequence[str]) -> Any:
    """The batch with every column of `texts` dictionary-encoded."""
    columns, position = batch.columns, {name: i for i, name in enumerate(batch.schema.names)}
    for name in texts:
        column = batch.column(position[name])
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        columns[position[name]] = column.cast("string").dictionary_encode()
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
