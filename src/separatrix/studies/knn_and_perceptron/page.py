"""Page of `knn-and-perceptron`: accuracy against k, mistakes of each pass, important features."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.evaluation.importance import MOST_COLUMNS, Importance
from separatrix.experiments.steps import Results
from separatrix.plots.figures import COLOURS, INK, new_axes
from separatrix.plots.neighbor_curves import BAND, plot_k
from separatrix.report.comparison_pictures import shorten_name
from separatrix.report.data_section import importance_section
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.knn_and_perceptron import steps
from separatrix.studies.knn_and_perceptron.steps import (
    DATA,
    FEATURES,
    NEIGHBOURS,
    PERCEPTRON,
    SHUFFLED,
)
from separatrix.studies.views import format_spread, metric_values, params_of, row_params, study_page

MOST_PANELS, PANEL_COLUMNS = 10, 3
LONGEST_NAME = 28


def page(results: Results) -> Page:
    """Sections for the parts that were run."""
    ran = {row.part for row in results.rows}
    counts = metric_values(results, part=DATA)
    sections = [_data(results, counts)]
    summary = []
    if NEIGHBOURS in ran and results.options["k"] is not None:
        summary.append(_summarize_one_k(results))
        sections.append(_one_k(results, counts))
    elif NEIGHBOURS in ran:
        summary.append(_summarize_neighbors(results))
        sections.append(_neighbors(results, counts))
    if PERCEPTRON in ran:
        summary.append(_summarize_perceptron(results))
        sections += [_passes(results), _features(results)]
    sections += filter(None, [_shuffled(results)])
    title = f"{results.title} on {results.options['data']}"
    return study_page(results, summary, sections, title)


def _data(results: Results, counts: dict[str, float]) -> Section:
    classes = int(counts["classes"])
    parts = (
        "The data set has a test part; training rows keep the order of the file."
        if counts["given_test_part"]
        else f"Each of {counts['splits']:.0f} random splits holds out other rows; training rows are "
        "shuffled."
    )
    rule = (
        "two classes: one weight vector, the binary perceptron"
        if classes == 2
        else f"{classes} classes: one weight vector each, the multiclass perceptron"
    )
    table = Table(
        ("what", "number"),
        [(name.replace("_", " "), int(value)) for name, value in counts.items()][:-1],
        f"Sizes of the training and the test part; seed {results.options['seed']}.",
    )
    return Section("Data", [parts, f"The labels have {rule}."], [table])


def _summarize_neighbors(results: Results) -> str:
    accuracy = results.values(part=NEIGHBOURS, metric="chosen_test_accuracy")
    k = results.values(part=NEIGHBOURS, metric="chosen_k")
    which = f"{k[0]:.0f}" if len(k) == 1 else f"{k.min():.0f} to {k.max():.0f}"
    return (
        f"k-NN with the {results.options['distance']} distance has a test accuracy of "
        f"{format_spread(accuracy, 4)}, with k = {which} chosen by leave-one-out on the training part."
    )


def _summarize_one_k(results: Results) -> str:
    accuracy = format_spread(results.values(part=NEIGHBOURS, metric="test_accuracy"), 4)
    options = results.options
    return (
        f"k-NN with k = {options['k']} and the {options['distance']} distance has an accuracy of "
        f"{accuracy} on held-out rows."
    )


def _one_k(results: Results, counts: dict[str, float]) -> Section:
    """One number of neighbours: accuracy on the training rows, left out one by one, and held out."""
    splits = len(results.arrays[NEIGHBOURS]["test"])
    names = {
        "training part": "train_accuracy",
        "training part, leave-one-out": "left_out_accuracy",
        "held out": "test_accuracy",
    }
    values = {
        name: results.values(part=NEIGHBOURS, metric=metric) for name, metric in names.items()
    }
    errors = results.values(part=NEIGHBOURS, metric="test_errors")
    k, distance = results.options["k"], results.options["distance"]
    figure, axes = new_axes(6.4, 1.9)
    means = [100 * found.mean() for found in values.values()]
    spread = [100 * found.std() for found in values.values()] if splits > 1 else None
    axes.barh(range(len(means)), means, xerr=spread, color=COLOURS[0])
    axes.set_yticks(range(len(means)), list(values))
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="accuracy, %")
    rows = [(name, format_spread(found, 4)) for name, found in values.items()]
    table = Table(("rows", "accuracy"), rows, _count_splits(splits))
    words = [
        f"k = {k}, {distance} distance: {errors.mean():g} errors on {counts['test_rows']:.0f} held-out "
        "rows. On its own training rows each row is its own nearest neighbour, so that "
        "accuracy says little; leave-one-out removes it."
    ]
    caption = f"Accuracy with k = {k}."
    return Section("One number of neighbours", words, [Picture(figure, caption, table)])


def _neighbors(results: Results, counts: dict[str, float]) -> Section:
    arrays = results.arrays[NEIGHBOURS]
    splits, k_max = arrays["test"].shape
    curves = {"test part": arrays["test"], "training part, leave-one-out": arrays["left_out"]}
    sizes = dict(zip(curves, (int(counts["test_rows"]), int(counts["train_rows"])), strict=True))
    figure = plot_k(
        {name: values.mean(axis=0) for name, values in curves.items()},
        n=sizes if splits == 1 else None,
    )
    if splits > 1:
        axes, k = figure.axes[0], np.arange(1, k_max + 1)
        for color, values in zip(COLOURS, curves.values(), strict=False):
            _fill_band(axes, k, 100 * values, color, top=100.0)
        axes.fill_between([], [], color=INK, alpha=BAND, linewidth=0, label="± 1 sd of the splits")
        axes.legend(fontsize=8, frameon=False)
    errors = results.values(part=NEIGHBOURS, metric="test_errors").reshape(splits, -1)
    rows = [
        (
            k + 1,
            format_spread(arrays["test"][:, k], 4),
            format_spread(arrays["left_out"][:, k], 4),
            float(errors[:, k].mean()),
        )
        for k in range(k_max)
    ]
    columns = ["k", "test accuracy", "leave-one-out accuracy", "test errors"]
    table = Table(columns, rows, _count_splits(splits))
    words = [
        "One search finds the k_max nearest samples of each test sample; every smaller k uses the head "
        "of the same list. Equal distances are ordered by row; tied votes go to the nearest of the tied "
        "classes."
    ]
    spread = "one sd over the splits" if splits > 1 else "one standard error"
    caption = f"Accuracy against the number of neighbours, the best k marked; bands are {spread}."
    return Section("Accuracy against k", words, [Picture(figure, caption, table)])


def _fill_band(axes: Any, x: Any, values: Any, color: str, top: float) -> None:
    mean, sd = values.mean(axis=0), values.std(axis=0)
    low, high = np.maximum(mean - sd, 0.0), np.minimum(mean + sd, top)
    axes.fill_between(x, low, high, color=color, alpha=BAND, linewidth=0)


def _summarize_perceptron(results: Results) -> str:
    names = dict.fromkeys(row.model for row in results.where(part=PERCEPTRON))
    last = next(name for name in names if not name.startswith("averaged"))
    accuracy, averaged = (
        format_spread(results.values(part=PERCEPTRON, model=name, metric="test_accuracy"), 4)
        for name in (last, f"averaged {last}")
    )
    clean = results.values(part=PERCEPTRON, metric="clean_pass")
    return (
        f"The {last} has a test accuracy of {accuracy} with its last weights and {averaged} with their "
        f"average; {clean.sum():.0f} of {len(clean)} fits ended with a pass without mistakes before the "
        f"limit of {results.options['max_iter']} passes."
    )


def _passes(results: Results) -> Section:
    arrays = results.arrays[PERCEPTRON]
    splits, limit = arrays["mistakes"].shape
    figure, panels = new_axes(7.4, 3.2, 1, 2)
    curves = (
        ("misclassified samples in the pass", arrays["mistakes"], COLOURS[0], np.inf),
        ("test accuracy after it, %", 100 * arrays["accuracy"], COLOURS[4], 100.0),
    )
    for axes, (name, values, color, top) in zip(panels, curves, strict=True):
        axes.plot(np.arange(1, limit + 1), values.mean(axis=0), color=color, linewidth=1.2)
        if splits > 1:
            _fill_band(axes, np.arange(1, limit + 1), values, color, top)
        axes.set(xlabel="pass", ylabel=name)
    mistakes = arrays["mistakes"]
    panels[0].set_ylim(0, 1.05 * float((mistakes.mean(axis=0) + mistakes.std(axis=0)).max()))
    marked = params_of(results, part=PERCEPTRON, metric="mistakes_in_pass")
    rows = [
        (
            mark,
            float(mistakes[:, mark - 1].mean()),
            format_spread(arrays["accuracy"][:, mark - 1], 4),
        )
        for mark in sorted({params["pass"] for params in marked})
    ]
    columns = ("pass", "misclassified samples", "test accuracy")
    table = Table(columns, rows, _count_splits(splits))
    words = [
        "Weights start at zero and rows are visited in order; a misclassified sample is added to the "
        "weights of its class and subtracted from those of the predicted class. Two classes have one "
        "score, and at 0 it predicts the first of them. A pass without mistakes "
        "ends training. If the classes overlap there is none: the last weights then depend on the last "
        "rows, and the test accuracy fluctuates."
    ]
    spread = " and one sd over the splits" if splits > 1 else ""
    caption = f"Mistakes in each pass and accuracy after it, mean{spread}."
    return Section("Mistakes of each pass", words, [Picture(figure, caption, table)])


def _features(results: Results) -> Section:
    found = [(row_params(row), row.value) for row in results.where(part=FEATURES)]
    named = {params["class"]: _class_title(params) for params, _ in found}
    panels = list(named)
    arrays = results.arrays[FEATURES]
    columns = min(5 if "image" in arrays else PANEL_COLUMNS, len(panels))
    lines = -(-min(len(panels), MOST_PANELS) // columns)
    most = max(sum(params["class"] == label for params, _ in found) for label in panels)
    width, height = (1.2 + 2.9 * columns, 1.0 + 0.2 * most)
    if "image" in arrays:
        width, height = 1.6 * columns, 1.9
    figure, grid = new_axes(width, lines * height, lines, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, label, values in zip(grid.flat, panels, arrays["importance"], strict=False):
        axes.set_title(shorten_name(named[label], LONGEST_NAME), fontsize=9)
        if "image" in arrays:
            axes.imshow(values.reshape(tuple(arrays["image"])), cmap="Greys")
            axes.set_axis_off()
        else:
            own = [(p["feature"], value) for p, value in found if p["class"] == label]
            axes.barh(range(len(own)), [value for _, value in own], color=COLOURS[0])
            axes.set_yticks(
                range(len(own)), [shorten_name(name, LONGEST_NAME) for name, _ in own], fontsize=7
            )
            axes.invert_yaxis()
            axes.set_xlabel("|w|")
    table = Table(
        ("class", "rank", "feature", "|w|"),
        [(named[p["class"]], p["rank"], p["feature"], value) for p, value in found],
        f"The {steps.MOST_FEATURES} largest |w| of each class; first split.",
    )
    words = ["The absolute weight of each feature in the perceptron; the bias is left out."]
    if len(panels) == 1:
        words.append("Two classes share one weight vector.")
    if len(panels) > MOST_PANELS:
        words.append(f"The figure shows the first {MOST_PANELS} of {len(panels)} classes.")
    caption = "Absolute weight of each feature, one panel for each class."
    return Section("Most important features", words, [Picture(figure, caption, table)])


def _shuffled(results: Results) -> Section | None:
    """The columns whose shuffling raises the error of k-NN most."""
    rises, halves = (
        results.values(part=SHUFFLED, metric=metric) for metric in ("error_rise", "half_width")
    )
    names = [
        row_params(row)["feature"] for row in results.where(part=SHUFFLED, metric="error_rise")
    ]
    words = [
        "The values of one column are shuffled among the held-out rows and the classes predicted again, "
        "without a new fit: the more the error rises, the more k-NN depends on the column. With more than "
        f"{MOST_COLUMNS} columns there is no such section."
    ]
    return importance_section("k-NN", list(map(Importance, names, rises, halves)), words)


def _class_title(params: dict[str, Any]) -> str:
    """The name of a class; a number that has none is called by it."""
    label = params["class"]
    return str(params.get("name", label if isinstance(label, str) else f"class {label}"))


def _count_splits(splits: int) -> str:
    return f"Mean ± sd over {splits} splits." if splits > 1 else "One test part."
