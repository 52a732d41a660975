"""Estimated seconds of scikit-learn's own code, from the sizes of a problem; nothing heavy is imported.

The constants were measured on one core. What is below `SMALLEST` is left to scikit-learn.
"""

from __future__ import annotations

from typing import Any

LIBSVM_VALUE = 8e-10  # for a feature of a kernel value
DISTANCE_VALUE = 3e-10  # for a feature of a distance
TREE_QUERY = 1e-5  # for a query of a tree, and a feature


def stored(X: Any) -> int:
    """Values that a matrix stores, dense or sparse."""
    return int(X.nnz) * 4 if hasattr(X, "nnz") else int(X.shape[0] * X.shape[1])


def svc_fit(_estimator: Any, X: Any, *_more: Any, **_named: Any) -> float:
    """LIBSVM's fit."""
    return float(LIBSVM_VALUE * X.shape[0] * stored(X))


def svc_scores(estimator: Any, X: Any) -> float:
    """LIBSVM's scores."""
    return float(LIBSVM_VALUE * X.shape[0] * int(estimator._n_support.sum()) * X.shape[1])


def neighbors(estimator: Any, X: Any) -> float:
    """A search for neighbours."""
    n, d = estimator._fit_X.shape
    brute = DISTANCE_VALUE * X.shape[0] * n * d
    is_tree = estimator._fit_method != "brute"
    return float(min(brute, TREE_QUERY * X.shape[0] * d) if is_tree else brute)


def cell(kind: str, X: Any, train: int, test: int) -> float:
    """A fit and a score in a search."""
    values = stored(X) / X.shape[0] if getattr(X, "ndim", 0) == 2 else 10.0
    work = LIBSVM_VALUE * train * train if kind == "SVC" else DISTANCE_VALUE * train * test
    return float(work * values)
