"""What in a data set makes errors look too low: repeated rows, columns that give the class away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.data_table import NUMERIC, Category, DataTable
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.types import Codes, Vector

MOST_ROWS = 20_000  # that columns are judged by
BINS = 64  # of a column of numbers
FEWEST_ROWS = 40
SCRAMBLE = np.uint64(0x9E3779B97F4A7C15)  # an odd number near 2^64 over the golden ratio
GIVEN_AWAY = 0.01  # error by one column alone, and at most a tenth of the majority's


def find_problems(X: Any, y: Any, features: Sequence[str] | None = None) -> list[str]:
    """Sentences on repeated rows, columns that number the rows, and columns that alone give the class.

    >>> y = np.arange(60) % 2
    >>> X = np.column_stack([np.arange(60), np.cos(np.arange(60)), 2 * y])
    >>> for words in find_problems(X, y, ["id", "a", "paid"]):
    ...     print(words)
    column id numbers the rows: drop it
    column paid alone gives the class of 100.0 % of the rows: is it known before the class is?
    """
    y = np.asarray(y)
    words = find_repeated(X, y)
    if isinstance(X, DataTable):
        return words + _find_in_columns(y, _columns_of(X))
    if not hasattr(X, "shape") or issparse(X) or len(getattr(X, "shape", ())) != 2 or len(y) < 2:
        return words
    names = features or [str(number) for number in range(X.shape[1])]
    return words + _find_in_columns(y, dict(zip(names, np.asarray(X).T, strict=True)))


def _columns_of(table: DataTable) -> dict[str, Any]:
    """The columns of a table: numbers, and texts with their codes."""
    return {
        spec.name: table.number_column(spec.name)
        if spec.role in NUMERIC
        else table.texts[spec.name]
        for spec in table.kept
    }


def _find_in_columns(y: Any, columns: Mapping[str, Any]) -> list[str]:
    if len(y) < 2:
        return []
    numbers = [
        name
        for name, column in columns.items()
        if not isinstance(column, Category) and _numbers_rows(column)
    ]
    words = [f"column {name} numbers the rows: drop it" for name in numbers]
    for name, error in find_leaks(columns, y):
        if name not in numbers:
            words.append(
                f"column {name} alone gives the class of {100 * (1 - error):.1f} % of the rows: is it "
                "known before the class is?"
            )
    return words


def find_leaks(columns: Mapping[str, Any], y: Any) -> list[tuple[str, float]]:
    """Columns that alone predict the class almost always, with their error.

    Numbers are in 64 bins; every text is a bin of its own.
    """
    n = len(y)
    if n < FEWEST_ROWS:
        return []
    rows = np.arange(0, n, -(-n // MOST_ROWS))
    classes, codes = np.unique(y[rows], return_inverse=True)
    if len(classes) < 2:
        return []
    majority = 1 - np.bincount(codes).max() / len(rows)
    limit = min(GIVEN_AWAY, majority / 10)
    found = []
    for name, column in columns.items():
        text = isinstance(column, Category)
        bins = column.codes[rows] + 1 if text else _bins(column[rows])
        error = _error_by(bins, codes, len(classes))
        if error <= limit:
            found.append((name, error))
    return found


def _bins(column: Vector) -> Codes:
    """The bin of each value; few different and frequent values have their own, missing ones the last."""
    column = np.asarray(column, dtype=np.float64)
    known = column[~np.isnan(column)]
    values = np.unique(known)
    frequent = values[:0]
    if len(values) > BINS:
        values, times = np.unique(np.quantile(known, np.arange(1, BINS) / BINS), return_counts=True)
        frequent = values[times > 1]
    bins = 2 * np.searchsorted(values, column, side="right") + np.isin(column, frequent)
    return np.asarray(np.where(np.isnan(column), 2 * len(values) + 2, bins))


def _error_by(bins: Codes, codes: Codes, k: int) -> float:
    """The error of the most frequent class of every bin; a bin of one row counts as an error."""
    table = np.zeros((int(bins.max()) + 1, k))
    np.add.at(table, (bins, codes), 1.0)
    right = np.where(table.sum(axis=1) > 1, table.max(axis=1), 0.0)
    return float(1 - right.sum() / len(codes))


def _numbers_rows(column: Vector) -> bool:
    """Whether a column is whole numbers that only rise."""
    steps = np.diff(np.asarray(column, dtype=np.float64))
    whole = len(steps) + 1 >= FEWEST_ROWS and bool(np.all(column == np.floor(column)))
    return whole and bool(np.all(steps > 0)) and bool(np.median(steps) == 1)


def find_repeated(X: Any, y: Any) -> list[str]:
    """A sentence on rows that repeat others, and on those of another class among them."""
    keys = _keys(X)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    again = len(keys) - len(first)
    if again == 0 or again < len(keys) / 1000:
        return []
    verb = "repeats" if again == 1 else "repeat"
    words = f"{again} of {len(keys)} rows {verb} another row, so a test row may be a training row"
    at_odds = int(np.sum(y != y[first[inverse]]))
    if at_odds:
        words += f"; {at_odds} of them {'has' if at_odds == 1 else 'have'} another class"
    return [words]


def _keys(X: Any) -> Any:
    """A hash of each row."""
    if isinstance(X, DataTable):
        codes = [np.asarray(column.codes) for column in X.texts.values()]
        texts = np.column_stack(codes) if codes else np.empty((len(X), 0), dtype=np.int32)
        return _hash_rows(X.numbers, salt=0) ^ _hash_rows(texts, salt=1)
    if issparse(X):
        X = X.tocsr()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends)
        return np.array([hash(row) for row in rows])
    if hasattr(X, "shape") and len(X.shape) == 2:
        return _hash_rows(np.asarray(X), salt=0)
    return np.array([hash(x) if isinstance(x, str) else id(x) for x in X])


def _hash_rows(X: Any, salt: int) -> Any:  # (n, d) -> (n,)
    """A hash of the bits of each row, (n,): a random sum of scrambled words modulo 2^64.

    >>> one, other, same = _hash_rows(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), salt=0)
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    if X.dtype.itemsize > 8:
        X = X.astype(np.float64)
    word = np.dtype(f"u{X.dtype.itemsize}")
    factors = np.random.default_rng(salt).integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    keys = np.empty(len(X), np.uint64)
    for rows in row_blocks(len(X), rows_that_fit(8 * max(1, X.shape[1]), MEBIBYTE)):
        words = np.ascontiguousarray(X[rows]).view(word).astype(np.uint64)
        words *= SCRAMBLE
        words ^= words >> np.uint64(29)
        words *= factors
        words ^= words >> np.uint64(32)
        keys[rows] = words.sum(axis=1, dtype=np.uint64)
    return keys
