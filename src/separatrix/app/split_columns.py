"""Columns that say how rows are split, which are no features: groups and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.dataset import Dataset
from separatrix.errors import DataError


def take_column(data: Dataset, name: str) -> tuple[Any, Dataset]:
    """The values of a column, (n,), and the data without it; a category's columns are one.

    >>> data = Dataset("a", np.array([[1.0, 0, 5], [0, 1, 6]]), [0, 1], features=("w=x", "w=y", "b"))
    >>> values, rest = take_column(data, "w")
    >>> values.tolist(), rest.features
    (['x', 'y'], ('b',))
    """
    names = list(data.features or ())
    own = [j for j, feature in enumerate(names) if feature == name]
    parts = own or [j for j, feature in enumerate(names) if feature.startswith(f"{name}=")]
    if not parts:
        error = DataError(f"{data.name} has no column {name!r}")
        some = dict.fromkeys(feature.partition("=")[0] for feature in names)
        error.hint = f"its columns are {', '.join(list(some)[:20])}" if names else ""
        raise error
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
