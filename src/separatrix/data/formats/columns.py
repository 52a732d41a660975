"""From the columns of a table to a `Dataset`: the target, and one-hot categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from separatrix.data.dataset import Dataset
from separatrix.data.formats.layout import MISSING, is_number
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource
from separatrix.errors import DataFileError, ParameterError

TARGETS = ("target", "label", "class", "y")
"""Names of a target column, in any case, in order of preference."""

SPARSE_WIDTH, SPARSE_TIMES = 1000, 10
"""X is CSR if categories make it wider than this, and this many times as wide as the table."""

FEW_CATEGORIES = 20
"""A column with more categories, most of them different, is reported in the notes."""

_SHORT_LABEL = 64  # longest label kept in an array of fixed width
_FILL_ROWS = 4096


class Category(NamedTuple):
    """A column of texts: the code of each row, -1 for missing, and the text of each code."""

    codes: npt.NDArray[np.int32]  # shape: (n,)
    values: list[str]


@dataclass(frozen=True)
class ColumnTable:
    """Columns of a file: one matrix of numbers, and categories."""

    path: str
    rows: int
    numbers: npt.NDArray[np.float64]  # shape: (rows, numbers)
    number_names: tuple[str, ...]
    categories: dict[str, Category]


class TableBuilder:
    """Collects a `ColumnTable` from Arrow batches, within the limits of the source."""

    def __init__(
        self, source: ByteSource, numbers: Sequence[str], texts: Sequence[str], target: str | None
    ) -> None:
        self.source, self.numbers, self.target = source, tuple(numbers), target
        self.rows = 0
        self._parts: list[npt.NDArray[np.float64]] = []
        self._codes: dict[str, list[npt.NDArray[np.int32]]] = {name: [] for name in texts}
        self._values: dict[str, dict[str, int]] = {name: {} for name in texts}

    def add(self, batch: Any, locate_row: Callable[[int], tuple[int, int]] | None = None) -> None:
        """Add a RecordBatch; `locate_row` returns line and column of the target in one of its rows."""
        self.rows += batch.num_rows
        self.source.require_limit("rows", self.rows)
        self.source.require_limit("values", self.rows * (len(self.numbers) + len(self._codes)))
        part = np.empty((len(self.numbers), batch.num_rows))
        for i, name in enumerate(self.numbers):
            column = batch.column(name)
            column = column if column.type == "double" else column.cast("double", safe=False)
            part[i] = column.to_numpy(zero_copy_only=False)
        self._parts.append(np.ascontiguousarray(part.T))
        for name, codes in self._codes.items():
            codes.append(self._encode(name, batch.column(name), locate_row))

    def _encode(
        self, name: str, column: Any, locate_row: Callable[[int], tuple[int, int]] | None
    ) -> npt.NDArray[np.int32]:
        """Codes of a column of texts, the same in all batches; -1 for missing."""
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
        """The columns added so far."""
        if not self.rows:
            raise self.source.error(found="no rows", expected="at least one")
        categories = {
            name: Category(np.concatenate(codes), list(self._values[name]))
            for name, codes in self._codes.items()
        }
        numbers = _concatenate_rows(self._parts, self.rows)
        return ColumnTable(self.source.name, self.rows, numbers, self.numbers, categories)


def _code(known: dict[str, int], value: str | None) -> int:
    value = (value or "").strip(" \t")
    return -1 if value in MISSING else known.setdefault(value, len(known))


def _concatenate_rows(parts: list[npt.NDArray[np.float64]], rows: int) -> npt.NDArray[np.float64]:
    """The parts as one array; each is released once copied, so that memory is not doubled."""
    if len(parts) == 1:
        return parts[0]
    found = np.empty((rows, parts[0].shape[1]))
    while parts:
        part = parts.pop()
        found[rows - len(part) : rows] = part
        rows -= len(part)
    return found


class FeatureColumns(NamedTuple):
    """Where each feature comes from: a column of numbers, or one value of a category."""

    columns: tuple[str, ...]  # of each feature
    values: tuple[str | None, ...]  # of each feature; None for a number

    def numeric(self) -> set[str]:
        """Columns that must hold numbers."""
        pairs = zip(self.columns, self.values, strict=True)
        return {column for column, value in pairs if value is None}


def require_target(owner: str, target: object) -> None:
    """Refuse a `target` that is neither a name, nor a position, nor None."""
    if target is None or isinstance(target, str):
        return
    if isinstance(target, bool | np.bool_) or not isinstance(target, int | np.integer):
        raise ParameterError(owner, "target", "a name, a position or None", target)


def find_target(
    path: str, names: Sequence[str], target: str | int | None, features: Collection[str] = ()
) -> str | None:
    """The name of the target column; "auto" never takes one of `features`."""
    if target is None:
        return None
    if target == "auto":
        return _detect_target(path, names, features)
    if isinstance(target, str):
        if target not in names:
            close = get_close_matches(target, names, n=1)
            raise DataFileError(
                path,
                found=f"no column named {target!r}",
                expected=f"a target among {_format_names(names)}",
                hint=f"did you mean {close[0]!r}?" if close else "",
            )
        return target
    if not -len(names) <= target < len(names):
        raise DataFileError(
            path, found=f"{len(names)} columns", expected=f"one at position {target}, the target"
        )
    return names[target]


def _detect_target(path: str, names: Sequence[str], features: Collection[str]) -> str | None:
    free = {name.casefold(): name for name in names if name not in features}
    for likely in TARGETS:
        if likely in free:
            return free[likely]
    if features:
        return names[-1] if names[-1] not in features else None
    if len(names) == 1:
        raise DataFileError(
            path,
            found="a single column",
            expected="features and a target",
            hint="pass the delimiter, or target=None if there are no labels",
        )
    return names[-1]


def find_features(path: str, names: Sequence[str], features: Sequence[str]) -> FeatureColumns:
    """Columns of the features of a model; "a=b" is the column of that name, else value b of a."""
    known = set(names)
    columns, values = [], []
    for feature in features:
        column, value = _split_feature(known, feature)
        if column is None:
            raise DataFileError(
                path,
                found=f"no column for the feature {feature!r}",
                expected=f"one among {_format_names(names)}",
                hint="pass a file with the columns that the model was fitted on",
            )
        columns.append(column)
        values.append(value)
    found = FeatureColumns(tuple(columns), tuple(values))
    both = found.numeric() & {c for c, v in zip(columns, values, strict=True) if v is not None}
    if both:
        raise DataFileError(
            path,
            found=f"features that use {min(both)!r} both as a number and as a category",
            expected="one of the two",
        )
    return found


def _split_feature(names: set[str], feature: str) -> tuple[str | None, str | None]:
    if feature in names:
        return feature, None
    cut = feature.rfind("=")
    while cut >= 0:
        if feature[:cut] in names:
            return feature[:cut], feature[cut + 1 :]
        cut = feature.rfind("=", 0, cut)
    return None, None


def as_dataset(
    name: str, table: ColumnTable, target: str | None, wanted: FeatureColumns | None, limits: Limits
) -> Dataset:
    """X and y of a table; X has the columns of a model, else all but the target."""
    notes: list[str] = []
    y = None if target is None else _labels(table.categories[target])
    columns = [column for column in table.categories if column != target]
    if wanted is None:
        wanted, sources = _all_features(table, columns), len(columns) + len(table.number_names)
        notes += _note_identifiers(table, columns)
    else:
        notes += _note_unseen(table, wanted)
        sources = len(set(wanted.columns))
    features = tuple(
        column if value is None else f"{column}={value}"
        for column, value in zip(wanted.columns, wanted.values, strict=True)
    )
    _require_unique(table.path, features)
    X = _matrix(table, wanted, sources, limits)
    return Dataset(name, X, y, features=features, target=target or "", notes=tuple(notes))


def _all_features(table: ColumnTable, columns: Sequence[str]) -> FeatureColumns:
    """Numbers first, in their order, then every value of every category, sorted."""
    pairs: list[tuple[str, str | None]] = [(column, None) for column in table.number_names]
    for column in columns:
        pairs += [(column, value) for value in sorted(table.categories[column].values)]
    return FeatureColumns(tuple(column for column, _ in pairs), tuple(value for _, value in pairs))


def _require_unique(path: str, features: tuple[str, ...]) -> None:
    """Refuse a column "job=clerk" beside a column "job" with the value clerk."""
    if len(set(features)) < len(features):
        twice = next(name for name, count in Counter(features).items() if count > 1)
        raise DataFileError(
            path,
            found=f"a column and a value of another that both become {twice!r}",
            expected="features whose names differ",
            hint="rename the column",
        )


def _note_identifiers(table: ColumnTable, columns: Sequence[str]) -> list[str]:
    """A note for each column of texts that nearly identifies the row."""
    notes = []
    for column in columns:
        codes, values = table.categories[column]
        rows = int((codes >= 0).sum())
        if len(values) > max(FEW_CATEGORIES, rows / 2):
            notes.append(
                f"{column}: {len(values)} different texts in {rows} rows, such as {values[0]!r:.40}, "
                "are read as categories; numbers need a decimal point, and a column of names, dates "
                "or texts is best left out"
            )
    return notes


def _note_unseen(table: ColumnTable, wanted: FeatureColumns) -> list[str]:
    """A note for each column with values that no feature stands for."""
    seen: dict[str, set[str]] = {}
    for column, value in zip(wanted.columns, wanted.values, strict=True):
        if value is not None:
            seen.setdefault(column, set()).add(value)
    notes = []
    for column, known in seen.items():
        codes, values = table.categories[column]
        unseen = [i for i, value in enumerate(values) if value not in known]
        rows = int(np.isin(codes, unseen).sum())
        if rows:
            shown = _format_names([values[i] for i in unseen])
            notes.append(f"{column}: {rows} rows have values the model has not seen: {shown}")
    return notes


def _matrix(table: ColumnTable, wanted: FeatureColumns, sources: int, limits: Limits) -> Any:
    """X; a missing or unknown category is zero in all of its columns."""
    width = len(wanted.columns)
    if wanted.columns == table.number_names:
        return table.numbers
    sparse = width > max(SPARSE_WIDTH, SPARSE_TIMES * sources)
    if not sparse and table.rows * width > limits.values:
        raise DataFileError(
            table.path,
            found=f"{table.rows:,} rows that become {width:,} columns",
            expected=f"at most {limits.values:,} values",
            hint="leave out columns of many categories, or raise `values` of Limits",
        )
    position = {name: i for i, name in enumerate(table.number_names)}
    moved, kept = list[int](), list[int]()
    hot: dict[str, dict[str, int]] = {}
    for i, (column, value) in enumerate(zip(wanted.columns, wanted.values, strict=True)):
        if value is None:
            moved.append(i)
            kept.append(position[column])
        else:
            hot.setdefault(column, {})[value] = i
    ones = np.empty((len(hot), table.rows), dtype=np.int32)
    for i, (column, where) in enumerate(hot.items()):
        _one_hot_columns(table.categories[column], where, ones[i])
    if sparse:
        return _sparse(table, width, moved, kept, ones)
    X = np.zeros((table.rows, width))
    for start in range(0, table.rows, _FILL_ROWS):  # in blocks that stay in the CPU cache
        rows = slice(start, min(start + _FILL_ROWS, table.rows))
        for i, j in zip(moved, kept, strict=True):
            X[rows, i] = table.numbers[rows, j]
        offsets = np.arange(rows.start, rows.stop, dtype=np.intp) * width
        for column in ones[:, rows]:
            X.reshape(-1)[(offsets + column)[column >= 0]] = 1.0
    return X


def _one_hot_columns(category: Category, where: dict[str, int], out: npt.NDArray[np.int32]) -> None:
    """The column of X that is one in each row; -1 for none."""
    to = np.array([where.get(value, -1) for value in category.values] + [-1], dtype=np.int32)
    np.take(to, category.codes, out=out, mode="wrap")  # code -1 is the last entry


def _sparse(
    table: ColumnTable, width: int, moved: list[int], kept: list[int], ones: npt.NDArray[np.int32]
) -> Any:
    found = [(rows, hot[rows]) for hot in ones for rows in [np.flatnonzero(hot >= 0)]]
    rows, columns = np.nonzero(table.numbers[:, kept])
    data = [table.numbers[:, kept][rows, columns]]
    positions = [(rows, np.array(moved, dtype=np.intp)[columns]), *found]
    data += [np.ones(len(rows)) for rows, _ in found]
    at = (
        np.concatenate([rows for rows, _ in positions]).astype(np.int32),
        np.concatenate([columns for _, columns in positions]).astype(np.int32),
    )
    X = scipy.sparse.coo_array((np.concatenate(data), at), shape=(table.rows, width)).tocsr()
    X.sort_indices()
    return X


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
