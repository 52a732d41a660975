"""A scene: labelled points of the plane, a model with its parameters, and a multiclass rule.

Models are fitted to the labels as typed, so that messages of the library use them. Codes 0, 1, ... number
the sorted labels, in the order of `classes_`. The types and ranges of points are checked by the schema of
the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

import separatrix
from separatrix.errors import DataError, ParameterError
from separatrix.types import Codes, Matrix
from separatrix.workbench.playground.sliders import MODELS, SECONDS, PlaygroundModel

MAX_POINTS, MAX_CLASSES = 5000, 20
MAX_COORDINATE = 1e9
MAX_LABEL = 200  # characters
RULES = {
    "predict": "the model's own",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}


class LabelledPoints(NamedTuple):
    """The points of a request as arrays."""

    X: Matrix  # shape: (n, 2)
    y: Codes  # shape: (n,); indices into `labels`
    labels: list[str]  # sorted

    @classmethod
    def of(cls, points: Sequence[Sequence[Any]]) -> Self:
        """Points x, y, label."""
        names = [point[2] for point in points]
        labels = sorted(set(names))
        codes = {label: code for code, label in enumerate(labels)}
        X = np.array([point[:2] for point in points], dtype=np.float64).reshape(-1, 2)
        return cls(X, np.array([codes[name] for name in names], dtype=np.intp), labels)

    def take(self, rows: Codes) -> Self:
        """Some of the points, and the labels that they have."""
        present, y = np.unique(self.y[rows], return_inverse=True)
        return type(self)(self.X[rows], y, [self.labels[code] for code in present])


class TestPoints(NamedTuple):
    """Points that the model does not learn from, for an honest error."""

    rows: Codes  # shape: (m,); in the request
    X: Matrix  # shape: (m, 2)
    labels: Any  # shape: (m,)

    @classmethod
    def of(cls, points: LabelledPoints, rows: Sequence[int]) -> Self:
        """Some rows of the points of a request."""
        if any(not 0 <= row < len(points.y) for row in rows):
            raise DataError(f"a test row is not one of the {len(points.y)} points")
        found = np.array(rows, dtype=np.intp)
        return cls(found, points.X[found], np.array(points.labels, dtype=str)[points.y[found]])


@dataclass(frozen=True, eq=False)
class Scene:
    """The model and the points of a picture."""

    X: Matrix  # shape: (n, 2)
    y: Codes  # shape: (n,)
    labels: list[str]
    model: PlaygroundModel
    values: Mapping[str, Any]  # of the parameters that apply
    rule: str = "predict"
    standardise: bool = False
    notes: list[str] = field(default_factory=list)  # differences from the request
    rows: Codes = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # in the request
    test: TestPoints = field(default_factory=lambda: TestPoints.of(LabelledPoints.of(()), ()))
    seconds: float = SECONDS  # time limit of the fit

    @classmethod
    def of(
        cls,
        points: Sequence[Sequence[Any]] | LabelledPoints,
        model: str,
        parameters: Mapping[str, Any],
        rule: str = "predict",
        standardise: bool = False,
        test: Sequence[int] = (),
        out: Sequence[int] = (),
        seconds: float = SECONDS,
    ) -> Self:
        """The scene of a request; raises an error if there is no picture of it.

        The model learns from the rows that are neither in `test` nor in `out`.
        """
        if not isinstance(points, LabelledPoints):
            points = LabelledPoints.of(points)
        left_out = set(out)
        held_out = TestPoints.of(points, [row for row in test if row not in left_out])
        rows = np.setdiff1d(np.arange(len(points.y)), [*test, *out])
        for name, key, known in (("model", model, MODELS), ("rule", rule, RULES)):
            if key not in known:
                raise ParameterError("Playground", name, f"one of {', '.join(known)}", key[:60])
        values = MODELS[model].check(parameters)
        X, y, labels = points.take(rows)
        _require_classes(len(y), labels)
        notes = _limit_neighbours(values, y, rule)
        if rule != "predict" and values.get("cost", 1.0) != 1.0:
            notes.append("costs count for the model's own rule only")
            values["cost"] = 1.0
        entry = MODELS[model]
        return cls(X, y, labels, entry, values, rule, standardise, notes, rows, held_out, seconds)

    @property
    def targets(self) -> Any:
        """The label of each point, (n,)."""
        return np.array(self.labels)[self.y]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the model's class."""
        found = self.model.arguments(self.values)
        if (cost := found.pop("cost", 1.0)) != 1.0:
            found["class_weight"] = {self.labels[-1]: cost}
        return found

    def estimator(self, made: Any = None) -> Any:
        """The model, not fitted; of a subclass `made` if given."""
        made = made or getattr(separatrix, self.model.class_name)
        limits = {"time_limit": self.seconds, "n_jobs": 1, "device": "cpu"}
        model = made(**self.arguments, **{name: limits[name] for name in self.model.limits})
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        if not self.standardise:
            return model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), model)


def final_estimator(model: Any) -> Any:
    """The model itself, without the scaler in front of it."""
    return model[-1] if hasattr(model, "steps") else model


def _require_classes(n: int, labels: list[str]) -> None:
    if not 1 <= n <= MAX_POINTS:
        error = DataError(f"a picture needs 1 to {MAX_POINTS:,} points; got {n:,}")
        error.hint = "use a subset of them" if n else "add some points"
        raise error
    if len(labels) == 1:
        error = DataError(f"all points have one class, {labels[0]!r:.60}: there is no boundary")
        error.hint = "add points of another class"
        raise error
    if len(labels) > MAX_CLASSES:
        raise DataError(f"a picture shows at most {MAX_CLASSES} classes; got {len(labels)}")


def _limit_neighbours(values: dict[str, Any], y: Codes, rule: str) -> list[str]:
    """Lower k to the number of points, with a note."""
    sizes = np.sort(np.bincount(y))
    limit = int(sizes[:2].sum() if rule == "pairs" else sizes.sum())
    if values.get("n_neighbors", 0) <= limit:
        return []
    values["n_neighbors"] = limit
    return [f"k is {limit}: there are no more points to vote"]
