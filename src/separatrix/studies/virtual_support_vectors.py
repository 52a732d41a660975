"""Virtual support vectors: machines on pictures, then on their support vectors and moved copies of them.

Only the support vectors decide, so only they need copies: a machine that has seen each of them moved in
every direction minds the place of a digit less. Pictures are moved while they are bytes, then scaled to
length 1. The kernel is (x.z + 1)^degree / 2^degree, so that k(x, x) = 1.

Reference: DeCoste and Schoelkopf, Training Invariant Support Vector Machines, Machine Learning 46 (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.images import as_bytes, deskewed, jittered, shifts_within, sides, unit_norm
from separatrix.errors import DataError
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.progress import bar
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Codes, Matrix
from separatrix.validation import require_choice

JITTERS = (1, 2)
DEGREE, C = 9, 2.0
BLOCK = 2048  # pictures that a thread takes at a time


class Stage(NamedTuple):
    """One machine: what it has learned from, what it took, what it gets wrong."""

    what: str  # as "deskewed, 1 pixel"
    rows: int  # learned from, copies among them
    support_vectors: int  # of all boundaries together, each counted once
    fit_seconds: float
    predict_seconds: float
    error: float  # % of the test pictures


class Digits(NamedTuple):
    """Pictures as bytes, with their labels."""

    images: Any  # shape: (n, h, w)
    labels: Any  # shape: (n,)
    test: Any  # shape: (m, h, w)
    test_labels: Any  # shape: (m,)
    test_rows: Codes  # shape: (m,); where they lie in the data


class Support(NamedTuple):
    """The support vectors of a first stage."""

    rows: Codes  # shape: (s,); of the pictures that it learned from
    own: Any  # shape: (p, s); whether a boundary has each as a support vector of its own


class Trained(NamedTuple):
    """A stage with what later ones and the page need."""

    stage: Stage
    predicted: Any  # shape: (m,)
    gram: str  # the largest kernel matrix in words
    moves: Codes | None = None  # support vectors that each of the moves gave, of a later one


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
    """All stages one after the other, on pictures and labels to learn from and to be tested on.

    Parameters
    ----------
    train, test
        Pictures, (n, d) or (n, h, w), and their labels, (n,).
    jitters
        Pixels by which support vectors are moved, a machine for each. It learns from those of the
        first stage.
    deskew
        Whether pictures are set upright, all stages for each.
    C, degree, multi_class, device
        Of the machine: see `SVC` and `power_kernel`.
    copies
        "own": each class against the rest learns from copies of the support vectors of that
        boundary: many small problems. "all": one machine learns from copies of all of them, and so it is
        with pairs of classes.
    progress
        Whether to draw a bar; None where a person looks.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> first, second = run_virtual_sv((X[:300], y[:300]), (X[300:], y[300:]), jitters=[1], deskew=[True])
    >>> first.what, first.rows, second.rows == 9 * first.support_vectors
    ('deskewed, every picture', 300, True)
    """
    require_choice("run_virtual_sv", "copies", copies, ("own", "all"))
    make = partial(machine, C=C, degree=degree, multi_class=multi_class, device=device)
    digits = _given(train, test)
    stages = []
    with bar("virtual support vectors", len(deskew) * (1 + len(jitters)), show=progress) as advance:
        for upright in deskew:
            ready = prepared(digits, upright)
            first, support = trained(ready, make(), named(upright, 0))
            support = support if copies == "own" else all_of(support)
            stages.append(first.stage)
            advance()
            for pixels in jitters:
                what = named(upright, pixels)
                stages.append(trained_again(ready, make, what, support, pixels).stage)
                advance()
    return stages


def named(upright: bool, pixels: int) -> str:
    """What a stage is called.

    >>> named(True, 0), named(False, 2)
    ('deskewed, every picture', 'as they are, 2 pixels')
    """
    how = "deskewed" if upright else "as they are"
    copies = f"{pixels} pixel{'s' * (pixels > 1)}" if pixels else "every picture"
    return f"{how}, {copies}"


def power_kernel(degree: int) -> Kernel:
    """(x.z + 1)^degree / 2^degree, which is 1 at two equal samples of length 1.

    >>> power_kernel(9).diagonal(np.array([[0.6, 0.8]])).tolist()
    [1.0]
    """
    return 0.5**degree * Polynomial(degree, gamma=1.0, coef0=1.0)


def prepared(digits: Digits, upright: bool) -> Digits:
    """The pictures as they are, or all of them set upright."""
    if not upright:
        return digits
    images, test = (_in_blocks(deskewed, part) for part in (digits.images, digits.test))
    return digits._replace(images=images, test=test)


def trained(digits: Digits, model: Any, what: str) -> tuple[Trained, Support]:
    """Train on every picture; then classify the test part."""
    X, X_test = _rows(digits.images), _rows(digits.test)
    with ResourceUsage() as fitting:
        model.fit(X, digits.labels)
    with ResourceUsage() as predicting:
        predicted = model.predict(X_test)
    rows, coef = np.asarray(model.support_), np.asarray(model.dual_coef_)
    each = len(coef) == len(model.classes_)  # pairs have no row of coefficients of their own
    support = Support(rows, coef != 0 if each else np.ones((1, len(rows)), dtype=bool))
    error = _error(predicted, digits)
    stage = Stage(what, len(X), len(rows), fitting.seconds, predicting.seconds, error)
    return Trained(stage, predicted, model.gram_), support


def trained_again(
    digits: Digits, make: Callable[[], Any], what: str, support: Support, pixels: int
) -> Trained:
    """Train on support vectors and their copies, each boundary on its own; then classify."""
    copies, classes = len(shifts_within(pixels)), np.unique(digits.labels)
    X_test = _rows(digits.test)
    used = np.zeros((copies, len(support.rows)), dtype=bool)
    seconds, grams, scores = np.zeros(2), [], []
    for number, own in enumerate(support.own):
        positions = np.flatnonzero(own)
        labels = digits.labels[support.rows[positions]]
        one_of_many = len(support.own) > 1
        labels = labels == classes[number] if one_of_many else labels
        X = _rows(jittered(digits.images[support.rows[positions]], pixels))
        model = make()
        with ResourceUsage() as fitting:
            model.fit(X, np.tile(labels, copies))
        with ResourceUsage() as predicting:
            scores.append((model.decision_function if one_of_many else model.predict)(X_test))
        seconds += fitting.seconds, predicting.seconds
        grams.append((len(X), model.gram_))
        move, position = np.divmod(np.asarray(model.support_), len(positions))
        used[move, positions[position]] = True
    predicted = scores[0] if len(scores) == 1 else classes[np.argmax(scores, axis=0)]
    fit, predict = seconds.tolist()
    stage = Stage(what, used.size, int(used.sum()), fit, predict, _error(predicted, digits))
    return Trained(stage, predicted, max(grams)[1], moves=used.sum(axis=1))


def all_of(support: Support) -> Support:
    """The same, as the support vectors of one machine that has all boundaries."""
    return support._replace(own=support.own.any(axis=0, keepdims=True))


def machine(C: float, degree: int, multi_class: str, device: str) -> SVC:
    """A machine that is not fitted yet."""
    return SVC(C=C, kernel=power_kernel(degree), multi_class=multi_class, device=device)


def _error(predicted: Any, digits: Digits) -> float:
    return 100 * float(np.mean(predicted != digits.test_labels))


def _given(train: tuple[Any, Any], test: tuple[Any, Any]) -> Digits:
    (X, y), (X_test, y_test) = (map(np.asarray, part) for part in (train, test))
    low, high = float(X.min()), float(X.max())
    images, tested = (_pictures(as_bytes(part, low, high)) for part in (X, X_test))
    if images.shape[1:] != tested.shape[1:]:
        raise DataError(
            f"pictures to learn from are {images.shape[1:]}, those to test {tested.shape[1:]}"
        )
    return Digits(images, y, tested, y_test, np.arange(len(tested)))


def _pictures(X: Any) -> Any:
    return X if X.ndim == 3 else X.reshape(len(X), *sides(X.shape[1]))


def _rows(images: Any) -> Matrix:
    """Samples of length 1, made by all cores a block at a time."""
    return np.asarray(_in_blocks(unit_norm, images))


def _in_blocks(function: Callable[[Any], Any], images: Any) -> Any:
    """What a function of pictures makes of all of them, each thread with its blocks."""
    first = function(images[:1])
    made = np.empty((len(images), *first.shape[1:]), dtype=first.dtype)

    def one(rows: slice) -> None:
        made[rows] = function(images[rows])

    in_threads(one, row_blocks(len(images), BLOCK), threads=thread_count())
    return made
