"""Parts 4 to 6 of the page: the matrix of one-hot targets, ridges, and Fisher's ratio."""

from __future__ import annotations

import json

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK
from separatrix.plots.region_figures import COLOURS, MARKERS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    GREY,
    KINDS,
    STYLES,
    class_legend,
    figure_of,
    largest,
    legend_below,
    number,
    open_frame,
    rows_of,
)
from separatrix.studies.linear_steps.samples import MEASURES
from separatrix.studies.linear_steps.squares import FISHER, ONE_HOT, RIDGE


def one_hot(results: Results) -> Section:
    """W as a table of colours, and the scores it gives."""
    correct = [100 * number(results, ONE_HOT, "correct", kind=kind) for kind in KINDS]
    return Section(
        "4 · One-hot targets",
        [
            "Each class has its own column of targets, 1 for its samples and 0 for all others. "
            "Least squares then gives W, (d + 1) x K: here 5 x 3. A sample goes to the class of "
            "its largest score.",
            "Targets sum to 1 for every sample, and so do scores, to "
            f"{number(results, ONE_HOT, 'off_sum_of_scores'):.0e}; W meets its normal equations "
            f"to {number(results, ONE_HOT, 'off_normal_equations'):.0e}.",
            f"The class in the middle suffers: {correct[1]:.0f} % of versicolor are right, "
            f"against {correct[0]:.0f} % and {correct[2]:.0f} %. No straight line is high in the "
            "middle only.",
        ],
        [_matrix(results), _scores(results)],
    )


def _matrix(results: Results) -> Picture:
    W = results.arrays[ONE_HOT]["W"]
    names = ("bias", *MEASURES)
    figure, axes = figure_of(2.9)
    most = float(np.abs(W).max())
    axes.imshow(W, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    for (i, k), value in np.ndenumerate(W):
        ink = "white" if abs(value) > 0.6 * most else INK
        axes.text(k, i, f"{value:+.3f}", ha="center", va="center", color=ink)
    axes.set_xticks(range(3), KINDS)
    axes.set_yticks(range(5), names)
    axes.tick_params(length=0)
    caption = "W for iris: a row for the bias and for each measure in cm, a column for each kind."
    rows = [[name, *W[i].tolist()] for i, name in enumerate(names)]
    return Picture(figure, caption, Table(("", *KINDS), rows))


def _scores(results: Results) -> Picture:
    found = results.arrays[ONE_HOT]
    S, y = found["scores"], found["codes"]
    figure, axes = figure_of(3.0)
    for k in range(3):
        axes.plot(S[:, k], marker=MARKERS[k], ms=3.5, linestyle="", color=COLOURS[k])
    for edge in (50, 100):
        axes.axvline(edge - 0.5, color=GREY, linewidth=0.8)
    for k, kind in enumerate(KINDS):
        axes.text(24.5 + 50 * k, 1.42, f"flowers: {kind}", ha="center", fontsize=9)
    axes.set(xlabel="flower", ylabel="score", ylim=(-0.75, 1.6), xlim=(-2, 151))
    open_frame(axes)
    class_legend(figure, [f"score of {kind}" for kind in KINDS])
    means = [
        [kind, *(float(S[y == c, k].mean()) for k in range(3))] for c, kind in enumerate(KINDS)
    ]
    caption = (
        "Three scores of every flower. That of versicolor is nearly flat: others are above it."
    )
    return Picture(figure, caption, Table(("mean score of", *KINDS), means))


def ridge(results: Results) -> Section:
    """Weights along the ridges, and the limit that leads to the same ones."""
    found = results.arrays[RIDGE]
    ridges, weights = found["ridges"], found["weights"]
    column = {
        metric: results.values(part=RIDGE, metric=metric)
        for metric in (
            "squared_length",
            "ridge_of_limit",
            "squared_error_left_out",
            "error_left_out",
        )
    }
    figure, (above, below) = figure_of(5.2, 2, 1, sharex=True, height_ratios=(3, 2))
    for j, name in enumerate(MEASURES):
        above.plot(
            ridges, weights[:, j], color=COLOURS[j], linestyle=STYLES[j], linewidth=1.8, label=name
        )
    above.axhline(0, color=GREY, linewidth=0.6)
    above.set_ylabel("weight, features scaled to 1")
    below.plot(ridges, column["squared_length"], color=INK, label="ridge given")
    below.plot(
        column["ridge_of_limit"],
        column["squared_length"],
        "o",
        ms=5,
        mfc="none",
        color=COLOURS[4],
        label="limit given, ridge found",
    )
    below.set(xscale="log", xlabel="ridge λ", ylabel="|w|²")
    below.legend(frameon=False, fontsize=9)
    open_frame(above, below)
    legend_below(figure, above, 2)
    best = int(np.argmin(column["squared_error_left_out"]))
    rows = [
        [float(ridges[i]), *weights[i].tolist(), *(float(values[i]) for values in column.values())]
        for i in range(len(ridges))
    ]
    off = largest(results, RIDGE, "off_closed_form")
    apart = float(np.abs(column["ridge_of_limit"] / ridges - 1).max())
    return Section(
        "5 · Regularised least squares",
        [
            "With a ridge λ on |w|², w = (XX' + λI)⁻¹ X(y - w0) and w0 is the mean of y - <w, "
            f"x>. The fitted weights meet that to {off:.0e} at every λ.",
            "The same can be asked as a limit, |w|² ≤ C. Given the squared length of each ridge "
            f"solution as C, the secular equation finds its λ again, to {apart:.0e} of it.",
            f"Leaving out one flower at a time, λ = {ridges[best]:.3g} has the least squared "
            f"error, {column['squared_error_left_out'][best]:.3f}.",
        ],
        [
            Picture(
                figure,
                "Above: four weights, held more and more. Below: their squared length, once "
                "with the ridge given and once with the length given.",
                Table(
                    (
                        "λ",
                        *MEASURES,
                        "|w|²",
                        "λ from C",
                        "squared error left out",
                        "error left out",
                    ),
                    rows,
                ),
            )
        ],
    )


def fisher(results: Results) -> Section:
    """Fisher's ratio among random ones, and what samples look like along the directions."""
    best = number(results, FISHER, "ratio", "Fisher")
    random, middle = (number(results, FISHER, m) for m in ("largest_ratio", "median_ratio"))
    component = number(results, FISHER, "ratio", "principal component")
    ratios = results.arrays[FISHER]["ratios"]
    figure, axes = figure_of(2.9)
    axes.hist(ratios, bins=40, color=COLOURS[5], edgecolor="white", linewidth=0.4)
    top = axes.get_ylim()[1]
    for value, label, style in ((best, "Fisher", "-"), (component, "principal component", "--")):
        axes.axvline(value, color=INK, linestyle=style, linewidth=1.6)
        axes.text(
            value - 0.5, top * 0.97, f"{label}\n{value:.2f}", ha="right", va="top", fontsize=9
        )
    axes.set(
        xlabel="scatter between classes / scatter within them",
        ylabel="directions",
        xlim=(-0.5, 33.5),
    )
    open_frame(axes)
    counts, edges = np.histogram(ratios, bins=np.arange(0, 36, 4))
    return Section(
        "6 · Fisher's ratio",
        [
            "Along a direction, take the scatter of class means, sum of n_k (mu_k - mu)², over "
            "the scatter within classes. Fisher's axis has the largest ratio there is.",
            f"It is {best:.2f} for iris. Of {int(number(results, FISHER, 'directions'))} random "
            f"directions the best has {random:.2f} and the median {middle:.2f}; the direction of "
            f"largest variance has {component:.2f}.",
            "The square matters: without it the sum is 0 along every direction "
            f"({number(results, FISHER, 'between'):.0e} here).",
        ],
        [
            Picture(
                figure,
                "Ratios of 1,000 random directions, and where two chosen ones lie.",
                Table(
                    ("ratio", "random directions"),
                    [
                        [f"{a:.0f} to {b:.0f}", int(n)]
                        for a, b, n in zip(edges, edges[1:], counts, strict=False)
                    ],
                ),
            ),
            _along(results),
        ],
    )


def _along(results: Results) -> Picture:
    found = results.arrays[FISHER]
    names = {
        "fisher": "Fisher's axis",
        "principal": "largest variance",
        "random": "a middling random one",
    }
    figure, panels = figure_of(4.2, 3, 1)
    rows = []
    for axes, (key, name) in zip(panels, names.items(), strict=True):
        z = (found[key] - found[key].mean()) / found[key].std()
        axes.hist(
            [z[found["codes"] == k] for k in range(3)],
            bins=np.linspace(-2.6, 2.6, 53).tolist(),
            stacked=True,
            color=COLOURS[:3],
            edgecolor="white",
            linewidth=0.3,
        )
        axes.set_title(name, fontsize=9.5, loc="left")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        rows += [
            [name, kind, float(z[found["codes"] == k].mean()), float(z[found["codes"] == k].std())]
            for k, kind in enumerate(KINDS)
        ]
    open_frame(*panels)
    panels[-1].set_xlabel("place along the direction, in standard deviations")
    class_legend(figure, KINDS)
    caption = (
        "All flowers along three directions. Classes are narrow and far apart on Fisher's axis."
    )
    return Picture(figure, caption, Table(("direction", "kind", "mean", "deviation"), rows))


def ridges_agree(results: Results) -> float:
    """Largest relative difference between a ridge and the one found from its limit."""
    found = rows_of(results, RIDGE, "ridge_of_limit")
    return max(float(abs(row.value / json.loads(row.parameters)["ridge"] - 1)) for row in found)
