"""Compare classifiers on the wine data: a leaderboard with confidence intervals, and a report.

The table goes to stdout, the report to demo-output/wine.html.
"""

from __future__ import annotations

from pathlib import Path

from separatrix import compare
from separatrix.data.catalogue import load
from separatrix.evaluation.suite import suite
from separatrix.report.closer_look import inspect_best
from separatrix.report.comparison_page import write_report


def main() -> None:
    """Compare, print the models that do not differ significantly from the best, write the report."""
    wine = load("wine")
    models = suite(wine.X, wine.y)
    comparison = compare(models, wine.X, wine.y, cv=5, progress=False)
    print(comparison)
    similar = [row["model"] for row in comparison.rows()[1:] if row["p_holm"] > 0.05]
    print(f"\nno significant difference from {comparison.best}: {', '.join(similar) or 'none'}")
    out = Path("demo-output")
    out.mkdir(exist_ok=True)
    more = inspect_best(comparison, models, wine)
    print(f"wrote {write_report(comparison, out / 'wine.html', wine, **more)}")


if __name__ == "__main__":
    main()
