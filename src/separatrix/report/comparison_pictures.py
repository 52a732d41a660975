"""Pictures of classifiers side by side: errors with intervals, times, training sizes, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import DataError
from separatrix.plots.figures import COLOURS, MARKERS, new_figure
from separatrix.plots.svg import clean_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST, _, GREY = PALETTE = "#0072B2", "#E69F00", "#8C8C8C"  # blue and orange of Okabe and Ito
LONGEST_NAME = 36
LINE = 0.3  # inches for one classifier


def shorten_name(name: Any, most: int = LONGEST_NAME) -> str:
    """A name on one line, short enough for a picture, and never taken for a formula.

    >>> shorten_name("a  long\\nname of $5", 12)
    'a long name…'
    >>> print(shorten_name("$x$"))
    \\$x\\$
    """
    words = " ".join(clean_text(str(name)).split())
    cut = words if len(words) <= most else words[: most - 1].rstrip() + "…"
    return cut.replace("$", r"\$")


def with_short_names(figure: Figure, most: int = LONGEST_NAME) -> Figure:
    """The figure with every line of its texts short enough to leave room for what it shows."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        lines = text.get_text().split("\n")
        if "mathdefault" not in text.get_text():  # a power of ten beside an axis
            text.set_text("\n".join(shorten_name(line, most) for line in lines))
    return figure


def plot_leaderboard(
    names: Sequence[str],
    errors: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    level: Sequence[bool],
) -> Figure:
    """Error of each classifier with its interval, in per cent, the first on top.

    Those that are `level` with the best are blue, the others grey.

    >>> figure = plot_leaderboard(["a", "b"], [1, 2], [0, 1], [2, 3], level=[True, False])
    >>> figure.axes[0].get_xlabel()
    'test error, %, with its 95 % interval'
    """
    positions = np.arange(len(names))
    axes = _lines(names, 7.2)
    for position, value, start, end, tied in zip(positions, errors, low, high, level, strict=True):
        color = FIRST if tied else GREY
        axes.plot(
            [start, end], [position, position], color=color, linewidth=2, solid_capstyle="butt"
        )
        axes.plot(value, position, marker="o", markersize=6, color=color, markeredgecolor="white")
    axes.axvline(errors[0], color=FIRST, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
    axes.set_xlim(left=0)
    axes.set_xlabel("test error, %, with its 95 % interval")
    return axes.figure  # type: ignore[return-value]


def plot_times(names: Sequence[str], times: Mapping[str, Sequence[float]]) -> Figure:
    """Seconds of each classifier on a logarithmic scale, one marker for each kind of time.

    >>> plot_times(["a"], {"fit": [0.1], "predict": [0.02]}).axes[0].get_xscale()
    'log'
    """
    seen = {kind: np.maximum(values, 1e-6) for kind, values in times.items()}  # above 0
    axes = _curves_by_name(names, seen, legend=len(times) > 1, markersize=6, linestyle="none")
    axes.set_xscale("log")
    axes.grid(axis="y", color="#8C8C8C", linewidth=0.3, alpha=0.6)
    axes.set_xlabel("seconds")
    return axes.figure  # type: ignore[return-value]


def plot_sizes(sizes: Sequence[int], curves: Mapping[str, tuple[Any, Any]]) -> Figure:
    """Error in per cent against the rows trained on; each curve is a mean and an sd for each size.

    >>> plot_sizes([10, 20], {"test": ([3.0, 2.0], [0.5, 0.4])}).axes[0].get_xlabel()
    'rows trained on'
    """
    if not sizes:
        raise DataError("plot_sizes needs at least one size; got none")
    axes = new_figure(6.0, 3.6).add_subplot()
    for (name, (mean, sd)), color, marker in zip(curves.items(), PALETTE, "os^", strict=False):
        mean, sd = np.asarray(mean), np.asarray(sd)
        axes.plot(sizes, mean, marker=marker, color=color, label=name, markeredgecolor="white")
        low = np.maximum(mean - sd, 0)
        axes.fill_between(sizes, low, mean + sd, color=color, alpha=0.15, linewidth=0)
    _tidy(axes)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows trained on")
    axes.set_ylabel("error, % (band: ± 1 sd)")
    axes.legend(frameon=False, fontsize=9)
    return axes.figure  # type: ignore[return-value]


def plot_candidates(names: Sequence[str], curves: Mapping[str, Sequence[float]]) -> Figure:
    """Error in per cent of each value that was tried, for each way it was measured."""
    axes = _curves_by_name(names, curves, legend=True, linewidth=1)
    axes.set_xlabel("error, %")
    return axes.figure  # type: ignore[return-value]


def plot_parameter(name: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """Error in per cent against a parameter, one curve for each choice of the others; best marked.

    >>> axes = plot_parameter("C", {"": [(0.1, 5.0), (1, 3.0), (10, 4.0)]}).axes[0]
    >>> axes.get_xscale(), axes.get_xlabel()
    ('log', 'C')
    """
    figure = new_figure(6.0, 3.6)
    axes = figure.add_subplot()
    for position, (others, curve) in enumerate(curves.items()):
        x, y = zip(*curve, strict=True)
        color = FIRST if len(curves) == 1 else COLOURS[position % len(COLOURS)]
        marker = MARKERS[position % len(MARKERS)]
        axes.plot(
            x, y, marker=marker, color=color, markeredgecolor="white", label=shorten_name(others)
        )
    values = sorted({x for curve in curves.values() for x, _ in curve})
    if values[0] > 0 and values[-1] >= 10 * values[0]:
        axes.set_xscale("log")
    best = min((y, x) for curve in curves.values() for x, y in curve)
    axes.plot(best[1], best[0], marker="o", markersize=13, fillstyle="none", color=GREY)
    _tidy(axes)
    axes.set_xlabel(name)
    axes.set_ylabel("error on the folds, %")
    if len(curves) > 1:
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def plot_weights(names: Sequence[str], weights: Sequence[float]) -> Figure:
    """The largest weights of a linear model as bars, the largest on top."""
    axes = _lines(names, 6.0)
    axes.barh(np.arange(len(names)), weights, height=0.62, color=FIRST)
    axes.set_xlabel("|w|")
    return axes.figure  # type: ignore[return-value]


def _curves_by_name(
    names: Sequence[str], curves: Mapping[str, Any], *, legend: bool, **style: Any
) -> Axes:
    axes = _lines(names, 7.2)
    for (label, values), color, marker in zip(curves.items(), PALETTE, "os^", strict=False):
        about = {"marker": marker, "color": color, "label": label, **style}
        axes.plot(values, np.arange(len(names)), markeredgecolor="white", **about)
    if legend:
        axes.figure.legend(loc="outside upper left", ncols=3, fontsize=9, frameon=False)
    return axes


def _lines(names: Sequence[str], width: float) -> Axes:
    """Axes with one line for each name, the first on top."""
    if not len(names):
        raise DataError("a picture by name needs at least one name; got none")
    axes = new_figure(width, 0.9 + LINE * len(names)).add_subplot()
    axes.set_yticks(np.arange(len(names)), [shorten_name(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _tidy(axes)
    return axes


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
