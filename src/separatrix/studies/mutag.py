"""The page of `mutag`: accuracies side by side, what was chosen, mistakes, and atoms that decided."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np

from separatrix.evaluation.statistics import corrected_t
from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, MISTAKES, new_figure
from separatrix.plots.graph_drawing import MUTAG_ATOMS, MUTAG_BONDS, plot_graphs
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.mutag_steps import (
    BONDS,
    BOTH_WAYS,
    CONFUSIONS,
    EXPONENTS,
    FOLDS,
    INNER,
    MOLECULES,
    MOST_NEIGHBOURS,
    PATHS,
    QUICK_INNER,
    QUICK_ROUNDS,
    ROUNDS,
    SUBTREES,
    molecule,
)
from separatrix.studies.reproduce import command_of, facts_of, python_of

# accuracy %, ten times ten folds
PUBLISHED = {
    SUBTREES: "82.05 (2011), 87.26 (2019)",
    PATHS: "87.28 (2011)",
}
WORDS = {1: "mutagenic", -1: "not mutagenic"}
COLOUR = "#0072b2"


def page(results: Results) -> Page:
    """From the table alone."""
    found = accuracies(results)
    best = max(found, key=lambda name: float(found[name].mean()))
    summary = [
        f"Of {len(_labels(results))} molecules, Weisfeiler-Lehman subtrees tell "
        f"{_spread(found[SUBTREES])} % right, shortest paths {_spread(found[PATHS])} %; the most, "
        f"{_spread(found[best])} %, {best}.",
        f"{_times(results)}; everything was chosen inside the training parts, so no molecule had a part "
        "in a choice that was tested on it.",
    ]
    return Page(
        title=results.title,
        summary=summary,
        sections=[
            _accuracies(results, found),
            _choices(results),
            _mistakes(results),
            _molecules(results),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def accuracies(results: Results) -> dict[str, Any]:
    """Accuracy of each repetition in per cent, by family."""
    names = dict.fromkeys(row.part for row in results.where(metric="accuracy"))
    return {name: 100 * results.values(part=name, metric="accuracy") for name in names}


def _accuracies(results: Results, found: dict[str, Any]) -> Section:
    figure = new_figure(7.2, 0.9 + 0.42 * len(found))
    axes = figure.add_subplot()
    order = sorted(found, key=lambda name: float(found[name].mean()))
    table = np.array([found[name] for name in order])
    positions = np.arange(len(order))
    for values in table.T:
        axes.plot(values, positions, color="#bbbbbb", linewidth=0.8, marker=".", markersize=4)
    sd = table.std(axis=1)
    axes.errorbar(table.mean(axis=1), positions, xerr=sd, fmt="o", color=COLOUR, capsize=3)
    larger = np.unique(_labels(results), return_counts=True)[1].max() / len(_labels(results))
    axes.axvline(100 * larger, color=INK, linestyle=":", linewidth=1)
    axes.set_yticks(positions, order)
    axes.set_xlabel("accuracy, %; dotted: all molecules taken for the larger class")
    first = _by_fold(results, SUBTREES)
    rows = []
    for name in reversed(order):
        against = corrected_t(_by_fold(results, name) - first, 1 / (FOLDS - 1))
        rows.append(
            (
                name,
                _spread(found[name]),
                f"{100 * results.values(part=name, metric='fold_accuracy').mean():.2f}",
                None if results.options["quick"] else PUBLISHED.get(name),
                f"{100 * against.mean:+.2f}" if name != SUBTREES else None,
                against.p if name != SUBTREES else None,
                f"{_seconds(results, name):.0f}",
            )
        )
    columns = (
        "kernel",
        "accuracy %",
        "in the folds %",
        "published %",
        f"less {SUBTREES}",
        "p",
        "seconds",
    )
    caption = (
        f"Mean ± sd over {_repeats(results)} of {FOLDS} folds; p is of Nadeau and Bengio's corrected t "
        f"test over all folds, not adjusted for {len(found) - 1} questions. Seconds are for all of "
        "it: the choices and the tests."
    )
    words = [
        f"{_times(results)}. In each training part {_inner(results)} choose the rounds of refinement, "
        "whether values are normalised, and C; neighbours, 1 to "
        f"{MOST_NEIGHBOURS}, are chosen by leaving each molecule out. C is 10^e over the molecules "
        f"trained on, e from {EXPONENTS[True][0]} to {EXPONENTS[True][-1]} with normalised values and "
        f"from {EXPONENTS[False][0]} to {EXPONENTS[False][-1]} with plain ones. All are learned by "
        "support vector machines where nothing else is said.",
        "Shortest paths are counted as by the published program: each pair of atoms once, and each atom "
        f"as a path of length 0. “{BOTH_WAYS}” has each pair in both directions and no atoms. "
        "The two figures for subtrees are of two studies.",
        "What is chosen does better in the folds that chose it than on the molecules held out: the more "
        "choices there are of nearly the same worth, the more.",
    ]
    says_figure = (
        "Accuracy of each kernel: dots are means with one sd; each grey line joins what is found in one "
        "repetition, on the same folds for all."
    )
    return Section("Accuracy", words, [Picture(figure, says_figure, Table(columns, rows, caption))])


def _choices(results: Results) -> Section:
    figure = new_figure(7.4, 3.0)
    rounds = range((QUICK_ROUNDS if results.options["quick"] else ROUNDS) + 1)
    rows: list[tuple[Any, ...]] = []
    for position, name in enumerate((SUBTREES, BONDS), start=1):
        counts = Counter((one["iterations"], one["normalized"]) for one in _chosen(results, name))
        axes = figure.add_subplot(1, 2, position)
        low = np.array([counts[t, False] for t in rounds])
        high = np.array([counts[t, True] for t in rounds])
        axes.bar(rounds, low, color=COLOUR, label="plain values")
        axes.bar(rounds, high, bottom=low, color="#e69f00", label="normalised")
        axes.set_xticks(rounds)
        axes.set_xlabel("rounds of refinement")
        axes.set_ylabel("training parts")
        axes.set_title(name, fontsize=9)
    figure.axes[0].legend(frameon=False, fontsize=8)
    for name in accuracies(results):
        told = Counter(_in_words(one) for one in _chosen(results, name))
        total = sum(told.values())
        rows += [
            (name, words, count, f"{count / total:.0%}") for words, count in told.most_common(5)
        ]
    table = Table(
        ("kernel", "chosen", "training parts", "share"), rows, "The five most frequent of each."
    )
    words = [
        "A choice that changes from part to part is one that the data leave open: in folds of so few "
        "molecules one more or less right is what many choices differ by.",
    ]
    caption = "How often each number of rounds was chosen, with plain and with normalised values."
    return Section("What the folds chose", words, [Picture(figure, caption, table)])


def _mistakes(results: Results) -> Section:
    said = [(json.loads(row.parameters), row) for row in results.where(part=CONFUSIONS)]
    cells: dict[str, dict[tuple[int, int, str], float]] = {}
    for one, row in said:
        cells.setdefault(row.model, {})[one["of"], one["taken_for"], row.metric] = row.value
    pairs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    rows = [
        (
            name,
            *(f"{v[of, guess, 'mean']:.1f} ± {v[of, guess, 'sd']:.1f}" for of, guess in pairs),
        )
        for name, v in cells.items()
    ]
    columns = (
        "kernel",
        *(f"{WORDS[of]}, taken for {'it' if of == guess else 'not'}" for of, guess in pairs),
    )
    table = Table(columns, rows, "Molecules, mean ± sd over the repetitions.")
    arrays = results.arrays[CONFUSIONS]
    wrong, y = 100 * arrays["wrong"], arrays["y"]
    hard = np.flatnonzero(wrong.mean(axis=0) > 0)
    order = hard[np.lexsort((-wrong.mean(axis=0)[hard], -y[hard]))]
    figure = new_figure(7.6, 1.2 + 0.26 * len(cells))
    axes = figure.add_subplot()
    image = axes.imshow(wrong[:, order], cmap=MISTAKES, aspect="auto", vmin=0, vmax=100)
    axes.axvline(np.count_nonzero(y[order] == 1) - 0.5, color=INK, linewidth=1)
    axes.set_yticks(range(len(cells)), list(cells), fontsize=8)
    axes.set_xticks([])
    axes.set_xlabel("molecules that anyone mistakes: mutagenic left of the line, others right")
    figure.colorbar(image, ax=axes, label="% of repetitions", shrink=0.9)
    always = int((wrong.min(axis=0) > 50).sum())
    words = [
        f"{len(hard)} of {len(y)} molecules are mistaken by some kernel in some repetition, {always} by "
        "every kernel in most of them.",
    ]
    caption = "How often each molecule is mistaken: a column is a molecule, dark where it is always wrong."
    return Section("Mistakes", words, [Picture(figure, caption, table)])


def _molecules(results: Results) -> Section:
    arrays = results.arrays[MOLECULES]
    drawn = [
        (json.loads(row.parameters), row.value)
        for row in results.where(part=MOLECULES, metric="score")
    ]
    graphs = [molecule(arrays, one["place"]) for one, _ in drawn]
    # shares speak for the class that was guessed; on one scale they speak for the mutagenic
    sides = [1 if one["taken_for"] == 1 else -1 for one, _ in drawn]
    shares = [
        side * arrays[f"{one['place']}.shares"] for side, (one, _) in zip(sides, drawn, strict=True)
    ]
    titles = [
        f"molecule {one['row'] + 1}: {WORDS[one['label']]}, "
        f"{'told' if one['label'] == one['taken_for'] else 'mistaken'}"
        for one, _ in drawn
    ]
    figure = plot_graphs(
        graphs,
        shares,
        titles,
        names=MUTAG_ATOMS,
        bonds=MUTAG_BONDS,
        classes=(WORDS[-1], WORDS[1]),
        columns=2,
    )
    atoms = Table(
        ("molecule", "is", "score towards mutagenic", "bias", "atoms for it", "atoms against it"),
        [
            (
                one["row"] + 1,
                WORDS[one["label"]],
                side * score,
                side * one["bias"],
                float(values[values > 0].sum()),
                float(values[values < 0].sum()),
            )
            for side, (one, score), values in zip(sides, drawn, shares, strict=True)
        ],
        "Shares of all atoms and the bias make up the score.",
    )
    at = {one["place"]: (one["row"] + 1, side) for side, (one, _) in zip(sides, drawn, strict=True)}
    terms = []
    for row in results.where(part=MOLECULES, metric="term"):
        one = json.loads(row.parameters)
        number, side = at[one["place"]]
        terms.append((number, _with_atoms(one["feature"]), one["count"], side * row.value))
    subtrees = Table(
        ("molecule", "subtree", "times", "towards mutagenic"),
        terms,
        "The five largest terms of each score: an atom, then its neighbours in brackets.",
    )
    words = [
        "The first training part whose folds chose more than atoms; from the molecules held out the "
        "surest and the worst of each class. A subtree shares its weight equally among the atoms it "
        "covers, so the colours of all atoms and the bias sum to the score.",
    ]
    caption = "Atoms that speak for a mutagenic molecule, and against it."
    return Section("Atoms that decided", words, [Picture(figure, caption, atoms), subtrees])


def _chosen(results: Results, name: str) -> list[dict[str, Any]]:
    rows = results.where(part=name, metric="chosen_accuracy")
    return [json.loads(row.parameters) for row in rows]


def _in_words(one: dict[str, Any]) -> str:
    """A choice in few words."""
    words = [f"{one['iterations']} rounds"] if "iterations" in one else []
    words.append("normalised" if one["normalized"] else "plain")
    if "exponent" in one:
        words.append(f"C = 10^{one['exponent']} / n")
    if "n_neighbors" in one:
        words.append(f"k = {one['n_neighbors']}")
    return ", ".join(words)


def _with_atoms(feature: str) -> str:
    """A subtree with the names of its atoms."""
    return re.sub(r"\d+", lambda found: MUTAG_ATOMS[int(found[0])], feature)


def _labels(results: Results) -> Any:
    return results.arrays[CONFUSIONS]["y"]


def _by_fold(results: Results, name: str) -> Any:
    return results.values(part=name, metric="chosen_accuracy")


def _repeats(results: Results) -> str:
    count = results.options["repeats"]
    return "1 repetition" if count == 1 else f"{count} repetitions"


def _times(results: Results) -> str:
    return f"{_repeats(results)} of {FOLDS} stratified folds, seed {results.options['seed']}"


def _inner(results: Results) -> str:
    folds, repeats = QUICK_INNER if results.options["quick"] else INNER
    return f"{folds} folds" if repeats == 1 else f"{repeats} times {folds} folds"


def _seconds(results: Results, part: str) -> float:
    """Time of all steps of a family: rows of one step share its time."""
    return float(sum({row.seconds for row in results.where(part=part)}))


def _spread(values: Any) -> str:
    mean = f"{np.mean(values):.2f}"
    return f"{mean} ± {np.std(values):.2f}" if len(values) > 1 else mean
