"""Votes of the nearest neighbours, by the exact index of separatrix.

Only queries are served whose neighbours do not depend on the order of equal distances, nor on rounding.
scikit-learn's own method answers the others.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree  # noqa: TID251 - scikit-learn's own models have one
from sklearn.utils import _safe_indexing

from separatrix.accel.dispatch import NotServed
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Matrix, Vector

METRICS = ("euclidean", "manhattan", "chebyshev")
PROBE, MOST = (
    256,
    0.2,
)  # of so many first queries of a tree at most this share may be scikit-learn's
EPS = float(np.finfo(float).eps)


def predict(_original: Any, estimator: Any, X: Any) -> Any:
    """`KNeighborsClassifier.predict`: equal votes go to the lowest class."""
    return estimator.classes_[predict_proba(None, estimator, X).argmax(axis=1)]


def predict_proba(_original: Any, estimator: Any, X: Any) -> Matrix:
    """`KNeighborsClassifier.predict_proba`: shares of the votes."""
    k = require_served(estimator)
    Q = samples_as_numbers(estimator, X)
    return count_votes(estimator, X, Q, k, find_rows(estimator, Q, k))


def require_served(estimator: Any) -> int:
    """The number of neighbours; raises an error for parameters that are not served."""
    k = estimator.n_neighbors
    if (
        not isinstance(k, Integral)
        or isinstance(k, bool)
        or not 1 <= int(k) <= estimator.n_samples_fit_
    ):
        raise NotServed("an error of scikit-learn")
    if estimator.weights != "uniform" or estimator.outputs_2d_:
        raise NotServed("weights, or several outputs")
    if estimator.effective_metric_ not in METRICS or estimator.effective_metric_params_:
        raise NotServed("a metric")
    _require_numbers(estimator._fit_X)
    if not (_keeps_metric if estimator._fit_method == "brute" else _is_sound)(estimator):
        raise NotServed("samples or a metric that changed after fit")
    return int(k)


def _keeps_metric(estimator: Any) -> bool:
    """Whether the parameters still name the metric of the fit: without a tree they count at predictions."""
    powers = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
    metric = estimator.metric
    asked = powers.get(estimator.p) if metric == "minkowski" else metric
    return bool(asked == estimator.effective_metric_ and not estimator.metric_params)


def _is_sound(estimator: Any) -> bool:
    """Whether a k-d tree is one of the samples and the metric as they are now.

    scikit-learn answers from the tree, separatrix from the samples; a program may have changed either.
    Boxes that hold their rows are those of a valid tree.
    """
    tree, metric = estimator._tree, estimator.effective_metric_
    if type(tree) is not KDTree:
        return False
    rows, order, nodes, boxes, *rest = tree.__getstate__()
    if type(DistanceMetric.get_metric(metric)) not in map(type, rest):
        return False
    leaves = np.flatnonzero(nodes["is_leaf"])
    leaves = leaves[np.argsort(nodes["idx_start"][leaves])]
    sorted_rows, starts = rows[order], nodes["idx_start"][leaves]
    return bool(
        np.array_equal(rows, estimator._fit_X)
        and (boxes[0, leaves] <= np.minimum.reduceat(sorted_rows, starts)).all()
        and (boxes[1, leaves] >= np.maximum.reduceat(sorted_rows, starts)).all()
    )


def find_rows(estimator: Any, Q: Matrix, k: int) -> Neighbors:
    """The k nearest rows of each query and one more, if there are so many, nearest first."""
    rows = np.ascontiguousarray(estimator._fit_X, dtype=np.float64)
    metric = estimator.effective_metric_
    index = NeighborIndex(rows, metric, expected_k=k, device="cpu", checked=True)
    width, threads = min(k + 1, len(rows)), thread_count()
    first = index.nearest(Q[:PROBE], width, threads=threads, checked=True)
    share = MOST if estimator._fit_method != "brute" else 0.0
    if len(_unsure(estimator, Q[:PROBE], first, k)) > share * PROBE:
        raise NotServed("equal distances")
    rest = index.nearest(Q[PROBE:], width, threads=threads, checked=True)
    return Neighbors(*(np.concatenate(parts) for parts in zip(first, rest, strict=True)))


def count_votes(estimator: Any, X: Any, Q: Matrix, k: int, found: Neighbors) -> Matrix:
    """The share of each class, (m, c), of the votes of the k nearest rows of samples X, as numbers Q."""
    codes, c = np.asarray(estimator._y).ravel()[found.rows[:, :k]], len(estimator.classes_)
    cells = (np.arange(len(codes))[:, None] * c + codes).ravel()
    shares: Matrix = np.bincount(cells, minlength=len(codes) * c).reshape(-1, c) / float(k)
    unsure = _unsure(estimator, Q, found, k)
    if len(unsure) and estimator._fit_method == "brute":  # the others of a call decide its ties
        raise NotServed("equal distances")
    if len(unsure):  # each walks the tree alone
        ask = type(estimator).predict_proba.__wrapped__
        shares[unsure] = ask(estimator, _safe_indexing(X, unsure))
    return shares


def _unsure(estimator: Any, Q: Matrix, found: Neighbors, k: int) -> Codes:
    """Queries whose k-th and next rows are equally far, or so nearly that rounding could decide."""
    if found.rows.shape[1] == k:  # all rows vote
        return np.empty(0, dtype=np.intp)
    near, far = found.distances[:, k - 1], found.distances[:, k]
    terms = 4.0 * (Q.shape[1] + 8)
    if (
        estimator.effective_metric_ == "euclidean"
    ):  # scikit-learn's squares are |x|^2 + |z|^2 - 2 x'z
        largest = squared_norms(np.asarray(estimator._fit_X, np.float64)).max()
        room: Vector = terms * EPS * (np.sqrt(squared_norms(Q)) + np.sqrt(largest)) ** 2
        near, far = near**2, far**2
    else:
        room = terms * EPS * far
    return np.flatnonzero(~(far - near > room))


def samples_as_numbers(estimator: Any, X: Any) -> Matrix:
    """Samples as numbers; raises an error for those that scikit-learn refuses, or warns of."""
    names = getattr(X, "columns", None)
    known = getattr(estimator, "feature_names_in_", None)
    if [*([] if names is None else names)] != [*([] if known is None else known)]:
        raise NotServed("names of features")
    Q = np.asarray(X)
    _require_numbers(X if isinstance(X, np.matrix) else Q)
    if Q.ndim != 2 or Q.shape[1] != estimator.n_features_in_ or not len(Q):
        raise NotServed("an error of scikit-learn")
    Q = np.ascontiguousarray(Q, dtype=np.float64)
    if not np.isfinite(Q).all():
        raise NotServed("an error of scikit-learn")
    return Q


def _require_numbers(X: Any) -> None:
    """Raise an error for arrays in which scikit-learn would compute otherwise than in float64."""
    if type(X) is not np.ndarray or not (X.dtype == np.float64 or X.dtype.kind in "iu"):
        raise NotServed("no dense float64")
