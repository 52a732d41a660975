"""Samples on a cluster: the one point at which estimators hand them over to `separatrix.cluster`.

Nothing here imports Dask: its collections are known by the package of their type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from separatrix.estimators.base.decorate import decorate_methods

ENGINES = ("dask", "dask_expr")  # packages whose collections are on a cluster
METHODS = (
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "kneighbors",
    "score",
)


def is_on_cluster(X: Any) -> bool:
    """Whether samples are a Dask collection, or a list of delayed blocks.

    >>> is_on_cluster([[1.0, 2.0]])
    False
    """
    if type(X) is list and X:
        X = X[0]
    return type(X).__module__.partition(".")[0] in ENGINES


def hand_over_cluster_samples(cls: type) -> None:
    """Wrap the methods of an estimator that take samples, so that those on a cluster are handed over."""
    decorate_methods(cls, METHODS, _handing_over)


def _handing_over(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def handing_over(self: Any, *args: Any, **more: Any) -> Any:
        X = args[0] if args else more.get("X")
        if X is None or not is_on_cluster(X):
            return method(self, *args, **more)
        return import_module("separatrix.cluster").dispatch(self, name, method, *args, **more)

    return handing_over
