"""Part 9 of the page: thresholds from costs, and doubt far from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.linear.panels import (
    GREY,
    STYLES,
    draw_samples,
    figure_of,
    legend_below,
    number,
    open_frame,
)
from separatrix.studies.linear_steps.logistic import COSTS, DOUBT, PLACES, VECTORS

WAYS = {"MLE": "likeliest weights", "MAP": "with a prior", "Bayes": "mean over weights"}


def costs_and_doubt(results: Results) -> Section:
    """Where to cut, and how sure to be where no data are."""
    last = {name: number(results, DOUBT, "probability", name, away=PLACES[-1]) for name in WAYS}
    return Section(
        "9 · Costs, and doubt",
        [
            "What to decide depends on costs. If calling a tumour harmless costs c false "
            "alarms, harmless is decided above c / (c + 1). By the model's own probabilities no "
            "other threshold is cheaper; on other data the best one lies near it if the "
            "probabilities are good.",
            "Far from the data a linear score grows without end, so likeliest weights and "
            f"weights with a prior are certain there: {last['MLE']:.4f} and {last['MAP']:.4f}. "
            "The mean over all weights that the data allow is not: the doubt about the score "
            f"grows with the score, and the probability stays at {last['Bayes']:.3f}.",
        ],
        [_costs(results), _planes(results), _leaving(results), _vectors(results)],
    )


def _costs(results: Results) -> Picture:
    found = results.arrays[DOUBT]
    figure, axes = figure_of(3.4)
    for position, cost in enumerate(COSTS):
        colour = COLOURS[(0, 1, 4)[position]]
        threshold = number(results, DOUBT, "threshold", miss=cost)
        axes.plot(
            found["cuts"],
            found[f"cost_{cost:g}"],
            color=colour,
            linestyle=STYLES[position],
            lw=1.8,
            label=f"a miss costs {cost:g}",
        )
        axes.axvline(threshold, color=colour, linestyle=STYLES[position], linewidth=1)
    axes.set(
        xlabel="threshold on the probability of harmless",
        ylabel="mean cost, test rows",
        yscale="log",
        xlim=(0, 1),
    )
    open_frame(axes)
    legend_below(figure, axes, 3)
    metrics = (
        "threshold",
        "mean_cost",
        "mean_cost_at_half",
        "expected_cost",
        "least_expected_cost_elsewhere",
    )
    rows = [
        [cost, *(number(results, DOUBT, metric, miss=cost) for metric in metrics)] for cost in COSTS
    ]
    columns = (
        "cost of a miss",
        "threshold",
        "mean cost there",
        "at 0.5",
        "expected there",
        "least expected on 199 others",
    )
    caption = (
        "Mean cost on the test rows against the threshold, for three costs of a missed tumour, "
        "in false alarms. Upright lines: the threshold that each cost asks for."
    )
    return Picture(figure, caption, Table(columns, rows))


def _planes(results: Results) -> Picture:
    found = results.arrays[DOUBT]
    figure, panels = figure_of(2.75, 1, 3, sharex=True, sharey=True)
    side = found["side"]
    levels = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
    shares = []
    filled: Any = None
    for axes, (name, words) in zip(panels, WAYS.items(), strict=True):
        p = found[f"{name}_plane"]
        filled = axes.contourf(side, side, p, levels=levels, cmap="PuOr_r", vmin=-0.2, vmax=1.2)
        axes.contour(side, side, p, levels=[0.5], colors=INK, linewidths=1)
        draw_samples(axes, found["X"], found["codes"])
        end = found["middle"] + 11 * found["way"]
        axes.annotate(
            "", end, found["middle"], arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.4}
        )
        axes.set_title(f"{name}\n{words}", fontsize=9.5)
        axes.set_aspect("equal")
        axes.set_xticks([-10, 0, 10])
        shares.append(
            [name, *(100 * float(np.mean(np.abs(p - 0.5) > d)) for d in (0.25, 0.45, 0.49))]
        )
    figure.colorbar(
        filled,
        ax=panels,
        orientation="horizontal",
        shrink=0.8,
        aspect=40,
        label="probability of the squares",
    )
    caption = (
        "Probability over the plane around 30 samples. With likeliest weights and with a prior "
        "it is near 0 or 1 nearly everywhere; in the mean over weights, bands open like a fan. "
        "Arrow: the way of the next picture."
    )
    columns = ("", "area % beyond 0.25 and 0.75", "beyond 0.05 and 0.95", "beyond 0.01 and 0.99")
    return Picture(figure, caption, Table(columns, shares))


def _leaving(results: Results) -> Picture:
    found = results.arrays[DOUBT]
    figure, axes = figure_of(3.2)
    names = (*WAYS, "Bayes, by quadrature")
    for position, name in enumerate(names):
        axes.plot(
            found["away"],
            found[f"{name}_way"],
            color=(COLOURS[4], COLOURS[1], COLOURS[0], INK)[position],
            linestyle=STYLES[position],
            linewidth=1.8,
            label=name,
        )
    limit = number(results, DOUBT, "limit")
    axes.axhline(limit, color=GREY, linewidth=0.8)
    axes.text(40, limit - 0.015, "limit of Bayes", ha="right", va="top", fontsize=9)
    axes.set(
        xlabel="distance from the middle of the data",
        ylabel="probability of the squares",
        xlim=(0, 40),
        ylim=(0.4, 1.02),
    )
    open_frame(axes)
    legend_below(figure, axes, 2)
    rows = [
        [position, *(number(results, DOUBT, "probability", name, away=position) for name in names)]
        for position in PLACES
    ]
    caption = (
        "Along a straight way out of the data: two become certain, the mean over weights does not."
    )
    return Picture(figure, caption, Table(("distance", *names), rows))


def _vectors(results: Results) -> Table:
    rows = [
        [
            mean,
            variance,
            *(
                f"{number(results, DOUBT, metric, name, mean=mean, variance=variance):.5f}"
                for name in ("exact", "MacKay")
                for metric in ("mean_sigmoid", "published")
            ),
        ]
        for mean, variance, _, _ in VECTORS
    ]
    return Table(
        ("mean", "variance", "exact", "published", "MacKay's formula", "published value"),
        rows,
        "The mean of the sigmoid of a normal score: by quadrature, and by MacKay's formula.",
    )
