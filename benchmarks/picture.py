"""Draw the README's figure from the tables of RESULTS.md.

All bars are of one machine, and both times of a bar are of one run: a section is written by one run only.
"""

import math
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from benchmarks.results import SCALED, read_sections

FILE = Path(__file__).parents[1] / "docs" / "measured.svg"
BARS = {  # (section, beginning of the row's name): name in the figure
    ("mnist_60k", "MNIST 60k, predict"): "SVC, MNIST 60,000: predict 10,000",
    ("usps_grid", "USPS grid"): "SVCCV, USPS 7,291: 8 C, 6 gamma, 5 folds",
    ("adult", "a9a, fit"): "SVC, a9a 32,561, sparse: fit",
    ("mnist_60k", "MNIST 60k, fit"): "SVC, MNIST 60,000: fit",
    ("neighbors_mnist", "MNIST 60k, 5 neighbours"): "Nearest neighbours, MNIST: 10,000 queries",
    ("linear", "linear Perceptron (argmax)"): "Perceptron, MNIST 60,000: one pass",
    ("discriminants", "LDA, 1,000,000"): "Linear discriminant, 1,000,000 x 30: fit",
    ("discriminants", "QDA, 1,000,000"): "Quadratic discriminant, 1,000,000 x 30: fit",
    ("logistic", "LogisticRegression, 1,000,000"): "Logistic regression, 1,000,000 x 20: fit",
    ("least_squares", "LeastSquaresClassifier, MNIST 60k, ten"): "Least squares, MNIST 60,000: fit",
}
WIDTH, ROW, TOP = 440, 46, 8
STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; font-size: 14px }
.factor { font-weight: 600; text-anchor: end }
.times { fill: #59636e; font-size: 12.5px }
.bar { fill: #3b6ea5 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .times { fill: #9da7b1 } .bar { fill: #6ea8e0 } }
"""


class Bar(NamedTuple):
    """One comparison, and the sentence that says when and where it was measured."""

    name: str
    factor: float
    times: str
    measured: str


def read_bars(results):
    """The rows to show, largest factor first; ValueError if one is missing, estimated or of another machine."""
    sections = read_sections(results)
    bars = [find_bar(sections, *place, name) for place, name in BARS.items()]
    machines = {bar.measured.split(": ", 1)[1] for bar in bars}
    if len(machines) > 1:
        raise ValueError(f"the figure needs sections of one machine; got {sorted(machines)}")
    return sorted(bars, key=lambda bar: -bar.factor)


def find_bar(sections, section, start, name):
    """A row of a section as a bar."""
    rows, measured = sections.get(section, ([], ""))
    for row in rows:
        if not row["what"].startswith(start):
            continue
        factor = re.match(r"([\d.]+)x faster$", row["ratio"])
        if factor is None or SCALED.search(row["peer"]):
            raise ValueError(f"not a measured comparison in section {section!r}: {row}")
        peer = row["peer"].split(" (")[0]
        return Bar(name, float(factor[1]), f"{row['separatrix']}, {peer}", measured)
    raise ValueError(f"section {section!r} has no row that begins with {start!r}")


def draw(results):
    """Write the figure; readable at the width of a phone, in light and in dark mode."""
    FILE.write_text(as_svg(read_bars(results)), encoding="utf-8")


def as_svg(bars):
    """The figure: a line of text and a bar on a log scale for each comparison, date and machine below."""
    widest = math.log10(max(bar.factor for bar in bars))
    parts = []
    for number, bar in enumerate(bars):
        y = TOP + number * ROW
        width = max(2.0, (WIDTH - 16) * math.log10(max(bar.factor, 1.0)) / widest)
        parts += [
            f'<text x="8" y="{y + 14}">{escape(bar.name)}</text>',
            f'<text class="factor" x="{WIDTH - 8}" y="{y + 14}">{bar.factor:g}x</text>',
            f'<rect class="bar" x="8" y="{y + 19}" width="{width:.1f}" height="5" rx="1"/>',
            f'<text class="times" x="8" y="{y + 37}">{escape(bar.times)}</text>',
        ]
    captions = ["Times faster (log scale), both measured in one run.", *describe_runs(bars)]
    height = TOP + len(bars) * ROW + 17 * len(captions) + 6
    parts += [
        f'<text class="times" x="8" y="{TOP + len(bars) * ROW + 17 * n + 14}">{escape(line)}</text>'
        for n, line in enumerate(captions)
    ]
    title = "Times faster than peers: " + ", ".join(f"{bar.name} {bar.factor:g}x" for bar in bars)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def describe_runs(bars):
    """When and where the bars were measured, in short lines."""
    dates = sorted({re.search(r"\d{4}-\d\d-\d\d", bar.measured)[0] for bar in bars})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machine = bars[0].measured.split(": ", 1)[1].rstrip(".")
    processor, cores, *versions = machine.split(", ")
    return [f"{days}, {processor}, {cores}, {versions[0]},", ", ".join(versions[1:])]
