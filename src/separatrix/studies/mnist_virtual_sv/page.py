"""Page of `mnist-virtual-sv`: errors beside the published ones, copies, and remaining mistakes.

Published test errors with 60,000 digits are those of LeCun, Bottou, Bengio and Haffner, Gradient-Based
Learning Applied to Document Recognition (1998), and of DeCoste and Schoelkopf (2002).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix.data.images import WHITEST, shifts_within
from separatrix.experiments.steps import Results
from separatrix.plots.figures import COLOURS, INK, new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.studies.mnist_virtual_sv.steps import DATA, MOST_WRONG, ROWS
from separatrix.studies.views import row_params, study_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = {  # test error % with 60,000 digits, by (deskewed, pixels)
    (False, 1): (0.8, "LeCun et al. 1998"),
    (True, 1): (0.68, "DeCoste and Schoelkopf 2002"),
    (True, 2): (0.56, "DeCoste and Schoelkopf 2002"),
}
COPIED = {"own": "each boundary on its own support vectors", "all": "all boundaries on the same"}
COLUMNS = 10  # of images
BACKGROUND = 20  # grey around images


class StageRow(NamedTuple):
    """One stage of the results table."""

    what: str
    deskewed: bool
    pixels: int
    gram: str
    rows: int
    support_vectors: int
    error: float  # a share
    fit_seconds: float
    predict_seconds: float
    step_seconds: float


def page(results: Results) -> Page:
    """Errors, cost, deskewing, copies, and the images that are still misclassified."""
    stages = _stages(results)
    best = min(stages, key=lambda one: one.error)
    first = next(one for one in stages if one.deskewed == best.deskewed and not one.pixels)
    tested = int(results.values(part=DATA, metric="test_rows")[0])
    summary = [
        f"The best model ({best.what}) has a test error of {100 * best.error:.2f} %, "
        f"{round(best.error * tested)} of {tested} images; without copies it is "
        f"{100 * first.error:.2f} %.",
        f"It was trained on {best.rows} images in {best.fit_seconds:.1f} s and has "
        f"{best.support_vectors} support vectors. All {len(stages)} models took "
        f"{sum(one.step_seconds for one in stages):.0f} s.",
    ]
    sections = [
        _errors(results, stages, tested),
        _cost(stages),
        _deskewing(results),
        _copies(results, stages),
        _wrong(results, best, tested),
    ]
    title = f"{results.title}, on {results.options['data']}"
    return study_page(results, summary, sections, title)


def _stages(results: Results) -> list[StageRow]:
    found = []
    for row in results.where(metric="test_error"):
        params = row_params(row)
        [rows] = results.where(part=row.part, metric="rows")
        [support] = results.where(part=row.part, metric="support_vectors")
        about = (row.part, params["deskewed"], params["pixels"], params["gram"])
        counts = (int(rows.value), int(support.value), row.value)
        found.append(StageRow(*about, *counts, support.seconds, row.seconds, rows.seconds))
    return found


def _errors(results: Results, stages: list[StageRow], tested: int) -> Section:
    options = results.options
    known = PUBLISHED if options["data"] == "mnist" else {}
    rows = [
        (
            one.what,
            round(one.error * tested),
            f"{100 * one.error:.2f}",
            *known.get((one.deskewed, one.pixels), (None, None)),
        )
        for one in stages
    ]
    columns = ("model", "wrong", "test error %", "published %", "by")
    table = Table(columns, rows, f"Of {tested} test images; seed {options['seed']}.")
    figure, axes = new_axes(6.4, 0.9 + 0.4 * len(rows))
    for y, (_, _, error, published, _) in enumerate(rows):
        axes.barh(y, float(error), color=COLOURS[0])
        axes.text(float(error), y, f" {error}", va="center", color=INK, fontsize=8)
        if published is not None:
            axes.vlines(published, y - 0.45, y + 0.45, color=COLOURS[1], linewidth=2.5)
    axes.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xmargin(0.12)
    axes.set_xlabel("test error, %")
    trained = int(results.values(part=DATA, metric="rows")[0])
    copied = COPIED["all" if options["multi_class"] == "ovo" else options["copies"]]
    words = [
        f"SVMs with the kernel (x.z + 1)^{options['degree']} / 2^{options['degree']}, "
        f"C={options['C']:g}, on images scaled to norm 1. The first is trained on {trained} images, the "
        "others on its support vectors and copies of them, shifted by up to that many pixels in every "
        f"direction, {copied}."
    ]
    if known and (trained < ROWS or options["test_size"] < 1):
        words.append(
            f"Published errors are for {ROWS} training and 10000 test images: more than here."
        )
    elif not known:
        words.append("There are no published errors for these images, only for MNIST.")
    caption = "Test error of each model; lines are published errors."
    return Section("Published and measured errors", words, [Picture(figure, caption, table)])


def _cost(stages: list[StageRow]) -> Section:
    rows = [
        (
            *(one.what, one.rows, one.support_vectors),
            *(one.fit_seconds, one.predict_seconds, one.step_seconds, one.gram),
        )
        for one in stages
    ]
    table = Table(
        ("model", "rows", "support vectors", "fit s", "predict s", "stage s", "kernel matrix"),
        rows,
        "A stage is copying, scaling, training and testing; the largest kernel matrix is named.",
    )
    figure, panels = new_axes(7.6, 0.9 + 0.36 * len(stages), 1, 2, sharey=True)
    for axes, label, column in zip(panels, ("support vectors", "fit s"), (2, 3), strict=True):
        axes.barh(range(len(stages)), [row[column] for row in rows], color=COLOURS[0])
        axes.set_xlabel("seconds of training" if column == 3 else label)
    panels[0].set_yticks(range(len(stages)), [one.what for one in stages], fontsize=8)
    panels[0].invert_yaxis()
    words = ["Only support vectors need copies: the other images do not change the boundary."]
    caption = "Support vectors of each model, and the seconds of its training."
    return Section("Support vectors and seconds", words, [Picture(figure, caption, table)])


def _deskewing(results: Results) -> Section:
    before = results.where(part=DATA, metric="slant")
    after = results.where(part=DATA, metric="slant_deskewed")
    labels = _labels(results)
    arrays = results.arrays[DATA]
    images = np.concatenate([arrays["before"], arrays["after"]])
    titles = [f"{row.value:+.2f}" for row in (*before, *after)]
    table = Table(
        ("label", "slant", "deskewed"),
        [(label, a.value, b.value) for label, a, b in zip(labels, before, after, strict=True)],
        "Shift in columns per row, from the second moments of the ink.",
    )
    [count] = results.where(part=DATA, metric="deskewed_pictures")
    words = [
        "Deskewing shifts each row of an image sideways, in proportion to its distance from the centre of "
        "mass, until columns and rows of the ink are uncorrelated; values between pixels are "
        f"interpolated. All {count.value:.0f} images took {count.seconds:.2f} s."
    ]
    caption = "A slanted image of each label, above as it is, below deskewed, with its slant."
    figure = _gallery(images, titles, columns=len(labels))
    return Section("Deskewing", words, [Picture(figure, caption, table)])


def _copies(results: Results, stages: list[StageRow]) -> Section:
    shows = []
    for one in stages:
        if not one.pixels:
            continue
        counts = results.where(part=one.what, metric="support_vectors_of_move")
        moves = shifts_within(one.pixels)
        order = sorted(range(len(moves)), key=moves.__getitem__)  # by position in the plane
        titles = [f"{counts[i].value:.0f}" for i in order]
        table = Table(
            ("down", "right", "support vectors"),
            [(*moves[i], int(counts[i].value)) for i in order],
            "Pixels of the shift, and the support vectors among all copies shifted so.",
        )
        caption = (
            f"{one.what.capitalize()}: one support vector with its copies; numbers are the support "
            "vectors with that shift."
        )
        images = results.arrays[one.what]["copies"][order]
        figure = _gallery(images, titles, columns=2 * one.pixels + 1)
        shows.append(Picture(figure, caption, table))
    words = [
        "A shifted digit is the same digit, but another sample to a kernel on pixels. Copies in all "
        "directions teach the model this invariance. The original is in the middle."
    ]
    return Section("A support vector and its copies", words, shows)


def _wrong(results: Results, best: StageRow, tested: int) -> Section:
    arrays, labels = results.arrays[best.what], _labels(results)
    pairs = [(labels[a], labels[b]) for a, b in zip(arrays["is"], arrays["taken_for"], strict=True)]
    wrong = round(best.error * tested)
    words = [f"The best model ({best.what}) misclassifies {wrong} of {tested} test images."]
    if wrong > MOST_WRONG:
        words.append(f"The figure shows the first {MOST_WRONG}.")
    rows = [(int(row), *pair) for row, pair in zip(arrays["wrong"], pairs, strict=True)]
    table = Table(("row", "is", "predicted as"), rows, "Rows of the test part, from 0.")
    if not pairs:
        return Section("Misclassified images", words, [table])
    figure = _gallery(arrays["pictures"], [f"{a} as {b}" for a, b in pairs], columns=COLUMNS)
    caption = "Each image with its label and its prediction."
    return Section("Misclassified images", words, [Picture(figure, caption, table)])


def _labels(results: Results) -> list[str]:
    return [str(row_params(row)["label"]) for row in results.where(part=DATA, metric="slant")]


def _gallery(images: Any, titles: list[str], *, columns: int) -> Figure:
    """Images in lines with a title each, on one axes: separate axes would take seconds."""
    _, h, w = images.shape
    above, beside = h // 4 + 1, w // 14 + 1
    height, width = h + above, w + beside
    lines = -(-len(images) // columns)
    canvas = np.full((lines * height, columns * width), BACKGROUND, dtype=images.dtype)
    figure, axes = new_axes(0.78 * columns, 0.78 * lines * height / width)
    for position, (image, title) in enumerate(zip(images, titles, strict=True)):
        line, column = divmod(position, columns)
        top, left = line * height + above, column * width
        canvas[top : top + h, left : left + w] = image
        axes.text(left + w / 2, top - 1, title, ha="center", va="bottom", fontsize=7, color=INK)
    axes.imshow(canvas, cmap="gray_r", vmin=0, vmax=WHITEST, interpolation="none")
    axes.set_axis_off()
    return figure
