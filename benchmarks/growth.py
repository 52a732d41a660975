"""Plot of fit time against the number of rows."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[1] / "docs" / "growth.svg"


def draw(sizes, times, peer_times):
    """Draw both curves on log axes; returns the exponents of their power laws."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    exponents = []
    curves = (("separatrix", times, "#3b6ea5"), ("scikit-learn", peer_times, "#b0532b"))
    for name, values, colour in curves:
        slope = np.polyfit(np.log(sizes[: len(values)]), np.log(values), 1)[0]
        exponents.append(slope)
        axes.loglog(
            sizes[: len(values)], values, marker="o", color=colour, label=f"{name}: n^{slope:.2f}"
        )
    axes.set_xlabel("rows of MNIST")
    axes.set_ylabel("seconds to fit SVC")
    axes.set_xticks(sizes, [f"{n // 1000}k" for n in sizes])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(FILE, metadata={"Date": None})
    return exponents
