"""Nearest neighbours: searches by the exact index of separatrix, votes as scikit-learn's.

The rows are those that scikit-learn's `fit` keeps. Equal distances are in the order of the rows.
"""

from __future__ import annotations

import os
import sys
from numbers import Integral
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from separatrix.accel.dispatch import NotReplaced, NotServed
from separatrix.accel.switch_state import SETTINGS
from separatrix.estimators.metrics.votes import Voters, factors_of
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.ranking import Neighbors

METRIC_OBJECTS = {
    "EuclideanDistance": "euclidean",
    "ManhattanDistance": "manhattan",
    "ChebyshevDistance": "chebyshev",
}

EQUAL = 1e-12  # relative difference of equal distances
MOST_TIED = 0.2  # share of the queries that scikit-learn is asked for
FEW_QUERIES = 1024  # per thread: with fewer, scikit-learn divides the rows among threads

_INDEXES: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()


def kneighbors(
    estimator: Any, X: Any = None, n_neighbors: Any = None, return_distance: bool = True
) -> Any:
    """`KNeighborsMixin.kneighbors`."""
    found = search(estimator, X, n_neighbors)
    return (found.distances, found.rows) if return_distance else found.rows


def predict(estimator: Any, X: Any) -> Any:
    """`KNeighborsClassifier.predict`: equal votes go to the lowest class."""
    found = search(estimator, X, None)
    factors = factors_of(estimator.weights, found.distances)
    labels = [
        classes[voters.winners(found.rows, factors, "lowest")]
        for classes, voters in voters_of(estimator)
    ]
    return np.stack(labels, axis=1) if estimator.outputs_2d_ else labels[0]


def predict_proba(estimator: Any, X: Any) -> Any:
    """`KNeighborsClassifier.predict_proba`: shares of the votes."""
    found = search(estimator, X, None)
    factors = factors_of(estimator.weights, found.distances)
    shares = [voters.shares(found.rows, factors, "lowest") for _, voters in voters_of(estimator)]
    return shares if estimator.outputs_2d_ else shares[0]


def voters_of(estimator: Any) -> list[tuple[Any, Voters]]:
    """The classes of each output, and the rows that vote for them."""
    outputs = estimator.classes_ if estimator.outputs_2d_ else [estimator.classes_]
    codes = np.asarray(estimator._y).reshape(len(estimator._y), -1)
    ones = np.ones(len(codes))
    return [
        (classes, Voters(np.ascontiguousarray(codes[:, c], dtype=np.intp), ones, len(classes)))
        for c, classes in enumerate(outputs)
    ]


def search(estimator: Any, X: Any, n_neighbors: Any) -> Neighbors:
    """The nearest rows of each query, without queries of each row but itself."""
    found, queries = search_wider(estimator, X, n_neighbors)
    k = estimator.n_neighbors if n_neighbors is None else n_neighbors
    return settle_ties(estimator, queries, found, int(k))


def search_wider(estimator: Any, X: Any, n_neighbors: Any) -> tuple[Neighbors, Any]:
    """The nearest rows and one more, if there are so many, and the checked queries, None without."""
    check_is_fitted(estimator, "_fit_method")
    k = estimator.n_neighbors if n_neighbors is None else n_neighbors
    rows, own = estimator._fit_X, X is None
    if not isinstance(k, Integral) or k <= 0 or k > estimator.n_samples_fit_ - own:
        raise NotReplaced("an error of scikit-learn")
    if not hasattr(rows, "shape"):
        raise NotServed("a tree in place of samples")
    if estimator.metric == "precomputed":
        raise NotReplaced("precomputed distances, only to be sorted")
    if not own:
        allow_nan = get_tags(estimator).input_tags.allow_nan
        X = validate_data(
            estimator,
            X,
            ensure_all_finite="allow-nan" if allow_nan else True,
            accept_sparse="csr",
            reset=False,
            order="C",
        )
    if issparse(X) and estimator._fit_method != "brute":
        raise NotReplaced("an error of scikit-learn")
    index = _index(estimator, int(k))
    queries_are = rows if own else X
    found = index.nearest(
        np.asarray(queries_are) if not issparse(queries_are) else queries_are,
        int(k) + own if own else min(int(k) + 1, estimator.n_samples_fit_),
        threads=thread_count(),
        checked=True,
    )
    return (_without_self(found), None) if own else (found, X)


def settle_ties(estimator: Any, queries: Any, found: Neighbors, k: int) -> Neighbors:
    """The k nearest rows; where the next one is as near, those that scikit-learn takes.

    Which ones depends on its heaps, so that it is asked for these queries alone, if they are few.
    """
    near = Neighbors(found.distances[:, :k], np.ascontiguousarray(found.rows[:, :k]))
    if queries is None or found.rows.shape[1] == k or not SETTINGS.fallback:
        return near
    tied = np.flatnonzero(found.distances[:, k] <= found.distances[:, k - 1] * (1.0 + EQUAL))
    if not 0 < len(tied) <= MOST_TIED * len(near.rows):
        return near
    ask = sys.modules["sklearn.neighbors._base"].KNeighborsMixin.kneighbors
    many = len(near.rows) > FEW_QUERIES * (os.cpu_count() or 1)  # then one heap sees all rows
    with threadpool_limits(1 if many else None, user_api="openmp"):
        distances, rows = ask(estimator, queries[tied], k)
    near = Neighbors(near.distances.copy(), near.rows.copy())
    near.distances[tied], near.rows[tied] = distances, rows
    return near


def _without_self(found: Neighbors) -> Neighbors:
    """The neighbours of each row but itself; but the first where only duplicates were found."""
    n, width = found.rows.shape
    others = found.rows != np.arange(n)[:, None]
    others[others.all(axis=1), 0] = False
    return Neighbors(*(part[others].reshape(n, width - 1) for part in found))


def _metric_of(estimator: Any) -> Any:
    """The metric by name, or a function of two rows."""
    metric = estimator.effective_metric_
    named = METRIC_OBJECTS.get(type(metric).__name__.rstrip("3264"), metric)
    if not (isinstance(named, str) or callable(named)):
        raise NotServed("a metric object")
    return named


def _index(estimator: Any, k: int) -> NeighborIndex:
    """The index over the rows; kept while the model has the same ones."""
    rows, metric = estimator._fit_X, _metric_of(estimator)
    params = estimator.effective_metric_params_
    kept = _INDEXES.get(estimator)
    if kept is not None and kept[0] is rows and kept[1] is metric and kept[2] is params:
        index: NeighborIndex = kept[3]
        return index
    index = NeighborIndex(
        rows if issparse(rows) else np.asarray(rows),
        metric,
        metric_params=params or None,
        expected_k=k,
        checked=not callable(metric),
    )
    _INDEXES[estimator] = (rows, metric, params, index)
    return index
