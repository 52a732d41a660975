"""S4: even or odd? Subgradient descent on handwritten digits, and what better machines make of it.

The document's constants are run on its own target, {0, 1}, and on parity, on parts that do not
overlap; then constants that let the descent arrive, a linear machine at its minimum, and two kernels.
Pixels are bytes from 0 to 255: the document's constants are made for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.data.catalogue import TO_DOWNLOAD, state
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.images import WHITEST, as_bytes, sides
from separatrix.data.targets import indicator
from separatrix.errors import ExperimentError, ParameterError
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.subgradient_svc import SubgradientSVC
from separatrix.estimators.svc import SVC
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels import Gaussian, Polynomial
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import choose_device
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer

NAME = "mnist-parity"
DATA = "1 data"
PUBLISHED = "2 the document's constants and target"
PARITY = "3 the document's constants"
HONEST = "4 honest constants"
LINEAR = "5 linear machine"
GAUSSIAN = "6 Gaussian kernel"
CUBIC = "7 cubic kernel"
EVEN = (0, 2, 4, 6, 8)
PUBLISHED_TARGET = (0, 1)
CONSTANTS: dict[str, Any] = {
    "alpha": 1e-5,
    "eps": 1e-2,
    "mu": 1e-1,
}  # of the document, for raw pixels
# On pixels / 255 a step of 0.2 swings from side to side and stops by chance; 0.1 goes down all the way.
HONEST_CONSTANTS: dict[str, Any] = {"alpha": 0.1, "eps": 1e-5, "mu": 1e-4}
HONEST_STEPS = 5000
ALL_KEPT = 50  # steps up to which every iterate is scored and kept; after that every 25th
HELD_OUT = 0.3  # of 60,000 rows this leaves 42,000, as many as the document has
QUICK_ROWS, QUICK_TEST_ROWS = 6000, 2000
PIXELS = 784  # for which widths of kernels are given
BLOCK = 8192  # rows that become floats at a time


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    v: Sequence[int] | str = EVEN,
    device: str = "auto",
) -> Experiment:
    """The descent with two sets of constants, its loss curves and weights, and kernels beside.

    Parameters
    ----------
    quick
        The first 6000 and 2000 rows; where MNIST is not at hand, the 8 x 8 digits that scikit-learn
        ships, stretched to 0..255.
    data
        A name of the catalogue, or a file, as the CSV of Kaggle's digit-recognizer: a header, the
        label, then the pixels. None: MNIST.
    v
        Labels that count as +1, all others are -1; a sequence, or a text such as "0,1".
    device
        "auto", "cpu" or "cuda": where the two machines with kernels are trained.
    """
    require_integer(NAME, "seed", seed, least=0)
    choose_device(NAME, device, worth=False)
    wanted = _checked(v)
    if data is None:
        data = "digits" if quick and state("mnist") == TO_DOWNLOAD else "mnist"
    parity = _Parity(data, wanted, quick=quick, seed=seed, device=device)
    steps = [Step(DATA, parity.look)]
    if wanted != list(PUBLISHED_TARGET):
        published = partial(parity.descent, part=PUBLISHED, v=list(PUBLISHED_TARGET))
        steps.append(Step(PUBLISHED, published))
    steps += [
        Step(PARITY, partial(parity.descent, part=PARITY, v=wanted)),
        Step(HONEST, parity.honest),
        Step(LINEAR, parity.linear),
        Step(GAUSSIAN, parity.gaussian),
        Step(CUBIC, parity.cubic),
    ]
    options = {"quick": quick, "seed": seed, "data": data, "v": wanted}
    asked = "Even or odd" if wanted == list(EVEN) else f"Is it one of {', '.join(map(str, wanted))}"
    title = f"{asked}? Descent, machines and kernels"
    return Experiment(NAME, title, options, (data,), steps, find)


class Images(NamedTuple):
    """Pictures as bytes, with their labels, in parts that do not overlap.

    The descent learns from `learn` and is tested on `held`, as in the document; machines learn from
    all rows that are not in `test`.
    """

    learn: Any  # shape: (n, d)
    learn_labels: Any
    held: Any
    held_labels: Any
    whole: Any
    whole_labels: Any
    test: Any
    test_labels: Any
    shape: tuple[int, int]


class _Parity:
    """The steps, on one data set for one target."""

    def __init__(self, data: str, v: list[int], *, quick: bool, seed: int, device: str) -> None:
        self.data, self.v, self.quick, self.seed, self.device = data, v, quick, seed, device

    def look(self, workshop: RunContext) -> StepResult:
        """How many pictures there are, and one of each label."""
        images = self.images(workshop)
        labels = np.unique(images.learn_labels)
        share = float((self.target(images.learn_labels, self.v) == 1).mean())
        if share in (0.0, 1.0):
            some = f"some, but not all, of the labels {', '.join(map(str, labels))}"
            raise ParameterError(NAME, "v", some, self.v)
        first = [int(np.flatnonzero(images.learn_labels == label)[0]) for label in labels]
        counts = {
            "learn_rows": len(images.learn),
            "held_out_rows": len(images.held),
            "all_rows": len(images.whole),
            "test_rows": len(images.test),
            "positive_share": share,
        }
        rows = [self._row(DATA, "", name, value) for name, value in counts.items()]
        rows += [
            self._row(DATA, "", "rows_of_label", (images.learn_labels == label).sum(), label=label)
            for label in labels
        ]
        return StepResult(rows, {"examples": images.learn[first], "shape": np.array(images.shape)})

    def descent(self, workshop: RunContext, part: str, v: list[int]) -> StepResult:
        """The document's constants on raw pixels; every iterate is kept and scored."""
        images = self.images(workshop)
        model = SubgradientSVC(**CONSTANTS)
        return self._descended(model, images, images.learn, part, v, scale=1)

    def honest(self, workshop: RunContext) -> StepResult:
        """Smaller eps and mu on pixels / 255: the descent goes on until it has arrived."""
        images = self.images(workshop)
        model = SubgradientSVC(**HONEST_CONSTANTS, max_iter=HONEST_STEPS)
        X = self._scaled(images.learn)
        return self._descended(model, images, X, HONEST, self.v, scale=WHITEST)

    def linear(self, workshop: RunContext) -> StepResult:
        """The minimum itself of the hinge loss, from all rows."""
        images = self.images(workshop)
        model = LinearSVC(loss="hinge", C=1.0, random_state=self.seed)
        X = self._whole(workshop)
        model.fit(X, self.target(images.whole_labels, self.v))
        how = {"v": self.v, "C": model.C, "loss": model.loss, "pixels": "/ 255"}
        rows = self._scores(workshop, LINEAR, model, how)
        rows.append(self._row(LINEAR, "LinearSVC", "relative_gap", model.dual_gap_.max(), **how))
        return StepResult(rows, {"w": model.coef_[0]})

    def gaussian(self, workshop: RunContext) -> StepResult:
        """C=2, gamma=.01, from all rows; fewer pixels make distances smaller, so gamma is larger."""
        gamma = 0.01 * self._fewer(workshop)
        return self._kernel(workshop, GAUSSIAN, Gaussian(gamma))

    def cubic(self, workshop: RunContext) -> StepResult:
        """(.02 <x, z> + 1)^3 with C=2, from all rows; fewer pixels as above."""
        gamma = 0.02 * self._fewer(workshop)
        return self._kernel(workshop, CUBIC, Polynomial(3, gamma, 1.0))

    def _fewer(self, workshop: RunContext) -> float:
        return PIXELS / int(self.images(workshop).learn.shape[1])

    def _kernel(self, workshop: RunContext, part: str, kernel: Any) -> StepResult:
        images = self.images(workshop)
        model = SVC(C=2.0, kernel=kernel, device=self.device)
        model.fit(self._whole(workshop), self.target(images.whole_labels, self.v))
        how = {"v": self.v, "C": model.C, "kernel": repr(kernel), "pixels": "/ 255"}
        rows = self._scores(workshop, part, model, how)
        rows.append(self._row(part, "SVC", "support_vectors", len(model.support_), **how))
        return StepResult(rows)

    def images(self, workshop: RunContext) -> Images:
        """The pictures, made once."""
        made: Images = workshop.once("images", lambda: self._images(workshop.data(self.data)))
        return made

    def target(self, labels: Any, v: list[int]) -> Any:
        """+1 where the label is in v, else -1; labels may be numbers or their words."""
        wanted = [str(label) for label in v] if labels.dtype.kind == "U" else v
        return indicator(labels, wanted)

    def _descended(
        self,
        model: SubgradientSVC,
        images: Images,
        X: Any,
        part: str,
        v: list[int],
        *,
        scale: int,
    ) -> StepResult:
        y = self.target(images.learn_labels, v)
        model.fit(X, y)
        kept = _kept(model.n_iter_)
        raw = model.iterates_[kept] / np.r_[1.0, np.full(X.shape[1], scale)]  # for bytes
        accuracy = {
            "train_accuracy": accuracies(images.learn, y, raw),
            "held_out_accuracy": accuracies(images.held, self.target(images.held_labels, v), raw),
            "test_accuracy": accuracies(images.test, self.target(images.test_labels, v), raw),
        }
        how = {"v": v, "alpha": model.alpha, "eps": model.eps, "mu": model.mu}
        how["pixels"] = "raw" if scale == 1 else f"/ {scale}"
        found = {"steps": model.n_iter_, "objective": model.loss_curve_[-1]}
        found |= {name: values[-1] for name, values in accuracy.items()}
        name = "SubgradientSVC"
        rows = [self._row(part, name, metric, value, **how) for metric, value in found.items()]
        for position, step in enumerate(kept):
            at = {"objective": model.loss_curve_[step]}
            at |= {metric: values[position] for metric, values in accuracy.items()}
            rows += [
                self._row(part, name, f"{metric}_at_step", value, v=v, step=step)
                for metric, value in at.items()
            ]
        return StepResult(
            rows,
            {
                "loss": model.loss_curve_,
                "steps": np.array(kept),
                "iterates": raw,
                "w": raw[-1, 1:],
                **accuracy,
            },
        )

    def _scores(
        self, workshop: RunContext, part: str, model: Any, how: dict[str, Any]
    ) -> list[Row]:
        images = self.images(workshop)
        train, test = self._whole(workshop), self._scaled(images.test)
        found = {
            "train_accuracy": model.score(train, self.target(images.whole_labels, self.v)),
            "test_accuracy": model.score(test, self.target(images.test_labels, self.v)),
        }
        name = type(model).__name__
        return [self._row(part, name, metric, value, **how) for metric, value in found.items()]

    def _whole(self, workshop: RunContext) -> Matrix:
        made: Matrix = workshop.once("scaled", lambda: self._scaled(self.images(workshop).whole))
        return made

    def _scaled(self, X: Any) -> Matrix:
        return np.asarray(X / np.float32(WHITEST), dtype=np.float32)

    def _images(self, data: Dataset) -> Images:
        if data.kind != "vectors" or data.y is None:
            raise ExperimentError(f"{NAME} needs pictures with labels; {data.name} has none")
        X, y = _dense(data.X), np.asarray(data.y)
        low, high = float(X.min()), float(X.max())
        given = data.X_test is not None
        if given:
            test, test_labels = _dense(data.X_test), np.asarray(data.y_test)
        else:
            order = np.random.default_rng(self.seed).permutation(len(y))
            X, y = X[order], y[order]
        if self.quick:
            X, y = X[:QUICK_ROWS], y[:QUICK_ROWS]
        cut = round((1.0 - HELD_OUT) * len(y))
        X = as_bytes(X, low, high)
        learn, held = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        shape = data.image or sides(X.shape[1])
        if not given:
            return Images(*learn, *held, *learn, *held, shape)
        last = QUICK_TEST_ROWS if self.quick else len(test)
        tested = as_bytes(test[:last], low, high), test_labels[:last]
        return Images(*learn, *held, X, y, *tested, shape)

    def _row(self, part: str, model: str, metric: str, value: Any, **how: Any) -> Row:
        return Row(part, self.data, model, params_json(**how), ALL_SPLITS, metric, float(value))


def accuracies(X: Any, y: Any, iterates: Matrix) -> Vector:
    """Share of rows that each iterate (w0, w) puts on their side, +1 where w0 + <w, x> >= 0.

    >>> X, y = np.array([[1], [2]], dtype=np.uint8), np.array([-1, 1])
    >>> accuracies(X, y, np.array([[0.0, 0.0], [-1.5, 1.0]])).tolist()
    [0.5, 1.0]
    """
    right = np.zeros(len(iterates))
    for rows in row_blocks(len(y), BLOCK):
        scores = X[rows].astype(np.float64) @ iterates[:, 1:].T + iterates[:, 0]
        right += (np.where(scores >= 0, 1, -1) == y[rows, None]).sum(axis=0)
    return right / len(y)


def _kept(steps: int) -> list[int]:
    """Iterates that are scored: all at first, then every 25th, and the last.

    >>> _kept(3), _kept(90)[-4:]
    ([0, 1, 2, 3], [49, 50, 75, 90])
    """
    later = range(ALL_KEPT + 25, steps, 25)
    return sorted({*range(min(steps, ALL_KEPT) + 1), *later, steps})


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else np.asarray(X)


def _checked(v: Any) -> list[int]:
    """The labels, sorted.

    >>> _checked("8,0"), _checked([4])
    ([0, 8], [4])
    """
    try:
        labels = sorted({int(label) for label in (v.split(",") if isinstance(v, str) else v)})
    except (TypeError, ValueError):
        labels = []
    if not labels:
        raise ParameterError(NAME, "v", "digits that count as +1, such as [0, 2, 4, 6, 8]", v)
    return labels
