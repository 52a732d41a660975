"""Part 7: with one covariance the terms square in x cancel between classes; with one each they stay."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.evaluation.regions import decision_regions
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.solvers.decomposition import pairs
from separatrix.studies.linear_steps.samples import is_quick, petals
from separatrix.types import Matrix, Vector

TERMS = "7 quadratic terms"
ENTRIES = {"x1 x1": (0, 0), "x1 x2": (0, 1), "x2 x2": (1, 1)}
STEP = 0.5  # cm, for second differences: exact for quadratic functions, whatever the step


def terms(workshop: RunContext) -> StepResult:
    """The quadratic coefficients of log p_a - log p_b, from covariances and from the models' answers."""
    X, y, names = petals(workshop)
    labels = np.array(names)[y]
    grid = 150 if is_quick(workshop) else 240
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for model in (
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    ):
        name = type(model).__name__
        model.fit(X, labels)
        Q = _quadratic_forms(model, len(names))
        measured = _measured(model, X.mean(axis=0))
        rows += [
            Row(
                TERMS,
                "iris petals",
                name,
                params_json(classes=told, term=term),
                ALL_SPLITS,
                metric,
                float(value),
            )
            for told, term, metric, value in (
                *_of_classes(Q, names),
                *_of_pairs(Q, measured, names),
            )
        ]
        rows.append(
            Row(
                TERMS,
                "iris petals",
                name,
                params_json(),
                ALL_SPLITS,
                "accuracy",
                float(model.score(X, labels)),
            )
        )
        found = decision_regions(model, X, labels, grid=grid)
        arrays |= {
            "first": found.first,
            "second": found.second,
            f"{name}_codes": found.codes.astype(np.int8),
            f"{name}_fields": found.fields.astype(np.float32),
        }
    return StepResult(rows, arrays)


def _quadratic_forms(model: Any, k: int) -> Matrix:
    """-1/2 of the inverse covariance of each class, (k, 2, 2)."""
    covariances = (
        model.covariance_ if isinstance(model.covariance_, list) else [model.covariance_] * k
    )
    return np.array([-0.5 * np.linalg.inv(C) for C in covariances])


def _measured(model: Any, middle: Vector) -> Matrix:
    """The same for each class up to what classes share: from second differences of log p, (k, 2, 2)."""

    def second(u: Vector) -> Vector:
        log_p: Matrix = model.predict_log_proba(np.array([middle + u, middle - u, middle]))
        return np.asarray((log_p[0] + log_p[1] - 2 * log_p[2]) / (2 * STEP**2))

    across, up = STEP * np.eye(2)
    first, both, other = second(across), second(across + up), second(up)
    mixed = (both - first - other) / 2
    return np.stack([np.stack([first, mixed], -1), np.stack([mixed, other], -1)], -2)


def _of_classes(Q: Matrix, names: tuple[str, ...]) -> list[tuple[str, str, str, float]]:
    return [
        (kind, term, "coefficient", Q[(k, *at)])
        for k, kind in enumerate(names)
        for term, at in ENTRIES.items()
    ]


def _of_pairs(
    Q: Matrix, measured: Matrix, names: tuple[str, ...]
) -> list[tuple[str, str, str, float]]:
    """Differences between classes, as the covariances say and as log probabilities have them."""
    return [
        (f"{names[a]} - {names[b]}", term, metric, M[(a, *at)] - M[(b, *at)])
        for a, b in pairs(len(names))
        for term, at in ENTRIES.items()
        for metric, M in (("difference", Q), ("measured_difference", measured))
    ]
