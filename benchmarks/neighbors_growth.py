"""Plot of search time against the number of rows and of features."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[1] / "docs" / "neighbors_growth.svg"
COLOURS = {
    "separatrix": "#3b6ea5",
    "separatrix, noise": "#7fa6cf",
    "FAISS": "#b0532b",
    "scikit-learn brute": "#6b7a3a",
    "kd_tree": "#8a5a94",
}
GAP = 0.05  # between labels, relative to the height


def draw(*panels):
    """Draw panels side by side, each given by x label, x values and seconds by name at each value."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True)
    for axes, (what, values, times) in zip(all_axes, panels, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(what)
        axes.set_xticks(values, [f"{v:,}" for v in values])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        for name, colour in COLOURS.items():
            points = [(v, t[name]) for v, t in zip(values, times, strict=True) if name in t]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour)
    all_axes[0].set_ylabel("seconds for 1,000 queries")
    for axes, (_, values, times) in zip(all_axes, panels, strict=True):
        _label(axes, values, times)
    figure.savefig(FILE, metadata={"Date": None})


def _label(axes, values, times):
    """Label the last points; labels at the right edge do not overlap."""
    low, high = np.log(axes.get_ylim())
    last = {name: max(i for i, t in enumerate(times) if name in t) for name in COLOURS if any(name in t for t in times)}  # fmt: skip
    floor = -np.inf
    for name in sorted(last, key=lambda name: times[last[name]][name]):
        height = (np.log(times[last[name]][name]) - low) / (high - low)
        if last[name] == len(times) - 1:
            height = floor = max(height, floor + GAP)
        axes.annotate(
            name,
            (values[last[name]], height),
            xycoords=("data", "axes fraction"),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=COLOURS[name],
        )
