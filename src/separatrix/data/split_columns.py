"""Columns that say how rows are split, which are no features: groups and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.data_table import NUMERIC, DataTable, shown_values
from separatrix.data.dataset import Dataset
from separatrix.data.read_table import as_matrix
from separatrix.errors import DataError


def take_groups(data: Dataset, name: str) -> tuple[Any, Dataset]:
    """The group of each row, (n,), and the data without that column."""
    values, rest = take_column(data, name)
    _require_known(data, name, values, "group")
    return values, rest


def take_times(data: Dataset, name: str) -> tuple[Any, Dataset]:
    """The time of each row, (n,), and the data without that column; texts have no order in time."""
    values, rest = take_column(data, name)
    if values.dtype.kind not in "biuf":
        error = DataError(f"column {name!r} of {data.name} holds texts, not dates or numbers")
        error.hint = "--time needs dates in one form, such as 2026-01-31, or numbers"
        raise error
    _require_known(data, name, values, "time")
    return values, rest


def _require_known(data: Dataset, name: str, values: Any, what: str) -> None:
    empty = values == "" if values.dtype.kind == "U" else np.isnan(values)
    if empty.any():
        count = f"{int(empty.sum())} of {len(values)} rows"
        error = DataError(f"column {name!r} of {data.name} is empty in {count}")
        error.hint = f"every row needs a {what}: fill the cells, or leave these rows out"
        raise error


def take_column(data: Dataset, name: str) -> tuple[Any, Dataset]:
    """The values of a column, (n,), and the data without it; a category's columns are one.

    >>> data = Dataset("a", np.array([[1.0, 0, 5], [0, 1, 6]]), [0, 1], features=("w=x", "w=y", "b"))
    >>> values, rest = take_column(data, "w")
    >>> values.tolist(), rest.features
    (['x', 'y'], ('b',))
    """
    if isinstance(data.X, DataTable):
        return _take_from_table(data, data.X, name)
    names = list(data.features or ())
    own = [j for j, feature in enumerate(names) if feature == name]
    parts = own or [j for j, feature in enumerate(names) if feature.startswith(f"{name}=")]
    if not parts:
        raise _no_column(data, name, [feature.partition("=")[0] for feature in names])
    block = data.X[:, parts]
    block = np.asarray(block.toarray() if issparse(block) else block)
    if own:
        values = block[:, 0]
    else:
        values = np.array([names[j].partition("=")[2] for j in parts])[block.argmax(axis=1)]
    kept = [j for j in range(len(names)) if j not in parts]
    test = None if data.X_test is None else data.X_test[:, kept]
    features = tuple(names[j] for j in kept)
    return values, replace(data, X=data.X[:, kept], X_test=test, features=features)


def _take_from_table(data: Dataset, table: DataTable, name: str) -> tuple[Any, Dataset]:
    spec = next((spec for spec in table.kept if spec.name == name), None)
    if spec is None:
        raise _no_column(data, name, table.columns)
    if spec.role in NUMERIC:
        values = table.number_column(name)
    else:
        values = np.array([value or "" for value in shown_values(table, spec)], dtype=str)
    rest = table.without(name, "it says how rows are split")
    return values, as_matrix(replace(data, X=rest, features=rest.columns))


def _no_column(data: Dataset, name: str, names: Sequence[str]) -> DataError:
    error = DataError(f"{data.name} has no column {name!r}")
    some = list(dict.fromkeys(names))[:20]
    error.hint = f"its columns are {', '.join(some)}" if some else ""
    return error
