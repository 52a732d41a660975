"""Pictures of `kernel-methods`: samples and their line, logs, bounds, spectra, similarities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.plots.figures import INK, SCORES, new_figure
from separatrix.plots.region_figures import COLOURS, MARKERS
from separatrix.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = {1: (COLOURS[0], "o"), -1: (COLOURS[4], "s")}
ZERO = 1e-16  # below this share of the largest, an eigenvalue is drawn at the edge


def drawn_forms(found: Mapping[str, Any], data: str) -> Figure:
    """Samples with the mistakes on them, and both logs of mistakes, one on the other."""
    figure = new_figure(7.6, 3.7)
    axes = figure.add_subplot(1, 2, 1)
    _points(axes, found["X"], found["y"], 14 + 26 * found["alpha"])
    _line(axes, found["w"], float(found["b"][0]))
    axes.set_title("larger: more mistakes on it", fontsize=9)
    _legend_below(axes)
    axes = figure.add_subplot(1, 2, 2)
    for name, marker, size, color in (
        ("primal", "o", 7, COLOURS[0]),
        ("dual", "x", 5, COLOURS[4]),
    ):
        log = found[f"{data}_{name}"]
        number = np.arange(1, len(log) + 1)
        face = "none" if marker == "o" else color
        axes.plot(
            number,
            log,
            marker,
            markersize=size,
            color=color,
            markerfacecolor=face,
            label=name,
        )
    axes.set_xlabel("mistake")
    axes.set_ylabel("sample that was mistaken")
    _legend_below(axes)
    return figure


def drawn_bound(found: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Mistakes against what the theorem allows."""
    figure = new_figure(5.2, 3.8)
    axes = figure.add_subplot()
    for position, (name, values) in enumerate(found.items()):
        axes.plot(
            values["bound"],
            values["mistakes"],
            MARKERS[position],
            color=COLOURS[position % 6],
            markersize=5,
            label=name,
            linestyle="none",
        )
    most = max(max(values["bound"]) for values in found.values())
    axes.plot([1, most], [1, most], color=INK, linewidth=1, label="as many as the bound allows")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bound (2R/γ)²")
    axes.set_ylabel("mistakes made")
    axes.legend(fontsize=7)
    return figure


def drawn_map(found: Mapping[str, Any]) -> Figure:
    """A circle before and after the degree-2 map."""
    figure = new_figure(7.6, 3.8)
    axes = figure.add_subplot(1, 2, 1)
    _points(axes, found["X"], found["y"], 18)
    axes.set_title("samples: no line tells them apart", fontsize=9)
    _legend_below(axes)
    axes = figure.add_subplot(1, 2, 2)
    # the third axis is looked along: the plane's cut with it at 0 is drawn
    _points(axes, found["mapped"], found["y"], 18)
    _line(axes, found["w"][:2], float(found["b"][0]))
    axes.set_xlabel("x1²")
    axes.set_ylabel("x2²")
    axes.set_title("after the map, seen along √2 x1 x2", fontsize=9)
    _legend_below(axes)
    return figure


def drawn_spectra(kernels: Sequence[str], found: Mapping[str, Any]) -> Figure:
    """Eigenvalues of each kernel's matrix, and samples on the first axes of one."""
    figure = new_figure(8.2, 3.6)
    axes = figure.add_subplot(1, 2, 1)
    styles = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
    for position, (name, values) in enumerate(zip(kernels, found["spectra"], strict=True)):
        share = np.maximum(values / values[0], ZERO)
        axes.plot(
            np.arange(1, len(share) + 1),
            share,
            color=COLOURS[position % 6],
            linestyle=styles[position % len(styles)],
            label=name.split("(")[0] + _degree(name),
        )
    axes.set_yscale("log")
    axes.set_ylim(ZERO, 2)
    axes.set_xlabel("eigenvalue, by size")
    axes.set_ylabel("share of the largest")
    axes.legend(fontsize=7)
    _embedded(figure.add_subplot(1, 2, 2), found["embedding"], found["labels"])
    return figure


def drawn_similarity(matrix: Matrix, names: Sequence[str]) -> Figure:
    """A small matrix with its numbers."""
    figure = new_figure(4.6, 3.6)
    axes = figure.add_subplot()
    image = axes.imshow(matrix, cmap=SCORES, vmin=0, vmax=1)
    for i, line in enumerate(matrix):
        for j, value in enumerate(line):
            ink = "white" if value < 0.6 else INK
            axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=9)
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    figure.colorbar(image, ax=axes, label="similarity")
    return figure


def _embedded(axes: Axes, position: Any, labels: Any) -> None:
    for digit in np.unique(labels):
        mine = labels == digit
        axes.scatter(
            position[mine, 0],
            position[mine, 1],
            s=14,
            color=COLOURS[int(digit) % len(COLOURS)],
            marker=MARKERS[int(digit) % len(MARKERS)],
            label=str(digit),
            linewidths=0,
        )
    axes.set_xlabel("first axis")
    axes.set_ylabel("second axis")
    axes.legend(
        fontsize=7,
        title="digit",
        title_fontsize=7,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
    )


def _points(axes: Axes, X: Any, y: Any, sizes: Any) -> None:
    sizes = np.broadcast_to(sizes, len(y))
    for side, (color, marker) in SIDES.items():
        mine = y == side
        axes.scatter(
            X[mine, 0],
            X[mine, 1],
            s=sizes[mine],
            color=color,
            marker=marker,
            label=f"{side:+d}",
            linewidths=0,
            alpha=0.85,
        )
    axes.set_xlabel("x1")
    axes.set_ylabel("x2")


def _legend_below(axes: Axes) -> None:
    """A legend that hides no point, with marks of one size."""
    legend = axes.legend(
        fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False
    )
    for mark in legend.legend_handles:
        if mark is not None and hasattr(mark, "set_sizes"):
            mark.set_sizes([24])


def _line(axes: Axes, w: Any, b: float) -> None:
    """Where w1 x + w2 y + b = 0, inside the present frame."""
    x, y = axes.get_xlim(), axes.get_ylim()
    if abs(w[1]) > abs(w[0]):
        ends = np.array(x)
        axes.plot(ends, -(b + w[0] * ends) / w[1], color=INK, linewidth=1)
    else:
        ends = np.array(y)
        axes.plot(-(b + w[1] * ends) / w[0], ends, color=INK, linewidth=1)
    axes.set_xlim(x)
    axes.set_ylim(y)


def _degree(name: str) -> str:
    """The degree of a polynomial, as a word after its name.

    >>> _degree("Polynomial(degree=3, gamma=1.0, coef0=0.0)"), _degree("Linear()")
    (' 3', '')
    """
    return f" {name.split('degree=')[1][0]}" if "degree=" in name else ""
