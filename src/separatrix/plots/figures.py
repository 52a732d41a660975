"""`plot_*` of a fitted model or a result: each returns a matplotlib figure, drawn without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import DataError, MissingPackageError
from separatrix.evaluation.result import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISTAKES = "Reds"  # one hue, light to dark: how much
SCORES = "viridis"  # light is good
INK = "#333333"


def plot_confusion(evaluation: Evaluation) -> Figure:
    """Which class is taken for which: mean share of each class's test rows, with its sd, in per cent."""
    mean, sd = (100 * table for table in evaluation.confusion())
    k = len(evaluation.classes)
    figure = new_figure(1.6 + 0.62 * k, 1.2 + 0.52 * k)
    axes = figure.add_subplot()
    image = axes.imshow(mean, cmap=MISTAKES, vmin=0)
    for a in range(k):
        for b in range(k):
            if a != b and mean[a, b] > 0:
                dark = mean[a, b] > 0.6 * mean.max()
                axes.text(
                    b,
                    a,
                    f"{mean[a, b]:.2f}\n±{sd[a, b]:.2f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else INK,
                )
    axes.set_xticks(range(k), evaluation.classes)
    axes.set_yticks(range(k), evaluation.classes)
    axes.set_xlabel("taken for")
    axes.set_ylabel("is")
    axes.set_title(f"Mistakes, % of each class ({len(evaluation.splits)} splits)", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def plot_hardest(
    evaluation: Evaluation, images: Any, shape: tuple[int, int], count: int = 5
) -> Figure:
    """The rows mistaken most often, drawn, with their label and what they are taken for."""
    if images.shape[1] != shape[0] * shape[1]:
        raise DataError(
            f"images of {shape[0]} x {shape[1]} have {shape[0] * shape[1]} pixels; got {images.shape[1]}"
        )
    hardest = evaluation.hardest(count)
    figure = new_figure(1.9 * len(hardest), 2.6)
    for position, (row, share, guess) in enumerate(hardest, start=1):
        axes = figure.add_subplot(1, len(hardest), position)
        axes.imshow(np.asarray(images[row], dtype=float).reshape(shape), cmap="gray_r")
        axes.set_title(
            f"row {row}: labelled {evaluation.y[row]},\ntaken for {guess} ({share:.0%} wrong)",
            fontsize=8,
        )
        axes.set_axis_off()
    return figure


def plot_features(model: Any, *, names: Any = None, shape: tuple[int, int] | None = None) -> Figure:
    """|w| for each feature of a linear model, one panel for each boundary, the bias left out.

    With `shape` features are drawn as pixels, otherwise as bars.
    """
    weights = np.abs(np.asarray(model.coef_))
    titles = (
        [f"{label}" for label in model.classes_] if len(weights) > 1 else [f"{model.classes_[1]}"]
    )
    columns = min(5, len(weights))
    lines = -(-len(weights) // columns)
    figure = new_figure(2.4 * columns, 2.3 * lines)
    names = range(weights.shape[1]) if names is None else names
    for position, (row, title) in enumerate(zip(weights, titles, strict=True), start=1):
        axes = figure.add_subplot(lines, columns, position)
        if shape is None:
            axes.bar(np.arange(len(row)), row, color=INK)
            if len(row) <= 12:
                axes.set_xticks(np.arange(len(row)), list(names), rotation=60, fontsize=7)
        else:
            axes.imshow(row.reshape(shape), cmap="Greys")
            axes.set_axis_off()
        axes.set_title(f"|w| for {title}", fontsize=9)
    return figure


def plot_learning_curve(model: Any) -> Figure:
    """Number of samples mistaken in every pass of a perceptron."""
    figure = new_figure(4.5, 3)
    axes = figure.add_subplot()
    axes.plot(np.arange(1, len(model.mistakes_) + 1), model.mistakes_, marker="o", color=INK)
    axes.set_xlabel("pass")
    axes.set_ylabel("samples mistaken")
    axes.set_ylim(bottom=0)
    return figure


def plot_grid(search: Any) -> Figure:
    """Mean accuracy of every cell of a search over C and kernels, in per cent; the best one is framed."""
    table = search.cv_results_
    Cs = list(dict.fromkeys(table["param_C"]))
    names = [_name_of(cell) for cell in table["params"]]
    kernels = list(dict.fromkeys(names))
    scores = 100 * np.asarray(table["mean_test_score"]).reshape(len(Cs), len(kernels))
    figure = new_figure(2.2 + 0.75 * len(kernels), 1.8 + 0.45 * len(Cs))
    axes = figure.add_subplot()
    image = axes.imshow(scores, cmap=SCORES, aspect="auto")
    middle = (scores.min() + scores.max()) / 2
    for c, line in enumerate(scores):
        for g, score in enumerate(line):
            ink = "white" if score < middle else INK
            axes.text(g, c, f"{score:.1f}", ha="center", va="center", fontsize=7, color=ink)
    best = divmod(search.best_index_, len(kernels))
    axes.plot(best[1], best[0], marker="s", markersize=24, fillstyle="none", color="red")
    axes.set_xticks(range(len(kernels)), kernels, rotation=40, ha="right", fontsize=7)
    axes.set_yticks(range(len(Cs)), [f"{C:g}" for C in Cs], fontsize=7)
    axes.set_ylabel("C")
    axes.set_title("Mean accuracy over the folds, %", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def _name_of(cell: dict[str, Any]) -> str:
    """What a cell of a search changes beside C."""
    words = [
        repr(value) if name == "kernel" else f"{name.removeprefix('kernel__')}={value}"
        for name, value in cell.items()
        if name != "C"
    ]
    return ", ".join(words)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, which needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackageError(
            "matplotlib is not installed; install it with: pip install 'separatrix[report]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained", dpi=150)
