"""Which columns matter: how much the error of a fitted model rises when one is shuffled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.stats import t as student

from separatrix.data.data_table import DataTable

MOST_ROWS = 1000  # that are predicted with a column shuffled
MOST_COLUMNS = 200
REPEATS = 3


class Importance(NamedTuple):
    """Rise of the error of one column, as a fraction, and the half width of its 95 % interval."""

    column: str
    rise: float
    half_width: float


def original_columns(features: Sequence[str] | None, d: int) -> dict[str, list[int]]:
    """The features of each column of the table; those of a category are together.

    >>> original_columns(("age", "job=clerk", "job=cook"), 3)
    {'age': [0], 'job': [1, 2]}
    """
    names = list(features) if features is not None else [f"feature {j}" for j in range(d)]
    starts = [name.partition("=")[0] for name in names]
    times = Counter(starts)
    found: dict[str, list[int]] = {}
    for j, (name, start) in enumerate(zip(names, starts, strict=True)):
        shared = "=" in name and times[start] > 1
        found.setdefault(start if shared else name, []).append(j)
    return found


def permutation_importance(
    fits: Sequence[tuple[Any, Any]],
    X: Any,  # shape: (n, d), or a `DataTable`
    y: Any,  # shape: (n,)
    features: Sequence[str] | None = None,
    seed: int = 0,
) -> list[Importance]:
    """The rise of the test error by each column, largest first; `fits` are models with their test rows.

    Columns of a category are shuffled together. The interval is Student's over fits and shuffles.

    >>> from separatrix import GaussianNB
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = (X[:, 1] > 0).astype(int)
    >>> found = permutation_importance([(GaussianNB().fit(X[:100], y[:100]), np.arange(100, 200))], X, y)
    >>> [one.column for one in found], bool(found[0].rise > 0.3)
    (['feature 1', 'feature 0'], True)
    """
    table = isinstance(X, DataTable)
    columns = {name: [] for name in X.columns} if table else original_columns(features, X.shape[1])
    if len(columns) > MOST_COLUMNS:
        return []
    rng = np.random.default_rng(seed)
    rises: dict[str, list[float]] = {name: [] for name in columns}
    for model, rows in fits:
        rows = rows[:MOST_ROWS]
        part: Any = X[rows] if table else X[rows].toarray() if issparse(X) else np.array(X[rows])
        before = float(np.mean(model.predict(_like(part, X)) != y[rows]))
        for name, own in columns.items():
            for _ in range(REPEATS):
                order = rng.permutation(len(rows))
                if table:
                    shuffled = part.with_column(name, order)
                else:
                    shuffled = part.copy()
                    shuffled[:, own] = part[order][:, own]
                after = float(np.mean(model.predict(_like(shuffled, X)) != y[rows]))
                rises[name].append(after - before)
    found = [_summarise(name, np.array(values)) for name, values in rises.items()]
    return sorted(found, key=lambda one: -one.rise)


def _like(part: Any, X: Any) -> Any:
    return type(X)(part) if issparse(X) else part


def _summarise(name: str, values: Any) -> Importance:
    n = len(values)
    half = float("nan")
    if n > 1:
        half = float(student.ppf(0.975, n - 1) * values.std(ddof=1) / n**0.5)
    return Importance(name, float(values.mean()), half)
