"""Several lines that separate two classes, each with its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import DataError
from separatrix.plots.figures import COLOURS, INK, new_axes
from separatrix.plots.region_figures import draw_classes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 3
BAND = 0.18  # opacity


def margin_of(w: Any, b: float, X: Any, second: Any) -> float:
    """Distance from the line <w, x> + b = 0 to the nearest sample; negative if it does not separate.

    `second` marks the samples, (n, d), that should have positive scores.

    >>> margin_of([0.0, 2.0], -1.0, np.array([[0.0, 0.0], [3.0, 2.0]]), np.array([False, True]))
    0.5
    """
    w = np.asarray(w, dtype=np.float64)
    side = np.where(second, 1.0, -1.0)
    return float((side * (np.asarray(X) @ w + b)).min() / np.linalg.norm(w))


def plot_separators(
    lines: Mapping[str, Any], X: Any, y: Any, *, names: Sequence[str] | None = None
) -> Figure:
    """Draw one panel for each line: the line, the band without samples around it, and its margin.

    Parameters
    ----------
    lines
        Fitted linear models of two classes by name, or pairs (w, b) of weights, (2,), and bias.
    X, y
        Samples with two features, (n, 2), and labels of two classes, (n,).
    names
        Names of the two features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[:100, 2:], y[:100]
    >>> models = {"perceptron": Perceptron(), "largest margin": SVC(C=1e6, kernel="linear")}
    >>> figure = plot_separators({name: model.fit(X, y) for name, model in models.items()}, X, y)
    >>> figure.axes[1].get_title()
    'largest margin\\nmargin 0.652'
    """
    X = np.asarray(X, dtype=np.float64)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if X.ndim != 2 or X.shape[1] != 2 or len(classes) != 2:
        raise DataError(
            f"plot_separators needs 2 features and 2 classes; got X of shape {X.shape} and "
            f"{len(classes)} classes"
        )
    if not lines:
        raise DataError("plot_separators needs at least one line; got none")
    columns = min(COLUMNS, len(lines))
    rows = -(-len(lines) // columns)
    low, high = X.min(axis=0), X.max(axis=0)
    tall = float(np.clip((high[1] - low[1]) / ((high[0] - low[0]) or 1.0), 0.4, 2.0))
    size = (2.6 * columns + 0.6, (2.4 * tall + 0.6) * rows + 0.4)
    figure, grid = new_axes(*size, rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(lines) :]:
        axes.remove()
    edge = 0.08 * (high - low) + 1e-12
    for axes, (name, line) in zip(grid.flat, lines.items(), strict=False):
        w, b = _weights(name, line)
        margin = margin_of(w, b, X, codes == 1)
        axes.set(xlim=(low[0] - edge[0], high[0] + edge[0]))
        axes.set(ylim=(low[1] - edge[1], high[1] + edge[1]))
        axes.set_aspect("equal")  # otherwise bands of different slopes could not be compared
        _draw_line(axes, w, b, max(margin, 0.0))
        draw_classes(axes, X, codes, 2)
        words = f"margin {margin:.3g}" if margin > 0 else "does not separate"
        axes.set_title(f"{name}\n{words}", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel(names[1] if names else "feature 2")
    for axes in figure.axes[-columns:]:
        axes.set_xlabel(names[0] if names else "feature 1")
    return figure


def _weights(name: str, line: Any) -> tuple[Any, float]:
    if isinstance(line, tuple):
        w, b = np.asarray(line[0], dtype=np.float64), float(line[1])
    elif not hasattr(line, "coef_"):
        raise DataError(f"{name!r} of plot_separators must be a fitted linear model or (w, b)")
    else:
        w = np.atleast_2d(np.asarray(line.coef_, dtype=np.float64))[0]
        b = float(np.ravel(line.intercept_)[0])
    if w.shape != (2,) or not np.linalg.norm(w) > 0:
        raise DataError(f"{name!r} of plot_separators must have 2 weights, not both 0; got {w}")
    return w, b


def _draw_line(axes: Any, w: Any, b: float, margin: float) -> None:
    """The line, and the band at most `margin` away from it, clipped by the axes."""
    unit = w / np.linalg.norm(w)
    foot = -b * w / (w @ w)
    along = np.array([-unit[1], unit[0]])
    reach = 1e3 * (np.abs(foot).max() + np.ptp(axes.get_xlim()) + np.ptp(axes.get_ylim()))
    ends = np.array([foot - reach * along, foot + reach * along])
    if margin > 0:
        corners = [*(ends + margin * unit), *(ends - margin * unit)[::-1]]
        axes.fill(*np.transpose(corners), color=COLOURS[1], alpha=BAND, linewidth=0, zorder=1)
        for shift in (margin, -margin):
            style = {"color": INK, "linestyle": "--", "linewidth": 0.8}
            axes.plot(*(ends + shift * unit).T, scalex=False, scaley=False, zorder=2, **style)
    axes.plot(*ends.T, color=INK, linewidth=1.6, scalex=False, scaley=False, zorder=2)
