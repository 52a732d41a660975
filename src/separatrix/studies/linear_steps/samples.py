"""Samples that several parts share, and the geometry of a straight boundary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.experiments.steps import RunContext
from separatrix.types import Codes, Matrix, Vector

KINDS = ("setosa", "versicolor", "virginica")
MEASURES = ("sepal length", "sepal width", "petal length", "petal width")


class Samples(NamedTuple):
    """Samples, their class codes and what the codes stand for."""

    X: Matrix  # shape: (n, d)
    y: Codes  # shape: (n,)
    names: tuple[str, ...]  # of the classes


def flowers(workshop: RunContext) -> Samples:
    """Iris: 150 flowers of three kinds, four measures in cm."""
    data = workshop.data("iris")
    _, codes = np.unique(np.asarray(data.y), return_inverse=True)
    return Samples(np.asarray(data.X, dtype=np.float64), codes.astype(np.intp), KINDS)


def petals(workshop: RunContext) -> Samples:
    """Iris by the length and width of its petals."""
    X, y, names = flowers(workshop)
    return Samples(np.ascontiguousarray(X[:, 2:]), y, names)


def two_kinds(samples: Samples) -> Samples:
    """The last two classes, as codes 0 and 1; of Iris those that no line separates."""
    kept = samples.y > 0
    return Samples(samples.X[kept], samples.y[kept] - 1, samples.names[1:])


def is_quick(workshop: RunContext) -> bool:
    """Whether the small version is run."""
    return bool(workshop.experiment.options["quick"])


def generator(workshop: RunContext, part: int) -> np.random.Generator:
    """A source of numbers for one part: the same whichever parts ran before it."""
    return np.random.default_rng([int(workshop.experiment.options["seed"]), part])


def line_of(model: Any) -> tuple[Vector, float]:
    """Weights, (d,), and bias of a fitted linear model of two classes."""
    return np.asarray(model.coef_, dtype=np.float64)[0], float(np.ravel(model.intercept_)[0])


def angle_between(a: Vector, b: Vector) -> float:
    """Degrees between two directions.

    >>> round(angle_between(np.array([1.0, 0.0]), np.array([1.0, 1.0])), 9)
    45.0
    """
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    # not the arc cosine, which loses half of the digits of a small angle
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))
