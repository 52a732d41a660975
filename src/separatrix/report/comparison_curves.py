"""Sections of a comparison's page on rankings: ROC and precision-recall curves, scores of each class."""

from __future__ import annotations

from typing import Any

from separatrix.data.counts import count_of
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.curves import MeanCurve, mean_precision, mean_roc
from separatrix.evaluation.result import Evaluation
from separatrix.plots.figures import new_figure
from separatrix.report.comparison_pictures import shorten_name
from separatrix.report.page import Picture, Section, Table

MOST_CURVES = 5


def curves_section(comparison: Comparison, rows: list[dict[str, Any]]) -> Section | None:
    """ROC and precision-recall curves of the best classifiers with probabilities or scores."""
    found = {row["model"]: comparison.evaluations[row["model"]] for row in rows}
    found = {name: one for name, one in found.items() if one.probabilities or one.scores}
    names = list(found)[:MOST_CURVES]
    if not names:
        return None
    roc = {name: mean_roc(found[name]) for name in names}
    precision = {name: mean_precision(found[name]) for name in names}
    classes = found[names[0]].classes
    of = f"class {classes[1]}" if len(classes) == 2 else "each class against the others, their mean"
    table = Table(
        ["classifier", "ROC AUC", "average precision"],
        [[name, f"{roc[name].area:.4f}", f"{precision[name].area:.4f}"] for name in names],
    )
    caption = (
        f"Curves of {of}, mean over the splits, of the best {len(names)} classifiers that rank rows. Left: "
        "the diagonal is chance. Right: precision where classes are rare falls sooner."
    )
    return Section("ROC and precision-recall", [], [Picture(_draw(roc, precision), caption, table)])


def _draw(roc: dict[str, MeanCurve], precision: dict[str, MeanCurve]) -> Any:
    figure = new_figure(8.4, 3.8)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="#bbbbbb", linestyle="--", linewidth=1)
    for axes, curves in ((left, roc), (right, precision)):
        for name, curve in curves.items():
            axes.plot(
                curve.x, curve.y, linewidth=1.2, label=f"{shorten_name(name, 24)} {curve.area:.3f}"
            )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        axes.legend(fontsize=7, frameon=False)
    left.set_xlabel("false positive rate")
    left.set_ylabel("true positive rate")
    right.set_xlabel("recall")
    right.set_ylabel("precision")
    return figure


def classes_section(name: str, found: Evaluation) -> Section:
    """Precision, recall and F1 of each class by the best classifier."""
    rows = [
        [
            str(row["class"]),
            f"{row['precision']:.4f}",
            f"{row['recall']:.4f}",
            f"{row['f1']:.4f}",
            row["rows"],
        ]
        for row in found.per_class()
    ]
    columns = ["class", "precision", "recall", "F1", "test rows"]
    caption = f"Means over {count_of(len(found.splits), 'split')} of {name}."
    return Section("Precision and recall", [], [Table(columns, rows, caption=caption)])
