"""Training on images, then on their support vectors with shifted copies.

Only support vectors decide, so only they need copies: a model trained on every shift of each of them is
less sensitive to the position of a digit. Images are shifted as bytes, then scaled to norm 1. The kernel
is (x.z + 1)^degree / 2^degree, so that k(x, x) = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix.data.images import as_bytes, deskewed, jittered, shifts_within, sides, unit_norm
from separatrix.errors import DataError
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import free_bytes
from separatrix.runtime.progress import bar
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.studies.inputs import DigitImages
from separatrix.types import Codes, Matrix
from separatrix.validation import require_choice

JITTERS = (1, 2)
DEGREE, C = 9, 2.0
BLOCK = 2048  # images per thread at a time
# boundaries that a GPU trains: the study takes 18 s on an H200, with two 19 s, with one 23 s
MOST_AT_ONCE = 3
ROOM = 0.8  # of the free memory of a GPU, for their kernel matrices


class Stage(NamedTuple):
    """Size, time and error of one trained model."""

    what: str  # as "deskewed, 1 pixel"
    rows: int  # of training, with copies
    support_vectors: int  # of all boundaries together, each counted once
    fit_seconds: float
    predict_seconds: float
    error: float  # % of the test images


class TrainedSupport(NamedTuple):
    """The support vectors of a first stage."""

    rows: Codes  # shape: (s,); of the training images
    own: Any  # shape: (p, s); whether each is a support vector of each boundary


class StageResult(NamedTuple):
    """A stage with its predictions."""

    stage: Stage
    predicted: Any  # shape: (m,)
    gram: str  # description of the largest kernel matrix
    moves: Codes | None = None  # support vectors of each shift, in a later stage


def run_virtual_sv(
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    jitters: Sequence[int] = JITTERS,
    deskew: Sequence[bool] = (False, True),
    C: float = C,
    degree: int = DEGREE,
    multi_class: str = "ovr",
    copies: str = "own",
    device: str = "auto",
    progress: bool | None = None,
) -> list[Stage]:
    """Run all stages on training and test images.

    Parameters
    ----------
    train, test
        Images, (n, d) or (n, h, w), and their labels, (n,).
    jitters
        Largest shifts in pixels, one stage each, trained on the support vectors of the first stage.
    deskew
        Whether images are deskewed; all stages run for each value.
    C, degree, multi_class, device
        Of the SVM: see `SVC` and `power_kernel`.
    copies
        "own": each one-vs-rest boundary trains on copies of its own support vectors: many small
        problems. "all": one model trains on copies of all of them, as it always does one-vs-one.
    progress
        Whether to show a progress bar; None: on a terminal.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> first, second = run_virtual_sv((X[:300], y[:300]), (X[300:], y[300:]), jitters=[1], deskew=[True])
    >>> first.what, first.rows, second.rows == 9 * first.support_vectors
    ('deskewed, every picture', 300, True)
    """
    require_choice("run_virtual_sv", "copies", copies, ("own", "all"))
    model = SVC(C=C, kernel=power_kernel(degree), multi_class=multi_class, device=device)
    digits = _to_digits(train, test)
    stages = []
    with bar("virtual support vectors", len(deskew) * (1 + len(jitters)), show=progress) as advance:
        for upright in deskew:
            ready = prepare_images(digits, upright)
            first, support = train_first(ready, model, stage_name(upright, 0))
            support = support if copies == "own" else merge_boundaries(support)
            stages.append(first.stage)
            advance()
            for pixels in jitters:
                what = stage_name(upright, pixels)
                stages.append(train_on_copies(ready, model, what, support, pixels).stage)
                advance()
    return stages


def stage_name(upright: bool, pixels: int) -> str:
    """The name of a stage.

    >>> stage_name(True, 0), stage_name(False, 2)
    ('deskewed, every picture', 'as they are, 2 pixels')
    """
    how = "deskewed" if upright else "as they are"
    copies = f"{pixels} pixel{'s' * (pixels > 1)}" if pixels else "every picture"
    return f"{how}, {copies}"


def power_kernel(degree: int) -> Kernel:
    """(x.z + 1)^degree / 2^degree, which is 1 for two equal samples of norm 1.

    >>> power_kernel(9).diagonal(np.array([[0.6, 0.8]])).tolist()
    [1.0]
    """
    return 0.5**degree * Polynomial(degree, gamma=1.0, coef0=1.0)


def prepare_images(digits: DigitImages, upright: bool) -> DigitImages:
    """The images, deskewed if `upright`."""
    if not upright:
        return digits
    images, test = (_map_blocks(deskewed, part) for part in (digits.images, digits.test))
    return digits._replace(images=images, test=test)


def train_first(digits: DigitImages, model: SVC, what: str) -> tuple[StageResult, TrainedSupport]:
    """Train on every image and predict the test part."""
    model, X, X_test = clone(model), _unit_rows(digits.images), _unit_rows(digits.test)
    with ResourceUsage() as fitting:
        model.fit(X, digits.labels)
    with ResourceUsage() as predicting:
        predicted = model.predict(X_test)
    rows, coef = np.asarray(model.support_), np.asarray(model.dual_coef_)
    one_vs_rest = len(coef) == len(model.classes_)  # pairs share rows of coefficients
    own = coef != 0 if one_vs_rest else np.ones((1, len(rows)), dtype=bool)
    error = _error(predicted, digits)
    stage = Stage(what, len(X), len(rows), fitting.seconds, predicting.seconds, error)
    return StageResult(stage, predicted, model.gram_), TrainedSupport(rows, own)


def train_on_copies(
    digits: DigitImages, model: SVC, what: str, support: TrainedSupport, pixels: int
) -> StageResult:
    """Train each boundary on its support vectors and their copies, and predict the test part.

    A GPU trains several boundaries at a time, if their kernel matrices fit: steps of one use little of it.
    """
    copies, classes = len(shifts_within(pixels)), np.unique(digits.labels)
    one_of_many = len(support.own) > 1

    def train(number: int) -> SVC:
        rows = support.rows[support.own[number]]
        labels = digits.labels[rows]
        labels = labels == classes[number] if one_of_many else labels
        X = _unit_rows(jittered(digits.images[rows], pixels))
        fitted: SVC = clone(model).fit(X, np.tile(labels, copies))
        return fitted

    X_test = _unit_rows(digits.test)
    at_once = _fits_at_once(model, X_test, copies * int(support.own.sum(axis=1).max()))
    with ResourceUsage() as fitting:
        models = in_threads(train, range(len(support.own)), threads=at_once)
    with ResourceUsage() as predicting:
        scores = [
            (model.decision_function if one_of_many else model.predict)(X_test) for model in models
        ]
    used = np.zeros((copies, len(support.rows)), dtype=bool)
    for model, own in zip(models, support.own, strict=True):
        positions = np.flatnonzero(own)
        move, position = np.divmod(np.asarray(model.support_), len(positions))
        used[move, positions[position]] = True
    predicted = scores[0] if len(scores) == 1 else classes[np.argmax(scores, axis=0)]
    largest = max(models, key=lambda model: int(model.shape_fit_[0]))
    stage = Stage(
        what,
        used.size,
        int(used.sum()),
        fitting.seconds,
        predicting.seconds,
        _error(predicted, digits),
    )
    return StageResult(stage, predicted, largest.gram_, moves=used.sum(axis=1))


def _fits_at_once(model: SVC, X: Matrix, rows: int) -> int:
    """Models of so many samples that are trained at a time: as many kernel matrices as fit on a GPU."""
    device = model._training_policy(X, model.kernel).choose()
    if device is None:
        return 1
    matrix = rows**2 * np.dtype(np.float32).itemsize
    return int(np.clip(ROOM * free_bytes(device) // max(1, matrix), 1, MOST_AT_ONCE))


def merge_boundaries(support: TrainedSupport) -> TrainedSupport:
    """The support vectors of all boundaries as those of one model."""
    return support._replace(own=support.own.any(axis=0, keepdims=True))


def _error(predicted: Any, digits: DigitImages) -> float:
    return 100 * float(np.mean(predicted != digits.test_labels))


def _to_digits(train: tuple[Any, Any], test: tuple[Any, Any]) -> DigitImages:
    (X, y), (X_test, y_test) = (map(np.asarray, part) for part in (train, test))
    low, high = float(X.min()), float(X.max())
    images, tested = (_to_images(as_bytes(part, low, high)) for part in (X, X_test))
    if images.shape[1:] != tested.shape[1:]:
        raise DataError(f"training images are {images.shape[1:]}, test images {tested.shape[1:]}")
    return DigitImages(images, y, tested, y_test, np.arange(len(tested)))


def _to_images(X: Any) -> Any:
    return X if X.ndim == 3 else X.reshape(len(X), *sides(X.shape[1]))


def _unit_rows(images: Any) -> Matrix:
    return np.asarray(_map_blocks(unit_norm, images))


def _map_blocks(function: Callable[[Any], Any], images: Any) -> Any:
    """A function of images applied to all of them, in blocks on all cores."""
    first = function(images[:1])
    made = np.empty((len(images), *first.shape[1:]), dtype=first.dtype)

    def apply(rows: slice) -> None:
        made[rows] = function(images[rows])

    in_threads(apply, row_blocks(len(images), BLOCK), threads=thread_count())
    return made
