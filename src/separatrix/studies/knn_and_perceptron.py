"""The page of `knn-and-perceptron`: accuracy against k, mistakes of each pass, features that weigh most."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, new_figure
from separatrix.plots.neighbor_curves import BAND, plot_k
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.knn_and_perceptron_steps import (
    DATA,
    FEATURES,
    MOST_FEATURES,
    NEIGHBOURS,
    PERCEPTRON,
)
from separatrix.studies.reproduce import command_of, facts_of, python_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED_ERRORS = {1: 5937, 41: 4626}  # of 27,780, Euclidean, a4a
MOST_PANELS = 10
PANELS_IN_A_LINE = 3
LONGEST_NAME = 28


def page(results: Results) -> Page:
    """Only what was run has its section."""
    ran = {row.part for row in results.rows}
    sections = [_data(results)]
    summary = []
    if NEIGHBOURS in ran:
        summary.append(_neighbours_in_words(results))
        sections.append(_neighbours(results))
    if PERCEPTRON in ran:
        summary.append(_perceptron_in_words(results))
        sections += [_passes(results), _features(results)]
    return Page(
        title=f"{results.title} on {results.options['data']}",
        summary=summary,
        sections=sections,
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _data(results: Results) -> Section:
    seen = _counts(results)
    classes = int(seen["classes"])
    how = (
        "The set comes with a test part, and rows are met in the order of the file."
        if seen["given_test_part"]
        else f"Each of {seen['splits']:.0f} splits holds out other rows, drawn by the seed; the rest are "
        "met in a random order."
    )
    rule = (
        "two classes, so one weight vector and its sign decide: the binary perceptron"
        if classes == 2
        else f"{classes} classes, so each has a weight vector and the highest score wins: the multiclass "
        "perceptron"
    )
    table = Table(
        ("what", "number"),
        [(name.replace("_", " "), int(value)) for name, value in seen.items()][:-1],
        f"What is learned from and tested on; seed {results.options['seed']}.",
    )
    return Section("Data", [how, f"The labels show {rule}."], [table])


def _neighbours_in_words(results: Results) -> str:
    chosen = results.values(part=NEIGHBOURS, metric="chosen_test_accuracy")
    k = results.values(part=NEIGHBOURS, metric="chosen_k")
    which = f"{np.median(k):.0f}" if len(k) == 1 else f"{k.min():.0f} to {k.max():.0f}"
    return (
        f"k-NN with the {results.options['distance']} distance gets {_spread(chosen)} of the test part "
        f"right, with k = {which} chosen on the training part alone by leaving each sample out."
    )


def _neighbours(results: Results) -> Section:
    curves = results.arrays[NEIGHBOURS]
    splits, k_max = curves["test"].shape
    seen = _counts(results)
    named = {
        "test part": (curves["test"], int(seen["test_rows"])),
        "training part, each left out": (curves["left_out"], int(seen["train_rows"])),
    }
    figure = plot_k(
        {name: values.mean(axis=0) for name, (values, _) in named.items()},
        n={name: n for name, (_, n) in named.items()} if splits == 1 else None,
    )
    if splits > 1:
        _spread_of_splits(figure, [values for values, _ in named.values()])
    errors = _by_k(results, "test_errors")
    rows = [
        (
            k + 1,
            _spread(curves["test"][:, k]),
            _spread(curves["left_out"][:, k]),
            float(errors[k].mean()),
            _published(results, k + 1),
        )
        for k in range(k_max)
    ]
    columns = ["k", "test accuracy", "left out accuracy", "test errors", "published errors"]
    width = 5 if any(row[-1] for row in rows) else 4
    table = Table(columns[:width], [row[:width] for row in rows], _over(splits))
    words = [
        "One search finds the k_max nearest samples of each test sample; every smaller k is read off "
        "the same list. Equal distances go by row order, equal votes to the class of the nearest of "
        "the tied neighbours."
    ]
    caption = "Accuracy against the number of neighbours, the best number marked; "
    caption += (
        "bands are one sd over the splits." if splits > 1 else "bands are one standard error."
    )
    return Section("Accuracy against k", words, [Picture(figure, caption, table)])


def _spread_of_splits(figure: Figure, curves: list[Any]) -> None:
    axes = figure.axes[0]
    k = np.arange(1, curves[0].shape[1] + 1)
    for color, values in zip(COLOURS, curves, strict=False):
        mean, sd = 100 * values.mean(axis=0), 100 * values.std(axis=0)
        high = np.minimum(mean + sd, 100.0)
        axes.fill_between(k, mean - sd, high, color=color, alpha=BAND, linewidth=0)
    axes.fill_between([], [], color=INK, alpha=BAND, linewidth=0, label="± 1 sd over the splits")
    axes.legend(fontsize=8, frameon=False)


def _perceptron_in_words(results: Results) -> str:
    last, average = _perceptrons(results)
    accuracy, averaged = (
        results.values(part=PERCEPTRON, model=name, metric="test_accuracy")
        for name in (last, average)
    )
    clean = results.values(part=PERCEPTRON, metric="clean_pass")
    limit = results.options["max_iter"]
    return (
        f"The {last} gets {_spread(accuracy)} right with its last weights, {_spread(averaged)} with "
        f"their average; a pass without mistakes ended {clean.sum():.0f} of {len(clean)} fits before "
        f"the limit of {limit} passes."
    )


def _passes(results: Results) -> Section:
    found = results.arrays[PERCEPTRON]
    limit = found["mistakes"].shape[1]
    number = np.arange(1, limit + 1)
    figure = new_figure(7.4, 3.2)
    for position, (name, values, color) in enumerate(
        (
            ("samples mistaken in the pass", found["mistakes"], COLOURS[0]),
            ("test accuracy after it, %", 100 * found["accuracy"], COLOURS[4]),
        ),
        start=1,
    ):
        axes = figure.add_subplot(1, 2, position)
        mean, sd = values.mean(axis=0), values.std(axis=0)
        axes.plot(number, mean, color=color, linewidth=1.2)
        if len(values) > 1:
            high = np.minimum(mean + sd, 100.0) if position == 2 else mean + sd
            low = np.maximum(mean - sd, 0)
            axes.fill_between(number, low, high, color=color, alpha=BAND, linewidth=0)
        axes.set_xlabel("pass")
        axes.set_ylabel(name)
        if position == 1:
            axes.set_ylim(0, 1.05 * float((mean + sd).max()))
    marks = sorted({json.loads(row.parameters)["pass"] for row in _at_passes(results)})
    rows = [
        (
            mark,
            float(found["mistakes"][:, mark - 1].mean()),
            _spread(found["accuracy"][:, mark - 1]),
        )
        for mark in marks
    ]
    splits = len(found["mistakes"])
    table = Table(("pass", "samples mistaken", "test accuracy"), rows, _over(splits))
    words = [
        "Weights start at zero and rows are met in order; a mistaken sample is added to the weights of "
        "its class and taken from those of the class that was guessed. A pass without a mistake ends "
        "it. Where classes overlap there is none: the last weights then depend on the last rows met, "
        "which the test accuracy shows as unrest.",
    ]
    if results.options["data"] == "iris":
        early = found["accuracy"][:, min(limit, 20) - 1]
        words.append(
            f"The document reports about 0.86 for a 70/30 split of Iris. Here it is {early.mean():.3f} "
            f"after {min(limit, 20)} passes, from {early.min():.2f} to {early.max():.2f} over the splits, "
            f"and {found['accuracy'][:, -1].mean():.3f} after {limit}."
        )
    caption = "Mistakes in each pass and accuracy after it, mean"
    caption += " and one sd over the splits." if splits > 1 else "."
    return Section("Mistakes of each pass", words, [Picture(figure, caption, table)])


def _features(results: Results) -> Section:
    found = [(json.loads(row.parameters), row.value) for row in results.where(part=FEATURES)]
    panels = list(dict.fromkeys(said["class"] for said, _ in found))
    arrays = results.arrays[FEATURES]
    shown = panels[:MOST_PANELS]
    if "image" in arrays:
        figure = _pixels(arrays["importance"], tuple(arrays["image"]), shown)
    else:
        figure = _bars(
            {label: [(s["feature"], v) for s, v in found if s["class"] == label] for label in shown}
        )
    table = Table(
        ("class", "place", "feature", "|w|"),
        [(str(said["class"]), said["place"], said["feature"], value) for said, value in found],
        f"The {MOST_FEATURES} largest |w| of each class; first split.",
    )
    words = [
        "The size of the weight that the perceptron gives to each feature; the bias is left out."
    ]
    if len(panels) == 1:
        words.append("Two classes share one weight vector.")
    if len(panels) > MOST_PANELS:
        words.append(f"Drawn are the first {MOST_PANELS} of {len(panels)} classes.")
    caption = "Size of the weight of each feature, one panel for each class."
    return Section("Most important features", words, [Picture(figure, caption, table)])


def _bars(panels: dict[Any, list[tuple[str, float]]]) -> Figure:
    columns = min(PANELS_IN_A_LINE, len(panels))
    lines = -(-len(panels) // columns)
    most = max(len(features) for features in panels.values())
    figure = new_figure(1.2 + 2.9 * columns, lines * (1.0 + 0.2 * most))
    for position, (label, features) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(lines, columns, position)
        names = [_short(name) for name, _ in features]
        axes.barh(range(len(features)), [value for _, value in features], color=COLOURS[0])
        axes.set_yticks(range(len(features)), names, fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("|w|")
        axes.set_title(f"class {label}", fontsize=9)
    return figure


def _pixels(importance: Any, image: tuple[int, ...], panels: list[Any]) -> Figure:
    columns = min(5, len(panels))
    lines = -(-len(panels) // columns)
    figure = new_figure(1.6 * columns, 1.9 * lines)
    for position, (label, values) in enumerate(zip(panels, importance, strict=False), start=1):
        axes = figure.add_subplot(lines, columns, position)
        axes.imshow(values.reshape(image), cmap="Greys")
        axes.set_title(f"class {label}", fontsize=9)
        axes.set_axis_off()
    return figure


def _counts(results: Results) -> dict[str, float]:
    return {row.metric: row.value for row in results.where(part=DATA)}


def _perceptrons(results: Results) -> tuple[str, str]:
    names = dict.fromkeys(row.model for row in results.where(part=PERCEPTRON))
    last = next(name for name in names if not name.startswith("averaged"))
    return last, f"averaged {last}"


def _at_passes(results: Results) -> list[Any]:
    return results.where(part=PERCEPTRON, metric="mistakes_in_pass")


def _by_k(results: Results, metric: str) -> Any:
    """Values of all splits for each k, (k_max, splits)."""
    splits = len(results.values(part=NEIGHBOURS, metric="chosen_k"))
    return results.values(part=NEIGHBOURS, metric=metric).reshape(splits, -1).T


def _published(results: Results, k: int) -> int | None:
    """Errors in the document, where the run is its own: all of a4a, Euclidean."""
    seen, options = _counts(results), results.options
    same = options["data"] == "a4a" and options["distance"] == "euclidean"
    whole = (seen["train_rows"], seen["test_rows"]) == (4781, 27780)
    return PUBLISHED_ERRORS.get(k) if same and whole else None


def _over(splits: int) -> str:
    return f"Mean ± sd over {splits} splits." if splits > 1 else "One test part."


def _spread(values: Any) -> str:
    mean = f"{np.mean(values):.4f}"
    return f"{mean} ± {np.std(values):.4f}" if len(values) > 1 else mean


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
