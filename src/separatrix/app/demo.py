"""The demonstration: a comparison on the built-in digits, its page and two figures."""

from __future__ import annotations

from pathlib import Path

from separatrix.app.compare_file import compare_data
from separatrix.app.compilation import compile_models, is_compiled
from separatrix.data.catalogue import load
from separatrix.estimators.registry import SUITE
from separatrix.evaluation.comparison import Comparison
from separatrix.plots.figures import plot_confusion, plot_hardest
from separatrix.runtime.atomic_files import atomic_write


def run_demo(
    out: Path, *, repeats: int = 2, progress: bool | None = None
) -> tuple[Comparison, list[Path]]:
    """Compare classifiers by repeated 5-fold cross-validation; write the page and figures to `out`.

    On a machine where nothing is compiled yet, that is done first, on all cores.
    """
    digits = load("digits")
    out.mkdir(parents=True, exist_ok=True)  # before work that takes a while
    if not is_compiled():
        models = {record.name for _, record in SUITE.values()}
        compile_models(sorted(models), tables=["dense"], progress=progress)
    comparison, page, _ = compare_data("digits", repeats=repeats, out=out, progress=progress)
    best = comparison.evaluations[comparison.best]
    assert digits.image is not None
    assert page is not None
    figures = {
        out / "confusion.png": plot_confusion(best),
        out / "hardest.png": plot_hardest(best, digits.X, digits.image),
    }
    for path, figure in figures.items():
        with atomic_write(path) as temporary:
            figure.savefig(temporary, format="png")
    return comparison, [*figures, page]
