"""Pictures of probabilities and of the decisions made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.counts import count_of
from separatrix.errors import DataError
from separatrix.estimators.decision import CostCurve
from separatrix.evaluation.result import Evaluation
from separatrix.plots.figures import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALE = "#bbbbbb"


def plot_reliability(evaluation: Evaluation, bins: int = 10) -> Figure:
    """What was predicted against what came true, and how many rows each bin holds.

    On the diagonal probabilities are what they say; below it they are too high.

    Parameters
    ----------
    evaluation
        A result of `evaluate`, of a classifier with probabilities.
    bins
        Number of bins from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from separatrix import evaluate
    >>> found = evaluate(GaussianNB(), *load_iris(return_X_y=True), repeats=3)
    >>> [axes.get_ylabel() for axes in plot_reliability(found).axes]
    ['share right', 'rows']
    """
    found = evaluation.reliability(bins)
    filled = found.count > 0
    two = len(evaluation.classes) == 2
    figure = new_figure(4.5, 4.8)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=PALE, linestyle="--", linewidth=1)
    above.plot(found.confidence[filled], found.share[filled], marker="o", color=INK, clip_on=False)
    above.set_xlim(0, 1)
    above.set_ylim(-0.03, 1.03)
    above.set_ylabel(f"share of class {evaluation.classes[1]}" if two else "share right")
    above.set_title(
        f"{evaluation.name}: expected calibration error "
        f"{found.expected_calibration_error:.3f}\n"
        f"({count_of(len(evaluation.splits), 'split')}, {found.count.sum()} predictions)",
        fontsize=10,
    )
    below.bar(found.edges[:-1], found.count, width=1 / bins, align="edge", color=INK, ec="white")
    below.set_yscale("log")  # so that bins of a few rows are seen
    below.set_ylim(bottom=0.5)
    below.set_ylabel("rows")
    below.set_xlabel(
        f"probability of class {evaluation.classes[1]}"
        if two
        else "probability of the likeliest class"
    )
    return figure


def plot_costs(curve: CostCurve | Mapping[str, CostCurve]) -> Figure:
    """Mean cost against the threshold, the best one marked; several curves come by name.

    Parameters
    ----------
    curve
        A `CostCurve` of `BayesDecision`, or several by name.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from separatrix.estimators.decision import BayesDecision
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesDecision(GaussianNB(), [[0, 10], [1, 0]], threshold="tune").fit(X, y)
    >>> plot_costs(model.held_out_curve_).axes[0].get_xlabel()
    'threshold'
    """
    curves = {"": curve} if isinstance(curve, CostCurve) else dict(curve)
    if not curves:
        raise DataError("plot_costs needs at least one curve; got none")
    figure = new_figure(5.0, 3.4)
    axes = figure.add_subplot()
    for position, (name, one) in enumerate(curves.items()):
        color = INK if len(curves) == 1 else f"C{position}"
        best = f"best {one.best_cost:.3g} at {one.best_threshold:.6g}"
        # a cost holds from just above the threshold before it; the last one, never, is drawn up to 1
        ends = np.concatenate([[0.0], np.minimum(one.thresholds, 1.0)])
        costs = np.concatenate([one.mean_cost[:1], one.mean_cost])
        axes.step(ends, costs, where="pre", color=color, linewidth=1.2)
        style: dict[str, Any] = {"marker": "o", "linestyle": "none", "clip_on": False}
        label = f"{name}: {best}" if name else best
        axes.plot(min(one.best_threshold, 1.0), one.best_cost, color=color, label=label, **style)
    axes.set_xlim(0, 1)
    if min(one.mean_cost.min() for one in curves.values()) >= 0:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("threshold")
    axes.set_ylabel("mean cost")
    axes.legend(fontsize=8, frameon=False)
    return figure
