"""Naive Bayes: what each class counts, and the log probabilities that follow.

Features are independent within a class. Then the log probability of a sample with a class is a sum
over its features, linear in the sample for counts and for flags:

    log p(x, c) = log p(c) + sum_j x_j log beta(j|c)                              counts
    log p(x, c) = log p(c) + sum_j x_j log p(j|c) + (1 - x_j) log(1 - p(j|c))     flags, 0 or 1

Where a probability is 0, its logarithm is kept in two parts, a finite one and how many factors of 0
there are: what is left of log(alpha / total) as alpha goes to 0 is -log(total), and one factor alpha.
So 0 * -inf never comes up, and of classes that are all impossible the one with fewest zeros is the
limit of ever less smoothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.runtime.sums import canonical, dense
from separatrix.solvers.moments import Moments, padded
from separatrix.solvers.rows import CompiledRows, add_row
from separatrix.types import Block, Codes, Flags, Matrix, Vector

EQUAL = 1e-9  # sums of zeros, of fractional counts, that differ by less are the same sum
BLOCK_BYTES = MEBIBYTE // 4  # stays in the cache while every class looks at it


class Counts(NamedTuple):
    """Sums over the samples of each class."""

    weight: Vector  # shape: (k,)
    features: Matrix  # shape: (k, d)

    def taken(self, order: Codes) -> Counts:
        """The same with the classes in another order."""
        if np.array_equal(order, np.arange(len(self.weight))):
            return self
        return Counts(self.weight[order], self.features[order])

    def grown(self, k: int) -> Counts:
        """The same with room for k classes; the new ones are empty."""
        return Counts(padded(self.weight, k), padded(self.features, k))


def counts_of(block: Block, n_classes: int) -> Counts:
    """Counts of one block: the weighted sum of the samples of each class.

    Dense and sparse samples, and the weights of a class, are added in the order of the rows: a feature
    that every sample of a class has counts exactly what the class weighs.
    """
    X, y, weights = block
    if is_tensor(X):
        from separatrix.solvers.device_sums import counts_on  # torch is optional

        return Counts(*counts_on(block, n_classes))
    weight = np.asarray(np.bincount(y, weights, minlength=n_classes), dtype=np.float64)
    features = np.zeros((n_classes, X.shape[1]))
    if issparse(X):
        rows = CompiledRows(X.data.astype(np.float64, copy=False), X.indices, X.indptr)
    else:
        rows = CompiledRows(np.ascontiguousarray(dense(X)), 0, 0)
    _add_rows(rows, y, weights, features)
    return Counts(weight, features)


def merge(a: Counts, b: Counts) -> Counts:
    """Counts of two sets of samples together."""
    k = max(len(a.weight), len(b.weight))
    a, b = a.grown(k), b.grown(k)
    return Counts(a.weight + b.weight, a.features + b.features)


def flags_of(X: Any, threshold: float) -> Any:
    """1.0 where a sample is above a threshold of at least 0, (n, d), a tensor, dense or sparse as X is."""
    if is_tensor(X):
        return (threshold < X).double()
    if not issparse(X):
        return np.greater(X, threshold).astype(np.float64)
    X = canonical(X)
    flags = (X.data > threshold).astype(np.float64)
    return type(X)((flags, X.indices, X.indptr), shape=X.shape)


class Likelihood(NamedTuple):
    """log p(x | c) as a linear function of x, and how many factors of 0 are in it."""

    log_prob: Matrix  # shape: (k, d); log probability of each feature, -inf where it is 0
    weights: Matrix  # shape: (k, d); finite
    bias: Vector  # shape: (k,); finite
    zeros: Matrix | None  # shape: (k, d); factors of 0 for each unit of x, None if there are none
    zeros_bias: Vector  # shape: (k,)


class Joint(NamedTuple):
    """log p(x, c) of samples with classes: the finite part, and how many factors of 0."""

    finite: Matrix  # shape: (n, k); -inf for classes that are never met
    zeros: Matrix | None  # shape: (n, k); None where there are none

    def log_probabilities(self) -> Matrix:
        """log p(x, c), (n, k); -inf where there is a factor of 0."""
        if self.zeros is None:
            return self.finite
        return np.where(self.zeros > 0, -np.inf, self.finite)

    def contenders(self) -> Matrix:
        """The finite part, (n, k), of classes with the fewest zeros, and -inf for the others.

        >>> Joint(np.array([[-1.0, -2.0, -3.0]]), np.array([[2.0, 1.0, 1.0]])).contenders()
        array([[-inf,  -2.,  -3.]])
        """
        if self.zeros is None:
            return self.finite
        zeros = np.where(np.isneginf(self.finite), np.inf, self.zeros)
        fewest = zeros.min(axis=1, keepdims=True)
        return np.where(zeros <= fewest * (1.0 + EQUAL), self.finite, -np.inf)


def concatenate(parts: Sequence[Joint]) -> Joint:
    """Several samples, one part after another, with every class."""
    zeros = [part.zeros for part in parts if part.zeros is not None]
    finite = np.concatenate([part.finite for part in parts])
    return Joint(finite, np.concatenate(zeros) if zeros else None)


def multinomial(counts: Counts, alpha: float | Vector) -> Likelihood:
    """Probability of each feature in each class, from counts.

    Problem
        max over beta(.|c) of  sum_j (n_cj + alpha_j) log beta(j|c),   sum_j beta(j|c) = 1

    Given
        counts     n_cj, how often feature j was met in class c
        alpha      counts that everything begins with, for all features or for each; at least 0

    Returns beta(j|c) = (n_cj + alpha_j) / sum_l (n_cl + alpha_l). With alpha 0 that is the share of j
    among all counts of c, 0 for a feature not met. A class without any count has equal shares, the
    limit of ever less smoothing.

    Reference: Manning, Raghavan and Schuetze, Introduction to Information Retrieval (2008), 13.2.
    """
    k, d = counts.features.shape
    seen = counts.features + alpha
    total = seen.sum(axis=1)
    seen[total == 0] = 1.0
    total[total == 0] = d
    log_total = np.log(total)[:, None]
    none = seen == 0
    log_prob, weights = log_parts(seen, none, log_total)
    zeros = none.astype(np.float64) if none.any() else None
    return Likelihood(log_prob, weights, np.zeros(k), zeros, np.zeros(k))


def bernoulli(counts: Counts, alpha: float | Vector) -> Likelihood:
    """Probability that a sample of each class has each feature, from the number that have it.

    Problem
        max over p(j|c) of  (n_cj + alpha_j) log p(j|c) + (n_c - n_cj + alpha_j) log(1 - p(j|c))

    Given
        counts     n_cj, how many samples of class c have feature j, and n_c, how many there are
        alpha      samples with and without each feature that everything begins with; at least 0

    Returns p(j|c) = (n_cj + alpha_j) / (n_c + 2 alpha_j), one half for a class without samples and
    alpha 0. Both a feature that none has and one that all have are then a certainty, and a sample
    where it is otherwise has a factor of 0.

    Reference: McCallum and Nigam, A Comparison of Event Models for Naive Bayes Text Classification,
    AAAI workshop on learning for text categorization (1998).
    """
    total = counts.weight[:, None] + 2 * np.asarray(alpha)  # (k, 1) or (k, d)
    have = counts.features + alpha
    lack = counts.weight[:, None] - counts.features + alpha
    if not total.all():
        unknown = np.broadcast_to(total == 0, have.shape)
        have[unknown], lack[unknown] = 0.5, 0.5
        total = np.where(total == 0, 1.0, total)
    none, everywhere = have == 0, lack == 0
    log_prob, weights = log_parts(have, none, np.log(total))
    _, log_lack = log_parts(lack, everywhere, np.log(total))
    zeros = none.astype(np.float64) - everywhere if none.any() or everywhere.any() else None
    all_have = everywhere.sum(axis=1, dtype=np.float64)
    return Likelihood(log_prob, weights - log_lack, log_lack.sum(axis=1), zeros, all_have)


def complement(counts: Counts, alpha: float | Vector) -> Likelihood:
    """Weights of each feature in each class, from the counts of all other classes.

    Problem
        w_cj = -log theta(j|not c),   theta(j|not c) = (N_j - n_cj + alpha_j) / sum_l (N_l - n_cl + alpha_l)

    Given
        counts     n_cj, how often feature j was met in class c; N_j is their sum over all classes
        alpha      counts that everything begins with, for all features or for each; at least 0

    Returns a score that is linear in the sample and highest for the class whose complement suits it
    least. Raises an error if theta is 0, because its logarithm is then no weight.

    Reference: Rennie, Shih, Teevan and Karger, Tackling the Poor Assumptions of Naive Bayes Text
    Classifiers, ICML 2003.
    """
    others = counts.features.sum(axis=0) - counts.features + alpha
    others = np.maximum(others, 0.0)  # N_j - n_cj of fractions may be below 0 by rounding
    none = np.argwhere(others == 0)
    if len(none):
        raise DataError(
            f"feature {none[0, 1]} occurs in no class but class number {none[0, 0]}, so its weight is "
            "infinite; raise `alpha` above 0"
        )
    weights = np.log(others.sum(axis=1))[:, None] - np.log(others)
    k = len(weights)
    return Likelihood(weights, weights, np.zeros(k), None, np.zeros(k))


def log_of(share: Vector) -> Vector:
    """Logarithm, -inf of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(share))


def log_joint(likelihood: Likelihood, prior: Vector, X: Any) -> Joint:
    """Samples X, (n, d), with every class; `prior` holds log p(c), (k,)."""
    finite = _product(X, likelihood.weights)
    finite += likelihood.bias + prior
    if likelihood.zeros is None:
        return Joint(finite, None)
    return Joint(finite, _product(X, likelihood.zeros) + likelihood.zeros_bias)


def total_variance(moments: Moments) -> Vector:
    """Variance of each feature over all samples, (d,), whatever their class, from "features" moments."""
    apart = moments.weight @ (moments.mean - moments.grand_mean) ** 2
    return np.asarray((moments.scatter.sum(axis=0) + apart) / moments.weight.sum())


def gaussian_log_joint(mean: Matrix, variance: Matrix, prior: Vector, X: Any) -> Matrix:
    """log p(x, c) where features are Gaussian and independent in each class, (n, k).

    Problem
        log p(c) - 1/2 sum_j log(2 pi v_cj) - 1/2 sum_j (x_j - m_cj)^2 / v_cj

    Given
        mean, variance    m and v, (k, d), v above 0 where p(c) is
        prior             log p(c), (k,); -inf for classes that are never met

    Deviations are taken before they are squared, so that nothing is lost far from the origin.
    """
    found = np.full((X.shape[0], len(mean)), -np.inf)
    met = np.flatnonzero(np.isfinite(prior))
    scale = 1.0 / np.sqrt(variance[met])
    constant = prior[met] - 0.5 * np.log(2.0 * np.pi * variance[met]).sum(axis=1)
    if is_tensor(X):
        from separatrix.solvers.device_sums import distances_on  # torch is optional

        for position, c in enumerate(met):
            squares = as_numpy(distances_on(X, mean[c], scale[position]))
            found[:, c] = constant[position] - 0.5 * squares
        return found
    size = rows_that_fit(8 * X.shape[1], BLOCK_BYTES)
    for rows in row_blocks(X.shape[0], size):
        Z = dense(X[rows])
        for position, c in enumerate(met):
            apart = Z - mean[c]
            apart *= scale[position]
            found[rows, c] = constant[position] - 0.5 * np.einsum("ij,ij->i", apart, apart)
    return found


def _product(X: Any, W: Matrix) -> Matrix:
    """X W', (n, k), in float64, whatever numbers X holds."""
    if is_tensor(X):
        from separatrix.solvers.device_sums import product_on  # torch is optional

        return np.asarray(as_numpy(product_on(X, W)))
    if issparse(X):
        return np.asarray(X @ W.T)
    found = np.empty((len(X), len(W)))
    for rows in row_blocks(len(X), rows_that_fit(8 * X.shape[1], BLOCK_BYTES)):
        np.matmul(dense(X[rows]), W.T, out=found[rows])
    return found


def log_parts(parts: Matrix, none: Flags, log_total: Matrix) -> tuple[Matrix, Matrix]:
    """log(part / total) with -inf where a part is 0, and with -log(total) there."""
    some = bool(none.any())
    weights = np.log(np.where(none, 1.0, parts) if some else parts)
    weights -= log_total
    return np.where(none, -np.inf, weights) if some else weights, weights


@njit(cache=True, nogil=True)
def _add_rows(rows: CompiledRows, y: Codes, weights: Vector, out: Matrix) -> None:
    for i in range(len(y)):
        add_row(rows, i, weights[i], out[y[i]])
