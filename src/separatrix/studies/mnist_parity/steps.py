"""Steps of `mnist-parity`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix import SVC, LinearSVC, SubgradientSVC
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.images import WHITEST, as_bytes, sides
from separatrix.data.targets import indicator
from separatrix.errors import ParameterError
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels import Gaussian, Polynomial
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import choose_device
from separatrix.runtime.sums import dense
from separatrix.studies.inputs import dense_images, mnist_or_digits, parse_integers
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer, require_real

NAME = "mnist-parity"
DATA = "1 data"
PUBLISHED = "2 constants and target of S4"
PARITY = "3 given constants"
HONEST = "4 honest constants"
LINEAR = "5 linear machine"
GAUSSIAN = "6 Gaussian kernel"
CUBIC = "7 cubic kernel"
EVEN = (0, 2, 4, 6, 8)
PUBLISHED_TARGET = (0, 1)
CONSTANTS: dict[str, Any] = {"alpha": 1e-5, "eps": 1e-2, "mu": 1e-1}  # for raw pixels
# On pixels / 255 a step of 0.2 oscillates and stops by chance; with 0.1 the objective decreases.
HONEST_CONSTANTS: dict[str, Any] = {"alpha": 0.1, "eps": 1e-5, "mu": 1e-4}
HONEST_STEPS = 5000
MAX_ITER = 1000  # steps of the other descents
ALL_KEPT = 50  # steps up to which every iterate is scored and kept; after that every 25th
HELD_OUT = 0.3  # of 60,000 rows this leaves 42,000, as many as Kaggle's digit-recognizer has
QUICK_ROWS, QUICK_TEST_ROWS = 6000, 2000
PIXELS = 784  # for which kernel widths are given
BLOCK = 8192  # rows that become floats at a time


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    v: Sequence[int] | str = EVEN,
    alpha: float = CONSTANTS["alpha"],
    eps: float = CONSTANTS["eps"],
    mu: float = CONSTANTS["mu"],
    max_iter: int = MAX_ITER,
    test_size: float | None = None,
    device: str = "auto",
) -> Experiment:
    """The descent with two sets of constants, its loss curves and weights, and kernel SVMs.

    `alpha`, `eps`, `mu` and `max_iter` are those of part 3, on raw pixels; the defaults are
    those of S4. All models hold out a share `test_size` of the training rows and are tested on it; None:
    the descents hold out 0.3, and all are tested on the test part of the data if it has one.

    `data` may be a file such as the CSV of Kaggle's digit-recognizer: a header, the label, then pixels.
    `v` has the labels that count as +1, a sequence or a text such as "0,1"; all others are -1. A quick
    run takes the first 6000 and 2000 rows; without MNIST, scikit-learn's 8 x 8 digits scaled to 0..255.
    """
    choose_device(NAME, device, large=False)
    target = parse_integers(NAME, "v", v, "digits that count as +1, such as [0, 2, 4, 6, 8]")
    require_real(NAME, "alpha", alpha, above=0)
    for name, value in (("eps", eps), ("mu", mu)):
        require_real(NAME, name, value, least=0)
    require_integer(NAME, "max_iter", max_iter, least=1)
    if test_size is not None:
        require_real(NAME, "test_size", test_size, above=0, below=1)
    data = data or mnist_or_digits(quick)
    constants: dict[str, Any] = {"alpha": alpha, "eps": eps, "mu": mu}
    study = _ParityStudy(data, target, quick=quick, seed=seed, device=device, held_out=test_size)
    steps = [Step(DATA, study.describe_data)]
    if target != list(PUBLISHED_TARGET):
        published = partial(study.descend, part=PUBLISHED, v=list(PUBLISHED_TARGET), **CONSTANTS)
        steps.append(Step(PUBLISHED, published))
    steps += [
        Step(PARITY, partial(study.descend, part=PARITY, v=target, max_iter=max_iter, **constants)),
        Step(HONEST, study.descend_to_convergence),
        Step(LINEAR, study.fit_linear),
        Step(GAUSSIAN, partial(study.fit_kernel, part=GAUSSIAN)),
        Step(CUBIC, partial(study.fit_kernel, part=CUBIC)),
    ]
    options = {"quick": quick, "seed": seed, "data": data, "v": target, **constants}
    options |= {"max_iter": max_iter, "test_size": test_size}
    question = "Even or odd" if target == list(EVEN) else f"Is it {describe_target(target)}"
    title = f"{question}? Subgradient descent, SVMs and kernels"
    return Experiment(NAME, title, options, (data,), steps, find)


class ParityImages(NamedTuple):
    """Images as bytes with labels, in disjoint parts.

    The descent trains on `learn` and is tested on `held`, as in S4; SVMs train on `train`, all rows that
    are not in `test`: those of `learn` if a share to hold out was given.
    """

    learn: Any  # shape: (n, d)
    learn_labels: Any
    held: Any
    held_labels: Any
    train: Any
    train_labels: Any
    test: Any
    test_labels: Any
    shape: tuple[int, int]


class _ParityStudy:
    """The steps, on one data set for one target."""

    def __init__(
        self,
        data: str,
        v: list[int],
        *,
        quick: bool,
        seed: int,
        device: str,
        held_out: float | None = None,
    ) -> None:
        self.data, self.v, self.quick, self.seed, self.device = data, v, quick, seed, device
        self.held_out = held_out

    def describe_data(self, context: RunContext) -> StepResult:
        """Sizes of the parts, and one image of each label."""
        images = self.images(context)
        labels = np.unique(images.learn_labels)
        share = float((_targets(images.learn_labels, self.v) == 1).mean())
        if share in (0.0, 1.0):
            some = f"some, but not all, of the labels {', '.join(map(str, labels))}"
            raise ParameterError(NAME, "v", some, self.v)
        first = [int(np.flatnonzero(images.learn_labels == label)[0]) for label in labels]
        counts = {
            "learn_rows": len(images.learn),
            "held_out_rows": len(images.held),
            "all_rows": len(images.train),
            "test_rows": len(images.test),
            "positive_share": share,
        }
        rows = self._rows(DATA, "", counts)
        for label in labels:
            count = (images.learn_labels == label).sum()
            rows += self._rows(DATA, "", {"rows_of_label": count}, label=label)
        return StepResult(rows, {"examples": images.learn[first], "shape": np.array(images.shape)})

    def descend(self, context: RunContext, part: str, v: list[int], **constants: Any) -> StepResult:
        """These constants on raw pixels."""
        images = self.images(context)
        return self._descend(SubgradientSVC(**constants), images, images.learn, part, v, scale=1)

    def descend_to_convergence(self, context: RunContext) -> StepResult:
        """Smaller eps and mu on pixels / 255: the descent runs until it has converged."""
        images = self.images(context)
        model = SubgradientSVC(**HONEST_CONSTANTS, max_iter=HONEST_STEPS)
        return self._descend(model, images, _scale(images.learn), HONEST, self.v, scale=WHITEST)

    def fit_linear(self, context: RunContext) -> StepResult:
        """The minimum of the hinge loss on all training rows."""
        model = LinearSVC(loss="hinge", C=1.0, random_state=self.seed)
        params = {"v": self.v, "C": model.C, "loss": model.loss, "pixels": "/ 255"}
        rows = self._fit_and_score(context, LINEAR, model, params)
        gap = {"relative_gap": model.dual_gap_.max()}
        rows += self._rows(LINEAR, "LinearSVC", gap, **params)
        return StepResult(rows, {"w": model.coef_[0]})

    def fit_kernel(self, context: RunContext, part: str) -> StepResult:
        """An SVM with C=2 on all training rows; with fewer pixels distances shrink, so gamma grows."""
        fewer = PIXELS / int(self.images(context).learn.shape[1])
        kernel = Gaussian(0.01 * fewer) if part == GAUSSIAN else Polynomial(3, 0.02 * fewer, 1.0)
        model = SVC(C=2.0, kernel=kernel, device=self.device)
        params = {"v": self.v, "C": model.C, "kernel": repr(kernel), "pixels": "/ 255"}
        rows = self._fit_and_score(context, part, model, params)
        rows += self._rows(part, "SVC", {"support_vectors": len(model.support_)}, **params)
        return StepResult(rows)

    def images(self, context: RunContext) -> ParityImages:
        """The images, made once."""
        return context.shared("images", lambda: self._split_images(context.data(self.data)))

    def _descend(
        self,
        model: SubgradientSVC,
        images: ParityImages,
        X: Any,
        part: str,
        v: list[int],
        scale: int,
    ) -> StepResult:
        y = _targets(images.learn_labels, v)
        model.fit(X, y)
        kept = _kept_steps(model.n_iter_)
        raw = model.iterates_[kept] / np.r_[1.0, np.full(X.shape[1], scale)]  # for bytes
        accuracy = {
            "train_accuracy": accuracies(images.learn, y, raw),
            "held_out_accuracy": accuracies(images.held, _targets(images.held_labels, v), raw),
            "test_accuracy": accuracies(images.test, _targets(images.test_labels, v), raw),
        }
        params = {"v": v, "alpha": model.alpha, "eps": model.eps, "mu": model.mu}
        params["pixels"] = "raw" if scale == 1 else f"/ {scale}"
        last = {"steps": model.n_iter_, "objective": model.loss_curve_[-1]}
        last |= {name: values[-1] for name, values in accuracy.items()}
        name = type(model).__name__
        rows = self._rows(part, name, last, sizes=(len(y), len(images.test_labels)), **params)
        for position, step in enumerate(kept):
            at_step = {"objective_at_step": model.loss_curve_[step]}
            at_step |= {f"{m}_at_step": values[position] for m, values in accuracy.items()}
            rows += self._rows(part, name, at_step, v=v, step=step)
        arrays = {"loss": model.loss_curve_, "steps": np.array(kept), "iterates": raw}
        return StepResult(rows, {**arrays, "w": raw[-1, 1:], **accuracy})

    def _fit_and_score(
        self, context: RunContext, part: str, model: Any, params: dict[str, Any]
    ) -> list[Row]:
        images = self.images(context)
        X = context.shared("scaled", lambda: _scale(images.train))
        y = _targets(images.train_labels, self.v)
        model.fit(X, y)
        test = model.score(_scale(images.test), _targets(images.test_labels, self.v))
        found = {"train_accuracy": model.score(X, y), "test_accuracy": test}
        sizes = (len(y), len(images.test_labels))
        return self._rows(part, type(model).__name__, found, sizes=sizes, **params)

    def _split_images(self, data: Dataset) -> ParityImages:
        X, y = dense_images(NAME, data)
        low, high = float(X.min()), float(X.max())
        if data.X_test is None:
            order = np.random.default_rng(self.seed).permutation(len(y))
            X, y = X[order], y[order]
        if self.quick:
            X, y = X[:QUICK_ROWS], y[:QUICK_ROWS]
        share = HELD_OUT if self.held_out is None else self.held_out
        cut = min(max(1, round((1.0 - share) * len(y))), len(y) - 1)
        X = as_bytes(X, low, high)
        learn, held = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        shape = data.image or sides(X.shape[1])
        if data.X_test is None or self.held_out is not None:
            return ParityImages(*learn, *held, *learn, *held, shape)
        last = QUICK_TEST_ROWS if self.quick else None
        test = as_bytes(dense(data.X_test, None)[:last], low, high)
        return ParityImages(*learn, *held, X, y, test, np.asarray(data.y_test)[:last], shape)

    def _rows(self, part: str, model: str, values: Mapping[str, Any], **params: Any) -> list[Row]:
        return metric_rows(part, self.data, model, values, **params)


def accuracies(X: Any, y: Any, iterates: Matrix) -> Vector:
    """Accuracy of each iterate (w0, w), which predicts +1 where w0 + <w, x> >= 0.

    >>> X, y = np.array([[1], [2]], dtype=np.uint8), np.array([-1, 1])
    >>> accuracies(X, y, np.array([[0.0, 0.0], [-1.5, 1.0]])).tolist()
    [0.5, 1.0]
    """
    right = np.zeros(len(iterates))
    for rows in row_blocks(len(y), BLOCK):
        scores = X[rows].astype(np.float64) @ iterates[:, 1:].T + iterates[:, 0]
        right += (np.where(scores >= 0, 1, -1) == y[rows, None]).sum(axis=0)
    return right / len(y)


def _kept_steps(steps: int) -> list[int]:
    """Iterates that are scored: all at first, then every 25th, and the last.

    >>> _kept_steps(3), _kept_steps(90)[-4:]
    ([0, 1, 2, 3], [49, 50, 75, 90])
    """
    later = range(ALL_KEPT + 25, steps, 25)
    return sorted({*range(min(steps, ALL_KEPT) + 1), *later, steps})


def _targets(labels: Any, v: list[int]) -> Any:
    """+1 where the label is in v, else -1; labels may be numbers or strings."""
    wanted = [str(label) for label in v] if labels.dtype.kind == "U" else v
    return indicator(labels, wanted)


def _scale(X: Any) -> Matrix:
    return np.asarray(X / np.float32(WHITEST), dtype=np.float32)


def describe_target(v: list[int]) -> str:
    """The labels that count as +1.

    >>> describe_target([0, 2, 4, 6, 8]), describe_target([0, 1])
    ('even digits', '{0, 1}')
    """
    return "even digits" if v == list(EVEN) else "{" + ", ".join(map(str, v)) + "}"
