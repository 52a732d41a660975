"""The page of `promoters`: errors of leave-one-out, with and without sequences that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.promoters_steps import ANY, DEGREE, GAPS, ONE, RELATED, SHARED, SPECTRUM
from separatrix.studies.reproduce import command_of, facts_of, python_of
from separatrix.studies.sequence_pages import (
    choices_section,
    class_errors,
    confusion_section,
    count,
    data_section,
    drawn_errors,
    guesses,
    labels,
    outcome,
    seconds_of,
    truth_of,
)

WAYS = (ONE, RELATED)
FAMILIES = (DEGREE, SPECTRUM, GAPS)
PUBLISHED = {  # errors of 106 in leave-one-out, as the UCI archive lists them
    "KBANN": 4,
    "neural network (backpropagation)": 8,
    "O'Neill": 12,
    "nearest neighbour": 13,
    "ID3": 19,
}


def page(results: Results) -> Page:
    """From the table alone."""
    n = count(results, "sequences")
    plain, honest = (outcome(results, way, ANY) for way in WAYS)
    degree = [outcome(results, way, DEGREE) for way in WAYS]
    words = [outcome(results, way, SPECTRUM) for way in WAYS]
    summary = [
        f"Chosen from all three families of kernels inside each training part, the machine makes "
        f"{plain:.0f} errors of {n} when one sequence is left out, and {honest:.0f} when the sequences "
        "that overlap with it are left out too.",
        f"The weighted degree, which compares letters at the same place, makes {degree[0]:.0f} and "
        f"{degree[1]:.0f}. Words wherever they are (the spectrum) make {words[0]:.0f} and then "
        f"{words[1]:.0f}; the difference is what overlapping sequences give away.",
    ]
    return Page(
        title=results.title,
        summary=summary,
        sections=[
            _data(results),
            _errors(results),
            _mistaken(results),
            confusion_section(results, RELATED, ANY, truth_of(results)),
            choices_section(results, WAYS, (*FAMILIES, ANY)),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _data(results: Results) -> Section:
    n = count(results, "sequences")
    words = [
        f"Sequences that share {SHARED} letters in a row, or are linked by others that do, are relatives "
        f"here: {count(results, 'in_groups')} of {n} have at least one. With one sequence left out, its "
        "relatives stay in the training part, and tell its class to any kernel that sees shifted words. "
        "Numbers are commonly got like that, so it is done here too; then all is done again "
        "with relatives left out together, inside the training parts as well.",
    ]
    if results.options["data"] == "promoters":
        words.insert(
            0,
            "Two classes: stretches of DNA with a promoter (+) and without (-). Those without were cut "
            "from one longer stretch, and many overlap: the same letters, shifted.",
        )
    return data_section(results, words, f"groups of relatives ({SHARED} letters shared)")


def _errors(results: Results) -> Section:
    n = count(results, "sequences")
    published = PUBLISHED if _is_published(results) else {}
    families = (*FAMILIES, ANY)
    names = labels(results)
    rows: list[tuple[Any, ...]] = []
    for family in families:
        for way in WAYS:
            errors = outcome(results, way, family)
            by_class = class_errors(results, way, family)
            counted = [f"{by_class[name]:.1f}" for name in names]
            seconds = f"{seconds_of(results, family):.1f}" if family != ANY else None
            accuracy = f"{100 * (1 - errors / n):.1f}"
            rows.append((family, way, int(errors), accuracy, *counted, seconds))
    rows += [
        (f"published: {name}", ONE, errors, f"{100 * (1 - errors / n):.1f}", None, None, None)
        for name, errors in published.items()
    ]
    columns = (
        *("kernels", "held out", f"errors of {n}", "accuracy %"),
        *(f"error % of {name}" for name in names),
        "seconds, both",
    )
    table = Table(
        columns, rows, "Support vector machines; kernel and C chosen without the test row."
    )
    lines = {name: 100 * errors / n for name, errors in published.items()}
    figure, drawn = drawn_errors(results, WAYS, families, lines)
    paragraphs = [
        "Each family of kernels has a nested choice of its own, of its parameters and of C; the last "
        "line chooses from all of them at once.",
    ]
    if published:
        paragraphs.append(
            "Published numbers are plain leave-one-out, as the UCI archive lists them."
        )
    caption = "Errors of each family in both ways" + (
        "; lines are published." if published else "."
    )
    return Section("Errors", paragraphs, [table, Picture(figure, caption, drawn)])


def _mistaken(results: Results) -> Section:
    """Every row that some family gets wrong."""
    truth, names = truth_of(results), labels(results)
    families = (*FAMILIES, ANY)
    wrong = {
        (way, family): guesses(results, way, family) != truth for way in WAYS for family in families
    }
    chosen = np.array([wrong[way, ANY] for way in WAYS])
    rows = []
    for row in np.flatnonzero(np.any(list(wrong.values()), axis=0)).tolist():
        by = [
            ", ".join(family for family in families if wrong[way, family][row]) or None
            for way in WAYS
        ]
        rows.append((row, names[truth[row]], *by))
    listed = [", ".join(map(str, np.flatnonzero(line).tolist())) or "none" for line in chosen]
    paragraphs = [
        f"The choice from all three is wrong on rows {listed[0]} with {ONE}, and on rows {listed[1]} "
        f"with {RELATED}. Rows are counted from 0, in the order of the file"
        + ("." if results.options["subsample"] is None else " after sub-sampling."),
    ]
    columns = ("row", "class", *(f"wrong with {way}" for way in WAYS))
    return Section("Sequences that are mistaken", paragraphs, [Table(columns, rows, "By whom.")])


def _is_published(results: Results) -> bool:
    return results.options["data"] == "promoters" and results.options["subsample"] is None
