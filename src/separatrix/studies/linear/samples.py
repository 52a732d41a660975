"""Samples that several parts share, and the geometry of a linear boundary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsample
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import RunContext
from separatrix.runtime.sums import dense
from separatrix.studies.inputs import feature_name, require_labelled
from separatrix.types import Codes, Matrix, Vector

NAME = "linear-classifiers"
IRIS = "iris"
MOST_ROWS, MOST_FEATURES = 600, 20  # of other data
FEWEST_ROWS = 10  # of a class of other data
SPECIES = ("setosa", "versicolor", "virginica")
FEATURES = ("sepal length", "sepal width", "petal length", "petal width")
PETALS = ("petal length, cm", "petal width, cm")


class ClassSamples(NamedTuple):
    """Samples with class codes and class names."""

    X: Matrix  # shape: (n, d)
    y: Codes  # shape: (n,)
    names: tuple[str, ...]


def all_features(context: RunContext) -> ClassSamples:
    """Iris, 150 flowers of three species with four features in cm; or given data, as `_prepare` says."""
    return context.shared("samples", lambda: _read(context))[0]


def feature_names(context: RunContext) -> tuple[str, ...]:
    """The names of the features of `all_features`."""
    return context.shared("samples", lambda: _read(context))[1]


def two_features(context: RunContext) -> ClassSamples:
    """The samples by the two features that differ most between the classes: of iris those of the petals."""
    X, y, names = all_features(context)
    return ClassSamples(np.ascontiguousarray(X[:, _most_different(X, y, 2)]), y, names)


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
    require_labelled(NAME, data, "vectors")
    return _prepare(data, int(context.options["seed"]))


def _prepare(data: Dataset, seed: int) -> tuple[ClassSamples, tuple[str, ...]]:
    """Up to 600 rows of classes with at least ten, and the up to 20 features that differ most, scaled."""
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    kept = np.flatnonzero(np.isin(data.y, labels[counts >= FEWEST_ROWS]))
    if len(kept) > MOST_ROWS:
        kept = kept[subsample(np.asarray(data.y)[kept], MOST_ROWS, seed=seed)]
    names, codes = np.unique(np.asarray(data.y)[kept], return_inverse=True)
    X = np.asarray(dense(data.X[kept], None), dtype=np.float64)
    X = X - X.mean(axis=0)
    varied = np.flatnonzero(X.std(axis=0) > 0)
    if len(names) < 2 or len(varied) < 2:
        raise ExperimentError(
            f"{NAME} needs two classes with {FEWEST_ROWS} rows and two features that vary; {data.name} "
            f"has {len(names)} and {len(varied)}"
        )
    X = X[:, varied] / X[:, varied].std(axis=0)
    chosen = _most_different(X, codes, min(MOST_FEATURES, len(varied)))
    features = tuple(feature_name(data, j) for j in varied[chosen].tolist())
    own = ClassSamples(X[:, chosen], codes.astype(np.intp), tuple(map(str, names)))
    return own, features


def _most_different(X: Matrix, y: Codes, count: int) -> Codes:
    """Features with the largest scatter of class means over that within classes, in their order."""
    sizes = np.bincount(y).astype(np.float64)
    means = np.stack([X[y == c].mean(axis=0) for c in range(len(sizes))])
    between = sizes @ (means - X.mean(axis=0)) ** 2
    within = np.maximum(((X - means[y]) ** 2).sum(axis=0), 1e-300)
    return np.sort(np.argsort(-between / within, kind="stable")[:count])


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
