"""Calibrated probabilities from decision values, consistent with the predicted class.

"sigmoid": at each boundary the probability of a side is 1 / (1 + exp(-a f)), with one slope a for
positive scores and one for negative ones. It is 1/2 at the boundary, so the likelier side is always
the predicted one; Platt's offset breaks that. Pairwise probabilities are coupled by the second method
of Wu, Lin and Weng (JMLR 5, 2004); one-vs-rest probabilities are divided by their sum. "temperature":
a softmax of the mean margins of each class, divided by a temperature. "platt": LIBSVM's probabilities, 1 /
(1 + exp(A f + B)) at each boundary.

Votes and coupled probabilities can still prefer different classes. Then their values are swapped, except
for "platt", which is as in LIBSVM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Codes, Matrix, Signs, Vector

METHODS = ("sigmoid", "temperature", "platt")
PLATT_STEPS = 100  # of Newton's method, which takes a few
MAX_LOG_SLOPE = 12.0  # slopes are searched within exp(+-12) of 1 / (root mean square score)


@dataclass(frozen=True)
class Calibration:
    """The learned parameters: two slopes or Platt's A and B for each boundary, or one temperature."""

    method: str
    n_classes: int
    scheme: str
    slopes: (
        Matrix  # shape: (p, 2) for scores below and above 0, or A and B, or (1, 1): 1 / temperature
    )

    def probabilities(self, S: Matrix, codes: Codes) -> Matrix:
        """Probability of each class from scores at the boundaries, (n, p) -> (n, k).

        `codes` are the predicted classes, which get the highest probability.
        """
        if self.method == "platt":
            return self._couple(expit(-(self.slopes[:, 0] * S + self.slopes[:, 1])))
        P = self._from_temperature(S) if self.method == "temperature" else self._from_sigmoids(S)
        return match_predictions(P, codes)

    def _from_temperature(self, S: Matrix) -> Matrix:
        return np.asarray(
            softmax(self.slopes[0, 0] * class_margins(S, self.n_classes, self.scheme), axis=1)
        )

    def _from_sigmoids(self, S: Matrix) -> Matrix:
        slopes = np.where(S > 0, self.slopes[:, 1], self.slopes[:, 0])
        return self._couple(expit(slopes * S))

    def _couple(self, sides: Matrix) -> Matrix:
        """Probability of each class from that of the positive side of each boundary."""
        if self.n_classes == 2:
            return np.column_stack([1.0 - sides[:, 0], sides[:, 0]])
        if self.scheme == "ovo":
            return couple_pairs(sides, self.n_classes)
        sides = np.maximum(sides, 1e-300)
        return np.asarray(sides / sides.sum(axis=1, keepdims=True))


def fit_calibration(
    method: str, S: Matrix, y: Codes, weights: Vector, n_classes: int, scheme: str
) -> Calibration:
    """Learn from scores, (n, p), of held-out rows."""
    if method == "temperature":
        Z = class_margins(S, n_classes, scheme)
        slope = _best_slope(
            lambda a: -weights @ log_softmax(a * Z, axis=1)[np.arange(len(y)), y], Z
        )
        return Calibration(method, n_classes, scheme, np.array([[slope]]))
    sides = coding(n_classes, scheme)[y]  # (n, p)
    learn = fit_platt if method == "platt" else _two_slopes
    slopes = np.array([learn(S[:, p], sides[:, p], weights) for p in range(S.shape[1])])
    return Calibration(method, n_classes, scheme, slopes)


def class_margins(S: Matrix, n_classes: int, scheme: str) -> Matrix:
    """Mean margin of each class, (n, k); for two classes plus and minus half the score."""
    if n_classes == 2:
        return np.column_stack([-0.5 * S[:, 0], 0.5 * S[:, 0]])
    if scheme != "ovo":
        return S
    return np.asarray(S @ coding(n_classes, "ovo").T) / (n_classes - 1)


def couple_pairs(sides: Matrix, n_classes: int) -> Matrix:
    """Class probabilities, (n, k), that fit the probability of each pair's first class best."""
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


def match_predictions(P: Matrix, codes: Codes) -> Matrix:
    """P with each row's largest probability swapped to its predicted class.

    >>> match_predictions(np.array([[0.5, 0.3, 0.2], [0.5, 0.5, 0.0]]), np.array([1, 1])).round(6).tolist()
    [[0.3, 0.5, 0.2], [0.5, 0.5, 0.0]]
    """
    P = P.copy()
    at = np.arange(len(P))
    best = P.argmax(axis=1)
    P[at, codes], P[at, best] = P[at, best], P[at, codes]
    tied = P.argmax(axis=1) != codes  # argmax takes the first of equal values
    P[at[tied], codes[tied]] *= 1.0 + 1e-9
    P[tied] /= P[tied].sum(axis=1, keepdims=True)
    return P


def _platt_targets(scores: Vector, sides: Signs, weights: Vector) -> tuple[Vector, Vector, Vector]:
    """Scores, targets and weights of the rows of a boundary.

    Platt's targets are probabilities as if one more row had been seen on each side.
    """
    part = sides != 0
    scores, positive, weights = scores[part], sides[part] > 0, weights[part]
    plus, minus = weights[positive].sum(), weights[~positive].sum()
    return scores, np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0)), weights


def fit_platt(scores: Vector, sides: Signs, weights: Vector) -> tuple[float, float]:
    """Maximum-likelihood A and B of the probability 1 / (1 + exp(A f + B)) of the positive side.

    Newton's method with backtracking (Lin, Lin and Weng, A Note on Platt's Probabilistic Outputs for
    Support Vector Machines, Machine Learning 68, 2007), to a gradient of 1e-10 per unit of weight.

    >>> A, B = fit_platt(np.array([-2.0, -1.0, 1.0, 3.0]), np.array([-1, 1, -1, 1]), np.ones(4))
    >>> round(A, 4), round(B, 4)
    (-0.2076, 0.0505)
    """
    scores, targets, weights = _platt_targets(scores, sides, weights)
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    F = np.column_stack([scores / scale, np.ones(len(scores))])
    plus = float(weights[sides[sides != 0] > 0].sum())
    x = np.array([0.0, np.log((weights.sum() - plus + 1.0) / (plus + 1.0))])

    def loss(x: Vector) -> float:
        z = F @ x
        return float(-weights @ (targets * log_expit(-z) + (1.0 - targets) * log_expit(z)))

    value = loss(x)
    for _ in range(PLATT_STEPS):
        P = expit(-(F @ x))
        gradient = F.T @ (weights * (targets - P))
        if np.abs(gradient).max() <= 1e-10 * weights.sum():
            break
        hessian = (F * (weights * P * (1.0 - P))[:, None]).T @ F + 1e-12 * np.eye(2)
        direction = np.linalg.solve(hessian, gradient)
        step = 1.0
        while (new := loss(x - step * direction)) > value - 1e-4 * step * (gradient @ direction):
            step *= 0.5
            if step < 1e-10:
                return float(x[0] / scale), float(x[1])
        x, value = x - step * direction, new
    return float(x[0] / scale), float(x[1])


def _two_slopes(scores: Vector, sides: Signs, weights: Vector) -> tuple[float, float]:
    """Maximum-likelihood slopes of the sigmoid through (0, 1/2), for scores below and above 0."""
    scores, targets, weights = _platt_targets(scores, sides, weights)

    def loss(a: float, where: Codes) -> float:
        f, t = a * scores[where], targets[where]
        return float(-weights[where] @ (t * log_expit(f) + (1.0 - t) * log_expit(-f)))

    below, above = np.flatnonzero(scores < 0), np.flatnonzero(scores > 0)
    return (
        _best_slope(lambda a: loss(a, below), scores[below]),
        _best_slope(lambda a: loss(a, above), scores[above]),
    )


def _best_slope(loss: Callable[[float], float], scores: Matrix) -> float:
    """The positive slope of least loss; 1 if all scores are 0."""
    usual = float(np.sqrt(np.mean(scores**2))) if scores.size else 0.0
    if usual == 0.0:
        return 1.0
    from scipy.optimize import minimize_scalar  # slow to import, seldom needed

    found = minimize_scalar(
        lambda power: loss(np.exp(power) / usual),
        bounds=(-MAX_LOG_SLOPE, MAX_LOG_SLOPE),
        method="bounded",
    )
    return float(np.exp(found.x) / usual)
