"""What the pictures of all parts share: numbers by name, panels of regions, samples by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import ExperimentError
from separatrix.evaluation.regions import Regions
from separatrix.experiments.steps import Row, params_json
from separatrix.experiments.table import Results
from separatrix.plots.figures import new_figure
from separatrix.plots.region_figures import (
    COLOURS,
    MARKERS,
    NOWHERE,
    _draw_boundaries,
    _fill,
    _scatter,
    _tint,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.2  # inches: a phone shows it with letters that can be read
GREY = "#777777"
STYLES = ("-", "--", "-.", ":", (0, (1, 1)))
KINDS = ("setosa", "versicolor", "virginica")
PETALS = ("petal length, cm", "petal width, cm")


def number(
    results: Results, part: str, metric: str, model: str | None = None, **about: Any
) -> float:
    """The value of the one row of this part, metric and parameters."""
    fields = {"part": part, "metric": metric, "parameters": params_json(**about)}
    found = results.where(**fields, **({} if model is None else {"model": model}))
    if not found:
        raise ExperimentError(
            f"{results.name} has no row of {part}, {metric}, {fields['parameters']}"
        )
    return found[0].value


def largest(results: Results, part: str, metric: str, **fields: Any) -> float:
    """The largest size of all values of a metric."""
    return float(np.abs(results.values(part=part, metric=metric, **fields)).max())


def rows_of(results: Results, part: str, metric: str, **fields: Any) -> list[Row]:
    """All rows of a part and a metric."""
    return results.where(part=part, metric=metric, **fields)


def figure_of(height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure as wide as a page may be on a phone, and its axes."""
    figure = new_figure(WIDTH, height)
    return figure, figure.subplots(rows, columns, **options)


def regions_from(
    arrays: Mapping[str, Any], name: str, labels: Sequence[str], rule: str, model: str
) -> Regions:
    """Regions as they were found, from the arrays of a step."""
    return Regions(
        name=model,
        rule=rule,
        labels=np.array(labels),
        first=arrays["first"],
        second=arrays["second"],
        codes=arrays[f"{name}codes"].astype(np.intp),
        fields=arrays[f"{name}fields"],
    )


def draw_regions(axes: Axes, regions: Regions, X: Any, codes: Any) -> None:
    """Regions, boundaries and samples, the part without a class in grey."""
    _fill(axes, regions)
    _draw_boundaries(axes, regions)
    draw_samples(axes, X, codes)
    axes.set_xlim(regions.first[0], regions.first[-1])
    axes.set_ylim(regions.second[0], regions.second[-1])


def draw_samples(axes: Axes, X: Any, codes: Any) -> None:
    """Samples, a colour and a marker for each class; what they stand for is said below."""
    _scatter(axes, X, codes, int(codes.max()) + 1)
    for drawn in axes.collections:
        drawn.set_label("_")


def name_outer_axes(panels: Any, names: Sequence[str]) -> None:
    """Name both features at the left and at the bottom of a grid of panels."""
    grid = np.atleast_2d(panels)
    for axes in grid[-1]:
        axes.set_xlabel(names[0])
    for axes in grid[:, 0]:
        axes.set_ylabel(names[1])


def class_legend(
    figure: Figure, names: Sequence[str], *, nowhere: bool = False, first: int = 0
) -> None:
    """Below all panels: what colours and markers stand for."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], linestyle="", marker=MARKERS[code], color=COLOURS[code], label=name)
        for code, name in enumerate(names, start=first)
    ]
    if nowhere:
        handles.append(
            Patch(
                facecolor=_tint(NOWHERE),
                edgecolor=NOWHERE,
                hatch="//////",
                linewidth=0,
                label="no class",
            )
        )
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
        handletextpad=0.4,
    )


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend of one panel below the figure, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


def open_frame(*panels: Axes) -> None:
    """Leave out the lines above and to the right."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
