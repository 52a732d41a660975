"""From the columns of a table to a `Dataset`: the target, and one-hot categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from separatrix.data.dataset import Dataset
from separatrix.data.formats.layout import MISSING, is_number
from separatrix.data.streams import ByteSource
from separatrix.errors import ParameterError

TARGETS = ("target", "label", "class", "y")
"""Names of a target column, in any case, in order of preference."""

SPARSE_WIDTH, SPARSE_TIMES = 1000, 10
"""X is CSR if categories make it wider than this, and this many times as wide as the table."""

FEW_CATEGORIES = 20
"""A column with more categories, most of them different, is reported in the notes."""

_SHORT_LABEL = 64  # longest label kept in an array of fixed width

Features = list[tuple[str, str | None]]
"""The column of each feature, and the value of its category; None for a column of numbers."""


class ColumnChoice(NamedTuple):
    """Which columns of a table are read, and what for."""

    used: list[str]  # in the order of the file
    target: str | None
    features: Features | None  # of a fitted model; None for all columns but the target

    def numeric(self) -> set[str]:
        """Columns that must hold numbers."""
        return {column for column, value in self.features or () if value is None}


def choose_columns(
    source: ByteSource,
    names: Sequence[str],
    target: str | int | None = None,
    features: Sequence[str] | None = None,
) -> ColumnChoice:
    """The columns of the features and the target; target="auto" never takes a feature."""
    if features is None:
        column = _find_target(source, names, target)
        return ColumnChoice(list(names), column, None)
    wanted = _find_features(source, names, features)
    taken = {column for column, _ in wanted}
    column = _find_target(source, names, target, taken)
    used = [name for name in names if name in taken or name == column]
    return ColumnChoice(used, column, wanted)


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
                expected=f"a target among {_format_names(names)}",
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
                expected=f"one among {_format_names(names)}",
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


class Category(NamedTuple):
    """A column of texts: the code of each row, -1 for missing, and the text of each code."""

    codes: npt.NDArray[np.int32]  # shape: (n,)
    values: list[str]


@dataclass(frozen=True)
class ColumnTable:
    """Columns of a file: one matrix of numbers, and categories."""

    rows: int
    numbers: npt.NDArray[np.float64]  # shape: (rows, numbers)
    number_names: tuple[str, ...]
    categories: dict[str, Category]


class TableBuilder:
    """Collects a `ColumnTable` from Arrow tables, within the limits of the source."""

    def __init__(
        self, source: ByteSource, numbers: Sequence[str], texts: Sequence[str], target: str | None
    ) -> None:
        self.source, self.numbers, self.target = source, tuple(numbers), target
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
        if name == self.target and (found < 0).any():
            row = int(np.argmax(found < 0))
            line = locate_row(row) if locate_row else ()
            position = "" if line else f", row {self.rows - len(found) + row + 1:,}"
            missing = f"no label in {name!r}{position}"
            raise self.source.error(*line, found=missing, expected="one in every row")
        most = self.source.limits.categories
        if name != self.target and len(known) > most:
            raise self.source.error(
                found=f"more than {most:,} different texts in {name!r}",
                expected="a column of numbers or of fewer categories",
                hint="leave the column out, or raise `categories` of Limits",
            )
        return found

    def table(self) -> ColumnTable:
        """The columns added so far; the builder is empty afterwards."""
        if not self.rows:
            raise self.source.error(found="no rows", expected="at least one")
        categories = {
            name: Category(np.concatenate(codes), list(self._values[name]))
            for name, codes in self._codes.items()
        }
        numbers, end = np.empty((self.rows, len(self.numbers))), self.rows
        scratch = np.empty((len(self.numbers), max(part.num_rows for part in self._tables)))
        while self._tables:  # each is released once copied, so that memory is not doubled
            part = self._tables.pop()
            rows = scratch[:, : part.num_rows]
            for row, column in zip(rows, part.columns, strict=True):
                numeric = column if column.type == "double" else column.cast("double", safe=False)
                row[:] = numeric.to_numpy()
            numbers[end - part.num_rows : end] = rows.T
            end -= part.num_rows
        return ColumnTable(self.rows, numbers, self.numbers, categories)


def _code(known: dict[str, int], value: str | None) -> int:
    value = (value or "").strip(" \t")
    return -1 if value in MISSING else known.setdefault(value, len(known))


def as_dataset(source: ByteSource, table: ColumnTable, choice: ColumnChoice) -> Dataset:
    """X and y of a table; X has the features of a model, else all columns but the target.

    Numbers come first, in their order, then every value of every category, sorted.
    """
    y = None if choice.target is None else _labels(table.categories[choice.target])
    features = choice.features
    if features is None:
        categories = {n: values for n, values in table.categories.items() if n != choice.target}
        features = [(column, None) for column in table.number_names]
        features += [
            (column, v) for column in categories for v in sorted(categories[column].values)
        ]
        notes = _note_identifiers(categories)
    else:
        notes = _note_unseen(table, features)
    names = tuple(column if value is None else f"{column}={value}" for column, value in features)
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise source.error(
            found=f"a column and a value of another that both become {twice!r}",
            expected="features whose names differ",
            hint="rename the column",
        )
    X = _matrix(source, table, features)
    return Dataset(
        Path(source.name).name,
        *(X, y),
        features=names,
        target=choice.target or "",
        notes=tuple(notes),
    )


def _note_identifiers(categories: dict[str, Category]) -> list[str]:
    """A note for each column of texts that nearly identifies the row."""
    notes = []
    for column, (codes, values) in categories.items():
        rows = int((codes >= 0).sum())
        if len(values) > max(FEW_CATEGORIES, rows / 2):
            notes.append(
                f"{column}: {len(values)} different texts in {rows} rows, such as {values[0]!r:.40}, "
                "are read as categories; numbers need a decimal point, and a column of names, dates "
                "or texts is best left out"
            )
    return notes


def _note_unseen(table: ColumnTable, features: Features) -> list[str]:
    """A note for each column with values that no feature stands for."""
    notes = []
    for column in dict.fromkeys(column for column, value in features if value is not None):
        codes, values = table.categories[column]
        known = {value for other, value in features if other == column}
        unseen = [i for i, value in enumerate(values) if value not in known]
        rows = int(np.isin(codes, unseen).sum())
        if rows:
            shown = _format_names([values[i] for i in unseen])
            notes.append(f"{column}: {rows} rows have values the model has not seen: {shown}")
    return notes


def _matrix(source: ByteSource, table: ColumnTable, features: Features) -> Any:
    """X; a missing or unknown category is zero in all of its columns."""
    shape = (table.rows, len(features))
    if tuple(column for column, _ in features) == table.number_names:
        return table.numbers
    hot: dict[str, dict[str | None, int]] = {}
    for i, (column, value) in enumerate(features):
        if value is not None:
            hot.setdefault(column, {})[value] = i
    position = {name: i for i, name in enumerate(table.number_names)}
    to = [i for i, (_, value) in enumerate(features) if value is None]
    numbers = table.numbers[:, [position[features[i][0]] for i in to]]
    ones = [_find_ones(table.categories[column], columns) for column, columns in hot.items()]
    if shape[1] > max(SPARSE_WIDTH, SPARSE_TIMES * len({column for column, _ in features})):
        rows, columns = np.nonzero(numbers)
        data = np.concatenate([numbers[rows, columns], np.ones(sum(len(r) for r, _ in ones))])
        at = zip((rows, np.array(to, dtype=np.int32)[columns]), *ones, strict=True)
        where = tuple(np.concatenate(parts).astype(np.int32) for parts in at)
        X = scipy.sparse.coo_array((data, where), shape=shape).tocsr()
        X.sort_indices()
        return X
    if shape[0] * shape[1] > source.limits.values:
        raise source.error(
            found=f"{shape[0]:,} rows that become {shape[1]:,} columns",
            expected=f"at most {source.limits.values:,} values",
            hint="leave out columns of many categories, or raise `values` of Limits",
        )
    X = np.zeros(shape)
    X[:, to] = numbers
    for rows, columns in ones:
        X[rows, columns] = 1.0
    return X


def _find_ones(category: Category, columns: dict[str | None, int]) -> tuple[Any, Any]:
    """Rows and columns of X that are one for a category; `columns` are those of its values."""
    to = np.array([columns.get(value, -1) for value in category.values] + [-1], dtype=np.int32)
    found = to[category.codes]  # code -1 is the last entry
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows]


def _labels(category: Category) -> npt.NDArray[Any]:
    """Labels as integers if all are integral, else as floats, else as texts.

    A label with a leading zero, such as 007, is a text.
    """
    values = category.values
    if all(is_number(value) and not _has_leading_zero(value) for value in values):
        numbers = np.array([float(value) for value in values])
        whole = (np.abs(numbers) < 2**53) & (numbers == np.rint(numbers))
        return np.asarray((numbers.astype(np.intp) if whole.all() else numbers)[category.codes])
    short = max(map(len, values), default=0) <= _SHORT_LABEL
    return np.array(values, dtype=str if short else object)[category.codes]


def _has_leading_zero(value: str) -> bool:
    digits = value.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def _format_names(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name)[:40] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
