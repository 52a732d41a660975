"""Tables as Parquet, Feather or Arrow files, with the columns handled as those of a CSV file.

pyarrow checks what it reads but was not made for hostile files: every batch is validated in full
before anything in it is touched, and sizes are held against the limits before it is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.dataset import Dataset
from separatrix.data.formats.cells import MISSING
from separatrix.data.formats.columns import (
    Category,
    Table,
    Wanted,
    as_dataset,
    find_target,
    find_wanted,
    require_target,
    stacked,
)
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.errors import DataFileError, MissingPackageError, SeparatrixError


def read_arrow(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = "auto",
    features: Sequence[str] | None = None,
    limits: Limits | None = None,
) -> Dataset:
    """The samples of a Parquet, Feather or Arrow file; what it is is seen from its first bytes.

    Whole numbers, reals and decimals are numbers; texts, truth values, dates and times are categories.
    `target`, `features` and what becomes of a category are as for `read_csv`.
    """
    require_target("read_arrow", target)
    limits = limits or Limits()
    pa = _pyarrow()
    with open_(path, limits) as source:
        content = source.read_all()
    try:
        schema, batches = _opened(str(path), content, limits)
        reading = _Reading(str(path), schema, target, features, limits)
        for batch in batches(reading.used):
            batch.validate(full=True)
            reading.take(batch)
    except SeparatrixError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        reason = str(error).split("\n")[0][:120]
        raise DataFileError(
            path, found=f"a damaged file ({reason})", expected="Parquet, Feather or Arrow"
        ) from None
    return as_dataset(Path(path).name, reading.table(), reading.target, reading.wanted, limits)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingPackageError(
            "pyarrow is not installed; install it with: pip install 'separatrix[data]'"
        ) from None
    return pyarrow


def _opened(path: str, content: bytes, limits: Limits) -> tuple[Any, Any]:
    """The schema of a file, and a function from the names to read to the batches."""
    pa = _pyarrow()
    if content.startswith(b"PAR1"):
        return _parquet(path, content, limits)
    if content.startswith(b"ARROW1"):
        reader = pa.ipc.open_file(pa.BufferReader(content))
        _require_columns(path, len(reader.schema.names), limits)
        numbers = range(reader.num_record_batches)
        return reader.schema, lambda _: (reader.get_batch(number) for number in numbers)
    raise DataFileError(
        path, found=f"a file that begins with {content[:6]!r}", expected="Parquet, Feather or Arrow"
    )


def _parquet(path: str, content: bytes, limits: Limits) -> tuple[Any, Any]:
    import pyarrow as pa
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(
        pa.BufferReader(content), thrift_container_size_limit=4 * limits.columns
    )
    about = file.metadata
    _require_columns(path, about.num_columns, limits)
    inflated = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    values = about.num_rows * about.num_columns
    for name, found in (("rows", about.num_rows), ("values", values), ("inflated_bytes", inflated)):
        _require_at_most(path, name, found, getattr(limits, name))
    if 8 * values > limits.inflation_free + limits.inflation * len(content):
        raise DataFileError(
            path,
            found=f"{values:,} values in {len(content):,} bytes",
            expected=f"less than {limits.inflation} bytes for each packed one",
            hint="raise `inflation` of Limits if this is right",
        )
    return file.schema_arrow, lambda names: file.iter_batches(columns=list(names))


def _require_columns(path: str, found: int, limits: Limits) -> None:
    _require_at_most(path, "columns", found, limits.columns)


def _require_at_most(path: str, name: str, found: int, most: int) -> None:
    if found > most:
        raise DataFileError(
            path,
            found=f"{found:,} {name.replace('_', ' ')}",
            expected=f"at most {most:,}",
            hint=f"raise `{name}` of Limits if this is right",
        )


class _Reading:
    """One file on its way to a table."""

    def __init__(
        self,
        path: str,
        schema: Any,
        target: str | int | None,
        features: Sequence[str] | None,
        limits: Limits,
    ) -> None:
        names = tuple(schema.names)
        if len(set(names)) < len(names) or not names:
            raise DataFileError(path, found=f"columns named {names!r:.80}", expected="other names")
        self.path, self.limits, self.rows = path, limits, 0
        self.wanted: Wanted | None = (
            None if features is None else find_wanted(path, names, features)
        )
        taken = () if self.wanted is None else self.wanted.columns
        self.target = find_target(path, names, target, taken)
        kept = names if self.wanted is None else (*taken, self.target)
        self.used = [name for name in names if name in set(kept)]
        self.numeric = tuple(name for name in self.used if self._is_number(schema, name))
        self.parts: list[npt.NDArray[np.float64]] = []
        self.values: dict[str, dict[str, int]] = {
            name: {} for name in self.used if name not in self.numeric
        }
        self.codes: dict[str, list[npt.NDArray[np.int32]]] = {name: [] for name in self.values}

    def _is_number(self, schema: Any, name: str) -> bool:
        """Whether a column is read as numbers; refused where it is neither these nor texts."""
        types, kind = _pyarrow().types, schema.field(name).type
        number = any(
            (
                types.is_integer(kind),
                types.is_floating(kind),
                types.is_decimal(kind),
                types.is_null(kind),
            )
        )
        plain = kind.value_type if types.is_dictionary(kind) else kind
        text = types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
        if not (number or text or types.is_boolean(plain) or types.is_temporal(plain)):
            raise DataFileError(
                self.path, found=f"{kind} in {name!r}", expected="numbers, texts, dates or times"
            )
        required = self.wanted is not None and name in self.wanted.numeric()
        if required and not number:
            raise DataFileError(
                self.path,
                found=f"{kind} in {name!r}",
                expected="numbers, as the model was fitted on",
            )
        if name == self.target:
            return False
        return number and (self.wanted is None or required)

    def take(self, batch: Any) -> None:
        """Keep the rows of a batch."""
        self.rows += batch.num_rows
        _require_at_most(self.path, "rows", self.rows, self.limits.rows)
        _require_at_most(self.path, "values", self.rows * len(self.used), self.limits.values)
        self.parts.append(np.empty((batch.num_rows, len(self.numeric))))
        for i, name in enumerate(self.numeric):
            numbers = batch.column(name).cast("double", safe=False)
            self.parts[-1][:, i] = numbers.to_numpy(zero_copy_only=False)
        for name in self.values:
            self.codes[name].append(self._coded(name, batch.column(name)))

    def _coded(self, name: str, column: Any) -> npt.NDArray[np.int32]:
        """Codes of a column's texts, the same all through the file; -1 for no value."""
        if _pyarrow().types.is_dictionary(column.type):
            column = column.dictionary_decode()
        local = column.cast("string").dictionary_encode()
        known = self.values[name]
        codes = [self._code(known, value) for value in local.dictionary.to_pylist()]
        found = local.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        result: npt.NDArray[np.int32] = np.array([*codes, -1], dtype=np.int32)[found]
        if name == self.target and (result < 0).any():
            row = self.rows - len(result) + int(np.argmax(result < 0)) + 1
            raise DataFileError(
                self.path, found=f"no label in {name!r}, row {row:,}", expected="one in every row"
            )
        if name != self.target and len(known) > self.limits.categories:
            raise DataFileError(
                self.path,
                found=f"more than {self.limits.categories:,} different texts in {name!r}",
                expected="a column of numbers or of fewer categories",
                hint="leave the column out, or raise `categories` of Limits",
            )
        return result

    @staticmethod
    def _code(known: dict[str, int], value: str | None) -> int:
        value = (value or "").strip(" \t")
        return -1 if value in MISSING else known.setdefault(value, len(known))

    def table(self) -> Table:
        """The columns."""
        if not self.rows:
            raise DataFileError(self.path, found="no rows", expected="at least one")
        categories = {
            name: Category(np.concatenate(self.codes[name]), list(values))
            for name, values in self.values.items()
        }
        return Table(self.path, self.rows, stacked(self.parts, self.rows), self.numeric, categories)
