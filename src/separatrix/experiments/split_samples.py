"""Samples and splits of an experiment file, with row-wise scaling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from separatrix.data.dataset import Dataset, concatenate_parts
from separatrix.data.splits import (
    Split,
    grouped_splits,
    random_splits,
    stratified_folds,
    stratified_splits,
)
from separatrix.errors import ExperimentError
from separatrix.evaluation.samples import require_classes
from separatrix.experiments.protocol import SplitSamples
from separatrix.experiments.spec import Spec
from separatrix.experiments.steps import RunContext


@dataclass(frozen=True)
class Splits:
    """The splits of an experiment, and whether the test part of the data set is used."""

    splits: list[Split]
    given: bool

    @classmethod
    def of(cls, spec: Spec, data: Dataset) -> Self:
        """Draw the splits."""
        require_classes(data)
        how, n, y = spec.split, len(data.y), np.asarray(data.y)
        terms: dict[str, Any] = {"repeats": how.repeats, "seed": spec.seed}
        if how.method == "given":
            if data.y_test is None:
                raise ExperimentError(f"{spec.data} has no test part; use another split method")
            return cls([Split(np.arange(n), np.arange(n, n + len(data.y_test)))], given=True)
        if how.method == "folds":
            return cls(stratified_folds(y, folds=how.folds, **terms), given=False)
        terms["test_size"] = how.test_size
        if how.method == "random":
            return cls(random_splits(n, **terms), given=False)
        if how.method == "stratified":
            return cls(stratified_splits(y, **terms), given=False)
        return cls(grouped_splits(_groups(spec, data), **terms), given=False)


def samples(context: RunContext, data: str, splits: Splits, scale: float | str) -> SplitSamples:
    """The samples of a model, scaled row by row, with the splits."""

    def make() -> SplitSamples:
        found = context.data(data)
        X, y = concatenate_parts(found) if splits.given else (found.X, found.y)
        X = np.array(X, dtype=object) if isinstance(X, list) else _scale(X, scale)
        return SplitSamples(X, np.asarray(y), splits.splits)

    return context.shared(("samples", str(scale)), make)


def without_column(data: Dataset, name: str) -> Dataset:
    """The data set without one of its features.

    >>> without_column(Dataset("a", np.eye(2), [0, 1], features=("age", "who")), "who").X.tolist()
    [[1.0], [0.0]]
    """
    names = list(data.features or ())
    keep = [position for position, other in enumerate(names) if other != name]
    test = None if data.X_test is None else data.X_test[:, keep]
    features = tuple(names[position] for position in keep)
    return replace(data, X=data.X[:, keep], X_test=test, features=features)


def _scale(X: Any, scale: float | str) -> Any:
    if scale in ("none", "standard", "range"):
        return X
    if scale == "unit":
        return normalize(X)
    return X * (1.0 / float(scale))


def _groups(spec: Spec, data: Dataset) -> Any:
    names = list(data.features or ())
    if spec.split.group not in names:
        raise ExperimentError(f"{spec.data} has no numeric column {spec.split.group!r} to group by")
    column = data.X[:, [names.index(spec.split.group)]]
    return np.asarray(column.toarray() if issparse(column) else column).ravel()
