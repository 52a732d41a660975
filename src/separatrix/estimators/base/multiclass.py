"""From scores of binary problems to one class: votes, ties and argmax.

Scores have one column for each problem of `solvers.decomposition.coding`. With two classes there is one,
and the second class wins if it is above 0; at 0 the class that the estimator names in `_class_at_zero`.
Equal votes or scores go to the lowest class index, or, for votes, to the larger summed margin. Scores may
be tensors on a GPU; so are the results then, but for class codes, which are copied back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_softmax

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, as_tensor, is_tensor, like
from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Codes, Gram, Matrix, Vector

TIES = ("lowest", "margin")
GPU_BLOCK_BYTES = 2**28  # of scores on a GPU that are classified at a time
MATRIX_UP_TO = 64  # classes up to which pairs are summed by one product with k^3 / 2 numbers


def decision_values(S: Matrix, n_classes: int, scheme: str, ties: str = "lowest") -> Matrix:
    """One value for each class, (n, k), or for two classes the score itself, (n,).

    If two classes have a score each, it is the lead of the second. For pairs the value is the number of
    votes, plus, with ties="margin", the summed margins squeezed into (-1/3, 1/3) so that they only ever
    decide between equal votes. The class of the highest value, the first among equals, is the prediction.

    >>> S = np.array([[1.0, -0.5, 3.0]])  # 0 beats 1, 2 beats 0, 1 beats 2: one vote each
    >>> decision_values(S, 3, "ovo")
    array([[1., 1., 1.]])
    >>> int(decision_values(S, 3, "ovo", ties="margin").argmax())
    1
    """
    if n_classes == 2:
        return S[:, 0] if S.shape[1] == 1 else S[:, 1] - S[:, 0]
    if scheme != "ovo":
        return S
    votes: Matrix = _by_class(_as_floats(S > 0), n_classes) + _losses(n_classes, _device_of(S))
    if ties == "margin":
        summed = _by_class(_as_floats(S), n_classes)
        votes = votes + summed / (3.0 * (abs(summed) + 1.0))
    return votes


def _as_floats(values: Any) -> Any:
    """Flags or numbers as float64."""
    return values.double() if is_tensor(values) else values.astype(np.float64)


def _by_class(values: Matrix, n_classes: int) -> Matrix:
    """Sum of the values of each class's pairs, less those where it is the second, (n, k)."""
    if n_classes <= MATRIX_UP_TO:
        product: Matrix = values @ _sides(n_classes, _device_of(values))
        return product
    summed: Matrix = like(np.zeros((len(values), n_classes)), values)
    start = 0
    for c in range(n_classes - 1):  # its pairs with the classes after it are neighbours
        own = values[:, start : start + n_classes - 1 - c]
        summed[:, c] += own.sum(axis=1)
        summed[:, c + 1 :] -= own
        start += n_classes - 1 - c
    return summed


@cache  # a copy to a GPU would wait for all that is queued there
def _sides(n_classes: int, device: Any) -> Any:
    """+1 for the first class of each pair, -1 for the second, (p, k)."""
    sides = np.ascontiguousarray(coding(n_classes, "ovo").T.astype(np.float64))
    return sides if device is None else as_tensor(sides, device)


@cache
def _losses(n_classes: int, device: Any) -> Any:
    """Number of pairs of which a class is the second, (k,)."""
    losses = np.arange(n_classes, dtype=np.float64)
    return losses if device is None else as_tensor(losses, device)


def _device_of(values: Any) -> Any:
    """Where tensors are; None of NumPy arrays."""
    return values.device if is_tensor(values) else None


def above_boundary(scores: Any, at_zero: str = "first") -> Any:
    """Where scores of boundaries choose the second of two classes; of 0 `at_zero` names the class.

    >>> above_boundary(np.array([-1.0, 0.0, 0.5])).tolist()
    [False, False, True]
    >>> above_boundary(np.array([-1.0, 0.0, 0.5]), at_zero="second").tolist()
    [False, True, True]
    """
    return scores >= 0 if at_zero == "second" else scores > 0


def winners(values: Matrix, at_zero: str = "first") -> Codes:
    """Class codes of `decision_values`; of two classes `at_zero` names the one of a score of 0.

    >>> winners(np.array([-1.0, 0.0, 0.5]), at_zero="second").tolist()
    [0, 1, 1]
    >>> winners(np.array([[2.0, 2.0, 1.0]])).tolist()
    [0]
    """
    if values.ndim == 1:
        flags = above_boundary(values, at_zero)
        codes: Codes = flags.long() if is_tensor(flags) else flags.astype(np.intp)
        return codes
    best: Codes = values.argmax(axis=1)
    return best


def combine_scores(S: Any, n_classes: int, scheme: str, ties: str, at_zero: str = "first") -> Any:
    """Class codes from scores of binary problems, (n, p) -> (n,).

    >>> combine_scores(np.array([[1.0, 1.0, -0.5]]), 3, "ovo", "lowest").tolist()
    [0]
    """
    return winners(decision_values(S, n_classes, scheme, ties), at_zero)


def vote(S: Matrix, n_classes: int, scheme: str, order: Codes | None = None) -> Codes:
    """Class codes from scores of support vector machines, as in LIBSVM: with two classes 0 is the second's.

    Equal votes go to the class that comes first in `order`, (k,), or else to the lowest.

    >>> vote(np.array([[-1.0], [0.0], [0.5]]), 2, "ovo").tolist()
    [0, 1, 1]
    """
    if order is not None:  # a score of 0 is that of the pair's later class, in that order
        first, second = np.argsort(order)[pairs(n_classes)].T
        other = like((first > second) * (-1.0 if n_classes == 2 else 1.0), S)
        S = S + (S == 0) * other
        order = like(order, S)
    if n_classes == 2:
        return winners(S[:, 0], at_zero="second")
    values = decision_values(S, n_classes, scheme)
    return winners(values) if order is None else order[winners(values[:, order])]


def boundary_distances(S: Matrix, norms: Vector, n_classes: int, *, paired: bool) -> Matrix:
    """Signed distances |f| / |w| from scores at boundaries, (n, p), or (n,) of two classes.

    With `paired` the boundaries are those of pairs, and the distance of a class, (n, k), is the least of
    those to its own: above 0 where it wins them all, else minus the largest on the wrong side.

    >>> boundary_distances(np.array([[1.0, 4.0, 2.0]]), np.array([1.0, 2.0, 1.0]), 3, paired=True)
    array([[ 1., -1., -2.]])
    """
    D = S / np.where(norms == 0, 1.0, norms)  # NaN stays
    if n_classes == 2 or not paired:
        return D[:, 0] if n_classes == 2 else D
    least = np.full((len(D), n_classes), np.inf)
    for own, (first, second) in zip(D.T, pairs(n_classes), strict=True):
        least[:, first] = np.minimum(least[:, first], own)
        least[:, second] = np.minimum(least[:, second], -own)
    return least


def probabilities(values: Matrix) -> Matrix:
    """Probabilities, (n, k), whose logarithms, or log odds of the second of two, are decision values."""
    if values.ndim == 1:
        P = np.empty((len(values), 2))
        P[:, 0], P[:, 1] = expit(-values), expit(values)
        return P
    P = np.exp(values - values.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return np.asarray(P)


def log_probabilities(values: Matrix) -> Matrix:
    """Their logarithms, (n, k); finite even if the probability underflows to 0."""
    if values.ndim == 1:
        return np.column_stack([log_expit(-values), log_expit(values)])
    return np.asarray(log_softmax(values, axis=1))


class LabelledGram(NamedTuple):
    """A Gram matrix and the class of each of its rows."""

    gram: Gram
    y: Codes  # shape: (n,)
    n_classes: int


class RowsClassified(NamedTuple):
    """Scores of every row of a Gram matrix under a model trained on some of them."""

    scores: Matrix  # shape: (n, p); may be a tensor
    n_classes: int
    scheme: str
    ties: str
    n_iter: int
    at_zero: str = "first"

    def values(self, rows: Codes) -> Matrix:
        """Confidence in each class for some rows, (rows, k), or in the second of two, (rows,)."""
        values = decision_values(self.scores[rows], self.n_classes, self.scheme, self.ties)
        found: Matrix = as_numpy(values)
        return found

    def codes(self, rows: Codes) -> Codes:
        """The most confident class of some rows, (rows,)."""
        return winners(self.values(rows), self.at_zero)


class GpuPredictions(RowsClassified):
    """Rows whose scores are on a GPU, and whose class codes are in memory."""

    all_codes: Codes  # shape: (n,)

    def values(self, rows: Codes) -> Matrix:
        """Confidence in each class for some rows, (rows, k), or in the second of two, (rows,)."""
        return super().values(like(rows, self.scores))

    def codes(self, rows: Codes) -> Codes:
        """The most confident class of some rows, (rows,)."""
        return self.all_codes[rows]


def gpu_predictions(
    S: Any,  # shape: (n, p)
    n_iter: int,
    n_classes: int,
    scheme: str,
    ties: str,
) -> GpuPredictions:
    """All rows, classified by one fit of an estimator whose scores of 0 are the first class's."""
    codes = as_numpy(combine_scores(S, n_classes, scheme, ties))
    return _with_codes(codes, S, n_classes, scheme, ties, n_iter)


def gpu_predictions_of_fits(
    S: Any,  # shape: (f, p, n)
    n_iter: Codes,  # shape: (f,)
    n_classes: int,
    scheme: str,
    ties: str,
) -> Iterator[GpuPredictions]:
    """All rows, classified by each of many fits, many fits at a time."""
    fits, p, n = S.shape
    for part in row_blocks(fits, rows_that_fit(8 * p * n, GPU_BLOCK_BYTES)):
        flat = S[part].transpose(1, 2).reshape(-1, p)
        codes = as_numpy(combine_scores(flat, n_classes, scheme, ties)).reshape(-1, n)
        for fit, own in zip(range(part.start, part.stop), codes, strict=True):
            yield _with_codes(own, S[fit].T, n_classes, scheme, ties, int(n_iter[fit]))


def _with_codes(codes: Codes, *fields: Any) -> GpuPredictions:
    found = GpuPredictions(*fields)
    found.all_codes = codes
    return found
