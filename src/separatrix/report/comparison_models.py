"""Sections on fitted models: regions, weights, support vectors, and what searches tried and chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.data.dataset import Dataset
from separatrix.estimators.base.tuned import best_model
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.evaluation.regions import decision_regions
from separatrix.evaluation.rules import RULES
from separatrix.plots.figures import plot_features
from separatrix.plots.neighbor_curves import plot_k
from separatrix.plots.region_figures import plot_regions
from separatrix.report.comparison_pictures import (
    plot_candidates,
    plot_parameter,
    plot_weights,
    with_short_names,
)
from separatrix.report.page import Picture, Section, Table
from separatrix.types import Codes, Matrix

MOST_BARS = 20
MOST_CELLS = 2000  # of the table of weights
MOST_ACROSS = 10  # classes beside each other in it, which fit on paper
MOST_PANELS = 10  # classes whose weights are drawn as images


def regions_section(name: str, model: Any, data: Dataset | None) -> Section | None:
    """The predicted class at every point of the plane, for samples of two features."""
    if model is None or data is None or data.kind == "table":
        return None
    if getattr(data.X, "shape", (0, 0))[1] != 2:
        return None
    regions = decision_regions(model, data.X, data.y)
    figure = plot_regions(regions, data.X, data.y, names=data.features)
    figure.axes[0].set_title(f"{name}: {RULES[regions.rule]}", fontsize=10)  # not "Pipeline"
    with_short_names(figure)
    table = Table(["region", "area %"], [list(row.values()) for row in regions.rows()])
    caption = f"The class that {name}, trained on all rows, predicts at every point, with the rows on top."
    return Section("Regions", [], [Picture(figure, caption, table)])


def features_section(
    names: Sequence[str], fitted: Mapping[str, Any], data: Dataset | None
) -> Section | None:
    """Weights of the best classifier, if it is linear, and its support vectors, if it has some."""
    shows: list[Picture | Table] = []
    shows += _weights(names[:1], fitted, data)
    shows += _support_vectors(names[:1], fitted)
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
    features = _feature_names(fitted[found], data, len(largest))
    order = np.argsort(-largest, kind="stable")[:MOST_BARS]
    table = _table_of_weights(features, weights, [str(label) for label in model.classes_], order)
    scaled = isinstance(fitted[found], Pipeline) and len(fitted[found]) > 1
    after = ", as preprocessing leaves them (encoded, scaled)" if scaled else ""
    caption = f"Weights of {found} for its features{after}: |w|, darker is larger."
    image = None if data is None else data.image
    if image is not None and image[0] * image[1] == len(largest) and len(weights) <= MOST_PANELS:
        return [Picture(with_short_names(plot_features(model, shape=image)), caption, table)]
    caption = (
        f"The {len(order)} largest weights |w| of {found}, of {len(largest)} features{after}"
        + ("." if len(weights) == 1 else "; of each feature the largest over all boundaries.")
    )
    return [Picture(plot_weights([features[j] for j in order], largest[order]), caption, table)]


def _table_of_weights(
    features: list[str], weights: Matrix, classes: list[str], order: Codes
) -> Table:
    """All weights where they are few, otherwise the largest."""
    if weights.size <= MOST_CELLS and len(weights) <= MOST_ACROSS:
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


def _feature_names(model: Any, data: Dataset | None, d: int) -> list[str]:
    """Names of d features: those of the encoder of a table, or of the columns of the data."""
    first = model[0] if isinstance(model, Pipeline) else model
    if isinstance(first, TableEncoder) and len(names := first.get_feature_names_out()) == d:
        return [str(name) for name in names]
    if data is not None and data.features is not None and len(data.features) == d:
        return [str(name) for name in data.features]
    return [f"feature {j}" for j in range(d)]


MOST_TRIED = 60  # of a search that is drawn


def parameters_section(rows: list[dict[str, Any]], fitted: Mapping[str, Any]) -> Section | None:
    """What was chosen in each split, and error against parameter for models fitted to all rows."""
    shows: list[Picture | Table] = []
    for name, model in fitted.items():
        shows += _draw_searches(name, model[-1] if isinstance(model, Pipeline) else model)
    chosen = [[row["model"], *_usual(row["chosen"])] for row in rows if row.get("chosen")]
    if chosen:
        caption = "What the search inside the training rows chose most often."
        shows.append(Table(["classifier", "chosen", "splits", "of"], chosen, caption=caption))
    drawn = any(isinstance(one, Picture) for one in shows)
    title = "Error against the parameter" if drawn else "Chosen parameters"
    return Section(title, [], shows) if shows else None


def _usual(chosen: list[dict[str, Any]]) -> tuple[str, int, int]:
    """The parameters chosen most often, and in how many of the splits.

    >>> _usual([{"C": 1.0}, {"C": 0.1}, {"C": 1.0}])
    ('C = 1', 2, 3)
    """
    words, count = Counter(_in_words(one) for one in chosen).most_common(1)[0]
    return words, count, len(chosen)


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.split('__')[-1]} = {value:.4g}"
        if isinstance(value, float)
        else f"{name.split('__')[-1]} = {value}"
        for name, value in parameters.items()
    )


def _draw_searches(name: str, model: Any) -> list[Picture]:
    """The picture of a search, where the model is one."""
    accuracy = getattr(getattr(model, "estimator_", None), "accuracy_by_k_", None)
    if accuracy is not None:
        return [_neighbours(name, model.estimator_, accuracy)]
    table = getattr(model, "cv_results_", None)
    if table is None or not 1 < len(table["params"]) <= MOST_TRIED:
        return []
    return [_of_cells(name, table)]


def _neighbours(name: str, model: Any, accuracy: Any) -> Picture:
    errors = 100 * (1 - np.asarray(accuracy))
    rows = [[k, error] for k, error in enumerate(errors.tolist(), start=1)]
    figure = plot_k(accuracy, n=int(model.n_samples_fit_), error=True)
    caption = f"Error of {name} against the number of neighbours, each row left out in turn."
    return Picture(figure, caption, Table(["k", "error %"], rows))


def _of_cells(name: str, results: Mapping[str, Any]) -> Picture:
    """A curve for one parameter, curves for two numbers, otherwise a list of all that was tried."""
    cells = [dict(cell) for cell in results["params"]]
    errors = 100 * (1 - np.asarray(results["mean_test_score"]))
    spread = 100 * np.asarray(results["std_test_score"])
    names = [key.split("__")[-1] for key in cells[0]]
    rows = [
        [*(_cell(value) for value in cell.values()), f"{error:.2f}", f"{sd:.2f}"]
        for cell, error, sd in zip(cells, errors, spread, strict=True)
    ]
    table = Table([*names, "fold error %", "sd"], rows)
    caption = (
        f"Error of {name} for each value tried, mean over the folds of a search on all rows; the "
        f"lowest is {errors.min():.2f} % at {_in_words(cells[int(errors.argmin())])}."
    )
    return Picture(_figure_of_cells(cells, errors), caption, table)


def _figure_of_cells(cells: list[dict[str, Any]], errors: Any) -> Any:
    numeric = [key for key in cells[0] if all(_is_number(cell.get(key)) for cell in cells)]
    if not numeric:
        return plot_candidates([_in_words(cell) for cell in cells], {"fold error": list(errors)})
    along = max(numeric, key=lambda key: len({cell[key] for cell in cells}))
    curves: dict[str, list[tuple[float, float]]] = {}
    for cell, error in zip(cells, errors.tolist(), strict=True):
        others = {key: value for key, value in cell.items() if key != along}
        curves.setdefault(_in_words(others), []).append((float(cell[along]), error))
    return plot_parameter(
        along.split("__")[-1], {key: sorted(curve) for key, curve in curves.items()}
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _cell(value: Any) -> Any:
    return value if _is_number(value) else str(value)
