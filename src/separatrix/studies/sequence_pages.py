"""Sections and values that the pages of `splice` and `promoters` share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from separatrix.experiments.steps import Results
from separatrix.plots.figures import INK, MISTAKES, name_confusion_axes, new_axes, write_cells
from separatrix.report.page import Picture, Section, Table
from separatrix.studies.sequence_study import BASES, DATA
from separatrix.studies.views import metric_values, row_params

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73")  # distinct for colour-blind readers
MARKS = ("o", "s", "^")
MOST_CHOICES = 3  # settings listed for each family


def count(results: Results, metric: str) -> int:
    """A number of the data."""
    return int(results.values(part=DATA, metric=metric)[0])


def class_names(results: Results) -> list[str]:
    """The classes, in order."""
    found = results.where(part=DATA, metric="class_size")
    return [str(row_params(row)["class"]) for row in found]


def chosen_metric(results: Results, scheme: str, family: str, metric: str = "errors") -> float:
    """A metric of the models that the folds of a family chose."""
    return float(results.values(part=scheme, model=family, metric=metric)[0])


def class_errors(results: Results, scheme: str, family: str) -> dict[str, float]:
    """Error of each class in per cent."""
    return {
        str(row_params(row)["class"]): 100 * row.value
        for row in results.where(part=scheme, model=family, metric="class_error")
    }


def family_seconds(results: Results, family: str) -> float:
    """Time of all steps of a family, under all schemes."""
    return float(sum(row.seconds for row in results.where(model=family, metric="error_if_alone")))


def is_complete(results: Results, data: str) -> bool:
    """Whether the run covers the data set of the published numbers."""
    return results.options["data"] == data and results.options["subsample"] is None


def data_section(results: Results, words: Sequence[str], groups: str) -> Section:
    """Sizes of the data set, its groups, and letters that are not bases."""
    names = {
        "sequences": "sequences",
        "shortest": "letters of the shortest",
        "longest": "letters of the longest",
        "distinct": "different sequences",
        "groups": groups,
        "largest_group": "sequences of the largest group",
        "in_groups": "sequences in groups of two or more",
        "letters": "letters",
        "letters_that_are_no_base": f"letters other than {BASES}",
    }
    counts = metric_values(results, part=DATA)
    rows = [
        *(
            (f"sequences of class {row_params(row)['class']}", int(row.value))
            for row in results.where(part=DATA, metric="class_size")
        ),
        *((name, int(counts[metric])) for metric, name in names.items()),
        *(
            (f"letters {row_params(row)['letter']}", int(row.value))
            for row in results.where(part=DATA, metric="letter")
        ),
    ]
    table = Table(("what", "number"), rows, f"Seed {results.options['seed']} draws all folds.")
    return Section("Data", words, [table])


def choices_section(results: Results, schemes: Sequence[str], families: Sequence[str]) -> Section:
    """The settings that inner folds chose most often."""
    rows = []
    for scheme in schemes:
        for family in families:
            chosen = results.where(part=scheme, model=family, metric="chosen_error")
            texts = Counter(format_settings(row.parameters) for row in chosen)
            for position, (text, times) in enumerate(texts.most_common(MOST_CHOICES)):
                first = (scheme, family) if position == 0 else ("", "")
                rows.append((*first, text, f"{times} of {len(chosen)}"))
    caption = f"The {MOST_CHOICES} settings chosen most often, over all training parts."
    table = Table(("held out", "model", "chosen", "parts"), rows, caption)
    words = [
        "Folds inside each training part choose kernels, C and all other parameters; the chosen model "
        "predicts the held-out rows. Of equals the first, and simplest, is taken."
    ]
    return Section("Settings chosen by the folds", words, [table])


def format_settings(parameters: str) -> str:
    """The parameters of a row as a short text.

    >>> format_settings('{"C": 1.0, "k": 4, "kernel": "WeightedDegree"}')
    'WeightedDegree, k 4, C 1'
    """
    found = json.loads(parameters)
    first = [str(found.pop("kernel"))] if "kernel" in found else []
    rest = sorted(found.items(), key=lambda item: (item[0] == "C", item[0]))
    numbers = (int, float)
    return ", ".join(
        first + [f"{name} {v:g}" if isinstance(v, numbers) else f"{name} {v}" for name, v in rest]
    )


def plot_errors(
    results: Results,
    schemes: Sequence[str],
    families: Sequence[str],
    published: Mapping[str, float],
) -> tuple[Figure, Table]:
    """Errors in per cent of all rows, a marker for each scheme, lines for published errors."""
    figure, axes = new_axes(7.0, 1.3 + 0.34 * len(families) + 1.2 * bool(published))
    positions = np.arange(len(families))[::-1]
    n = count(results, "sequences")
    errors = [
        [100 * chosen_metric(results, scheme, family) / n for family in families]
        for scheme in schemes
    ]
    for scheme, line, colour, mark in zip(schemes, errors, COLOURS, MARKS, strict=False):
        axes.plot(line, positions, linestyle="", marker=mark, color=colour, label=scheme)
    text = {"rotation": 60, "fontsize": 7, "color": INK, "ha": "left", "va": "bottom"}
    for name, error in published.items():
        axes.axvline(error, color=INK, linestyle=":", linewidth=0.8)
        axes.text(error, len(families) - 0.3, name, **text)
    axes.set_yticks(positions, families)
    axes.set(ylim=(-0.6, len(families) - 0.4), xlabel="error, % of all sequences")
    axes.set_xlim(left=0)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=len(schemes))
    rows = list(zip(families, *errors, strict=True))
    columns = ("model", *(f"error %, {scheme}" for scheme in schemes))
    return figure, Table(columns, rows, "As in the figure.")


def confusion_section(results: Results, scheme: str, family: str) -> Section:
    """Predicted class by class, over all rows."""
    names = class_names(results)
    k = len(names)
    table = np.zeros((k, k), dtype=np.intp)
    np.add.at(
        table, (results.arrays[DATA]["y"], results.arrays[f"{scheme}: {family}"]["predicted"]), 1
    )
    shares = 100 * table / table.sum(axis=1, keepdims=True)
    mistakes = shares * (1 - np.eye(k))
    figure, axes = new_axes(2.2 + 0.8 * k, 1.4 + 0.62 * k)
    axes.imshow(mistakes, cmap=MISTAKES, vmin=0)
    texts = [[f"{table[a, b]}\n{shares[a, b]:.2f} %" for b in range(k)] for a in range(k)]
    write_cells(axes, texts, mistakes > max(0.6 * mistakes.max(), 1e-12), fontsize=8)
    name_confusion_axes(axes, names)
    rows = [(names[a], *map(int, table[a])) for a in range(k)]
    numbers = Table(("is, predicted as", *names), rows, "Sequences, each held out once.")
    caption = f"Predicted class by class for {family}: sequences, and per cent of their class."
    words = [
        f"{family}, {scheme}: every sequence is predicted once, by a model trained without it."
    ]
    return Section("Confusions", words, [Picture(figure, caption, numbers)])
