"""Page of `mutag`: accuracies, chosen parameters, mistakes, and attribution to atoms."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from separatrix.evaluation.statistics import corrected_t
from separatrix.experiments.steps import Results
from separatrix.plots.figures import INK, MISTAKES, new_axes
from separatrix.plots.graph_drawing import MUTAG_ATOMS, MUTAG_BONDS, plot_graphs
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.mutag import steps
from separatrix.studies.mutag.steps import BONDS, CONFUSIONS, FOLDS, MOLECULES, PATHS, SUBTREES
from separatrix.studies.views import format_spread, params_of, row_params, step_seconds, study_page

PUBLISHED = {SUBTREES: 82.05, PATHS: 87.28}  # accuracy %, ten times ten folds
CLASS_NAMES = {1: "mutagenic", -1: "not mutagenic"}
COLOUR = "#0072b2"


def page(results: Results) -> Page:
    """Accuracies, chosen parameters, mistakes, and attribution to atoms."""
    found = accuracies(results)
    best = max(found, key=lambda name: float(found[name].mean()))
    summary = [
        f"On {len(_labels(results))} molecules, Weisfeiler-Lehman subtrees reach an accuracy of "
        f"{format_spread(found[SUBTREES])} %, shortest paths {format_spread(found[PATHS])} %; the best "
        f"family, {best}, {format_spread(found[best])} %.",
        f"{_protocol(results)}; all parameters are chosen inside the training parts, so no test molecule "
        "takes part in a choice.",
    ]
    sections = [
        _accuracies(results, found),
        _choices(results),
        _mistakes(results),
        _molecules(results),
    ]
    return study_page(results, summary, sections)


def accuracies(results: Results) -> dict[str, Any]:
    """Accuracy of each repetition in per cent, by family."""
    names = dict.fromkeys(row.part for row in results.where(metric="accuracy"))
    return {name: 100 * results.values(part=name, metric="accuracy") for name in names}


def _accuracies(results: Results, found: dict[str, Any]) -> Section:
    figure, axes = new_axes(7.2, 0.9 + 0.42 * len(found))
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
    axes.set_xlabel("accuracy, %; dotted: always predict the larger class")
    first, rows = results.values(part=SUBTREES, metric="chosen_accuracy"), []
    for name in reversed(order):
        by_fold = results.values(part=name, metric="chosen_accuracy")
        test, other = corrected_t(by_fold - first, 1 / (FOLDS - 1)), name != SUBTREES
        rows.append(
            (
                name,
                format_spread(found[name]),
                f"{100 * results.values(part=name, metric='fold_accuracy').mean():.2f}",
                None if results.options["quick"] else PUBLISHED.get(name),
                f"{100 * test.mean:+.2f}" if other else None,
                test.p if other else None,
                f"{step_seconds(results, name):.0f}",
            )
        )
    columns = ("kernel", "accuracy %", "in the folds %", "published %", f"minus {SUBTREES}")
    caption = (
        f"Mean ± sd over {_repetitions(results)} of {FOLDS} folds; p of Nadeau and Bengio's corrected t "
        f"test over all folds, not adjusted for {len(found) - 1} comparisons. Seconds cover choices and "
        "tests."
    )
    numbers = Table((*columns, "p", "seconds"), rows, caption)
    folds, repeats = (steps.QUICK_INNER if results.options["quick"] else steps.INNER).values()
    inner = f"{folds} folds" if repeats == 1 else f"{repeats} times {folds} folds"
    normal, plain = (steps.EXPONENTS[key] for key in (True, False))
    words = [
        f"{_protocol(results)}. In each training part {inner} choose the rounds of refinement, whether "
        f"values are normalised, and C; the number of neighbours, 1 to {steps.MAX_NEIGHBORS}, is chosen by "
        "leave-one-out. C is 10^e over the number of training molecules, e from "
        f"{normal[0]} to {normal[-1]} with normalised values and from {plain[0]} to {plain[-1]} with plain "
        "ones. The learner is an SVM unless the name says otherwise.",
        "Shortest paths are counted as in the published program: each pair of atoms once, and each atom "
        f"as a path of length 0. “{steps.BOTH_WAYS}” counts each pair in both directions and no atoms. "
        "Published figures are those of Shervashidze and others, Weisfeiler-Lehman Graph Kernels (JMLR 12, "
        "2011).",
        "The chosen model does better in the folds that chose it than on held-out molecules: the more so, "
        "the more choices of nearly equal quality there are.",
    ]
    drawn = (
        "Accuracy of each kernel: dots are means with one sd; each grey line joins the accuracies of one "
        "repetition, on the same folds for all."
    )
    return Section("Accuracy", words, [Picture(figure, drawn, numbers)])


def _choices(results: Results) -> Section:
    figure, panels = new_axes(7.4, 3.0, 1, 2)
    rounds = range((steps.QUICK_ROUNDS if results.options["quick"] else steps.ROUNDS) + 1)
    for axes, name in zip(panels, (SUBTREES, BONDS), strict=True):
        counts = Counter((p["iterations"], p["normalized"]) for p in _chosen_cells(results, name))
        low, high = (np.array([counts[t, normal] for t in rounds]) for normal in (False, True))
        axes.bar(rounds, low, color=COLOUR, label="plain values")
        axes.bar(rounds, high, bottom=low, color="#e69f00", label="normalised")
        axes.set_xticks(rounds)
        axes.set(xlabel="rounds of refinement", ylabel="training parts")
        axes.set_title(name, fontsize=9)
    panels[0].legend(frameon=False, fontsize=8)
    rows = []
    for name in accuracies(results):
        chosen = [_describe_choice(params) for params in _chosen_cells(results, name)]
        for text, count in Counter(chosen).most_common(5):
            rows.append((name, text, count, f"{count / len(chosen):.0%}"))
    columns = ("kernel", "chosen", "training parts", "share")
    table = Table(columns, rows, "The five most frequent choices of each.")
    words = [
        "A choice that varies from part to part is not determined by the data: with so few molecules in a "
        "fold, many choices differ by a single molecule."
    ]
    caption = "How often each number of rounds was chosen, with plain and with normalised values."
    return Section("Parameters chosen by the folds", words, [Picture(figure, caption, table)])


def _mistakes(results: Results) -> Section:
    cells: dict[str, dict[tuple[int, int, str], float]] = {}
    for row in results.where(part=CONFUSIONS):
        params = row_params(row)
        cell = params["label"], params["predicted"], row.metric
        cells.setdefault(row.model, {})[cell] = row.value
    pairs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    rows = [
        (name, *(f"{v[*pair, 'mean']:.1f} ± {v[*pair, 'sd']:.1f}" for pair in pairs))
        for name, v in cells.items()
    ]
    names = [f"{CLASS_NAMES[label]}, predicted {CLASS_NAMES[guess]}" for label, guess in pairs]
    table = Table(("kernel", *names), rows, "Molecules, mean ± sd over the repetitions.")
    arrays = results.arrays[CONFUSIONS]
    wrong, y = 100 * arrays["wrong"], arrays["y"]
    hard = np.flatnonzero(wrong.mean(axis=0) > 0)
    order = hard[np.lexsort((-wrong.mean(axis=0)[hard], -y[hard]))]
    figure, axes = new_axes(7.6, 1.2 + 0.26 * len(cells))
    image = axes.imshow(wrong[:, order], cmap=MISTAKES, aspect="auto", vmin=0, vmax=100)
    axes.axvline(np.count_nonzero(y[order] == 1) - 0.5, color=INK, linewidth=1)
    axes.set_yticks(range(len(cells)), list(cells), fontsize=8)
    axes.set_xticks([])
    axes.set_xlabel("misclassified molecules: mutagenic left of the line, others right")
    figure.colorbar(image, ax=axes, label="% of repetitions", shrink=0.9)
    always = int((wrong.min(axis=0) > 50).sum())
    words = [
        f"{len(hard)} of {len(y)} molecules are misclassified by some kernel in some repetition, {always} "
        "by every kernel in most of them."
    ]
    caption = (
        "How often each molecule is misclassified: a column is a molecule, dark if always wrong."
    )
    return Section("Mistakes", words, [Picture(figure, caption, table)])


def _molecules(results: Results) -> Section:
    arrays = results.arrays[MOLECULES]
    scores = results.where(part=MOLECULES, metric="score")
    about = [row_params(row) for row in scores]
    # shares count towards the predicted class; here all of them count towards mutagenic
    signs = [1 if one["predicted"] == 1 else -1 for one in about]
    shares = [sign * arrays[f"{i}.shares"] for i, sign in enumerate(signs)]
    titles = [
        f"molecule {one['row'] + 1}: {CLASS_NAMES[one['label']]}, "
        f"{'right' if one['label'] == one['predicted'] else 'wrong'}"
        for one in about
    ]
    figure = plot_graphs(
        [steps.read_molecule(arrays, i) for i in range(len(about))],
        shares,
        titles,
        names=MUTAG_ATOMS,
        bonds=MUTAG_BONDS,
        classes=(CLASS_NAMES[-1], CLASS_NAMES[1]),
        columns=2,
    )
    rows = []
    for sign, row, one, values in zip(signs, scores, about, shares, strict=True):
        sums = float(values[values > 0].sum()), float(values[values < 0].sum())
        name = CLASS_NAMES[one["label"]]
        rows.append((one["row"] + 1, name, sign * row.value, sign * one["bias"], *sums))
    columns = ("molecule", "is", "score towards mutagenic", "bias", "atoms for it")
    atoms = Table((*columns, "atoms against it"), rows, "Atoms and bias sum to the score.")
    terms = []
    for row in results.where(part=MOLECULES, metric="term"):
        one = row_params(row)
        subtree = re.sub(r"\d+", lambda found: MUTAG_ATOMS[int(found[0])], one["feature"])
        towards = signs[one["rank"]] * row.value
        terms.append((about[one["rank"]]["row"] + 1, subtree, one["count"], towards))
    subtrees = Table(
        ("molecule", "subtree", "times", "towards mutagenic"),
        terms,
        "The five largest terms of each score: an atom with its neighbours in brackets.",
    )
    words = [
        "The first training part whose folds chose more than atoms; of its test molecules the most and the "
        "least clearly classified of each class. A subtree shares its weight equally among the atoms it "
        "covers, so the values of all atoms and the bias sum to the score."
    ]
    caption = "Contribution of each atom, for and against mutagenic."
    return Section("Attribution to atoms", words, [Picture(figure, caption, atoms), subtrees])


def _chosen_cells(results: Results, name: str) -> list[dict[str, Any]]:
    return params_of(results, part=name, metric="chosen_accuracy")


def _describe_choice(params: dict[str, Any]) -> str:
    words = [f"{params['iterations']} rounds"] if "iterations" in params else []
    words.append("normalised" if params["normalized"] else "plain")
    if "exponent" in params:
        words.append(f"C = 10^{params['exponent']} / n")
    if "n_neighbors" in params:
        words.append(f"k = {params['n_neighbors']}")
    return ", ".join(words)


def _labels(results: Results) -> Any:
    return results.arrays[CONFUSIONS]["y"]


def _repetitions(results: Results) -> str:
    count = results.options["repeats"]
    return "1 repetition" if count == 1 else f"{count} repetitions"


def _protocol(results: Results) -> str:
    return f"{_repetitions(results)} of {FOLDS} stratified folds, seed {results.options['seed']}"
