"""`mnist8m`: one exact Gaussian SVC on up to 8,100,000 deformed digits, and its error by their number.

Each size starts from the coefficients of the one before, whose images are the first of its own. The images
are made where the SVC is trained, smoothed as the test images are, and stay there as bytes. The
certificate of a few pairs is computed again on the CPU, in float64, from the coefficients and from images
made once more.

References: Loosli, Canu and Bottou, Training Invariant Support Vector Machines Using Selective Sampling, in
Large Scale Kernel Machines, MIT Press (2007).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix import SVC
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.deformed import PIXELS, SIDE, DeformedDigits, smoothed
from separatrix.experiments.steps import Experiment, RunContext, Step, StepResult, metric_rows
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, choose_device, like
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.solvers.decomposition import pairs
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm.problem import SvmFit
from separatrix.studies.inputs import DigitImages, mnist_or_digits, parse_integers, split_images
from separatrix.studies.mnist8m_page import page
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer, require_real

__all__ = ["experiment", "page"]

NAME = "mnist8m"
DATA = "data"
SIZES = (60_000, 250_000, 1_000_000, 4_000_000, 8_100_000)
CPU_SIZES, QUICK_SIZES = (1000, 2000, 4000), (200, 400)
QUICK_TEST = 0.1
C, GAMMA = 10.0, 0.065  # gamma of pixels from 0 to 1; chosen as the deformations of `deformed.py`
WHITE = 255.0
CHECKED_PAIRS = 3
CHECKED_ROWS = 20_000  # of a pair, beside its support vectors
BLOCK = 2048  # rows of kernel values in float64


class PairCheck(NamedTuple):
    """The certificate of one pair, in float64."""

    violation: float
    gap: float  # relative


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    sizes: Sequence[int] | str | None = None,
    test_size: float | None = None,
    C: float = C,
    gamma: float = GAMMA,
    device: str = "auto",
) -> Experiment:
    """One step per size, each from the coefficients of the one before.

    `sizes` may be a text such as "60000,250000"; None: up to 8,100,000 with a GPU, 4,000 without. `gamma`
    is that of pixels from 0 to 1, `test_size` the share of the test part. A quick run takes 400 digits.
    """
    require_real(NAME, "C", C, above=0)
    require_real(NAME, "gamma", gamma, above=0)
    on_gpu = choose_device(NAME, device, None) is not None
    if sizes is None:
        sizes = QUICK_SIZES if quick else SIZES if on_gpu else CPU_SIZES
    must_be = "numbers of images of at least 20, such as 60000,250000"
    found = parse_integers(NAME, "sizes", sizes, must_be, least=20)
    data = data or mnist_or_digits(quick)
    if test_size is None:
        test_size = QUICK_TEST if quick and data == "mnist" else 1.0
    require_real(NAME, "test_size", test_size, above=0, most=1)
    require_integer(NAME, "seed", seed, least=0)
    options = {
        "quick": quick,
        "seed": seed,
        "data": data,
        "sizes": found,
        "test_size": test_size,
        "C": C,
        "gamma": gamma,
    }
    study = _StreamStudy(options, device)
    steps = [
        Step(step_name(n), partial(study.train, n=n, before=before))
        for before, n in zip([None, *found], found, strict=False)
    ]
    title = "Digits without end: one exact SVC by the number of deformed images"
    return Experiment(NAME, title, options, (data,), steps, find)


def step_name(n: int) -> str:
    """The step of a size."""
    return f"{n} images"


class _StreamStudy:
    """The steps, under one set of options."""

    def __init__(self, options: dict[str, Any], device: str) -> None:
        self.options, self.device = options, device
        self._rows = partial(metric_rows, data=options["data"], model="SVC")

    def train(self, context: RunContext, n: int, before: int | None) -> StepResult:
        """One size: time, error, support vectors and certificate, and the coefficients for the next."""
        parts = self.parts(context)
        stream = context.shared("stream", partial(self._stream, parts, on_device=True))
        with ResourceUsage() as making:
            X, y = stream.images(0, n), as_numpy(stream.labels(0, n))
        model = SVC(
            C=self.options["C"],
            gamma=self.options["gamma"] / WHITE**2,
            warm_start=before is not None,
            device=self.device,
        )
        if before is not None:
            last = context.result(step_name(before)).arrays
            model._fits = starting_fits(
                last["support"], last["coef"], np.unique(y, return_inverse=True)[1]
            )
        with ResourceUsage() as fitting, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the violation is in the table
            model.fit(X, y)
        with ResourceUsage() as predicting:
            guess = as_numpy(model.predict(like(parts.test, X)))
        with ResourceUsage() as checking:
            checks = check_pairs(model, self._stream(parts, on_device=False), y)
        row = partial(self._rows, step_name(n), images=n, gram=model.gram_)
        rows = row(values={"images": n}, seconds=making.seconds)
        rows += row(
            values={
                "support_vectors": len(model.support_),
                "violation": model.violation_.max(),
                "gap": model.dual_gap_.max(),
                "unfinished": sum(stop != "tol" for stop in model.stop_),
                "steps": model.n_iter_.sum(),
            },
            seconds=fitting.seconds,
        )
        rows += row(
            values={"test_error": np.mean(guess != parts.test_labels)},
            seconds=predicting.seconds,
            sizes=(n, len(parts.test_labels)),
        )
        rows += row(
            values={
                "checked_violation": max(check.violation for check in checks),
                "checked_gap": max(check.gap for check in checks),
            },
            seconds=checking.seconds,
        )
        arrays = {"support": model.support_, "coef": np.asarray(model.dual_coef_)}
        return StepResult(rows, {**arrays, "guess": np.searchsorted(model.classes_, guess)})

    def parts(self, context: RunContext) -> DigitImages:
        """The images, made once."""
        return context.shared("parts", lambda: self._split(context.data(self.options["data"])))

    def _split(self, data: Dataset) -> DigitImages:
        """Images and test images of 28 x 28 pixels, (n, 784) each."""
        found = split_images(
            NAME, data, test_size=self.options["test_size"], seed=self.options["seed"]
        )
        test = smoothed(on_canvas(found.test).astype(np.uint8))
        return found._replace(images=on_canvas(found.images), test=test)

    def _stream(self, parts: DigitImages, *, on_device: bool) -> DeformedDigits:
        device = choose_device(NAME, self.device, None) if on_device else None
        return DeformedDigits(
            parts.images, parts.labels, seed=self.options["seed"], smooth=True, device=device
        )


def on_canvas(images: Any) -> Any:
    """Images, (n, h, w), enlarged by a whole number and centred on 28 x 28 pixels, (n, 784)."""
    n, h, w = images.shape
    times = max(1, SIDE // max(h, w))
    large = images.repeat(times, axis=1).repeat(times, axis=2)[:, :SIDE, :SIDE]
    above, beside = SIDE - large.shape[1], SIDE - large.shape[2]
    margins = ((0, 0), (above // 2, above - above // 2), (beside // 2, beside - beside // 2))
    return np.pad(large, margins).reshape(n, PIXELS)


def starting_fits(support: Codes, coef: Matrix, codes: Codes) -> list[SvmFit]:
    """The fits that a `warm_start` begins from, of the coefficients of an earlier fit, (k - 1, s)."""
    fits = []
    for rows, y, alpha in pair_coefficients(support, coef, codes):
        zero = np.zeros(len(rows))
        fits.append(SvmFit(rows, y, alpha, alpha, zero, 0.0, 0.0, 0.0, 0.0, 0.0, 0, "tol"))
    return fits


def pair_coefficients(
    support: Codes, coef: Matrix, codes: Codes
) -> list[tuple[Codes, Vector, Vector]]:
    """Support vectors of each pair of classes: row numbers, sides and coefficients."""
    found, own = [], codes[support]
    for first, second in pairs(len(coef) + 1):
        some = np.flatnonzero((own == first) | (own == second))
        layer = np.where(own[some] == first, second - 1, first)  # scikit-learn's layout
        alpha = np.abs(coef[layer, some])
        some, alpha = some[alpha > 0], alpha[alpha > 0]
        found.append((support[some], np.where(own[some] == first, 1.0, -1.0), alpha))
    return found


def check_pairs(model: SVC, stream: DeformedDigits, y: Any) -> list[PairCheck]:
    """The certificate of a few pairs on the CPU, in float64.

    The images of all support vectors, and of some other images of both classes, are made again. Losses of
    the images that are left out are taken to be those of the others on average.
    """
    codes = np.searchsorted(model.classes_, y)
    k = len(model.classes_)
    all_pairs = pair_coefficients(model.support_, np.asarray(model.dual_coef_), codes)
    numbers = np.unique(np.linspace(0, len(all_pairs) - 1, CHECKED_PAIRS).astype(int))
    found = []
    for p in numbers:
        support, sides_, alpha = all_pairs[p]
        taking_part = np.flatnonzero(np.isin(codes, pairs(k)[p]))
        others = taking_part[~np.isin(taking_part, support)]
        sampled = others[:: max(1, len(others) // CHECKED_ROWS)]
        rows = np.concatenate([support, sampled])
        y_rows = np.where(codes[rows] == pairs(k)[p][0], 1.0, -1.0)
        scores = exact_scores(
            stream.take(support), alpha * sides_, stream.take(rows), model.kernel_
        )
        weights = np.r_[
            np.ones(len(support)), np.full(len(sampled), len(others) / max(1, len(sampled)))
        ]
        coefficients = np.r_[alpha, np.zeros(len(sampled))]
        found.append(
            certificate(scores, y_rows, coefficients, weights, model.C, model.intercept_[p])
        )
    return found


def exact_scores(Z: Any, coef: Vector, X: Any, kernel: Gaussian) -> Vector:
    """Sum of coefficients times kernel values in float64, of images as bytes, (n,)."""
    Z = Z.astype(np.float64)
    squares, scores = np.einsum("ij,ij->i", Z, Z), np.empty(len(X))
    for rows in row_blocks(len(X), BLOCK):
        part = X[rows].astype(np.float64)
        D = part @ Z.T  # whole numbers below 2^53: exact
        D *= -2.0
        D += np.einsum("ij,ij->i", part, part)[:, None]
        D += squares
        D *= -kernel.gamma
        scores[rows] = np.exp(D, out=D) @ coef
    return scores


def certificate(
    scores: Vector, y: Vector, alpha: Vector, weights: Vector, C: float, intercept: float
) -> PairCheck:
    """Violation and relative gap of one boundary; weights are the images that each stands for."""
    steps = y - scores  # -y times the gradient
    up = np.where(y > 0, alpha < C, alpha > 0)
    down = np.where(y > 0, alpha > 0, alpha < C)
    violation = max(0.0, steps[up].max(initial=-np.inf) - steps[down].min(initial=np.inf))
    square = float((alpha * y) @ scores)
    loss = C * float(weights @ np.maximum(0.0, 1.0 - y * (scores + intercept)))
    return PairCheck(violation, relative_gap(0.5 * square + loss, alpha.sum() - 0.5 * square))
