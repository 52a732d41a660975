"""Parts 1, 2 and 10: signed distance, the regions of four multi-class rules, and softmax."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from separatrix.estimators.discriminant import LinearDiscriminantAnalysis
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.evaluation.regions import decision_regions
from separatrix.evaluation.rules import RULES
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS, INK
from separatrix.report.page import Picture, Section, Table
from separatrix.studies.linear import figures, samples
from separatrix.studies.linear.samples import PETALS, SPECIES
from separatrix.studies.views import largest_value, metric_values, single_value
from separatrix.types import Matrix

DISTANCE = "1 signed distance"
REGIONS = "2 regions"
PLANAR = "iris petals, two kinds"
SHOWN = 12  # samples with a perpendicular in the figure
RULE_NAMES = {
    "rest": "K - 1 one-vs-rest",
    "each": "K one-vs-rest",
    "pairs": "one-vs-one majority",
    "predict": "largest score",
}


def check_distances(context: RunContext) -> StepResult:
    """f / |w| of every linear model is the signed length of the perpendicular."""
    planar, all_species = (
        samples.last_two_classes(samples.two_features(context)),
        samples.all_features(context),
    )
    whole = samples.data_label(context, samples.IRIS)
    two = PLANAR if whole == samples.IRIS else f"{whole}, two classes"
    rows: list[Row] = []
    for name, model in _models().items():
        rows += _check_model(name, two, model.fit(planar.X, planar.y), planar)
        rows += _check_model(name, whole, model.fit(all_species.X, all_species.y), all_species)
    shown = _models()["LinearSVC"].fit(planar.X, planar.y)
    w, bias = samples.boundary(shown)
    away = shown.signed_distance(planar.X)
    order = np.argsort(away)
    picked = order[np.linspace(0, len(order) - 1, SHOWN).round().astype(int)]
    feet = planar.X - away[:, None] * w / np.linalg.norm(w)
    for i in picked.tolist():
        rows += metric_rows(DISTANCE, two, "LinearSVC", {"distance": away[i]}, sample=i)
    arrays = {"X": planar.X, "codes": planar.y, "weights": w, "bias": np.array([bias])}
    return StepResult(rows, {**arrays, "picked": picked, "feet": feet[picked], "distance": away})


def _models() -> dict[str, Any]:
    models = (
        LeastSquaresClassifier(),
        LogisticRegression(),
        LinearSVC(C=10.0, tol=1e-8),
        LinearDiscriminantAnalysis(),
    )
    return {type(model).__name__: model for model in models}


def _check_model(name: str, data: str, model: Any, own: samples.ClassSamples) -> list[Row]:
    """Differences of the distance from its formula, and of its foot from the boundary."""
    X, W, b = own.X, np.asarray(model.coef_), np.ravel(model.intercept_)
    away = model.signed_distance(X).reshape(len(X), -1)
    lengths = np.linalg.norm(W, axis=1)
    scores = model.decision_function(X).reshape(away.shape)
    feet = X[:, None] - (away / lengths)[:, :, None] * W  # (n, p, d)
    at_feet = np.einsum("npd,pd->np", feet, W) + b
    lines = np.linalg.norm(X[:, None] - feet, axis=2)
    side = away[:, 0] > 0 if away.shape[1] == 1 else scores.argmax(axis=1)
    values = {
        "length_of_w": lengths[-1],
        "origin_distance": b[-1] / lengths[-1],
        "off_formula": np.abs(away - scores / lengths).max(),
        "off_boundary_at_foot": np.abs(at_feet / lengths).max(),
        "off_perpendicular": np.abs(lines - np.abs(away)).max(),
        "sign_is_the_class": np.mean(side == model.predict(X)),
    }
    return metric_rows(DISTANCE, data, name, values)


def map_regions(context: RunContext) -> StepResult:
    """Rules that combine binary decisions leave points without a class; argmax does not."""
    X, y, names = samples.two_features(context)
    labels = np.array(names)[y]
    row = partial(metric_rows, REGIONS, samples.data_label(context, "iris petals"), "LinearSVC")
    rows: list[Row] = []
    arrays: dict[str, Any] = {"X": X, "codes": y}
    for rule in RULES:
        found = decision_regions(
            LinearSVC(tol=1e-8), X, labels, rule=rule, grid=samples.grid_size(context)
        )
        for label, share in found.share.items():
            region = "indeterminate" if label is None else label
            rows += row({"area_share": share}, region=region, rule=rule)
        rows += row({"boundaries": len(found.fields)}, rule=rule)
        arrays |= figures.region_arrays(found, f"{rule}_")
    return StepResult(rows, arrays)


def distance_section(results: Results) -> Section:
    """Samples with their perpendiculars."""
    checks = ("length_of_w", "origin_distance", "off_formula", "off_perpendicular")
    rows = []
    for row in results.where(part=DISTANCE, data=PLANAR, metric="length_of_w"):
        values = metric_values(results, part=DISTANCE, data=PLANAR, model=row.model)
        rows.append([row.model, *(values[m] for m in (*checks, "sign_is_the_class"))])
    table = Table(
        ("model", "|w|", "origin", "off f/|w|", "off perpendicular", "right side"),
        rows,
        "Two species of iris by their petals, 100 flowers. Origin: its signed distance, cm. Off: largest "
        "difference over all flowers. Right side: share whose sign agrees with the predicted class.",
    )
    words = [
        "A linear function f(x) = <w, x> + w0 is 0 on its boundary. f(x) / |w| is the signed distance of "
        "x to it. Every linear model has it as signed_distance.",
        "From each sample, a step back by its distance along w must end on the boundary. It does, to "
        f"{largest_value(results, DISTANCE, 'off_boundary_at_foot'):.0e}, for every model, in two "
        "dimensions and in four.",
    ]
    return Section("1 · Signed distance", words, [_draw_perpendiculars(results), table])


def _draw_perpendiculars(results: Results) -> Picture:
    found = results.arrays[DISTANCE]
    X, codes, w, (bias,) = found["X"], found["codes"], found["weights"], found["bias"]
    picked, away = found["picked"], found["distance"]
    figure, axes = figures.panel_figure(3.1)
    for row, foot in zip(picked, found["feet"], strict=True):
        axes.plot(*zip(X[row], foot, strict=True), color=INK, linewidth=1.1, zorder=2.5)
    figures.draw_samples(axes, X, codes)
    axes.axline((0.0, -bias / w[1]), slope=-w[0] / w[1], color=INK, linewidth=1.6, zorder=2)
    for row, shift, edge in ((picked[0], -3, "right"), (picked[-1], 0, "center")):
        line_style = {"textcoords": "offset points", "fontsize": 9, "ha": edge}
        axes.annotate(f"{away[row]:+.2f} cm", X[row], (shift, 6), **line_style)
    axes.set_aspect("equal")
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1], xlim=(2.3, 7.4), ylim=(0.7, 2.75))
    figures.class_legend(figure, SPECIES[1:])
    table = Table(
        ("flower", "species", "length, cm", "width, cm", "signed distance, cm"),
        [[int(i) + 50, SPECIES[codes[i] + 1], *X[i].tolist(), float(away[i])] for i in picked],
    )
    caption = (
        "The boundary of a linear SVM and the perpendiculars of twelve flowers, from the furthest on one "
        "side to the furthest on the other. Both axes have the same scale."
    )
    return Picture(figure, caption, table)


def regions_section(results: Results) -> Section:
    """One panel for each rule."""
    value = partial(single_value, results, REGIONS)
    found = results.arrays[REGIONS]
    figure, panels = figures.panel_figure(5.4, 2, 2, sharex=True, sharey=True)
    rows = []
    for axes, (rule, name) in zip(panels.flat, RULE_NAMES.items(), strict=True):
        figures.draw_regions(axes, found, f"{rule}_", SPECIES, rule)
        regions = (*SPECIES, "indeterminate")
        shares = [100 * value("area_share", region=region, rule=rule) for region in regions]
        axes.set_title(f"{name}\n{shares[-1]:.1f} % without a class", fontsize=9.5)
        rows.append([name, int(value("boundaries", rule=rule)), *shares])
    figures.name_outer_axes(panels, PETALS)
    figures.class_legend(figure, SPECIES, nowhere=True)
    rest, each, pairs, largest = (row[-1] for row in rows)
    words = [
        "Two classes need one boundary. With K classes binary decisions must be combined, and common "
        "rules are inconsistent in some regions: two classes claim a point, or none does, or each has "
        "one vote.",
        f"The largest of K scores never is. It leaves {largest:g} % of the area without a class, the "
        f"others {rest:.1f} %, {each:.1f} % and {pairs:.1f} %.",
    ]
    columns = ("rule", "boundaries", *(f"{name} %" for name in SPECIES), "no class %")
    caption = (
        "Iris by its petals under four rules for the same SVM. Hatched: points without a class."
    )
    return Section("2 · Regions", words, [Picture(figure, caption, Table(columns, rows))])


SOFTMAX = "10 softmax"
SHIFTS = (-1000.0, 1.0, 1000.0)


def check_softmax(context: RunContext) -> StepResult:
    """Probabilities of three classes, and what leaves them unchanged."""
    X, y, names = samples.two_features(context)
    labels = np.array(names)[y]
    model = LogisticRegression(C=10.0, tol=1e-8).fit(X, labels)
    found = decision_regions(model, X, labels, grid=samples.grid_size(context))
    points = np.stack(np.meshgrid(found.first, found.second), axis=-1).reshape(-1, 2)
    P, S = model.predict_proba(points), model.decision_function(points)
    length = np.linspace(X[:, 0].min() - 0.5, X[:, 0].max() + 0.6, 141)
    width = np.polyval(np.polyfit(X[:, 0], X[:, 1], 1), length)
    if S.ndim == 1:
        S = np.column_stack([-S / 2, S / 2])
    own = samples.last_two_classes(samples.ClassSamples(X, y, names))
    two = LogisticRegression(C=10.0, tol=1e-8).fit(own.X, own.y)
    values = {
        "off_sum": np.abs(P.sum(axis=1) - 1.0).max(),
        "off_softmax_of_scores": np.abs(P - softmax(S, axis=1)).max(),
        "argmax_agrees": np.mean(P.argmax(axis=1) == found.codes.ravel()),
        "off_other_weights": np.abs(_shift_weights(model).predict_proba(points) - P).max(),
        "off_sigmoid_of_two": _off_sigmoid(two, points),
        "gradient": model.gradient_,
        "indeterminate_share": found.indeterminate,
    }
    label = samples.data_label(context, "iris petals")
    row = partial(metric_rows, SOFTMAX, label, "LogisticRegression")
    rows = row(values)
    for shift in SHIFTS:
        off = np.abs(softmax(S + shift, axis=1) - P).max()
        rows += row({"off_shifted_scores": off}, shift=shift)
    for name in names:
        rows += row({"area_share": found.share[name]}, region=name)
    arrays = {
        "X": X,
        "codes": y,
        **figures.region_arrays(found, "region_"),
        "largest": P.max(axis=1).reshape(found.codes.shape).astype(np.float32),
        "length": length,
        "width": width,
        "shares": model.predict_proba(np.column_stack([length, width])),
    }
    return StepResult(rows, arrays)


def _shift_weights(model: Any) -> Any:
    """The model with one vector added to the weights of every class, which changes no probability."""
    other = copy.deepcopy(model)
    if len(model.coef_) > 1:  # of two classes the one vector is a difference already
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
    figure, axes = figures.panel_figure(3.6)
    figures.draw_regions(axes, found, "region_", SPECIES)
    line_style = {
        "levels": [0.6, 0.95],
        "colors": figures.GREY,
        "linewidths": 0.9,
        "linestyles": [":", "-"],
    }
    lines = axes.contour(found["first"], found["second"], found["largest"], **line_style)
    axes.clabel(lines, fmt="%.2g", fontsize=8)
    axes.plot(found["length"], found["width"], color=INK, linewidth=1.2, linestyle=(0, (6, 2)))
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1])
    figures.class_legend(figure, SPECIES)
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
    figure, axes = figures.panel_figure(2.9)
    for k, name in enumerate(SPECIES):
        axes.plot(
            length, shares[:, k], color=COLOURS[k], linestyle=figures.STYLES[k], lw=2, label=name
        )
    axes.plot(length, shares.sum(axis=1), color=figures.GREY, linewidth=1, label="sum")
    axes.set(xlabel=f"{PETALS[0]}, along the line", ylabel="probability", ylim=(-0.03, 1.06))
    figures.legend_below(figure, axes, 4)
    rows = [
        [float(length[i]), *shares[i].tolist(), float(shares[i].sum())] for i in range(0, 141, 20)
    ]
    caption = "The three probabilities along the line through the flowers, and their sum."
    return Picture(figure, caption, Table((PETALS[0], *SPECIES, "sum"), rows))
