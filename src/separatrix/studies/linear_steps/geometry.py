"""Parts 1 and 2: how far a sample is from the boundary, and which class every place has."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.discriminant import LinearDiscriminantAnalysis
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.evaluation.regions import RULES, decision_regions
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.studies.linear_steps.samples import (
    Samples,
    flowers,
    is_quick,
    line_of,
    petals,
    two_kinds,
)
from separatrix.types import Matrix

DISTANCE = "1 signed distance"
REGIONS = "2 regions"
PLANAR = "iris petals, two kinds"
SHOWN = 12  # samples whose perpendicular is drawn


def distance(workshop: RunContext) -> StepResult:
    """f / |w| of every linear model is the length of the perpendicular, with the sign of the side."""
    planar, all_kinds = two_kinds(petals(workshop)), flowers(workshop)
    rows: list[Row] = []
    for name, model in _models().items():
        rows += _checked(name, PLANAR, model.fit(planar.X, planar.y), planar)
        rows += _checked(name, "iris", model.fit(all_kinds.X, all_kinds.y), all_kinds)
    shown = _models()["LinearSVC"].fit(planar.X, planar.y)
    w, bias = line_of(shown)
    away = shown.signed_distance(planar.X)
    order = np.argsort(away)
    picked = order[np.linspace(0, len(order) - 1, SHOWN).round().astype(int)]
    feet = planar.X - away[:, None] * w / np.linalg.norm(w)
    rows += [
        Row(DISTANCE, PLANAR, "LinearSVC", params_json(sample=int(i)), ALL_SPLITS, "distance", d)
        for i, d in zip(picked, away[picked].tolist(), strict=True)
    ]
    return StepResult(
        rows,
        {
            "X": planar.X,
            "codes": planar.y,
            "weights": w,
            "bias": np.array([bias]),
            "picked": picked,
            "feet": feet[picked],
            "distance": away,
        },
    )


def _models() -> dict[str, Any]:
    models = (
        LeastSquaresClassifier(),
        LogisticRegression(),
        LinearSVC(C=10.0, tol=1e-8),
        LinearDiscriminantAnalysis(),
    )
    return {type(model).__name__: model for model in models}


def _checked(name: str, data: str, model: Any, samples: Samples) -> list[Row]:
    """How far the distance is from its formula, and its foot from the boundary."""
    W, b = np.asarray(model.coef_), np.ravel(model.intercept_)
    away = model.signed_distance(samples.X).reshape(len(samples.X), -1)
    lengths = np.linalg.norm(W, axis=1)
    scores = model.decision_function(samples.X).reshape(away.shape)
    feet = samples.X[:, None] - (away / lengths)[:, :, None] * W  # (n, p, d)
    at_feet = np.einsum("npd,pd->np", feet, W) + b
    values = {
        "length_of_w": float(lengths[-1]),
        "origin_distance": float(b[-1] / lengths[-1]),
        "off_formula": float(np.abs(away - scores / lengths).max()),
        "off_boundary_at_foot": float(np.abs(at_feet / lengths).max()),
        "off_perpendicular": _off_length(samples.X, feet, away),
        "sign_is_the_class": _sides_agree(model, samples, away),
    }
    return [
        Row(DISTANCE, data, name, params_json(), ALL_SPLITS, metric, value)
        for metric, value in values.items()
    ]


def _off_length(X: Matrix, feet: Matrix, away: Matrix) -> float:
    return float(np.abs(np.linalg.norm(X[:, None] - feet, axis=2) - np.abs(away)).max())


def _sides_agree(model: Any, samples: Samples, away: Matrix) -> float:
    """Share of samples on the side of the class that is predicted; several classes: by their scores."""
    guessed = model.predict(samples.X)
    if away.shape[1] == 1:
        return float(np.mean((away[:, 0] > 0) == (guessed == 1)))
    return float(np.mean(model.decision_function(samples.X).argmax(axis=1) == guessed))


def regions(workshop: RunContext) -> StepResult:
    """Rules that put binary answers together leave places without a class; argmax does not."""
    X, y, names = petals(workshop)
    labels = np.array(names)[y]
    grid = 150 if is_quick(workshop) else 240
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for rule in RULES:
        found = decision_regions(LinearSVC(tol=1e-8), X, labels, rule=rule, grid=grid)
        for label, share in found.share.items():
            region = "indeterminate" if label is None else label
            told = params_json(region=region, rule=rule)
            rows.append(
                Row(REGIONS, "iris petals", "LinearSVC", told, ALL_SPLITS, "area_share", share)
            )
        told = params_json(rule=rule)
        lines = float(len(found.fields))
        rows.append(Row(REGIONS, "iris petals", "LinearSVC", told, ALL_SPLITS, "boundaries", lines))
        arrays |= {
            "first": found.first,
            "second": found.second,
            f"{rule}_codes": found.codes.astype(np.int8),
            f"{rule}_fields": found.fields.astype(np.float32),
        }
    return StepResult(rows, arrays)
