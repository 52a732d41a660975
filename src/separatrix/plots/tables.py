"""The numbers of a figure as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.errors import DataError


@dataclass(frozen=True)
class Table:
    """Rows of plain values under named columns.

    Floats are shown to 4 significant digits, strings as they are, None and NaN as a dash. A column
    named in `bars` has a bar behind each of its numbers, the longest for the largest.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    bars: Sequence[str] = ()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise DataError(
                    f"a table of {len(self.columns)} columns needs as many values in each row; "
                    f"row {number} has {len(row)}"
                )
