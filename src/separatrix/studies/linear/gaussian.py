"""Part 7: with one covariance the quadratic terms cancel between classes; with one each they remain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.evaluation.regions import decision_regions
from separatrix.experiments.steps import Row, RunContext, StepResult, metric_rows
from separatrix.experiments.table import Results
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section, Shows
from separatrix.solvers.decomposition import pairs
from separatrix.studies.linear.panels import (
    class_legend,
    draw_regions,
    name_outer_axes,
    panel_figure,
    region_arrays,
)
from separatrix.studies.linear.samples import PETALS, SPECIES, grid_size, petals
from separatrix.studies.summaries import largest_value, single_value
from separatrix.types import Matrix, Vector

TERMS = "7 quadratic terms"
ENTRIES = {"x1 x1": (0, 0), "x1 x2": (0, 1), "x2 x2": (1, 1)}
STEP = 0.5  # cm, of second differences, which are exact for quadratic functions
LINEAR, QUADRATIC = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
MODELS = {LINEAR: "one covariance", QUADRATIC: "a covariance each"}


def compute_terms(context: RunContext) -> StepResult:
    """Quadratic coefficients of log p_a - log p_b, from covariances and from predictions."""
    X, y, names = petals(context)
    labels = np.array(names)[y]
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    models = (
        LinearDiscriminantAnalysis(store_covariance=True),
        QuadraticDiscriminantAnalysis(store_covariance=True),
    )
    for model in models:
        name = type(model).__name__
        model.fit(X, labels)
        row = partial(metric_rows, TERMS, "iris petals", name)
        Q = _quadratic_forms(model, len(names))
        measured = _measure_forms(model, X.mean(axis=0))
        for k, species in enumerate(names):
            for term, at in ENTRIES.items():
                rows += row({"coefficient": Q[k, *at]}, classes=species, term=term)
        for a, b in pairs(len(names)):
            for term, at in ENTRIES.items():
                difference = Q[a, *at] - Q[b, *at]
                observed = measured[a, *at] - measured[b, *at]
                values = {"difference": difference, "measured_difference": observed}
                rows += row(values, classes=f"{names[a]} - {names[b]}", term=term)
        rows += row({"accuracy": model.score(X, labels)})
        found = decision_regions(model, X, labels, grid=grid_size(context))
        arrays |= region_arrays(found, f"{name}_")
    return StepResult(rows, arrays)


def _quadratic_forms(model: Any, k: int) -> Matrix:
    """-1/2 of the inverse covariance of each class, (k, 2, 2)."""
    covariances = model.covariance_
    covariances = covariances if isinstance(covariances, list) else [covariances] * k
    return np.array([-0.5 * np.linalg.inv(C) for C in covariances])


def _measure_forms(model: Any, middle: Vector) -> Matrix:
    """The same, up to a common term, from second differences of log probabilities, (k, 2, 2)."""

    def second(u: Vector) -> Vector:
        log_p: Matrix = model.predict_log_proba(np.array([middle + u, middle - u, middle]))
        return np.asarray((log_p[0] + log_p[1] - 2 * log_p[2]) / (2 * STEP**2))

    across, up = STEP * np.eye(2)
    first, both, other = second(across), second(across + up), second(up)
    mixed = (both - first - other) / 2
    return np.stack([np.stack([first, mixed], -1), np.stack([mixed, other], -1)], -2)


def terms_section(results: Results) -> Section:
    """Both models on the same flowers."""
    found = results.arrays[TERMS]
    figure, panels = panel_figure(3.3, 1, 2, sharex=True, sharey=True)
    for axes, (model, name) in zip(panels, MODELS.items(), strict=True):
        draw_regions(axes, found, f"{model}_", SPECIES)
        accuracy = single_value(results, TERMS, "accuracy", model)
        axes.set_title(f"{name}\naccuracy {100 * accuracy:.1f} %", fontsize=9.5)
    name_outer_axes(panels, PETALS)
    class_legend(figure, SPECIES)
    cancelled = largest_value(results, TERMS, "measured_difference", model=LINEAR)
    remain = largest_value(results, TERMS, "difference", model=QUADRATIC)
    words = [
        "The log density of a Gaussian class has the term -½ x'C⁻¹x. If classes share C it is the same for "
        "all, so between two classes it cancels and the boundary is linear. With a covariance for each "
        "class it remains, and the boundary is a conic.",
        "Measured on predictions, from second differences of log probabilities: at most "
        f"{cancelled:.0e} remains with one covariance; up to {remain:.3g} per square cm with one each.",
    ]

    def values(metric: str, model: str, classes: str) -> list[float]:
        value = partial(single_value, results, TERMS, metric, model, classes=classes)
        return [value(term=term) for term in ENTRIES]

    coefficients = [
        [name, species, *values("coefficient", model, species)]
        for model, name in MODELS.items()
        for species in SPECIES
    ]
    metrics = ("difference", "measured_difference")
    names = [f"{SPECIES[a]} - {SPECIES[b]}" for a, b in pairs(len(SPECIES))]
    differences = [
        [name, pair, *(v for metric in metrics for v in values(metric, model, pair))]
        for model, name in MODELS.items()
        for pair in names
    ]
    columns = ("covariances", "classes", *ENTRIES)
    caption = "Coefficients of -½ C⁻¹ for each class; x1 is the length and x2 the width."
    left = "Difference between two classes: from the covariances, and from predict_log_proba."
    shows: Shows = [
        Picture(
            figure,
            "Boundaries of the linear and of the quadratic discriminant for iris by its petals.",
            Table(columns, coefficients, caption),
        ),
        Table((*columns, *(f"{term}, measured" for term in ENTRIES)), differences, left),
    ]
    return Section("7 · Terms that cancel", words, shows)
