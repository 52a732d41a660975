"""Search strategies, one for each kind of metric: norm, cosine, pairwise function, kernel, precomputed.

A strategy prepares the rows for an index, transforms queries in the same way, builds the index, and
converts the raw distances that it finds to distances of the metric.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.estimators.metrics.distances import (
    NORMS,
    SPARSE,
    FeatureSpace,
    NamedMetric,
    Pairwise,
    norm_of,
    positive_numbers,
)
from separatrix.estimators.metrics.neighbor_rows import searchable, tensor_to_search
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Linear
from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.runtime.sums import canonical, dense
from separatrix.solvers.nearest.blocks import Blocks, PrecomputedDistances
from separatrix.solvers.nearest.directions import directions_of, with_flags
from separatrix.solvers.nearest.exhaustive import raw_distances
from separatrix.solvers.nearest.groups import Index
from separatrix.solvers.nearest.index import build_index
from separatrix.solvers.nearest.metrics import Metric, metric_of
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Matrix, Vector

BY_DISTANCE = (Linear, Gaussian, Laplacian)  # kernels that order rows as a norm does
SEARCHED = {*NORMS, "sqeuclidean", "seuclidean", "cosine"}  # metrics with an index of their own


class SearchStrategy(ABC):
    """How rows are searched under one metric; by default queries and distances stay unchanged."""

    converts_queries = False  # whether the index needs queries as float64 arrays or CSR
    extra_columns = 0  # that prepared rows may have besides the features

    @abstractmethod
    def prepare_rows(self, X: Any) -> Any:
        """Rows as the index searches them."""

    @abstractmethod
    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        """Build the index over prepared rows."""

    def restore_rows(self, X: Any) -> Any:
        """Rows that were prepared before, from a file."""
        return X

    def transform(self, Q: Any) -> Any:
        """Queries in the space of the prepared rows."""
        return Q

    def to_distance(self, raw: Matrix) -> Matrix:
        """Distances from the raw distances of the index."""
        return raw

    def search(self, index: Index, Q: Any, k: int, skip: Codes, **how: Any) -> Neighbors:
        """Raw distances and rows of the k nearest rows of transformed queries; `how` as in `nearest`."""
        return index.nearest(Q, k, skip, **how)

    def all_distances(self, rows: Any, Q: Any) -> Matrix | None:
        """Raw distances of transformed queries to all prepared rows, (m, n); None: search instead."""
        return None


class NormSearch(SearchStrategy):
    """A p-norm of the difference, with an optional factor for each feature.

    `convert` replaces the conversion of raw distances to those of the metric.
    """

    converts_queries = True

    def __init__(
        self,
        metric: Metric,
        factors: Vector | None = None,
        convert: Callable[[Matrix], Matrix] | None = None,
    ) -> None:
        self._metric, self._factors = metric, factors
        self._convert = convert or metric.distances

    def prepare_rows(self, X: Any) -> Any:
        if self._factors is None and is_tensor(X):
            return tensor_to_search(X)
        return searchable(self.transform(X))

    def restore_rows(self, X: Any) -> Any:
        return searchable(X)

    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        if self._metric.p < 1:  # no triangle inequality, so no bounds
            method = "exhaustive"
        return build_index(rows, self._metric, k=k, method=method, threads=threads)

    def transform(self, Q: Any) -> Any:
        return Q if self._factors is None else dense(as_numpy(Q)) * self._factors

    def to_distance(self, raw: Matrix) -> Matrix:
        return self._convert(raw)

    def all_distances(self, rows: Any, Q: Any) -> Matrix | None:
        return None if issparse(rows) or issparse(Q) else raw_distances(rows, Q, self._metric)


class CosineSearch(SearchStrategy):
    """1 - cosine: half the squared Euclidean distance of unit vectors.

    A zero row is orthogonal to every query: if there is one, rows get one more column that flags it.
    """

    converts_queries = True
    extra_columns = 1

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features

    def prepare_rows(self, X: Any) -> Any:
        U, none = directions_of(as_numpy(X))
        return self.restore_rows(with_flags(U, none) if none.any() else U)

    def restore_rows(self, X: Any) -> Any:
        self._width = X.shape[1]
        return searchable(X)

    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        return build_index(rows, metric_of("euclidean"), k=k, method=method, threads=threads)

    def transform(self, Q: Any) -> Any:
        return directions_of(as_numpy(Q)).rows

    def to_distance(self, raw: Matrix) -> Matrix:
        return np.asarray(np.minimum(0.5 * raw, 2.0))

    def search(self, index: Index, Q: Any, k: int, skip: Codes, **how: Any) -> Neighbors:
        zeros = np.flatnonzero(directions_of(Q[:, : self._n_features]).none)
        if Q.shape[1] < self._width:
            Q = with_flags(Q, np.zeros(Q.shape[0], dtype=bool))
        found = index.nearest(Q, k, skip, **how)
        if len(zeros):  # orthogonal to all rows: the first ones are the nearest
            skipped = np.where(skip[zeros] < 0, k, skip[zeros])[:, None]
            found.distances[zeros] = 2.0
            found.rows[zeros] = np.arange(k) + (np.arange(k) >= skipped)
        return found


class PairwiseSearch(SearchStrategy):
    """Any other metric of scikit-learn's, or a function of two rows."""

    def __init__(self, named: NamedMetric) -> None:
        self._named = named

    def prepare_rows(self, X: Any) -> Any:
        self._pairs = Pairwise(X, *self._named)
        return self._pairs.rows

    restore_rows = prepare_rows

    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        return Blocks(rows.shape[0], self._pairs)

    def all_distances(self, rows: Any, Q: Any) -> Matrix | None:
        return np.asarray(self._pairs(Q, slice(0, rows.shape[0])), dtype=np.float64)


class KernelSearch(SearchStrategy):
    """Distances in the feature space of any kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def prepare_rows(self, X: Any) -> Any:
        self.restore_rows(X)
        self._space.prepare()
        return X

    def restore_rows(self, X: Any) -> Any:
        self._space = FeatureSpace(self._kernel, X)
        return X

    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        # kernels on objects start threads of their own, and Ctrl-C reaches those from this one
        threaded = self._kernel.takes == "vectors" and not isinstance(self._kernel, FromCallable)
        return Blocks(rows.shape[0], self._space, threaded=threaded)

    def all_distances(self, rows: Any, Q: Any) -> Matrix | None:
        return np.asarray(self._space(Q, slice(0, rows.shape[0])), dtype=np.float64)


class PrecomputedSearch(SearchStrategy):
    """Queries that are their distances to the rows."""

    def prepare_rows(self, X: Any) -> Any:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return self.transform(X)

    restore_rows = prepare_rows

    def build_index(self, rows: Any, *, k: int, method: str, threads: int) -> Index:
        return PrecomputedDistances(rows.shape[0])

    def all_distances(self, rows: Any, Q: Any) -> Matrix | None:
        return None if issparse(Q) else np.asarray(Q, dtype=np.float64)

    def transform(self, Q: Any) -> Any:
        Q = canonical(Q) if issparse(Q) else Q
        least = (Q.data if issparse(Q) else Q).min(initial=0)
        if least < 0:
            raise DataError(
                f"Negative values in data passed to precomputed distance matrix; got {least:g}"
            )
        return Q


def strategy_for(
    named: NamedMetric, kernel: Kernel | None, n_features: int, *, sparse: bool
) -> SearchStrategy:
    """The strategy for a metric, or for the feature space of a kernel."""
    if kernel is not None:
        return _kernel_strategy(kernel)
    name, params = named
    if not isinstance(name, str):
        return PairwiseSearch(named)
    if sparse and name not in SPARSE:
        raise DataError(
            f"Metric '{name}' not valid for sparse input. Use one of {sorted(SPARSE)}, a "
            "callable or a kernel, or pass X.toarray()"
        )
    if name in NORMS:
        return NormSearch(*norm_of(name, params, n_features))
    if name == "sqeuclidean":
        return NormSearch(metric_of("euclidean"), convert=np.asarray)
    if name == "seuclidean":
        factors = 1.0 / np.sqrt(positive_numbers("V", params["V"], n_features))
        return NormSearch(metric_of("euclidean"), factors)
    if name == "cosine":
        return CosineSearch(n_features)
    return PrecomputedSearch() if name == "precomputed" else PairwiseSearch(named)


def _kernel_strategy(kernel: Kernel) -> SearchStrategy:
    """Linear, Gaussian and Laplacian kernels order rows as a norm does."""
    if type(kernel) is Linear:
        return NormSearch(metric_of("euclidean"))
    if type(kernel) is Gaussian:
        return NormSearch(metric_of("euclidean"), convert=partial(_exponential, kernel.gamma))
    if type(kernel) is Laplacian:
        return NormSearch(metric_of("manhattan"), convert=partial(_exponential, kernel.gamma))
    return KernelSearch(kernel)


def _exponential(gamma: float, raw: Matrix) -> Matrix:
    """Distances sqrt(2 - 2 exp(-gamma raw)) in the feature space of the Gaussian or Laplacian kernel."""
    return np.asarray(np.sqrt(-2.0 * np.expm1(-gamma * raw)))
