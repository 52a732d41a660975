"""Rows that can be searched for their nearest: the distances by name, and the index behind them.

The search is in `solvers/nearest`. Norms of differences go to its indexes, and so does what orders
rows as one of them does: cosines, and the linear, Gaussian and Laplacian kernels. What goes by the
Euclidean norm of dense rows can be searched on a card.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from separatrix.errors import DataError, ParameterError, SeparatrixError
from separatrix.estimators.metrics.distances import (
    NORMS,
    SPARSE,
    FeatureSpace,
    Pairwise,
    feature_kernel,
    named_metric,
    norm_of,
    positive_numbers,
)
from separatrix.estimators.metrics.neighbor_rows import (
    LazyIndex,
    checked_tensor,
    gpu_obstacle,
    searchable,
    tensor_to_search,
)
from separatrix.kernels.base import FromCallable, Kernel
from separatrix.kernels.object_kernels import first_base
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Linear
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
from separatrix.runtime.sums import dense, shared_rows
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.blocks import Blocks, Given
from separatrix.solvers.nearest.directions import canonical, directions_of, with_flags
from separatrix.solvers.nearest.index import Index, index_of
from separatrix.solvers.nearest.metrics import Metric, metric_of
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer, require_threads

QUERY_BYTES = 64 * MEBIBYTE
TAKE_SPARSE = ("sparse", "bits")  # methods whose queries may be CSR
SEARCHED = {*NORMS, "sqeuclidean", "seuclidean", "cosine"}  # metrics with an index of their own
BY_DISTANCE = (Linear, Gaussian, Laplacian)  # kernels that order rows as a norm does
WORTH = 2**22  # values of the rows that are worth a card


Found = TypeVar("Found")


class NeighborIndex:
    """Rows, ready to be searched for the nearest to any query; exact, ties by row number.

    Parameters
    ----------
    X
        Rows, (n, d), dense or sparse, or objects that the kernel takes, (n,); with
        metric="precomputed" their distances, (n, n). Rows of uint8, bool, float32 or float64 are not
        copied; do not change them while the index is in use.
    metric
        Any name that scikit-learn knows, or a function of two rows.
    p, metric_params
        Power of "minkowski", above 0; other parameters of the metric.
    kernel
        Instead of a metric: distances |phi(x) - phi(z)| in the feature space of a kernel.
    n_jobs
        Threads; None: all cores.
    method
        How to search: "auto", or a method to insist on. The result is the same; only sparse rows are
        summed in another order, so that there the last bit may differ.
    expected_k
        About how many neighbours will be asked for; helps "auto" to choose.
    device
        "auto": a card where there is one, the rows are worth it and the metric goes by a Euclidean norm;
        "cpu"; or "cuda": an error where that cannot be. Tensors are answered with tensors.

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
    ) -> None:
        self._build(X, metric, p, metric_params, kernel, n_jobs, method, expected_k, device)

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
        """The index over `rows` of another one: they lie where it searches already."""
        index = cls.__new__(cls)
        index._build(
            rows, metric, 2, metric_params, kernel, n_jobs, "auto", expected_k, "auto", n_features
        )
        return index

    def _build(
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
        placed: int | None = None,  # features, where rows were put in their place before
    ) -> None:
        name = type(self).__name__
        require_threads(name, n_jobs)
        require_integer(name, "expected_k", expected_k, least=1)
        self.n_jobs, self.device = n_jobs, device
        self.metric = metric
        self._named = named_metric(name, metric, p, metric_params)
        self._nan = isinstance(metric, str) and metric == "nan_euclidean"
        self._objects = first_base(kernel) if isinstance(kernel, Kernel) else None
        X = self._checked(X)
        self.n_rows = int(X.shape[0])
        self.n_features = int(X.shape[1]) if self._objects is None else 0
        self._placed = placed is not None
        if placed is not None:
            self._require_place_for(placed)
        self.kernel = None
        if kernel is not None:
            if self._named.name != "euclidean" or metric_params is not None:
                raise ParameterError(name, "metric", "left alone beside a kernel", metric)
            self.kernel = feature_kernel(name, kernel, X)
        self._place: Callable[[Any], Any] = _as_they_are
        self._finish: Callable[[Matrix], Matrix] = _as_they_are
        self._as_given = False  # whether the index takes queries as they are, not as float64
        self.without = self._why_not_on_a_card(X, method)
        self._worth = self.n_rows * self.n_features >= WORTH
        self._on_card: dict[str, Index] = {}
        self._rows: Any = None
        self._tensor: Any = None  # rows that came as one to a card
        self._example = X[:0] if is_tensor(X) else None
        place = None if self._placed else self._where(device, X)
        self._lazy = self._placed or place is not None
        self._index = self._made(X, expected_k, method)
        self._run_on_device(device, place, self._get_ready)

    @property
    def rows(self) -> Any:
        """Rows where they are searched, as an array or CSR matrix."""
        if self._rows is None:
            self._rows = as_numpy(self._tensor)
        return self._rows

    @property
    def rows_as_kept(self) -> Any:
        """The same, but a tensor where they came as one to a card."""
        return self.rows if self._tensor is None else self._tensor

    @property
    def method(self) -> str:
        """The way of searching, in a word; "card" where the rows are on one."""
        return next((card.method for card in self._on_card.values()), None) or self._index.method

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the rows, here or on a card."""
        return sum(card.nbytes for card in self._on_card.values()) or self._index.nbytes

    def search(self, Q: Any, k: int) -> Neighbors:
        """Distances of the k nearest rows of each query, and their numbers, nearest first; each (m, k)."""
        self._require_k(k, self.n_rows)
        found = self.nearest(Q, k, threads=thread_count(self.n_jobs))
        return Neighbors(*(like(part, Q) for part in found))

    def search_self(self, k: int) -> Neighbors:
        """The same for every row of the index, without the row itself."""
        self._require_k(k, self.n_rows - 1)
        found = self.nearest(None, k, threads=thread_count(self.n_jobs))
        return Neighbors(*(like(part, self.example(None)) for part in found))

    def example(self, Q: Any) -> Any:
        """What answers about queries are to be like: these, or the rows where there are none."""
        return self._example if Q is None else Q

    def nearest(
        self,
        Q: Any,
        k: int,
        *,
        threads: int,
        monitor: FitMonitor | None = None,
        device: str | None = None,
        checked: bool = False,
    ) -> Neighbors:
        """`search`, or, without queries, `search_self`, in so many threads; a watch may stop it.

        On another device than the index has; of queries that somebody has checked. NumPy's in any case.
        """
        device = device or self.device
        if Q is not None:
            Q = Q if checked and not self._as_given else self._checked(Q, rows=0)
            if self._objects is None and Q.shape[1] != self.n_features:
                raise DataError(
                    f"queries have {Q.shape[1]} features, but the rows of the index have "
                    f"{self.n_features}"
                )
        place = self._where(device, Q)
        return self._run_on_device(
            device,
            place,
            lambda place: self._searched(Q, k, threads, monitor, self._get_ready(place)),
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but what lies on a card: the copy may go to a machine without one."""
        left = {"_rows": self.rows, "_tensor": None, "_example": None, "_on_card": {}}
        return self.__dict__ | left

    def _searched(
        self, Q: Any, k: int, threads: int, monitor: FitMonitor | None, card: Index | None
    ) -> Neighbors:
        """Neighbours of queries, found here or on a card; of the rows themselves without queries."""
        own = Q is None
        if own:
            Q, skip = self.rows if card is None else self.rows_as_kept, np.arange(self.n_rows)
        else:
            skip = np.full(Q.shape[0], -1)
        if card is None or self._place is not _as_they_are:
            Q = as_numpy(Q)
        found = Neighbors(np.empty((Q.shape[0], k)), np.empty((Q.shape[0], k), dtype=np.intp))
        at_once = self._queries_at_once(Q) if card is None or issparse(Q) else max(1, Q.shape[0])
        for part in row_blocks(Q.shape[0], at_once):
            queries = Q if at_once >= Q.shape[0] else shared_rows(Q, part)
            queries = queries if own else self._place(queries)
            raw = self._raw(queries, k, skip[part], threads, monitor, card)
            if (raw.rows[:, -1:] == NOBODY).any() and not (
                monitor is not None and monitor.should_stop()
            ):
                raise SeparatrixError(f"the search {self.method!r} lost rows: this is a bug")
            found.distances[part], found.rows[part] = self._finish(raw.distances), raw.rows
        return found

    def _where(self, device: str, array: Any) -> Any:
        """The torch device to search on, where the queries or else the rows are; None to search here."""
        if device_name(array) == "cpu" and device != "cpu":
            array = self._tensor
        return choose_device(
            type(self).__name__, device, array, worth=self._worth, without=self.without
        )

    def _run_on_device(self, device: str, place: Any, work: Callable[[Any], Found]) -> Found:
        """What work finds on a card or, where that fails and may fail, here; and from then on here."""

        def fall_back_to_cpu(now: Any) -> Found:
            self._worth = self._worth and (place is None or now is not None)
            return work(now)

        return run_with_fallback(type(self).__name__, device, place, fall_back_to_cpu)

    def _get_ready(self, place: Any) -> Index | None:
        """The rows on a card, moved there if they were not; None without one."""
        if place is None:
            return None
        if str(place) not in self._on_card:
            from separatrix.solvers.nearest.cuda import OnDevice

            self._on_card[str(place)] = OnDevice(self.rows_as_kept, place)
        return self._on_card[str(place)]

    def _why_not_on_a_card(self, X: Any, method: str) -> str | None:
        if method != "auto":
            return f"method={method!r}"
        return gpu_obstacle(self._named, self.kernel, X)

    def __repr__(self) -> str:
        what = f"metric={self._named.name!r}"
        if self.kernel is not None:
            what = f"kernel={self.kernel!r}"
        what += "".join(f", {name}={value!r}" for name, value in self._named.params.items())
        rows = f"{self.n_rows} x {self.n_features} {self.rows.dtype}"
        if self._objects is not None:
            rows = f"{self.n_rows} {self._objects.takes}"
        return f"NeighborIndex({rows}, {what}, {self.method}, {in_words(self.nbytes)})"

    def _checked(self, X: Any, *, rows: int = 1) -> Any:
        if self._objects is not None:
            X = self._objects.checked(X)
            if len(X) < rows:
                raise DataError("NeighborIndex needs at least one row; got none")
            return X
        if is_tensor(X):
            if device_name(X) != "cpu" or self.device == "cuda":
                return checked_tensor(type(self).__name__, X, rows)
            X = as_numpy(X)
        finite: Any = "allow-nan" if self._nan else True
        X = check_array(
            X, accept_sparse="csr", order="C", ensure_all_finite=finite, ensure_min_samples=rows
        )
        if issparse(X):  # compiled loops trust the indices
            X.check_format(full_check=True)
        return X

    def _require_place_for(self, n_features: int) -> None:
        """Rows by angle may have one column more than the samples had features."""
        more = self.n_features - n_features
        if more not in ((0, 1) if self._named.name == "cosine" else (0,)):
            raise DataError(f"rows have {self.n_features} columns for {n_features} features")
        self.n_features = n_features

    def _made(self, X: Any, k: int, method: str) -> Index:
        """The index, after the rows were put where it searches."""
        if self.kernel is not None:
            return self._in_feature_space(self.kernel, X, k, method)
        name, params = self._named
        if isinstance(name, str):
            if issparse(X) and name not in SPARSE:
                raise DataError(
                    f"Metric '{name}' not valid for sparse input. Use one of {sorted(SPARSE)}, a "
                    "callable or a kernel, or pass X.toarray()"
                )
            if name in NORMS:
                return self._by_norm(X, *norm_of(name, params, X.shape[1]), k, method)
            if name == "sqeuclidean":
                index = self._by_norm(X, metric_of("euclidean"), None, k, method)
                self._finish = _as_they_are
                return index
            if name == "seuclidean":
                factors = 1.0 / np.sqrt(positive_numbers("V", params["V"], X.shape[1]))
                return self._by_norm(X, metric_of("euclidean"), factors, k, method)
            if name == "cosine":
                return self._by_angle(X, k, method)
            if name == "precomputed":
                return self._from_distances(X)
        self._as_given = True
        pairs = Pairwise(X, name, params)
        self._rows = pairs.rows
        return Blocks(self.n_rows, pairs)

    def _by_norm(
        self, X: Any, metric: Metric, factors: Vector | None, k: int, method: str
    ) -> Index:
        if factors is not None:
            self._place, X = partial(_scaled, factors=factors), as_numpy(X)
        if is_tensor(X):
            self._rows, self._tensor = None, tensor_to_search(X)
        else:
            self._rows = searchable(X if self._placed else self._place(X))
        self._finish = metric.distances
        if metric.p < 1:  # no triangle to rely on
            method = "exhaustive"
        return self._indexed(metric, k, method)

    def _by_angle(self, X: Any, k: int, method: str) -> Index:
        X = as_numpy(X)
        if self._placed:
            self._rows = searchable(X)
        else:
            U, none = directions_of(X)
            # a row of zeros points where no query does: at right angles to all of them
            self._rows = searchable(with_flags(U, none)) if none.any() else U
        self._place, self._finish = _towards, _one_minus_cosine
        return self._indexed(metric_of("euclidean"), k, method)

    def _indexed(self, metric: Metric, k: int, method: str) -> Index:
        """An index over the rows; that of rows from a file or on a card is made when it is first asked."""
        make = partial(self._make, metric, k, method)
        return LazyIndex(make) if self._lazy else make()

    def _make(self, metric: Metric, k: int, method: str) -> Index:
        threads = thread_count(self.n_jobs)
        return index_of(self.rows, metric, k=k, method=method, threads=threads)

    def _from_distances(self, X: Any) -> Index:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._as_given, self._place = True, _distances
        self._rows = _distances(X)
        return Given(self.n_rows)

    def _in_feature_space(self, kernel: Kernel, X: Any, k: int, method: str) -> Index:
        """Linear, Gaussian and Laplacian kernels order rows as a norm does."""
        if type(kernel) in (Linear, Gaussian):
            index = self._by_norm(X, metric_of("euclidean"), None, k, method)
        elif type(kernel) is Laplacian:
            index = self._by_norm(X, metric_of("manhattan"), None, k, method)
        else:
            self._as_given = True
            self._rows = X
            # kernels on objects have threads of their own, and Ctrl-C reaches those from this one
            threaded = self._objects is None and not isinstance(kernel, FromCallable)
            space = FeatureSpace(kernel, X)
            if not self._placed:
                space.prepare()
            return Blocks(self.n_rows, space, threaded=threaded)
        if isinstance(kernel, Gaussian | Laplacian):
            self._finish = partial(_from_exponent, gamma=kernel.gamma)
        return index

    def _queries_at_once(self, Q: Any) -> int:
        if self._as_given:
            return max(1, int(Q.shape[0]))
        width = self.n_features + 1
        if issparse(Q) and self.method in TAKE_SPARSE:
            width = min(width, 2 * Q.nnz // max(1, Q.shape[0]) + 1)
        return rows_that_fit(8 * width, QUERY_BYTES)

    def _raw(
        self,
        Q: Any,
        k: int,
        skip: Codes,
        threads: int,
        monitor: FitMonitor | None,
        card: Index | None,
    ) -> Neighbors:
        if self._as_given:
            return self._index.nearest(Q, k, skip, threads=threads, monitor=monitor)
        if card is not None:
            Q = tensor_to_search(Q) if is_tensor(Q) else searchable(_as_array(Q))
        else:
            Q = searchable(Q) if issparse(Q) and self.method in TAKE_SPARSE else dense(Q)
            Q = Q if issparse(Q) else np.ascontiguousarray(Q)
        lost = None
        if self._named.name == "cosine":
            flags = np.zeros(Q.shape[0], dtype=bool)
            lost = np.flatnonzero(directions_of(Q[:, : self.n_features]).none)
            if Q.shape[1] < self.rows.shape[1]:
                Q = with_flags(Q, flags)
        index = self._index if card is None else card
        found = index.nearest(Q, k, skip, threads=threads, monitor=monitor)
        if lost is not None and len(lost):  # at right angles to all rows: the first ones
            left_out = np.where(skip[lost] < 0, k, skip[lost])[:, None]
            found.distances[lost] = 2.0
            found.rows[lost] = np.arange(k) + (np.arange(k) >= left_out)
        return found

    def _require_k(self, k: object, most: int) -> None:
        require_integer("NeighborIndex", "k", k, least=1)
        if int(k) > most:  # type: ignore[call-overload]
            raise ParameterError("NeighborIndex", "k", f"at most {most}, the rows there are", k)


def _as_array(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def _as_they_are(X: Any) -> Any:
    return X


def _scaled(X: Any, factors: Vector) -> Matrix:
    return np.asarray(dense(X) * factors)


def _towards(Q: Any) -> Any:
    return directions_of(Q).rows


def _one_minus_cosine(squares: Matrix) -> Matrix:
    return np.asarray(np.minimum(0.5 * squares, 2.0))


def _from_exponent(raw: Matrix, gamma: float) -> Matrix:
    """sqrt(2 - 2 exp(-gamma raw))."""
    return np.asarray(np.sqrt(-2.0 * np.expm1(-gamma * raw)))


def _distances(X: Any) -> Any:
    """A matrix of distances, refused where some are below 0."""
    if issparse(X):
        X = canonical(X)
    least = X.data.min(initial=0) if issparse(X) else X.min(initial=0)
    if least < 0:
        raise DataError(
            f"Negative values in data passed to precomputed distance matrix; got {least:g}"
        )
    return X
