"""Kernel perceptrons on handwritten digits (USPS), in seven parts and their learning trajectory.

One matrix of inner products serves every degree, width, class, pair, split and fold. Part 1 trains on
the same rows as part 2, so part 2 costs only its folds. One neighbour search answers every k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix import SVC, KernelPerceptron, KNeighborsClassifier
from separatrix.data.splits import Split, random_splits
from separatrix.experiments.protocol import (
    CandidateFamily,
    GridCandidate,
    SplitSamples,
    StudyProtocol,
)
from separatrix.experiments.steps import (
    Experiment,
    Results,
    Row,
    RunContext,
    Step,
    StepResult,
    metric_rows,
)
from separatrix.kernels.vector_kernels import Gaussian, Polynomial
from separatrix.plots.figures import INK, draw_confusion, new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.runtime.device import choose_device
from separatrix.studies import usps_trajectory
from separatrix.studies.inputs import parse_integers
from separatrix.studies.views import format_spread, params_of, row_params, step_seconds, study_page
from separatrix.validation import require_integer, require_real

NAME = "usps-kernel-perceptron"
FOLDS = 5
TEST_SIZE = 0.2
DEGREES = tuple(range(1, 8))
HIGHEST_DEGREE = 50
MAX_ITER = 20
MAX_NEIGHBORS = 9

REST, ARGMAX = "1-4 one against the rest", "1 argmax"
SWEEP, GAUSSIAN, PAIRS = "5 coarse sweep", "5 Gaussian", "6 one against one"
MACHINE, NEIGHBORS = "7 support vectors", "7 nearest neighbours"
CONFUSIONS, HARDEST = "3 confusions", "4 hardest"
FAMILIES = (REST, ARGMAX, GAUSSIAN, PAIRS, MACHINE, NEIGHBORS)
RULES = {REST: "one-vs-rest", ARGMAX: "argmax", PAIRS: "one-vs-one"}

PUBLISHED = {  # test error % that S0, the text of this protocol, reports: 20 splits, degrees 1 to 7
    REST: (8.79, 3.02, 2.70, 2.63, 2.92, 2.69, 2.84),
    ARGMAX: (8.38, 3.81, 3.10, 3.04, 3.27, 3.32, 3.38),
    PAIRS: (5.91, 3.51, 3.06, 3.13, 3.24, 3.31, 3.39),
}
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # distinct for colour-blind readers

MakeCandidate = Callable[[RunContext], GridCandidate]


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    repeats: int | None = None,
    test_size: float = TEST_SIZE,
    max_iter: int | None = None,
    degrees: Sequence[int] | str = DEGREES,
    subsample: int | None = None,
    device: str = "auto",
) -> Experiment:
    """All seven parts and the learning trajectory; quick: three splits of scikit-learn's digits.

    `max_iter` limits the passes of every perceptron; None: 20, and for argmax those of its early
    stopping, which waits for pass 5: up to 5 passes are made without it. `degrees` may be a text such as
    "1-7"; `subsample` rows are drawn before splitting.
    """
    choose_device(NAME, device, large=False)
    require_real(NAME, "test_size", test_size, above=0, below=1)
    for option, value, least in (("max_iter", max_iter, 1), ("subsample", subsample, 20)):
        if value is not None:
            require_integer(NAME, option, value, least=least)
    range_words = f"degrees from 1 to {HIGHEST_DEGREE}, such as 1-7"
    chosen = parse_integers(NAME, "degrees", degrees, range_words, least=1, most=HIGHEST_DEGREE)
    data = data or ("digits" if quick else "usps")
    repeats = (3 if quick else 20) if repeats is None else repeats
    require_integer(NAME, "repeats", repeats, least=1)
    sizes: dict[str, Any] = {"test_size": test_size, "subsample": subsample}
    draw = partial(samples, data=data, repeats=repeats, seed=seed, **sizes)
    protocol = StudyProtocol(data, draw, repeats, seed, FOLDS)
    # 1/256 is the published width, for pixels from -1 to 1; pixels of digits go from 0 to 16
    trained = families(1 / 256 if data == "usps" else 0.001, device, chosen, max_iter)
    sweep = partial(_sweep_widths, protocol=protocol, rule=_rest(device, max_iter))
    steps = [Step(SWEEP, sweep)]
    for family in trained:
        steps += protocol.steps(family)
    steps += [
        Step(CONFUSIONS, partial(_count_confusions, protocol=protocol, family=trained[0])),
        Step(HARDEST, partial(_find_hardest, protocol=protocol, family=trained[0])),
        *usps_trajectory.steps(protocol, tuple(chosen), max_iter, device),
    ]
    options = {"quick": quick, "seed": seed, "data": data, "repeats": repeats}
    options |= {**sizes, "max_iter": max_iter, "degrees": chosen}
    title = "Kernel perceptrons on handwritten digits"
    return Experiment(NAME, title, options, (data,), steps)


def families(
    gamma: float,
    device: str = "auto",
    degrees: Sequence[int] = DEGREES,
    max_iter: int | None = None,
) -> list[CandidateFamily]:
    """Families in the order of the parts; gamma is the second smallest width of the SVM."""
    rest = _rest(device, max_iter)
    argmax: dict[str, Any] = {"multi_class": "argmax", "device": device}
    argmax |= {} if max_iter is None else {"max_iter": max_iter}
    if usps_trajectory.may_stop_early(max_iter):
        argmax |= usps_trajectory.STOP
    pairs = {**rest, "multi_class": "ovo"}
    svms = [
        _kernel_candidate(SVC(C=10.0, kernel=Gaussian(gamma * 2.0**step), device=device), C=10.0)
        for step in range(-1, 3)
    ]
    return [
        CandidateFamily(REST, _polynomials(rest, degrees), "gram"),
        CandidateFamily(ARGMAX, _polynomials(argmax, degrees), "gram"),
        CandidateFamily(GAUSSIAN, [_swept_width(step, rest) for step in range(-3, 4)], "gram"),
        CandidateFamily(PAIRS, _polynomials(pairs, degrees), "gram"),
        CandidateFamily(MACHINE, svms, "gram"),
        CandidateFamily(
            NEIGHBORS,
            [_neighbors(k, device) for k in range(1, MAX_NEIGHBORS + 1)],
            "neighbors",
            "cosine",
        ),
    ]


def samples(
    context: RunContext,
    data: str,
    repeats: int,
    seed: int,
    test_size: float = TEST_SIZE,
    subsample: int | None = None,
) -> SplitSamples:
    """Digits in an order drawn by the seed, all or the first of them, and random splits of them."""
    found = context.data(data)
    n = min(len(found.y), subsample or len(found.y))
    order = np.random.default_rng(seed).permutation(len(found.y))[:n]
    splits = random_splits(n, repeats=repeats, test_size=test_size, seed=seed)
    return SplitSamples(found.X, found.y, [Split(order[s.train], order[s.test]) for s in splits])


def _sweep_widths(context: RunContext, protocol: StudyProtocol, rule: dict[str, Any]) -> StepResult:
    """Fold errors of widths far apart on the first split; the best is the centre of the fine grid."""
    X = context.data(protocol.data).X
    middle = 1.0 / (X.shape[1] * float(np.var(X)))

    def first_split(context: RunContext) -> SplitSamples:
        X, y, splits = protocol.samples(context)
        return SplitSamples(X, y, splits[:1])

    first = replace(protocol, samples=first_split, repeats=1)
    rows: list[Row] = []
    for step in range(-3, 4):
        model = KernelPerceptron(Gaussian(middle * 4.0**step), **rule)
        family = CandidateFamily(SWEEP, [_kernel_candidate(model)], "gram")
        rows += first.score_on_folds(context, family, 0).rows
    best = int(np.argmin([row.value for row in rows])) - 3
    return StepResult(rows, {"best": np.array([middle * 4.0**best])})


def _count_confusions(
    context: RunContext, protocol: StudyProtocol, family: CandidateFamily
) -> StepResult:
    """Share of each class predicted as another, mean and sd over the splits."""
    study = protocol.evaluation(context, family)
    mean, sd = study.confusion()
    rows: list[Row] = []
    for i, label in enumerate(study.classes.tolist()):
        for j, predicted in enumerate(study.classes.tolist()):
            values = {"mean": mean[i, j], "sd": sd[i, j]}
            about = {"label": label, "predicted": predicted}
            rows += metric_rows(CONFUSIONS, protocol.data, family.name, values, **about)
    return StepResult(rows, {"mean": mean, "sd": sd})


def _find_hardest(
    context: RunContext, protocol: StudyProtocol, family: CandidateFamily
) -> StepResult:
    """The five digits misclassified most often by all models of part 1."""
    data = context.data(protocol.data)
    found = protocol.evaluation(context, family).hardest(5)
    rows: list[Row] = []
    for rank, (row, share, guess) in enumerate(found, start=1):
        about = {"row": row, "label": data.y[row], "predicted": guess, "rank": rank}
        rows += metric_rows(HARDEST, protocol.data, family.name, {"share_wrong": share}, **about)
    images = np.asarray(data.X[[row for row, _, _ in found]], dtype=np.float64)
    shape = np.array(data.image or (1, images.shape[1]))
    return StepResult(rows, {"images": images, "shape": shape})


def _rest(device: str, max_iter: int | None = None) -> dict[str, Any]:
    return {"multi_class": "ovr", "max_iter": max_iter or MAX_ITER, "device": device}


def _kernel_candidate(model: Any, **more: Any) -> MakeCandidate:
    return lambda _context: GridCandidate(_kernel_params(model.kernel) | more, model)


def _polynomials(rule: dict[str, Any], degrees: Sequence[int]) -> list[MakeCandidate]:
    return [_kernel_candidate(KernelPerceptron(Polynomial(d), **rule)) for d in degrees]


def _neighbors(k: int, device: str) -> MakeCandidate:
    params: dict[str, Any] = {"n_neighbors": k, "metric": "cosine"}
    return lambda _context: GridCandidate(
        params, KNeighborsClassifier(**params, ties="nearest", device=device)
    )


def _swept_width(step: int, rule: dict[str, Any]) -> MakeCandidate:
    """A width half a power of two from the next, around the best of the coarse sweep."""

    def make(context: RunContext) -> GridCandidate:
        kernel = Gaussian(float(context.result(SWEEP).arrays["best"][0]) * 2.0 ** (step / 2))
        return GridCandidate(_kernel_params(kernel), KernelPerceptron(kernel, **rule))

    return make


def _kernel_params(kernel: Any) -> dict[str, Any]:
    return {"kernel": type(kernel).__name__, **kernel.get_params()}


def page(results: Results) -> Page:
    """The seven parts, each a picture with its table, beside the reported numbers."""
    splits = results.options["repeats"]
    errors = {name: 100 * results.values(part=name, metric="chosen_error") for name in FAMILIES}
    best = min(errors, key=lambda name: float(errors[name].mean()))
    hardest = params_of(results, part=HARDEST)
    summary = [
        f"On {splits} random splits of {results.options['data']} ({_percent(results)} % held out) the "
        f"lowest test error is {format_spread(errors[best])} %, by {_title(best)}; one-vs-rest, with the "
        f"degree chosen by folds, reaches {format_spread(errors[REST])} %.",
        "The hardest digits are rows "
        + ", ".join(f"{p['row']} (a {p['label']} predicted as {p['predicted']})" for p in hardest)
        + ".",
    ]
    parts = (_degrees, _chosen_degrees, _confusions, _hardest, _widths)
    sections = [*(section(results) for section in parts), _comparison(results, errors)]
    sections.append(usps_trajectory.section(results))
    return study_page(results, summary, sections)


def _degrees(results: Results) -> Section:
    """Parts 1 and 6: every degree under the three rules."""
    figure, axes = new_axes(6.4, 3.6)
    rows = []
    degrees, on_usps = results.options["degrees"], _is_published(results)
    for colour, (part, name) in zip(COLOURS, RULES.items(), strict=True):
        train, test = (_by_candidate(results, part, m) for m in ("train_error", "test_error"))
        mean, sd = test.mean(axis=1), test.std(axis=1)
        axes.errorbar(degrees, mean, sd, color=colour, marker="o", capsize=3, label=name)
        if on_usps:
            axes.plot(DEGREES, PUBLISHED[part], color=colour, linestyle=":", marker="x", alpha=0.8)
        for i, degree in enumerate(degrees):
            published = PUBLISHED[part][i] if on_usps else None
            rows.append((name, degree, format_spread(train[i]), format_spread(test[i]), published))
    axes.set(xlabel="degree of the polynomial kernel", ylabel="test error, %")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    columns = ("rule", "degree", "train error %", "test error %", "S0 reports %")
    table = Table(columns, rows, f"Mean ± sd over {results.options['repeats']} splits.")
    caption = "Test error against the degree; bars are one sd, dotted lines what S0 reports."
    words = ["Each kernel is trained on every split; all use one matrix of inner products."]
    if on_usps:
        words.append(
            "S0 is the kernel-perceptron study on handwritten digits whose protocol this is."
        )
    return Section("Every degree (parts 1 and 6)", words, [Picture(figure, caption, table)])


def _chosen_degrees(results: Results) -> Section:
    """Part 2: the degree that folds choose."""
    figure, axes = new_axes(6.4, 3.0)
    offered = np.array(results.options["degrees"])
    rows = []
    for i, (colour, (part, name)) in enumerate(zip(COLOURS, RULES.items(), strict=True)):
        degrees = np.array([p["degree"] for p in _chosen_cells(results, part)])
        counts = np.bincount(degrees, minlength=offered[-1] + 1)[offered]
        axes.bar(offered + 0.27 * (i - 1), counts, width=0.25, color=colour, label=name)
        error = 100 * results.values(part=part, metric="chosen_error")
        rows.append((name, format_spread(degrees), format_spread(error)))
    axes.set(xlabel="degree chosen by 5 folds inside the training part", ylabel="splits")
    axes.legend(frameon=False)
    table = Table(("rule", "degree chosen", "test error %"), rows, "Mean ± sd over the splits.")
    words = [
        "Folds inside each training part choose the degree; the model is then trained on the whole part."
    ]
    picture = Picture(figure, "How often each degree was chosen.", table)
    return Section("The degree that cross-validation chooses (part 2)", words, [picture])


def _confusions(results: Results) -> Section:
    """Part 3."""
    arrays = results.arrays[CONFUSIONS]
    mean, sd = 100 * arrays["mean"], 100 * arrays["sd"]
    labels = list(dict.fromkeys(p["label"] for p in params_of(results, part=CONFUSIONS)))
    figure, _, _ = draw_confusion(mean, sd, labels)
    k = range(len(labels))
    cells = [
        (labels[a], *(f"{mean[a, b]:.2f} ± {sd[a, b]:.2f}" if a != b else None for b in k))
        for a in k
    ]
    table = Table(
        ("is, predicted as", *map(str, labels)),
        cells,
        "% of a digit's test rows, mean ± sd over the splits.",
    )
    caption = "Share of each digit's test rows predicted as another digit, in per cent."
    return Section("Confusions (part 3)", [], [Picture(figure, caption, table)])


def _hardest(results: Results) -> Section:
    """Part 4."""
    rows, arrays = results.where(part=HARDEST), results.arrays[HARDEST]
    figure, panels = new_axes(1.7 * len(rows), 2.2, 1, len(rows), squeeze=False)
    cells = []
    for axes, row, image in zip(panels[0], rows, arrays["images"], strict=True):
        about = row_params(row)
        label, predicted = about["label"], about["predicted"]
        axes.imshow(image.reshape(arrays["shape"]), cmap="gray_r")
        axes.set_title(f"row {about['row']}\na {label} predicted as {predicted}", fontsize=8)
        axes.set_axis_off()
        cells.append((about["row"], label, predicted, f"{100 * row.value:.0f} %"))
    columns = ("row", "label", "predicted as", "wrong")
    table = Table(columns, cells, "Share of all models of part 1.")
    caption = "The five digits that are misclassified most often."
    return Section("The hardest digits (part 4)", [], [Picture(figure, caption, table)])


def _widths(results: Results) -> Section:
    """Part 5."""
    figure, axes = new_axes(6.4, 3.2)
    coarse = [p["gamma"] for p in params_of(results, part=SWEEP)]
    folds = 100 * results.values(part=SWEEP)
    axes.plot(coarse, folds, color="#999999", marker=".", label="coarse sweep, folds")
    fine = sorted({p["gamma"] for p in params_of(results, part=GAUSSIAN)})
    test = _by_candidate(results, GAUSSIAN, "test_error")
    mean, sd = test.mean(axis=1), test.std(axis=1)
    axes.errorbar(fine, mean, sd, color=COLOURS[0], marker="o", capsize=3, label="test")
    axes.set(xscale="log", xlabel="c of exp(-c |p - q|²)", ylabel="error, %")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    rows = [(f"{c:.5f}", format_spread(errors)) for c, errors in zip(fine, test, strict=True)]
    picked = [p["gamma"] for p in _chosen_cells(results, GAUSSIAN)]
    error = 100 * results.values(part=GAUSSIAN, metric="chosen_error")
    rows.append((f"chosen: {format_spread(picked, 5)}", format_spread(error)))
    table = Table(("c", "test error %"), rows, "Mean ± sd over the splits.")
    caption = (
        "Error against the width of the Gaussian: a coarse sweep, then a grid around its best."
    )
    return Section("Gaussian kernels (part 5)", [], [Picture(figure, caption, table)])


def _comparison(results: Results, errors: dict[str, Any]) -> Section:
    """Part 7: all families in one table, with times."""
    figure, axes = new_axes(6.4, 3.0)
    order = sorted(errors, key=lambda name: -float(errors[name].mean()))
    means, sds = ([of(errors[name]) for name in order] for of in (np.mean, np.std))
    axes.errorbar(means, range(len(order)), xerr=sds, color=INK, fmt="o", capsize=3)
    axes.set_yticks(range(len(order)), [_title(name) for name in order])
    axes.set_xlabel("test error of the chosen model, %")
    rows = [
        (_title(name), format_spread(errors[name]), f"{step_seconds(results, name):.1f}")
        for name in reversed(order)
    ]
    caption = (
        "Seconds cover all splits, folds and candidates; the first family computes the products."
    )
    table = Table(("model", "test error %", "seconds"), rows, caption)
    return Section(
        "Support vectors and nearest neighbours (part 7)",
        ["All families use the same splits and folds, so differences are due to the models."],
        [Picture(figure, "Test error of every family, mean ± sd over the splits.", table)],
    )


def _percent(results: Results) -> str:
    return f"{100 * results.options['test_size']:g}"


def _is_published(results: Results) -> bool:
    """Whether the reported errors apply: all rows of USPS, the same share, degrees and passes."""
    options = results.options
    same = (options["test_size"], options["degrees"]) == (TEST_SIZE, list(DEGREES))
    limits = (options["subsample"], options["max_iter"]) == (None, None)
    return options["data"] == "usps" and same and limits


def _by_candidate(results: Results, part: str, metric: str) -> Any:
    """Values in per cent, (candidates, splits)."""
    return 100 * results.values(part=part, metric=metric).reshape(-1, results.options["repeats"])


def _chosen_cells(results: Results, part: str) -> list[dict[str, Any]]:
    return params_of(results, part=part, metric="chosen_error")


def _title(part: str) -> str:
    return part.split(" ", 1)[1]
