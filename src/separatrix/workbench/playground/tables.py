"""The columns of a table: numbers as numbers, everything else as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from separatrix.data.formats.columns import Category
from separatrix.data.formats.layout import detect_layout
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.types import Vector


@dataclass(frozen=True)
class PointColumns:
    """A table by its columns."""

    names: tuple[str, ...]  # in the order of the file
    numbers: Mapping[str, Vector]  # NaN where there is none
    categories: Mapping[str, Category]

    def texts(self, name: str) -> list[str]:
        """A column as text; missing values are empty."""
        if name in self.categories:
            codes, values = self.categories[name]
            return [values[code] if code >= 0 else "" for code in codes.tolist()]
        return [_number_text(value) for value in self.numbers[name].tolist()]

    def label_columns(self, few: int) -> list[str]:
        """Columns that may be labels: text, and numbers with at most `few` different values."""
        return [
            name
            for name in self.names
            if name in self.categories or len(np.unique(self.numbers[name])) <= few
        ]


def read_columns(path: Path, limits: Limits) -> PointColumns:
    """The table in a file, as `read_csv` reads it."""
    from separatrix.data.formats.records import read_columns as read_file_columns  # pyarrow

    with open_(path, limits) as source:
        layout = detect_layout(source)
        table = read_file_columns(source, layout)
    numbers = dict(zip(table.number_names, table.numbers.T, strict=True))
    return PointColumns(tuple(layout.names), numbers, table.categories)


def _number_text(value: float) -> str:
    """A number as text.

    >>> _number_text(3.0), _number_text(0.5), _number_text(float("nan"))
    ('3', '0.5', '')
    """
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if value == np.rint(value) and abs(value) < 2**53 else repr(value)
