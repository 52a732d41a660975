"""Samples that several parts share, and the geometry of a linear boundary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.experiments.steps import RunContext
from separatrix.types import Codes, Matrix, Vector

SPECIES = ("setosa", "versicolor", "virginica")
FEATURES = ("sepal length", "sepal width", "petal length", "petal width")
PETALS = ("petal length, cm", "petal width, cm")


class ClassSamples(NamedTuple):
    """Samples with class codes and class names."""

    X: Matrix  # shape: (n, d)
    y: Codes  # shape: (n,)
    names: tuple[str, ...]


def iris(context: RunContext) -> ClassSamples:
    """Iris: 150 flowers of three species, four features in cm."""
    data = context.data("iris")
    _, codes = np.unique(np.asarray(data.y), return_inverse=True)
    return ClassSamples(np.asarray(data.X, dtype=np.float64), codes.astype(np.intp), SPECIES)


def petals(context: RunContext) -> ClassSamples:
    """Iris by the length and width of its petals."""
    X, y, names = iris(context)
    return ClassSamples(np.ascontiguousarray(X[:, 2:]), y, names)


def last_two_classes(samples: ClassSamples) -> ClassSamples:
    """The last two classes with codes 0 and 1; those of Iris are not linearly separable."""
    kept = samples.y > 0
    return ClassSamples(samples.X[kept], samples.y[kept] - 1, samples.names[1:])


def is_quick(context: RunContext) -> bool:
    """Whether this is a quick run."""
    return bool(context.options["quick"])


def grid_size(context: RunContext) -> int:
    """Points of a grid along each axis."""
    return 150 if is_quick(context) else 240


def generator(context: RunContext, part: int) -> np.random.Generator:
    """Random numbers of one part, independent of the other parts."""
    return np.random.default_rng([int(context.options["seed"]), part])


def boundary(model: Any) -> tuple[Vector, float]:
    """Weights, (d,), and bias of a fitted linear model of two classes."""
    return np.asarray(model.coef_, dtype=np.float64)[0], float(np.ravel(model.intercept_)[0])


def angle_between(a: Vector, b: Vector) -> float:
    """Degrees between two directions.

    >>> round(angle_between(np.array([1.0, 0.0]), np.array([1.0, 1.0])), 9)
    45.0
    """
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    # the arc cosine would lose half of the digits of a small angle
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b))))
