"""Which classifier for these wines? A leaderboard with honest intervals, and a page to forward.

The table goes to stdout, the page to demo-output/wine.html.
"""

from __future__ import annotations

from pathlib import Path

from separatrix import compare
from separatrix.data.catalogue import load
from separatrix.evaluation.suite import suite
from separatrix.report.closer_look import closer_look
from separatrix.report.comparison_page import write_report


def main() -> None:
    """Compare, say who cannot be told from the best, write the page."""
    wine = load("wine")
    models = suite(wine.X, wine.y)
    comparison = compare(models, wine.X, wine.y, cv=5, progress=False)
    print(comparison)
    alike = [row["model"] for row in comparison.rows()[1:] if row["p_holm"] > 0.05]
    print(f"\nnot told from {comparison.best}: {', '.join(alike) or 'none'}")
    out = Path("demo-output")
    out.mkdir(exist_ok=True)
    more = closer_look(comparison, models, wine)
    print(f"wrote {write_report(comparison, out / 'wine.html', wine, **more)}")


if __name__ == "__main__":
    main()
