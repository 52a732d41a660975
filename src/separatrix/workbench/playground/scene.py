"""A scene: labelled points of the plane, a model with its parameters, and how its answers are used.

Labels are whatever strings people type, and models are fitted to these, so that what the library says
speaks of them. Codes 0, 1, ... count the sorted labels, which is the order of `classes_`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

import separatrix
from separatrix.errors import DataError, ParameterError
from separatrix.types import Codes, Matrix
from separatrix.workbench.playground.sliders import SECONDS, Model, find_model

MOST_POINTS, MOST_CLASSES = 5000, 20
FARTHEST = 1e9
NUMBERS = (int, float)  # a bool is none
LONGEST_LABEL = 200
RULES = {
    "predict": "the model's own",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}


@dataclass(frozen=True, eq=False)
class Scene:
    """What a picture is of."""

    X: Matrix  # shape: (n, 2)
    y: Codes  # shape: (n,)
    labels: list[str]
    model: Model
    values: Mapping[str, Any]  # of the parameters that count
    rule: str = "predict"
    standardise: bool = False
    notes: list[str] = field(default_factory=list)  # what was done otherwise than asked

    @classmethod
    def of(
        cls,
        points: Sequence[Sequence[Any]],
        model: str,
        parameters: Mapping[str, Any],
        rule: str = "predict",
        standardise: bool = False,
    ) -> Self:
        """The scene that was asked for, everything about it checked."""
        found = find_model(model)
        values = found.checked(parameters)
        if rule not in RULES:
            raise ParameterError("Playground", "rule", f"one of {', '.join(RULES)}", rule[:60])
        X, names = _plane(points)
        labels = sorted(set(names))
        _require_classes(labels)
        place = {label: code for code, label in enumerate(labels)}
        y = np.array([place[name] for name in names], dtype=np.intp)
        notes = _fewer_neighbours(values, y, rule)
        return cls(X, y, labels, found, values, rule, standardise, notes)

    @property
    def targets(self) -> Any:
        """The label of each point, (n,)."""
        return np.array(self.labels)[self.y]

    @property
    def arguments(self) -> dict[str, Any]:
        """What the model's class is made with, as a person would write it."""
        return self.model.arguments(self.values)

    def estimator(self, made: Any = None) -> Any:
        """The model, not fitted; of a class of one's own, if that is wanted."""
        made = made or getattr(separatrix, self.model.kind)
        limits = {"time_limit": SECONDS, "n_jobs": 1, "device": "cpu"}
        model = made(**self.arguments, **{name: limits[name] for name in self.model.limits})
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        if not self.standardise:
            return model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), model)


def last_step(model: Any) -> Any:
    """The model itself, also where it stands behind a scaler."""
    return model[-1] if hasattr(model, "steps") else model


def _plane(points: Sequence[Sequence[Any]]) -> tuple[Matrix, list[str]]:
    """Coordinates, (n, 2), and the label of each."""
    if not 1 <= len(points) <= MOST_POINTS:
        error = DataError(f"a picture needs 1 to {MOST_POINTS:,} points; got {len(points):,}")
        error.hint = "add some points" if not points else "take a part of them"
        raise error
    if not all(map(_is_point, points)):
        number = next(i for i, point in enumerate(points) if not _is_point(point))
        raise DataError(
            f"point {number} is {points[number]!r:.60}, expected [x, y, label]: two numbers of size up "
            f"to {FARTHEST:g} and a text of up to {LONGEST_LABEL} letters"
        )
    X = np.array([point[:2] for point in points], dtype=np.float64)
    return X, [point[2] for point in points]


def _is_point(point: Any) -> bool:
    """Whether it is a list of two numbers and a label, none of them out of range."""
    if not isinstance(point, list | tuple) or len(point) != 3:
        return False
    x, y, label = point
    return (
        type(x) in NUMBERS
        and type(y) in NUMBERS
        and abs(x) <= FARTHEST  # also false for NaN
        and abs(y) <= FARTHEST
        and type(label) is str
        and len(label) <= LONGEST_LABEL
        and "\0" not in label
    )


def _require_classes(labels: list[str]) -> None:
    if len(labels) == 1:
        error = DataError(f"all points are of one class, {labels[0]!r:.60}: there is no boundary")
        error.hint = "add points of another class"
        raise error
    if len(labels) > MOST_CLASSES:
        raise DataError(f"a picture shows at most {MOST_CLASSES} classes; got {len(labels)}")


def _fewer_neighbours(values: dict[str, Any], y: Codes, rule: str) -> list[str]:
    """Lower k to the points that there are; says so."""
    sizes = np.sort(np.bincount(y))
    most = int(sizes[:2].sum() if rule == "pairs" else sizes.sum())
    if values.get("n_neighbors", 0) <= most:
        return []
    values["n_neighbors"] = most
    return [f"k is {most} here: no more points can vote"]
