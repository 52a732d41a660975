"""Metrics by name, of class codes and probabilities; lower is better for all but the last three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.arrays import Codes, Matrix
from separatrix.errors import ExperimentError


def _error(true: Codes, guess: Codes, _k: int) -> float:
    return float(np.mean(true != guess))


def _recalls(true: Codes, guess: Codes, k: int) -> Any:
    table = np.zeros((k, k))
    np.add.at(table, (true, guess), 1.0)
    present = table.sum(axis=1) > 0
    return (np.diag(table)[present] / table.sum(axis=1)[present], table)


def _balanced_error(true: Codes, guess: Codes, k: int) -> float:
    return float(1.0 - _recalls(true, guess, k)[0].mean())


def _f1(true: Codes, guess: Codes, k: int) -> float:
    """The mean over classes, as scikit-learn's macro average: a class never met counts as 0."""
    table = _recalls(true, guess, k)[1]
    either = table.sum(axis=0) + table.sum(axis=1)
    met = either > 0
    return float((2 * np.diag(table)[met] / either[met]).mean())


def _accuracy(true: Codes, guess: Codes, _k: int) -> float:
    return float(np.mean(true == guess))


def _log_loss(true: Codes, P: Matrix) -> float:
    with np.errstate(divide="ignore"):
        return float(-np.log(P[np.arange(len(true)), true]).mean())


def _brier(true: Codes, P: Matrix) -> float:
    return float(((P - np.eye(P.shape[1])[true]) ** 2).sum(axis=1).mean())


OF_CLASSES: dict[str, Callable[[Codes, Codes, int], float]] = {
    "error": _error,
    "balanced_error": _balanced_error,
    "accuracy": _accuracy,
    "f1_macro": _f1,
}
OF_PROBABILITIES: dict[str, Callable[[Codes, Matrix], float]] = {
    "log_loss": _log_loss,
    "brier": _brier,
}
NAMES = (*OF_CLASSES, *OF_PROBABILITIES)


def measured(
    names: Sequence[str], true: Codes, guess: Codes, P: Any, n_classes: int
) -> dict[str, float]:
    """The metrics of one test part; those of probabilities only where there are some.

    >>> measured(["error", "f1_macro"], np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), None, 2)
    {'error': 0.25, 'f1_macro': 0.733...}
    """
    values = {
        name: OF_CLASSES[name](true, guess, n_classes) for name in names if name in OF_CLASSES
    }
    if P is not None:
        values |= {n: OF_PROBABILITIES[n](true, P) for n in names if n in OF_PROBABILITIES}
    return values


def require_metrics(names: Sequence[str]) -> None:
    """Refuse a name that is no metric."""
    for name in names:
        if name not in NAMES:
            raise ExperimentError(f"no metric is called {name!r}; there are {', '.join(NAMES)}")
