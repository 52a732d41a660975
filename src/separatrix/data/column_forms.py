"""Cells of one row each, read by the form of their training column alone.

A file shows its own notation, so `roles.py` may read its columns in another one. A cell that arrives by
itself shows nothing: what its column's form does not read is refused, and no cell decides about another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

import numpy as np

from separatrix.data.data_table import NUMERIC, Category, ColumnSpec, DataTable
from separatrix.data.dates import parse_dates
from separatrix.data.numerals import (
    BLANKS,
    BOOLEANS,
    MISSING,
    MISSING_WORDS,
    TRUTH,
    is_missing,
    is_number,
    marks_of,
    parse_numbers,
)
from separatrix.data.units import is_percent, split_form, strip_unit
from separatrix.errors import DataError
from separatrix.types import Vector

LONGEST_CELL = 100_000  # characters
MOST_SHOWN = 60  # characters of a cell or a name in a message
_NUMBERS, _NONE = {int, float}, type(None)


class ColumnForm:
    """How the cells of a column were written at training; `known` are the values of a category.

    >>> ColumnForm(ColumnSpec("age", "number", "1.234,5")).read(["1.234", "1,5", 2, None]).tolist()
    [1234.0, 1.5, 2.0, nan]
    >>> ColumnForm(ColumnSpec("age", "number", "plain")).read([1.0, "1,5"])
    Traceback (most recent call last):
    ...
    separatrix.errors.DataError: row 1, column 'age': found the text '1,5', expected a number or null
    >>> ColumnForm(ColumnSpec("x", "number", "plain with %")).read(["12 %", "0", 12.5])
    Traceback (most recent call last):
    ...
    separatrix.errors.DataError: row 2, column 'x': found the number 12.5, expected a number with % or null
    """

    def __init__(self, spec: ColumnSpec, known: Collection[str] = ()) -> None:
        self.spec, self.known = spec, frozenset(known)
        self._numeric_words = any(map(is_number, self.known))
        self._truth_words = not self.known.isdisjoint(("false", "true"))
        self._percent = spec.role == "number" and is_percent(spec.format)
        self._true: dict[str, float] = {}
        if spec.role == "boolean":
            words = spec.format.split("/")
            several = words == list(BOOLEANS[0])  # such columns may have had all of them
            self._true = TRUTH if several else {word: TRUTH[word] for word in words}

    @property
    def expected(self) -> str:
        """What a cell must be, in words."""
        convention, unit, marks = split_form(self.spec.format)
        marks = tuple(mark for mark in marks if mark != "%")
        written = "" if convention in ("", "plain") else f" written as {convention}"
        words = ["a text"]
        words += ["a number"] if self._numeric_words else []
        words += ["true or false"] if self._truth_words else []
        meant = {
            "number": f"a number{written}"
            + (f" in {unit}" if unit else "")
            + (" with %" if self._percent else "")
            + (f", perhaps with {' or '.join(marks)}" if marks else ""),
            "boolean": self.spec.format.replace("/", " or "),
            "date": f"a date in the form {self.spec.format}",
        }
        return f"{meant.get(self.spec.role, ' or '.join(words))} or null"

    def read(self, cells: Sequence[Any]) -> Any:
        """Numbers, NaN for missing, or a `Category`; a cell that does not fit is an error."""
        types = set(map(type, cells))
        if self.spec.role == "number" and not self._percent and types <= {*_NUMBERS, _NONE}:
            values = np.array([math.nan if c is None else c for c in cells], dtype=np.float64)
            if np.isinf(values).any():
                self._refuse(cells, int(np.isinf(values).argmax()), "a finite number")
            return values
        if str in types:
            cells = [cell.strip(BLANKS) if type(cell) is str else cell for cell in cells]
        if self.spec.role not in NUMERIC:
            return self._read_texts(cells)
        known = self._read_different({cell for cell in cells if type(cell) is str})
        values = np.array([self._value(cell, known) for cell in cells])
        lost = np.isinf(values)  # nothing else is infinite
        if lost.any():
            self._refuse(cells, int(lost.argmax()))
        return values

    def _value(self, cell: Any, known: dict[str, float]) -> float:
        """The number of a cell, infinite for one that does not fit."""
        kind = type(cell)
        if cell is None:
            return math.nan
        if kind is str:
            return known[cell]
        if self.spec.role == "number":
            bare = self._percent and cell != 0  # 12 may be 12 or 0.12
            return float(cell) if kind in _NUMBERS and not bare else math.inf
        if kind is bool:
            return float(cell) if self._true else math.inf
        if kind not in _NUMBERS:
            return math.inf
        return self._read_different({text_of(cell)})[text_of(cell)]

    def _read_different(self, texts: set[str]) -> dict[str, float]:
        """The number of each text, NaN for a missing one and infinite for one that does not fit."""
        found = {text: math.nan for text in texts if is_missing(text)}
        rest = [text for text in texts if text not in found]
        if not rest:
            return found
        if self.spec.role == "boolean":
            values = [self._true.get(text.casefold(), math.nan) for text in rest]
        elif self.spec.role == "date":
            values = parse_dates(rest, self.spec.format).tolist()
        else:
            values = self._read_numbers(rest).tolist()
        pairs = zip(rest, values, strict=True)
        return found | {t: v if math.isfinite(v) and _fits(t) else math.inf for t, v in pairs}

    def _read_numbers(self, texts: list[str]) -> Vector:
        convention, unit, marks = split_form(self.spec.format)
        bare, factors = strip_unit(texts, unit) if unit else (texts, np.ones(len(texts)))
        values = parse_numbers(bare, convention=convention or "plain").values * factors
        found = [marks_of(text) for text in bare]
        lost = np.array([not one <= set(marks) for one in found])
        if self._percent:
            lost |= np.array(["%" not in one for one in found]) & (values != 0)
        return np.where(lost, np.nan, values)

    def _read_texts(self, cells: Sequence[Any]) -> Category:
        """Texts; of a category, also the numbers that its values are."""
        to: dict[Any, int] = {}
        codes = [self._code(cell, row, to, cells) for row, cell in enumerate(cells)]
        return Category(np.array(codes, dtype=np.int32), list(to))

    def _code(self, cell: Any, row: int, to: dict[Any, int], cells: Sequence[Any]) -> int:
        text = cell
        if type(cell) in _NUMBERS and self._numeric_words and math.isfinite(cell):
            text = text_of(cell)
        elif type(cell) is bool and self._truth_words:
            text = str(cell).lower()
        elif cell is not None and (type(cell) is not str or not _fits(cell)):
            self._refuse(cells, row)
        if text is None or text in MISSING:
            return -1
        if text in MISSING_WORDS and text not in self.known:
            return -1
        return to.setdefault(text, len(to))

    def _refuse(self, cells: Sequence[Any], row: int, expected: str = "") -> NoReturn:
        cell = cells[row]
        if type(cell) is str and not _fits(cell):
            expected = f"at most {LONGEST_CELL:,} characters"
        raise cell_error(row, self.spec.name, cell, expected or self.expected)


def _fits(text: str) -> bool:
    return len(text) <= LONGEST_CELL


def text_of(cell: float) -> str:
    """A number as a file has it: 12 for 12.0.

    >>> text_of(12.0), text_of(0.5)
    ('12', '0.5')
    """
    return str(int(cell) if math.isfinite(cell) and cell == int(cell) else cell)


def cell_error(row: int, column: str, cell: Any, expected: str) -> DataError:
    """The error for a cell that does not fit its column."""
    where = f"row {row}, column {_shorten(repr(column))}"
    return DataError(f"{where}: found {describe_cell(cell)}, expected {expected}")


def describe_cell(cell: Any) -> str:
    """A value of JSON in words.

    >>> describe_cell("abc"), describe_cell(True), describe_cell(None), describe_cell([1])
    ("the text 'abc'", 'true', 'null', 'a list')
    """
    if cell is None or isinstance(cell, bool):
        return {None: "null", True: "true", False: "false"}[cell]
    if isinstance(cell, str):
        return f"the text {_shorten(repr(cell[: MOST_SHOWN + 1]))}"
    if isinstance(cell, dict | list):
        return "an object" if isinstance(cell, dict) else "a list"
    return f"the number {cell}"


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def read_cells(
    specs: Sequence[ColumnSpec], forms: Sequence[ColumnForm], columns: Sequence[Sequence[Any]]
) -> DataTable:
    """The table of cells, given by column; `forms` are those of the columns that are kept."""
    read = {form.spec: form.read(cells) for form, cells in zip(forms, columns, strict=True)}
    numbers = [values for spec, values in read.items() if spec.role in NUMERIC]
    matrix = np.column_stack(numbers) if numbers else np.empty((len(columns[0]), 0))
    texts = {spec.name: values for spec, values in read.items() if spec.role not in NUMERIC}
    return DataTable(tuple(specs), matrix, texts)
