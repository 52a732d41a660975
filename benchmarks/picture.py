"""The README's picture, drawn from the rows of a benchmark run."""

import re
from pathlib import Path

from matplotlib.figure import Figure

FILE = Path(__file__).parents[1] / "docs" / "measured.svg"
NAMES = {
    "USPS, 20 splits": "kernel perceptron study\nUSPS, 20 splits x 7 degrees\nagainst NumPy",
    "linear Perceptron (argmax), MNIST": "linear perceptron, one pass\nMNIST 60k\nagainst scikit-learn",
    "linear Perceptron (two classes), a9a": "linear perceptron, one pass\na9a, sparse\nagainst scikit-learn",
}


def draw(rows):
    bars = []
    for row in rows:
        for start, name in NAMES.items():
            faster = re.match(r"([\d.]+)x faster", row.ratio)
            if row.what.startswith(start) and faster:
                bars.append(
                    (
                        name,
                        float(faster[1]),
                        f"{row.ratio} ({row.peer.split(' (')[0]} / {row.ours})",
                    )
                )
    figure = Figure(figsize=(8, 0.85 * len(bars) + 0.9), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(
        [name for name, _, _ in bars], [ratio for _, ratio, _ in bars], color="#3b6ea5", height=0.55
    )
    for place, (_, ratio, label) in enumerate(bars):
        axes.text(ratio * 1.08, place, label, va="center", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(1, 30 * max(ratio for _, ratio, _ in bars))
    axes.invert_yaxis()
    axes.set_xlabel("times faster, same machine, same run (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FILE, metadata={"Date": None})
