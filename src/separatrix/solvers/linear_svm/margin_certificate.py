"""Certificates of linear support vector machines for the weights that are stored and the samples given.

With margins z = y (<w, x> + b), slacks s = 1 - z, dual variables a and their weights
w(a) = sum_i a_i y_i x_i, primal less dual objective is a sum of parts that are at least 0, none of which
cancels another:

    P - D = |w - w(a)|^2 / 2 + (b - bias_step sum_i a_i y_i)^2 / (2 bias_step)
            + sum_i (price_i loss(s_i) + loss*_i(a_i) - a_i s_i)

and under an l1 penalty |w_j| - w_j w(a)_j for each weight takes the place of the first two. Each part is
bounded from above for all roundings of s and w(a). Both are taken about the mean of the samples, which a
bias that is summed exactly makes up for, so that samples far from the origin lose no digits.
"""

from __future__ import annotations

from math import fsum
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.exact_sums import UNIT, exact_dots
from separatrix.solvers.linear_svm.dual_descent import balance
from separatrix.types import Codes, Matrix, Vector

BLOCK_BYTES = 4 * MEBIBYTE
SAFE = 1.01  # for the rounding of bounds themselves


class Certificates(NamedTuple):
    """Of the stored weights of each boundary."""

    objective: Vector  # shape: (p,)
    gap: Vector  # shape: (p,); at least the duality gap, over max(1, objective)
    rounding: Vector  # shape: (p,); the part of it that stands for rounding


class Bounded(NamedTuple):
    """Computed values and a bound of their errors."""

    value: Any
    error: Any

    def largest(self) -> Any:
        """The largest size that the exact values can have."""
        return np.abs(self.value) + self.error


class ScoredSamples(NamedTuple):
    """What certificates need to know of samples under some weights and dual variables."""

    scores: Bounded  # shape: (n, p); <w, x> + b
    sums: Bounded  # shape: (p, d); w(a) of signed dual variables


def score_exactly(
    X: Any, W: Matrix, b: Vector, signed: Matrix, total: Vector, terms: int = 1
) -> ScoredSamples:
    """Scores of all samples, and the sums of samples times `signed` dual variables, (n, p).

    Given
        total   the sum of each column of the exact ones that `signed` stands for, (p,)
        terms   roundings of each of these
    """
    n, d = X.shape
    mean = np.zeros(d) if issparse(X) else X.mean(axis=0, dtype=np.float64)
    bias = exact_dots(W, mean, b)
    S, E = np.empty((2, n, len(W)))
    Q, R = np.zeros((2, len(W), d))
    sizes, weights = np.abs(signed), np.ascontiguousarray(np.abs(W).T)
    for rows in row_blocks(n, rows_that_fit(16 * d, BLOCK_BYTES)):
        part = X[rows].astype(np.float64) if issparse(X) else X[rows] - mean
        S[rows] = part @ W.T
        Q += (part.T @ signed[rows]).T
        part = np.abs(part)
        E[rows] = part @ weights
        R += (part.T @ sizes[rows]).T
    S += bias
    E = SAFE * UNIT * ((d + 4) * E + 2.0 * np.abs(bias) + 2.0 * np.abs(S))
    offset = total[:, None] * mean
    R = SAFE * UNIT * ((n + 12 + terms) * R + 4.0 * np.abs(offset) + 2.0 * np.abs(Q))
    return ScoredSamples(Bounded(S, E), Bounded(Q + offset, R))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def certify_weights(
    X: Any,  # shape: (n, d); as given: float32 or float64, dense or sparse
    Y: Matrix,  # shape: (n, p); +1 or -1
    price: Matrix,  # shape: (n, p); 0: the sample takes no part
    W: Matrix,  # shape: (p, d)
    b: Vector,  # shape: (p,)
    A: Matrix,  # shape: (n, p); dual variables
    *,
    loss: str,
    bias_step: float,
    l1: bool = False,
) -> Certificates:
    """Objective and duality gap of each boundary: bounds in exact arithmetic.

    Given
        bias_step  square of the constant feature; 0: no bias, infinity: a free one
        l1         whether |w| is penalised, and not |w|^2 / 2

    Dual variables are cut to their bounds; a free bias needs them to add up to 0 for exact numbers near to
    those given, which they are scaled to.
    """
    A = np.clip(A, 0.0, price if loss == "hinge" else None) * (price > 0)
    free = np.isinf(bias_step)
    if free:
        A = np.stack([balance(a, y) for a, y in zip(A.T, Y.T, strict=True)], axis=1)
    signed = A * Y
    lacking = np.array([0.0 if free else fsum(column) for column in signed.T.tolist()])
    samples = score_exactly(X, W, b, signed, lacking)
    own = samples.sums
    if l1:
        scale = _feasible(own, lacking, bias_step)
        A, lacking = A * scale, lacking * scale
        own = Bounded(own.value * scale[:, None], own.error * scale[:, None])
        penalty = np.abs(W).sum(axis=1)
        parts = _l1_parts(own, W, b, lacking, bias_step)
        penalty += 0.0 if free or not bias_step else np.abs(b) / np.sqrt(bias_step)
    else:
        penalty = 0.5 * np.einsum("pd,pd->p", W, W)
        parts = _l2_parts(own, W, b, lacking, bias_step)
        penalty += 0.0 if free or not bias_step else 0.5 * b**2 / bias_step
    s, e = 1.0 - Y * samples.scores.value, samples.scores.error + UNIT
    e += UNIT * np.abs(s)
    inside = np.maximum(s, 0.0)
    losses = inside if loss == "hinge" else inside**2
    objective = penalty + np.einsum("np,np->p", price, losses)
    near = parts.value + _losses_above(s, A, price, loss).sum(axis=0)
    far = parts.value + parts.error
    wide = np.maximum(_losses_above(s - e, A, price, loss), _losses_above(s + e, A, price, loss))
    ridge = 0.0 if loss == "hinge" else A / np.where(price > 0, price, 1.0)
    wide += 16.0 * UNIT * A * (np.abs(s) + e + ridge)
    far = (far + wide.sum(axis=0)) * (1.0 + 4.0 * UNIT * (sum(X.shape) + 16))
    least = np.maximum(s - e, 0.0)
    least = least if loss == "hinge" else least**2
    size = np.maximum(1.0, (penalty + np.einsum("np,np->p", price, least)) * (1.0 - 1e-12))
    gap = np.where(np.isfinite(far), far / size, np.inf)
    return Certificates(objective, gap, gap - np.minimum(near / size, gap))


@np.errstate(over="ignore", invalid="ignore")
def certify_classes(
    X: Any,  # shape: (n, d)
    y: Codes,  # shape: (n,)
    price: Vector,  # shape: (n,); above 0
    W: Matrix,  # shape: (k, d)
    b: Vector,  # shape: (k,)
    A: Matrix,  # shape: (n, k); dual variables
    *,
    bias_step: float,
) -> Certificates:
    """`certify_weights` for Crammer and Singer's problem, in which all classes are learned together.

    With u_ic = -A_ic of the other classes, and leads g_ic = 1 + f_c(x_i) - f_(y_i)(x_i), a sample's part is
    price_i max(0, max_c g_ic) - sum_c u_ic g_ic. The dual variable of the class itself is the sum of u.
    """
    everyone = np.arange(len(y))
    U = np.maximum(-A, 0.0)
    U[everyone, y] = 0.0
    sums = U.sum(axis=1)
    U *= np.minimum(1.0, price * (1.0 - 4.0 * UNIT * len(b)) / np.where(sums > 0, sums, 1.0))[
        :, None
    ]
    signed = -U
    signed[everyone, y] = U.sum(axis=1)
    total = np.array([fsum([*U[y == c].ravel(), *-U[:, c]]) for c in range(len(b))])
    samples = score_exactly(X, W, b, signed, total, terms=len(b))
    G, E = samples.scores
    G, E = 1.0 + G - G[everyone, y, None], E + E[everyone, y, None]
    E += 4.0 * UNIT * (1.0 + np.abs(samples.scores.value) + np.abs(G))
    G[everyone, y] = E[everyone, y] = 0.0
    leads = np.maximum(G.max(axis=1), 0.0)
    lost = price * (E.max(axis=1) + 8.0 * UNIT * leads)
    lost += (U * (E + 8.0 * UNIT * len(b) * np.abs(G))).sum(axis=1)
    parts = _l2_parts(samples.sums, W, b, total, bias_step)
    near = float(parts.value.sum() + (price * leads - (U * G).sum(axis=1)).sum())
    far = (near + float(parts.error.sum() + lost.sum())) * (1.0 + 4.0 * UNIT * (sum(X.shape) + 16))
    penalty = 0.5 * float((W**2).sum()) + (0.5 * float(b @ b) / bias_step if bias_step else 0.0)
    objective = penalty + float(price @ leads)
    size = max(1.0, (objective - float(lost.sum())) * (1.0 - 1e-12))
    gap = far / size if np.isfinite(far) else np.inf
    rounding = gap - min(max(near, 0.0) / size, gap)
    return Certificates(np.array([objective]), np.array([gap]), np.array([rounding]))


def _losses_above(s: Matrix, A: Matrix, price: Matrix, loss: str) -> Matrix:
    """price loss(s) + loss*(a) - a s, at least 0, without cancellation."""
    if loss == "hinge":
        return np.where(s > 0.0, (price - A) * s, -A * s)
    safe = np.where(price > 0, price, 1.0)
    return np.where(s > 0.0, price * (s - 0.5 * A / safe) ** 2, A * (0.25 * A / safe - s))


def _l2_parts(own: Bounded, W: Matrix, b: Vector, lacking: Vector, bias_step: float) -> Bounded:
    """|w - w(a)|^2 / 2 with the part of the bias, and what rounding may add."""
    left = Bounded(W - own.value, own.error + 2.0 * UNIT * (np.abs(W) + np.abs(own.value)))
    near = 0.5 * (left.value**2).sum(axis=1)
    far = 0.5 * (left.largest() ** 2).sum(axis=1)
    if 0.0 < bias_step < np.inf:
        pull = bias_step * lacking
        apart = Bounded(b - pull, 4.0 * UNIT * (np.abs(b) + np.abs(pull)))
        near += 0.5 * apart.value**2 / bias_step
        far += 0.5 * apart.largest() ** 2 / bias_step
    return Bounded(near, far - near)


def _l1_parts(own: Bounded, W: Matrix, b: Vector, lacking: Vector, bias_step: float) -> Bounded:
    """Sum of |w_j| - w_j w(a)_j with the part of the bias, and what rounding may add."""
    size = np.abs(W)
    near = (size * (1.0 - np.sign(W) * own.value)).sum(axis=1)
    added = (size * (own.error + 4.0 * UNIT * (1.0 + np.abs(own.value)))).sum(axis=1)
    if 0.0 < bias_step < np.inf:
        constant = float(np.sqrt(bias_step))
        pull = np.sign(b) * lacking * constant
        near += np.abs(b) / constant * (1.0 - pull)
        added += np.abs(b) / constant * 8.0 * UNIT * (1.0 + np.abs(pull))
    return Bounded(near, added)


def _feasible(own: Bounded, lacking: Vector, bias_step: float) -> Vector:
    """Factors of the dual variables at which no weight is pulled by more than its price of 1, (p,)."""
    pull = own.largest().max(axis=1, initial=0.0)
    if 0.0 < bias_step < np.inf:
        pull = np.maximum(pull, np.abs(lacking) * np.sqrt(bias_step))
    pull = pull * (1.0 + 8.0 * UNIT)
    return np.where(pull > 1.0, 1.0 / np.maximum(pull, 1.0), 1.0)
