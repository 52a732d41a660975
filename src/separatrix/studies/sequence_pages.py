"""What the pages of `splice` and `promoters` have in common: data, outcomes, choices, confusions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, MISTAKES, new_figure
from separatrix.plots.tables import Table
from separatrix.report.page import Picture, Section
from separatrix.studies.sequence_candidates import settings
from separatrix.studies.sequence_study import BASES, DATA

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by every eye
MARKS = ("o", "s", "^")
MOST_CHOICES = 3  # settings listed for each family


def count(results: Results, metric: str) -> int:
    """A number of the data."""
    return int(results.values(part=DATA, metric=metric)[0])


def labels(results: Results) -> list[str]:
    """The classes, in order."""
    found = results.where(part=DATA, metric="class_size")
    return [str(json.loads(row.parameters)["class"]) for row in found]


def outcome(results: Results, way: str, family: str, metric: str = "errors") -> float:
    """A number of what a family's choice got."""
    return float(results.values(part=way, model=family, metric=metric)[0])


def class_errors(results: Results, way: str, family: str) -> dict[str, float]:
    """Share of each class that a family's choice got wrong, in per cent."""
    return {
        str(json.loads(row.parameters)["class"]): 100 * row.value
        for row in results.where(part=way, model=family, metric="class_error")
    }


def guesses(results: Results, way: str, family: str) -> Any:  # shape: (n,)
    """What each row was taken for, as codes."""
    return results.arrays[f"{way}: {family}"]["predicted"]


def data_section(results: Results, words: Sequence[str], groups: str) -> Section:
    """How many sequences there are, which letters are no base, and which sequences belong together."""
    sizes = results.where(part=DATA, metric="class_size")
    rows: list[tuple[Any, ...]] = [
        (f"sequences of class {json.loads(row.parameters)['class']}", int(row.value))
        for row in sizes
    ]
    rows += [
        ("sequences", count(results, "sequences")),
        ("letters of the shortest", count(results, "shortest")),
        ("letters of the longest", count(results, "longest")),
        ("different sequences", count(results, "distinct")),
        (groups, count(results, "groups")),
        ("sequences of the largest group", count(results, "largest_group")),
        ("sequences in groups of two or more", count(results, "in_groups")),
        ("letters", count(results, "letters")),
        (f"letters that are none of {BASES}", count(results, "letters_that_are_no_base")),
    ]
    rows += [
        (f"letters {json.loads(row.parameters)['letter']}", int(row.value))
        for row in results.where(part=DATA, metric="letter")
    ]
    table = Table(("what", "number"), rows, f"Seed {results.options['seed']} draws all folds.")
    return Section("Data", words, [table])


def choices_section(results: Results, ways: Sequence[str], families: Sequence[str]) -> Section:
    """What the folds inside the training parts chose most often."""
    rows = []
    for way in ways:
        for family in families:
            chosen = results.where(part=way, model=family, metric="chosen_error")
            counts = Counter(settings(row.parameters) for row in chosen)
            for position, (how, times) in enumerate(counts.most_common(MOST_CHOICES)):
                first = (way, family) if position == 0 else ("", "")
                rows.append((*first, how, f"{times} of {len(chosen)}"))
    table = Table(
        ("held out", "model", "chosen", "parts"),
        rows,
        f"The {MOST_CHOICES} settings chosen most often, in all parts that were held out.",
    )
    words = [
        "Kernels, C and all other parameters are chosen by folds inside each training part. The rows "
        "that are held out are classified by what was chosen without them; of equals the first, and "
        "simplest, is taken."
    ]
    return Section("What the folds choose", words, [table])


def drawn_errors(
    results: Results, ways: Sequence[str], families: Sequence[str], published: dict[str, float]
) -> tuple[Figure, Table]:
    """Errors in per cent of all rows: a mark for each way, and lines for what was published."""
    figure = new_figure(7.0, 1.3 + 0.34 * len(families) + 1.2 * bool(published))
    axes = figure.add_subplot()
    positions = np.arange(len(families))[::-1]
    n = count(results, "sequences")
    errors = [[100 * outcome(results, way, family) / n for family in families] for way in ways]
    for way, line, colour, mark in zip(ways, errors, COLOURS, MARKS, strict=False):
        axes.plot(line, positions, linestyle="", marker=mark, color=colour, label=way)
    for name, error in published.items():
        axes.axvline(error, color=INK, linestyle=":", linewidth=0.8)
        top = len(families) - 0.3
        axes.text(error, top, name, rotation=60, fontsize=7, color=INK, ha="left", va="bottom")
    axes.set_yticks(positions, families)
    axes.set_ylim(-0.6, len(families) - 0.4)
    axes.set_xlim(left=0)
    axes.set_xlabel("error, % of all sequences")
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=len(ways))
    rows = list(zip(families, *errors, strict=True))
    return figure, Table(("model", *(f"error %, {way}" for way in ways)), rows, "As drawn.")


def confusion_section(results: Results, way: str, family: str, truth: Any) -> Section:
    """Which class is taken for which, counted over all rows."""
    names = labels(results)
    k = len(names)
    table = np.zeros((k, k), dtype=np.intp)
    np.add.at(table, (truth, guesses(results, way, family)), 1)
    shares = 100 * table / table.sum(axis=1, keepdims=True)
    mistakes = shares * (1 - np.eye(k))
    figure = new_figure(2.2 + 0.8 * k, 1.4 + 0.62 * k)
    axes = figure.add_subplot()
    axes.imshow(mistakes, cmap=MISTAKES, vmin=0)
    for a in range(k):
        for b in range(k):
            dark = mistakes[a, b] > 0.6 * mistakes.max() > 0
            words = f"{table[a, b]}\n{shares[a, b]:.2f} %"
            ink = "white" if dark else INK
            axes.text(b, a, words, ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(range(k), names)
    axes.set_yticks(range(k), names)
    axes.set_xlabel("taken for")
    axes.set_ylabel("is")
    rows = [(names[a], *(int(number) for number in table[a])) for a in range(k)]
    numbers = Table(("is, taken for", *names), rows, "Sequences, each held out once.")
    caption = f"Which class is taken for which by {family}: sequences, and per cent of their class."
    paragraphs = [f"By {family}, {way}: every sequence once, by what was learned without it."]
    return Section("Confusions", paragraphs, [Picture(figure, caption, numbers)])


def truth_of(results: Results) -> Any:  # shape: (n,)
    """The class of each row, as codes."""
    return results.arrays[DATA]["y"]


def seconds_of(results: Results, family: str) -> float:
    """Time of all steps of a family, in all ways."""
    return float(sum(row.seconds for row in results.where(model=family, metric="error_if_alone")))
