"""The page of a comparison: which classifier is best, how certain that is, and where it goes wrong.

Each section is a function that gives None where it does not apply; such sections are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from separatrix.data.catalogue import dataset_card, names
from separatrix.data.dataset import Dataset, concatenate_parts
from separatrix.estimators.registry import TITLES
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.hashes import hash_of
from separatrix.evaluation.importance import Importance
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.statistics import format_difference
from separatrix.modelfile.model_card import versions_here
from separatrix.report import comparison_models as models
from separatrix.report import comparison_sections as parts
from separatrix.report.comparison_curves import classes_section, curves_section
from separatrix.report.data_section import data_section, importance_section
from separatrix.report.page import Page, write
from separatrix.runtime.threads import thread_count

MOST_NAMED = 5  # in the summary; the leaderboard has all
MOST_DOUBTS = 2
BRIEF = (
    "This is a short page, as the budget was short: a longer --budget adds which columns matter, "
    "calibration, the learning curve and the rows that are hardest."
)


def write_report(
    comparison: Comparison, path: Path, data: Dataset | None = None, **more: Any
) -> Path:
    """Write the page of a comparison to a file; `more` as in `comparison_page`."""
    return write(comparison_page(comparison, data=data, **more), Path(path))


def comparison_page(
    comparison: Comparison,
    *,
    data: Dataset | None = None,
    command: str = "",
    python: str = "",
    fitted: Mapping[str, Any] | None = None,
    sizes: Mapping[int, Evaluation] | None = None,
    importance: Sequence[Importance] = (),
    notes: Sequence[str] = (),
    doubts: Sequence[str] = (),
    steps: Sequence[str] = (),
    facts: Mapping[str, Any] | None = None,
    brief: bool = False,
) -> Page:
    """The page of a comparison.

    Parameters
    ----------
    comparison
        What `compare` found.
    data
        The samples that were compared on; with them the hardest are shown as they are.
    command, python
        How to get the same again.
    fitted
        Models fitted to `data`, by their names in the comparison: for the regions, weights and support
        vectors of the best one, and what its search tried.
    sizes, importance
        Evaluations of the best classifier by the number of rows it was trained on; rise of its error by
        each column. `inspect_best` finds all three.
    notes
        How the data was read, and its problems, in sentences.
    doubts
        Those of the notes that make the errors uncertain: the first are in the summary.
    steps
        Commands to run next.
    facts
        What to report besides versions, threads and the hash of the data.
    brief
        Only the leaderboard, the data, confusions and what was not tried, which are soon drawn.
    """
    rows = comparison.rows()
    protocol = _protocol(comparison)
    fitted = fitted or {}
    best = comparison.evaluations[comparison.best]
    rows_of = _compared_rows(data, len(best.y))
    soon = (
        parts.leaderboard_section(rows, protocol),
        data_section(rows_of, notes),
        parts.confusion_section(comparison.best, best),
    )
    sections = (
        ()
        if brief
        else (
            parts.hardest_section(comparison.best, best, rows_of),
            parts.sizes_section(comparison.best, sizes or {}),
            models.parameters_section(rows, fitted),
            importance_section(comparison.best, importance),
            parts.calibration_section(comparison.best, best),
            curves_section(comparison, rows),
            classes_section(comparison.best, best),
            models.regions_section(comparison.best, fitted.get(comparison.best), data),
            models.features_section([row["model"] for row in rows], fitted, data),
            parts.times_section(rows),
        )
    )
    sections = (*soon, *sections, parts.others_section(comparison))
    return Page(
        title=f"Classifiers compared on {data.name}"
        if data is not None
        else "Classifiers compared",
        summary=[*_summary(comparison, rows, best, protocol, doubts), *([BRIEF] if brief else [])],
        sections=[section for section in sections if section is not None],
        steps=steps,
        command=command,
        python=python or _python(comparison, data),
        facts={**_facts(comparison, data), **(facts or {})},
    )


def _summary(
    comparison: Comparison,
    rows: list[dict[str, Any]],
    best: Evaluation,
    protocol: str,
    doubts: Sequence[str],
) -> list[str]:
    first = next(row for row in rows if row["model"] == comparison.best)
    others = [row for row in rows if row["model"] not in (comparison.best, *comparison.baselines)]
    bounds = f"{first['low']:.1f} to {first['high']:.1f}"
    error = f"{first['test_error']:.2f} % test error (95 % interval {bounds}), {_guess(best)}"
    level = [row["model"] for row in others if parts.is_level(row)]
    behind = [row for row in others if not parts.is_level(row)]
    name = str(first["model"])
    if others and comparison.not_tried:
        words = [f"Of the classifiers tried, {name} is best: {error}."]
    else:
        words = [f"{name[:1].upper()}{name[1:]}{' is best' if others else ''}: {error}."]
    words += filter(None, [comparison.warning])
    if others and len(best.splits) == 1:
        words.append(
            "A single split cannot show which models differ; a longer --budget gives more."
        )
    elif level:
        words.append(f"It is not significantly better than {_list(level)}.")
    if behind and len(best.splits) > 1:
        words.append(_describe_gap(behind, rest="the others" if level else "all others"))
    if not first["converged"]:
        words.append("Some of its fits did not converge, so a longer fit may differ.")
    words += [f"Careful: {doubt}." for doubt in doubts[:MOST_DOUBTS]]
    return [*words, *filter(None, [comparison.verdict]), _describe_rows(best, protocol)]


def _describe_gap(rows: list[dict[str, Any]], rest: str) -> str:
    nearest = rows[0]
    by = f"{format_difference(nearest['behind'], nearest['half_width'])} points"
    if len(rows) == 1:
        return f"It is significantly better than {nearest['model']}, by {by}."
    return f"It is significantly better than {rest}; the nearest is {nearest['model']}, behind by {by}."


def _protocol(comparison: Comparison) -> str:
    train, test = comparison.evaluations[comparison.best].splits[0]
    return f"{comparison.splits_in_words}, with {len(train)} training and {len(test)} test rows"


def _guess(best: Evaluation) -> str:
    labels, counts = np.unique(best.y, return_counts=True)
    error = 100 * (1 - counts.max() / counts.sum())
    return f"against {error:.1f} % of always predicting {labels[counts.argmax()]}"


def _describe_rows(best: Evaluation, protocol: str) -> str:
    labels = len(np.unique(best.y))
    words = f"There are {len(best.y):,} rows of {labels} classes; measured over {protocol}."
    mean, _ = best.confusion()
    if not mean.any():
        return words
    a, b = np.unravel_index(mean.argmax(), mean.shape)
    return (
        f"{words} Most frequent confusion: {best.classes[a]} predicted as {best.classes[b]}, "
        f"{100 * mean[a, b]:.1f} % of the rows of {best.classes[a]}."
    )


def _list(names: list[str]) -> str:
    """Names as an enumeration, shortened if there are many.

    >>> _list(["a", "b", "c"]), _list(["SVM, linear", "b"]), _list(list("abcdefg"))
    ('a, b and c', 'SVM, linear; and b', 'a, b, c, d and 3 others')
    """
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    if len(names) == 1:
        return names[0]
    if any("," in name for name in names):
        return f"{'; '.join(names[:-1])}; and {names[-1]}"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _python(comparison: Comparison, data: Dataset | None) -> str:
    """Python code of the comparison; empty if classifiers or data are not built in."""
    known = {title: key for key, title in TITLES.items()}
    tried = [*comparison.evaluations, *comparison.failed]
    how = comparison.protocol
    if how is None or how.grouped or not known.keys() >= set(tried) or not _in_catalogue(data):
        return ""
    split = f"test_size={how.test_size}" if how.cv is None else f"cv={how.cv}"
    keys = [known[name] for name in tried]
    return (
        "from separatrix import compare\n"
        "from separatrix.data.catalogue import load\n\n"
        f"data = load({data.name!r})\n"
        f"models = {keys!r}\n"
        f"print(compare(models, data.X, data.y, {split}, repeats={how.repeats}, "
        f"random_state={how.seed}, kind={data.kind!r}, folds={how.folds}))"
    )


def _compared_rows(data: Dataset | None, n: int) -> Dataset | None:
    """The n rows of the comparison; those of a given test part follow the others."""
    if data is None or data.y_test is None or len(data.y) == n:
        return data
    X, y = concatenate_parts(data)
    return replace(data, X=X, y=y, X_test=None, y_test=None)


def _in_catalogue(data: Dataset | None) -> TypeGuard[Dataset]:
    """Whether the name alone identifies the rows: not a file, and not a sub-sample."""
    return data is not None and data.name in names() and len(data.y) == dataset_card(data.name).rows


def _facts(comparison: Comparison, data: Dataset | None) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if data is not None:
        known = {"data": data.name, "SHA-256 of the data": hash_of(data)}
    if comparison.protocol is not None:
        known["seed"] = comparison.protocol.seed
    return {**known, **versions_here(), "threads": thread_count()}
