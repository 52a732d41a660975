"""Part 10: softmax turns scores into probabilities; only differences of scores matter."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.evaluation.regions import decision_regions
from separatrix.experiments.steps import RunContext, StepResult, metric_rows
from separatrix.experiments.table import Results
from separatrix.plots.figures import INK
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    GREY,
    STYLES,
    class_legend,
    draw_regions,
    legend_below,
    panel_figure,
    region_arrays,
)
from separatrix.studies.linear.samples import PETALS, SPECIES, grid_size, petals
from separatrix.studies.summaries import largest_value, single_value
from separatrix.types import Matrix

SOFTMAX = "10 softmax"
SHIFTS = (-1000.0, 1.0, 1000.0)


def check_softmax(context: RunContext) -> StepResult:
    """Probabilities of three classes, and what leaves them unchanged."""
    X, y, names = petals(context)
    labels = np.array(names)[y]
    model = LogisticRegression(C=10.0, tol=1e-8).fit(X, labels)
    found = decision_regions(model, X, labels, grid=grid_size(context))
    points = np.stack(np.meshgrid(found.first, found.second), axis=-1).reshape(-1, 2)
    P, S = model.predict_proba(points), model.decision_function(points)
    length = np.linspace(0.5, 7.5, 141)
    width = np.polyval(np.polyfit(X[:, 0], X[:, 1], 1), length)
    two = LogisticRegression(C=10.0, tol=1e-8).fit(X[y > 0], y[y > 0])
    values = {
        "off_sum": np.abs(P.sum(axis=1) - 1.0).max(),
        "off_softmax_of_scores": np.abs(P - softmax(S, axis=1)).max(),
        "argmax_agrees": np.mean(P.argmax(axis=1) == found.codes.ravel()),
        "off_other_weights": np.abs(_shift_weights(model).predict_proba(points) - P).max(),
        "off_sigmoid_of_two": _off_sigmoid(two, points),
        "gradient": model.gradient_,
        "indeterminate_share": found.indeterminate,
    }
    row = partial(metric_rows, SOFTMAX, "iris petals", "LogisticRegression")
    rows = row(values)
    for shift in SHIFTS:
        off = np.abs(softmax(S + shift, axis=1) - P).max()
        rows += row({"off_shifted_scores": off}, shift=shift)
    for name in names:
        rows += row({"area_share": found.share[name]}, region=name)
    arrays = {
        "X": X,
        "codes": y,
        **region_arrays(found, "region_"),
        "largest": P.max(axis=1).reshape(found.codes.shape).astype(np.float32),
        "length": length,
        "width": width,
        "shares": model.predict_proba(np.column_stack([length, width])),
    }
    return StepResult(rows, arrays)


def _shift_weights(model: Any) -> Any:
    """The model with one vector added to the weights of every class, which changes no probability."""
    other = copy.deepcopy(model)
    other.coef_ = model.coef_ + np.array([3.0, -2.0])
    other.intercept_ = model.intercept_ + 5.0
    return other


def _off_sigmoid(model: Any, points: Matrix) -> float:
    """Two classes: softmax of (-f/2, f/2) is the sigmoid of f."""
    f = model.decision_function(points)
    both = softmax(np.column_stack([-f / 2, f / 2]), axis=1)
    return float(np.abs(both - model.predict_proba(points)).max())


def softmax_section(results: Results) -> Section:
    """Regions of the largest probability, and all three probabilities along a line."""
    value = partial(single_value, results, SOFTMAX)
    words = [
        "Three scores become three probabilities, exp(f_k) over the sum of all. They sum to 1 (to "
        f"{value('off_sum'):.0e}) and the largest score has the largest one, so the regions are those of "
        "the argmax and cover the plane.",
        "Only differences of scores matter: with 1000 added to all, probabilities are the same, to "
        f"{largest_value(results, SOFTMAX, 'off_shifted_scores'):.0e}; so they are with one vector added "
        "to the weights of every class. For two classes softmax is the sigmoid, to "
        f"{value('off_sigmoid_of_two'):.0e}.",
    ]
    rows: list[list[Any]] = [
        ["sum of probabilities less 1", value("off_sum")],
        ["probabilities less softmax of scores", value("off_softmax_of_scores")],
        *(
            [f"{shift:+g} to all scores", value("off_shifted_scores", shift=shift)]
            for shift in SHIFTS
        ),
        ["one vector to the weights of all classes", value("off_other_weights")],
        ["two classes: softmax less sigmoid", value("off_sigmoid_of_two")],
        ["largest entry of the gradient", value("gradient")],
    ]
    table = Table(("what", "largest difference"), rows)
    return Section("10 · Softmax", words, [_draw_regions(results), _draw_line(results), table])


def _draw_regions(results: Results) -> Picture:
    value = partial(single_value, results, SOFTMAX)
    found = results.arrays[SOFTMAX]
    figure, axes = panel_figure(3.6)
    draw_regions(axes, found, "region_", SPECIES)
    line_style = {
        "levels": [0.6, 0.95],
        "colors": GREY,
        "linewidths": 0.9,
        "linestyles": [":", "-"],
    }
    lines = axes.contour(found["first"], found["second"], found["largest"], **line_style)
    axes.clabel(lines, fmt="%.2g", fontsize=8)
    axes.plot(found["length"], found["width"], color=INK, linewidth=1.2, linestyle=(0, (6, 2)))
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1])
    class_legend(figure, SPECIES)
    rows = [[name, 100 * value("area_share", region=name)] for name in SPECIES]
    rows.append(["no class", 100 * value("indeterminate_share")])
    caption = (
        "Regions of softmax regression, with grey contours of the largest probability at 0.6 and 0.95. "
        "The dashed line is that of the next figure."
    )
    return Picture(figure, caption, Table(("region", "area %"), rows))


def _draw_line(results: Results) -> Picture:
    found = results.arrays[SOFTMAX]
    length, shares = found["length"], found["shares"]
    figure, axes = panel_figure(2.9)
    for k, name in enumerate(SPECIES):
        axes.plot(length, shares[:, k], color=COLOURS[k], linestyle=STYLES[k], lw=2, label=name)
    axes.plot(length, shares.sum(axis=1), color=GREY, linewidth=1, label="sum")
    axes.set(xlabel=f"{PETALS[0]}, along the line", ylabel="probability", ylim=(-0.03, 1.06))
    legend_below(figure, axes, 4)
    rows = [
        [float(length[i]), *shares[i].tolist(), float(shares[i].sum())] for i in range(0, 141, 20)
    ]
    caption = "The three probabilities along the line through the flowers, and their sum."
    return Picture(figure, caption, Table((PETALS[0], *SPECIES, "sum"), rows))
