"""Sequential minimal optimisation in slow motion: the pair of rows that each step moves, and the violation.

This is the algorithm of Platt with the maximal violating pair of Keerthi, for two classes and few points.
It leads to the same boundary as `SVC`, which chooses its pairs more cleverly and is many times faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.types import Matrix, Vector

MAX_ROWS = 500
TOLERANCE = 1e-3


class SmoStep(NamedTuple):
    """The state after a step."""

    rows: tuple[int, int] | None  # that were moved; None at the start
    violation: float  # before the step
    alpha: Vector
    intercept: float
    objective: float  # of the dual


def smo_steps(K: Matrix, y: Vector, C: Vector, limit: int) -> Iterator[SmoStep]:
    """The start, then at most `limit` steps until the violation is below the tolerance.

    >>> K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> steps = list(smo_steps(K, np.array([1.0, -1.0]), np.full(2, 9.0), 5))
    >>> steps[-1].alpha.tolist(), steps[-1].rows
    ([0.5, 0.5], (0, 1))
    """
    alpha, gradient = np.zeros(len(y)), -np.ones(len(y))
    pair = worst_pair(alpha, gradient, y, C)
    yield SmoStep(None, pair.violation, alpha.copy(), pair.middle, 0.0)
    for _ in range(limit):
        if pair.violation <= TOLERANCE:
            return
        i, j = pair.up, pair.down
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12)
        room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
        step = min(pair.violation / curvature, room_i, room_j)
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        gradient += y * step * (K[i] - K[j])
        moved, violation = (i, j), pair.violation
        pair = worst_pair(alpha, gradient, y, C)
        objective = float(0.5 * alpha.sum() - 0.5 * alpha @ gradient)
        yield SmoStep(moved, violation, alpha.copy(), pair.middle, objective)


class ViolatingPair(NamedTuple):
    """The rows that violate the optimality conditions most."""

    up: int
    down: int
    violation: float
    middle: float  # the intercept between them


def worst_pair(alpha: Vector, gradient: Vector, y: Vector, C: Vector) -> ViolatingPair:
    """The maximal violating pair."""
    score = -y * gradient
    may_rise = np.where(y > 0, alpha < C, alpha > 0)
    may_fall = np.where(y > 0, alpha > 0, alpha < C)
    up = int(np.argmax(np.where(may_rise, score, -np.inf)))
    down = int(np.argmin(np.where(may_fall, score, np.inf)))
    return ViolatingPair(
        up, down, float(score[up] - score[down]), float((score[up] + score[down]) / 2)
    )


def require_small(n: int, classes: int, hard: bool) -> None:
    """Raise an error if the steps cannot be shown."""
    if classes != 2:
        raise DataError(f"steps of an SVM are shown for two classes; got {classes}")
    if hard:
        raise DataError("steps of an SVM are shown with a finite C: switch the hard margin off")
    if n > MAX_ROWS:
        raise DataError(f"steps of an SVM are shown for up to {MAX_ROWS} points; got {n:,}")
