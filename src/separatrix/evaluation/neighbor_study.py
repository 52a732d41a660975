"""Nearest neighbours on many splits from one search over all rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.errors import ParameterError
from separatrix.estimators.metrics.votes import Voters
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.types import Codes, Matrix

SPARE = 4  # neighbours searched per neighbour needed


class SharedNeighbors:
    """The nearest neighbours of every row among all others; ties by row number.

    A row with too few of them in a training part is searched again in that part, so that results are
    exact on any split.

    >>> shared = SharedNeighbors.of(np.array([[0.0], [1.0], [3.0], [7.0]]), k=1)
    >>> shared.among(np.array([0, 3]), np.array([1, 2])).tolist()
    [[0], [0]]
    """

    def __init__(self, X: Any, rows: Codes, metric: str, k: int, device: str = "auto") -> None:
        self.X, self.rows, self.metric, self.k, self.device = X, rows, metric, k, device

    @classmethod
    def of(cls, X: Any, *, k: int, metric: str = "euclidean", device: str = "auto") -> Self:
        """Search k neighbours of each sample, (n, d), plus spare ones."""
        most = min(X.shape[0] - 1, SPARE * k + 8)
        index = NeighborIndex(X, metric, expected_k=most, device=device)
        return cls(X, index.search_self(most).rows, metric, k, device)

    def among(self, train: Codes, queries: Codes) -> Codes:
        """Return the rows of the k nearest training rows of each query, nearest first, (queries, k)."""
        if self.k > len(train):
            must_be = f"at most {len(train)}, the rows of a training part"
            raise ParameterError("SharedNeighbors", "k", must_be, self.k)
        member = np.zeros(len(self.rows), dtype=bool)
        member[train] = True
        found = self.rows[queries]
        inside = member[found]
        first = np.argsort(~inside, axis=1, kind="stable")[:, : self.k]
        nearest = np.take_along_axis(found, first, axis=1)
        short = np.flatnonzero(inside.sum(axis=1) < self.k)
        if len(short):
            part = np.sort(train)
            again = queries[short]
            index = NeighborIndex(self.X[part], self.metric, device=self.device)
            rows = part[index.search(self.X[again], self.k + 1).rows]
            itself = rows == again[:, None]
            itself[~itself.any(axis=1), -1] = True
            nearest[short] = rows[~itself].reshape(len(short), self.k)
        return nearest

    def winners(self, y: Codes, train: Codes, queries: Codes) -> Codes:
        """Return the class codes that 1, 2, ..., k neighbours vote for, (queries, k)."""
        voters = Voters(y, np.ones(len(y)), int(y.max()) + 1)
        no_distances: Matrix = np.empty((0, 0))
        rows = np.ascontiguousarray(self.among(train, queries))
        return voters.winners(rows, no_distances, "nearest", each=True)
