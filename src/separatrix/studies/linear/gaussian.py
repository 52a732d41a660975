"""Part 7 of the page: straight boundaries beside curved ones, and the terms that make the difference."""

from __future__ import annotations

from separatrix.experiments.table import Results
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    KINDS,
    PETALS,
    class_legend,
    draw_regions,
    figure_of,
    largest,
    name_outer_axes,
    number,
    regions_from,
)
from separatrix.studies.linear_steps.gaussian import ENTRIES, TERMS

MODELS = {
    "LinearDiscriminantAnalysis": "one covariance",
    "QuadraticDiscriminantAnalysis": "a covariance each",
}
PAIRS = [f"{a} - {b}" for i, a in enumerate(KINDS) for b in KINDS[i + 1 :]]


def terms(results: Results) -> Section:
    """Both models on the same flowers."""
    found = results.arrays[TERMS]
    figure, panels = figure_of(3.3, 1, 2, sharex=True, sharey=True)
    for axes, (model, name) in zip(panels, MODELS.items(), strict=True):
        shape = regions_from(found, f"{model}_", KINDS, "predict", model)
        draw_regions(axes, shape, found["X"], found["codes"])
        right = number(results, TERMS, "accuracy", model)
        axes.set_title(f"{name}\n{100 * right:.1f} % of flowers right", fontsize=9.5)
    name_outer_axes(panels, PETALS)
    class_legend(figure, KINDS)
    cancelled = largest(results, TERMS, "measured_difference", model="LinearDiscriminantAnalysis")
    stays = largest(results, TERMS, "difference", model="QuadraticDiscriminantAnalysis")
    return Section(
        "7 · Terms that cancel",
        [
            "The log density of a Gaussian class has the term -½ x'C⁻¹x. Where classes share C "
            "it is the same for all, so between two classes it cancels and the boundary is "
            "straight. With a covariance for each class it stays, and the boundary is a conic.",
            "Measured on what the models answer, from second differences of log probabilities: "
            f"at most {cancelled:.0e} is left with one covariance; up to {stays:.3g} per square "
            "cm with one each.",
        ],
        [
            Picture(
                figure,
                "Boundaries of the linear and of the quadratic discriminant for iris by its "
                "petals.",
                Table(
                    ("covariances", "classes", *ENTRIES),
                    [
                        [name, kind, *_of(results, "coefficient", model, kind)]
                        for model, name in MODELS.items()
                        for kind in KINDS
                    ],
                    "Coefficients of -½ C⁻¹ for each class; x1 is the length and x2 the width.",
                ),
            ),
            Table(
                ("covariances", "classes", *ENTRIES, *(f"{term}, measured" for term in ENTRIES)),
                [
                    [
                        name,
                        pair,
                        *_of(results, "difference", model, pair),
                        *_of(results, "measured_difference", model, pair),
                    ]
                    for model, name in MODELS.items()
                    for pair in PAIRS
                ],
                "What is left between two classes: from the covariances, and measured on "
                "predict_log_proba.",
            ),
        ],
    )


def _of(results: Results, metric: str, model: str, classes: str) -> list[float]:
    return [number(results, TERMS, metric, model, classes=classes, term=term) for term in ENTRIES]
