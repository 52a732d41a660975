"""Pipelines in a search: the steps before the last one are fitted once for each fold, not each candidate.

scikit-learn's own function fits and scores the last step, whatever it is, in the order of the calls; what
the other steps make of the samples is looked up by row numbers.
"""

from __future__ import annotations

from collections import Counter
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags

from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.dispatch import NotServed, reason_of
from separatrix.accel.searches import Candidate, Cell, cells_of, transform_by, without_draws

LARGEST = 2**30  # bytes of transformed samples that a search holds
LABEL = "steps in a search"


class TransformedFold(TransformerMixin, BaseEstimator):
    """The steps before the last one, fitted on a fold; samples are given by their numbers, (m, 1)."""

    def __init__(self, X: Any, y: Any, cell: Cell) -> None:
        start = perf_counter()
        self.train, self.test = cell.fold.train, cell.fold.test
        self.X, self.steps = X, clone(cell.steps)
        labels = None if y is None else _safe_indexing(y, self.train)
        with without_draws():
            self.learned = self.steps.fit_transform(_safe_indexing(X, self.train), labels)
            self.tested = transform_by(self.steps, _safe_indexing(X, self.test))
        self.again: Any = None  # the training samples, transformed as others are
        self.seconds = perf_counter() - start

    def fit(self, _rows: Any, _y: Any = None) -> TransformedFold:
        """Fitted already."""
        return self

    def fit_transform(self, _rows: Any, _y: Any = None, **_more: Any) -> Any:
        """The training samples as the last step learns from them."""
        return self.learned

    def transform(self, rows: Any) -> Any:
        """Samples of the test, or of the training, as the last step sees them."""
        if np.array_equal(rows[:, 0], self.test):
            return self.tested
        if not np.array_equal(rows[:, 0], self.train):
            raise NotServed("scores of other samples")
        if self.again is None:
            self.again = transform_by(self.steps, _safe_indexing(self.X, self.train))
        return self.again

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def size(self) -> int:
        """Bytes of the transformed samples."""
        return _bytes_of(self.learned) + _bytes_of(self.tested)


def share_steps(calls: list[Any], candidates: list[Candidate], answers: list[Any]) -> list[Any]:
    """The answers of a search, with those of calls that have steps in common."""
    left = [number for number, answer in enumerate(answers) if answer is None]
    if not left or any(type(calls[number][1][0]) is not Pipeline for number in left):
        return answers
    start = perf_counter()
    try:
        cells = _sharing_cells(calls, candidates, left)
        found, saved = _run(calls, cells)
    except LookupError:
        return answers  # nothing in common
    except Exception as error:
        count_fallback(LABEL, 0.0, reason_of(error))
        return answers
    seconds = perf_counter() - start
    count_served(LABEL, seconds, seconds + saved, len(found))
    return [found.get(number, answer) for number, answer in enumerate(answers)]


def _sharing_cells(calls: list[Any], candidates: list[Candidate], left: list[int]) -> list[Cell]:
    """What the calls ask for; raises an error if steps cannot be shared, or are all different."""
    estimator = calls[left[0]][1][0]
    if len(estimator.steps) < 2 or len(left) < 2:
        raise LookupError
    cells = cells_of(calls, candidates, left)
    if len({(cell.before, cell.fold) for cell in cells}) == len(cells):
        raise LookupError
    for number in left:
        own, options = calls[number][1][0], calls[number][2]
        if own.memory is not None or own.verbose or options["verbose"] > 1:
            raise NotServed("memory or verbose of a pipeline")
        if get_tags(own).input_tags.pairwise:
            raise NotServed("precomputed samples")
    return cells


def _run(calls: list[Any], cells: list[Cell]) -> tuple[dict[int, Any], float]:
    """The result of each cell, and the seconds saved."""
    uses = Counter((cell.before, cell.fold) for cell in cells)
    folds: dict[Any, TransformedFold] = {}
    found = {}
    for cell in cells:
        function, (estimator, X, y), options = calls[cell.number]
        key = cell.before, cell.fold
        fold = folds.get(key)
        if fold is None:
            fold = folds[key] = TransformedFold(X, y, cell)
            if fold.size * len(uses) > LARGEST:
                raise NotServed("much memory")
        name = estimator.steps[-1][0]
        rows = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))[:, None]
        short = Pipeline([("steps before", fold), (name, clone(cell.model))])
        result = function.function(
            short, rows, y, **{**options, "parameters": None, "error_score": "raise"}
        )
        if "parameters" in result:
            result["parameters"] = options["parameters"]
        if "fit_time" in result:
            result["fit_time"] += fold.seconds / uses[key]
        found[cell.number] = result
    saved = sum((uses[key] - 1) * fold.seconds for key, fold in folds.items())
    return found, saved


def _bytes_of(samples: Any) -> int:
    if issparse(samples):
        return int(samples.data.nbytes * 2)
    if type(samples) is not np.ndarray:
        raise NotServed("steps that return no array")
    return int(samples.nbytes)
