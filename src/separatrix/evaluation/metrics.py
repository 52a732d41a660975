"""Metrics by name, for class codes and for probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    matthews_corrcoef,
    precision_recall_fscore_support,
    recall_score,
    roc_auc_score,
)

from separatrix.errors import ExperimentError
from separatrix.types import Codes, Matrix


def _error(true: Codes, guess: Codes) -> float:
    return float(np.mean(true != guess))


def _balanced_error(true: Codes, guess: Codes) -> float:
    """Return one minus the mean recall of the classes that occur."""
    present = np.unique(true)
    return 1.0 - float(recall_score(true, guess, labels=present, average="macro", zero_division=0))


def _f1(true: Codes, guess: Codes) -> float:
    return float(f1_score(true, guess, average="macro", zero_division=0))


def _f1_of_second(true: Codes, guess: Codes) -> float:
    """Return F1 of the second of two classes; of more classes the mean."""
    if max(true.max(initial=0), guess.max(initial=0)) > 1:
        return _f1(true, guess)
    hits = np.sum((true == 1) & (guess == 1))
    return float(2 * hits / max(1, np.sum(true == 1) + np.sum(guess == 1)))


def roc_auc(true: Codes, S: Matrix) -> float:
    """Area under the ROC curve; of more than two classes, the mean of each class against the others."""
    return _mean_over_classes(roc_auc_score, true, S)


def average_precision(true: Codes, S: Matrix) -> float:
    """Area under the precision-recall curve, as a sum of steps; of more than two classes, the mean."""
    return _mean_over_classes(average_precision_score, true, S)


def _mean_over_classes(area: Callable[..., float], true: Codes, S: Matrix) -> float:
    """Return the area of the second of two classes, or the mean over classes that the rows have."""
    classes = [1] if S.shape[1] == 2 else range(S.shape[1])
    areas = [float(area(true == c, S[:, c])) for c in classes if 0 < np.sum(true == c) < len(true)]
    return float(np.mean(areas)) if areas else float("nan")


def score_classes(true: Codes, guess: Codes, n_classes: int) -> dict[str, Any]:
    """Precision, recall, F1 and number of rows of each class, each (k,); 0 for a ratio of nothing.

    >>> score_classes(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), 2)["precision"].tolist()
    [0.5, 1.0]
    """
    found = precision_recall_fscore_support(
        true, guess, labels=np.arange(n_classes), zero_division=0
    )
    return dict(zip(("precision", "recall", "f1", "rows"), found, strict=True))


def log_loss(true: Codes, P: Matrix) -> float:
    """Mean of -log p(true class), without clipping: infinite if one of them is 0."""
    with np.errstate(divide="ignore"):
        return float(-np.log(P[np.arange(len(true)), true]).mean())


def brier(true: Codes, P: Matrix) -> float:
    """Mean of sum_k (p_k - 1[y = k])^2, from 0 to 2."""
    return float(((P - np.eye(P.shape[1])[true]) ** 2).sum(axis=1).mean())


OF_CLASSES: dict[str, Callable[[Codes, Codes], float]] = {
    "error": _error,
    "balanced_error": _balanced_error,
    "accuracy": lambda true, guess: 1.0 - _error(true, guess),
    "balanced_accuracy": lambda true, guess: 1.0 - _balanced_error(true, guess),
    "f1": _f1_of_second,
    "f1_macro": _f1,
    "mcc": lambda true, guess: float(matthews_corrcoef(true, guess)),
}
OF_SCORES: dict[str, Callable[[Codes, Matrix], float]] = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}
OF_PROBABILITIES: dict[str, Callable[[Codes, Matrix], float]] = {
    "log_loss": log_loss,
    "brier": brier,
}
NAMES = (*OF_CLASSES, *OF_SCORES, *OF_PROBABILITIES)
LOSSES = ("error", "balanced_error", "log_loss", "brier")  # lower is better; of others, higher


def compute_metrics(
    names: Sequence[str], true: Codes, guess: Codes, P: Any, S: Any = None
) -> dict[str, float]:
    """Compute metrics of one test part; those of probabilities only if P, (n, k), is given.

    Curves need P, or else scores S, (n, k), that are higher for more likely classes.

    >>> compute_metrics(["error", "f1_macro"], np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), None)
    {'error': 0.25, 'f1_macro': 0.733...}
    """
    values = {name: OF_CLASSES[name](true, guess) for name in names if name in OF_CLASSES}
    if P is not None:
        values |= {n: OF_PROBABILITIES[n](true, P) for n in names if n in OF_PROBABILITIES}
        S = P
    if S is not None:
        values |= {n: OF_SCORES[n](true, S) for n in names if n in OF_SCORES}
    return values


def require_metrics(names: Sequence[str]) -> None:
    """Raise an error for an unknown metric."""
    for name in names:
        if name not in NAMES:
            raise ExperimentError(f"unknown metric {name!r}; one of {', '.join(NAMES)}")
