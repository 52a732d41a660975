"""Steps of `mnist-virtual-sv`: one model is a step, on images as they are and deskewed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from separatrix import SVC
from separatrix.data.catalogue.find import find
from separatrix.data.images import jittered, shifts_within, slants
from separatrix.experiments.steps import Experiment, RunContext, Step, StepResult, metric_rows
from separatrix.runtime.device import choose_device
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.studies.inputs import DigitImages, mnist_or_digits, parse_integers, split_images
from separatrix.studies.mnist_virtual_sv import training
from separatrix.studies.mnist_virtual_sv.training import DEGREE, JITTERS, C, stage_name
from separatrix.validation import require_choice, require_integer, require_real

NAME = "mnist-virtual-sv"
DATA = "data"
ROWS = 60_000  # of MNIST
CPU_ROWS = 2000  # by default: with 24 copies of each support vector, a minute or two
QUICK_ROWS, QUICK_TEST = 500, 0.1
MOST_PIXELS = 4  # 81 copies of every support vector
DESKEW = {"no": (False,), "yes": (True,), "both": (False, True)}
MOST_WRONG = 120  # misclassified images that are stored
CANDIDATES = 200  # images of each label, of which the most slanted is shown


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    subsample: int | None = None,
    test_size: float | None = None,
    jitters: Sequence[int] | str = JITTERS,
    degree: int = DEGREE,
    C: float = C,
    deskew: str = "both",
    multi_class: str = "ovr",
    copies: str = "own",
    device: str = "auto",
) -> Experiment:
    """One step per model: every image, then the support vectors with their copies.

    Options are those of `run_virtual_sv`; `jitters` may be a text such as "1,2", `deskew` is "no", "yes"
    or "both". `subsample` is the number of training images, None: all 60,000 with a GPU, 2000 without;
    `test_size` the share of the test part. A quick run takes 500 images and a tenth of the test part.
    """
    require_integer(NAME, "degree", degree, least=1)
    require_real(NAME, "C", C, above=0)
    require_choice(NAME, "deskew", deskew, DESKEW)
    require_choice(NAME, "multi_class", multi_class, ("ovo", "ovr"))
    require_choice(NAME, "copies", copies, ("own", "all"))
    must_be = f"numbers of pixels from 1 to {MOST_PIXELS}, such as [1, 2]"
    pixels = parse_integers(NAME, "jitters", jitters, must_be, least=1, most=MOST_PIXELS)
    on_gpu = choose_device(NAME, device, None) is not None
    data = data or mnist_or_digits(quick)
    if subsample is None:
        subsample = QUICK_ROWS if quick else ROWS if on_gpu else CPU_ROWS
    require_integer(NAME, "subsample", subsample, least=20)
    if test_size is None:
        test_size = QUICK_TEST if quick and data == "mnist" else 1.0
    require_real(NAME, "test_size", test_size, above=0, most=1)
    options = {
        "quick": quick,
        "seed": seed,
        "data": data,
        "subsample": subsample,
        "test_size": test_size,
        "jitters": pixels,
        "degree": degree,
        "C": C,
        "deskew": deskew,
        "multi_class": multi_class,
        "copies": copies,
    }
    kernel = training.power_kernel(degree)
    model = SVC(C=C, kernel=kernel, multi_class=multi_class, device=device)
    study = _VirtualStudy(options, model)
    steps = [Step(DATA, study.describe_data)]
    for upright in DESKEW[deskew]:
        for shift in (0, *pixels):
            step = partial(study.train_stage, upright=upright, pixels=shift)
            steps.append(Step(stage_name(upright, shift), step))
    return Experiment(NAME, "Digits by virtual support vectors", options, (data,), steps, find)


class _VirtualStudy:
    """The steps, under one set of options."""

    def __init__(self, options: dict[str, Any], model: SVC) -> None:
        self.options, self.model = options, model
        self._rows = partial(metric_rows, data=options["data"], model="SVC")

    def describe_data(self, context: RunContext) -> StepResult:
        """Sizes of the parts, and the most slanted image of each label, before and after deskewing."""
        digits = self.digits(context)
        with ResourceUsage() as usage:
            upright = self.upright(context)
        counts = {"rows": len(digits.images), "test_rows": len(digits.test)}
        total = {"deskewed_pictures": sum(counts.values())}
        rows = self._rows(DATA, values=counts)
        rows += self._rows(DATA, values=total, seconds=usage.seconds)
        labels = np.unique(digits.labels)
        slant = slants(digits.images)
        shown = np.array([_most_slanted(slant, digits.labels == label) for label in labels])
        left = slants(upright.images[shown])
        for label, row, after in zip(labels, shown, left, strict=True):
            values = {"slant": slant[row], "slant_deskewed": after}
            rows += self._rows(DATA, values=values, label=label)
        arrays = {"before": digits.images[shown], "after": upright.images[shown]}
        return StepResult(rows, arrays)

    def train_stage(self, context: RunContext, upright: bool, pixels: int) -> StepResult:
        """One model; copies are of the support vectors of the first stage."""
        digits = self.upright(context) if upright else self.digits(context)
        what = stage_name(upright, pixels)
        if pixels:
            support = self._support(context.result(stage_name(upright, 0)))
            found = training.train_on_copies(digits, self.model, what, support, pixels)
        else:
            found, support = training.train_first(digits, self.model, what)
        stage = found.stage
        row = partial(self._rows, what, deskewed=upright, pixels=pixels, gram=found.gram)
        error = np.mean(found.predicted != digits.test_labels)
        rows = row(values={"rows": stage.rows})
        rows += row(values={"support_vectors": stage.support_vectors}, seconds=stage.fit_seconds)
        sizes = (stage.rows, len(digits.test_labels))
        rows += row(values={"test_error": error}, seconds=stage.predict_seconds, sizes=sizes)
        arrays = _misclassified(digits, found)
        if found.moves is None:
            arrays["support"] = support.rows.astype(np.int32)
            arrays["own"] = support.own.astype(np.uint8)
        else:
            for (down, right), count in zip(shifts_within(pixels), found.moves, strict=True):
                rows += row(values={"support_vectors_of_move": count}, down=down, right=right)
            arrays["copies"] = jittered(digits.images[support.rows[:1]], pixels)
        return StepResult(rows, arrays)

    def digits(self, context: RunContext) -> DigitImages:
        """The images, made once."""
        return context.shared(
            "digits",
            lambda: split_images(
                NAME,
                context.data(self.options["data"]),
                test_size=self.options["test_size"],
                seed=self.options["seed"],
                rows=self.options["subsample"],
            ),
        )

    def upright(self, context: RunContext) -> DigitImages:
        """The deskewed images, made once."""
        return context.shared(
            "upright", lambda: training.prepare_images(self.digits(context), True)
        )

    def _support(self, first: StepResult) -> training.TrainedSupport:
        arrays = first.arrays
        support = training.TrainedSupport(
            arrays["support"].astype(np.intp), arrays["own"].astype(bool)
        )
        return support if self.options["copies"] == "own" else training.merge_boundaries(support)


def _misclassified(digits: DigitImages, found: training.StageResult) -> dict[str, Any]:
    """The first misclassified test images with labels and predictions."""
    wrong = np.flatnonzero(found.predicted != digits.test_labels)[:MOST_WRONG]
    labels = np.unique(digits.labels)
    return {
        "wrong": digits.test_rows[wrong].astype(np.int32),
        "pictures": digits.test[wrong],
        "is": np.searchsorted(labels, digits.test_labels[wrong]).astype(np.int32),
        "taken_for": np.searchsorted(labels, found.predicted[wrong]).astype(np.int32),
    }


def _most_slanted(slant: Any, own: Any) -> int:
    """The row with the largest slant among the first of a label."""
    first = np.flatnonzero(own)[:CANDIDATES]
    return int(first[np.argmax(np.abs(slant[first]))])
