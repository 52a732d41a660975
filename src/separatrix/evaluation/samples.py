"""Samples as people have them, as an evaluation uses them: matrices, frames, texts, graphs.

Afterwards X is a float matrix, dense or CSR, or an array of objects; rows are taken by X[rows].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_X_y, column_or_1d

from separatrix.data.dataset import Dataset
from separatrix.errors import DataError
from separatrix.kernels.graphs.graph_union import check_graphs, is_graph
from separatrix.kernels.strings.sequences import check_sequences
from separatrix.types import Matrix

MOST_CATEGORIES = 1000


def samples_and_labels(X: Any, y: Any, *, missing: bool = False) -> tuple[Any, Any]:
    """X, (n, d) or n strings or graphs, and y, (n,), checked; NaN is refused unless `missing`.

    A column of words in a frame becomes one column of 0 and 1 for each of its values.

    >>> X, y = samples_and_labels(["win cash", "see you"], ["spam", "ham"])
    >>> X[[1]].tolist()
    ['see you']
    """
    if is_graphs(X) or _is_sequences(X):
        X = check_graphs("X", X) if is_graphs(X) else check_sequences("X", X)
        y = column_or_1d(y, warn=True)
        if len(X) != len(y):
            raise DataError(f"X has {len(X)} samples, but y has {len(y)} labels")
        return X, y
    finite: Any = "allow-nan" if missing else True
    X, y = check_X_y(_matrix(X), y, accept_sparse="csr", dtype="numeric", ensure_all_finite=finite)
    return X, y


def is_text(X: Any) -> bool:
    """Whether X is strings, one for each sample."""
    return _is_list(X) and all(isinstance(value, str) for value in X)


def is_graphs(X: Any) -> bool:
    """Whether X is graphs, one for each sample."""
    return _is_list(X) and all(is_graph(value) for value in X)


def require_labels(data: Dataset) -> None:
    """Refuse data without labels."""
    if data.y is None:
        error = DataError(f"{data.name} has no labels")
        if data.features is not None:
            error.hint = "name the column that has them with --target"
        raise error
    labels = np.asarray(data.y)
    if labels.dtype.kind == "f" and (broken := labels[labels != np.rint(labels)]).size:
        error = DataError(f"{data.name} has labels that are no classes, such as {broken[0]}")
        error.hint = "classes are words or whole numbers; --target names their column"
        raise error


def require_classes(data: Dataset) -> None:
    """Refuse what no model can be fitted to: no labels, or one class."""
    require_labels(data)
    if len(np.unique(data.y)) < 2:
        raise DataError(f"{data.name} has one class only, {np.unique(data.y).tolist()[0]!r}")


def _is_sequences(X: Any) -> bool:
    """Whether X is strings, bytes, or lists of tokens that are no rows of numbers, as far as one sees."""
    if not _is_list(X):
        return False
    items = list(X)
    if isinstance(items[0], str | bytes):
        return True
    tokens = all(isinstance(item, list | tuple) for item in items)
    as_objects = isinstance(X, np.ndarray)  # of lists: nobody means a matrix
    return tokens and (
        as_objects or any(isinstance(token, str) for item in items for token in item)
    )


def _is_list(X: Any) -> bool:
    """Whether X has items and no columns."""
    if isinstance(X, str) or issparse(X) or not hasattr(X, "__len__") or len(X) == 0:
        return False
    return len(getattr(X, "shape", (1,))) == 1 and not hasattr(X, "columns")


def _matrix(X: Any) -> Any:
    """A frame with columns of words as numbers; anything else as it is."""
    if not hasattr(X, "columns"):
        return X
    columns = {str(name): np.asarray(X[name]) for name in X.columns}
    if all(values.dtype.kind in "biuf" for values in columns.values()):
        return np.column_stack([values.astype(np.float64) for values in columns.values()])
    return np.column_stack([_numbers(name, values) for name, values in columns.items()])


def _numbers(name: str, values: Any) -> Matrix:
    """A column as it is, (n, 1), or one column for each of its words, (n, categories)."""
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)[:, None]
    known = np.array([value is not None and value == value for value in values])
    words = values.astype(str)
    categories = np.unique(words[known])
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(categories)} different words; at most {MOST_CATEGORIES} can be "
            "told apart: leave it out"
        )
    return np.asarray((words[:, None] == categories) & known[:, None], dtype=np.float64)
