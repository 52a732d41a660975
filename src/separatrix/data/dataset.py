"""Samples with their labels, the result of every reader."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Dataset:
    """Samples with labels, and a test part if the data set has one.

    X is a float matrix, dense or CSR, a list of texts, sequences or graphs, or a `DataTable`. In a matrix,
    a categorical column of a table is one column of X for each of its values, named "column=value".
    """

    name: str
    X: Any  # shape: (n, d), or a list of n
    y: Any  # shape: (n,); None for a file without labels
    X_test: Any = None  # shape: (m, d), or a list of m
    y_test: Any = None  # shape: (m,)
    image: tuple[int, int] | None = None  # rows and columns of an image of one sample
    features: tuple[str, ...] | None = None  # names of the columns of X
    target: str = ""  # name of the column that y was
    kind: str = "vectors"  # or "text", "sequences", "graphs", "table"
    notes: tuple[str, ...] = field(default=())  # remarks of the reader
    reading: str = ""  # how the file was read, in one line
    guess: str = ""  # why the target is the target, if nobody named it

    def at(self, rows: Any) -> Dataset:
        """The data set with some of its rows, by number; the test part stays complete."""
        X = [self.X[row] for row in rows] if isinstance(self.X, list) else self.X[rows]
        return replace(self, X=X, y=None if self.y is None else np.asarray(self.y)[rows])


def concatenate_parts(data: Dataset) -> tuple[Any, Any]:
    """Training and test part, concatenated."""
    from scipy.sparse import issparse, vstack  # not loaded by the server of the workbench

    y = np.concatenate([data.y, data.y_test])
    if isinstance(data.X, list):
        return data.X + data.X_test, y
    if issparse(data.X):
        return vstack([data.X, data.X_test], format="csr"), y
    return np.concatenate([data.X, data.X_test]), y
