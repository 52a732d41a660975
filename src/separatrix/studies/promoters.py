"""Promoters of E. coli by string kernels under leave-one-out, all settings chosen inside training parts.

The sequences without a promoter were cut from one stretch of DNA, and most of them overlap: 52 of the 53
share 14 letters or more in a row with another. A kernel on words finds the words of an overlapping
sequence in the training part. So there are two schemes: leave one row out, as published, and leave out
all rows that overlap with it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from separatrix.experiments.steps import Experiment, Results
from separatrix.kernels import Kernel, Normalized, Spectrum, Subsequence, WeightedDegree
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies import sequence_pages as pages
from separatrix.studies import sequence_study as sequences
from separatrix.studies.sequence_study import DATA, sequence_experiment, svm_candidates
from separatrix.studies.views import study_page

NAME = "promoters"
ONE, RELATED = SCHEMES = ("one row left out", "its relatives left out too")
DEGREE, SPECTRUM, GAPS = "weighted degree", "spectrum", "subsequence"
ANY = "any of the three"
FAMILIES = (DEGREE, SPECTRUM, GAPS, ANY)
SHARED = 12  # letters in a row: no two sequences of different classes share as many
CS = (0.1, 1.0, 10.0, 100.0)
FOLDS = 10  # inside each training part
QUICK_ROWS = 40
PUBLISHED = {  # errors of 106 in leave-one-out, from the UCI archive
    "KBANN": 4,
    "neural network (backpropagation)": 8,
    "O'Neill": 12,
    "nearest neighbour": 13,
    "ID3": 19,
}


def kernels(quick: bool) -> dict[str, Sequence[Kernel]]:
    """Kernels of each family, the simplest first."""
    longest, words, gapped = (4, 3, 3) if quick else (10, 6, 5)
    decays = (0.5,) if quick else (0.3, 0.5, 0.7, 0.9)
    one = [Spectrum(k) for k in range(1, words + 1)]
    all_lengths = [Spectrum(k, shortest=1) for k in range(2, words + 1)]
    found: dict[str, Sequence[Kernel]] = {
        DEGREE: [WeightedDegree(k) for k in range(1, longest + 1)],
        SPECTRUM: [*one, *all_lengths],
        GAPS: [Subsequence(k, decay) for decay in decays for k in range(2, gapped + 1)],
    }
    return {name: [Normalized(kernel) for kernel in some] for name, some in found.items()}


def experiment(
    *, quick: bool = False, seed: int = 0, data: str = "promoters", subsample: int | None = None
) -> Experiment:
    """Leave-one-out of three families of kernels, each with its own nested choice, and of all three.

    A quick run has 40 sequences (`subsample`) and fewer kernels.
    """
    inner: dict[str, Any] = {"inner": 3 if quick else FOLDS, "seed": seed}
    return sequence_experiment(
        NAME,
        "Promoters by string kernels",
        {"quick": quick, "seed": seed, "data": data, "subsample": subsample},
        fewest=8,
        quick_rows=QUICK_ROWS,
        groups=partial(sequences.group_related, letters=SHARED),
        schemes={
            ONE: partial(sequences.leave_one_out_scheme, **inner),
            RELATED: partial(sequences.leave_group_out_scheme, **inner),
        },
        families={name: svm_candidates(some, CS) for name, some in kernels(quick).items()},
        unions={ANY: (DEGREE, SPECTRUM, GAPS)},
    )


def page(results: Results) -> Page:
    """Errors of leave-one-out, with and without overlapping sequences."""
    n = pages.count(results, "sequences")
    errors = {
        family: [f"{pages.chosen_metric(results, scheme, family):.0f}" for scheme in SCHEMES]
        for family in FAMILIES
    }
    summary = [
        f"Chosen from all three families of kernels inside each training part, the SVM makes "
        f"{errors[ANY][0]} errors of {n} if one sequence is left out, and {errors[ANY][1]} if overlapping "
        "sequences are left out with it.",
        "The weighted degree, which compares letters at the same position, makes "
        f"{' and '.join(errors[DEGREE])}. The spectrum, words at any position, makes "
        f"{' and then '.join(errors[SPECTRUM])}; the difference is due to overlapping sequences.",
    ]
    sections = [
        _data(results),
        _errors(results),
        _misclassified(results),
        pages.confusion_section(results, RELATED, ANY),
        pages.choices_section(results, SCHEMES, FAMILIES),
    ]
    return study_page(results, summary, sections)


def _data(results: Results) -> Section:
    n = pages.count(results, "sequences")
    words = [
        f"Sequences that share {SHARED} letters in a row, or are linked by others that do, are called "
        f"relatives: {pages.count(results, 'in_groups')} of {n} have at least one. With one sequence "
        "left out, its relatives stay in the training part and reveal its class to any kernel on words. "
        "Published numbers are of this kind; the second scheme leaves relatives out together, inside the "
        "training parts as well."
    ]
    if results.options["data"] == "promoters":
        words.insert(
            0,
            "Two classes: stretches of DNA with a promoter (+) and without (-). Those without were cut "
            "from one longer stretch, and many overlap: the same letters, shifted.",
        )
    return pages.data_section(results, words, f"groups of relatives ({SHARED} letters shared)")


def _errors(results: Results) -> Section:
    n = pages.count(results, "sequences")
    published = PUBLISHED if pages.is_complete(results, NAME) else {}
    names = pages.class_names(results)
    rows: list[tuple[Any, ...]] = []
    for family in FAMILIES:
        for scheme in SCHEMES:
            errors = pages.chosen_metric(results, scheme, family)
            by_class = pages.class_errors(results, scheme, family)
            seconds = f"{pages.family_seconds(results, family):.1f}" if family != ANY else None
            about = (family, scheme, int(errors), f"{100 * (1 - errors / n):.1f}")
            rows.append((*about, *(f"{by_class[name]:.1f}" for name in names), seconds))
    rows += [
        (f"published: {name}", ONE, errors, f"{100 * (1 - errors / n):.1f}", None, None, None)
        for name, errors in published.items()
    ]
    columns = (
        *("kernels", "held out", f"errors of {n}", "accuracy %"),
        *(f"error % of {name}" for name in names),
        "seconds, both",
    )
    table = Table(columns, rows, "SVMs; kernel and C are chosen without the test row.")
    lines = {name: 100 * errors / n for name, errors in published.items()}
    figure, numbers = pages.plot_errors(results, SCHEMES, FAMILIES, lines)
    words = [
        "Each family of kernels has its own nested choice of parameters and C; the last line chooses "
        "from all of them."
    ]
    caption = "Errors of each family under both schemes."
    if published:
        words.append("Published numbers are plain leave-one-out, from the UCI archive.")
        caption = "Errors of each family under both schemes; lines are published errors."
    return Section("Errors", words, [table, Picture(figure, caption, numbers)])


def _misclassified(results: Results) -> Section:
    """Every row that some family misclassifies."""
    truth, names = results.arrays[DATA]["y"], pages.class_names(results)
    wrong = {
        (scheme, family): results.arrays[f"{scheme}: {family}"]["predicted"] != truth
        for scheme in SCHEMES
        for family in FAMILIES
    }
    rows = []
    for row in np.flatnonzero(np.any(list(wrong.values()), axis=0)).tolist():
        by = [", ".join(f for f in FAMILIES if wrong[scheme, f][row]) or None for scheme in SCHEMES]
        rows.append((row, names[truth[row]], *by))
    listed = [
        ", ".join(map(str, np.flatnonzero(wrong[scheme, ANY]).tolist())) or "none"
        for scheme in SCHEMES
    ]
    after = "" if results.options["subsample"] is None else " after sub-sampling"
    words = [
        f"The choice from all three misclassifies rows {listed[0]} with {ONE}, and rows {listed[1]} with "
        f"{RELATED}. Rows are counted from 0, in the order of the file{after}."
    ]
    columns = ("row", "class", *(f"wrong with {scheme}" for scheme in SCHEMES))
    return Section("Misclassified sequences", words, [Table(columns, rows, "By family.")])
