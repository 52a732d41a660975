"""Lines that separate two classes equally well on the training rows, and not equally well otherwise."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from separatrix import SVC, LinearDiscriminantAnalysis, LogisticRegression, Perceptron
from separatrix.errors import DataError
from separatrix.experiments.steps import Results, Row, RunContext, metric_rows
from separatrix.plots.separator_figure import margin_of, plot_separators
from separatrix.report.page import Picture, Table
from separatrix.studies.linear import samples
from separatrix.studies.linear.samples import PETALS, SPECIES
from separatrix.studies.views import row_params

DATA = "iris petals, setosa and versicolor"
LARGEST = "largest margin"
SEEDS = (0, 1, 4)  # of the orders in which the perceptron visits the rows
MARGIN = "separating_margin"


def compare_separators(context: RunContext, part: str) -> tuple[list[Row], dict[str, Any]]:
    """Margin of each line on two classes that can be separated, and the arrays of the picture."""
    X, y, _ = samples.two_features(context)
    X, y = X[y < 2], y[y < 2]
    models: dict[str, Any] = {
        f"perceptron, order {number + 1}": Perceptron(
            shuffle=True, random_state=seed, tol=None, max_iter=1000
        )
        for number, seed in enumerate(SEEDS)
    }
    models |= {
        "linear discriminant": LinearDiscriminantAnalysis(),
        "logistic regression": LogisticRegression(),
        LARGEST: SVC(kernel="linear", C=np.inf, tol=1e-10),
    }
    data, rows = samples.data_label(context, DATA), list[Row]()
    lines = []
    for name, model in models.items():
        values, line = dict.fromkeys((MARGIN, "training_error"), np.nan), [np.nan] * 3
        with contextlib.suppress(DataError):  # classes that no line separates have no hard margin
            w, bias = samples.boundary(model.fit(X, y))
            line = [*w, bias]
            values = {
                MARGIN: margin_of(w, bias, X, y == 1),
                "training_error": 1 - model.score(X, y),
            }
        rows += metric_rows(part, data, type(model).__name__, values, line=name)
        lines.append(line)
    arrays = {"separable_X": X, "separable_codes": y, "separators": np.array(lines)}
    return rows, arrays


def margins_by_line(results: Results, part: str) -> dict[str, float]:
    """The margin of each line, by its name."""
    rows = results.where(part=part, metric=MARGIN)
    return {row_params(row)["line"]: row.value for row in rows}


def show_separators(results: Results, part: str) -> Picture:
    """All lines in one picture, with the distances to their nearest flowers."""
    found = margins_by_line(results, part)
    arrays = results.arrays[part]
    lines = {
        name: (np.array(line[:2]), float(line[2]))
        for name, line in zip(found, arrays["separators"], strict=True)
    }
    figure = plot_separators(lines, arrays["separable_X"], arrays["separable_codes"], names=PETALS)
    best = found[LARGEST]
    rows = [(name, margin, f"{100 * margin / best:.1f}") for name, margin in found.items()]
    table = Table(
        ("line", "margin, cm", "% of the largest"), rows, "Distance to the nearest flower."
    )
    caption = (
        f"{len(found)} lines that separate {SPECIES[0]} from {SPECIES[1]} without an error, each with "
        "the band that holds no flower. The largest margin is the support vector machine's."
    )
    return Picture(figure, caption, table)
