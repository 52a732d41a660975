"""Tables of mixed columns as samples: indexed by rows, each column with its role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

KEPT = ("number", "boolean", "date", "category", "codes", "text")
"""Roles of columns that a model uses; "codes" are categories of very many values."""

DROPPED = ("constant", "id", "index", "dropped")
"""Roles of columns that no model uses."""

NUMERIC = ("number", "boolean", "date")


class ColumnSpec(NamedTuple):
    """The role of a column, and the rule that gave it."""

    name: str
    role: str  # one of KEPT or DROPPED
    format: str = ""  # convention of numbers, words of a boolean, format of dates
    reason: str = ""

    @property
    def kept(self) -> bool:
        """Whether a model uses the column."""
        return self.role in KEPT


class Category(NamedTuple):
    """A column of texts: the code of each row, -1 for missing, and the text of each code."""

    codes: npt.NDArray[np.int32]  # shape: (n,)
    values: list[str]


@dataclass(frozen=True)
class DataTable:
    """Rows of mixed columns; `table[rows]` are some of them.

    Numbers, booleans (0 and 1) and dates (seconds since 1970) are columns of one matrix, NaN for missing;
    categories and texts are codes of texts.
    """

    specs: tuple[ColumnSpec, ...]  # of all columns of the file but the target
    numbers: npt.NDArray[np.float64]  # shape: (n, numeric columns)
    texts: Mapping[str, Category]

    @cached_property
    def kept(self) -> tuple[ColumnSpec, ...]:
        """Columns that a model uses."""
        return tuple(spec for spec in self.specs if spec.kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that a model uses."""
        return tuple(spec.name for spec in self.kept)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that a model uses."""
        return len(self.numbers), len(self.kept)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.numbers.nbytes + sum(column.codes.nbytes for column in self.texts.values())

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> DataTable:
        texts = {name: Category(codes[rows], v) for name, (codes, v) in self.texts.items()}
        return DataTable(self.specs, self.numbers[rows], texts)

    def number_column(self, name: str) -> npt.NDArray[np.float64]:
        """A column of numbers, booleans or dates."""
        column: npt.NDArray[np.float64] = self.numbers[:, self._numeric[name]]
        return column

    @cached_property
    def _numeric(self) -> dict[str, int]:
        """The column of `numbers` of each number, boolean or date."""
        names = [spec.name for spec in self.kept if spec.role in NUMERIC]
        return {name: j for j, name in enumerate(names)}

    def with_column(self, name: str, rows: Any) -> DataTable:
        """The table with the values of one column in another order."""
        if name in self.texts:
            codes, values = self.texts[name]
            return DataTable(
                self.specs, self.numbers, {**self.texts, name: Category(codes[rows], values)}
            )
        numbers = self.numbers.copy()
        j = self._numeric[name]
        numbers[:, j] = numbers[rows, j]
        return DataTable(self.specs, numbers, self.texts)

    def without(self, name: str, reason: str) -> DataTable:
        """The table with one of its columns dropped."""
        specs = tuple(
            ColumnSpec(name, "dropped", "", reason) if spec.name == name else spec
            for spec in self.specs
        )
        numeric = [spec.name for spec in self.kept if spec.role in NUMERIC]
        kept = [j for j, other in enumerate(numeric) if other != name]
        texts = {other: column for other, column in self.texts.items() if other != name}
        return DataTable(specs, self.numbers[:, kept], texts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Cells as people read them: floats, texts, dates; None for missing."""
        columns = [shown_values(self, spec) for spec in self.kept]
        cells = np.empty(self.shape, dtype=object)
        for j, column in enumerate(columns):
            cells[:, j] = column
        return cells if dtype is None else cells.astype(dtype)


def shown_values(table: DataTable, spec: ColumnSpec) -> list[Any]:
    """The cells of a column as people read them."""
    if spec.role not in NUMERIC:
        codes, values = table.texts[spec.name]
        return [None if code < 0 else values[code] for code in codes.tolist()]
    column = table.number_column(spec.name)
    if spec.role == "date":
        time = spec.format.startswith(("%H", "%I"))  # of the day
        shown = shown_time if time else shown_date
        return [None if v != v else shown(v) for v in column.tolist()]
    if spec.role == "boolean":
        words = spec.format.split("/")
        return [None if v != v else words[int(v)] for v in column.tolist()]
    return [None if v != v else v for v in column.tolist()]


def shown_date(seconds: float) -> str:
    """Seconds since 1970 as a date, with the time of the day unless it is midnight."""
    return str(np.datetime64(int(seconds), "s")).removesuffix("T00:00:00").replace("T", " ")


def shown_time(seconds: float) -> str:
    """Seconds since midnight as a time of the day.

    >>> shown_time(29_700.0), shown_time(29_701.0)
    ('08:15', '08:15:01')
    """
    return str(np.datetime64(int(seconds), "s")).partition("T")[2].removesuffix(":00")


def count_roles(specs: Sequence[ColumnSpec]) -> str:
    """The number of columns of each role, in words.

    >>> count_roles([ColumnSpec("a", "number"), ColumnSpec("b", "number"), ColumnSpec("c", "id")])
    '2 numbers, 1 id (dropped)'
    """
    plural = {
        "number": "numbers",
        "boolean": "booleans",
        "date": "dates",
        "category": "categories",
        "codes": "categories of many values",
        "text": "texts",
        "constant": "constants",
        "id": "ids",
        "index": "indices",
        "dropped": "columns",
    }
    found = []
    for role in (*KEPT, *DROPPED):
        count = sum(spec.role == role for spec in specs)
        single = {"codes": "category of many values", "dropped": "column"}.get(role, role)
        name = single if count == 1 else plural[role]
        if count:
            found.append(f"{count} {name}" + ("" if role in KEPT else " (dropped)"))
    return ", ".join(found)
