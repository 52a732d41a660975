"""Samples in an index: their metric, and the queries for neighbours that estimators on it share."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags, _align_api_if_sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.kernel_machine import KernelMachine, tags_of_kernel
from separatrix.estimators.base.prepare import check_samples
from separatrix.estimators.metrics.distances import (
    feature_kernel,
    named_metric,
    require_algorithm,
)
from separatrix.estimators.metrics.neighbor_rows import gpu_obstacle
from separatrix.estimators.metrics.radius import RadiusBatch, search_radius
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.runtime.device import as_numpy, choose_device
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.validation import require_integer, require_real, require_threads

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
WITH_STORED_ZEROS = ("csr", "csc", "coo", "lil")


class IndexedSamples(KernelMachine):
    """An estimator that stores its samples in an index."""

    algorithm: str
    p: float | None
    metric: Any
    metric_params: dict[str, Any] | None

    @property
    def expected_k(self) -> int:
        """Neighbours that a search will probably find."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._precomputed
        tags.input_tags.allow_nan = isinstance(self.metric, str) and self.metric == "nan_euclidean"
        return tags_of_kernel(tags, self._own_kernel)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if self._own_kernel is not None:
            default = isinstance(self.metric, str) and self.metric == "minkowski"
            if not default or self.p != 2 or self.metric_params is not None:
                must_be = "left at its default 'minkowski', with p=2, with a kernel"
                raise ParameterError(name, "metric", must_be, self.metric)
        named = named_metric(name, self.metric, self.p, self.metric_params)
        require_algorithm(name, self.algorithm, self.metric, named)
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warn_user(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is "
                "ignored.",
                SyntaxWarning,
            )

    def _check_format(self, X: Any) -> None:
        """Refuse sparse distances whose format drops zeros, and warn of trees."""
        if not issparse(X):
            return
        if self._precomputed and X.format not in WITH_STORED_ZEROS:
            raise TypeError(
                f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
                "explicit zeros"
            )
        if self.algorithm in ("kd_tree", "ball_tree"):
            warn_user("cannot use tree with sparse input: using brute force")

    def _set_metric(self, X: Any) -> None:
        """Set the attributes that depend on the metric, for checked samples."""
        name, kernel = type(self).__name__, self._own_kernel
        self.kernel_ = None if kernel is None else feature_kernel(name, kernel, X)
        named = named_metric(name, self.metric, self.p, self.metric_params)
        self.effective_metric_ = named.name if kernel is None else "kernel"
        self.effective_metric_params_ = named.params
        self._require_device(X, gpu_obstacle(named, self.kernel_, X))

    def _build_index(self, X: Any) -> None:
        """Index the samples that `_encode` checked."""
        self.index_ = NeighborIndex(
            X,
            self.metric,
            p=self.p,
            metric_params=self.metric_params,
            kernel=self.kernel_,
            n_jobs=self.n_jobs,
            expected_k=self.expected_k,
            device=self.device,
            checked=True,
        )
        self.n_samples_fit_ = X.shape[0]

    def _check_queries(self, X: Any) -> Any:
        """Checked samples to search for; None is the training samples."""
        require_threads(type(self).__name__, self.n_jobs)
        if issparse(X) and not self.index_.sparse and "tree" in self.algorithm:
            raise DataError(
                f"{self.algorithm} does not work with sparse matrices. Densify the data, or set "
                "algorithm='brute'"
            )
        if X is not None:
            X = check_samples(self, X, reset=False)
        self._require_device(X, self.index_.gpu_obstacle)
        return X

    def _require_device(self, X: Any, obstacle: str | None) -> None:
        """Raise an error if the samples or the metric do not support the device."""
        choose_device(type(self).__name__, self.device, X, large=False, obstacle=obstacle)


class NearestQueries(IndexedSamples):
    """Queries for a number of neighbours."""

    n_neighbors: int

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances of the nearest training samples, and their rows, nearest first; each (m, k).

        X=None: of the training samples, each left out of its own neighbours.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        require_integer(type(self).__name__, "n_neighbors", k, least=1)
        found = self._find_neighbors(X, int(k))
        distances, rows = (self.index_.match_input(part, X) for part in found)
        return (distances, rows) if return_distance else rows

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """The nearest training samples as a sparse matrix, (m, n), of ones or of the "distance"."""
        _require_graph_mode(mode)
        distances, rows = map(as_numpy, self.kneighbors(X, n_neighbors))
        m, k = rows.shape
        values = distances if mode == "distance" else np.ones_like(distances)
        ends = np.arange(m + 1) * k
        graph = csr_array((values.ravel(), rows.ravel(), ends), shape=(m, self.n_samples_fit_))
        return _align_api_if_sparse(graph)

    def _find_neighbors(self, X: Any, k: int) -> Neighbors:
        """The k nearest training samples of each sample; X=None: of each training sample but itself."""
        name, n = type(self).__name__, self.n_samples_fit_
        X = self._check_queries(X)
        if k > n - (X is None):
            sign = "<" if X is None else "<="
            raise DataError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {n if X is None else X.shape[0]}"
            )
        with bar(f"{name}: search", None, show=bool(getattr(self, "verbose", 0))) as advance:

            def on_step(_number: int) -> bool:
                advance()
                return False

            return self.index_.nearest(
                X,
                k,
                threads=thread_count(self.n_jobs),
                monitor=FitMonitor(None, on_step),
                device=self.device,
                checked=True,
            )


class RadiusQueries(IndexedSamples):
    """Queries for all neighbours within a radius."""

    radius: float

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Distances of the training samples within the radius, and their rows: arrays of m arrays.

        Always nearest first, whatever `sort_results`. X=None: of the training samples, each left out of
        its own neighbours.
        """
        queries, count = self._checked(X)
        distances, rows = (np.empty(count, dtype=object) for _ in range(2))
        for batch in self._batches(queries, radius):
            for i, own in enumerate(batch.queries):
                distances[own] = batch.distances[i, batch.inside[i]]
                rows[own] = batch.rows[i, batch.inside[i]]
        return (distances, rows) if return_distance else rows

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """The neighbours as a sparse matrix, (m, n), of ones or of the "distance"."""
        _require_graph_mode(mode)
        distances, rows = self.radius_neighbors(X, radius)
        ends = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.intp)
        columns = np.concatenate([*rows, np.empty(0, dtype=np.intp)])
        values = np.concatenate([*distances, np.empty(0)])
        values = values if mode == "distance" else np.ones_like(values)
        graph = csr_array((values, columns, ends), shape=(len(rows), self.n_samples_fit_))
        return _align_api_if_sparse(graph)

    def _checked(self, X: Any) -> tuple[Any, int]:
        """Checked samples, or None for the training samples, and their number."""
        check_is_fitted(self)
        X = self._check_queries(X)
        return X, int(self.n_samples_fit_ if X is None else X.shape[0])

    def _batches(
        self, X: Any, radius: float | None = None, *, ordered: bool = True
    ) -> Iterator[RadiusBatch]:
        """Checked samples, or None, in batches with their neighbours."""
        radius = self.radius if radius is None else radius
        if not (isinstance(radius, Real) and radius == np.inf):
            require_real(type(self).__name__, "radius", radius, least=0)
        return search_radius(
            self.index_,
            X,
            float(radius),
            threads=thread_count(self.n_jobs),
            device=self.device,
            ordered=ordered,
        )


def _require_graph_mode(mode: str) -> None:
    """Raise an error for an unknown kind of entries of a graph of neighbours."""
    if mode not in ("connectivity", "distance"):
        raise DataError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )
