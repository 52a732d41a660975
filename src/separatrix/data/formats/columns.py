"""From the columns of a table to a `Dataset`: which one is the target, and one-hot categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from separatrix.data.dataset import Dataset
from separatrix.data.formats.cells import THREADS, fill_rows
from separatrix.data.formats.layout import is_number
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError, ParameterError

TARGETS = ("target", "label", "class", "y")
"""Names that mark the target, in any case, the earlier before the later."""

SPARSE_WIDTH, SPARSE_TIMES = 1000, 10
"""X is CSR where categories make it wider than both this and so many times the table."""

FEW_CATEGORIES = 20
"""A column with more texts, most of them different, is taken for a category, and that is noted."""

_SHORT = 64  # longest label kept in an array of fixed width


class Category(NamedTuple):
    """A column of texts: a code for each row, -1 where there is none, and what codes stand for."""

    codes: npt.NDArray[np.int32]  # shape: (n,)
    values: list[str]


@dataclass(frozen=True)
class Table:
    """The columns that were read: one matrix of numbers, and categories."""

    path: str
    rows: int
    numbers: npt.NDArray[np.float64]  # shape: (rows, numbers)
    number_names: tuple[str, ...]
    categories: dict[str, Category]


class Wanted(NamedTuple):
    """What a fitted model wants of a table: a number, or one value of a category, per feature."""

    columns: tuple[str, ...]  # of each feature
    values: tuple[str | None, ...]  # of each feature; None: the number itself

    def numeric(self) -> set[str]:
        """Columns that must hold numbers."""
        pairs = zip(self.columns, self.values, strict=True)
        return {column for column, value in pairs if value is None}


def require_target(owner: str, target: object) -> None:
    """Refuse what names no column: neither a text, nor a position, nor None."""
    if target is None or isinstance(target, str):
        return
    if isinstance(target, bool | np.bool_) or not isinstance(target, int | np.integer):
        raise ParameterError(owner, "target", "a name, a position or None", target)


def find_target(
    path: str, names: Sequence[str], target: str | int | None, taken: Collection[str] = ()
) -> str | None:
    """The name of the target column; `taken` are columns it cannot be unless it is asked for."""
    if target is None:
        return None
    if target == "auto":
        return _likely_target(path, names, taken)
    if isinstance(target, str):
        if target not in names:
            close = get_close_matches(target, names, n=1)
            raise DataFileError(
                path,
                found=f"no column named {target!r}",
                expected=f"a target among {_listed(names)}",
                hint=f"did you mean {close[0]!r}?" if close else "",
            )
        return target
    if not -len(names) <= target < len(names):
        raise DataFileError(
            path, found=f"{len(names)} columns", expected=f"one at position {target}, the target"
        )
    return names[target]


def _likely_target(path: str, names: Sequence[str], taken: Collection[str]) -> str | None:
    free = {name.casefold(): name for name in names if name not in taken}
    for likely in TARGETS:
        if likely in free:
            return free[likely]
    if taken:
        return names[-1] if names[-1] not in taken else None
    if len(names) == 1:
        raise DataFileError(
            path,
            found="a single column",
            expected="features and a target",
            hint="say which delimiter is used, or target=None if there are no labels",
        )
    return names[-1]


def find_wanted(path: str, names: Sequence[str], features: Sequence[str]) -> Wanted:
    """Where each feature of a model comes from; "a=b" is the column of that name, else b in a."""
    there = set(names)
    columns, values = [], []
    for feature in features:
        column, value = _origin(there, feature)
        if column is None:
            raise DataFileError(
                path,
                found=f"no column for the feature {feature!r}",
                expected=f"one among {_listed(names)}",
                hint="give a file with the columns that the model was fitted on",
            )
        columns.append(column)
        values.append(value)
    wanted = Wanted(tuple(columns), tuple(values))
    both = wanted.numeric() & {c for c, v in zip(columns, values, strict=True) if v is not None}
    if both:
        raise DataFileError(
            path,
            found=f"features that take {min(both)!r} for a number and for a category",
            expected="one of both",
        )
    return wanted


def _origin(names: set[str], feature: str) -> tuple[str | None, str | None]:
    if feature in names:
        return feature, None
    cut = feature.rfind("=")
    while cut >= 0:
        if feature[:cut] in names:
            return feature[:cut], feature[cut + 1 :]
        cut = feature.rfind("=", 0, cut)
    return None, None


def as_dataset(
    name: str, table: Table, target: str | None, wanted: Wanted | None, limits: Limits
) -> Dataset:
    """X and y of a table; X has the `wanted` columns, else all but the target."""
    notes: list[str] = []
    y = None if target is None else _labels(table.categories[target])
    columns = [column for column in table.categories if column != target]
    if wanted is None:
        wanted, sources = _all_of(table, columns), len(columns) + len(table.number_names)
        notes += _nearly_all_different(table, columns)
    else:
        notes += _unseen(table, wanted)
        sources = len(set(wanted.columns))
    features = tuple(
        column if value is None else f"{column}={value}"
        for column, value in zip(wanted.columns, wanted.values, strict=True)
    )
    _require_different(table.path, features)
    X = _matrix(table, wanted, sources, limits)
    return Dataset(name, X, y, features=features, target=target or "", notes=tuple(notes))


def _all_of(table: Table, columns: Sequence[str]) -> Wanted:
    """Numbers first, in their order, then every value of every category, sorted."""
    pairs: list[tuple[str, str | None]] = [(column, None) for column in table.number_names]
    for column in columns:
        pairs += [(column, value) for value in sorted(table.categories[column].values)]
    return Wanted(tuple(column for column, _ in pairs), tuple(value for _, value in pairs))


def _require_different(path: str, features: tuple[str, ...]) -> None:
    """Refuse a column "job=clerk" beside a job that is clerk: a model could not tell them apart."""
    if len(set(features)) < len(features):
        twice = next(name for name, count in Counter(features).items() if count > 1)
        raise DataFileError(
            path,
            found=f"a column and a value of another that both become {twice!r}",
            expected="features whose names differ",
            hint="rename the column",
        )


def _nearly_all_different(table: Table, columns: Sequence[str]) -> list[str]:
    """A sentence for each column of texts that says little but which row it is."""
    notes = []
    for column in columns:
        codes, values = table.categories[column]
        rows = int((codes >= 0).sum())
        if len(values) > max(FEW_CATEGORIES, rows / 2):
            notes.append(
                f"{column}: {len(values)} different texts in {rows} rows, such as {values[0]!r:.40}, "
                "are taken for categories; numbers have a decimal point, and a column of names, dates "
                "or texts is best left out"
            )
    return notes


def _unseen(table: Table, wanted: Wanted) -> list[str]:
    """A sentence for each column with values that no feature stands for."""
    seen: dict[str, set[str]] = {}
    for column, value in zip(wanted.columns, wanted.values, strict=True):
        if value is not None:
            seen.setdefault(column, set()).add(value)
    notes = []
    for column, known in seen.items():
        codes, values = table.categories[column]
        strange = [i for i, value in enumerate(values) if value not in known]
        rows = int(np.isin(codes, strange).sum())
        if rows:
            shown = _listed([values[i] for i in strange])
            notes.append(f"{column}: {rows} rows have values the model has not seen: {shown}")
    return notes


def _matrix(table: Table, wanted: Wanted, sources: int, limits: Limits) -> Any:
    """The columns of X side by side; a missing or unknown category is zero in all of its columns."""
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
        _hot_columns(table.categories[column], where, ones[i])
    if sparse:
        return _sparse(table, width, moved, kept, ones)
    X = np.zeros((table.rows, width))
    numbers = np.ascontiguousarray(table.numbers)
    fill = partial(fill_rows, X, numbers, np.array(kept, np.intp), np.array(moved, np.intp), ones)
    cuts = np.linspace(0, table.rows, THREADS + 1).astype(np.intp)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fill, cuts[:-1], cuts[1:]))
    return X


def _hot_columns(category: Category, where: dict[str, int], out: npt.NDArray[np.int32]) -> None:
    """The column that a category makes one in each row; -1 where it makes none."""
    to = np.array([where.get(value, -1) for value in category.values] + [-1], dtype=np.int32)
    np.take(to, category.codes, out=out, mode="wrap")  # code -1 is the last entry


def _sparse(
    table: Table, width: int, moved: list[int], kept: list[int], ones: npt.NDArray[np.int32]
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
    """Labels as integers where all are whole, else as numbers, else as they stand.

    A label with a leading zero, such as a code 007, is no number.
    """
    values = category.values
    if all(is_number(value) and not _coded(value) for value in values):
        numbers = np.array([float(value) for value in values])
        whole = (np.abs(numbers) < 2**53) & (numbers == np.rint(numbers))
        return np.asarray((numbers.astype(np.intp) if whole.all() else numbers)[category.codes])
    short = max(map(len, values), default=0) <= _SHORT
    return np.array(values, dtype=str if short else object)[category.codes]


def _coded(value: str) -> bool:
    digits = value.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name)[:40] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def stacked(parts: list[npt.NDArray[np.float64]], rows: int) -> npt.NDArray[np.float64]:
    """The parts one above the other; each is let go as it is copied, so that not all are held twice."""
    if len(parts) == 1:
        return parts[0]
    whole = np.empty((rows, parts[0].shape[1]))
    while parts:
        part = parts.pop()
        whole[rows - len(part) : rows] = part
        rows -= len(part)
    return whole
