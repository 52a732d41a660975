"""Parts 4 to 6: least squares on one-hot targets, ridge and norm constraint, Fisher's ratio."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix import FisherDiscriminant, LeastSquaresClassifier
from separatrix.experiments.steps import Results, Row, RunContext, StepResult, metric_rows
from separatrix.plots.figures import COLOURS, INK, MARKERS, write_cells
from separatrix.report.page import Picture, Section, Table
from separatrix.studies.linear import figures, samples
from separatrix.studies.linear.samples import FEATURES, SPECIES
from separatrix.studies.views import largest_value, row_params, single_value
from separatrix.types import Codes, Vector

ONE_HOT = "4 one-hot targets"
RIDGE = "5 ridge"
FISHER = "6 Fisher's ratio"
DIRECTIONS = 1000
LEFT_OUT = ("squared_length", "ridge_of_limit", "squared_error_left_out", "error_left_out")


def fit_one_hot(context: RunContext) -> StepResult:
    """One column of targets for each class gives W, (d + 1) x K; the largest score decides."""
    X, y, names = samples.all_features(context)
    model = LeastSquaresClassifier().fit(X, y)
    W = np.vstack([model.intercept_, model.coef_.T])
    if (
        W.shape[1] == 1
    ):  # of two classes: the targets -1 and +1 are a linear function of one-hot ones
        W = np.hstack([-W, W]) / 2
        W[0] += 0.5
    ones = np.column_stack([np.ones(len(X)), X])
    targets = np.eye(len(names))[y]
    S = ones @ W
    features = ("bias", *samples.feature_names(context))
    label = samples.data_label(context, samples.IRIS)
    row = partial(metric_rows, ONE_HOT, label, "LeastSquaresClassifier")
    rows: list[Row] = []
    for (i, k), weight in np.ndenumerate(W):
        rows += row({"weight": weight}, feature=features[i], kind=names[k])
    values = {
        "rows_of_W": W.shape[0],
        "columns_of_W": W.shape[1],
        "off_normal_equations": np.abs(ones.T @ (targets - S)).max(),
        "off_sum_of_scores": np.abs(S.sum(axis=1) - 1.0).max(),
        "argmax_agrees": np.mean(S.argmax(axis=1) == model.predict(X)),
    }
    rows += row(values)
    for k, name in enumerate(names):
        rows += row({"correct": np.mean(model.predict(X[y == k]) == k)}, kind=name)
    return StepResult(rows, {"W": W, "scores": S, "codes": y})


def fit_ridges(context: RunContext) -> StepResult:
    """Every ridge solution meets its closed form, and |w|^2 <= C finds the same ridge."""
    X, y, _ = samples.last_two_classes(samples.all_features(context))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    side = 2.0 * y - 1.0
    ridges = np.logspace(-2, 4, 13 if samples.is_quick(context) else 31)
    left_out = LeastSquaresClassifier(ridge=ridges).fit(Z, y).loo_
    rows, weights = [], []
    for i, strength in enumerate(ridges.tolist()):
        w, bias = samples.boundary(LeastSquaresClassifier(ridge=strength).fit(Z, y))
        weights.append(w)
        limit = float(w @ w)
        bound = LeastSquaresClassifier(max_norm=limit).fit(Z, y)
        closed = np.linalg.solve(Z.T @ Z + strength * np.eye(len(w)), Z.T @ (side - bias))
        values = {
            "squared_length": limit,
            "off_closed_form": np.abs(w - closed).max(),
            "off_bias": abs(bias - np.mean(side - Z @ w)),
            "ridge_of_limit": bound.ridge_[0],
            "off_weights_of_limit": np.abs(bound.coef_[0] - w).max(),
            "squared_error_left_out": left_out.squared_error[i],
            "error_left_out": left_out.error[i],
        }
        model = "LeastSquaresClassifier"
        label = samples.data_label(context, "iris, two kinds")
        rows += metric_rows(RIDGE, label, model, values, ridge=strength)
    return StepResult(rows, {"ridges": ridges, "weights": np.array(weights)})


def compare_directions(context: RunContext) -> StepResult:
    """No direction has a larger ratio of scatters than Fisher's."""
    X, y, _ = species = samples.all_features(context)
    model = FisherDiscriminant().fit(X, y)
    axis = model.axes_[:, 0]
    directions = samples.generator(context, 6).normal(size=(DIRECTIONS, X.shape[1]))
    ratios = np.array([_scatter_ratio(X @ a, y) for a in directions])
    component = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    median = directions[np.argsort(ratios)[len(ratios) // 2]]
    z = X @ axis
    # without the square the between-class sum vanishes along every direction
    unsquared = abs(np.bincount(y) @ (_class_means(z, y) - z.mean()))
    values: dict[str, dict[str, Any]] = {
        "Fisher": {"ratio": _scatter_ratio(z, y), "ratio_of_model": model.scatter_ratio_[0]},
        "random directions": {
            "largest_ratio": ratios.max(),
            "median_ratio": np.median(ratios),
            "directions": len(ratios),
        },
        "principal component": {"ratio": _scatter_ratio(X @ component, y)},
        "without the square": {"between": unsquared},
        "Fisher, two kinds": {
            "degrees_from_formula": _off_formula(samples.last_two_classes(species))
        },
    }
    label = samples.data_label(context, samples.IRIS)
    rows = [row for name, own in values.items() for row in metric_rows(FISHER, label, name, own)]
    projections = {
        name: X @ (a / np.linalg.norm(a))
        for name, a in (("fisher", axis), ("principal", component), ("random", median))
    }
    return StepResult(rows, {"ratios": ratios, "codes": y, **projections})


def _class_means(z: Vector, y: Codes) -> Vector:
    return np.bincount(y, weights=z) / np.bincount(y)


def _scatter_ratio(z: Vector, y: Codes) -> float:
    """sum_k n_k (mu_k - mu)^2 over sum_k sum_i (z_i - mu_k)^2, along one direction."""
    means = _class_means(z, y)
    between = np.bincount(y) @ (means - z.mean()) ** 2
    return float(between / np.sum((z - means[y]) ** 2))


def _off_formula(own: samples.ClassSamples) -> float:
    """Degrees between Fisher's axis of two classes and S_w^-1 (m_2 - m_1)."""
    X, y, _ = own
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    within: Any = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in (0, 1))
    axis = FisherDiscriminant().fit(X, y).axes_[:, 0]
    return samples.angle_between(axis, np.linalg.solve(within, means[1] - means[0]))


def one_hot_section(results: Results) -> Section:
    """W as a heat map, and the scores it gives."""
    value = partial(single_value, results, ONE_HOT)
    setosa, versicolor, virginica = (100 * value("correct", kind=name) for name in SPECIES)
    words = [
        "Each class has a column of targets, 1 for its samples and 0 for all others. Least squares gives "
        "W, (d + 1) x K, here 5 x 3. A sample is predicted as the class with the largest score.",
        f"Targets sum to 1 for every sample, and so do scores, to {value('off_sum_of_scores'):.0e}; W "
        f"satisfies its normal equations to {value('off_normal_equations'):.0e}.",
        f"The middle class suffers: {versicolor:.0f} % of versicolor are right, against {setosa:.0f} % and "
        f"{virginica:.0f} %. No linear function is high only in the middle.",
    ]
    return Section("4 · One-hot targets", words, [_draw_matrix(results), _draw_scores(results)])


def _draw_matrix(results: Results) -> Picture:
    W = results.arrays[ONE_HOT]["W"]
    names = ("bias", *FEATURES)
    figure, axes = figures.panel_figure(2.9)
    most = float(np.abs(W).max())
    axes.imshow(W, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    write_cells(
        axes, [[f"{w:+.3f}" for w in row] for row in W], np.abs(W) > 0.6 * most, fontsize=10
    )
    axes.set_xticks(range(3), SPECIES)
    axes.set_yticks(range(5), names)
    axes.tick_params(length=0)
    caption = "W for iris: rows are the bias and the features in cm, columns the species."
    rows = [[name, *W[i].tolist()] for i, name in enumerate(names)]
    return Picture(figure, caption, Table(("", *SPECIES), rows))


def _draw_scores(results: Results) -> Picture:
    found = results.arrays[ONE_HOT]
    S, y = found["scores"], found["codes"]
    figure, axes = figures.panel_figure(3.0)
    for k, name in enumerate(SPECIES):
        axes.plot(S[:, k], marker=MARKERS[k], ms=3.5, linestyle="", color=COLOURS[k])
        axes.text(24.5 + 50 * k, 1.42, f"flowers: {name}", ha="center", fontsize=9)
    for edge in (50, 100):
        axes.axvline(edge - 0.5, color=figures.GREY, linewidth=0.8)
    axes.set(xlabel="flower", ylabel="score", ylim=(-0.75, 1.6), xlim=(-2, 151))
    figures.open_frame(axes)
    figures.class_legend(figure, [f"score of {name}" for name in SPECIES])
    means = [[name, *S[y == c].mean(axis=0).tolist()] for c, name in enumerate(SPECIES)]
    caption = "Three scores of every flower. That of versicolor is nearly flat, below the others."
    return Picture(figure, caption, Table(("mean score of", *SPECIES), means))


def ridge_section(results: Results) -> Section:
    """Weights against the ridge, and the norm constraint with the same solutions."""
    ridges, weights = (results.arrays[RIDGE][name] for name in ("ridges", "weights"))
    values = {metric: results.values(part=RIDGE, metric=metric) for metric in LEFT_OUT}
    squared_error = values["squared_error_left_out"]
    best = int(np.argmin(squared_error))
    rows = [[*map(float, row)] for row in np.column_stack([ridges, weights, *values.values()])]
    table = Table(
        ("λ", *FEATURES, "|w|²", "λ from C", "squared error left out", "error left out"), rows
    )
    words = [
        "With a ridge λ on |w|², w = (XX' + λI)⁻¹ X(y - w0) and w0 is the mean of y - <w, x>. The fitted "
        f"weights satisfy this to {largest_value(results, RIDGE, 'off_closed_form'):.0e} at every λ.",
        "The constraint |w|² ≤ C is equivalent. Given the squared norm of each ridge solution as C, the "
        f"secular equation finds its λ again, to {ridge_difference(results):.0e} of it.",
        f"In leave-one-out, λ = {ridges[best]:.3g} has the smallest squared error, "
        f"{squared_error[best]:.3f}.",
    ]
    caption = (
        "Above: four weights against the ridge. Below: their squared norm, with the ridge given and with "
        "the norm given."
    )
    picture = Picture(_draw_ridges(ridges, weights, values), caption, table)
    return Section("5 · Regularised least squares", words, [picture])


def _draw_ridges(ridges: Any, weights: Any, values: dict[str, Any]) -> Any:
    figure, (above, below) = figures.panel_figure(5.2, 2, 1, sharex=True, height_ratios=(3, 2))
    for j, name in enumerate(FEATURES):
        line_style = {"color": COLOURS[j], "linestyle": figures.STYLES[j], "linewidth": 1.8}
        above.plot(ridges, weights[:, j], label=name, **line_style)
    above.axhline(0, color=figures.GREY, linewidth=0.6)
    above.set_ylabel("weight, features scaled to 1")
    below.plot(ridges, values["squared_length"], color=INK, label="ridge given")
    line_style = {"ms": 5, "mfc": "none", "color": COLOURS[4], "label": "limit given, ridge found"}
    below.plot(values["ridge_of_limit"], values["squared_length"], "o", **line_style)
    below.set(xscale="log", xlabel="ridge λ", ylabel="|w|²")
    below.legend(frameon=False, fontsize=9)
    figures.open_frame(below)
    figures.legend_below(figure, above, 2)
    return figure


def ridge_difference(results: Results) -> float:
    """Largest relative difference between a ridge and the one found from its norm."""
    found = results.where(part=RIDGE, metric="ridge_of_limit")
    return max(float(abs(row.value / row_params(row)["ridge"] - 1)) for row in found)


def fisher_section(results: Results) -> Section:
    """Fisher's ratio among random ones, and samples projected on the directions."""
    value = partial(single_value, results, FISHER)
    best, component = (value("ratio", name) for name in ("Fisher", "principal component"))
    ratios = results.arrays[FISHER]["ratios"]
    figure, axes = figures.panel_figure(2.9)
    axes.hist(ratios, bins=40, color=COLOURS[5], edgecolor="white", linewidth=0.4)
    top = 0.97 * axes.get_ylim()[1]
    for at, label, style in ((best, "Fisher", "-"), (component, "principal component", "--")):
        axes.axvline(at, color=INK, linestyle=style, linewidth=1.6)
        axes.text(at - 0.5, top, f"{label}\n{at:.2f}", ha="right", va="top", fontsize=9)
    axes.set(xlabel="scatter between classes / scatter within them", ylabel="directions")
    axes.set_xlim(-0.5, 33.5)
    figures.open_frame(axes)
    counts, edges = np.histogram(ratios, bins=np.arange(0, 36, 4))
    rows = [
        [f"{a:.0f} to {b:.0f}", int(n)] for a, b, n in zip(edges, edges[1:], counts, strict=False)
    ]
    words = [
        "Along a direction, divide the scatter of class means, sum of n_k (mu_k - mu)², by the scatter "
        "within classes. Fisher's axis maximises this ratio.",
        f"It is {best:.2f} for iris. Of {value('directions'):.0f} random directions the best has "
        f"{value('largest_ratio'):.2f} and the median {value('median_ratio'):.2f}; the direction of "
        f"largest variance has {component:.2f}.",
        "The square matters: without it the sum is 0 along every direction "
        f"({value('between'):.0e} here).",
    ]
    caption = "Ratios of 1,000 random directions, with Fisher's axis and the principal component."
    picture = Picture(figure, caption, Table(("ratio", "random directions"), rows))
    return Section("6 · Fisher's ratio", words, [picture, _draw_projections(results)])


def _draw_projections(results: Results) -> Picture:
    found = results.arrays[FISHER]
    names = {"fisher": "Fisher's axis", "principal": "largest variance", "random": "random, median"}
    figure, panels = figures.panel_figure(4.2, 3, 1)
    line_style: dict[str, Any] = {"stacked": True, "color": COLOURS[:3], "edgecolor": "white"}
    rows = []
    for axes, (key, name) in zip(panels, names.items(), strict=True):
        z = (found[key] - found[key].mean()) / found[key].std()
        own = [z[found["codes"] == k] for k in range(3)]
        axes.hist(own, bins=np.linspace(-2.6, 2.6, 53).tolist(), linewidth=0.3, **line_style)
        axes.set_title(name, fontsize=9.5, loc="left")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        for species, values in zip(SPECIES, own, strict=True):
            rows.append([name, species, float(values.mean()), float(values.std())])
    figures.open_frame(*panels)
    panels[-1].set_xlabel("projection on the direction, in standard deviations")
    figures.class_legend(figure, SPECIES)
    caption = "All flowers on three directions. Classes are narrow and far apart on Fisher's axis."
    return Picture(figure, caption, Table(("direction", "species", "mean", "deviation"), rows))
