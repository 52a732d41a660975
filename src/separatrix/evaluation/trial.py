"""Train, test and time one classifier on one split."""

from __future__ import annotations

import time
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from separatrix.data.splits import Split
from separatrix.estimators.base.tuned import chosen_params, edge_params
from separatrix.evaluation.shared_preprocessing import (
    PreparedSplit,
    SharedPreprocessing,
    can_be_split,
)
from separatrix.runtime.threads import blas_for_samples
from separatrix.types import Codes, Matrix, Vector


class Trial(NamedTuple):
    """Predictions and times of a classifier on one split."""

    on_train: Codes  # class codes, -1 for rejected rows
    on_test: Codes
    probabilities: Matrix | None  # shape: (test rows, k)
    scores: Matrix | None  # the same, of the decision function, of a model without probabilities
    n_iter: float
    fit_seconds: float
    predict_seconds: float  # for the test rows
    saved_seconds: float  # of both: preprocessing that was done for another model
    settings: dict[str, Any]  # parameters that the model chose
    edges: dict[str, str]  # those whose value is the smallest or largest tried


def fit_and_score(
    model: Any,
    X: Any,
    y: Codes,
    split: Split,
    classes: Any,
    shared: SharedPreprocessing | None = None,
) -> Trial:
    """Train a clone of the model on the training part, and predict both parts.

    The steps of a pipeline before the last one are fitted once for all models that share them; their time
    is part of the times of each.
    """
    train, test = split
    labels = classes[y[train]]
    steps = can_be_split(model)
    with blas_for_samples(X):
        if steps:
            before = (shared or SharedPreprocessing(0)).of(model, X, labels, split)
            model = model.steps[-1][1]
        else:
            parts = rows_of(model, X, train, train), rows_of(model, X, test, train)
            before = PreparedSplit(*parts, 0.0, 0.0)
        begun = time.perf_counter()  # every method gets samples of its own: it may work in place
        fitted = clone(model).fit(deepcopy(before.train), labels)
        trained = time.perf_counter()
        on_test = fitted.predict(deepcopy(before.test))
        predicted = time.perf_counter()
        P = None
        if hasattr(fitted, "predict_proba"):
            known = getattr(fitted, "classes_", classes[np.unique(y[train])])
            P = np.zeros((len(test), len(classes)))  # 0 for classes missing in the training part
            P[:, _codes(classes, known)] = fitted.predict_proba(deepcopy(before.test))
        S = None if P is not None else _scores(fitted, deepcopy(before.test), classes)
        return Trial(
            on_train=_codes(classes, fitted.predict(deepcopy(before.train))),
            on_test=_codes(classes, on_test),
            probabilities=P,
            scores=S,
            n_iter=1.0 if steps else float(np.max(getattr(fitted, "n_iter_", 1))),
            fit_seconds=trained - begun + before.fit_seconds,
            predict_seconds=predicted - trained + before.transform_seconds,
            saved_seconds=before.saved_seconds,
            settings=chosen_params(fitted),
            edges=edge_params(fitted),
        )


def _scores(fitted: Any, X: Any, classes: Any) -> Matrix | None:
    """Return the decision function by class, (n, k); None if it does not have all classes."""
    if not hasattr(fitted, "decision_function"):
        return None
    if not np.array_equal(getattr(fitted, "classes_", ()), classes):
        return None
    return by_class(np.asarray(fitted.decision_function(X)), len(classes))


def by_class(values: Matrix, n_classes: int) -> Matrix | None:
    """Return scores of each class, (n, k), from those of one boundary or of each class.

    >>> by_class(np.array([2.0, -1.0]), 2).tolist()
    [[-2.0, 2.0], [1.0, -1.0]]
    """
    if values.ndim == 1:
        return np.column_stack([-values, values]) if n_classes == 2 else None
    return values if values.shape[1] == n_classes else None


def rows_of(model: Any, X: Any, rows: Codes, columns: Codes) -> Any:
    """Return some samples; of a kernel matrix, the block of rows and columns."""
    return X[rows][:, columns] if get_tags(model).input_tags.pairwise else X[rows]


def lead_of_others(values: Matrix, y: Codes) -> Vector:
    """Return the lead of the best other class over the true class, in standard deviations, (m,)."""
    if values.ndim == 1:
        lead = np.where(y == 1, -values, values)
    else:
        others = values.copy()
        others[np.arange(len(y)), y] = -np.inf
        lead = others.max(axis=1) - values[np.arange(len(y)), y]
    return np.asarray(lead / (values.std() or 1.0))


def _codes(classes: Any, labels: Any) -> Codes:
    """Return the index of each label in the classes, -1 for others (rejected rows)."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "biufUS" and labels.dtype.kind == classes.dtype.kind:
        found = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return np.where(classes[found] == labels, found, -1)
    positions = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([positions.get(label, -1) for label in labels.tolist()], dtype=np.intp)
