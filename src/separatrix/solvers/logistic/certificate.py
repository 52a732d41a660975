"""Certificates of logistic regression for the weights that are stored and the samples given.

Scores, residuals r = w (p - y) and gradients are computed once more, with bounds of all roundings. Samples
are taken about a centre, which a bias that is summed exactly makes up for, so that samples far from the
origin lose no digits.

With an l1 penalty the primal less the dual objective is a sum of parts that are at least 0 and do not
cancel: for each sample the divergence of its dual probabilities from those predicted, for each weight
l1 |theta| + l2 theta^2 / 2 + (|v| - l1)_+^2 / (2 l2) + theta v, with v the gradient of the losses that the
dual probabilities stand for. These are those predicted, those of other classes times a share of at most 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax

from separatrix.runtime.exact_sums import UNIT, exact_dots
from separatrix.runtime.sums import total
from separatrix.types import Block, Codes, Matrix, Vector

SAFE = 1.01  # for the rounding of bounds themselves
NEAR = 0.25  # error of biases, in scores, up to which the curvature there bounds it


class ExactSums(NamedTuple):
    """Sums over samples about a centre, with bounds of their errors; the last column is of the bias."""

    n: int
    weight: float
    loss: float
    loss_error: float
    gradient: Matrix  # shape: (p, d + 1)
    error: Matrix  # shape: (p, d + 1)
    reach: Matrix  # shape: (p, d + 1); of the sizes of residuals and samples
    curvature: Matrix  # shape: (p, p); of the losses by the biases
    others: (
        Vector  # shape: (n,); weight times the probability of all classes but the sample's, at most
    )
    weights: Vector  # shape: (n,); both empty where the gap is not wanted

    def about_zero(self, centre: Vector) -> tuple[Matrix, Matrix]:
        """The gradient for samples as given, and its error, (p, d + 1)."""
        far = np.append(centre, 0.0)
        G = self.gradient + self.gradient[:, -1:] * far
        D = self.error + self.error[:, -1:] * np.abs(far) + 4.0 * UNIT * np.abs(G)
        return G, D + 4.0 * UNIT * np.abs(self.gradient[:, -1:] * far)


class BoundedResiduals(NamedTuple):
    """Of some samples, with bounds of their errors."""

    loss: Vector  # shape: (n,)
    R: Matrix  # shape: (p, n)
    error: Vector  # shape: (n,); as a share of R, at most


def bounded_residuals(F: Matrix, E: Matrix, y: Codes, weights: Vector) -> BoundedResiduals:
    """Residuals of scores F, (p, n), whose errors are at most E."""
    k, everyone = max(2, len(F)), np.arange(len(y))
    off = np.expm1(2.0 * E.max(axis=0, initial=0.0)) + (k + 16.0) * UNIT
    if len(F) == 1:
        side = np.where(y == 1, 1.0, -1.0)
        other = expit(-side * F[0])
        R = (-side * other * weights)[None]
        return BoundedResiduals(np.logaddexp(0.0, -side * F[0]), R, off)
    R = softmax(F, axis=0)
    R[y, everyone] = 0.0
    R[y, everyone] = -R.sum(axis=0)
    highest = F.max(axis=0)
    losses = highest - F[y, everyone] + np.log(np.exp(F - highest).sum(axis=0))
    R *= weights
    return BoundedResiduals(losses, R, off)


def sums_of_features(block: Block) -> Vector:
    """Sum of each feature, then the number of samples, (d + 1,).

    Of sparse samples that number is inf, which makes the centre 0: only there they stay sparse.
    """
    X = block.X
    if issparse(X):
        return np.append(np.zeros(X.shape[1]), np.inf)
    return np.append(X.sum(axis=0, dtype=np.float64), float(len(X)))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # here too: it may run on a worker
def exact_sums(
    block: Block, *, W: Matrix, b: Vector, centre: Vector, divergences: bool
) -> ExactSums:
    """Loss and gradient over the samples of a block, with bounds of their errors."""
    X, y, weights = block
    if not weights.all():
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
    (n, d), everyone = X.shape, np.arange(X.shape[0])
    X = X.astype(np.float64) if issparse(X) else X - centre
    size, bias = np.abs(X), exact_dots(W, centre, b)[:, None]
    F = np.ascontiguousarray((X @ W.T).T) + bias
    E = (d + 4.0) * np.ascontiguousarray((size @ np.abs(W).T).T)
    E = SAFE * UNIT * (E + 2.0 * np.abs(bias) + 2.0 * np.abs(F))
    losses, R, off = bounded_residuals(F, E, y, weights)
    sizes = np.abs(R)
    bounds = (off + (n + 8.0) * UNIT) * sizes
    others = sizes[0] if len(R) == 1 else sizes[y, everyone]
    lost = weights @ (2.0 * E.max(axis=0, initial=0.0) + (n + 16.0) * UNIT * losses)
    return ExactSums(
        n,
        float(weights.sum()),
        float(weights @ losses),
        float(lost),
        np.column_stack([(X.T @ R.T).T, R.sum(axis=1)]),
        SAFE * np.column_stack([(size.T @ bounds.T).T, bounds.sum(axis=1)]),
        np.column_stack([(size.T @ sizes.T).T, sizes.sum(axis=1)]),
        _bias_curvature(R, y, weights),
        np.minimum(others * (1.0 + off), weights) if divergences else others[:0],
        weights if divergences else weights[:0],
    )


def merge_exactly(a: ExactSums, b: ExactSums) -> ExactSums:
    """Sums over two sets of samples together."""
    gradient = a.gradient + b.gradient
    return ExactSums(
        n=a.n + b.n,
        weight=a.weight + b.weight,
        loss=a.loss + b.loss,
        loss_error=a.loss_error + b.loss_error,
        gradient=gradient,
        error=a.error + b.error + 2.0 * UNIT * np.abs(gradient),
        reach=a.reach + b.reach,
        curvature=a.curvature + b.curvature,
        others=np.concatenate([a.others, b.others]),
        weights=np.concatenate([a.weights, b.weights]),
    )


class LogisticCertificate(NamedTuple):
    """Of stored weights."""

    objective: float
    gradient: float  # at least the largest violation of the optimality conditions, over all weight
    gap: float  # at least the duality gap over max(1, objective), with an l1 penalty
    rounding: float  # the part of either that stands for rounding, the larger


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def certify_logistic(
    blocks: Any, theta: Matrix, *, l1: Vector, l2: Vector, intercept: bool
) -> LogisticCertificate:
    """The objective, its gradient and the duality gap at theta, (p, D): bounds in exact arithmetic.

    Given
        blocks    all samples, as given
        l1, l2    price of |theta| and of theta^2 / 2 in each column, (D,)
    """
    d = theta.shape[1] - intercept
    W, b = theta[:, :d], theta[:, -1].copy() if intercept else np.zeros(len(theta))
    features = total(sums_of_features, blocks, np.add)
    centre = features[:-1] / features[-1]
    part = partial(exact_sums, W=W, b=b, centre=centre, divergences=bool(l1.any()))
    sums = total(part, blocks, merge_exactly)
    slope = l2 * theta
    G, D = (values[:, : theta.shape[1]] for values in sums.about_zero(centre))
    D = D + 4.0 * UNIT * (np.abs(slope) + np.abs(G))
    V, V_error, G = G, D, G + slope
    at_zero = np.maximum(np.abs(G) - l1, 0.0)
    off = np.where((theta == 0.0) | (l1 == 0.0), at_zero, np.abs(G + np.sign(theta) * l1))
    D = D + 2.0 * UNIT * l1
    weight = sums.weight * (1.0 - 2.0 * UNIT * (sums.n + 4.0))
    penalty = float((np.abs(theta) @ l1).sum()) + 0.5 * float((theta**2 @ l2).sum())
    objective = sums.loss + penalty
    largest = _finite((off + D).max() / weight)
    rounding = largest - _finite(off.max() / weight)
    gap = np.nan
    if l1.any():
        free = intercept and l2[-1] == 0.0
        pulls = _balanced(sums, l1, l2) if free else _Pulls(V, V_error, l1, l2, 0.0)
        theta = theta[:, : len(pulls.l1)]
        exact, near = (_gap(sums, theta, pulls, wide) for wide in (1.0, 0.0))
        size = max(1.0, objective - sums.loss_error)
        gap = _finite(exact / size * (1.0 + 4.0 * UNIT * (sums.n + theta.size + 16.0)))
        rounding = max(rounding, gap - min(near / size, gap))
    return LogisticCertificate(objective, largest, gap, rounding)


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else np.inf


class _Pulls(NamedTuple):
    """Gradients of the losses that dual probabilities stand for, and the penalties that hold them."""

    V: Matrix
    error: Matrix
    l1: Vector
    l2: Vector
    apart: float  # divergence of the dual probabilities from those predicted, at most


def bias_error(R: Matrix, error: Matrix, y: Codes, weights: Vector) -> float:
    """How far, at most, biases are from the best ones, under which rows of residuals R add up to 0."""
    missing = np.abs(R.sum(axis=1)) + (error + R.shape[1] * UNIT * np.abs(R)).sum(axis=1)
    return _moved(missing, _bias_curvature(R, y, weights))


def _bias_curvature(R: Matrix, y: Codes, weights: Vector) -> Matrix:
    """Second derivative of the losses by the biases, (p, p), without cancellation, from residuals."""
    if len(R) == 1:
        return np.asarray((np.abs(R) * (1.0 - np.abs(R) / weights)).sum(axis=1, keepdims=True))
    P = R / weights
    P[y, np.arange(len(y))] += 1.0
    curvature = -(weights * P) @ P.T
    np.fill_diagonal(curvature, 0.0)
    np.fill_diagonal(curvature, -curvature.sum(axis=1))
    return curvature


def _moved(missing: Vector, curvature: Matrix) -> float:
    """Twice Newton's step, which is the way to the best biases at most, where it is short."""
    if not missing.any():
        return 0.0
    s = np.linalg.eigvalsh(curvature)
    least = float(s[0] if len(s) == 1 else s[1])  # softmax does not change where all biases do
    return 2.0 * float(np.linalg.norm(missing)) / least if least > 0.0 else np.inf


def _balanced(sums: ExactSums, l1: Vector, l2: Vector) -> _Pulls:
    """Pulls at the best biases, under which residuals add up to 0, as a free bias needs; they are near."""
    moved = _moved(np.abs(sums.gradient[:, -1]) + sums.error[:, -1], sums.curvature)
    if not moved <= NEAR:
        moved = np.inf
    error = sums.error + np.expm1(2.0 * moved) * sums.reach
    apart = 0.5 * sums.weight * moved**2
    return _Pulls(sums.gradient[:, :-1], error[:, :-1], l1[:-1], l2[:-1], apart)


def _gap(sums: ExactSums, theta: Matrix, pulls: _Pulls, wide: float) -> float:
    """Primal less dual objective, for errors of `wide` times their bounds."""
    V, D, l1, l2, apart = pulls
    if not (np.isfinite(D).all() and np.isfinite(apart)):
        return np.inf if wide else 0.0
    D = wide * D
    pull, tight, priced = np.abs(V) + D, l2 == 0.0, l1 > 0.0
    shares = [] if (pull[:, tight] > l1[tight]).any() else [1.0]
    largest = float((pull[:, priced] / l1[priced]).max(initial=0.0)) * (1.0 + 8.0 * UNIT)
    if largest > 1.0:
        shares.append(1.0 / largest)
    gaps = [_gap_at(sums, theta, pulls._replace(error=D), share, wide) for share in shares]
    return wide * apart + min(gaps, default=np.inf)


def _gap_at(sums: ExactSums, theta: Matrix, pulls: _Pulls, share: float, wide: float) -> float:
    """The gap for residuals times a share."""
    V, D, l1, l2, _ = pulls
    above = partial(_penalty_above, theta, l1=l1, l2=l2)
    parts = np.maximum(above(share * (V - D)), above(share * (V + D)))
    parts += wide * 16.0 * UNIT * np.abs(theta) * (l1 + np.abs(V) + l2 * np.abs(theta))
    if share == 1.0:
        return float(parts.sum())
    P = np.minimum(sums.others / sums.weights, 1.0 - UNIT)
    divergence = share * P * np.log(share)
    divergence += (1.0 - share * P) * np.log1p((1.0 - share) * P / (1.0 - P))
    divergence = np.maximum(divergence, 0.0) + wide * 8.0 * UNIT * (1.0 - share + P)
    return float(parts.sum()) + float(sums.weights @ divergence)


def _penalty_above(theta: Matrix, V: Matrix, l1: Vector, l2: Vector) -> Matrix:
    """l1 |theta| + l2 theta^2 / 2 + its conjugate at -v + theta v, at least 0."""
    over = np.maximum(np.abs(V) - l1, 0.0)
    plain = np.abs(theta) * (l1 + np.sign(theta) * np.clip(V, -l1, l1))
    price = np.where(l2 > 0.0, l2, 1.0)
    # what is over acts as a pull of its own: (l2 theta + sign(v) over)^2 / (2 l2)
    rest = np.where(l2 > 0.0, (l2 * theta + np.sign(V) * over) ** 2 / (2.0 * price), 0.0)
    return np.asarray(np.maximum(plain + rest, 0.0))
