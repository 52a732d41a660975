"""Part 11 of the page: margins and slack, the conditions of the optimum, and which way is faster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

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
    draw_samples,
    figure_of,
    largest,
    legend_below,
    number,
    open_frame,
    rows_of,
)
from separatrix.studies.linear_steps.margins import DRAWN, MARGINS, PRICES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLACK = COLOURS[4]


def soft_margin(results: Results) -> Section:
    """The machine, its certificate, and the crossover."""
    with_slack = int(number(results, MARGINS, "with_slack", C=DRAWN))
    between = int(number(results, MARGINS, "a_between", C=DRAWN))
    primal, dual = (
        number(results, MARGINS, f"whole_{side}", C=DRAWN) for side in ("primal", "dual")
    )
    gap = largest(results, MARGINS, "gap", model="SVC")
    return Section(
        "11 · Margins, slack and duality",
        [
            f"At C = {DRAWN:g}, {with_slack} of 100 flowers have slack: they lie inside their "
            f"margin or beyond the boundary. {between} lie exactly on a margin. All others could "
            "be left out, and the line would stay.",
            f"The primal, |w|² plus all slack, is {primal:.6f}; the dual is {dual:.6f}. That "
            f"they are equal proves the optimum; at every C they differ by at most {gap:.0e} of "
            "their size. The conditions of the optimum hold row by row, and each flower on a "
            f"margin gives the same w0, to {largest(results, MARGINS, 'off_w0'):.0e}.",
            "The dual has a number for each sample, the primal one for each feature. So the "
            "dual slows down with samples and the primal with features; both end at the same "
            "objective.",
        ],
        [
            _machine(results),
            _prices(results),
            _conditions(results),
            _biases(results),
            _times(results),
        ],
    )


def _machine(results: Results) -> Picture:
    found = results.arrays[MARGINS]
    X, w, (bias,) = found["X"], found["weights"], found["bias"]
    slack, alpha = found["slack"], found["alpha"]
    figure, axes = figure_of(3.1)
    slope = -w[0] / w[1]
    for score, style, width in ((0.0, "-", 1.6), (1.0, "--", 1.0), (-1.0, "--", 1.0)):
        axes.axline(
            (0.0, (score - bias) / w[1]),
            slope=slope,
            color=INK,
            linestyle=style,
            lw=width,
            zorder=2,
        )
    side = 2.0 * found["codes"] - 1.0
    late = slack > 1e-7
    ends = X + (side * slack)[:, None] * w / (w @ w)
    for start, end in zip(X[late], ends[late], strict=True):
        axes.plot(*zip(start, end, strict=True), color=SLACK, linewidth=1, zorder=2.5)
    draw_samples(axes, X, found["codes"])
    on = (alpha > 0) & ~late
    axes.scatter(*X[on].T, s=110, facecolors="none", edgecolors=INK, linewidths=1.3, zorder=4)
    axes.set_aspect("equal")
    axes.set(xlabel=PETALS[0], ylabel=PETALS[1], xlim=(2.5, 7.4), ylim=(0.7, 2.75))
    class_legend(figure, KINDS[1:])
    columns = ("C", "with slack", "mistaken", "margin width, cm", "on a margin", "neither")
    metrics = ("with_slack", "mistaken", "margin_width", "a_between", "a_zero")
    rows = [
        [C, *(_whole(number(results, MARGINS, metric, C=C)) for metric in metrics)] for C in PRICES
    ]
    caption = (
        f"The boundary, its two margins (dashed), the way that each of {int(late.sum())} flowers "
        "with slack is short of its margin (red), and the flowers on a margin (rings). Flowers "
        "of the same measures hide each other."
    )
    return Picture(figure, caption, Table(columns, rows))


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _prices(results: Results) -> Table:
    rows = [
        [
            C,
            *(f"{number(results, MARGINS, metric, C=C):.9f}" for metric in ("primal", "dual")),
            number(results, MARGINS, "gap", C=C),
            number(results, MARGINS, "off_weights_from_dual", C=C),
        ]
        for C in PRICES
    ]
    return Table(
        ("C", "primal", "dual", "relative gap", "w less its sum over samples"),
        rows,
        "Both objectives, ½|w|² + C · slack and its dual, computed from the weights and from "
        "the multipliers.",
    )


def _conditions(results: Results) -> Table:
    metrics = (
        "a_zero",
        "a_between",
        "a_at_C",
        "worst_at_zero",
        "worst_between",
        "worst_at_C",
        "balance",
    )
    rows = [[C, *(_whole(number(results, MARGINS, m, C=C)) for m in metrics)] for C in PRICES]
    return Table(
        (
            "C",
            "α = 0",
            "between",
            "α = C",
            "margin below 1",
            "margin not 1",
            "margin above 1",
            "sum of αy",
        ),
        rows,
        "The conditions of the optimum: rows in each state, the worst of each, and the balance "
        "of both classes.",
    )


def _biases(results: Results) -> Table:
    rows = []
    for row in rows_of(results, MARGINS, "w0"):
        about = json.loads(row.parameters)
        off = number(results, MARGINS, "off_w0", C=about["C"], sample=about["sample"])
        rows.append([about["C"], about["sample"] + 50, f"{row.value:.9f}", off])
    return Table(
        ("C", "flower", "w0 = y - <w, x>", "less the machine's"),
        rows,
        "The bias from each flower on a margin by itself. At the smallest C no flower is on one.",
    )


def _times(results: Results) -> Picture:
    figure, panels = figure_of(3.3, 1, 2, sharey=True)
    rows: list[list[Any]] = []
    for axes, (grows, letter, label) in zip(
        panels,
        (("samples", "n", "samples, 20 features"), ("features", "d", "features, 200 samples")),
        strict=True,
    ):
        for position, by in enumerate(("dual", "primal")):
            found = [
                (json.loads(row.parameters), row)
                for row in rows_of(results, MARGINS, "objective", model="LinearSVC")
            ]
            mine = [
                (about, row)
                for about, row in found
                if about["grows"] == grows and about["by"] == by
            ]
            sizes = [about[letter] for about, _ in mine]
            times = [1000 * row.seconds for _, row in mine]
            axes.plot(
                sizes,
                times,
                marker="os"[position],
                color=COLOURS[(0, 4)[position]],
                linestyle=STYLES[position],
                lw=1.8,
                label=f"in the {by}",
            )
            rows += [
                [about["n"], about["d"], by, 1000 * row.seconds, f"{row.value:.9g}"]
                for about, row in mine
            ]
        axes.set(xscale="log", yscale="log", xlabel=label)
        _plain_ticks(axes, sizes)
        axes.grid(color=GREY, alpha=0.25, linewidth=0.5)
    panels[0].set_ylabel("time to fit, ms")
    open_frame(*panels)
    legend_below(figure, panels[0], 2)
    rows.sort(key=lambda row: (row[1] != 20, row[0], row[1], row[2]))
    caption = (
        "Time of one fit by two ways to solve the same problem, while samples grow and while "
        "features grow. The best of three fits; times differ from run to run."
    )
    return Picture(figure, caption, Table(("n", "d", "solved in the", "ms", "objective"), rows))


def _plain_ticks(axes: Axes, sizes: list[int]) -> None:
    """Plain numbers on logarithmic axes: the sizes themselves, and 1, 2, 5 of each power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=8.5)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def objectives_agree(results: Results) -> float:
    """Largest relative difference of the objectives that the two ways end at."""
    found: dict[tuple[int, int, str], list[float]] = {}
    for row in rows_of(results, MARGINS, "objective", model="LinearSVC"):
        about = json.loads(row.parameters)
        found.setdefault((about["n"], about["d"], about["grows"]), []).append(row.value)
    return max(float(np.ptp(both) / np.max(both)) for both in found.values())
