"""Exact nearest-neighbour search over rows, under any metric or kernel.

`solvers/nearest` searches; `metrics/strategies.py` maps each metric to one of its indexes. Metrics that
depend on the Euclidean norm of dense rows can be searched on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError, SeparatrixError
from separatrix.estimators.metrics.distances import feature_kernel, named_metric
from separatrix.estimators.metrics.neighbor_rows import (
    TAKE_SPARSE,
    IndexRows,
    check_rows,
    convert_queries,
    gpu_obstacle,
)
from separatrix.estimators.metrics.strategies import strategy_for
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import kernel_for_samples
from separatrix.kernels.object_kernels import first_base
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.runtime.device import (
    as_numpy,
    choose_device,
    device_name,
    is_tensor,
    like,
    run_with_fallback,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import shared_rows
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.groups import Index
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors
from separatrix.types import Codes
from separatrix.validation import require_integer, require_threads

QUERY_BYTES = 64 * MEBIBYTE
GPU_VALUES = 2**22  # values of the rows from which on device="auto" uses a GPU

Result = TypeVar("Result")


class NeighborIndex:
    """Exact nearest-neighbour search; ties go to the lower row number.

    Parameters
    ----------
    X
        Rows, (n, d), dense or sparse, or objects that the kernel takes, (n,); with
        metric="precomputed" their distances, (n, n). Rows of uint8, bool, float32 or float64 are not
        copied; do not modify them while the index is in use.
    metric
        Any metric name of scikit-learn, or a function of two rows.
    p, metric_params
        Power of "minkowski", above 0; other parameters of the metric.
    kernel
        Replaces the metric: distances |phi(x) - phi(z)| in the feature space of a kernel.
    n_jobs
        Threads; None: all cores.
    method
        Search method: "auto" or a name. All methods give the same result, except that sums over sparse
        rows run in another order, so their last bit may differ.
    expected_k
        Typical number of neighbours per query; "auto" uses it to choose a method.
    device
        "auto" uses an NVIDIA GPU if one is present, there are enough rows and the metric depends on a
        Euclidean norm; "cpu"; "cuda" raises an error if that is impossible. Queries that are tensors
        give results that are tensors.
    checked
        Whether an estimator has validated X before.

    Examples
    --------
    >>> index = NeighborIndex([[0.0], [1.0], [3.0]])
    >>> distances, rows = index.search([[1.2]], 2)
    >>> distances.round(1).tolist(), rows.tolist()
    ([[0.2, 1.2]], [[1, 0]])
    >>> index.search_self(1).rows.tolist()
    [[1], [0], [1]]
    """

    def __init__(
        self,
        X: Any,
        metric: Any = "euclidean",
        *,
        p: float | None = 2,
        metric_params: dict[str, Any] | None = None,
        kernel: Any = None,
        n_jobs: int | None = None,
        method: str = "auto",
        expected_k: int = 5,
        device: str = "auto",
        checked: bool = False,
    ) -> None:
        self._checked = checked
        X = self._configure(X, metric, p, metric_params, kernel, n_jobs, method, expected_k, device)

        def prepare(gpu: Any) -> None:
            self._rows = IndexRows(self.strategy.prepare_rows(X))
            _ = self._index if gpu is None else self._rows.index_on(gpu)

        self._run_on_device(device, X, prepare)

    @classmethod
    def restored(
        cls,
        rows: Any,
        n_features: int,
        metric: str,
        *,
        metric_params: dict[str, Any] | None = None,
        kernel: Kernel | None = None,
        n_jobs: int | None = None,
        expected_k: int = 5,
    ) -> Self:
        """An index over the `rows` of another index, which are prepared already."""
        self = cls.__new__(cls)
        self._checked = False
        rows = self._configure(
            rows, metric, 2, metric_params, kernel, n_jobs, "auto", expected_k, "auto", n_features
        )
        self._rows = IndexRows(self.strategy.restore_rows(rows))
        return self

    def _configure(
        self,
        X: Any,
        metric: Any,
        p: float | None,
        metric_params: dict[str, Any] | None,
        kernel: Any,
        n_jobs: int | None,
        method: str,
        expected_k: int,
        device: str,
        n_features: int | None = None,  # of prepared rows
    ) -> Any:
        """Check all parameters and choose the strategy; returns the checked rows."""
        name = type(self).__name__
        require_threads(name, n_jobs)
        require_integer(name, "expected_k", expected_k, least=1)
        self.metric, self.n_jobs, self.device = metric, n_jobs, device
        self._wanted_method, self._expected_k = method, expected_k
        self._named = named_metric(name, metric, p, metric_params)
        kernel = kernel_for_samples(kernel, X)
        self._objects = first_base(kernel) if isinstance(kernel, Kernel) else None
        allow_nan = isinstance(metric, str) and metric == "nan_euclidean"
        self._check = partial(
            check_rows, name, objects=self._objects, device=device, allow_nan=allow_nan
        )
        if not self._checked or self._objects is not None:
            X = self._check(X, least=1)
        self.n_rows, width = int(X.shape[0]), int(X.shape[1]) if self._objects is None else 0
        self.n_features = width if n_features is None else n_features
        self.kernel = None
        if kernel is not None:
            if self._named.name != "euclidean" or metric_params is not None:
                raise ParameterError(name, "metric", "left at its default with a kernel", metric)
            self.kernel = feature_kernel(name, kernel, X)
        self.strategy = strategy_for(self._named, self.kernel, self.n_features, sparse=issparse(X))
        if not 0 <= width - self.n_features <= self.strategy.extra_columns:
            raise DataError(f"rows have {width} columns for {self.n_features} features")
        self.sparse = issparse(X)
        self.gpu_obstacle = (
            gpu_obstacle(self._named, self.kernel, X) if method == "auto" else f"method={method!r}"
        )
        self._large_enough = self.n_rows * self.n_features >= GPU_VALUES
        self._example = X[:0] if is_tensor(X) else None
        return X

    @cached_property
    def _index(self) -> Index:
        """The index on the CPU; built on first use if the rows come from a file or are on a GPU."""
        return self.strategy.build_index(
            self.rows,
            k=self._expected_k,
            method=self._wanted_method,
            threads=thread_count(self.n_jobs),
        )

    @property
    def rows(self) -> Any:
        """The prepared rows, as an array or CSR matrix."""
        return self._rows.array

    @property
    def method(self) -> str:
        """Name of the search method; "gpu" if the rows are on a GPU."""
        return "gpu" if self._rows.gpu_indexes else self._index.built().method

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the rows, on the CPU or on a GPU."""
        return sum(index.nbytes for index in self._rows.gpu_indexes.values()) or self._index.nbytes

    def search(self, Q: Any, k: int) -> Neighbors:
        """Distances of the k nearest rows of each query, and their numbers, nearest first; each (m, k)."""
        _require_k(k, self.n_rows)
        found = self.nearest(Q, k, threads=thread_count(self.n_jobs))
        return Neighbors(*(self.match_input(part, Q) for part in found))

    def search_self(self, k: int) -> Neighbors:
        """The same for every row of the index, without the row itself."""
        _require_k(k, self.n_rows - 1)
        found = self.nearest(None, k, threads=thread_count(self.n_jobs))
        return Neighbors(*(self.match_input(part, None) for part in found))

    def match_input(self, values: Any, Q: Any) -> Any:
        """Values as a tensor if the queries Q, or without queries the rows, came as tensors."""
        return like(values, self._example if Q is None else Q)

    def nearest(
        self,
        Q: Any,
        k: int,
        *,
        threads: int,
        monitor: FitMonitor | None = None,
        device: str | None = None,
        checked: bool = False,
        own: Codes | None = None,
    ) -> Neighbors:
        """`search`, or without queries `search_self`, as NumPy arrays.

        device replaces that of the index; checked: whether the queries were validated before; own: the
        rows to search for without queries, None for all.
        """
        device = device or self.device
        if Q is not None:
            if not checked or not self.strategy.converts_queries:
                Q = self._check(Q, least=0)
            if self._objects is None and Q.shape[1] != self.n_features:
                raise DataError(
                    f"queries have {Q.shape[1]} features, but the rows of the index have "
                    f"{self.n_features}"
                )
        located = Q if device == "cpu" or device_name(Q) != "cpu" else self._rows.tensor
        return self._run_on_device(
            device, located, lambda gpu: self._search(Q, k, threads, monitor, gpu, own)
        )

    def _search(
        self,
        Q: Any,
        k: int,
        threads: int,
        monitor: FitMonitor | None,
        gpu: Any,
        own_rows: Codes | None,
    ) -> Neighbors:
        """Neighbours of the queries, or of the rows themselves without queries."""
        index, own = self._index if gpu is None else self._rows.index_on(gpu), Q is None
        if own:
            Q = self.rows if gpu is None or self._rows.tensor is None else self._rows.tensor
            skip = np.arange(self.n_rows) if own_rows is None else own_rows
            Q = Q if own_rows is None else Q[own_rows]
        else:
            Q = as_numpy(Q) if gpu is None else Q
            skip = np.full(Q.shape[0], -1)
        found = Neighbors(np.empty((Q.shape[0], k)), np.empty((Q.shape[0], k), dtype=np.intp))
        size = max(1, Q.shape[0])
        if self.strategy.converts_queries and (gpu is None or issparse(Q)):
            width = self.n_features + 1
            if issparse(Q) and index.method in TAKE_SPARSE:
                width = min(width, 2 * Q.nnz // size + 1)
            size = rows_that_fit(8 * width, QUERY_BYTES)
        for part in row_blocks(Q.shape[0], size):
            queries = Q if size >= Q.shape[0] else shared_rows(Q, part)
            queries = queries if own else self.strategy.transform(queries)
            if self.strategy.converts_queries:
                queries = convert_queries(queries, index)
            raw = self.strategy.search(
                index, queries, k, skip[part], threads=threads, monitor=monitor
            )
            cancelled = monitor is not None and monitor.should_stop()
            if not cancelled and (raw.rows[:, -1:] == NOBODY).any():
                raise SeparatrixError(f"the search {index.method!r} lost rows: this is a bug")
            found.distances[part], found.rows[part] = (
                self.strategy.to_distance(raw.distances),
                raw.rows,
            )
        return found

    def _run_on_device(self, device: str, array: Any, work: Callable[[Any], Result]) -> Result:
        """Result of work(torch device), or of work(None) on the CPU; after a fallback always there."""
        name = type(self).__name__
        gpu = choose_device(
            name, device, array, large=self._large_enough, obstacle=self.gpu_obstacle
        )

        def attempt(chosen: Any) -> Result:
            if gpu is not None and chosen is None:
                self._large_enough = False
            return work(chosen)

        return run_with_fallback(name, device, gpu, attempt)

    def __getstate__(self) -> dict[str, Any]:
        """Without tensors: the copy may go to a machine without a GPU."""
        return self.__dict__ | {"_example": None}

    def __repr__(self) -> str:
        what = f"metric={self._named.name!r}"
        if self.kernel is not None:
            what = f"kernel={self.kernel!r}"
        what += "".join(f", {name}={value!r}" for name, value in self._named.params.items())
        rows = f"{self.n_rows} x {self.n_features} {self.rows.dtype}"
        if self._objects is not None:
            rows = f"{self.n_rows} {self._objects.takes}"
        return f"NeighborIndex({rows}, {what}, {self.method}, {in_words(self.nbytes)})"


def _require_k(k: object, most: int) -> None:
    require_integer("NeighborIndex", "k", k, least=1)
    if int(k) > most:  # type: ignore[call-overload]
        raise ParameterError("NeighborIndex", "k", f"at most {most}, the number of rows", k)
