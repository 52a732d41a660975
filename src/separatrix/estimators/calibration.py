"""From margins to probabilities that agree with the prediction.

"sigmoid": at each boundary the probability of a side is 1 / (1 + exp(-a f)), with one slope a for
scores above 0 and one for those below. It passes through 1/2 at the boundary, so the likelier side
is always the predicted one; Platt's offset breaks that. The probabilities of pairs are coupled by
the second method of Wu, Lin and Weng (JMLR 5, 2004); those of classes against the rest are divided
by their sum. "temperature": a softmax of the summed margins of each class, divided by one number.

Votes and coupled probabilities can still name different classes. Then the two exchange their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Codes, Matrix, Signs, Vector

METHODS = ("sigmoid", "temperature")
WIDEST = 12.0  # slopes are sought within exp(+-12) of one over the usual score


@dataclass(frozen=True)
class Calibration:
    """What was learned: two slopes for each boundary, or one temperature."""

    method: str
    n_classes: int
    scheme: str
    slopes: (
        Matrix  # shape: (p, 2) for scores below and above 0, or (1, 1): one over the temperature
    )

    def probabilities(self, S: Matrix, codes: Codes) -> Matrix:
        """Probability of each class from scores at the boundaries, (n, p) -> (n, k).

        The likeliest class of each row is the one in `codes`.
        """
        P = self._from_temperature(S) if self.method == "temperature" else self._from_sigmoids(S)
        return agreeing(P, codes)

    def _from_temperature(self, S: Matrix) -> Matrix:
        return np.asarray(
            softmax(self.slopes[0, 0] * class_margins(S, self.n_classes, self.scheme), axis=1)
        )

    def _from_sigmoids(self, S: Matrix) -> Matrix:
        slopes = np.where(S > 0, self.slopes[:, 1], self.slopes[:, 0])
        sides = expit(slopes * S)
        if self.n_classes == 2:
            return np.column_stack([1.0 - sides[:, 0], sides[:, 0]])
        if self.scheme == "ovo":
            return coupled(sides, self.n_classes)
        sides = np.maximum(sides, 1e-300)
        return np.asarray(sides / sides.sum(axis=1, keepdims=True))


def fit_calibration(
    method: str, S: Matrix, y: Codes, weights: Vector, n_classes: int, scheme: str
) -> Calibration:
    """Learn from scores, (n, p), of rows that their boundaries were not trained on."""
    if method == "temperature":
        Z = class_margins(S, n_classes, scheme)
        slope = _best_slope(
            lambda a: -weights @ log_softmax(a * Z, axis=1)[np.arange(len(y)), y], Z
        )
        return Calibration(method, n_classes, scheme, np.array([[slope]]))
    sides = coding(n_classes, scheme)[y]  # (n, p)
    slopes = np.array([_two_slopes(S[:, p], sides[:, p], weights) for p in range(S.shape[1])])
    return Calibration(method, n_classes, scheme, slopes)


def class_margins(S: Matrix, n_classes: int, scheme: str) -> Matrix:
    """One number for each class, (n, k): the mean of its margins, or half of plus and minus the score."""
    if n_classes == 2:
        return np.column_stack([-0.5 * S[:, 0], 0.5 * S[:, 0]])
    if scheme != "ovo":
        return S
    return np.asarray(S @ coding(n_classes, "ovo").T) / (n_classes - 1)


def coupled(sides: Matrix, n_classes: int) -> Matrix:
    """Class probabilities nearest to those of all pairs, (n, k), from that of each pair's first class."""
    m, k = len(sides), n_classes
    R = np.zeros((m, k, k))
    first, second = pairs(k).T
    R[:, first, second] = np.clip(sides, 1e-7, 1.0 - 1e-7)
    R[:, second, first] = 1.0 - R[:, first, second]
    Q = np.zeros((m, k + 1, k + 1))
    Q[:, :k, :k] = -R * R.transpose(0, 2, 1)
    Q[:, range(k), range(k)] = (R**2).sum(axis=1)
    Q[:, k, :k] = Q[:, :k, k] = 1.0
    right = np.zeros((m, k + 1, 1))
    right[:, k] = 1.0
    P = np.maximum(np.linalg.solve(Q, right)[:, :k, 0], 1e-300)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def agreeing(P: Matrix, codes: Codes) -> Matrix:
    """P with the value of each row's predicted class exchanged with the largest, where it is not that.

    >>> agreeing(np.array([[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]]), np.array([1, 1])).round(6).tolist()
    [[0.3, 0.5, 0.2], [0.5, 0.5, 0.0]]
    """
    P = P.copy()
    at = np.arange(len(P))
    best = P.argmax(axis=1)
    P[at, codes], P[at, best] = P[at, best], P[at, codes]
    tied = P.argmax(axis=1) != codes  # equal to one before it
    P[at[tied], codes[tied]] *= 1.0 + 1e-9
    P[tied] /= P[tied].sum(axis=1, keepdims=True)
    return P


def _two_slopes(scores: Vector, sides: Signs, weights: Vector) -> tuple[float, float]:
    """Slopes of the likeliest sigmoid through (0, 1/2), for scores below and above 0."""
    part = sides != 0
    scores, positive, weights = scores[part], sides[part] > 0, weights[part]
    # Platt's targets: as if one more row had been seen on each side
    plus, minus = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))

    def loss(a: float, where: Codes) -> float:
        f, t = a * scores[where], targets[where]
        return float(-weights[where] @ (t * log_expit(f) + (1.0 - t) * log_expit(-f)))

    below, above = np.flatnonzero(scores < 0), np.flatnonzero(scores > 0)
    return (
        _best_slope(lambda a: loss(a, below), scores[below]),
        _best_slope(lambda a: loss(a, above), scores[above]),
    )


def _best_slope(loss: Callable[[float], float], scores: Matrix) -> float:
    """The slope above 0 with the least loss; 1 where there is nothing to learn from."""
    usual = float(np.sqrt(np.mean(scores**2))) if scores.size else 0.0
    if usual == 0.0:
        return 1.0
    found = minimize_scalar(
        lambda power: loss(np.exp(power) / usual), bounds=(-WIDEST, WIDEST), method="bounded"
    )
    return float(np.exp(found.x) / usual)
