"""The columns of a table: which are read, the target among them, and how they are collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from separatrix.data.data_table import Category
from separatrix.data.numerals import BLANKS, MISSING, is_number
from separatrix.data.streams import ByteSource
from separatrix.errors import DataError, ParameterError

TARGETS = ("target", "label", "class", "y")
"""Names of a target column, in any case, in order of preference."""

_EXACT = 2.0**53  # below it, every integer is a float of its own
_SHORT_LABEL = 64  # longest label kept in an array of fixed width

Features = list[tuple[str, str | None]]
"""The column of each feature, and the value of its category; None for a column of numbers."""


class ColumnChoice(NamedTuple):
    """Which columns of a table are read, and what for."""

    used: list[str]  # in the order of the file
    target: str | None
    features: Features | None  # of a fitted model; None for all columns but the target
    guess: str = ""  # why this is the target if nobody named it
    as_text: frozenset[str] = frozenset()  # columns that are read as texts, whatever they hold

    def numeric(self) -> set[str]:
        """Columns that must hold numbers."""
        return {column for column, value in self.features or () if value is None}


def choose_columns(
    source: ByteSource,
    names: Sequence[str],
    target: str | int | None = None,
    features: Sequence[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    as_text: Collection[str] = (),
    texts: Collection[str] = (),
    header: bool = True,
) -> ColumnChoice:
    """The columns of the features and the target; target="auto" never takes a feature.

    `columns` are read whatever they hold, where `features` may be values of categories; those in
    `as_text` are read as texts. `texts` are the columns that seem to hold texts.
    """
    if columns is not None:
        _require_columns(source, names, columns)
        taken, wanted = set(columns), None
    elif features is not None:
        wanted = _find_features(source, names, features)
        taken = {column for column, _ in wanted}
    else:
        guess = _guess_target(source, names, texts, header) if target == "auto" else ("", "")
        column = guess[0] or _find_target(source, names, target)
        return ColumnChoice(list(names), column, None, guess[1], frozenset(as_text))
    column = _find_target(source, names, target, taken)
    used = [name for name in names if name in taken or name == column]
    return ColumnChoice(used, column, wanted, as_text=frozenset(as_text))


def _require_columns(source: ByteSource, names: Sequence[str], columns: Sequence[str]) -> None:
    known = set(names)
    for column in columns:
        if column not in known:
            close = get_close_matches(column, names, n=1)
            raise source.error(
                found=f"no column named {column!r}",
                expected=f"one among {format_names(names)}",
                hint=f"the model was fitted on it; is it {close[0]!r}?"
                if close
                else "pass a file with the columns that the model was fitted on",
            )


def _guess_target(
    source: ByteSource, names: Sequence[str], texts: Collection[str], header: bool
) -> tuple[str, str]:
    """The likely target, and why; the first column if only that one holds texts and nothing is named."""
    found = _detect_target(source, names, ()) or ""
    if found.casefold() in TARGETS:
        return found, "by its name"
    if not header and len(names) > 2 and set(texts) == {names[0]}:
        return names[0], "the only column of texts"
    return found, "the last column"


def require_target(owner: str, target: object) -> None:
    """Refuse a `target` that is neither a name, nor a position, nor None."""
    if target is None or isinstance(target, str):
        return
    if isinstance(target, bool | np.bool_) or not isinstance(target, int | np.integer):
        raise ParameterError(owner, "target", "a name, a position or None", target)


def _find_target(
    source: ByteSource,
    names: Sequence[str],
    target: str | int | None,
    features: Collection[str] = (),
) -> str | None:
    if target is None:
        return None
    if target == "auto":
        return _detect_target(source, names, features)
    if isinstance(target, str):
        if target not in names:
            close = get_close_matches(target, names, n=1)
            raise source.error(
                found=f"no column named {target!r}",
                expected=f"a target among {format_names(names)}",
                hint=f"did you mean {close[0]!r}?" if close else "",
            )
        return target
    if not -len(names) <= target < len(names):
        raise source.error(
            found=f"{len(names)} columns", expected=f"one at position {target}, the target"
        )
    return names[target]


def _detect_target(
    source: ByteSource, names: Sequence[str], features: Collection[str]
) -> str | None:
    free = {name.casefold(): name for name in names if name not in features}
    for likely in TARGETS:
        if likely in free:
            return free[likely]
    if features:
        return names[-1] if names[-1] not in features else None
    if len(names) == 1:
        raise source.error(
            found="a single column",
            expected="features and a target",
            hint="pass the delimiter, or target=None if there are no labels",
        )
    return names[-1]


def _find_features(source: ByteSource, names: Sequence[str], features: Sequence[str]) -> Features:
    """Columns of the features of a model; "a=b" is the column of that name, else value b of a."""
    known, found = set(names), list[tuple[str, str | None]]()
    for feature in features:
        split = _split_feature(known, feature)
        if split is None:
            raise source.error(
                found=f"no column for the feature {feature!r}",
                expected=f"one among {format_names(names)}",
                hint="pass a file with the columns that the model was fitted on",
            )
        found.append(split)
    numbers, categories = ({c for c, v in found if (v is None) == which} for which in (True, False))
    if both := numbers & categories:
        raise source.error(
            found=f"features that use {min(both)!r} both as a number and as a category",
            expected="one of the two",
        )
    return found


def _split_feature(names: set[str], feature: str) -> tuple[str, str | None] | None:
    if feature in names:
        return feature, None
    cut = feature.rfind("=")
    while cut >= 0:
        if feature[:cut] in names:
            return feature[:cut], feature[cut + 1 :]
        cut = feature.rfind("=", 0, cut)
    return None


@dataclass(frozen=True)
class ColumnTable:
    """Columns of a file: one matrix of numbers, and categories."""

    rows: int
    numbers: npt.NDArray[np.float64]  # shape: (rows, numbers)
    number_names: tuple[str, ...]
    categories: dict[str, Category]
    order: tuple[str, ...] = ()  # names of all columns as in the file; () for numbers first
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in the order of the file."""
        return self.order or (*self.number_names, *self.categories)


class TableContents(NamedTuple):
    """What a reader found in a table."""

    table: ColumnTable
    choice: ColumnChoice
    notes: tuple[str, ...] = ()
    how: str = ""  # how the file was read, in a few words
    roles: Mapping[str, str] = {}  # that the file declares


MissingLabel = Literal["error", "drop"]


class TableBuilder:
    """Collects a `ColumnTable` from Arrow tables, within the limits of the source."""

    def __init__(
        self,
        source: ByteSource,
        numbers: Sequence[str],
        texts: Sequence[str],
        target: str | None,
        missing_label: MissingLabel = "error",
    ) -> None:
        self.source, self.numbers, self.target = source, tuple(numbers), target
        self.drops = missing_label == "drop"
        self.rows = 0
        self._tables: list[Any] = []  # of numbers
        self._codes: dict[str, list[npt.NDArray[np.int32]]] = {name: [] for name in texts}
        self._values: dict[str, dict[str, int]] = {name: {} for name in texts}

    def add(self, table: Any, locate_row: Callable[[int], tuple[int, int]] | None = None) -> None:
        """Add an Arrow table; `locate_row` returns line and column of the target in one of its rows."""
        self.rows += table.num_rows
        self.source.require_limit("rows", self.rows)
        self.source.require_limit("values", self.rows * (len(self.numbers) + len(self._codes)))
        self._tables.append(table.select(self.numbers))
        for name, codes in self._codes.items():
            column = table.column(name).unify_dictionaries().combine_chunks()
            codes.append(self._encode(name, column, locate_row))

    def _encode(
        self, name: str, column: Any, locate_row: Callable[[int], tuple[int, int]] | None
    ) -> npt.NDArray[np.int32]:
        """Codes of a column of texts, the same in all tables; -1 for missing."""
        known = self._values[name]
        codes = [_code(known, value) for value in column.dictionary.to_pylist()]
        indices = column.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        found: npt.NDArray[np.int32] = np.array([*codes, -1], dtype=np.int32)[indices]
        if name == self.target and not self.drops and (found < 0).any():
            row = int(np.argmax(found < 0))
            line = locate_row(row) if locate_row else ()
            position = "" if line else f", row {self.rows - len(found) + row + 1:,}"
            missing = f"no label in {name!r}{position}"
            raise self.source.error(
                *line, found=missing, expected="one in every row", hint=MISSING_LABEL_HINT
            )
        return found

    def table(self, order: Literal["C", "F"] = "C") -> ColumnTable:
        """The columns added so far; the builder is empty afterwards."""
        if not self.rows:
            raise self.source.error(found="no rows", expected="at least one")
        categories = {
            name: Category(np.concatenate(codes), list(self._values[name]))
            for name, codes in self._codes.items()
        }
        numbers, end = np.empty((self.rows, len(self.numbers)), order=order), self.rows
        longest = max(part.num_rows for part in self._tables)
        scratch = np.empty((len(self.numbers), longest if order == "C" else 0))
        while self._tables:  # each is released once copied, so that memory is not doubled
            part = self._tables.pop()
            to = numbers[end - part.num_rows : end]
            rows = scratch[:, : part.num_rows] if order == "C" else to.T
            for row, column in zip(rows, part.columns, strict=True):
                numeric = column if column.type == "double" else column.cast("double", safe=False)
                row[:] = numeric.to_numpy()
            if order == "C":
                to[:] = rows.T
            end -= part.num_rows
        return ColumnTable(self.rows, numbers, self.numbers, categories)


MISSING_LABEL_HINT = "--missing-label drop sets such rows aside"


def drop_unlabelled(table: ColumnTable, target: str | None) -> tuple[ColumnTable, list[str]]:
    """The rows that have a label, and a note of how many have none."""
    if target is None:
        return table, []
    kept = np.flatnonzero(table.categories[target].codes >= 0)
    lost = table.rows - len(kept)
    if not lost:
        return table, []
    if not len(kept):
        error = DataError(f"no row has a label: all {lost:,} cells of {target!r} are missing")
        error.hint = "name another column with --target"
        raise error
    part = _take_rows(table, kept)
    has, are = ("has", "is") if lost == 1 else ("have", "are")
    rows = f"{lost:,} of {table.rows:,} rows {has}"
    return part, [f"{rows} no label in {target!r} and {are} set aside"]


def drop_repeated_headers(table: ColumnTable) -> tuple[ColumnTable, list[str]]:
    """The rows other than repetitions of the header, as in files put one after the other, and a note."""
    if table.number_names or not table.categories:
        return table, []
    repeats: Any = np.ones(table.rows, dtype=bool)
    for name, (codes, values) in table.categories.items():
        if name not in values or not repeats.any():
            return table, []
        repeats &= codes == values.index(name)
    lost = int(np.count_nonzero(repeats))
    if not lost or lost == table.rows:
        return table, []
    part = _take_rows(table, np.flatnonzero(~repeats))
    categories = {
        name: one if one.values.index(name) in one.codes else without_values(one, [name])
        for name, one in part.categories.items()
    }
    words = "row repeats the header and is" if lost == 1 else "rows repeat the header and are"
    return replace(part, categories=categories), [f"{lost:,} {words} set aside"]


def _take_rows(table: ColumnTable, kept: Any) -> ColumnTable:
    categories = {n: Category(codes[kept], v) for n, (codes, v) in table.categories.items()}
    order: Any = "F" if table.numbers.flags.f_contiguous else "C"
    numbers = np.asarray(table.numbers[kept], order=order)
    return replace(table, rows=len(kept), numbers=numbers, categories=categories)


def without_values(category: Category, absent: Collection[str]) -> Category:
    """A column of texts in which some are missing values."""
    codes, values = category
    kept = [i for i, value in enumerate(values) if value not in absent]
    if len(kept) == len(values):
        return category
    to = np.full(len(values) + 1, -1, dtype=np.int32)
    to[kept] = np.arange(len(kept))
    return Category(to[codes], [values[i] for i in kept])


def _code(known: dict[str, int], value: str | None) -> int:
    value = (value or "").strip(BLANKS)
    return -1 if value in MISSING else known.setdefault(value, len(known))


def labels_of(category: Category) -> npt.NDArray[Any]:
    """Labels as integers if all are integral, else as floats, else as texts.

    A label with a leading zero, such as 007, is a text, and so are numbers from 2**53 on if several are
    one float.
    """
    values = category.values
    if all(is_number(value) and not _has_leading_zero(value) for value in values):
        numbers = np.array([float(value) for value in values])
        small = bool((np.abs(numbers) < _EXACT).all())
        if small or len(np.unique(numbers)) == len(values):
            whole = small and bool((numbers == np.rint(numbers)).all())
            return np.asarray((numbers.astype(np.intp) if whole else numbers)[category.codes])
    short = max(map(len, values), default=0) <= _SHORT_LABEL
    return np.array(values, dtype=str if short else object)[category.codes]


def _has_leading_zero(value: str) -> bool:
    digits = value.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def format_names(names: Sequence[str], most: int = 8) -> str:
    """The first names, quoted, and the number of the others."""
    shown = ", ".join(repr(name)[:40] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
