"""Pictures of the plane: decision regions, and samples on the axes of an embedding.

A class has one colour and one marker in every picture. The first seven colours are those of Okabe
and Ito, which colour-blind readers can tell apart, three more are Tol's; markers and hatches carry the
same information without colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.boundaries import UNDECIDED, join_pieces
from separatrix.evaluation.regions import Regions, decision_regions, planar_samples
from separatrix.evaluation.rules import INDETERMINATE, RULES
from separatrix.plots.figures import COLOURS, INK, MARKERS, new_figure
from separatrix.types import Codes, Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++", "ooo")
NOWHERE = "#8C8C8C"  # grey belongs to no class
NO_CLASS_HATCHES = {INDETERMINATE: "//////", UNDECIDED: "xxxx"}
TINT = 0.24  # share of a class's colour in its region
LARGEST_DOT, SMALLEST_DOT = 24.0, 7.0  # area of a marker, for few samples and for many
MOST_LINES = 6  # above, boundaries of binary problems would hide the regions
DOTS_AS_SHAPES = 2000  # above, points of a vector picture are pixels
BINS = 30
_LEGEND_STYLE: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK}


def plot_regions(
    model: Any,
    X: Any,  # shape: (n, 2)
    y: Any,  # shape: (n,)
    *,
    rule: str | None = None,
    grid: int | None = None,
    margin: float | None = None,
    show_margins: bool = False,
    names: Any = None,
) -> Figure:
    """The predicted class at every point of the plane, with the samples on top.

    The part that the rule gives to no class is grey and hatched; undecided parts, where votes tie or
    nothing but rounding decides, are grey and cross-hatched. The legend has each region's share
    of the area; the same numbers are in `decision_regions(...).rows()`.

    Parameters
    ----------
    model
        A classifier, or `Regions` computed before.
    X, y
        Samples and their labels.
    rule, grid, margin
        As in `decision_regions`; None: its defaults. Not with ready `Regions`.
    show_margins
        Also draw where the score of a fitted linear model of two classes is +1 and -1.
    names
        Two names for the axes. None: the columns of a data frame, or numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = plot_regions(LinearSVC(), X[:, 2:], y, grid=50, names=["length", "width"])
    >>> figure.axes[0].get_xlabel()
    'length'
    """
    asked = {"rule": rule, "grid": grid, "margin": margin}
    asked = {name: value for name, value in asked.items() if value is not None}
    regions = _regions(model, X, y, asked)
    names = _axis_names(X, names)
    samples, labels = planar_samples("plot_regions", X, y)
    codes = _codes(labels, regions.labels)

    figure = new_figure(6.4, 4.2)
    axes = figure.add_subplot()
    draw_regions(axes, regions, samples, codes)
    apart = _draw_margins(axes, model) if show_margins else None
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_title(f"{regions.name}: {RULES[regions.rule]}", fontsize=10)
    _legend_of_regions(figure, regions, apart)
    return figure


def plot_embedding(
    transformer: Any,
    X: Any,  # shape: (n, d), or whatever the transformer takes
    y: Any,  # shape: (n,)
) -> Figure:
    """Samples on the first two axes of a fitted transformer; on a single axis, stacked histograms.

    An axis is labelled with its part of `scatter_ratio_` or `explained_variance_ratio_`, where the
    transformer has one of them.

    Parameters
    ----------
    transformer
        A fitted transformer, such as `FisherDiscriminant`.
    X, y
        Samples that it takes, and their labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import FisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> figure = plot_embedding(FisherDiscriminant().fit(X, y), X, y)
    >>> len(figure.axes)
    1
    """
    if not hasattr(transformer, "transform"):
        raise ParameterError(
            "plot_embedding", "transformer", "fitted, with a transform", transformer
        )
    labels, codes = np.unique(column_or_1d(y), return_inverse=True)
    Z = np.asarray(transformer.transform(X))
    if Z.ndim != 2 or Z.shape[1] < 1:
        raise DataError(f"an embedding has shape (n, axes); transform gave {Z.shape}")
    check_consistent_length(Z, codes)

    figure = new_figure(6.4, 4.2)
    axes = figure.add_subplot()
    axes.set_xlabel(_axis_label(transformer, 0))
    if Z.shape[1] == 1:
        _histograms(axes, Z[:, 0], codes, len(labels))
        axes.set_ylabel("samples")
    else:
        draw_classes(axes, Z, codes, len(labels))
        axes.set_ylabel(_axis_label(transformer, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{len(Z)} samples on the axes of {type(transformer).__name__}", fontsize=10)
    handles, _ = axes.get_legend_handles_labels()
    style = {**_LEGEND_STYLE, "markerscale": np.sqrt(LARGEST_DOT / _dot(len(Z)))}
    figure.legend(handles, [f"{label}" for label in labels], loc="outside right upper", **style)
    return figure


def draw_regions(axes: Axes, regions: Regions, X: Matrix, codes: Codes) -> None:
    """Regions, their boundaries, and samples on top."""
    _fill(axes, regions)
    _draw_boundaries(axes, regions)
    draw_classes(axes, X, codes, len(regions.labels))
    axes.set_xlim(regions.first[0], regions.first[-1])
    axes.set_ylim(regions.second[0], regions.second[-1])


def _regions(model: Any, X: Any, y: Any, asked: dict[str, Any]) -> Regions:
    if not isinstance(model, Regions):
        return decision_regions(model, X, y, **asked)
    if asked:
        raise ParameterError(
            "plot_regions", " and ".join(asked), "None where regions are ready", asked
        )
    return model


def _axis_names(X: Any, names: Any) -> list[str]:
    if names is None:
        names = getattr(X, "columns", ("feature 1", "feature 2"))
    found = [f"{name}" for name in names]
    if len(found) != 2:
        raise ParameterError("plot_regions", "names", "two names", names)
    return found


def _codes(y: Any, labels: Any) -> Codes:
    unknown = np.setdiff1d(y, labels)
    if len(unknown):
        raise DataError(
            f"y holds labels {unknown.tolist()} that the regions do not have: {labels.tolist()}"
        )
    return np.asarray(np.searchsorted(labels, y))


def _fill(axes: Axes, regions: Regions) -> None:
    """Each region in a light tint of its colour; what has no class in grey and hatched."""
    tints = np.array([tint(_colour(code)) for code in range(len(regions.labels))] + [tint(NOWHERE)])
    first, second = regions.first, regions.second
    half = (first[1] - first[0]) / 2, (second[1] - second[0]) / 2
    extent = (first[0] - half[0], first[-1] + half[0], second[0] - half[1], second[-1] + half[1])
    style: dict[str, Any] = {"aspect": "auto", "interpolation": "none", "zorder": 0}
    codes = np.maximum(regions.codes_with_undecided, INDETERMINATE)  # -1: the last tint
    axes.imshow(tints[codes], extent=extent, origin="lower", **style)
    for code, hatch in NO_CLASS_HATCHES.items():
        without = regions.codes_with_undecided == code
        if without.any():
            style = {"levels": [0.5, 1.5], "colors": "none", "hatches": [hatch]}
            hatched = axes.contourf(first, second, without, **style)
            hatched.set(edgecolor=NOWHERE, linewidth=0, zorder=1)


def _draw_boundaries(axes: Axes, regions: Regions) -> None:
    """The lines between regions; of a few boundaries of a rule also where they bound nothing."""
    from matplotlib.collections import LineCollection

    style: dict[str, Any] = {"colors": INK, "linewidths": 1.1, "zorder": 2}
    scored = all(len(np.unique(field)) > 2 for field in regions.fields)
    in_full = regions.rule != "predict" and len(regions.fields) <= MOST_LINES and scored
    if not in_full or regions.undecided_areas.any():
        lines = join_pieces(regions.segments.ends)
        axes.add_collection(LineCollection(lines, joinstyle="round", **style))
    for field in regions.fields if in_full else ():
        if field.min() < 0 < field.max():
            axes.contour(regions.first, regions.second, field, levels=[0], **style)


def _draw_margins(axes: Axes, model: Any) -> float:
    """Lines where <w, x> + b is +1 and -1; returns how far they are apart, 2 / |w|."""
    coef = np.asarray(getattr(model, "coef_", ()))
    if coef.shape != (1, 2) or not coef.any():
        raise ParameterError(
            "plot_regions",
            "show_margins",
            "False unless model is linear, fitted, and of two classes",
            True,
        )
    w, b = coef[0], float(np.ravel(model.intercept_)[0])
    along = np.array([-w[1], w[0]])
    for score in (-1.0, 1.0):
        foot = (score - b) * w / (w @ w)
        axes.axline(foot, foot + along, color=INK, linewidth=0.9, linestyle=(0, (5, 3)), zorder=2)
    return float(2 / np.linalg.norm(w))


def draw_classes(axes: Axes, Z: Matrix, codes: Codes, k: int) -> None:
    """One colour and marker for each class; many samples get small ones."""
    size = _dot(len(Z))
    edges = {"edgecolors": "white", "linewidths": 0.4 * size / LARGEST_DOT}
    style: dict[str, Any] = {**edges, "rasterized": len(Z) > DOTS_AS_SHAPES, "zorder": 3}
    for code in range(k):
        own: dict[str, Any] = {"color": _colour(code), "marker": _marker(code), "label": code}
        x, y = Z[codes == code, :2].T
        axes.scatter(x, y, s=size, **own, **style)


def _dot(n: int) -> float:
    return float(np.clip(9000 / n, SMALLEST_DOT, LARGEST_DOT))


def _histograms(axes: Axes, z: Vector, codes: Codes, k: int) -> None:
    axes.hist(
        [z[codes == code] for code in range(k)],
        bins=np.histogram_bin_edges(z, BINS).tolist(),
        stacked=True,
        color=[_colour(code) for code in range(k)],
        hatch=[HATCHES[code % len(HATCHES)] for code in range(k)],
        edgecolor="white",
        linewidth=0.4,
        label=[f"{code}" for code in range(k)],
    )


def _legend_of_regions(figure: Figure, regions: Regions, apart: float | None) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    texts = []
    share = regions.share
    for code, label in enumerate(regions.labels.tolist()):
        style: dict[str, Any] = {"marker": _marker(code), "color": _colour(code), "linestyle": ""}
        marker = Line2D([], [], markeredgecolor="white", markeredgewidth=0.4, **style)
        handles.append((Patch(facecolor=tint(_colour(code))), marker))
        texts.append(f"{label}\n{_percent(share[label])} of the area")
    without = {"indeterminate": share[None], "undecided": regions.undecided_share}
    for (name, part), hatch in zip(without.items(), NO_CLASS_HATCHES.values(), strict=True):
        if part:
            style = {"facecolor": tint(NOWHERE), "edgecolor": NOWHERE, "linewidth": 0}
            handles.append(Patch(hatch=hatch, **style))
            texts.append(f"{name}\n{_percent(part)} of the area")
    if apart is not None:
        handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 3))))
        texts.append(f"margins\n{apart:.3g} apart")
    spacing = {"handlelength": 2.2, "handleheight": 1.9, "labelspacing": 0.9}
    figure.legend(handles, texts, loc="outside right upper", **spacing, **_LEGEND_STYLE)


def _axis_label(transformer: Any, axis: int) -> str:
    name = f"axis {axis + 1}"
    if hasattr(transformer, "scatter_ratio_"):
        return f"{name}, between / within scatter {transformer.scatter_ratio_[axis]:.3g}"
    if hasattr(transformer, "explained_variance_ratio_"):
        return f"{name}, {_percent(transformer.explained_variance_ratio_[axis])} of the variance"
    return name


def _percent(share: float) -> str:
    """A share as a person reads it; a small one is not called none.

    >>> _percent(0.0), _percent(0.0001), _percent(0.25)
    ('0.0 %', 'below 0.1 %', '25.0 %')
    """
    return "below 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _colour(code: int) -> str:
    return COLOURS[code % len(COLOURS)]


def _marker(code: int) -> str:
    return MARKERS[code % len(MARKERS)]


def tint(colour: str) -> tuple[float, ...]:
    """The colour mixed with white.

    >>> tint("#000000")
    (0.76, 0.76, 0.76)
    """
    levels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(1 - TINT * (1 - level) for level in levels)
