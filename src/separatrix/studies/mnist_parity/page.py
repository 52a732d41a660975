"""Page of `mnist-parity`: the descent, its weights as images, and SVMs beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.experiments.steps import Results
from separatrix.plots.figures import COLOURS, INK, new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.mnist_parity import steps
from separatrix.studies.mnist_parity.steps import DATA, GAUSSIAN, HONEST, LINEAR, PARITY, PUBLISHED
from separatrix.studies.views import metric_values, params_of, row_params, study_page

SIGNED = "PuOr"  # a colour-blind safe map; white is 0
ROWS, TEST_ROWS = 60_000, 10_000  # of MNIST, for which results are known
EXPECTED = {  # of this library, on these rows
    PUBLISHED: ".929 / .927 after 7 steps",
    PARITY: "about .80 after 12 steps",
    LINEAR: "about .904 on the test part",
    GAUSSIAN: ".987 on the test part",
    steps.CUBIC: ".987 on the test part",
}
TITLES = {
    PUBLISHED: "descent, the text's constants and target",
    PARITY: "descent, given constants",
    HONEST: "descent, converged",
    LINEAR: "linear SVM",
    GAUSSIAN: "Gaussian kernel",
    steps.CUBIC: "cubic kernel",
}


def page(results: Results) -> Page:
    """The data, all models, the descents step by step, and weights as images."""
    target = steps.describe_target(results.options["v"])
    found = {part: metric_values(results, part=part) for part in TITLES}
    found = {part: values for part, values in found.items() if values}
    first, honest, linear = found[PARITY], found[HONEST], found[LINEAR]
    best = max((GAUSSIAN, steps.CUBIC), key=lambda part: found[part]["test_accuracy"])
    summary = [
        f"With target {target}, descent with {_constants(results)} stops after "
        f"{first['steps']:.0f} steps at an accuracy of {first['held_out_accuracy']:.4f} on held-out rows; "
        f"with constants that let it converge, {honest['held_out_accuracy']:.4f}.",
        f"The linear SVM reaches {linear['test_accuracy']:.4f} on the test part, the {TITLES[best]} "
        f"{found[best]['test_accuracy']:.4f}.",
    ]
    sections = [
        _data(results),
        _models(results, found),
        _descents(results, found),
        _weights(results, found),
    ]
    title = f"{results.title}, on {results.options['data']}"
    return study_page(results, summary, sections, title)


def _data(results: Results) -> Section:
    seen, v = metric_values(results, part=DATA), results.options["v"]
    labels = _label_counts(results)
    arrays = results.arrays[DATA]
    figure, panels = new_axes(0.9 * len(labels), 1.2, 1, len(labels), squeeze=False)
    for axes, label, image in zip(panels[0], labels, arrays["examples"], strict=True):
        axes.imshow(image.reshape(arrays["shape"]), cmap="gray_r", vmin=0, vmax=255)
        axes.set_title(f"{label}: {_sign(label, v):+d}", fontsize=9)
        axes.set_axis_off()
    rows = [(str(label), _sign(label, v), n) for label, n in labels.items()]
    columns = ("label", "target", "training rows")
    table = Table(columns, rows, f"+1 stands for {steps.describe_target(v)}.")
    words = [
        f"The descents train on {seen['learn_rows']:.0f} rows and are tested on "
        f"{seen['held_out_rows']:.0f} others. The SVMs train on {seen['all_rows']:.0f} rows; all models "
        f"are tested on the same {seen['test_rows']:.0f}. No model is tested on its training rows."
    ]
    if results.options["data"] == "digits":
        words.append(
            "The data are scikit-learn's 8 x 8 digits scaled to 0..255, not MNIST. With fewer pixels, "
            "gamma of the kernels is larger."
        )
    elif results.options["quick"]:
        words.append("This is the quick version on a part of the rows: numbers differ.")
    caption = "One image of each label, and its target."
    return Section("Data", words, [Picture(figure, caption, table)])


def _models(results: Results, found: dict[str, dict[str, float]]) -> Section:
    v, rows = results.options["v"], []
    for part, values in found.items():
        params = params_of(results, part=part, metric="train_accuracy")[0]
        rows.append(
            (
                TITLES[part],
                steps.describe_target(params.pop("v")),
                ", ".join(f"{key} {value}" for key, value in params.items()),
                values["train_accuracy"],
                values.get("held_out_accuracy"),
                values["test_accuracy"],
                EXPECTED.get(part),
            )
        )
    columns = ["model", "+1 is", "parameters", "training", "held out", "test part", "expected"]
    width = 7 if _is_published(results) else 6
    caption = f"Accuracy, seed {results.options['seed']}."
    table = Table(columns[:width], [row[:width] for row in rows], caption)
    figure, axes = new_axes(6.4, 0.9 + 0.42 * len(rows))
    scores = [values["test_accuracy"] for values in found.values()]
    colors = [COLOURS[1] if part == PUBLISHED else COLOURS[0] for part in found]
    axes.barh(range(len(scores)), scores, color=colors)
    for position, score in enumerate(scores):
        axes.text(score + 0.005, position, f"{score:.4f}", va="center", color=INK, fontsize=8)
    axes.set_yticks(range(len(scores)), [TITLES[part] for part in found], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlim=(0.5, 1.07), xlabel="accuracy on the test part")
    words = [
        "The linear SVM shows what the descents lose by stopping early, the two kernels what a linear "
        "boundary loses."
    ]
    if PUBLISHED in found:
        published = list(steps.PUBLISHED_TARGET)
        words.append(
            "The text on subgradient descent whose constants these are (S4 in the documentation) has "
            f"{steps.describe_target(published)} against the rest as its target, not parity: "
            "that bar has another colour. "
            f"Predicting -1 always has an accuracy of {_majority(results, published):.3f} on these rows, "
            f"and of {_majority(results, v):.3f} where +1 is {steps.describe_target(v)}."
        )
    picture = Picture(figure, "Accuracy on the test part, all models.", table)
    return Section("All models", words, [picture])


def _descents(results: Results, found: dict[str, dict[str, float]]) -> Section:
    shows = [_descent(results, part) for part in (PUBLISHED, PARITY, HONEST) if part in found]
    words = [
        "The objective is mu |w|² + the mean hinge loss, without a penalty on w0; each step moves by alpha "
        "along a subgradient over all rows, from zero, until the objective changes by at most eps.",
        "With the text's constants (alpha 1e-5, eps 0.01, mu 0.1) on raw pixels the objective "
        "oscillates, and the rule stops at the first small change. With pixels / 255 and smaller eps "
        "and mu it decreases until little is left to gain.",
    ]
    return Section("The descents, step by step", words, shows)


def _descent(results: Results, part: str) -> Picture:
    arrays = results.arrays[part]
    mark = None if len(arrays["loss"]) > 100 else "o"
    figure, (left, right) = new_axes(7.6, 3.0, 1, 2)
    left.plot(np.arange(len(arrays["loss"])), arrays["loss"], color=INK, marker=mark, markersize=4)
    left.set(ylabel="objective", ylim=(0, 1.05 * float(arrays["loss"].max())))
    for label, name, color, style in (
        ("training", "train_accuracy", COLOURS[0], "-"),
        ("held out", "held_out_accuracy", COLOURS[4], "--"),
    ):
        line_style = {"color": color, "linestyle": style, "marker": mark, "markersize": 4}
        right.plot(arrays["steps"], arrays[name], label=label, **line_style)
    right.set_ylabel("accuracy")
    right.legend(fontsize=8, loc="lower right")
    for axes in (left, right):
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("step")
    kept = arrays["steps"]
    columns = (kept, arrays["loss"][kept], arrays["train_accuracy"], arrays["held_out_accuracy"])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    params = params_of(results, part=part, metric="steps")[0]
    constants = f"alpha={params['alpha']:g}, eps={params['eps']:g}, mu={params['mu']:g}"
    caption = (
        f"{TITLES[part].capitalize()}: {steps.describe_target(params['v'])}, {constants}, pixels "
        f"{params['pixels']}; objective and accuracy of the iterates."
    )
    names = ("step", "objective", "training", "held out")
    return Picture(figure, caption, Table(names, rows, "Step 0 is the start, w = 0."))


def _weights(results: Results, found: dict[str, dict[str, float]]) -> Section:
    shown = [part for part in (PUBLISHED, PARITY, HONEST, LINEAR) if part in found]
    shape = tuple(results.arrays[DATA]["shape"])
    weights = {part: results.arrays[part]["w"].reshape(shape) for part in shown}
    figure, panels = new_axes(2.1 * len(weights), 2.4, 1, len(weights), squeeze=False)
    for axes, (part, w) in zip(panels[0], weights.items(), strict=True):
        largest = float(np.abs(w).max()) or 1.0
        axes.imshow(w, cmap=SIGNED, vmin=-largest, vmax=largest)
        axes.set_title(TITLES[part].replace(", ", ",\n").replace(" and ", "\nand "), fontsize=8)
        axes.set_axis_off()
    sizes = Table(
        ("model", "lowest weight", "highest weight", "|w|"),
        [
            (TITLES[part], float(w.min()), float(w.max()), float(np.linalg.norm(w)))
            for part, w in weights.items()
        ],
        "Weights of descents for pixels from 0 to 255, of the SVM for pixels / 255.",
    )
    pixels = Table(
        ("row", "column", *(TITLES[part] for part in shown)),
        [
            (int(i), int(j), *(float(w[i, j]) for w in weights.values()))
            for i, j in np.ndindex(*shape)
        ],
        "Every pixel, from the top left.",
    )
    words = [
        "Each weight at its pixel: ink on orange votes for -1, ink on violet for +1. Each image has its "
        "own scale; white is zero."
    ]
    caption = "The weights of each linear model as an image."
    return Section("Weights as images", words, [Picture(figure, caption, pixels), sizes])


def _label_counts(results: Results) -> dict[Any, int]:
    rows = results.where(part=DATA, metric="rows_of_label")
    return {row_params(row)["label"]: int(row.value) for row in rows}


def _majority(results: Results, v: list[int]) -> float:
    """Share of the training rows whose label is not in v."""
    counts = _label_counts(results)
    return sum(n for label, n in counts.items() if _sign(label, v) < 0) / sum(counts.values())


def _is_published(results: Results) -> bool:
    """Whether the expected numbers apply."""
    seen, options = metric_values(results, part=DATA), results.options
    complete = (seen["all_rows"], seen["test_rows"]) == (ROWS, TEST_ROWS)
    same = options["v"] == list(steps.EVEN) and options["test_size"] is None
    return options["data"] == "mnist" and complete and same and _has_original_constants(results)


def _has_original_constants(results: Results) -> bool:
    return all(results.options[name] == value for name, value in steps.CONSTANTS.items())


def _constants(results: Results) -> str:
    """The constants of the descent on raw pixels, in words."""
    named = ", ".join(f"{name} {results.options[name]:g}" for name in steps.CONSTANTS)
    return f"the text's constants ({named})" if _has_original_constants(results) else named


def _sign(label: Any, v: list[int]) -> int:
    return 1 if int(label) in v else -1
