"""The demonstration: a comparison on the built-in digits, its page and two figures."""

from __future__ import annotations

from pathlib import Path

from separatrix.data.catalogue import load
from separatrix.evaluation.compare import compare
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.samples import check_samples
from separatrix.evaluation.suite import suite
from separatrix.plots.figures import plot_confusion, plot_hardest
from separatrix.report.closer_look import inspect_best
from separatrix.report.comparison_page import write_report
from separatrix.runtime.atomic_files import atomic_write

FOLDS = 5


def run_demo(
    out: Path, *, repeats: int = 2, progress: bool | None = None
) -> tuple[Comparison, list[Path]]:
    """Compare classifiers by repeated 5-fold cross-validation; write the page and figures to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    digits = load("digits")
    samples = check_samples(digits.X, digits.y)
    models = suite(samples)
    comparison = compare(models, samples, cv=FOLDS, repeats=repeats, progress=progress)
    best = comparison.evaluations[comparison.best]
    assert digits.image is not None
    pictures = {
        "confusion.png": plot_confusion(best),
        "hardest.png": plot_hardest(best, digits.X, digits.image),
    }
    for name, figure in pictures.items():
        with atomic_write(out / name) as temporary:
            figure.savefig(temporary, format="png")
    more = inspect_best(comparison, models, samples)
    page = write_report(comparison, out / "report.html", digits, command="separatrix demo", **more)
    return comparison, [*(out / name for name in pictures), page]
