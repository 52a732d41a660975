"""Part 10 of the page: regions of softmax, and what does not change it."""

from __future__ import annotations

from typing import Any

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    GREY,
    KINDS,
    PETALS,
    STYLES,
    class_legend,
    draw_regions,
    figure_of,
    largest,
    legend_below,
    number,
    open_frame,
    regions_from,
)
from separatrix.studies.linear_steps.logistic import SHIFTS, SOFTMAX


def probabilities(results: Results) -> Section:
    """Regions by the largest probability, and all three along a line."""
    shifted = largest(results, SOFTMAX, "off_shifted_scores")
    return Section(
        "10 · Softmax",
        [
            "Three scores become three probabilities, exp(f_k) over the sum of all. They sum to "
            f"1 (to {number(results, SOFTMAX, 'off_sum'):.0e}) and the largest score has the "
            "largest one, so the regions are those of the argmax and leave nothing out.",
            "Only differences of scores matter: with 1000 added to all, probabilities are the "
            f"same, to {shifted:.0e}; so they are with one vector added to the weights of every "
            "class. For two classes softmax is the sigmoid, to "
            f"{number(results, SOFTMAX, 'off_sigmoid_of_two'):.0e}.",
        ],
        [_surest(results), _three(results), _checks(results)],
    )


def _surest(results: Results) -> Picture:
    found = results.arrays[SOFTMAX]
    shape = regions_from(found, "region_", KINDS, "predict", "LogisticRegression")
    figure, axes = figure_of(3.6)
    draw_regions(axes, shape, found["X"], found["codes"])
    lines = axes.contour(
        found["first"],
        found["second"],
        found["largest"],
        levels=[0.6, 0.95],
        colors=GREY,
        linewidths=0.9,
        linestyles=[":", "-"],
    )
    axes.clabel(lines, fmt="%.2g", fontsize=8)
    axes.plot(found["length"], found["width"], color=INK, linewidth=1.2, linestyle=(0, (6, 2)))
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1])
    class_legend(figure, KINDS)
    rows = [[kind, 100 * number(results, SOFTMAX, "area_share", region=kind)] for kind in KINDS]
    rows.append(["no class", 100 * number(results, SOFTMAX, "indeterminate_share")])
    caption = (
        "Regions of softmax regression, and grey lines where the largest probability is 0.6 and "
        "0.95. The dashed line is the way of the next picture."
    )
    return Picture(figure, caption, Table(("region", "area %"), rows))


def _three(results: Results) -> Picture:
    found = results.arrays[SOFTMAX]
    figure, axes = figure_of(2.9)
    for k, kind in enumerate(KINDS):
        axes.plot(
            found["length"],
            found["shares"][:, k],
            color=COLOURS[k],
            linestyle=STYLES[k],
            lw=2,
            label=kind,
        )
    axes.plot(found["length"], found["shares"].sum(axis=1), color=GREY, linewidth=1, label="sum")
    axes.set(xlabel=f"{PETALS[0]}, along the line", ylabel="probability", ylim=(-0.03, 1.06))
    open_frame(axes)
    legend_below(figure, axes, 4)
    every = slice(None, None, 20)
    rows = [
        [float(x), *(float(value) for value in p), float(p.sum())]
        for x, p in zip(found["length"][every], found["shares"][every], strict=True)
    ]
    caption = "The three probabilities along the line through the flowers, and their sum."
    return Picture(figure, caption, Table((PETALS[0], *KINDS, "sum"), rows))


def _checks(results: Results) -> Table:
    rows: list[list[Any]] = [
        ["sum of probabilities less 1", number(results, SOFTMAX, "off_sum")],
        ["probabilities less softmax of scores", number(results, SOFTMAX, "off_softmax_of_scores")],
        *(
            [
                f"{shift:+g} to all scores",
                number(results, SOFTMAX, "off_shifted_scores", shift=shift),
            ]
            for shift in SHIFTS
        ),
        ["one vector to the weights of all classes", number(results, SOFTMAX, "off_other_weights")],
        ["two classes: softmax less sigmoid", number(results, SOFTMAX, "off_sigmoid_of_two")],
        ["largest entry of the gradient", number(results, SOFTMAX, "gradient")],
    ]
    return Table(("what", "largest difference"), rows)
