"""Logistic regression: loss, gradient and Hessian over samples that are tensors on a GPU, in float64.

The torch counterpart of `passes`. A pass returns NumPy arrays in one copy, and the solvers are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, runs_triton
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.runtime.monitor import FitMonitor
from separatrix.types import Block, Matrix, Vector

Tensor = Any
MOST_FEATURES = 2048  # of a row that Triton's program has in registers
HESSIAN_BYTES = 2**28  # of products of samples and probabilities


class Residuals(NamedTuple):
    """What the scores of samples say."""

    losses: Tensor  # shape: (n,); w (-log p of the class)
    R: Tensor  # shape: (n, p); w (P - 1 at the class), of one score if p is 1
    shares: Tensor  # shape: (n, p); w P, or w P (1 - P) of one score


def sums_on(
    block: Block,
    theta: Matrix,
    *,
    intercept: bool,
    hessian: bool,
    margin: bool,
    monitor: FitMonitor | None = None,
) -> tuple[float, Matrix, Matrix | None, float, float]:
    """The fields of `passes.Sums` over the samples of a block of tensors."""
    X, y, weights = _tensors(block)
    p, d = len(theta), theta.shape[1] - intercept
    T = torch.as_tensor(np.ascontiguousarray(theta), device=X.device)
    plain = p == 1 and not hessian and not margin and d <= MOST_FEATURES and X.is_contiguous()
    if plain and runs_triton(X.device):
        from separatrix.solvers.logistic.triton import binary_pass  # needs Triton

        found = as_numpy(binary_pass(X, y, weights, T[0], intercept))
        return float(found[0]), found[1:].reshape(theta.shape), None, -np.inf, np.inf
    size = rows_that_fit(8 * p * (d + 1) * (2 if hessian else 1), HESSIAN_BYTES)
    sums = torch.zeros(1 + theta.size, dtype=torch.float64, device=X.device)
    ends = torch.tensor([np.inf, -np.inf], dtype=torch.float64, device=X.device)
    H = torch.zeros((p * (d + intercept),) * 2, dtype=X.dtype, device=X.device) if hessian else None
    queue, rows = BoundedQueue(X.device), slice(0, 0)
    while rows.stop < len(X):
        if monitor is not None and monitor.should_stop():
            H = None
        rows = slice(rows.stop, len(X) if H is None else min(rows.stop + size, len(X)))
        x, labels, w = X[rows], y[rows], weights[rows]
        F = _scores(x, T, intercept)
        if margin:
            low, high = _extremes(F, labels, w)
            ends = torch.stack([torch.minimum(ends[0], low), torch.maximum(ends[1], high)])
        found = residuals(F, labels, w)
        sums[0] += found.losses.sum()
        gradient = found.R.T @ x
        if intercept:
            gradient = torch.cat([gradient, found.R.sum(dim=0)[:, None]], dim=1)
        sums[1:] += gradient.reshape(-1)
        if H is not None:
            _add_hessian(H, x, found.shares, w, intercept)
            queue.wait()
    values = as_numpy(torch.cat([sums, ends]))
    least, most = (float(values[-2]), float(values[-1])) if margin else (-np.inf, np.inf)
    bends = None if H is None else as_numpy(H)
    return float(values[0]), values[1:-2].reshape(theta.shape), bends, least, most


def residuals(F: Tensor, y: Tensor, weights: Tensor) -> Residuals:
    """Losses, residuals and shares of scores F, (n, p)."""
    if F.shape[1] == 1:
        side = 2.0 * y.double() - 1.0
        z = side * F[:, 0]
        other = torch.sigmoid(-z)  # probability of the other class
        losses = weights * torch.nn.functional.softplus(-z, threshold=1e3)
        R = (-side * weights * other)[:, None]
        return Residuals(losses, R, (weights * other * (1.0 - other))[:, None])
    log_sum = F.logsumexp(dim=1)
    own = F.gather(1, y[:, None])[:, 0]
    shares = weights[:, None] * torch.exp(F - log_sum[:, None])
    R = shares.scatter_add(1, y[:, None], -weights[:, None])
    return Residuals(weights * (log_sum - own), R, shares)


def slopes_on(block: Block, theta: Matrix, *, intercept: bool) -> Tensor:
    """Second derivative of the loss of each sample by its scores, the mean over classes, (n,)."""
    X, y, weights = _tensors(block)
    T = torch.as_tensor(np.ascontiguousarray(theta), device=X.device)
    shares = residuals(_scores(X, T, intercept), y, weights).shares
    if shares.shape[1] > 1:
        shares = shares - shares.square() / torch.where(weights > 0, weights, 1.0)[:, None]
    return shares.mean(dim=1).clamp(min=0.0)


def moments_on(block: Block, *, intercept: bool) -> Matrix:
    """Weighted second moments of the samples and, if there is an intercept, of a 1 beside them, (D, D)."""
    X, _, weights = _tensors(block)
    D = X.shape[1] + intercept
    found = torch.zeros((D, D), dtype=torch.float64, device=X.device)
    queue = BoundedQueue(X.device)
    for rows in row_blocks(len(X), rows_that_fit(8 * D, HESSIAN_BYTES)):
        _add_outer(found, X[rows], weights[rows].sqrt(), intercept)
        queue.wait()
    moments: Matrix = as_numpy(found)
    return moments


def squares_on(block: Block) -> Vector:
    """Weighted sum over samples of each feature's square, (d,)."""
    X, _, weights = _tensors(block)
    found = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for rows in row_blocks(len(X), rows_that_fit(8 * X.shape[1], HESSIAN_BYTES)):
        found += weights[rows] @ X[rows].square()
    squares: Vector = as_numpy(found)
    return squares


def _tensors(block: Block) -> tuple[Tensor, Tensor, Tensor]:
    return block


def _scores(X: Tensor, T: Tensor, intercept: bool) -> Tensor:
    return X @ T[:, :-1].T + T[:, -1] if intercept else X @ T.T


def _extremes(F: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Least and largest margin of samples with a weight."""
    if F.shape[1] == 1:
        margins = torch.where(y == 1, F[:, 0], -F[:, 0])
    else:
        own = F.gather(1, y[:, None])[:, 0]
        margins = own - F.scatter(1, y[:, None], -torch.inf).amax(dim=1)
    kept = weights > 0
    low = torch.where(kept, margins, torch.inf).min()
    return low, torch.where(kept, margins, -torch.inf).max()


def _add_outer(H: Tensor, X: Tensor, root: Tensor, intercept: bool) -> None:
    """Add the sum of root^2 x x', with a 1 at the end of each x if there is an intercept."""
    Z = X * root[:, None]
    if not intercept:
        H += Z.T @ Z
        return
    H[:-1, :-1] += Z.T @ Z
    sums = root @ Z
    H[-1, :-1] += sums
    H[:-1, -1] += sums
    H[-1, -1] += root @ root


def _add_hessian(H: Tensor, X: Tensor, shares: Tensor, weights: Tensor, intercept: bool) -> None:
    """Add the second derivatives by scores times x x': w (diag(P) - P P') of softmax."""
    p, D = shares.shape[1], X.shape[1] + intercept
    for c in range(p):
        own = slice(c * D, (c + 1) * D)
        _add_outer(H[own, own], X, shares[:, c].clamp(min=0.0).sqrt(), intercept)
    if p > 1:
        scaled = shares / torch.where(weights > 0, weights, 1.0).sqrt()[:, None]
        if intercept:
            X = torch.nn.functional.pad(X, (0, 1), value=1.0)
        Z = (scaled[:, :, None] * X[:, None, :]).reshape(len(X), p * D)
        H -= Z.T @ Z
