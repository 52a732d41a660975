"""The columns of a table as they stand in the file: numbers as numbers, everything else as texts."""

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
class Columns:
    """A table by its columns."""

    names: tuple[str, ...]  # in the order of the file
    numbers: Mapping[str, Vector]  # NaN where there is none
    categories: Mapping[str, Category]

    def texts(self, name: str) -> list[str]:
        """A column as texts; nothing where it has nothing."""
        if name in self.categories:
            codes, values = self.categories[name]
            return [values[code] if code >= 0 else "" for code in codes.tolist()]
        return [_written(value) for value in self.numbers[name].tolist()]

    def label_columns(self, few: int) -> list[str]:
        """Columns that may be labels: texts, and numbers of which few are different."""
        return [
            name
            for name in self.names
            if name in self.categories or len(np.unique(self.numbers[name])) <= few
        ]


def read_columns(path: Path, limits: Limits) -> Columns:
    """The table in a file, read as `read_csv` reads it."""
    from separatrix.data.formats.records import read_columns as read_file_columns  # pyarrow

    with open_(path, limits) as source:
        layout = detect_layout(source)
        table = read_file_columns(source, layout)
    numbers = dict(zip(table.number_names, table.numbers.T, strict=True))
    return Columns(tuple(layout.names), numbers, table.categories)


def _written(value: float) -> str:
    """A number as a label.

    >>> _written(3.0), _written(0.5), _written(float("nan"))
    ('3', '0.5', '')
    """
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if value == np.rint(value) and abs(value) < 2**53 else repr(value)
