"""Parts 3 and 12: what a margin costs under each loss, and what far samples do to a boundary.

A loss is a function of the margin t = y f(x): above 0 on the right side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.svc import SVC
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.solvers.subgradient import LOSSES as OF_MARGINS
from separatrix.solvers.subgradient import Objective
from separatrix.studies.linear_steps.samples import angle_between, generator, line_of
from separatrix.types import Codes, Matrix, Vector

FAR = "3 far points"
LOSSES = "12 losses"
DRAWN = ("squared", "hinge", "squared_hinge", "logistic", "sigmoid")
AT = (-1.0, 0.0, 1.0, 5.0)  # margins in the tables
NEAR, BEYOND = 100, 30  # samples of each cloud, and far behind one of them
TOWARDS = np.array([1.0, -0.8])  # where the far ones lie, seen from the clouds
AWAY = (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0)


def loss_at(name: str, t: Vector) -> Vector:
    """A loss at margins t, (m,), from the solver that minimises it; the squared one, (1 - t)^2, here.

    >>> loss_at("squared", np.array([-1.0, 5.0])).tolist()
    [4.0, 16.0]
    >>> loss_at("hinge", np.array([-1.0, 5.0])).tolist()
    [2.0, 0.0]
    """
    if name not in OF_MARGINS:
        return np.asarray((1.0 - t) ** 2)
    nothing = np.zeros((1, 1))  # one sample at the origin: the bias is its margin
    objective = Objective(nothing, np.zeros(1, dtype=np.intp), np.ones(1), 1.0, name, mu=0.0)
    found = objective.at(np.column_stack([t, np.zeros(len(t))]), np.zeros(len(t), dtype=np.intp))
    if found is None:  # only a watch says stop, and there is none
        raise RuntimeError("the loss was not measured")
    return found.f


def curves(_workshop: RunContext) -> StepResult:
    """Which losses are convex, and which one charges for being too right."""
    t = np.linspace(-3.0, 6.0, 361)
    rows = _table(LOSSES)
    for name in DRAWN:
        values = loss_at(name, t)
        shapes = {
            "least_second_difference": float(np.diff(values, 2).min()),
            "cost_of_margin_6": float(values[-1] - values.min()),
        }
        rows += [Row(LOSSES, "", name, params_json(), ALL_SPLITS, m, v) for m, v in shapes.items()]
    return StepResult(rows, {"margin": t, **{name: loss_at(name, t) for name in DRAWN}})


def _table(part: str) -> list[Row]:
    return [
        Row(part, "", name, params_json(margin=t), ALL_SPLITS, "loss", value)
        for name in DRAWN
        for t, value in zip(AT, loss_at(name, np.array(AT)).tolist(), strict=True)
    ]


def far_points(workshop: RunContext) -> StepResult:
    """Samples far on their right side move least squares, hardly logistic, and not the machine."""
    rng = generator(workshop, 3)
    X = np.vstack([rng.normal([at, 0.0], [0.5, 1.0], (NEAR, 2)) for at in (-2.0, 2.0)])
    y = np.repeat([0, 1], NEAR)
    spread = rng.normal(0.0, 0.4, (BEYOND, 2))
    rows = [
        row
        for row in _table(FAR)
        if row.parameters in (params_json(margin=-1.0), params_json(margin=5.0))
    ]
    arrays: dict[str, Any] = {"X": X, "codes": y, "far": _behind(spread, AWAY[-1])}
    for name, model in _movable().items():
        before = line_of(model.fit(X, y))
        lines = [(*before[0], before[1])]
        for away in AWAY:
            more = np.vstack([X, _behind(spread, away)])
            fitted = model.fit(more, np.append(y, np.ones(BEYOND, dtype=y.dtype)))
            after = line_of(fitted)
            lines.append((*after[0], after[1]))
            values = _moves(before, after, fitted, X, y)
            rows += [
                Row(
                    FAR,
                    "two clouds",
                    name,
                    params_json(away=away, far=BEYOND),
                    ALL_SPLITS,
                    metric,
                    value,
                )
                for metric, value in values.items()
            ]
        arrays[f"{name}_lines"] = np.array(lines)  # w, then the bias; the first without far samples
    return StepResult(rows, arrays)


def _behind(spread: Matrix, away: float) -> Matrix:
    """Samples of the second class, that far behind its cloud."""
    return np.array([2.0, 0.0]) + away * TOWARDS / np.linalg.norm(TOWARDS) + spread


def _movable() -> dict[str, Any]:
    return {
        "LeastSquaresClassifier": LeastSquaresClassifier(),
        "LogisticRegression": LogisticRegression(tol=1e-10),
        "SVC": SVC(kernel="linear", tol=1e-10),
    }


def _moves(
    before: tuple[Vector, float], after: tuple[Vector, float], model: Any, X: Matrix, y: Codes
) -> dict[str, float]:
    """How far the boundary turned, and moved along the line from cloud to cloud."""
    crossings = [-bias / w[0] for w, bias in (before, after)]
    return {
        "turned_degrees": angle_between(before[0], after[0]),
        "moved": float(crossings[1] - crossings[0]),
        "near_mistaken": float((model.predict(X) != y).sum()),
    }
