"""Logistic regression: what a solver needs of the samples beside its passes, as sums over blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.blocks import MEBIBYTE
from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.runtime.sums import canonical, dense
from separatrix.solvers.logistic.passes import curvatures_of
from separatrix.solvers.logistic.sparse_products import head_moments
from separatrix.solvers.logistic.sparse_products import squares_of as sparse_squares
from separatrix.types import Block, Codes, Matrix, Vector

COPIED = 256 * MEBIBYTE  # of sparse samples, up to which they are copied in parts
MOST_BLOCKS = 32


def survey_block(block: Block) -> Vector:
    """Weight, number and stored values of samples with a weight, and whether the block is dense."""
    weights = block.weights
    if is_tensor(weights):
        used = int((weights != 0).sum())
        return np.array([float(weights.sum()), used, used * block.X.shape[1], 1], np.float64)
    n = np.count_nonzero(weights)
    if not issparse(block.X):
        stored = n * block.X.shape[1]
    elif n == len(weights):
        stored = block.X.nnz
    else:
        stored = np.diff(block.X.indptr)[weights > 0].sum()
    return np.array([weights.sum(), n, stored, not issparse(block.X)], np.float64)


def class_weights_of(block: Block, *, k: int) -> Vector:
    """Weight of the samples of each class, (k,)."""
    if is_tensor(block.y):
        y: Any = block.y
        return np.asarray(as_numpy(y.bincount(block.weights, minlength=k).double()))
    return np.bincount(block.y, block.weights, minlength=k).astype(np.float64)


def weigh_by_slope(block: Block, theta: Matrix | None, *, intercept: bool) -> Block:
    """The block with the mean slope of its samples' scores at theta as weights; without theta as it is."""
    if theta is None:
        return block
    if is_tensor(block.X):
        from separatrix.solvers.logistic.device_passes import slopes_on  # torch is optional

        return block._replace(weights=slopes_on(block, theta, intercept=intercept))
    slopes = curvatures_of(block, theta, intercept=intercept)
    return block._replace(weights=np.maximum(slopes, 0.0))


def moments_of(block: Block, *, theta: Matrix | None, intercept: bool) -> Matrix:
    """Weighted second moments of the samples and, if there is an intercept, of a 1 beside them, (D, D)."""
    block = weigh_by_slope(block, theta, intercept=intercept)
    if is_tensor(block.X):
        from separatrix.solvers.logistic.device_passes import moments_on  # torch is optional

        return moments_on(block, intercept=intercept)
    if issparse(block.X):
        position = np.arange(block.X.shape[1] + 1)
        position[-1] = position[-1] if intercept else -1
        return head_moments(block, position=position)
    root = np.sqrt(block.weights)
    X = dense(block.X) * root[:, None]
    S = X.T @ X
    if not intercept:
        return S
    sums = np.asarray(X.T @ root)
    return np.block([[S, sums[:, None]], [sums[None, :], np.array([[root @ root]])]])


def head_moments_of(
    block: Block, *, position: Codes, theta: Matrix | None, intercept: bool
) -> Matrix:
    """Weighted second moments of some features of CSR samples; with theta, weighted by slopes."""
    return head_moments(weigh_by_slope(block, theta, intercept=intercept), position=position)


def slope_of(block: Block, *, theta: Matrix, intercept: bool) -> float:
    """Sum over samples of the mean slope of their scores at theta."""
    return float(weigh_by_slope(block, theta, intercept=intercept).weights.sum())


def squares_of(block: Block, *, theta: Matrix | None = None, intercept: bool = True) -> Vector:
    """Weighted sum over samples of each feature's square, (d,); with theta, weighted by slopes."""
    block = weigh_by_slope(block, theta, intercept=intercept)
    if is_tensor(block.X):
        from separatrix.solvers.logistic.device_passes import squares_on  # torch is optional

        return squares_on(block)
    if issparse(block.X):
        return sparse_squares(block.X, block.weights)
    X = dense(block.X)
    return np.asarray(np.einsum("i,ij,ij->j", block.weights, X, X))


def own_block(block: Block, n_samples: int) -> Block:
    """A block whose arrays lie in order in memory; tensors as they are."""
    X, y, weights = block
    if is_tensor(X):
        return block
    rows = _own_rows(X, len(y) == n_samples)
    return Block(rows, np.ascontiguousarray(y), np.ascontiguousarray(weights))


def _own_rows(X: Any, whole: bool) -> Any:
    """Rows that lie in order in memory; of sparse samples, a small part with short column numbers."""
    if not issparse(X):
        return np.ascontiguousarray(X)
    X = canonical(X)
    if 12 * X.nnz > COPIED / MOST_BLOCKS:
        return X
    if X.indices.itemsize > 4:  # a third of what a pass reads, and no other compiled code
        narrow = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return type(X)((X.data, *narrow), shape=X.shape)
    return X if whole else X.copy()
