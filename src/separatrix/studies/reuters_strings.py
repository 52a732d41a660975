"""The page of `reuters-strings`: F1 beside what was published, against length and decay, and documents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import new_figure
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.reproduce import command_of, facts_of, python_of
from separatrix.studies.reuters_strings_steps import (
    CLASSES,
    DOCUMENTS,
    METRICS,
    QUICK_STUDY,
    RUNS,
    SUBSEQUENCES,
    WEIGHTED,
    WHOLE_STUDY,
    WORDS,
    Cs,
    choice_of,
)

# F1 for earn, acq, crude and corn; length 5, and a decay of 0.5
PUBLISHED = {SUBSEQUENCES: (0.936, 0.867, 0.936, 0.779), RUNS: (0.944, 0.882, 0.937, 0.847)}
LENGTH, DECAY = 5, 0.5
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#000000")
PARTS = (SUBSEQUENCES, RUNS, WORDS, WEIGHTED)

Cells = dict[tuple[Any, ...], list[float]]


def page(results: Results) -> Page:
    """From the table alone."""
    cells = values_of(results)
    gapped, runs = (_at_five(cells, part) for part in (SUBSEQUENCES, RUNS))
    sizes = QUICK_STUDY if results.options["quick"] else WHOLE_STUDY
    total = sum(sizes.train) + sum(sizes.test)
    summary = [
        f"F1 with subsequences of {LENGTH} letters and a decay of {DECAY:g} is {_listed(gapped)}; with "
        f"runs of {LENGTH} letters {_listed(runs)}; with words {_listed(_one(cells, WORDS))}.",
        f"{total} documents of R8, cut to {sizes.letters} letters, {sum(sizes.train)} to train and "
        f"{sum(sizes.test)} to test, mean of {results.options['repeats']} random divisions, seed "
        f"{results.options['seed']}. Corn is no class of R8; grain stands in for it.",
    ]
    return Page(
        title=results.title,
        summary=summary,
        sections=[
            _beside(results, cells),
            _lengths(results, cells),
            _choices(results, cells),
            _documents(results, sizes.letters),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def values_of(results: Results) -> Cells:
    """Values of all runs by part, class, metric, length and decay."""
    cells: Cells = {}
    for row in results.rows:
        if row.metric in METRICS:
            one = json.loads(row.parameters)
            chosen = row.part.endswith("chosen")
            what = (None, None) if chosen else (one.get("k"), one.get("decay"))
            cells.setdefault((row.part, one["class"], row.metric, *what), []).append(row.value)
    return cells


def _beside(results: Results, cells: Cells) -> Section:
    kinds: list[tuple[str, str, Any, Any]] = [
        (f"{SUBSEQUENCES} of {LENGTH}, decay {DECAY:g}", SUBSEQUENCES, LENGTH, DECAY),
        (choice_of(SUBSEQUENCES), choice_of(SUBSEQUENCES), None, None),
        (f"{RUNS}, {LENGTH} long", RUNS, LENGTH, None),
        (choice_of(RUNS), choice_of(RUNS), None, None),
        (WORDS, WORDS, None, None),
        (WEIGHTED, WEIGHTED, None, None),
    ]
    known = {} if results.options["quick"] else PUBLISHED
    figure = new_figure(7.4, 3.4)
    axes = figure.add_subplot()
    wide = 0.8 / len(kinds)
    rows = []
    for number, (name, part, k, decay) in enumerate(kinds):
        positions = np.arange(len(CLASSES)) + wide * (number - (len(kinds) - 1) / 2)
        found = [cells[part, label, "f1", k, decay] for label in CLASSES]
        published: Sequence[Any] = known.get(part, (None,) * len(CLASSES))
        means, spreads = ([of(one) for one in found] for of in (np.mean, np.std))
        colour = COLOURS[number]
        axes.errorbar(positions, means, yerr=spreads, fmt="o", color=colour, capsize=2, label=name)
        if part in known:
            axes.scatter(positions, published, color="#000000", marker="_", s=90, zorder=3)
        for label, was in zip(CLASSES, published, strict=True):
            told = [_spread(cells[part, label, metric, k, decay]) for metric in METRICS]
            rows.append((label, name, *told, was))
    if known:
        axes.scatter([], [], color="#000000", marker="_", s=90, label="published")
    axes.set_xticks(range(len(CLASSES)), CLASSES)
    axes.set_ylabel("F1")
    axes.set_ylim(top=1.02)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    rows.sort(key=lambda row: CLASSES.index(row[0]))
    table = Table(
        ("class", "kernel", "precision", "recall", "F1", "published F1"),
        rows,
        f"Mean ± sd over {results.options['repeats']} divisions.",
    )
    sizes = QUICK_STUDY if results.options["quick"] else WHOLE_STUDY
    words = [
        "Each class against the rest, by a support vector machine on normalised values. "
        f"C, one of {', '.join(f'{C:g}' for C in Cs)}, is what {sizes.folds} folds of the training "
        "part get most documents right with; where it says chosen, so are length and decay. Words "
        "weighted by tf-idf take their weights from the training part.",
        "The published figures are of other documents of Reuters-21578, with corn as the fourth class. R8 "
        "keeps only documents of one class, which makes classes easier to tell, and grain is wider than "
        "corn.",
    ]
    caption = "F1 of each class, mean and one sd"
    caption += "; dashes are what was published." if known else "."
    return Section("Beside what was published", words, [Picture(figure, caption, table)])


def _lengths(results: Results, cells: Cells) -> Section:
    lengths, decays = _tried(cells, 3), _tried(cells, 4)
    figure = new_figure(7.6, 4.8)
    for position, label in enumerate(CLASSES, start=1):
        axes = figure.add_subplot(2, 2, position)
        for colour, decay in zip(COLOURS, decays, strict=False):
            means = [np.mean(cells[SUBSEQUENCES, label, "f1", k, decay]) for k in lengths]
            axes.plot(
                lengths, means, marker="o", markersize=3, color=colour, label=f"decay {decay:g}"
            )
        means = [np.mean(cells[RUNS, label, "f1", k, None]) for k in lengths]
        axes.plot(lengths, means, marker="s", markersize=3, color="#000000", label=RUNS)
        words = float(np.mean(cells[WORDS, label, "f1", None, None]))
        axes.axhline(words, color="#888888", linestyle=":", label=WORDS)
        axes.set_title(label, fontsize=9)
        axes.set_xticks(lengths)
        axes.set_xlabel("letters")
        axes.set_ylabel("F1")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    rows = [
        (k, *((f"decay {decay:g}",) if decay else (RUNS,)), *_of_classes(cells, part, k, decay))
        for part, every in ((SUBSEQUENCES, decays), (RUNS, [None]))
        for decay in every
        for k in lengths
    ]
    table = Table(
        ("letters", "kernel", *CLASSES),
        rows,
        f"F1, mean ± sd over {results.options['repeats']} divisions, C chosen by folds.",
    )
    words_ = [
        "A low decay asks for letters side by side, so subsequences come near to runs; the nearer it is to "
        "1, the less gaps cost. All lengths of one decay come from one dynamic programme.",
    ]
    caption = "F1 against the number of letters, one panel for each class."
    return Section("Length and decay", words_, [Picture(figure, caption, table)])


def _choices(results: Results, cells: Cells) -> Section:
    rows = []
    for name in (SUBSEQUENCES, RUNS):
        part = choice_of(name)
        for label in CLASSES:
            told = Counter(
                _in_words(one)
                for one in map(_parameters, results.where(part=part, metric="f1"))
                if one["class"] == label
            )
            listed = "; ".join(f"{words}: {count}" for words, count in told.most_common(3))
            rows.append((name, label, _spread(cells[part, label, "f1", None, None]), listed))
    table = Table(
        ("kernel", "class", "F1", "chosen most often"),
        rows,
        "Length and decay chosen by the folds of each training part, with the number of divisions.",
    )
    words = ["The folds see the training part alone; what they choose is tested once."]
    return Section("What the folds chose", words, [table])


def _documents(results: Results, letters: int) -> Section:
    found: dict[str, dict[str, float]] = {label: {} for label in CLASSES}
    for row in results.where(part=DOCUMENTS):
        found[_parameters(row)["class"]][row.metric] = row.value
    rows = [
        (
            label,
            int(one["train_documents"]),
            int(one["test_documents"]),
            f"{one['mean_letters']:.0f}",
            f"{one['mean_words']:.0f}",
            f"{one['cut']:.0%}",
        )
        for label, one in found.items()
    ]
    seconds = [
        (part, f"{sum({row.seconds for row in results.where(part=part)}):.1f}") for part in PARTS
    ]
    words = [
        f"Documents are lower-case words as R8 has them, cut to {letters} letters; as many of each class "
        "as in the published study, drawn once and divided anew for each run.",
    ]
    columns = ("class", "to train", "to test", "letters", "words", "cut")
    return Section(
        "The documents",
        words,
        [
            Table(columns, rows, "Letters and words are means, after the cut."),
            Table(
                ("kernel", "seconds"), seconds, "Matrices, folds and tests of all runs and classes."
            ),
        ],
    )


def _at_five(cells: Cells, part: str) -> list[float]:
    decay = DECAY if part == SUBSEQUENCES else None
    return [float(np.mean(cells[part, label, "f1", LENGTH, decay])) for label in CLASSES]


def _one(cells: Cells, part: str) -> list[float]:
    return [float(np.mean(cells[part, label, "f1", None, None])) for label in CLASSES]


def _of_classes(cells: Cells, part: str, k: int, decay: float | None) -> list[str]:
    return [_spread(cells[part, label, "f1", k, decay]) for label in CLASSES]


def _tried(cells: Cells, position: int) -> list[Any]:
    return sorted({key[position] for key in cells if key[0] == SUBSEQUENCES})


def _listed(values: list[float]) -> str:
    named = [f"{value:.3f} for {label}" for label, value in zip(CLASSES, values, strict=True)]
    return f"{', '.join(named[:-1])} and {named[-1]}"


def _in_words(one: dict[str, Any]) -> str:
    return f"{one['k']} letters" + (f", decay {one['decay']:g}" if "decay" in one else "")


def _parameters(row: Any) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(row.parameters)
    return said


def _spread(values: Any) -> str:
    mean = f"{np.mean(values):.3f}"
    return f"{mean} ± {np.std(values):.3f}" if len(values) > 1 else mean
