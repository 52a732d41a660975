"""Figures that the parts share: panels of regions, samples by class, legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.evaluation.regions import Regions
from separatrix.plots import region_figures
from separatrix.plots.figures import COLOURS, MARKERS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.2  # inches: legible on a phone
GREY = "#777777"
STYLES = ("-", "--", "-.", ":", (0, (1, 1)))
BELOW: dict[str, Any] = {"loc": "outside lower center", "frameon": False, "fontsize": 9}


def panel_figure(
    height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """A figure of page width, and its axes."""
    return new_axes(WIDTH, height, rows, columns, **options)


def region_arrays(found: Regions, prefix: str) -> dict[str, Any]:
    """Regions as arrays of a step."""
    return {
        "first": found.first,
        "second": found.second,
        f"{prefix}codes": found.codes.astype(np.int8),
        f"{prefix}fields": found.fields.astype(np.float32),
        f"{prefix}undecided": found.undecided,
        f"{prefix}crossings": found.crossings.astype(np.float32),
    }


def draw_regions(
    axes: Axes, arrays: Mapping[str, Any], prefix: str, labels: Sequence[str], rule: str = "predict"
) -> None:
    """Regions of a step with boundaries and samples; points without a class are grey."""
    regions = Regions(
        name=prefix,
        rule=rule,
        labels=np.array(labels),
        first=arrays["first"],
        second=arrays["second"],
        codes=arrays[f"{prefix}codes"].astype(np.intp),
        fields=arrays[f"{prefix}fields"],
        undecided=arrays[f"{prefix}undecided"],
        crossings=arrays[f"{prefix}crossings"],
    )
    region_figures.draw_regions(axes, regions, arrays["X"], arrays["codes"])
    _hide_from_legend(axes)


def draw_samples(axes: Axes, X: Any, codes: Any) -> None:
    """Samples with a colour and a marker for each class, without legend entries."""
    region_figures.draw_classes(axes, X, codes, int(codes.max()) + 1)
    _hide_from_legend(axes)


def _hide_from_legend(axes: Axes) -> None:
    for drawn in axes.collections:
        drawn.set_label("_")


def name_outer_axes(panels: Any, names: Sequence[str]) -> None:
    """Name the features at the left and at the bottom of a grid of panels."""
    grid = np.atleast_2d(panels)
    for axes in grid[-1]:
        axes.set_xlabel(names[0])
    for axes in grid[:, 0]:
        axes.set_ylabel(names[1])


def class_legend(figure: Figure, names: Sequence[str], *, nowhere: bool = False) -> None:
    """Colours and markers of the classes, below all panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], linestyle="", marker=MARKERS[code], color=COLOURS[code], label=name)
        for code, name in enumerate(names)
    ]
    if nowhere:
        grey = region_figures.NOWHERE
        style: dict[str, Any] = {"facecolor": region_figures.tint(grey), "edgecolor": grey}
        handles.append(Patch(hatch="//////", linewidth=0, label="no class", **style))
    figure.legend(
        handles=handles, ncols=len(handles), columnspacing=1.2, handletextpad=0.4, **BELOW
    )


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend of one panel, below the figure; the frame stays open at the top and right."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, ncols=columns, **BELOW)
    open_frame(axes)


def open_frame(*panels: Axes) -> None:
    """Hide the top and the right side of the frame."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
