"""What a comparison leaves open about its best classifier: trained on all rows, on fewer, and shuffled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, subsample
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.importance import permutation_importance
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples, check_samples
from separatrix.evaluation.study import evaluate
from separatrix.runtime.time_limit import OutOfTime, time_limit

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the rows to train on
FEWEST_OF_A_CLASS = 6  # rows; a search inside needs some for each of its folds
SPLITS = 3  # that a learning curve is a mean over


def inspect_best(
    comparison: Comparison,
    models: Mapping[str, Any],
    data: Dataset | CheckedSamples,
    *,
    features: Sequence[str] | None = None,
    limit: float | None = None,
) -> dict[str, Any]:
    """`fitted`, `importance` and `sizes` for the page of a comparison.

    Given
        models     those that were compared, by name, as `separatrix.evaluation.suite.suite` has them
        data       the samples that they were compared on
        features   names of their columns
        limit      seconds for each of the three; what takes longer is left out

    The best classifier is trained on all rows, on the training rows of the first splits, where each
    column of the test rows is shuffled, and on parts of these: about seven fits of it.
    """
    X, y = data if isinstance(data, CheckedSamples) else check_samples(data.X, data.y, missing=True)
    if isinstance(data, Dataset):
        features = features or data.features
    name = comparison.best
    best, model = comparison.evaluations[name], models[name]
    splits = best.splits[:SPLITS]

    def fit_all() -> dict[str, Any]:
        rows = np.random.default_rng(0).permutation(len(y))  # folds of a search see no drift
        return {"fitted": {name: clone(model).fit(X[rows], y[rows])}}

    def shuffle() -> dict[str, Any]:
        if len(getattr(X, "shape", ())) != 2:
            return {}
        fits = [(clone(model).fit(X[train], y[train]), test) for train, test in splits]
        return {"importance": permutation_importance(fits, X, y, features)}

    def shrink() -> dict[str, Any]:
        sizes = errors_by_size(model, X, y, best.splits)
        return {"sizes": {**sizes, len(best.splits[0].train): _first_splits(best)}}

    found: dict[str, Any] = {}
    for part in (fit_all, shuffle, shrink):
        found |= _within(limit, part)
    return found


def _within(limit: float | None, part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a function returns within a time limit; nothing if it takes longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the comparison has shown and counted them
        try:
            with time_limit(limit):
                return part()
        except OutOfTime:
            return {}


def _first_splits(found: Evaluation) -> Evaluation:
    """Its errors on the splits that all points of a learning curve are a mean over."""
    return replace(
        found,
        splits=found.splits[:SPLITS],
        train_error=found.train_error[:, :SPLITS],
        test_error=found.test_error[:, :SPLITS],
    )


def errors_by_size(
    model: Any,
    X: Any,
    y: Any,  # shape: (n,)
    splits: list[Split],
) -> dict[int, Evaluation]:
    """Evaluations of a classifier trained on less than all training rows, by their number.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GaussianNB
    >>> from separatrix.data.splits import random_splits
    >>> X, y = load_iris(return_X_y=True)
    >>> found = errors_by_size(GaussianNB(), X, y, random_splits(150, repeats=3, test_size=0.2, seed=0))
    >>> sorted(found)
    [30, 60]
    """
    splits = splits[:SPLITS]
    most = min(len(split.train) for split in splits)
    rarest = min(np.unique(y[split.train], return_counts=True)[1].min() for split in splits)
    found = {}
    for share in SHARES:
        size = round(share * most)
        if share * rarest < FEWEST_OF_A_CLASS:
            continue
        parts = [
            Split(split.train[subsample(y[split.train], size, seed=number)], split.test)
            for number, split in enumerate(splits)
        ]
        found[size] = evaluate(model, CheckedSamples(X, y), splits=parts, progress=False)
    return found
