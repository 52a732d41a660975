"""Sums over samples that are tensors: moments, counts of features and of categories, scores.

The torch counterparts of `moments`, `naive_bayes` and `categorical_bayes`, in float64; sums come back as
NumPy arrays, and all that follows from them is the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from separatrix.runtime.device import as_numpy
from separatrix.types import Block, Codes, Matrix, Vector

Tensor = Any


def moments_on(block: Block, *, n_classes: int, form: str) -> tuple[Vector, Codes, Matrix, Matrix]:
    """Weight, samples, mean and scatter of each class; the block holds tensors."""
    X, y, weights = _with_weight(*block)
    owners = _owners(y, n_classes)
    weight, samples = owners.T @ weights, owners.sum(dim=0)
    safe = torch.where(weight > 0, weight, 1.0)
    mean = (owners * weights[:, None]).T @ X / safe[:, None]
    A = X - mean[y]
    A *= weights.sqrt()[:, None]
    if form == "pooled":
        scatter = A.T @ A
    elif form == "features":
        scatter = owners.T @ A.square_()
    else:
        scatter = torch.zeros((n_classes, *A.T.shape[:1] * 2), dtype=A.dtype, device=A.device)
        for c in y.unique().tolist():
            own = A[y == c]
            scatter[c] = own.T @ own
    found = as_numpy(weight), as_numpy(samples).astype(np.intp), as_numpy(mean), as_numpy(scatter)
    return found


def counts_on(block: Block, n_classes: int) -> tuple[Vector, Matrix]:
    """Weight of each class, (k,), and weighted sums of its samples, (k, d)."""
    owners = _owners(block.y, n_classes) * block.weights[:, None]
    return as_numpy(owners.sum(dim=0)), as_numpy(owners.T @ block.X.double())


def categories_on(
    X: Tensor, y: Tensor, weights: Tensor, n_classes: int, starts: Codes, width: int
) -> Matrix:
    """Weights of the samples of each class by the column of each of their categories, (k, width)."""
    cells = y[:, None] * width + torch.as_tensor(starts, device=X.device) + X
    each = weights[:, None].expand(X.shape).reshape(-1)
    table = torch.bincount(cells.reshape(-1), each, minlength=n_classes * width)
    found: Matrix = as_numpy(table.double()).reshape(n_classes, width)
    return found


def entries_on(X: Tensor, starts: Codes, table: Matrix) -> Matrix:
    """Sum of the entries of `table`, (k, width), that the categories of each sample choose, (n, k)."""
    columns = torch.as_tensor(np.ascontiguousarray(table.T), device=X.device)
    found = torch.zeros((len(X), len(table)), dtype=torch.float64, device=X.device)
    for j, start in enumerate(starts.tolist()):
        found += columns[start + X[:, j]]
    sums: Matrix = as_numpy(found)
    return sums


def product_on(X: Tensor, W: Matrix) -> Tensor:
    """X W', (n, p), in float64."""
    return X.double() @ torch.as_tensor(np.ascontiguousarray(W), device=X.device).T


def distances_on(X: Tensor, mean: Vector, root: Matrix) -> Tensor:
    """|(x - mean) root|^2 of each sample, (n,); a root of one dimension scales each feature."""
    apart = X.double() - torch.as_tensor(mean, device=X.device)
    T = torch.as_tensor(np.ascontiguousarray(root), device=X.device)
    return (apart @ T if T.ndim == 2 else apart * T).square().sum(dim=1)


def _owners(y: Tensor, n_classes: int) -> Tensor:
    """1 in the column of each sample's class, (n, k)."""
    owners = torch.zeros((len(y), n_classes), dtype=torch.float64, device=y.device)
    return owners.scatter_(1, y[:, None], 1.0)


def _with_weight(X: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Samples in float64, those of weight 0 left out."""
    kept = weights > 0
    if not bool(kept.all()):
        X, y, weights = X[kept], y[kept], weights[kept]
    return X.double(), y, weights
