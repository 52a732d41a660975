"""Naive Bayes on categories: each feature of a sample is one of 0, 1, ..., m_j - 1.

Tables of all features lie side by side, (k, m_0 + m_1 + ...); `sizes` holds the m_j. As in `naive_bayes`
the logarithm of a probability of 0 is kept apart, as a count of zeros.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.solvers.moments import padded
from separatrix.solvers.naive_bayes import Joint, log_parts
from separatrix.types import Codes, Matrix, Vector


class CategoryCounts(NamedTuple):
    """Weights of the samples of each class, by the category of each feature."""

    weight: Vector  # shape: (k,)
    sizes: Codes  # shape: (d,); categories of each feature
    table: Matrix  # shape: (k, sum of sizes)

    def taken(self, order: Codes) -> CategoryCounts:
        """The same with the classes in another order."""
        return CategoryCounts(self.weight[order], self.sizes, self.table[order])

    def grown(self, k: int) -> CategoryCounts:
        """The same with room for k classes; the new ones are empty."""
        return self.widened(self.sizes, k)

    def widened(self, sizes: Codes, k: int) -> CategoryCounts:
        """The same with room for more categories and for k classes; the new ones are empty."""
        table = np.zeros((k, int(sizes.sum())))
        table[: len(self.table), columns_of(self.sizes, sizes)] = self.table
        return CategoryCounts(padded(self.weight, k), sizes, table)


class CategoryLikelihood(NamedTuple):
    """log p(category | class) of every feature, and where it is a factor of 0."""

    sizes: Codes  # shape: (d,)
    log_prob: Matrix  # shape: (k, sum of sizes); -inf where a probability is 0
    finite: Matrix  # shape: (k, sum of sizes)
    zeros: Matrix | None  # shape: (k, sum of sizes); None if there are none


def columns_of(old: Codes, new: Codes) -> Codes:
    """Column of each old entry in a table with more categories.

    >>> columns_of(np.array([2, 1]), np.array([3, 2])).tolist()
    [0, 1, 3]
    """
    shift = starts_of(new) - starts_of(old)
    return np.arange(int(old.sum())) + np.repeat(shift, old)


def starts_of(sizes: Codes) -> Codes:
    """The first column of each feature, (d,)."""
    return np.asarray(np.cumsum(sizes) - sizes)


def count_categories(X: Any, y: Any, weights: Any, n_classes: int) -> CategoryCounts:
    """Counts of one block of samples, (n, d), arrays or tensors; a sample of weight 0 is not there."""
    if not weights.all():
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
    if is_tensor(X):
        return _count_tensors(X, y, weights, n_classes)
    sizes = X.max(axis=0, initial=0) + 1
    table = np.zeros((n_classes, int(sizes.sum())))
    _count(X, starts_of(sizes), y, weights, table)
    weight = np.asarray(np.bincount(y, weights, minlength=n_classes), dtype=np.float64)
    return CategoryCounts(weight, sizes, table)


def _count_tensors(X: Any, y: Any, weights: Any, n_classes: int) -> CategoryCounts:
    from separatrix.solvers.device_sums import categories_on  # torch is optional

    sizes = np.asarray(as_numpy(X.amax(dim=0)) + 1)
    table = categories_on(X, y, weights, n_classes, starts_of(sizes), int(sizes.sum()))
    weight = as_numpy(y.bincount(weights, minlength=n_classes).double())
    return CategoryCounts(weight, sizes, table)


def merge_categories(a: CategoryCounts, b: CategoryCounts) -> CategoryCounts:
    """Counts of two sets of samples together."""
    k, sizes = max(len(a.weight), len(b.weight)), np.maximum(a.sizes, b.sizes)
    a, b = a.widened(sizes, k), b.widened(sizes, k)
    return CategoryCounts(a.weight + b.weight, sizes, a.table + b.table)


def categorical(counts: CategoryCounts, alpha: float) -> CategoryLikelihood:
    """Probability of each category of each feature in each class.

    Problem
        max over p(.|c, j) of  sum_t (n_cjt + alpha) log p(t|c, j),   sum_t p(t|c, j) = 1, for each j

    Given
        counts     n_cjt, how many samples of class c have category t of feature j
        alpha      samples of each category that everything begins with; at least 0

    Returns p(t|c, j) = (n_cjt + alpha) / sum_s (n_cjs + alpha), which are equal shares for a class
    without samples.
    """
    seen = counts.table + alpha
    starts = starts_of(counts.sizes)
    totals = np.repeat(np.add.reduceat(seen, starts, axis=1), counts.sizes, axis=1)
    empty = totals == 0
    seen[empty] = 1.0
    totals = np.where(empty, counts.sizes.repeat(counts.sizes), totals)
    none = seen == 0
    log_prob, finite = log_parts(seen, none, np.log(totals))
    zeros = none.astype(np.float64) if none.any() else None
    return CategoryLikelihood(counts.sizes, log_prob, finite, zeros)


def categorical_log_joint(likelihood: CategoryLikelihood, prior: Vector, X: Any) -> Joint:
    """Samples X, (n, d), with every class; `prior` holds log p(c), (k,)."""
    starts = starts_of(likelihood.sizes)
    finite = sum_entries(X, starts, likelihood.finite) + prior
    if likelihood.zeros is None:
        return Joint(finite, None)
    return Joint(finite, sum_entries(X, starts, likelihood.zeros))


def sum_entries(X: Any, starts: Codes, table: Matrix) -> Matrix:
    """Sum of the entries of each sample, (n, k)."""
    if is_tensor(X):
        from separatrix.solvers.device_sums import entries_on  # torch is optional

        return entries_on(X, starts, table)
    found = np.zeros((len(X), len(table)))
    _add_entries(X, starts, np.ascontiguousarray(table.T), found)
    return found


@njit(cache=True, nogil=True)
def _count(X: Codes, starts: Codes, y: Codes, weights: Vector, table: Matrix) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            table[y[i], starts[j] + X[i, j]] += weights[i]


@njit(cache=True, nogil=True)
def _add_entries(X: Codes, starts: Codes, table: Matrix, sums: Matrix) -> None:
    """Add the rows of `table`, (sum of sizes, k), that each sample selects."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            row = starts[j] + X[i, j]
            for c in range(table.shape[1]):
                sums[i, c] += table[row, c]
