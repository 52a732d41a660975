"""What a comparison leaves open, of a few of its classifiers: trained on all rows, and on fewer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, subsample
from separatrix.estimators.registry import REGISTRY
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples, check_samples
from separatrix.evaluation.study import evaluate

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # of the rows to train on
FEWEST_OF_A_CLASS = 6  # rows; a search inside needs some for each of its folds
LINEAR = {record.name for record in REGISTRY if record.linear}
SPLITS = 3  # that a learning curve is a mean over


def inspect_best(
    comparison: Comparison, models: Mapping[str, Any], data: Dataset | CheckedSamples
) -> dict[str, Any]:
    """`fitted` and `sizes` for the page of a comparison: `comparison_page(..., **closer_look(...))`.

    Given
        models     those that were compared, by name, as `separatrix.evaluation.suite.suite` has them
        data       the samples that they were compared on

    The best classifier and the best linear one are trained on all rows, and the best one on parts of
    the rows to train on of the first splits: that costs about as much as four splits of the best.
    """
    X, y = data if isinstance(data, CheckedSamples) else check_samples(data.X, data.y, missing=True)
    best = comparison.evaluations[comparison.best]
    names = [row["model"] for row in comparison.rows()]
    linear = [name for name in names if type(_inner(models[name])).__name__ in LINEAR]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the comparison has counted them
        rows = np.random.default_rng(0).permutation(len(y))  # folds of a search see no drift
        fitted = {
            name: clone(models[name]).fit(X[rows], y[rows])
            for name in dict.fromkeys([names[0], *linear[:1]])
        }
        sizes = errors_by_size(models[names[0]], X, y, best.splits)
    return {"fitted": fitted, "sizes": {**sizes, len(best.splits[0].train): _first_splits(best)}}


def _first_splits(found: Evaluation) -> Evaluation:
    """Its errors on the splits that all points of a learning curve are a mean over."""
    return replace(
        found,
        splits=found.splits[:SPLITS],
        train_error=found.train_error[:, :SPLITS],
        test_error=found.test_error[:, :SPLITS],
    )


def _inner(model: Any) -> Any:
    """The classifier itself, before it is fitted."""
    model = model[-1] if isinstance(model, Pipeline) else model
    return getattr(model, "estimator", None) or model


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
