"""Logistic regression: loss, gradient and Hessian as sums over samples.

Two classes have one row of weights and a score f = <w, x> + b, p(second class) = 1 / (1 + exp(-f)).
Several have a row each and p = softmax(f). A point is theta, (p, D): weights, then, where there is
one, the bias; X means samples with a 1 at the end of each. Every sum is a part for each block and a
merge, so a pass runs over arrays, memory maps and streams. Scores are class by class, (p, n): so a
matrix product has its long side where BLAS is fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import is_tensor
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import dense, shared_rows
from separatrix.solvers.logistic.softmax import replace_scores
from separatrix.solvers.logistic.sparse_passes import add_gradient
from separatrix.solvers.logistic.sparse_products import scores_of
from separatrix.types import Block, Codes, Matrix, Vector

HESSIAN_BYTES = 2**24  # of products of samples and probabilities
# of samples and their scores, which are read twice from the last cache; calls cost 1 %
STRIP_BYTES = 2**22


class Sums(NamedTuple):
    """What one pass finds at one point."""

    loss: float
    gradient: Matrix  # shape: (p, D)
    hessian: Matrix | None  # shape: (p D, p D)
    least: float  # margin of the worst sample: above 0 where all are on their right side
    most: float  # margin of the sample that is surest


@np.errstate(over="ignore", invalid="ignore")  # the caller checks the sums
def sums_of(
    block: Block,
    theta: Matrix,  # shape: (p, D)
    *,
    intercept: bool,
    hessian: bool,
    margin: bool = True,
    monitor: FitMonitor | None = None,
) -> Sums:
    """Loss, gradient and, if wanted, Hessian over the samples of one block, the prior left out.

    All in float64. Without `margin`, margins are not looked at. A Hessian costs D times what the rest
    does: once the monitor stops it is given up, and loss and gradient are still those of all samples.
    """
    if is_tensor(block.X):
        from separatrix.solvers.logistic.device_passes import sums_on  # torch is optional

        wanted = {"intercept": intercept, "hessian": hessian, "margin": margin}
        return Sums(*sums_on(block, theta, **wanted, monitor=monitor))
    if issparse(block.X) and not hessian:
        return _sparse_sums(block, theta, intercept, margin)
    p, d = len(theta), theta.shape[1] - intercept
    W, bias = theta[:, :d], _bias_of(theta, intercept)
    loss, gradient, H = 0.0, np.zeros(theta.shape), None
    least, most = (np.inf, -np.inf) if margin else (-np.inf, np.inf)
    size = (
        rows_that_fit(8 * p * d, HESSIAN_BYTES)
        if hessian
        else rows_that_fit(8 * (d + p), STRIP_BYTES)
    )
    for rows in row_blocks(block.X.shape[0], size):
        x = dense(shared_rows(block.X, rows))
        y, weights = block.y[rows], block.weights[rows]
        F = np.ascontiguousarray(W @ x.T)
        if margin:
            low, high = _extremes(F, bias, y, weights)
            least, most = min(least, low), max(most, high)
        loss += replace_scores(F, bias, y, weights)
        gradient[:, :d] += F @ x
        if intercept:
            gradient[:, d] += F.sum(axis=1)
        if hessian and monitor is not None and monitor.should_stop():
            hessian, H = False, None
        if hessian:
            bends = _hessian(x, F, y, weights, intercept)
            H = bends if H is None else H + bends
    return Sums(loss, gradient, H, least, most)


def _sparse_sums(block: Block, theta: Matrix, intercept: bool, margin: bool) -> Sums:
    """Loss and gradient over CSR samples; the gradient lies in memory as products with them need it."""
    bias, extremes = _bias_of(theta, intercept), (-np.inf, np.inf)
    if margin:
        extremes = _extremes(scores_of(block.X, theta), bias, block.y, block.weights)
    gradient = np.zeros(theta.shape, order="F")
    loss, by_bias = add_gradient(block, theta, bias, gradient)
    if intercept:
        gradient[:, -1] = by_bias
    return Sums(loss, gradient, None, *extremes)


def _bias_of(theta: Matrix, intercept: bool) -> Vector:
    return theta[:, -1].copy() if intercept else np.zeros(len(theta))


@np.errstate(over="ignore", invalid="ignore")
def curvatures_of(block: Block, theta: Matrix, *, intercept: bool) -> Vector:
    """Second derivative of the loss of each sample by its scores, the mean over classes, (n,)."""
    d, bias = theta.shape[1] - intercept, _bias_of(theta, intercept)
    F = scores_of(block.X, theta) if issparse(block.X) else theta[:, :d] @ dense(block.X).T
    replace_scores(F, bias, block.y, block.weights)
    return np.asarray(score_curvatures(F, block.y, block.weights).mean(axis=0))


def score_curvatures(R: Matrix, y: Codes, weights: Vector) -> Matrix:
    """w P (1 - P) from residuals w (P - 1 at the class), both (p, n); of one score if p is 1."""
    own = np.abs(R) if len(R) == 1 else class_shares(R, y, weights)
    own -= own**2 / np.where(weights > 0, weights, 1.0)
    return own


def class_shares(R: Matrix, y: Codes, weights: Vector) -> Matrix:
    """w P from residuals."""
    own = R.copy()
    own[y, np.arange(len(y))] += weights
    return own


def merge(a: Sums, b: Sums) -> Sums:
    """Sums over two sets of samples together, in the arrays of the first."""
    hessian = None  # where a part has none
    if a.hessian is not None and b.hessian is not None:
        hessian = np.add(a.hessian, b.hessian, out=a.hessian)
    np.add(a.gradient, b.gradient, out=a.gradient)
    least, most = min(a.least, b.least), max(a.most, b.most)
    return Sums(a.loss + b.loss, a.gradient, hessian, least, most)


def _extremes(F: Matrix, bias: Vector, y: Codes, weights: Vector) -> tuple[float, float]:
    """Least and largest margin: the score of a sample's class less the largest of the others."""
    F = F + bias[:, None]
    if len(F) == 1:
        margins = np.where(y == 1, F[0], -F[0])
    else:
        own = y, np.arange(len(y))
        scores = F[own]
        F[own] = -np.inf
        margins = scores - F.max(axis=0)
    margins = margins[weights > 0]
    return float(margins.min(initial=np.inf)), float(margins.max(initial=-np.inf))


def _hessian(X: Matrix, R: Matrix, y: Codes, weights: Vector, intercept: bool) -> Matrix:
    """Sum over samples of (second derivative by scores) x (x x'), (p D, p D), from residuals R, (p, n).

    The second derivative is w (diag(P) - P P') of softmax, w P (1 - P) of one score.
    """
    p, (n, d) = len(R), X.shape
    D = d + intercept
    own = score_curvatures(R, y, weights) if p == 1 else class_shares(R, y, weights)
    H = np.zeros((p, D, p, D))
    for c in range(p):
        root = np.sqrt(own[c])
        rooted = X * root[:, None]
        H[c, :d, c, :d] = rooted.T @ rooted
        if intercept:
            H[c, -1, c, :-1] = H[c, :-1, c, -1] = root @ rooted
            H[c, -1, c, -1] = root @ root
    H = H.reshape(p * D, p * D)
    if p > 1:
        shared = np.ascontiguousarray((own / np.sqrt(np.where(weights > 0, weights, 1.0))).T)
        Z = np.empty((n, p, D))
        np.multiply(shared[:, :, None], X[:, None, :], out=Z[:, :, :d])
        if intercept:
            Z[:, :, -1] = shared
        Z = Z.reshape(n, p * D)
        H -= Z.T @ Z
    return H
