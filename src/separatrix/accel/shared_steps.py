"""Pipelines in a search: the steps before the last one are fitted once for each fold, not each candidate.

scikit-learn's own function fits and scores the last step, whatever it is, in the order of the calls; what
the other steps make of the samples is looked up by row numbers. Each last step gets a copy of its own, so
that it may work in place.
"""

from __future__ import annotations

import pickle
from collections import Counter
from copy import deepcopy
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.dispatch import NotServed, reason_of
from separatrix.accel.searches import Cell, cells_of, transform_by

LARGEST = (
    2**26
)  # bytes of transformed samples and steps that a search holds besides what scikit-learn does
LABEL = "steps in a search"


class TransformedFold(TransformerMixin, BaseEstimator):
    """The steps before the last one, fitted on a fold; samples are given by their numbers, (m, 1)."""

    def __init__(self, X: Any, y: Any, cell: Cell) -> None:
        start = perf_counter()
        self.X, self.test, self.steps = X, cell.fold.test, clone(cell.steps)
        labels = None if y is None else _safe_indexing(y, cell.fold.train)
        self.learned = self.steps.fit_transform(_safe_indexing(X, cell.fold.train), labels)
        self.tested = transform_by(self.steps, _safe_indexing(X, self.test))
        self.seconds = perf_counter() - start

    def fit(self, _rows: Any, _y: Any = None) -> TransformedFold:
        """Fitted already."""
        return self

    def fit_transform(self, _rows: Any, _y: Any = None, **_more: Any) -> Any:
        """The training samples as the last step learns from them."""
        return deepcopy(self.learned)

    def transform(self, rows: Any) -> Any:
        """Samples as the last step sees them."""
        if np.array_equal(rows[:, 0], self.test):
            return deepcopy(self.tested)
        return transform_by(self.steps, _safe_indexing(self.X, rows[:, 0]))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def size(self) -> int:
        """Bytes of the transformed samples and of what the steps learned."""
        learned = len(pickle.dumps(self.steps))
        return learned + _bytes_of(self.learned) + _bytes_of(self.tested)


def share_steps(calls: list[Any]) -> list[Any] | None:
    """The results of calls that have steps in common, or None if scikit-learn is to compute them."""
    try:
        cells = cells_of(calls)
        folds = _fit_folds(calls, cells)
    except Exception as error:
        count_fallback(LABEL, reason_of(error))
        return None
    uses = Counter((cell.before, cell.fold) for cell in cells)
    results = []
    for cell, (function, (estimator, X, y), options) in zip(cells, calls, strict=True):
        key = cell.before, cell.fold
        rows = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))[:, None]
        last = estimator.steps[-1][0], clone(cell.model)
        short = Pipeline([("steps before", folds[key]), last])
        result = function.function(short, rows, y, **{**options, "parameters": None})
        if "parameters" in result:
            result["parameters"] = options["parameters"]
        if "fit_time" in result:
            result["fit_time"] += folds[key].seconds / uses[key]
        results.append(result)
    count_served(LABEL, len(calls))
    return results


def _fit_folds(calls: list[Any], cells: list[Cell]) -> dict[Any, TransformedFold]:
    """The steps of each fold; raises an error if there is nothing to share, or no room for it."""
    _, (_, X, y), _ = calls[0]
    first = {(cell.before, cell.fold): cell for cell in cells}
    if len(first) == len(cells) or any(not len(cell.steps or ()) for cell in cells):
        raise NotServed("nothing in common")
    folds: dict[Any, TransformedFold] = {}
    for key, cell in first.items():
        folds[key] = TransformedFold(X, y, cell)
        if folds[key].size * len(first) > LARGEST:
            raise NotServed("much memory")
    return folds


def _bytes_of(samples: Any) -> int:
    if issparse(samples) and samples.format in ("csr", "csc"):
        parts = [samples.data, samples.indices, samples.indptr]
    elif type(samples) is np.ndarray and not samples.dtype.hasobject:
        parts = [samples]
    else:
        raise NotServed("steps that return no numbers")
    return sum(int(part.nbytes) for part in parts)
