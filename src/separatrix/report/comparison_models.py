"""Sections that need a fitted model: its regions in the plane, its weights, its support vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.data.dataset import Dataset
from separatrix.estimators.base.tuned import best_model
from separatrix.evaluation.regions import RULES, decision_regions
from separatrix.plots.figures import plot_features
from separatrix.plots.region_figures import plot_regions
from separatrix.report.comparison_pictures import plot_weights, with_short_names
from separatrix.report.page import Picture, Section, Table
from separatrix.types import Codes, Matrix

MOST_BARS = 20
MOST_CELLS = 2000  # of the table of weights
MOST_PANELS = 10  # classes whose weights are drawn as images


def regions_section(name: str, model: Any, data: Dataset | None) -> Section | None:
    """Which class every place of the plane is given, where samples have two features."""
    if model is None or data is None or getattr(data.X, "shape", (0, 0))[1] != 2:
        return None
    regions = decision_regions(model, data.X, data.y)
    figure = plot_regions(regions, data.X, data.y, names=data.features)
    figure.axes[0].set_title(f"{name}: {RULES[regions.rule]}", fontsize=10)  # not "Pipeline"
    with_short_names(figure)
    table = Table(["region", "area %"], [list(row.values()) for row in regions.rows()])
    caption = (
        f"The class that {name}, trained on all rows, gives to every place, with the rows on top."
    )
    return Section("Regions", [], [Picture(figure, caption, table)])


def features_section(
    names: Sequence[str], fitted: Mapping[str, Any], data: Dataset | None
) -> Section | None:
    """What the best linear classifier looks at, and how many support vectors the best machine has."""
    shows: list[Picture | Table] = []
    shows += _weights(names, fitted, data)
    shows += _support_vectors(names, fitted)
    return Section("Features", [], shows) if shows else None


def _weights(
    names: Sequence[str], fitted: Mapping[str, Any], data: Dataset | None
) -> list[Picture]:
    found = next((one for one in names if is_linear(fitted.get(one))), None)
    if found is None:
        return []
    model = _last(fitted[found])
    weights = np.abs(np.asarray(model.coef_, dtype=np.float64))
    weights = weights.reshape(-1, weights.shape[-1])
    largest = weights.max(axis=0)
    features = _feature_names(data, len(largest))
    order = np.argsort(-largest, kind="stable")[:MOST_BARS]
    table = _table_of_weights(features, weights, [str(label) for label in model.classes_], order)
    scaled = isinstance(fitted[found], Pipeline) and len(fitted[found]) > 1
    after = " of features as the steps before it leave them" if scaled else ""
    caption = f"Weights{after} by {found}, the best linear classifier here: |w|, darker is larger."
    image = None if data is None else data.image
    if image is not None and image[0] * image[1] == len(largest) and len(weights) <= MOST_PANELS:
        return [Picture(with_short_names(plot_features(model, shape=image)), caption, table)]
    caption = (
        f"Weights{after} by {found}, the best linear classifier here: for each feature its largest "
        f"|w| over all boundaries, the {len(order)} largest of {len(largest)}."
    )
    return [Picture(plot_weights([features[j] for j in order], largest[order]), caption, table)]


def _table_of_weights(
    features: list[str], weights: Matrix, classes: list[str], order: Codes
) -> Table:
    """All weights where they are few, otherwise the largest."""
    if weights.size <= MOST_CELLS:
        heads = classes if len(weights) == len(classes) else ["|w|"] * len(weights)
        rows = [[name, *line] for name, line in zip(features, weights.T, strict=True)]
        return Table(["feature", *heads], rows, caption="|w| for each class.")
    largest = weights.max(axis=0)
    return Table(["feature", "largest |w|"], [[features[j], largest[j]] for j in order])


def _support_vectors(names: Sequence[str], fitted: Mapping[str, Any]) -> list[Table]:
    machines = [one for one in names if hasattr(_last(fitted.get(one)), "n_support_")]
    if not machines:
        return []
    rows = []
    for one in machines:
        model = _last(fitted[one])
        support = int(np.sum(model.n_support_))
        rows.append([one, support, 100 * support / int(getattr(model, "shape_fit_", [0])[0] or 1)])
    if all(hasattr(_last(fitted[one]), "shape_fit_") for one in machines):
        return [Table(["classifier", "support vectors", "% of the rows"], rows)]
    return [Table(["classifier", "support vectors"], [row[:2] for row in rows])]


def _last(model: Any) -> Any:
    """The classifier itself, out of its pipeline and its search."""
    model = best_model(model)
    return model[-1] if isinstance(model, Pipeline) else model


def is_linear(model: Any) -> bool:
    """Whether a fitted model is one weight for each feature; also behind a search or in a pipeline."""
    model = _last(model)
    return (
        hasattr(model, "coef_")
        and hasattr(model, "intercept_")
        and not hasattr(model, "n_support_")
    )


def _feature_names(data: Dataset | None, d: int) -> list[str]:
    if data is not None and data.features is not None and len(data.features) == d:
        return [str(name) for name in data.features]
    return [f"feature {j}" for j in range(d)]
