"""Part 9: decisions by cost, and predicted probabilities far from the data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.frozen import FrozenEstimator

from separatrix import BayesDecision, LogisticRegression
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS, INK
from separatrix.report.page import Picture, Section, Shows, Table
from separatrix.solvers.logistic.laplace import mackay, mean_sigmoid
from separatrix.studies.linear.figures import GREY, STYLES, draw_samples, legend_below, panel_figure
from separatrix.studies.linear.samples import boundary, generator, is_quick
from separatrix.studies.views import single_value
from separatrix.types import Matrix, Vector

DOUBT = "9 costs and doubt"
COSTS = (0.1, 1.0, 10.0)  # of a missed tumour, in false alarms
DISTANCES = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
PER_CLASS = 15  # samples, few enough to leave the weights uncertain
SIGMOID_MEANS = (  # mean and variance of a score; the exact mean of its sigmoid; MacKay's formula
    (1.0, 1.0, 0.69673, 0.70001),
    (2.0, 4.0, 0.77520, 0.77684),
    (3.0, 4.0, 0.87041, 0.86658),
    (5.0, 9.0, 0.92380, 0.91278),
    (0.5, 0.25, 0.61598, 0.61707),
    (1.0, 25.0, 0.57470, 0.57543),
)
ESTIMATES = {"MLE": "maximum likelihood", "MAP": "with a prior", "Bayes": "mean over weights"}
QUADRATURE = "Bayes, by quadrature"
LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def compare_costs_and_doubt(context: RunContext) -> StepResult:
    """Thresholds follow from costs; confidence far from the data follows from the posterior."""
    costs, doubt = _compare_costs(context), _leave_data(context)
    rows = [*costs.rows, *doubt.rows, *_sigmoid_rows()]
    return StepResult(rows, {**costs.arrays, **doubt.arrays})


def _compare_costs(context: RunContext) -> StepResult:
    """Tumours: every second row trains, the others are decided at three costs of a miss."""
    data = context.data("breast_cancer")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    X, benign = (X - X[::2].mean(axis=0)) / X[::2].std(axis=0), y == np.unique(y)[1]
    model = FrozenEstimator(LogisticRegression().fit(X[::2], benign[::2]))
    X, benign = X[1::2], benign[1::2]
    p = model.predict_proba(X)[:, 1]
    cuts = np.linspace(0.005, 0.995, 199)
    rows: list[Row] = []
    arrays: dict[str, Any] = {"cuts": cuts}
    for cost in COSTS:
        loss = np.array([[0.0, cost], [1.0, 0.0]])  # row 0: a tumour
        decision = BayesDecision(model, loss).fit(X, benign)
        threshold = decision.threshold_
        values = {
            "threshold": threshold,
            "off_cost_ratio": abs(threshold - cost / (cost + 1.0)),
            "decides_by_threshold": np.mean(decision.predict(X) == (p > threshold)),
            "mean_cost": decision.mean_cost(X, benign),
            "mean_cost_at_half": _mean_cost(p > 0.5, benign, loss),
            "expected_cost": _expected_cost(p > threshold, p, loss),
            "least_expected_cost_elsewhere": min(_expected_cost(p > c, p, loss) for c in cuts),
        }
        rows += metric_rows(DOUBT, "breast_cancer", "BayesDecision", values, miss=cost)
        arrays[f"cost_{cost:g}"] = np.array([_mean_cost(p > cut, benign, loss) for cut in cuts])
    return StepResult(rows, arrays)


def _mean_cost(decided: Any, benign: Any, loss: Matrix) -> float:
    return float(loss[benign.astype(int), decided.astype(int)].mean())


def _expected_cost(decided: Any, p: Vector, loss: Matrix) -> float:
    """Mean loss if the probabilities were correct."""
    return float((p * loss[1, decided.astype(int)] + (1 - p) * loss[0, decided.astype(int)]).mean())


def _leave_data(context: RunContext) -> StepResult:
    """From the middle of two small clouds along a line that slowly leaves the boundary."""
    rng = generator(context, 9)
    X = np.vstack([rng.normal([at, 0.0], 1.0, (PER_CLASS, 2)) for at in (-1.0, 1.0)])
    y = np.repeat([0, 1], PER_CLASS)  # the clouds overlap, so maximum likelihood exists
    models = {name: model.fit(X, y) for name, model in _estimates().items()}
    w, _ = boundary(models["MAP"])
    across = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    way = np.cos(np.radians(75)) * w / np.linalg.norm(w) + np.sin(np.radians(75)) * across
    middle = X.mean(axis=0)
    row = partial(metric_rows, DOUBT, "two small clouds")
    rows: list[Row] = []
    for name, model in models.items():
        for distance in DISTANCES:
            p = model.predict_proba([middle + distance * way])[0, 1]
            rows += row(name, {"probability": p}, away=distance)
    rows += row("Bayes", {"limit": _bayes_limit(models["Bayes"], way)})
    grid = 80 if is_quick(context) else 160
    side, away = np.linspace(-12.0, 12.0, grid), np.linspace(0.0, 40.0, 161)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    arrays = {"X": X, "codes": y, "side": side, "middle": middle, "way": way, "away": away}
    for name, model in models.items():
        arrays[f"{name}_plane"] = model.predict_proba(plane)[:, 1].reshape(grid, grid)
        arrays[f"{name}_way"] = model.predict_proba(middle + away[:, None] * way)[:, 1]
    return StepResult(rows, arrays)


def _estimates() -> dict[str, Any]:
    make = partial(LogisticRegression, tol=1e-10)
    return {
        "MLE": make(C=np.inf),
        "MAP": make(C=1.0),
        "Bayes": make(C=1.0, posterior="laplace"),
        QUADRATURE: make(C=1.0, posterior="laplace", predictive="quadrature"),
    }


def _bayes_limit(model: Any, way: Vector) -> float:
    """The limit of the probability: mean and sd of the score grow alike, so their ratio converges."""
    w, _ = boundary(model)
    variance = way @ model.covariance_[:2, :2] @ way
    return float(expit((w @ way) / np.sqrt(np.pi * variance / 8)))


def _sigmoid_rows() -> list[Row]:
    rows: list[Row] = []
    for m, v, exact, formula in SIGMOID_MEANS:
        mean, variance = np.array([m]), np.array([v])
        for name, function, published in (
            ("exact", mean_sigmoid, exact),
            ("MacKay", mackay, formula),
        ):
            values = {"mean_sigmoid": function(mean, variance)[0], "published": published}
            rows += metric_rows(DOUBT, "", name, values, mean=m, variance=v)
    return rows


def doubt_section(results: Results) -> Section:
    """Thresholds by cost, and probabilities far from the data."""
    value = partial(single_value, results, DOUBT)
    last = {name: value("probability", name, away=DISTANCES[-1]) for name in ESTIMATES}
    words = [
        "The decision depends on costs. If calling a tumour benign costs c false alarms, benign is decided "
        "above c / (c + 1). By the model's own probabilities no other threshold is cheaper; on other data "
        "the best one is near it if the probabilities are well calibrated.",
        "Far from the data a linear score grows without bound, so maximum likelihood and weights with a "
        f"prior become certain: {last['MLE']:.4f} and {last['MAP']:.4f}. The mean over all weights that "
        "the data allow does not: the uncertainty of the score grows with the score, and the probability "
        f"stays at {last['Bayes']:.3f}.",
    ]
    rows = [
        [mean, variance]
        + [
            f"{value(metric, name, mean=mean, variance=variance):.5f}"
            for name in ("exact", "MacKay")
            for metric in ("mean_sigmoid", "published")
        ]
        for mean, variance, _, _ in SIGMOID_MEANS
    ]
    table = Table(
        ("mean", "variance", "exact", "published", "MacKay's formula", "published value"),
        rows,
        "The mean of the sigmoid of a normal score: by quadrature, and by MacKay's formula.",
    )
    shows: Shows = [_draw_costs(results), _draw_planes(results), _draw_distances(results), table]
    return Section("9 · Costs, and doubt", words, shows)


def _draw_costs(results: Results) -> Picture:
    value = partial(single_value, results, DOUBT)
    found = results.arrays[DOUBT]
    figure, axes = panel_figure(3.4)
    for cost, color, style in zip(
        COSTS, (COLOURS[0], COLOURS[1], COLOURS[4]), STYLES, strict=False
    ):
        line_style = {"color": color, "linestyle": style}
        label = f"a miss costs {cost:g}"
        axes.plot(found["cuts"], found[f"cost_{cost:g}"], lw=1.8, label=label, **line_style)
        axes.axvline(value("threshold", miss=cost), linewidth=1, **line_style)
    axes.set(xlabel="threshold on the probability of benign", ylabel="mean cost, test rows")
    axes.set(yscale="log", xlim=(0, 1))
    legend_below(figure, axes, 3)
    columns = {
        "threshold": "threshold",
        "mean_cost": "mean cost at it",
        "mean_cost_at_half": "at 0.5",
        "expected_cost": "expected at it",
        "least_expected_cost_elsewhere": "least expected on 199 others",
    }
    rows = [[cost, *(value(metric, miss=cost) for metric in columns)] for cost in COSTS]
    caption = (
        "Mean cost on the test rows against the threshold, for three costs of a missed tumour in false "
        "alarms. Vertical lines: the threshold of each cost."
    )
    return Picture(figure, caption, Table(("cost of a miss", *columns.values()), rows))


def _draw_planes(results: Results) -> Picture:
    found = results.arrays[DOUBT]
    figure, panels = panel_figure(2.75, 1, 3, sharex=True, sharey=True)
    side, middle, shares = found["side"], found["middle"], []
    filled: Any = None
    arrow = {"arrowstyle": "->", "color": INK, "lw": 1.4}
    for axes, (name, words) in zip(panels, ESTIMATES.items(), strict=True):
        p = found[f"{name}_plane"]
        filled = axes.contourf(side, side, p, levels=LEVELS, cmap="PuOr_r", vmin=-0.2, vmax=1.2)
        axes.contour(side, side, p, levels=[0.5], colors=INK, linewidths=1)
        draw_samples(axes, found["X"], found["codes"])
        axes.annotate("", middle + 11 * found["way"], middle, arrowprops=arrow)
        axes.set_title(f"{name}\n{words}", fontsize=9.5)
        axes.set_aspect("equal")
        axes.set_xticks([-10, 0, 10])
        areas = [100 * float(np.mean(np.abs(p - 0.5) > d)) for d in (0.25, 0.45, 0.49)]
        shares.append([name, *areas])
    line_style: dict[str, Any] = {"orientation": "horizontal", "shrink": 0.8, "aspect": 40}
    figure.colorbar(filled, ax=panels, label="probability of the squares", **line_style)
    caption = (
        "Probability over the plane around 30 samples. With maximum likelihood and with a prior it is near "
        "0 or 1 almost everywhere; in the mean over weights, bands open like a fan. Arrow: the line of the "
        "next figure."
    )
    columns = ("", "area % beyond 0.25 and 0.75", "beyond 0.05 and 0.95", "beyond 0.01 and 0.99")
    return Picture(figure, caption, Table(columns, shares))


def _draw_distances(results: Results) -> Picture:
    value = partial(single_value, results, DOUBT)
    found = results.arrays[DOUBT]
    figure, axes = panel_figure(3.2)
    names = (*ESTIMATES, QUADRATURE)
    colors = (COLOURS[4], COLOURS[1], COLOURS[0], INK)
    for name, color, style in zip(names, colors, STYLES, strict=False):
        line_style = {"color": color, "linestyle": style, "linewidth": 1.8}
        axes.plot(found["away"], found[f"{name}_way"], label=name, **line_style)
    limit = value("limit")
    axes.axhline(limit, color=GREY, linewidth=0.8)
    axes.text(40, limit - 0.015, "limit of Bayes", ha="right", va="top", fontsize=9)
    axes.set(xlabel="distance from the middle of the data", ylabel="probability of the squares")
    axes.set(xlim=(0, 40), ylim=(0.4, 1.02))
    legend_below(figure, axes, 2)
    rows = [[d, *(value("probability", name, away=d) for name in names)] for d in DISTANCES]
    caption = "Along a line out of the data: two become certain, the mean over weights does not."
    return Picture(figure, caption, Table(("distance", *names), rows))
