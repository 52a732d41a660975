"""Metrics by name, for class codes and for probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, recall_score

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
    "f1_macro": _f1,
}
OF_PROBABILITIES: dict[str, Callable[[Codes, Matrix], float]] = {
    "log_loss": log_loss,
    "brier": brier,
}
NAMES = (*OF_CLASSES, *OF_PROBABILITIES)


def compute_metrics(names: Sequence[str], true: Codes, guess: Codes, P: Any) -> dict[str, float]:
    """Compute metrics of one test part; those of probabilities only if P is given.

    >>> compute_metrics(["error", "f1_macro"], np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), None)
    {'error': 0.25, 'f1_macro': 0.733...}
    """
    values = {name: OF_CLASSES[name](true, guess) for name in names if name in OF_CLASSES}
    if P is not None:
        values |= {n: OF_PROBABILITIES[n](true, P) for n in names if n in OF_PROBABILITIES}
    return values


def require_metrics(names: Sequence[str]) -> None:
    """Raise an error for an unknown metric."""
    for name in names:
        if name not in NAMES:
            raise ExperimentError(f"unknown metric {name!r}; one of {', '.join(NAMES)}")
