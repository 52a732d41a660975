"""The page of `mnist-virtual-sv`: errors beside the published ones, what a copy is, what is still wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix.data.images import WHITEST, shifts_within
from separatrix.experiments.table import Results
from separatrix.plots.figures import INK, new_figure
from separatrix.plots.region_figures import COLOURS
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.studies.mnist_virtual_sv_steps import DATA, PUBLISHED, ROWS, SHOWN
from separatrix.studies.reproduce import command_of, facts_of, python_of
from separatrix.studies.virtual_support_vectors import named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOSE = {
    "own": "each boundary from those of its own",
    "all": "all boundaries from the same",
}
ACROSS = 10  # pictures in a line
GROUND = 20  # around pictures, so that one sees where they end


class Shown(NamedTuple):
    """One machine as the table of results has it."""

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
    """The errors first, then how it is done, then what is left."""
    machines = _machines(results)
    best = min(machines, key=lambda one: one.error)
    first = next(one for one in machines if one.deskewed == best.deskewed and not one.pixels)
    tested = int(results.values(part=DATA, metric="test_rows")[0])
    summary = [
        f"The best machine ({best.what}) has {100 * best.error:.2f} % of {tested} test pictures wrong, "
        f"{round(best.error * tested)} of them; the same without copies "
        f"{100 * first.error:.2f} %.",
        f"It learned from {best.rows} pictures in {best.fit_seconds:.1f} s and has "
        f"{best.support_vectors} support vectors. All {len(machines)} machines took "
        f"{sum(one.step_seconds for one in machines):.0f} s.",
    ]
    return Page(
        title=f"{results.title}, on {results.options['data']}",
        summary=summary,
        sections=[
            _errors(results, machines, tested),
            _work(machines),
            _upright(results),
            _copies(results, machines),
            _wrong(results, best, tested),
        ],
        command=command_of(results),
        python=python_of(results),
        facts=facts_of(results),
    )


def _machines(results: Results) -> list[Shown]:
    found = []
    for row in results.where(metric="test_error"):
        how = json.loads(row.parameters)
        [rows] = results.where(part=row.part, metric="rows")
        [support] = results.where(part=row.part, metric="support_vectors")
        found.append(
            Shown(
                row.part,
                how["deskewed"],
                how["pixels"],
                how["gram"],
                int(rows.value),
                int(support.value),
                row.value,
                support.seconds,
                row.seconds,
                rows.seconds,
            )
        )
    return found


def _errors(results: Results, machines: list[Shown], tested: int) -> Section:
    options = results.options
    told = PUBLISHED if options["data"] == "mnist" else {}
    published = [told.get((one.deskewed, one.pixels), (None, None)) for one in machines]
    table = Table(
        ("machine", "wrong", "test error %", "published %", "by whom"),
        [
            (one.what, round(one.error * tested), f"{100 * one.error:.2f}", error, who)
            for one, (error, who) in zip(machines, published, strict=True)
        ],
        f"Of {tested} test pictures; seed {options['seed']}.",
    )
    learned = int(results.values(part=DATA, metric="rows")[0])
    whose = WHOSE["all" if options["multi_class"] == "ovo" else options["copies"]]
    words = [
        f"Support vector machines with the kernel (x.z + 1)^{options['degree']} / 2^{options['degree']}, "
        f"C={options['C']:g}, on pictures scaled to length 1. The first learns from {learned} pictures. "
        "The others learn from its support vectors and copies of them, moved by up to so many pixels in "
        f"every direction, {whose}.",
    ]
    if told and (learned < ROWS or options["test_size"] < 1):
        words.append(
            f"What was published is for {ROWS} pictures to learn from and 10000 to test: more than here."
        )
    elif not told:
        words.append("Nothing was published for these pictures: the numbers to meet are for MNIST.")
    caption = "Test error of each machine; a line where there is a published one."
    return Section("Against what was published", words, [Picture(_bars(table), caption, table)])


def _bars(table: Table) -> Figure:
    figure = new_figure(6.4, 0.9 + 0.4 * len(table.rows))
    axes = figure.add_subplot()
    for position, (_, _, error, published, _) in enumerate(table.rows):
        axes.barh(position, float(error), color=COLOURS[0])
        axes.text(float(error), position, f" {error}", va="center", color=INK, fontsize=8)
        if published is not None:
            axes.vlines(
                published, position - 0.45, position + 0.45, color=COLOURS[1], linewidth=2.5
            )
    axes.set_yticks(range(len(table.rows)), [row[0] for row in table.rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xmargin(0.12)
    axes.set_xlabel("test error, %")
    return figure


def _work(machines: list[Shown]) -> Section:
    table = Table(
        ("machine", "rows", "support vectors", "fit s", "predict s", "stage s", "kernel matrix"),
        [
            (
                one.what,
                one.rows,
                one.support_vectors,
                one.fit_seconds,
                one.predict_seconds,
                one.step_seconds,
                one.gram,
            )
            for one in machines
        ],
        "A stage is copying, scaling, training and testing together; of several kernel matrices the "
        "largest is named.",
    )
    figure = new_figure(7.6, 0.9 + 0.36 * len(machines))
    panels: dict[str, list[float]] = {
        "support vectors": [one.support_vectors for one in machines],
        "seconds of training": [one.fit_seconds for one in machines],
    }
    for position, (label, values) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(1, 2, position)
        axes.barh(range(len(machines)), values, color=COLOURS[0])
        axes.set_yticks(range(len(machines)), [one.what for one in machines], fontsize=8)
        axes.tick_params(labelleft=position == 1)
        axes.invert_yaxis()
        axes.set_xlabel(label)
    words = ["A copy is needed only of what decided: a picture that is no support vector has none."]
    caption = "Support vectors of each machine, and the seconds that its training took."
    return Section("Support vectors and seconds", words, [Picture(figure, caption, table)])


def _upright(results: Results) -> Section:
    before = results.where(part=DATA, metric="slant")
    after = results.where(part=DATA, metric="slant_deskewed")
    labels = [str(json.loads(row.parameters)["label"]) for row in before]
    arrays = results.arrays[DATA]
    images = np.concatenate([arrays["before"], arrays["after"]])
    titles = [f"{row.value:+.2f}" for row in (*before, *after)]
    table = Table(
        ("label", "slant", "deskewed"),
        [(label, a.value, b.value) for label, a, b in zip(labels, before, after, strict=True)],
        "Columns to the right for each row further down, from second moments of the ink.",
    )
    [count] = results.where(part=DATA, metric="deskewed_pictures")
    words = [
        "Deskewing moves each row of a picture sideways, in proportion to how far it is from the centre "
        "of mass, until columns and rows of the ink are uncorrelated. Between two pixels values are "
        f"interpolated. All {count.value:.0f} pictures took {count.seconds:.2f} s.",
    ]
    caption = (
        "A picture of each label that leans, above as it is, below deskewed, each with its slant."
    )
    figure = _gallery(images, titles, across=len(labels))
    return Section("Set upright", words, [Picture(figure, caption, table)])


def _copies(results: Results, machines: list[Shown]) -> Section:
    shows: list[Picture | Table] = []
    for one in machines:
        if not one.pixels:
            continue
        counts = results.where(part=one.what, metric="support_vectors_of_move")
        moves = shifts_within(one.pixels)
        order = sorted(range(len(moves)), key=moves.__getitem__)  # as they lie in the plane
        images = results.arrays[one.what]["copies"]
        titles = [f"{counts[position].value:.0f}" for position in order]
        table = Table(
            ("down", "right", "support vectors"),
            [(*moves[position], int(counts[position].value)) for position in order],
            "Pixels of the move, and the support vectors among all copies that were moved so.",
        )
        caption = (
            f"{one.what}: one support vector with its copies, each with the number of support vectors "
            "that were moved like it."
        )
        figure = _gallery(images[order], titles, across=2 * one.pixels + 1)
        shows.append(Picture(figure, caption[0].upper() + caption[1:], table))
    words = [
        "A moved digit is the same digit, but to a kernel on pixels it is another sample. Copies in all "
        "directions tell the machine what it cannot know. The original is in the middle.",
    ]
    return Section("A support vector and its copies", words, shows)


def _wrong(results: Results, best: Shown, tested: int) -> Section:
    arrays = results.arrays[named(best.deskewed, best.pixels)]
    slants = results.where(part=DATA, metric="slant")
    labels = [str(json.loads(row.parameters)["label"]) for row in slants]
    pairs = [(labels[a], labels[b]) for a, b in zip(arrays["is"], arrays["taken_for"], strict=True)]
    wrong = round(best.error * tested)
    words = [f"Of {tested} test pictures the best machine ({best.what}) has {wrong} wrong."]
    if wrong > SHOWN:
        words.append(f"These are the first {SHOWN}.")
    table = Table(
        ("row", "is", "taken for"),
        [(int(row), *pair) for row, pair in zip(arrays["wrong"], pairs, strict=True)],
        "Rows of the test part, from 0.",
    )
    if not pairs:
        return Section("Still wrong", words, [table])
    titles = [f"{a} as {b}" for a, b in pairs]
    caption = "Each picture with its label and what it is taken for."
    figure = _gallery(arrays["pictures"], titles, across=ACROSS)
    return Section("Still wrong", words, [Picture(figure, caption, table)])


def _gallery(images: Any, titles: list[str], *, across: int) -> Figure:
    """Pictures in lines, a few words above each; one image of all, as axes for each take seconds."""
    _, h, w = images.shape
    above, beside = h // 4 + 1, w // 14 + 1
    high, wide = h + above, w + beside
    lines = -(-len(images) // across)
    paper = np.full((lines * high, across * wide), GROUND, dtype=images.dtype)
    figure = new_figure(0.78 * across, 0.78 * lines * high / wide)
    axes = figure.add_subplot()
    for position, (image, title) in enumerate(zip(images, titles, strict=True)):
        line, column = divmod(position, across)
        top, left = line * high + above, column * wide
        paper[top : top + h, left : left + w] = image
        axes.text(left + w / 2, top - 1, title, ha="center", va="bottom", fontsize=7, color=INK)
    axes.imshow(paper, cmap="gray_r", vmin=0, vmax=WHITEST, interpolation="none")
    axes.set_axis_off()
    return figure
