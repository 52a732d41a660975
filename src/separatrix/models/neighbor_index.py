"""Rows that can be searched for their nearest: the distances by name, and the index behind them.

The search is in `solvers/nearest`. Norms of differences go to its indexes, and so does what orders
rows as one of them does: cosines, and the linear, Gaussian and Laplacian kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from separatrix.arrays import Codes, Matrix, Vector, require_integer, require_threads
from separatrix.compute.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.compute.sums import dense, shared_rows
from separatrix.compute.threads import thread_count
from separatrix.compute.watch import Watch
from separatrix.errors import DataError, ParameterError, PrecisionWarning, SeparatrixError
from separatrix.kernels.kernel import FromCallable, Kernel
from separatrix.kernels.objects import first_base
from separatrix.kernels.vector import Gaussian, Laplacian, Linear
from separatrix.models.distances import (
    NORMS,
    SPARSE,
    FeatureSpace,
    Pairwise,
    feature_kernel,
    named_metric,
    norm_of,
    positive_numbers,
)
from separatrix.models.prepare import tell
from separatrix.solvers.nearest.blocks import Blocks, Given
from separatrix.solvers.nearest.directions import canonical, directions_of, with_flags
from separatrix.solvers.nearest.index import Index, index_of
from separatrix.solvers.nearest.metrics import Metric, metric_of
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors

QUERY_BYTES = 64 * MEBIBYTE
TAKE_SPARSE = ("sparse", "bits")  # methods whose queries may be CSR
SEARCHED = {*NORMS, "sqeuclidean", "seuclidean", "cosine"}  # metrics with an index of their own
BY_DISTANCE = (Linear, Gaussian, Laplacian)  # kernels that order rows as a norm does
KEPT = (np.uint8, np.float32, np.float64)  # types that rows are searched in as they are


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
    ) -> None:
        self._build(X, metric, p, metric_params, kernel, n_jobs, method, expected_k)

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
        index._build(rows, metric, 2, metric_params, kernel, n_jobs, "auto", expected_k, n_features)
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
        placed: int | None = None,  # features, where rows were put in their place before
    ) -> None:
        name = type(self).__name__
        require_threads(name, n_jobs)
        require_integer(name, "expected_k", expected_k, least=1)
        self.n_jobs = n_jobs
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
        self._index = self._made(X, expected_k, method)

    @property
    def method(self) -> str:
        """The way of searching, in a word."""
        return self._index.method

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the rows."""
        return self._index.nbytes

    def search(self, Q: Any, k: int) -> Neighbors:
        """Distances of the k nearest rows of each query, and their numbers, nearest first; each (m, k)."""
        self._require_k(k, self.n_rows)
        return self.nearest(Q, k, threads=thread_count(self.n_jobs))

    def search_self(self, k: int) -> Neighbors:
        """The same for every row of the index, without the row itself."""
        self._require_k(k, self.n_rows - 1)
        return self.nearest(None, k, threads=thread_count(self.n_jobs))

    def nearest(self, Q: Any, k: int, *, threads: int, watch: Watch | None = None) -> Neighbors:
        """`search`, or, without queries, `search_self`, in so many threads; a watch may stop it."""
        own = Q is None
        if own:
            Q, skip = self.rows, np.arange(self.n_rows)
        else:
            Q = self._checked(Q, rows=0)
            if self._objects is None and Q.shape[1] != self.n_features:
                raise DataError(
                    f"queries have {Q.shape[1]} features, but the rows of the index have "
                    f"{self.n_features}"
                )
            skip = np.full(Q.shape[0], -1)
        found = Neighbors(np.empty((Q.shape[0], k)), np.empty((Q.shape[0], k), dtype=np.intp))
        for part in row_blocks(Q.shape[0], self._queries_at_once(Q)):
            queries = shared_rows(Q, part)
            raw = self._raw(queries if own else self._place(queries), k, skip[part], threads, watch)
            if (raw.rows[:, -1:] == NOBODY).any() and not (watch is not None and watch.over()):
                raise SeparatrixError(f"the search {self.method!r} lost rows: this is a bug")
            found.distances[part], found.rows[part] = self._finish(raw.distances), raw.rows
        return found

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
        self.rows = pairs.rows
        return Blocks(self.n_rows, pairs)

    def _by_norm(
        self, X: Any, metric: Metric, factors: Vector | None, k: int, method: str
    ) -> Index:
        if factors is not None:
            self._place = partial(_scaled, factors=factors)
        self.rows = searchable(X if self._placed else self._place(X))
        self._finish = metric.distances
        if metric.p < 1:  # no triangle to rely on
            method = "exhaustive"
        return self._indexed(metric, k, method)

    def _by_angle(self, X: Any, k: int, method: str) -> Index:
        if self._placed:
            self.rows = searchable(X)
        else:
            U, none = directions_of(X)
            # a row of zeros points where no query does: at right angles to all of them
            self.rows = searchable(with_flags(U, none)) if none.any() else U
        self._place, self._finish = _towards, _one_minus_cosine
        return self._indexed(metric_of("euclidean"), k, method)

    def _indexed(self, metric: Metric, k: int, method: str) -> Index:
        """An index over the rows; that of rows from a file is made when it is first asked."""
        make = partial(
            index_of, self.rows, metric, k=k, method=method, threads=thread_count(self.n_jobs)
        )
        return _WhenAsked(make) if self._placed else make()

    def _from_distances(self, X: Any) -> Index:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._as_given, self._place = True, _distances
        self.rows = _distances(X)
        return Given(self.n_rows)

    def _in_feature_space(self, kernel: Kernel, X: Any, k: int, method: str) -> Index:
        """Linear, Gaussian and Laplacian kernels order rows as a norm does."""
        if type(kernel) in (Linear, Gaussian):
            index = self._by_norm(X, metric_of("euclidean"), None, k, method)
        elif type(kernel) is Laplacian:
            index = self._by_norm(X, metric_of("manhattan"), None, k, method)
        else:
            self._as_given = True
            self.rows = X
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

    def _raw(self, Q: Any, k: int, skip: Codes, threads: int, watch: Watch | None) -> Neighbors:
        if self._as_given:
            return self._index.nearest(Q, k, skip, threads=threads, watch=watch)
        Q = searchable(Q) if issparse(Q) and self.method in TAKE_SPARSE else dense(Q)
        Q = Q if issparse(Q) else np.ascontiguousarray(Q)
        lost = None
        if self._named.name == "cosine":
            flags = np.zeros(Q.shape[0], dtype=bool)
            lost = np.flatnonzero(directions_of(Q[:, : self.n_features]).none)
            if Q.shape[1] < self.rows.shape[1]:
                Q = with_flags(Q, flags)
        found = self._index.nearest(Q, k, skip, threads=threads, watch=watch)
        if lost is not None and len(lost):  # at right angles to all rows: the first ones
            left_out = np.where(skip[lost] < 0, k, skip[lost])[:, None]
            found.distances[lost] = 2.0
            found.rows[lost] = np.arange(k) + (np.arange(k) >= left_out)
        return found

    def _require_k(self, k: object, most: int) -> None:
        require_integer("NeighborIndex", "k", k, least=1)
        if int(k) > most:  # type: ignore[call-overload]
            raise ParameterError("NeighborIndex", "k", f"at most {most}, the rows there are", k)


class _WhenAsked:
    """An index that is made when somebody asks for something."""

    def __init__(self, make: Callable[[], Index]) -> None:
        self._make = make
        self._made: Index | None = None

    def _index(self) -> Index:
        self._made = self._made or self._make()
        return self._made

    @property
    def method(self) -> str:
        """That of the index."""
        return self._index().method

    @property
    def nbytes(self) -> int:
        """Those of the index."""
        return self._index().nbytes

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int = 1, watch: Watch | None = None
    ) -> Neighbors:
        """What the index finds."""
        return self._index().nearest(Q, k, skip, threads=threads, watch=watch)


def searchable(X: Any) -> Any:
    """Rows in a form that compiled loops take: C-contiguous uint8, float32 or float64, or CSR."""
    if issparse(X):
        return canonical(X.astype(np.float64, copy=False))
    if X.dtype == bool:
        X = X.view(np.uint8)
    elif X.dtype not in KEPT:
        if X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.size:
            largest = max(int(X.max()), -int(X.min()))
            if largest > 2**53:
                tell(
                    f"whole numbers up to {largest} are rounded to float64, which holds them to 2**53 "
                    "only: distances may be off. Subtract an offset first",
                    PrecisionWarning,
                )
        small = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        X = X.astype(np.float32 if small else np.float64)
    return np.ascontiguousarray(X)


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
