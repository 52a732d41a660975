"""Draw the README's figure from the tables of RESULTS.md."""

import re
from pathlib import Path

from matplotlib.figure import Figure

FILE = Path(__file__).parents[1] / "docs" / "measured.svg"
NAMES = {
    "MNIST 60k, fit": "SVC, MNIST 60k, fit",
    "MNIST 60k, predict": "SVC, MNIST 60k, predict 10k",
    "MNIST 10k, fit": "SVC, MNIST 10k, fit",
    "a9a, fit": "SVC, a9a, sparse, fit",
    "USPS grid": "SVCCV, USPS, 8 C x 6 gamma x 5 folds",
    "USPS, 20 splits x": "kernel perceptron, USPS, 20 splits x 7 degrees",
    "linear Perceptron (argmax), MNIST": "linear perceptron, MNIST, one pass",
    "LDA, svd, MNIST": "linear discriminant, MNIST 60k, 200 axes",
    "QDA, svd, 1,000,000": "quadratic discriminant, 1,000,000 x 30",
    "LogisticRegression, 1,000,000": "logistic regression, 1,000,000 x 20",
    "LeastSquaresClassifier, MNIST 60k, ten": "least squares, MNIST 60k",
    "MNIST 60k, 5 neighbours": "nearest neighbours, MNIST 60k, 10k queries",
    "MNIST 60k, Manhattan": "nearest neighbours, the same, Manhattan",
}


def read_bars(results):
    """(name, factor, label) of the rows to show, largest factor first; a row of the GPU's tables is none of them."""
    bars = {}
    for line in results.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        faster = re.match(r"([\d.]+)x faster", cells[3]) if len(cells) == 5 else None
        if faster is None or cells[2].startswith("ours"):
            continue
        for start, name in NAMES.items():
            if cells[0].startswith(start):
                label = f"{cells[3]} ({re.split(' [(]| from ', cells[2])[0]} / {cells[1]})"
                bars.setdefault(name, (name, float(faster[1]), label))
    return sorted(bars.values(), key=lambda bar: -bar[1])


def draw(results):
    """Write the figure."""
    bars = read_bars(results)
    figure = Figure(figsize=(9, 0.42 * len(bars) + 0.8), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(
        [name for name, _, _ in bars], [ratio for _, ratio, _ in bars], color="#3b6ea5", height=0.6
    )
    for index, (_, ratio, label) in enumerate(bars):
        axes.text(ratio * 1.08, index, label, va="center", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(1, 100 * max(ratio for _, ratio, _ in bars))
    axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    axes.minorticks_off()
    axes.invert_yaxis()
    axes.set_xlabel("times faster on the same machine (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FILE, metadata={"Date": None})
