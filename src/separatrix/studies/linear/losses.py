"""Parts 3 and 12 of the page: what far samples do, and the losses that make them do it."""

from __future__ import annotations

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    GREY,
    STYLES,
    draw_samples,
    figure_of,
    largest,
    legend_below,
    number,
    open_frame,
)
from separatrix.studies.linear_steps.losses import AT, AWAY, DRAWN, FAR, LOSSES

NAMES = {
    "LeastSquaresClassifier": "least squares",
    "LogisticRegression": "logistic",
    "SVC": "support vector machine",
}
LOOKS = dict(
    zip(NAMES, zip((COLOURS[4], COLOURS[5], "#333333"), STYLES, strict=False), strict=True)
)
LABELS = {
    "squared": "squared",
    "hinge": "hinge",
    "squared_hinge": "squared hinge",
    "logistic": "logistic",
    "sigmoid": "sigmoid",
}


def far_points(results: Results) -> Section:
    """Lines with the far samples, and how they turn."""
    wrong, far = (number(results, FAR, "loss", "squared", margin=t) for t in (-1.0, 5.0))
    turned = {
        name: number(results, FAR, "turned_degrees", name, away=AWAY[-1], far=30) for name in NAMES
    }
    still = largest(results, FAR, "turned_degrees", model="SVC")
    return Section(
        "3 · Far on the right side",
        [
            "The squared loss wants f to be 1. A sample on the wrong side with f = -1 costs "
            f"{wrong:g}; one that is right beyond doubt, with f = 5, costs {far:g}.",
            "So 30 samples far behind their own class turn least squares by "
            f"{turned['LeastSquaresClassifier']:.0f} degrees, and samples near the boundary are "
            "lost. Logistic regression hardly feels them, and a support vector machine not at "
            f"all: a sample beyond its margin has no part in it (turned by {still:.0e} degrees "
            "at most).",
        ],
        [_lines(results), _turning(results), _two_margins(results)],
    )


def _lines(results: Results) -> Picture:
    found = results.arrays[FAR]
    figure, axes = figure_of(4.0)
    draw_samples(axes, found["X"], found["codes"])
    axes.scatter(
        *found["far"].T, s=18, color=COLOURS[1], marker="s", edgecolors="white", linewidths=0.4
    )
    axes.annotate(
        "30 far samples",
        found["far"].mean(axis=0),
        (0, 13),
        textcoords="offset points",
        fontsize=9,
        ha="center",
    )
    rows = []
    for name, label in NAMES.items():
        lines = found[f"{name}_lines"]
        (colour, style), (*w, bias) = LOOKS[name], lines[-1]
        axes.axline(
            (-bias / w[0], 0.0),
            (-(bias + w[1]) / w[0], 1.0),
            color=colour,
            linestyle=style,
            label=label,
            lw=1.8,
        )
        rows += [
            [label, when, *(float(value) for value in line)]
            for when, line in (("before", lines[0]), ("with far samples", lines[-1]))
        ]
    axes.set(xlabel="first feature", ylabel="second feature", xlim=(-4.5, 21), ylim=(-14.5, 4))
    legend_below(figure, axes, 3)
    open_frame(axes)
    caption = (
        "Boundaries after 30 samples were added far behind the squares. Two of the three are "
        "where they were before, and lie on each other."
    )
    return Picture(figure, caption, Table(("model", "fitted", "w1", "w2", "w0"), rows))


def _turning(results: Results) -> Picture:
    figure, axes = figure_of(2.9)
    rows = []
    for name, label in NAMES.items():
        values = {
            metric: [number(results, FAR, metric, name, away=away, far=30) for away in AWAY]
            for metric in ("turned_degrees", "moved", "near_mistaken")
        }
        colour, style = LOOKS[name]
        axes.plot(
            AWAY,
            values["turned_degrees"],
            color=colour,
            linestyle=style,
            marker="o",
            ms=4,
            label=label,
        )
        rows += [
            [label, away, turned, moved, int(mistaken)]
            for away, turned, moved, mistaken in zip(AWAY, *values.values(), strict=True)
        ]
    axes.set(
        xlabel="how far behind their class the 30 samples lie", ylabel="boundary turned, degrees"
    )
    axes.set_ylim(-2, 52)
    axes.set_xticks([0, 5, 10, 15, 20])
    legend_below(figure, axes, 3)
    open_frame(axes)
    columns = ("model", "away", "turned, degrees", "moved", "near samples mistaken, of 200")
    caption = "The further away, the more least squares turns; the other two stay."
    return Picture(figure, caption, Table(columns, rows))


def _two_margins(results: Results) -> Table:
    rows = [
        [LABELS[name], *(number(results, FAR, "loss", name, margin=t) for t in (-1.0, 5.0))]
        for name in DRAWN
    ]
    return Table(
        ("loss", "wrong, f = -1", "far and right, f = 5"),
        rows,
        "What one sample of target +1 costs. The sigmoid loss runs from 0 down to -1.",
    )


def curves(results: Results) -> Section:
    """All losses in one picture."""
    found = results.arrays[LOSSES]
    t = found["margin"]
    figure, axes = figure_of(3.9)
    axes.step([-3, 0, 6], [1, 0, 0], where="post", color=GREY, linewidth=1, label="mistakes")
    for position, name in enumerate(DRAWN):
        axes.plot(
            t,
            found[name],
            linestyle=STYLES[position],
            color=COLOURS[position],
            linewidth=2,
            label=LABELS[name],
        )
    axes.set(
        xlabel="margin y f(x): right of 0 is the right side",
        ylabel="loss",
        ylim=(-1.15, 5),
        xlim=(-3, 6),
    )
    axes.axvline(0, color=GREY, linewidth=0.6)
    legend_below(figure, axes, 3)
    open_frame(axes)
    rows = [
        [LABELS[name], *(number(results, LOSSES, "loss", name, margin=m) for m in AT)]
        for name in DRAWN
    ]
    shapes = [
        [
            LABELS[name],
            number(results, LOSSES, "least_second_difference", name) > -1e-12,
            number(results, LOSSES, "cost_of_margin_6", name),
        ]
        for name in DRAWN
    ]
    bent = " and ".join(str(row[0]) for row in shapes if not row[1])
    return Section(
        "12 · Losses",
        [
            "Every linear classifier here minimises a loss of the margin, plus a penalty. The "
            "hinge is 0 from 1 on; the logistic loss never quite. The squared loss rises again: "
            "it alone charges for being too right.",
            f"All are convex but one: {bent}. It can be swapped in, and then where descent ends "
            "depends on where it began.",
        ],
        [
            Picture(
                figure,
                "Five losses of the margin, and the count of mistakes they stand in for.",
                Table(("loss", *(f"at {m:g}" for m in AT)), rows),
            ),
            Table(
                ("loss", "convex", "at margin 6, above its least"),
                shapes,
                f"From {len(t)} margins between {np.min(t):g} and {np.max(t):g}.",
            ),
        ],
    )
