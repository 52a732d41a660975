"""`plot_*` of a fitted model or a result; each returns a matplotlib figure and needs no display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.counts import count_of
from separatrix.errors import DataError, missing_package
from separatrix.evaluation.result import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISTAKES = "Reds"  # one hue: darker is more
SCORES = "viridis"  # lighter is better
INK = "#333333"
# a class has one colour and one marker in every picture: Okabe and Ito's colours, then three of Tol's
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442"),
    *("#882255", "#999933", "#332288"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")  # 9 to 10: pairs repeat after 90 classes


MOST_WITH_SD = 12  # classes of a confusion matrix with standard deviations


def plot_confusion(evaluation: Evaluation) -> Figure:
    """Mean share of each class's test rows predicted as another class, with its sd, in per cent.

    Parameters
    ----------
    evaluation
        A result of `evaluate`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, evaluate
    >>> X, y = load_iris(return_X_y=True)
    >>> found = evaluate(SVC(), X, y, repeats=3, progress=False)
    >>> plot_confusion(found).axes[0].get_title()
    'Mistakes, % of each class (3 splits)'
    """
    mean, sd = (100 * table for table in evaluation.confusion())
    figure, axes, image = draw_confusion(mean, sd, evaluation.classes)
    axes.set_title(
        f"Mistakes, % of each class ({count_of(len(evaluation.splits), 'split')})", fontsize=10
    )
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def draw_confusion(mean: Any, sd: Any, labels: Any) -> tuple[Figure, Any, Any]:
    """Confusions (k, k) as a heat map with mean and sd in each cell: figure, axes and image."""
    k = len(labels)
    many = k > MOST_WITH_SD  # only whole per cent have room
    side = 0.34 if many else 0.52
    figure, axes = new_axes(1.6 + (side if many else 0.62) * k, 1.2 + side * k)
    image = axes.imshow(mean, cmap=MISTAKES, vmin=0)

    def write(a: int, b: int) -> str:
        if a == b or mean[a, b] <= 0:
            return ""
        if many:
            return f"{mean[a, b]:.0f}" if mean[a, b] >= 0.5 else ""
        return f"{mean[a, b]:.2f}\n±{sd[a, b]:.2f}"

    texts = [[write(a, b) for b in range(k)] for a in range(k)]
    write_cells(axes, texts, mean > 0.6 * mean.max())
    name_confusion_axes(axes, labels)
    return figure, axes, image


def write_cells(axes: Any, texts: Any, dark: Any, *, fontsize: float = 7) -> None:
    """Write a text into each cell of a heat map, white on dark cells."""
    for a, line in enumerate(texts):
        for b, text in enumerate(line):
            if text:
                ink = "white" if dark[a][b] else INK
                axes.text(b, a, text, ha="center", va="center", fontsize=fontsize, color=ink)


def name_confusion_axes(axes: Any, labels: Any) -> None:
    """Classes in rows, predicted classes in columns."""
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="predicted class", ylabel="true class")


def plot_hardest(
    evaluation: Evaluation, images: Any, shape: tuple[int, int], count: int = 5
) -> Figure:
    """The rows misclassified most often as images, each with its label and its prediction.

    Parameters
    ----------
    evaluation
        A result of `evaluate`.
    images
        One row of pixels for each sample, (n, d).
    shape
        Height and width of an image.
    count
        Number of rows to show.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import NearestCentroid, evaluate
    >>> X, y = load_digits(return_X_y=True)
    >>> found = evaluate(NearestCentroid(), X, y, repeats=3, progress=False)
    >>> len(plot_hardest(found, X, (8, 8), count=4).axes)
    4
    """
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
            f"row {row}: labelled {evaluation.y[row]},\npredicted as {guess} ({share:.0%} wrong)",
            fontsize=8,
        )
        axes.set_axis_off()
    return figure


def plot_features(model: Any, *, names: Any = None, shape: tuple[int, int] | None = None) -> Figure:
    """|w| for each feature of a linear model, one panel for each boundary, the bias left out.

    With `shape` features are drawn as pixels, otherwise as bars.

    Parameters
    ----------
    model
        A fitted linear model, with `coef_`.
    names
        Names of the features.
    shape
        Height and width, where features are pixels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> iris = load_iris()
    >>> model = LogisticRegression().fit(iris.data, iris.target)
    >>> len(plot_features(model, names=iris.feature_names).axes)
    3
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
    """Number of corrected samples in every pass of a perceptron.

    Parameters
    ----------
    model
        A fitted perceptron, with `mistakes_`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KernelPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> plot_learning_curve(KernelPerceptron().fit(X[:100], y[:100])).axes[0].get_xlabel()
    'pass'
    """
    figure, axes = new_axes(4.5, 3)
    axes.plot(np.arange(1, len(model.mistakes_) + 1), model.mistakes_, marker="o", color=INK)
    axes.set(xlabel="pass", ylabel="corrected samples")
    axes.set_ylim(bottom=0)
    return figure


def plot_grid(search: Any) -> Figure:
    """Mean accuracy of every cell of a search over C and kernels, in per cent; the best one is framed.

    Parameters
    ----------
    search
        A fitted `SVCCV`, `KernelLogisticRegressionCV` or grid search over C and a kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVCCV
    >>> search = SVCCV(Cs=[1, 10], gammas=[0.1, 1.0]).fit(*load_iris(return_X_y=True))
    >>> plot_grid(search).axes[0].get_ylabel()
    'C'
    """
    table = search.cv_results_
    Cs = list(dict.fromkeys(table["param_C"]))
    names = [_name_of(cell) for cell in table["params"]]
    kernels = list(dict.fromkeys(names))
    scores = 100 * np.asarray(table["mean_test_score"]).reshape(len(Cs), len(kernels))
    figure, axes = new_axes(2.2 + 0.75 * len(kernels), 1.8 + 0.45 * len(Cs))
    image = axes.imshow(scores, cmap=SCORES, aspect="auto")
    middle = (scores.min() + scores.max()) / 2
    write_cells(axes, [[f"{score:.1f}" for score in line] for line in scores], scores < middle)
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
    """An empty figure of this size in inches, without a display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_package("matplotlib", "report") from None
    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def new_axes(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """An empty figure and its axes, or an array of them."""
    figure = new_figure(width, height)
    return figure, figure.subplots(rows, columns, **options)
