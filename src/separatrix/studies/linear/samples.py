"""Samples that several parts share, and the geometry of a linear boundary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.experiments.steps import RunContext
from separatrix.studies.inputs import most_different, scaled_samples
from separatrix.types import Codes, Matrix, Vector

NAME = "linear-classifiers"
IRIS = "iris"
SPECIES = ("setosa", "versicolor", "virginica")
FEATURES = ("sepal length", "sepal width", "petal length", "petal width")
PETALS = ("petal length, cm", "petal width, cm")


class ClassSamples(NamedTuple):
    """Samples with class codes and class names."""

    X: Matrix  # shape: (n, d)
    y: Codes  # shape: (n,)
    names: tuple[str, ...]


def all_features(context: RunContext) -> ClassSamples:
    """Iris, 150 flowers of three species with four features in cm; or given data, `scaled_samples`."""
    return context.shared("samples", lambda: _read(context))[0]


def feature_names(context: RunContext) -> tuple[str, ...]:
    """The names of the features of `all_features`."""
    return context.shared("samples", lambda: _read(context))[1]


def two_features(context: RunContext) -> ClassSamples:
    """The samples by the two features that differ most between the classes: of iris those of the petals."""
    X, y, names = all_features(context)
    return ClassSamples(np.ascontiguousarray(X[:, most_different(X, y, 2)]), y, names)


def last_two_classes(samples: ClassSamples) -> ClassSamples:
    """The last two classes with codes 0 and 1; those of Iris are not linearly separable."""
    first = len(samples.names) - 2
    kept = samples.y >= first
    return ClassSamples(samples.X[kept], samples.y[kept] - first, samples.names[first:])


def data_label(context: RunContext, of_iris: str) -> str:
    """What the rows of a part call their data."""
    name: str = context.options["data"]
    return of_iris if name == IRIS else name


def _read(context: RunContext) -> tuple[ClassSamples, tuple[str, ...]]:
    name: str = context.options["data"]
    data = context.data(name)
    if name == IRIS:
        _, codes = np.unique(np.asarray(data.y), return_inverse=True)
        X = np.asarray(data.X, dtype=np.float64)
        return ClassSamples(X, codes.astype(np.intp), SPECIES), FEATURES
    own = scaled_samples(NAME, data, int(context.options["seed"]))
    return ClassSamples(own.X, own.y, own.names), own.features


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
