"""Parts 3 and 12: the cost of a margin under each loss, and the effect of distant samples on a boundary.

A loss is a function of the margin t = y f(x), positive on the correct side.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix import SVC, LeastSquaresClassifier, LogisticRegression
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS
from separatrix.report.page import Picture, Section, Shows, Table
from separatrix.solvers.subgradient import LOSSES as MARGIN_LOSSES
from separatrix.solvers.subgradient import Objective
from separatrix.studies.linear.figures import GREY, STYLES, draw_samples, legend_below, panel_figure
from separatrix.studies.linear.samples import angle_between, boundary, generator
from separatrix.studies.views import largest_value, single_value
from separatrix.types import Matrix, Vector

FAR = "3 far points"
LOSSES = "12 losses"
DRAWN = ("squared", "hinge", "squared_hinge", "logistic", "sigmoid")
AT = (-1.0, 0.0, 1.0, 5.0)  # margins in the tables
NEAR, DISTANT = 100, 30  # samples of each cloud, and far behind one of them
DIRECTION = np.array([1.0, -0.8])  # of the distant samples, seen from the clouds
AWAY = (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0)
MODEL_NAMES = {
    "LeastSquaresClassifier": "least squares",
    "LogisticRegression": "logistic",
    "SVC": "support vector machine",
}
MODEL_STYLES = {
    name: {"color": color, "linestyle": style}
    for name, color, style in zip(
        MODEL_NAMES, (COLOURS[4], COLOURS[5], "#333333"), STYLES, strict=False
    )
}


def loss_at(name: str, t: Vector) -> Vector:
    """A loss at margins t, (m,), from the solver that minimises it; the squared one is (1 - t)^2.

    >>> loss_at("squared", np.array([-1.0, 5.0])).tolist()
    [4.0, 16.0]
    >>> loss_at("hinge", np.array([-1.0, 5.0])).tolist()
    [2.0, 0.0]
    """
    if name not in MARGIN_LOSSES:
        return np.asarray((1.0 - t) ** 2)
    origin = np.zeros((1, 1))  # one sample at the origin: the bias is its margin
    objective = Objective(origin, np.zeros(1, dtype=np.intp), np.ones(1), 1.0, name, mu=0.0)
    found = objective.at(np.column_stack([t, np.zeros(len(t))]), np.zeros(len(t), dtype=np.intp))
    if found is None:  # only a monitor cancels, and there is none
        raise RuntimeError("the loss was not measured")
    return found.f


def check_losses(_context: RunContext) -> StepResult:
    """Which losses are convex, and which one penalises large margins."""
    t = np.linspace(-3.0, 6.0, 361)
    rows = _loss_rows(LOSSES, AT)
    for name in DRAWN:
        losses = loss_at(name, t)
        values = {
            "least_second_difference": np.diff(losses, 2).min(),
            "cost_of_margin_6": losses[-1] - losses.min(),
        }
        rows += metric_rows(LOSSES, "", name, values)
    return StepResult(rows, {"margin": t, **{name: loss_at(name, t) for name in DRAWN}})


def _loss_rows(part: str, margins: tuple[float, ...]) -> list[Row]:
    rows: list[Row] = []
    for name in DRAWN:
        for t, value in zip(margins, loss_at(name, np.array(margins)), strict=True):
            rows += metric_rows(part, "", name, {"loss": value}, margin=t)
    return rows


def add_distant_samples(context: RunContext) -> StepResult:
    """Distant samples on their correct side move least squares, hardly logistic, not the SVM."""
    rng = generator(context, 3)
    X = np.vstack([rng.normal([at, 0.0], [0.5, 1.0], (NEAR, 2)) for at in (-2.0, 2.0)])
    y = np.repeat([0, 1], NEAR)
    spread = rng.normal(0.0, 0.4, (DISTANT, 2))
    rows = _loss_rows(FAR, (-1.0, 5.0))
    arrays: dict[str, Any] = {"X": X, "codes": y, "far": _distant(spread, AWAY[-1])}
    models: dict[str, Any] = {
        "LeastSquaresClassifier": LeastSquaresClassifier(),
        "LogisticRegression": LogisticRegression(tol=1e-10),
        "SVC": SVC(kernel="linear", tol=1e-10),
    }
    for name, model in models.items():
        w, bias = boundary(model.fit(X, y))
        lines = [(*w, bias)]
        for away in AWAY:
            more = np.vstack([X, _distant(spread, away)])
            model.fit(more, np.append(y, np.ones(DISTANT, dtype=y.dtype)))
            w_after, bias_after = boundary(model)
            lines.append((*w_after, bias_after))
            values = {
                "turned_degrees": angle_between(w, w_after),
                "moved": bias / w[0] - bias_after / w_after[0],
                "near_mistaken": (model.predict(X) != y).sum(),
            }
            rows += metric_rows(FAR, "two clouds", name, values, away=away, far=DISTANT)
        arrays[f"{name}_lines"] = np.array(lines)  # (w, bias); the first without distant samples
    return StepResult(rows, arrays)


def _distant(spread: Matrix, away: float) -> Matrix:
    """Samples of the second class, that far behind its cloud."""
    return np.array([2.0, 0.0]) + away * DIRECTION / np.linalg.norm(DIRECTION) + spread


def distant_section(results: Results) -> Section:
    """Boundaries with distant samples, and how they turn."""
    value = partial(single_value, results, FAR)
    wrong, far = (value("loss", "squared", margin=t) for t in (-1.0, 5.0))
    turned = value("turned_degrees", "LeastSquaresClassifier", away=AWAY[-1], far=DISTANT)
    still = largest_value(results, FAR, "turned_degrees", model="SVC")
    words = [
        "The squared loss pulls f towards 1. A sample on the wrong side with f = -1 costs "
        f"{wrong:g}; one far on the correct side, with f = 5, costs {far:g}.",
        f"So {DISTANT} samples far behind their own class turn the boundary of least squares by "
        f"{turned:.0f} degrees, and samples near it are misclassified. Logistic regression hardly changes, "
        "and an SVM not at all: samples beyond the margin do not enter its solution (turned by at most "
        f"{still:.0e} degrees).",
    ]
    rows = [
        [name.replace("_", " "), *(value("loss", name, margin=t) for t in (-1.0, 5.0))]
        for name in DRAWN
    ]
    table = Table(
        ("loss", "wrong, f = -1", "far and right, f = 5"),
        rows,
        "Loss of one sample of target +1. The sigmoid loss runs from 0 down to -1.",
    )
    shows: Shows = [_draw_lines(results), _draw_turning(results), table]
    return Section("3 · Far on the right side", words, shows)


def _draw_lines(results: Results) -> Picture:
    found = results.arrays[FAR]
    figure, axes = panel_figure(4.0)
    draw_samples(axes, found["X"], found["codes"])
    line_style = {"color": COLOURS[1], "marker": "s", "edgecolors": "white", "linewidths": 0.4}
    axes.scatter(*found["far"].T, s=18, **line_style)
    text = {"textcoords": "offset points", "fontsize": 9, "ha": "center"}
    axes.annotate("30 far samples", found["far"].mean(axis=0), (0, 13), **text)
    rows = []
    for name, label in MODEL_NAMES.items():
        lines = found[f"{name}_lines"]
        *w, bias = lines[-1]
        ends = (-bias / w[0], 0.0), (-(bias + w[1]) / w[0], 1.0)
        axes.axline(*ends, label=label, lw=1.8, **MODEL_STYLES[name])
        rows += [[label, "before", *lines[0].tolist()]]
        rows += [[label, "with far samples", *lines[-1].tolist()]]
    axes.set(xlabel="first feature", ylabel="second feature", xlim=(-4.5, 21), ylim=(-14.5, 4))
    legend_below(figure, axes, 3)
    caption = (
        "Boundaries after 30 samples were added far behind the squares. Two of the three have not moved "
        "and coincide."
    )
    return Picture(figure, caption, Table(("model", "fitted", "w1", "w2", "w0"), rows))


def _draw_turning(results: Results) -> Picture:
    value = partial(single_value, results, FAR)
    figure, axes = panel_figure(2.9)
    rows = []
    for name, label in MODEL_NAMES.items():
        turned, moved, wrong = (
            [value(metric, name, away=away, far=DISTANT) for away in AWAY]
            for metric in ("turned_degrees", "moved", "near_mistaken")
        )
        axes.plot(AWAY, turned, marker="o", ms=4, label=label, **MODEL_STYLES[name])
        rows += [[label, *row] for row in zip(AWAY, turned, moved, map(int, wrong), strict=True)]
    axes.set(xlabel="distance of the 30 samples behind their class", ylim=(-2, 52))
    axes.set_ylabel("boundary turned, degrees")
    axes.set_xticks([0, 5, 10, 15, 20])
    legend_below(figure, axes, 3)
    columns = ("model", "away", "turned, degrees", "moved", "near samples wrong, of 200")
    caption = "Least squares turns more with the distance; the other two stay."
    return Picture(figure, caption, Table(columns, rows))


def losses_section(results: Results) -> Section:
    """All losses in one figure."""
    value = partial(single_value, results, LOSSES)
    found = results.arrays[LOSSES]
    t = found["margin"]
    figure, axes = panel_figure(3.9)
    axes.step([-3, 0, 6], [1, 0, 0], where="post", color=GREY, linewidth=1, label="mistakes")
    rows, shapes = [], []
    for name, color, style in zip(DRAWN, COLOURS, STYLES, strict=False):
        label = name.replace("_", " ")
        axes.plot(t, found[name], linestyle=style, color=color, linewidth=2, label=label)
        rows.append([label, *(value("loss", name, margin=m) for m in AT)])
        convex = value("least_second_difference", name) > -1e-12
        shapes.append([label, convex, value("cost_of_margin_6", name)])
    axes.set(xlabel="margin y f(x), positive on the correct side", ylabel="loss")
    axes.set(ylim=(-1.15, 5), xlim=(-3, 6))
    axes.axvline(0, color=GREY, linewidth=0.6)
    legend_below(figure, axes, 3)
    words = [
        "Every linear classifier here minimises a loss of the margin plus a penalty. The hinge is 0 from "
        "1 on; the logistic loss never quite. Only the squared loss increases again with the margin.",
        f"All are convex except {' and '.join(str(row[0]) for row in shapes if not row[1])}. With it, the "
        "result of descent depends on the starting point.",
    ]
    caption = "Five losses of the margin, and the 0-1 loss that they replace."
    columns = ("loss", "convex", "at margin 6, above its minimum")
    about = f"From {len(t)} margins between {np.min(t):g} and {np.max(t):g}."
    shows: Shows = [
        Picture(figure, caption, Table(("loss", *(f"at {m:g}" for m in AT)), rows)),
        Table(columns, shapes, about),
    ]
    return Section("12 · Losses", words, shows)
