"""ROC and precision-recall curves of an evaluation: means over its splits, on a common grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from separatrix.errors import DataError
from separatrix.evaluation.result import Evaluation
from separatrix.types import Flags, Vector

GRID = np.linspace(0.0, 1.0, 101)


class MeanCurve(NamedTuple):
    """A curve at the points of a grid."""

    x: Vector  # shape: (101,); false positive rate, or recall
    y: Vector  # shape: (101,); true positive rate, or precision
    area: float  # mean over splits of the exact area


def mean_roc(evaluation: Evaluation) -> MeanCurve:
    """True positive rate at every false positive rate; of several classes, the mean."""

    def at_grid(positive: Flags, scores: Vector) -> Vector:
        false, true, _ = roc_curve(positive, scores)
        return np.asarray(np.interp(GRID, false, true))

    return MeanCurve(GRID, _mean(evaluation, at_grid), _area(evaluation, "roc_auc"))


def mean_precision(evaluation: Evaluation) -> MeanCurve:
    """Highest precision at every recall or above; of several classes the mean of each against the rest."""

    def at_grid(positive: Flags, scores: Vector) -> Vector:
        precision, recall, _ = precision_recall_curve(positive, scores)
        best = np.maximum.accumulate(precision)  # recall falls along the arrays
        return best[len(recall) - 1 - np.searchsorted(recall[::-1], GRID)]

    return MeanCurve(GRID, _mean(evaluation, at_grid), _area(evaluation, "average_precision"))


def _area(evaluation: Evaluation, name: str) -> float:
    return float(np.nanmean(evaluation.metric(name)))


def _mean(evaluation: Evaluation, curve: Callable[[Flags, Vector], Vector]) -> Vector:
    cells = evaluation.probabilities or evaluation.scores
    k, found = len(evaluation.classes), []
    for (_, number), S in cells.items():
        codes = np.searchsorted(evaluation.classes, evaluation.y[evaluation.splits[number].test])
        for c in [1] if k == 2 else range(k):
            if 0 < np.sum(codes == c) < len(codes):
                found.append(curve(codes == c, S[:, c]))
    if not found:
        raise DataError(
            f"this evaluation of {evaluation.name} has neither probabilities nor scores of the classes"
        )
    return np.asarray(np.mean(found, axis=0))
