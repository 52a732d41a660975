"""The section on parameters: what searches chose, and the error of each value that was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.plots.neighbor_curves import plot_k
from separatrix.report.comparison_pictures import plot_candidates, plot_parameter
from separatrix.report.page import Picture, Section, Table

MOST_CELLS = 60  # of a search that is drawn


def parameters_section(rows: list[dict[str, Any]], fitted: Mapping[str, Any]) -> Section | None:
    """What was chosen in each split, and error against parameter for models fitted to all rows."""
    shows: list[Picture | Table] = []
    for name, model in fitted.items():
        shows += _searched(name, model[-1] if isinstance(model, Pipeline) else model)
    chosen = [[row["model"], *_usual(row["chosen"])] for row in rows if row.get("chosen")]
    if chosen:
        caption = "What the search inside the training rows chose most often."
        shows.append(Table(["classifier", "chosen", "splits", "of"], chosen, caption=caption))
    return Section("Error against the parameter", [], shows) if shows else None


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


def _searched(name: str, model: Any) -> list[Picture]:
    """The picture of a search, where the model is one."""
    accuracy = getattr(getattr(model, "estimator_", None), "accuracy_by_k_", None)
    if accuracy is not None:
        return [_neighbours(name, model.estimator_, accuracy)]
    table = getattr(model, "cv_results_", None)
    if table is None or not 1 < len(table["params"]) <= MOST_CELLS:
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
