"""Distances by scikit-learn's metric names, a function of two samples, or a kernel."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import pairwise_distances

from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.callables import psd_policy
from separatrix.kernels.embedding import SEMIDEFINITE
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.pair_values import name_of
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.nearest.metrics import Metric, metric_of
from separatrix.types import Matrix, Vector
from separatrix.validation import require_real

BLOCK_BYTES = 64 * MEBIBYTE
ROUNDING = 1e-12  # a squared distance over the squared lengths that may be rounding

FIXED = {"euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", "infinity"}
NORMS = {"minkowski", "p", *FIXED}
BOOLEAN = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}
BOOLEAN |= {"sokalmichener"}  # another name of "rogerstanimoto"
NUMERIC = {"braycurtis", "canberra", "correlation", "cosine", "hamming", "haversine", "mahalanobis"}
NUMERIC |= {"nan_euclidean", "precomputed", "seuclidean", "sqeuclidean"}
METRICS = NORMS | BOOLEAN | NUMERIC
SPARSE = {"euclidean", "l2", "manhattan", "cityblock", "l1", "cosine", "precomputed"}
BALL_TREE = {"braycurtis", "canberra", "hamming", "haversine", "mahalanobis", "seuclidean"}
KNOWN = {  # metrics of scikit-learn's algorithms
    "kd_tree": NORMS,
    "ball_tree": NORMS | BOOLEAN - {"yule"} | BALL_TREE,
    "brute": METRICS - {"p", "infinity", "sokalmichener"},
}
NEEDED = {  # parameters that scikit-learn would compute from the samples
    "seuclidean": ("V", "the variance of each feature"),
    "mahalanobis": ("VI", "the inverse of the covariance (or 'V', the covariance)"),
}


PARAMETERS: dict[str, set[str]] = {  # of a metric; others have weights "w"
    **{name: set() for name in (*FIXED, "sqeuclidean", "cosine", "precomputed", "haversine")},
    **{name: {"p", "w"} for name in ("minkowski", "p")},
    "seuclidean": {"V"},
    "mahalanobis": {"V", "VI"},
    "nan_euclidean": {"missing_values"},
}


class NamedMetric(NamedTuple):
    """A metric and its parameters, as in scikit-learn's `effective_metric_`."""

    name: Any  # a name or a function
    params: dict[str, Any]


def named_metric(
    owner: str, metric: Any, p: Any = 2, metric_params: dict[str, Any] | None = None
) -> NamedMetric:
    """The metric and parameters that scikit-learn's parameters mean.

    >>> named_metric("NeighborIndex", "minkowski", 1)
    NamedMetric(name='manhattan', params={})
    """
    if metric_params is not None and not isinstance(metric_params, dict):
        raise ParameterError(owner, "metric_params", "a dict or None", metric_params)
    params = dict(metric_params or {})
    if callable(metric):
        return NamedMetric(metric, params)
    if not isinstance(metric, str) or metric not in METRICS:
        must_be = f"a function or one of {', '.join(sorted(METRICS))}"
        raise ParameterError(owner, "metric", must_be, metric)
    given = params.keys() | ({"VI"} if metric == "mahalanobis" and "V" in params else set())
    if metric in NEEDED and NEEDED[metric][0] not in given:
        key, what = NEEDED[metric]
        must_be = f"a dict with {key!r}, {what}, for metric={metric!r}"
        raise ParameterError(owner, "metric_params", must_be, metric_params)
    unknown = params.keys() - PARAMETERS.get(metric, {"w"})
    if unknown:
        must_be = f"without {sorted(unknown)} for metric={metric!r}"
        raise ParameterError(owner, "metric_params", must_be, metric_params)
    if metric not in ("minkowski", "p"):
        return NamedMetric(metric, params)
    p = params.pop("p", p if metric == "minkowski" else 2)
    w = params.pop("w", None)
    if not (isinstance(p, Real) and p == np.inf):
        require_real(owner, "p", p, above=0)
    fixed = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
    if w is None and p in fixed:
        return NamedMetric(fixed[p], params)
    return NamedMetric("minkowski", {"p": p, "w": w})


def feature_kernel(owner: str, kernel: Any, X: Any) -> Kernel:
    """The kernel object; raises an error if lengths in its feature space are unknown."""
    found = resolve_kernel(owner, kernel, X)
    if isinstance(found, Precomputed):
        must_be = (
            "computed from samples; of a matrix K, pass the distances "
            "sqrt(k(x, x) + k(z, z) - 2 K) with metric='precomputed'"
        )
        raise ParameterError(owner, "kernel", must_be, kernel)
    return found


def norm_of(name: str, params: dict[str, Any], d: int) -> tuple[Metric, Vector | None]:
    """The norm, and factors of the columns that replace its weights."""
    p = params.get("p", 2)
    metric = metric_of(name, p)
    if params.get("w") is None:
        return metric, None
    if not np.isfinite(p):
        raise DataError("weights 'w' in metric_params need a finite p")
    return metric, positive_numbers("w", params["w"], d, least=0.0) ** (1.0 / p)


def positive_numbers(name: str, values: Any, d: int, least: float | None = None) -> Vector:
    """One number above 0, or of at least `least`, for each feature, (d,)."""
    numbers: Vector = np.asarray(values, dtype=np.float64)
    fine = numbers > 0 if least is None else numbers >= least
    if numbers.shape != (d,) or not (fine & np.isfinite(numbers)).all():
        bound = "above 0" if least is None else f"of at least {least:g}"
        must_be = f"{d} finite numbers {bound}"
        raise DataError(
            f"{name!r} in metric_params must be {must_be}; got {numbers.tolist()!r:.60}"
        )
    return numbers


def square_matrix(name: str, values: Any, d: int) -> Matrix:
    """Finite numbers, (d, d)."""
    try:
        matrix: Matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.shape != (d, d) or not np.isfinite(matrix).all():
        raise DataError(
            f"{name!r} in metric_params must be a matrix of {d} x {d} finite numbers; got shape "
            f"{np.shape(values)}"
        )
    return matrix


def require_algorithm(owner: str, algorithm: str, metric: Any, meant: NamedMetric) -> None:
    """Raise an error if scikit-learn's algorithm of that name does not support the metric."""
    if algorithm == "auto":
        pass
    elif callable(metric):
        if algorithm == "kd_tree":
            must_be = "'auto', 'brute' or 'ball_tree' with a function as the metric"
            raise ParameterError(owner, "algorithm", must_be, algorithm)
    elif metric not in KNOWN[algorithm]:
        known = ", ".join(sorted(KNOWN[algorithm]))
        must_be = f"one of {known} with algorithm={algorithm!r}; with 'auto' it may be any"
        raise ParameterError(owner, "metric", must_be, metric)
    if meant.name != "minkowski":
        return
    if algorithm == "kd_tree" and meant.params["w"] is not None:
        raise UnsupportedError(
            "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w': try "
            "algorithm='ball_tree' or algorithm='brute' instead."
        )
    if meant.params["p"] < 1 and algorithm in ("kd_tree", "ball_tree"):
        raise UnsupportedError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve '
            'this problem either set p >= 1 or algorithm="brute".'
        )
    if meant.params["p"] < 1:
        warn_user(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the "
            "execution with `algorithm='brute'`."
        )


class Pairwise:
    """Distances of queries to rows by scikit-learn's metric name, or a function of two rows."""

    def __init__(self, X: Any, metric: Any, params: dict[str, Any]) -> None:
        self._metric = "rogerstanimoto" if metric == "sokalmichener" else metric  # one formula
        if callable(metric):
            self._metric = partial(_distance, metric)
        self._params = params
        self._boolean = isinstance(metric, str) and metric in BOOLEAN
        self.rows = X.astype(bool) if self._boolean else X
        d = X.shape[1]
        if metric == "mahalanobis":  # SciPy does not check its shape
            self._params = {"VI": _inverse_covariance(params, d)}
        if isinstance(metric, str) and params.get("w") is not None:
            positive_numbers("w", params["w"], d, least=0.0)

    def __call__(self, Q: Any, rows: slice) -> Matrix:
        """Distances of all queries to some rows, (m, rows)."""
        if self._boolean:
            Q = Q.astype(bool)
        if issparse(Q) != issparse(self.rows):
            Q = csr_array(Q) if issparse(self.rows) else Q.toarray()
        if self._metric == "braycurtis":
            return _bray_curtis(Q, self.rows[rows], self._params.get("w"))
        return np.asarray(
            pairwise_distances(
                Q,
                self.rows[rows],
                metric=self._metric,
                n_jobs=1,
                **({"copy": True} if self._metric == "nan_euclidean" else {}),
                ensure_all_finite="allow-nan" if self._metric == "nan_euclidean" else True,
                **self._params,
            )
        )


def _distance(metric: Callable[..., Any], x: Any, z: Any, **params: Any) -> float:
    """The value of a function of two samples; raises an error if it is no number."""
    value = metric(x, z, **params)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if np.isnan(number):
        raise DataError(
            f"a metric must return a number for two samples; {name_of(metric)} returned "
            f"{reprlib.repr(value)}"
        )
    return number


def _inverse_covariance(params: dict[str, Any], d: int) -> Matrix:
    """The matrix of a Mahalanobis distance: "VI", or the inverse of the covariance "V", (d, d)."""
    if "VI" in params:
        return square_matrix("VI", params["VI"], d)
    V = square_matrix("V", params["V"], d)
    variances = V.diagonal()
    if not (variances > 0).all():
        raise DataError("'V' in metric_params must have variances above 0 on its diagonal")
    lengths = np.sqrt(np.outer(variances, variances))
    rank = np.linalg.matrix_rank(V / lengths)  # of the correlations, so that units do not matter
    if rank < d:
        raise DataError(f"'V' in metric_params must be invertible; got rank {rank} of {d}")
    inverse: Matrix = np.linalg.inv(V / lengths) / lengths
    return inverse


def _bray_curtis(Q: Matrix, Z: Matrix, w: Any) -> Matrix:
    """sum |x - z| / (sum |x| + sum |z|), as scikit-learn's trees and searches, (m, rows).

    SciPy divides by sum |x + z|, which is less where signs differ: then it can exceed 1.
    """
    weights = 1.0 if w is None else np.asarray(w, np.float64)
    Q, Z = np.asarray(Q, np.float64) * weights, np.asarray(Z, np.float64) * weights
    sums = np.abs(Q).sum(axis=1)[:, None] + np.abs(Z).sum(axis=1)
    D = pairwise_distances(Q, Z, metric="cityblock", n_jobs=1)
    return np.asarray(np.divide(D, sums, out=np.zeros_like(D), where=sums > 0))


class FeatureSpace:
    """Distances sqrt(k(x, x) + k(z, z) - 2 k(x, z)), in float64; 0 for equal samples."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self._kernel = kernel
        self._X = X
        self._warned = False

    def prepare(self) -> None:
        """Raise an error if lengths of rows overflow."""
        self._lengths.max()

    @cached_property
    def _lengths(self) -> Vector:
        X = self._X
        blocks = row_blocks(X.shape[0], rows_that_fit(_row_bytes(X), BLOCK_BYTES))
        return np.concatenate([self._squared_lengths(_as_float64(X[rows])) for rows in blocks])

    def __call__(self, Q: Any, rows: slice) -> Matrix:
        """Distances of all queries to some rows, (m, rows)."""
        Q, Z = _as_float64(Q), _as_float64(self._X[rows])
        both = self._squared_lengths(Q)[:, None] + self._lengths[rows]
        D = np.asarray(both - 2.0 * self._kernel.block(Q, Z), dtype=np.float64)
        self._check_squares(D, both)
        np.maximum(D, 0.0, out=D)
        i, j = np.nonzero(ROUNDING * np.abs(both) >= D)
        for part in row_blocks(len(i), rows_that_fit(_row_bytes(Q), BLOCK_BYTES)):
            same = _equal(Q[i[part]], Z[j[part]])
            D[i[part][same], j[part][same]] = 0.0
        return np.asarray(np.sqrt(D, out=D))

    def _check_squares(self, D: Matrix, both: Matrix) -> None:
        """Warn once, or refuse, if squared distances of a function are negative beyond rounding."""
        policy = "ignore" if self._warned else psd_policy(self._kernel)
        if policy == "ignore" or not D.size or D.min() >= -SEMIDEFINITE * float(np.abs(both).max()):
            return
        found = (
            f"{self._kernel!r} is not positive semi-definite: a squared distance "
            f"k(x, x) + k(z, z) - 2 k(x, z) is {D.min():.4g}"
        )
        if policy == "error":
            raise DataError(found)
        self._warned = True
        warn_user(f"{found}; such distances are taken as 0. check_psd='ignore' accepts it")

    def _squared_lengths(self, X: Any) -> Vector:
        lengths = np.asarray(self._kernel.diagonal(X), dtype=np.float64)
        if not np.isfinite(lengths).all():
            raise DataError(f"values of {self._kernel!r} overflow; scale the features")
        return lengths


def _as_float64(X: Any) -> Any:
    return X if X.dtype == object else X.astype(np.float64, copy=False)


def _row_bytes(X: Any) -> int:
    """Bytes of a row; for objects a value that makes blocks of 1024."""
    return 8 * X.shape[1] if X.ndim == 2 else BLOCK_BYTES // 1024


def _equal(A: Any, B: Any) -> Any:
    """Which rows are equal, (n,); objects at distance 0 are."""
    if A.dtype == object:
        return np.ones(len(A), dtype=bool)
    if issparse(A) or issparse(B):
        return np.asarray(abs(A - B).sum(axis=1)).ravel() == 0
    return (A == B).all(axis=1)
