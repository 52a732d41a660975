"""Pictures of nearest neighbours: how many of them to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.plots.figures import COLOURS, INK, MARKERS, new_figure
from separatrix.types import Vector
from separatrix.validation import require_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 0.15  # opacity
MOST_BANDS = 2  # more of them would hide each other
MOST_TICKS = 12  # beside 1
PERCENT = 100.0


class AccuracyCurve(NamedTuple):
    """How often the neighbours are right."""

    accuracy: Vector  # shape: (k_max,); with 1, 2, ... of them
    n: int | None  # samples that were asked for


def plot_k(model: Any, *, n: Any = None, error: bool = False, ax: Axes | None = None) -> Figure:
    """Accuracy against the number of neighbours, the best one marked; several curves come by name.

    The band, with three curves and more a bar at the best, is one binomial standard error to each
    side: about what another draw of samples would change. It moves a curve mostly as a whole, so the
    difference between two values of k is more certain than that.

    Parameters
    ----------
    model
        A `KNeighborsClassifier` fitted with `k_max`, or a pipeline that ends in one; or accuracies
        with 1, 2, ... neighbours, as `score_by_k` gives them; or a dict of such by name.
    n
        Samples behind accuracies, for the band: a number, or a dict of numbers by name. Models know
        theirs.
    error
        Draw what is wrong, 100 % less the accuracy.
    ax
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KNeighborsClassifier
    >>> model = KNeighborsClassifier(k_max=30).fit(*load_iris(return_X_y=True))
    >>> plot_k(model).axes[0].get_legend().get_texts()[0].get_text()
    'each left out, n = 150: best 98.00 % at k = 19'
    """
    curves = _curves(model, n)
    axes = new_figure(5.4, 3.6).add_subplot() if ax is None else ax
    for position, (name, curve) in enumerate(curves.items()):
        color = INK if len(curves) == 1 else COLOURS[position % len(COLOURS)]
        rates = PERCENT * (1.0 - curve.accuracy if error else curve.accuracy)
        axes.plot(np.arange(1, len(rates) + 1), rates, color=color, linewidth=1.2)
        _draw_spread(axes, curve, rates, color, band=len(curves) <= MOST_BANDS)
        _mark_best(axes, name, curve, rates, color, position)
    if any(curve.n is not None for curve in curves.values()):
        _explain_spread(axes, band=len(curves) <= MOST_BANDS)
    axes.margins(x=0.02)
    if axes.get_xscale() == "linear":
        axes.set_xticks(_ticks(max(len(curve.accuracy) for curve in curves.values())))
    axes.set_xlabel("neighbours k")
    axes.set_ylabel("error, %" if error else "accuracy, %")
    axes.legend(fontsize=8, frameon=False)
    return axes.figure  # type: ignore[return-value]


def _curves(model: Any, n: Any) -> dict[str, AccuracyCurve]:
    """Curves by name, checked; a single one has no name, or says what a model did."""
    if not isinstance(model, Mapping):
        return {"each left out" if _is_model(model) else "": _curve(model, n)}
    if not model:
        raise DataError("plot_k needs at least one curve; got none")
    if not isinstance(n, Mapping):
        n = {name: n for name, one in model.items() if not _is_model(one)}
    if not n.keys() <= model.keys():
        raise ParameterError("plot_k", "n", f"a number, or by name, of {list(model)}", n)
    return {str(name): _curve(one, n.get(name)) for name, one in model.items()}


def _curve(model: Any, n: Any) -> AccuracyCurve:
    if _is_model(model):
        return _left_out(model, n)
    if n is not None:
        require_integer("plot_k", "n", n, least=1)
    accuracy: Vector = np.asarray(model, dtype=np.float64)
    if accuracy.ndim != 1 or not len(accuracy):
        raise DataError(
            f"a curve has one accuracy for each number of neighbours; got shape {accuracy.shape}"
        )
    outside = accuracy[~((accuracy >= 0) & (accuracy <= 1))]
    if len(outside):
        raise DataError(f"accuracies must be between 0 and 1; got {outside[0]:g}")
    return AccuracyCurve(accuracy, n)


def _left_out(model: Any, n: Any) -> AccuracyCurve:
    """What a model counted during its fit."""
    model = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(model)
    if not hasattr(model, "accuracy_by_k_"):
        must_be = "fitted with k_max, or accuracies such as model.score_by_k(X, y, 30)"
        raise ParameterError("plot_k", "model", must_be, model)
    if n is not None:
        raise ParameterError("plot_k", "n", "None for a model, which knows its samples", n)
    return AccuracyCurve(model.accuracy_by_k_, model.n_samples_fit_)


def _is_model(value: Any) -> bool:
    return hasattr(value, "fit")


def _draw_spread(
    axes: Axes, curve: AccuracyCurve, rates: Vector, color: str, *, band: bool
) -> None:
    """One standard error to each side, along the whole curve or at its best k."""
    if curve.n is None:
        return
    spread = PERCENT * np.sqrt(curve.accuracy * (1.0 - curve.accuracy) / curve.n)
    low, high = np.maximum(rates - spread, 0.0), np.minimum(rates + spread, PERCENT)
    if band:
        k = np.arange(1, len(rates) + 1)
        axes.fill_between(k, low, high, color=color, alpha=BAND, linewidth=0)
    else:
        best = curve.accuracy.argmax()
        axes.vlines(best + 1, low[best], high[best], color=color, linewidth=1.2)


def _explain_spread(axes: Axes, *, band: bool) -> None:
    label = "± 1 standard error"
    if band:
        axes.fill_between([], [], color=INK, alpha=BAND, linewidth=0, label=label)
    else:
        axes.plot([], [], color=INK, marker="|", markersize=9, linestyle="none", label=label)


def _mark_best(
    axes: Axes, name: str, curve: AccuracyCurve, rates: Vector, color: str, position: int
) -> None:
    best = int(curve.accuracy.argmax())
    how = ", ".join([name] * bool(name) + [f"n = {curve.n}"] * (curve.n is not None))
    label = f"best {rates[best]:.2f} % at k = {best + 1}"
    style: dict[str, Any] = {
        "marker": MARKERS[position % len(MARKERS)],
        "markersize": max(8 - position, 4),  # two at one position are both seen
        **{"markeredgecolor": "white", "markeredgewidth": 0.7, "linestyle": "none"},
    }
    label = f"{how}: {label}" if how else label
    axes.plot(best + 1, rates[best], color=color, label=label, clip_on=False, zorder=3, **style)


def _ticks(k_max: int) -> list[int]:
    """1 and round numbers.

    >>> _ticks(7), _ticks(40)
    ([1, 2, 3, 4, 5, 6, 7], [1, 5, 10, 15, 20, 25, 30, 35, 40])
    """
    if k_max <= MOST_TICKS:
        return list(range(1, k_max + 1))
    steps = (size * 10**power for power in range(18) for size in (5, 10, 20))
    step = next(step for step in steps if MOST_TICKS * step >= k_max)
    return [1, *range(step, k_max + 1, step)]
