"""The page of the digits study: its seven parts, each a picture and its table, and what was published."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, MISTAKES, new_figure
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.reproduce import command_of, facts_of, python_of
from separatrix.studies.usps_steps import (
    ARGMAX,
    CONFUSIONS,
    DEGREES,
    GAUSSIAN,
    HARDEST,
    MACHINE,
    NEIGHBORS,
    PAIRS,
    REST,
    SWEEP,
)

PUBLISHED = {  # test error %, 20 splits of USPS, degrees 1 to 7
    REST: (8.79, 3.02, 2.70, 2.63, 2.92, 2.69, 2.84),
    ARGMAX: (8.38, 3.81, 3.10, 3.04, 3.27, 3.32, 3.38),
    PAIRS: (5.91, 3.51, 3.06, 3.13, 3.24, 3.31, 3.39),
}
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by every eye
FAMILIES = (REST, ARGMAX, GAUSSIAN, PAIRS, MACHINE, NEIGHBORS)


def page(results: Results) -> Page:
    """From the table alone."""
    splits = results.options["repeats"]
    chosen = {name: 100 * results.values(part=name, metric="chosen_error") for name in FAMILIES}
    best = min(chosen, key=lambda name: float(chosen[name].mean()))
    hardest = [json.loads(row.parameters) for row in results.where(part=HARDEST)]
    summary = [
        f"On {splits} random splits of {results.options['data']}, four fifths to train and one to test, "
        f"the lowest test error is {_spread(chosen[best])} %, by {_words(best)}; "
        f"one against the rest, with the degree chosen by folds, makes {_spread(chosen[REST])} %.",
        "The digits hardest to read are rows "
        + ", ".join(
            f"{one['row']} (a {one['label']}, read as {one['taken_for']})" for one in hardest
        )
        + ".",
    ]
    return Page(
        title=results.title,
        summary=summary,
        sections=[
            _degrees(results),
            _choices(results),
            _confusions(results),
            _hardest(results),
            _widths(results),
            _others(results, chosen),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _degrees(results: Results) -> Section:
    """Parts 1 and 6: every degree under the three rules."""
    figure = new_figure(6.4, 3.6)
    axes = figure.add_subplot()
    rows = []
    names = {REST: "against the rest", ARGMAX: "argmax", PAIRS: "against each other"}
    for colour, (part, name) in zip(COLOURS, names.items(), strict=True):
        train, test = (
            _by_candidate(results, part, metric) for metric in ("train_error", "test_error")
        )
        mean, sd = test.mean(axis=1), test.std(axis=1)
        axes.errorbar(DEGREES, mean, sd, color=colour, marker="o", capsize=3, label=name)
        if results.options["data"] == "usps":
            axes.plot(DEGREES, PUBLISHED[part], color=colour, linestyle=":", marker="x", alpha=0.8)
        for position, degree in enumerate(DEGREES):
            published = PUBLISHED[part][position] if results.options["data"] == "usps" else None
            rows.append(
                (name, degree, _spread(train[position]), _spread(test[position]), published)
            )
    axes.set_xlabel("degree of the polynomial kernel")
    axes.set_ylabel("test error, %")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    table = Table(
        ("rule", "degree", "train error %", "test error %", "published"),
        rows,
        f"Mean ± sd over {results.options['repeats']} splits.",
    )
    caption = "Test error against the degree for the three rules; bars are one sd, dots what was published."
    return Section(
        "Every degree (parts 1 and 6)",
        ["Each kernel is trained on every split; all read one matrix of inner products."],
        [Picture(figure, caption, table)],
    )


def _choices(results: Results) -> Section:
    """Part 2: the degree that folds choose."""
    figure = new_figure(6.4, 3.0)
    axes = figure.add_subplot()
    rows = []
    names = {REST: "against the rest", ARGMAX: "argmax", PAIRS: "against each other"}
    for position, (colour, (part, name)) in enumerate(zip(COLOURS, names.items(), strict=True)):
        degrees = np.array([one["degree"] for one in _chosen(results, part)])
        counts = np.bincount(degrees, minlength=DEGREES[-1] + 1)[1:]
        axes.bar(
            np.array(DEGREES) + 0.27 * (position - 1), counts, width=0.25, color=colour, label=name
        )
        error = 100 * results.values(part=part, metric="chosen_error")
        rows.append((name, f"{degrees.mean():.2f} ± {degrees.std():.2f}", _spread(error)))
    axes.set_xlabel("degree chosen by 5 folds inside the training part")
    axes.set_ylabel("splits")
    axes.legend(frameon=False)
    table = Table(("rule", "degree chosen", "test error %"), rows, "Mean ± sd over the splits.")
    return Section(
        "The degree that cross-validation chooses (part 2)",
        [
            "Folds inside each training part choose; the chosen degree is trained on all of it and tested."
        ],
        [Picture(figure, "How often each degree was chosen.", table)],
    )


def _confusions(results: Results) -> Section:
    """Part 3."""
    arrays = results.arrays[CONFUSIONS]
    mean, sd = 100 * arrays["mean"], 100 * arrays["sd"]
    about = (json.loads(row.parameters) for row in results.where(part=CONFUSIONS))
    labels = list(dict.fromkeys(one["of"] for one in about))
    k = len(labels)
    figure = new_figure(1.4 + 0.56 * k, 1.2 + 0.5 * k)
    axes = figure.add_subplot()
    axes.imshow(mean, cmap=MISTAKES, vmin=0)
    for a in range(k):
        for b in range(k):
            if mean[a, b] > 0:
                ink = "white" if mean[a, b] > 0.6 * mean.max() else INK
                words = f"{mean[a, b]:.2f}\n±{sd[a, b]:.2f}"
                axes.text(b, a, words, ha="center", va="center", fontsize=6.5, color=ink)
    axes.set_xticks(range(k), labels)
    axes.set_yticks(range(k), labels)
    axes.set_xlabel("taken for")
    axes.set_ylabel("is")
    cells = [
        (labels[a], *(f"{mean[a, b]:.2f} ± {sd[a, b]:.2f}" if a != b else None for b in range(k)))
        for a in range(k)
    ]
    columns = ("is, taken for", *(str(label) for label in labels))
    table = Table(columns, cells, "% of a digit's test rows, mean ± sd over the splits.")
    caption = "Which digit is taken for which, in per cent of the digit's test rows."
    return Section("Confusions (part 3)", [], [Picture(figure, caption, table)])


def _hardest(results: Results) -> Section:
    """Part 4."""
    rows = results.where(part=HARDEST)
    images = results.arrays[HARDEST]["images"]
    shape = tuple(results.arrays[HARDEST]["shape"].tolist())
    figure = new_figure(1.7 * len(rows), 2.2)
    cells = []
    for position, row in enumerate(rows):
        about = json.loads(row.parameters)
        axes = figure.add_subplot(1, len(rows), position + 1)
        axes.imshow(images[position].reshape(shape), cmap="gray_r")
        axes.set_title(
            f"row {about['row']}\na {about['label']}, read as {about['taken_for']}", fontsize=8
        )
        axes.set_axis_off()
        cells.append((about["row"], about["label"], about["taken_for"], f"{100 * row.value:.0f} %"))
    table = Table(
        ("row", "label", "taken for", "wrong"), cells, "Share of all trainings of part 1."
    )
    caption = "The five digits that are mistaken most often."
    return Section("The hardest digits (part 4)", [], [Picture(figure, caption, table)])


def _widths(results: Results) -> Section:
    """Part 5."""
    figure = new_figure(6.4, 3.2)
    axes = figure.add_subplot()
    sweep = results.where(part=SWEEP)
    coarse = [json.loads(row.parameters)["gamma"] for row in sweep]
    axes.plot(
        coarse,
        [100 * row.value for row in sweep],
        color="#999999",
        marker=".",
        label="coarse sweep, folds",
    )
    fine = sorted({json.loads(row.parameters)["gamma"] for row in results.where(part=GAUSSIAN)})
    test = _by_candidate(results, GAUSSIAN, "test_error")
    axes.errorbar(
        fine,
        test.mean(axis=1),
        test.std(axis=1),
        color=COLOURS[0],
        marker="o",
        capsize=3,
        label="test",
    )
    axes.set_xscale("log")
    axes.set_xlabel("c of exp(-c |p - q|²)")
    axes.set_ylabel("error, %")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    rows = [(f"{c:.5f}", _spread(errors)) for c, errors in zip(fine, test, strict=True)]
    picked = np.array([one["gamma"] for one in _chosen(results, GAUSSIAN)])
    error = 100 * results.values(part=GAUSSIAN, metric="chosen_error")
    rows.append((f"chosen: {picked.mean():.5f} ± {picked.std():.5f}", _spread(error)))
    table = Table(("c", "test error %"), rows, "Mean ± sd over the splits.")
    caption = (
        "Error against the width of the Gaussian: a coarse sweep, then widths around its best."
    )
    return Section("Gaussian kernels (part 5)", [], [Picture(figure, caption, table)])


def _others(results: Results, chosen: dict[str, Any]) -> Section:
    """Part 7: all on one table, with times."""
    figure = new_figure(6.4, 3.0)
    axes = figure.add_subplot()
    order = sorted(chosen, key=lambda name: -float(chosen[name].mean()))
    for position, name in enumerate(order):
        axes.errorbar(
            chosen[name].mean(), position, xerr=chosen[name].std(), color=INK, marker="o", capsize=3
        )
    axes.set_yticks(range(len(order)), [_words(name) for name in order])
    axes.set_xlabel("test error of what the folds choose, %")
    seconds = {name: _seconds(results, name) for name in FAMILIES}
    rows = [
        (_words(name), _spread(chosen[name]), f"{seconds[name]:.1f}") for name in reversed(order)
    ]
    words = "Seconds are for all splits, folds and candidates; the first also makes the products."
    table = Table(("model", "test error %", "seconds"), rows, words)
    return Section(
        "Support vectors and nearest neighbours beside (part 7)",
        ["The same splits and folds for all: differences are of the models."],
        [Picture(figure, "Test error of every family, mean ± sd over the splits.", table)],
    )


def _by_candidate(results: Results, part: str, metric: str) -> Any:
    """Values in per cent, (candidates, splits)."""
    return 100 * results.values(part=part, metric=metric).reshape(-1, results.options["repeats"])


def _chosen(results: Results, part: str) -> list[dict[str, Any]]:
    return [json.loads(row.parameters) for row in results.where(part=part, metric="chosen_error")]


def _seconds(results: Results, part: str) -> float:
    """Time of all steps of a family: rows of one step share its time."""
    times = {row.seconds for row in results.where(part=part)}
    return float(sum(times))


def _spread(errors: Any) -> str:
    return f"{np.mean(errors):.2f} ± {np.std(errors):.2f}"


def _words(part: str) -> str:
    return part.split(" ", 1)[1]
