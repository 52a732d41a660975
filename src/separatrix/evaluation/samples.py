"""Input checks of an evaluation: matrices, frames, texts and graphs become arrays indexed by rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_X_y, column_or_1d

from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.errors import DataError
from separatrix.kernels.graphs.graph_union import check_graphs, is_graph
from separatrix.kernels.strings.sequences import check_sequences
from separatrix.types import Matrix

MAX_CATEGORIES = 1000


class CheckedSamples(NamedTuple):
    """Samples and labels that passed `check_samples`; it then returns them at once."""

    X: Any  # a float matrix (n, d), dense or CSR, a `DataTable`, or n objects
    y: Any  # shape: (n,)


def check_samples(X: Any, y: Any = None, *, missing: bool = False) -> CheckedSamples:
    """Check X, (n, d), a `DataTable`, n strings or graphs, and y, (n,); NaN is an error unless `missing`.

    A string column of a frame is one-hot encoded.

    >>> X, y = check_samples(["win cash", "see you"], ["spam", "ham"])
    >>> X[[1]].tolist()
    ['see you']
    """
    if isinstance(X, CheckedSamples):
        return X
    if y is None:
        raise DataError(
            "y is missing: pass samples X and their labels y, behind the models if there are any"
        )
    if isinstance(X, DataTable):
        y = column_or_1d(y, warn=True)
        if len(X) != len(y):
            raise DataError(f"X has {len(X)} samples, but y has {len(y)} labels")
        return CheckedSamples(X, y)
    if is_graphs(X) or _is_sequences(X):
        X = check_graphs("X", X) if is_graphs(X) else check_sequences("X", X)
        y = column_or_1d(y, warn=True)
        if len(X) != len(y):
            raise DataError(f"X has {len(X)} samples, but y has {len(y)} labels")
        return CheckedSamples(X, y)
    finite: Any = "allow-nan" if missing else True
    return CheckedSamples(
        *check_X_y(_matrix(X), y, accept_sparse="csr", dtype="numeric", ensure_all_finite=finite)
    )


def require_features(X: Any) -> None:
    """Refuse a table of mixed columns where numbers are needed."""
    if isinstance(X, DataTable):
        error = DataError("X is a table of mixed columns, which no classifier takes as it is")
        error.hint = "put TableEncoder() before each classifier in a pipeline"
        raise error


def is_text(X: Any) -> bool:
    """Return whether X is a list of strings."""
    return _is_list(X) and all(isinstance(value, str) for value in X)


def is_graphs(X: Any) -> bool:
    """Return whether X is a list of graphs."""
    return _is_list(X) and all(is_graph(value) for value in X)


def require_labels(data: Dataset) -> None:
    """Raise an error if the data has no class labels."""
    if data.y is None:
        error = DataError(f"{data.name} has no labels")
        if data.features is not None:
            error.hint = "name the label column with --target"
        raise error
    labels = np.asarray(data.y)
    if labels.dtype.kind == "f" and (broken := labels[labels != np.rint(labels)]).size:
        error = DataError(f"{data.name} has labels that are not classes, such as {broken[0]}")
        error.hint = "classes are strings or integers; --target names their column"
        raise error


def require_classes(data: Dataset) -> None:
    """Raise an error unless the data has labels of at least two classes."""
    require_labels(data)
    if len(np.unique(data.y)) < 2:
        error = DataError(f"{data.name} has only one class, {np.unique(data.y).tolist()[0]!r:.60}")
        error.hint = "name the label column with --target" if data.features is not None else ""
        raise error


def _is_sequences(X: Any) -> bool:
    """Return whether X holds strings, bytes, or lists of tokens that are not rows of numbers."""
    if not _is_list(X):
        return False
    items = list(X)
    if isinstance(items[0], str | bytes):
        return True
    tokens = all(isinstance(item, list | tuple) for item in items)
    as_objects = isinstance(X, np.ndarray)  # an object array of lists is never a matrix
    return tokens and (
        as_objects or any(isinstance(token, str) for item in items for token in item)
    )


def _is_list(X: Any) -> bool:
    """Return whether X is one-dimensional and not a frame."""
    if isinstance(X, str) or issparse(X) or not hasattr(X, "__len__") or len(X) == 0:
        return False
    return len(getattr(X, "shape", (1,))) == 1 and not hasattr(X, "columns")


def _matrix(X: Any) -> Any:
    """Return a frame as a matrix of numbers; anything else unchanged."""
    if not hasattr(X, "columns"):
        return X
    columns = {str(name): np.asarray(X[name]) for name in X.columns}
    if all(values.dtype.kind in "biuf" for values in columns.values()):
        return np.column_stack([values.astype(np.float64) for values in columns.values()])
    return np.column_stack([_encode(name, values) for name, values in columns.items()])


def _encode(name: str, values: Any) -> Matrix:
    """Return a numeric column, (n, 1), or one-hot encode a string column, (n, categories)."""
    if values.dtype.kind in "biuf":
        return np.asarray(values, dtype=np.float64)[:, None]
    known = np.array([value is not None and value == value for value in values])
    words = values.astype(str)
    categories = np.unique(words[known])
    if len(categories) > MAX_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(categories)} categories; the limit is {MAX_CATEGORIES}: drop the "
            "column"
        )
    return np.asarray((words[:, None] == categories) & known[:, None], dtype=np.float64)
