"""Virtual support vectors on MNIST: train, copy the support vectors moved by a pixel or two, train again.

Pictures are taken as they are, and set upright; one machine is a step. Published test errors with 60,000
digits are those of LeCun, Bottou, Bengio and Haffner, Gradient-Based Learning Applied to Document
Recognition (1998), and of DeCoste and Schoelkopf, Training Invariant Support Vector Machines, Machine
Learning 46 (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.images import as_bytes, jittered, shifts_within, sides, slants
from separatrix.data.splits import stratified_splits, subsample, subsampled
from separatrix.errors import ExperimentError, ParameterError
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.runtime.device import choose_device
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.studies.virtual_support_vectors import (
    DEGREE,
    JITTERS,
    C,
    Digits,
    Support,
    Trained,
    all_of,
    machine,
    named,
    prepared,
    trained,
    trained_again,
)
from separatrix.validation import require_choice, require_integer, require_real

NAME = "mnist-virtual-sv"
DATA = "data"
MODEL = "SVC"
ROWS = 60_000  # of MNIST
WITHOUT_A_CARD = 2000  # rows by default: with 24 copies of each support vector, a minute or two
QUICK_ROWS, QUICK_TEST = 500, 0.1
MOST_PIXELS = 4  # 81 copies of every support vector
DESKEW = {"no": (False,), "yes": (True,), "both": (False, True)}
SHOWN = 120  # pictures still wrong that are kept to be drawn
LOOKED_AT = 200  # pictures of each label among which the one that leans most is shown

# Test error % with 60,000 digits, by (deskewed, pixels)
PUBLISHED = {
    (False, 1): (0.8, "LeCun et al. 1998"),
    (True, 1): (0.68, "DeCoste and Schoelkopf 2002"),
    (True, 2): (0.56, "DeCoste and Schoelkopf 2002"),
}


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
    """One step a machine: every picture, then the support vectors with their copies.

    Parameters
    ----------
    quick
        1000 rows and a tenth of the test part; where MNIST is not at hand, the 8 x 8 digits that
        scikit-learn ships.
    data
        A name of the catalogue, or a file of pictures. None: MNIST.
    subsample
        Pictures to learn from. None: all 60,000 with a card, 2000 without.
    test_size
        Share of the test part. None: all of it.
    jitters
        Pixels by which support vectors are moved; a sequence, or a text such as "1,2".
    degree, C, multi_class
        Of the machine.
    deskew
        "no", "yes" or "both": whether pictures are set upright before.
    copies
        "own": a boundary learns from copies of its own support vectors. "all": from copies of those
        of all boundaries; always so with pairs.
    device
        "auto", "cpu" or "cuda": where the machine is trained.
    """
    require_integer(NAME, "seed", seed, least=0)
    require_integer(NAME, "degree", degree, least=1)
    require_real(NAME, "C", C, above=0)
    require_choice(NAME, "deskew", deskew, DESKEW)
    require_choice(NAME, "multi_class", multi_class, ("ovo", "ovr"))
    require_choice(NAME, "copies", copies, ("own", "all"))
    moves = _pixels(jitters)
    gpu_context = choose_device(NAME, device, None) is not None
    if data is None:
        data = "digits" if quick and state("mnist") == TO_DOWNLOAD else "mnist"
    if subsample is None:
        subsample = QUICK_ROWS if quick else ROWS if gpu_context else WITHOUT_A_CARD
    require_integer(NAME, "subsample", subsample, least=20)
    if test_size is None:
        test_size = QUICK_TEST if quick and data == "mnist" else 1.0
    require_real(NAME, "test_size", test_size, above=0, most=1)
    make = partial(machine, C=C, degree=degree, multi_class=multi_class, device=device)
    study = _Study(data, make, copies, subsample=subsample, test_size=test_size, seed=seed)
    steps = [Step(DATA, study.look)]
    for upright in DESKEW[deskew]:
        for pixels in (0, *moves):
            step = partial(study.stage, upright=upright, pixels=pixels)
            steps.append(Step(named(upright, pixels), step))
    options = {
        "quick": quick,
        "seed": seed,
        "data": data,
        "subsample": subsample,
        "test_size": test_size,
        "jitters": moves,
        "degree": degree,
        "C": C,
        "deskew": deskew,
        "multi_class": multi_class,
        "copies": copies,
    }
    return Experiment(NAME, "Digits by virtual support vectors", options, (data,), steps, find)


class _Study:
    """The steps, on one data set with one machine."""

    def __init__(
        self,
        data: str,
        machine: Callable[[], Any],
        copies: str,
        *,
        subsample: int,
        test_size: float,
        seed: int,
    ) -> None:
        self.data, self.machine, self.copies, self.seed = data, machine, copies, seed
        self.subsample, self.test_size = subsample, test_size

    def look(self, workshop: RunContext) -> StepResult:
        """How many pictures there are, and of each label one that leans, before and after."""
        digits = self.digits(workshop)
        with ResourceUsage() as meter:
            upright = self.upright(workshop)
        counts = {"rows": len(digits.images), "test_rows": len(digits.test)}
        rows = [self._row(DATA, metric, value) for metric, value in counts.items()]
        rows.append(
            self._row(DATA, "deskewed_pictures", sum(counts.values()), seconds=meter.seconds)
        )
        labels = np.unique(digits.labels)
        slant = slants(digits.images)
        shown = np.array([_leaning(slant, digits.labels == label) for label in labels])
        left = slants(upright.images[shown])
        for label, row, after in zip(labels, shown, left, strict=True):
            rows.append(self._row(DATA, "slant", slant[row], label=label))
            rows.append(self._row(DATA, "slant_deskewed", after, label=label))
        arrays = {"before": digits.images[shown], "after": upright.images[shown]}
        return StepResult(rows, arrays)

    def stage(self, workshop: RunContext, upright: bool, pixels: int) -> StepResult:
        """One machine; copies are of the support vectors that the first of its kind has found."""
        digits = self.upright(workshop) if upright else self.digits(workshop)
        what = named(upright, pixels)
        if pixels:
            support = self._support(workshop.found(named(upright, 0)))
            found = trained_again(digits, self.machine, what, support, pixels)
        else:
            found, support = trained(digits, self.machine(), what)
        stage = found.stage
        how: dict[str, Any] = {"deskewed": upright, "pixels": pixels, "gram": found.gram}
        row: Callable[..., Row] = partial(self._row, what, **how)
        wrong = np.mean(found.predicted != digits.test_labels)
        rows = [
            row("rows", stage.rows),
            row("support_vectors", stage.support_vectors, seconds=stage.fit_seconds),
            row("test_error", wrong, seconds=stage.predict_seconds),
        ]
        arrays = self._mistakes(digits, found)
        if found.moves is None:
            arrays["support"] = support.rows.astype(np.int32)
            arrays["own"] = support.own.astype(np.uint8)
        else:
            for (down, right), count in zip(shifts_within(pixels), found.moves, strict=True):
                rows.append(row("support_vectors_of_move", count, down=down, right=right))
            arrays["copies"] = jittered(digits.images[support.rows[:1]], pixels)
        return StepResult(rows, arrays)

    def _support(self, first: StepResult) -> Support:
        arrays = first.arrays
        support = Support(arrays["support"].astype(np.intp), arrays["own"].astype(bool))
        return support if self.copies == "own" else all_of(support)

    def digits(self, workshop: RunContext) -> Digits:
        """The pictures, made once."""
        made: Digits = workshop.once("digits", lambda: self._digits(workshop.data(self.data)))
        return made

    def upright(self, workshop: RunContext) -> Digits:
        """The same, set upright."""
        made: Digits = workshop.once("upright", lambda: prepared(self.digits(workshop), True))
        return made

    def _digits(self, data: Dataset) -> Digits:
        if data.kind != "vectors" or data.y is None:
            raise ExperimentError(f"{NAME} needs pictures with labels; {data.name} has none")
        X, y = _dense(data.X), np.asarray(data.y)
        low, high, shape = float(X.min()), float(X.max()), data.image or sides(X.shape[1])
        if data.X_test is None:
            (train, held), *_ = stratified_splits(y, repeats=1, test_size=0.2, seed=self.seed)
            test, test_labels, test_rows = X[held], y[held], held
            X, y = X[train], y[train]
        else:
            test, test_labels = _dense(data.X_test), np.asarray(data.y_test)
            test_rows = np.arange(len(test))
        if self.test_size < 1:
            some = subsample(test_labels, float(self.test_size), seed=self.seed)
            test, test_labels, test_rows = test[some], test_labels[some], test_rows[some]
        drawn = subsampled(Dataset(data.name, X, y), self.subsample, self.seed)
        images = as_bytes(drawn.X, low, high).reshape(-1, *shape)
        tested = as_bytes(test, low, high).reshape(-1, *shape)
        return Digits(images, np.asarray(drawn.y), tested, test_labels, test_rows)

    def _mistakes(self, digits: Digits, found: Trained) -> dict[str, Any]:
        """The test pictures that are still wrong, up to a number: which, what, taken for what."""
        wrong = np.flatnonzero(found.predicted != digits.test_labels)[:SHOWN]
        labels = np.unique(digits.labels)
        return {
            "wrong": digits.test_rows[wrong].astype(np.int32),
            "pictures": digits.test[wrong],
            "is": np.searchsorted(labels, digits.test_labels[wrong]).astype(np.int32),
            "taken_for": np.searchsorted(labels, found.predicted[wrong]).astype(np.int32),
        }

    def _row(
        self, part: str, metric: str, value: Any, *, seconds: float = float("nan"), **how: Any
    ) -> Row:
        return Row(
            part, self.data, MODEL, params_json(**how), ALL_SPLITS, metric, float(value), seconds
        )


def _leaning(slant: Any, mine: Any) -> int:
    """The row that leans most among the first of a label."""
    first = np.flatnonzero(mine)[:LOOKED_AT]
    return int(first[np.argmax(np.abs(slant[first]))])


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else np.asarray(X)


def _pixels(jitters: Any) -> list[int]:
    """The numbers of pixels, sorted.

    >>> _pixels("2,1"), _pixels([1])
    ([1, 2], [1])
    """
    try:
        given = jitters.split(",") if isinstance(jitters, str) else jitters
        moves = sorted({int(pixels) for pixels in given})
    except (TypeError, ValueError):
        moves = []
    if not moves or moves[0] < 1 or moves[-1] > MOST_PIXELS:
        must_be = f"numbers of pixels from 1 to {MOST_PIXELS}, such as [1, 2]"
        raise ParameterError(NAME, "jitters", must_be, jitters)
    return moves
