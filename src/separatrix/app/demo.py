"""The demonstration: every classifier that suits the built-in digits, a page and two pictures."""

from __future__ import annotations

from pathlib import Path

from separatrix.data.catalogue import load
from separatrix.evaluation.compare import Comparison, compare
from separatrix.evaluation.suite import suite
from separatrix.plots.figures import plot_confusion, plot_hardest
from separatrix.report.closer_look import closer_look
from separatrix.report.comparison_page import write_report
from separatrix.runtime.atomic_files import atomic_write

FOLDS = 5


def run_demo(
    out: Path, *, repeats: int = 2, progress: bool | None = None
) -> tuple[Comparison, list[Path]]:
    """Compare on five folds of the digits, drawn `repeats` times; the page and pictures go to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    digits = load("digits")
    models = suite(digits.X, digits.y)
    comparison = compare(models, digits.X, digits.y, cv=FOLDS, repeats=repeats, progress=progress)
    best = comparison.evaluations[comparison.best]
    assert digits.image is not None
    pictures = {
        "confusion.png": plot_confusion(best),
        "hardest.png": plot_hardest(best, digits.X, digits.image),
    }
    for name, figure in pictures.items():
        with atomic_write(out / name) as temporary:
            figure.savefig(temporary, format="png")
    more = closer_look(comparison, models, digits)
    page = write_report(comparison, out / "report.html", digits, command="separatrix demo", **more)
    return comparison, [*(out / name for name in pictures), page]
