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
from separatrix.runtime.sums import dense, shared_rows
from separatrix.solvers.logistic.softmax import replace_scores
from separatrix.types import Block, Codes, Matrix, Vector

HESSIAN_BYTES = 2**24  # of products of samples and probabilities
STRIP_BYTES = 2**19  # of samples and their scores, which are read twice from the second-level cache


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
) -> Sums:
    """Loss, gradient and, if wanted, Hessian over the samples of one block, the prior left out.

    All in float64. Without `margin`, margins are not looked at.
    """
    p, d = len(theta), theta.shape[1] - intercept
    sparse = issparse(block.X) and not hessian
    W = theta[:, :d]
    bias = np.ascontiguousarray(theta[:, d]) if intercept else np.zeros(p)
    loss, gradient, H = 0.0, np.zeros(theta.shape), None
    least, most = (np.inf, -np.inf) if margin else (-np.inf, np.inf)
    n = block.X.shape[0]
    size = (
        rows_that_fit(8 * p * d, HESSIAN_BYTES)
        if hessian
        else rows_that_fit(8 * (d + p), STRIP_BYTES)
    )
    for rows in row_blocks(n, n if sparse else size):
        part = block.X if rows.stop - rows.start == n else shared_rows(block.X, rows)
        x = part.astype(np.float64, copy=False) if sparse else dense(part)
        y, weights = block.y[rows], block.weights[rows]
        F = np.ascontiguousarray((x @ W.T).T if sparse else W @ x.T, dtype=np.float64)
        if margin:
            margins = _margins_of(F + bias[:, None], y)[weights > 0]
            least = min(least, float(margins.min(initial=np.inf)))
            most = max(most, float(margins.max(initial=-np.inf)))
        loss += replace_scores(F, bias, y, weights)
        gradient[:, :d] += (x.T @ np.ascontiguousarray(F.T)).T if sparse else F @ x
        if intercept:
            gradient[:, d] += F.sum(axis=1)
        if hessian:
            bends = _hessian(x, F, y, weights, intercept)
            H = bends if H is None else H + bends
    return Sums(loss, gradient, H, least, most)


@np.errstate(over="ignore", invalid="ignore")
def curvatures_of(block: Block, theta: Matrix, *, intercept: bool) -> Vector:
    """Second derivative of the loss of each sample by its scores, the mean over classes, (n,)."""
    d = theta.shape[1] - intercept
    bias = theta[:, d].copy() if intercept else np.zeros(len(theta))
    F = np.ascontiguousarray((block.X @ theta[:, :d].T).T, dtype=np.float64)
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
    """Sums over two sets of samples together."""
    both = None if a.hessian is None or b.hessian is None else a.hessian + b.hessian
    margins = min(a.least, b.least), max(a.most, b.most)
    return Sums(a.loss + b.loss, a.gradient + b.gradient, both, *margins)


def _margins_of(F: Matrix, y: Codes) -> Vector:
    """The score of each sample's class less the largest of the others, from scores (p, n)."""
    if len(F) == 1:
        return np.asarray(np.where(y == 1, F[0], -F[0]))
    own = y, np.arange(len(y))
    scores = F[own]
    F[own] = -np.inf
    return np.asarray(scores - F.max(axis=0))


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
