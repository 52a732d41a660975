"""From the columns of a table to a matrix: numbers, then one-hot categories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from separatrix.data.data_table import Category
from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import (
    ColumnTable,
    Features,
    TableContents,
    format_names,
    labels_of,
)
from separatrix.data.formats.interpretation import interpret_numbers
from separatrix.data.streams import ByteSource

SPARSE_WIDTH, SPARSE_TIMES = 1000, 10
"""X is CSR if categories make it wider than this, and this many times as wide as the table."""

FEW_CATEGORIES = 20
"""A column with more categories, most of them different, is reported in the notes."""


def as_dataset(source: ByteSource, contents: TableContents) -> Dataset:
    """X and y of a table; X has the features of a model, else all columns but the target.

    Numbers come first, in their order, then every value of every category, sorted.
    """
    table, choice, notes = contents.table, contents.choice, list(contents.notes)
    y = None if choice.target is None else labels_of(table.categories[choice.target])
    features = choice.features
    if features is None:
        table, more = interpret_numbers(table, choice.target)
        notes += more
        categories = {n: values for n, values in table.categories.items() if n != choice.target}
        features = [(column, None) for column in table.number_names]
        features += [
            (column, v) for column in categories for v in sorted(categories[column].values)
        ]
        _require_few(source, categories)
        notes += _note_identifiers(categories)
    else:
        notes += _note_unseen(table, features)
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


def _require_few(source: ByteSource, categories: dict[str, Category]) -> None:
    most = source.limits.categories
    for name, (_, values) in categories.items():
        if len(values) > most:
            raise source.error(
                found=f"more than {most:,} different texts in {name!r}",
                expected="a column of numbers or of fewer categories",
                hint="leave the column out, or raise `categories` of Limits",
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
            shown = format_names([values[i] for i in unseen])
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
