"""Some features of the samples, for steps that change only their weights.

The bias is the weight of a last feature, which is 1 everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.sums import canonical, dense
from separatrix.solvers.logistic.sparse_products import (
    add_products,
    arrays_of,
    head_moments,
    scores_of,
)
from separatrix.types import Block, Codes, Matrix, Vector

STRIP_BYTES = 2**22  # of samples times the roots of their curvatures
PASS_BYTES = 2**24  # of samples that are converted to float64 at once


class WeightSet(NamedTuple):
    """Which weights of theta, (p, D), change; sorted by feature, then by class."""

    classes: Codes  # shape: (m,); rows of theta
    features: Codes  # shape: (m,); columns of theta
    columns: Codes  # shape: (q,); the different features
    position: Codes  # shape: (m,); of each weight's feature among them

    @classmethod
    def of(cls, chosen: Any) -> WeightSet:
        """Those where `chosen`, (p, D), is true."""
        features, classes = np.nonzero(chosen.T)
        columns, position = np.unique(features, return_inverse=True)
        return cls(classes, features, columns, position)

    def same(self, other: WeightSet) -> bool:
        """Whether both hold the same weights."""
        return np.array_equal(self.classes, other.classes) and np.array_equal(
            self.features, other.features
        )


class DenseSamples:
    """Samples as an array."""

    def __init__(self, X: Any, intercept: bool) -> None:
        self.X, self.intercept = X, intercept

    def take(self, columns: Codes) -> DenseSamples:
        """Only these columns, the constant one among them, as float64."""
        n, d = self.X.shape
        own = columns[columns < d]
        X = np.empty((n, len(columns)))
        for rows in row_blocks(n, rows_that_fit(8 * d, STRIP_BYTES)):
            X[rows, : len(own)] = self.X[rows].take(own, axis=1)
        X[:, len(own) :] = 1.0
        return DenseSamples(X, False)

    def gradient(self, R: Matrix) -> Matrix:
        """R X, (p, D), of residuals (p, n)."""
        n, d = self.X.shape
        G = np.zeros((len(R), d + self.intercept))
        whole = self.X.dtype == np.float64
        for rows in row_blocks(n, n if whole else rows_that_fit(8 * d, PASS_BYTES)):
            G[:, :d] += R[:, rows] @ dense(self.X[rows])
        if self.intercept:
            G[:, d] = R.sum(axis=1)
        return G

    def scores(self, theta: Matrix) -> Matrix:
        """Scores, (p, n), of weights (p, D)."""
        n, d = self.X.shape
        F = np.empty((len(theta), n))
        whole = self.X.dtype == np.float64
        for rows in row_blocks(n, n if whole else rows_that_fit(8 * d, PASS_BYTES)):
            F[:, rows] = theta[:, :d] @ dense(self.X[rows]).T
        return F + theta[:, d:] if self.intercept else F

    def hessian(self, weight_set: WeightSet, own: Matrix, inverse: Vector) -> Matrix:
        """Second derivatives by the chosen weights, (m, m).

        One score has curvatures `own`, (1, n); several have w P, (k, n), and 1 / w.
        """
        classes, _, _, position = weight_set
        m, p = len(classes), len(own)
        H = np.zeros((m, m))
        for rows in row_blocks(self.X.shape[0], rows_that_fit(8 * m, STRIP_BYTES)):
            X, part = self.X[rows], own[:, rows]
            if p == 1:
                Z = X * np.sqrt(part[0])[:, None]
                H += Z.T @ Z
                continue
            for c in range(p):
                index = np.flatnonzero(classes == c)
                Z = X[:, position[index]] * np.sqrt(part[c])[:, None]
                H[np.ix_(index, index)] += Z.T @ Z
            Z = X[:, position] * (part * np.sqrt(inverse[rows]))[classes].T
            H -= Z.T @ Z
        return H


class SparseSamples:
    """Samples as CSR, the constant feature stored."""

    def __init__(self, X: Any) -> None:
        self.X = X

    @classmethod
    def of(cls, X: Any, intercept: bool) -> SparseSamples:
        """With the constant feature, if there is an intercept."""
        X = canonical(csr_array(X)).astype(np.float64, copy=False)
        if intercept:
            X = csr_array(hstack([X, np.ones((X.shape[0], 1))], format="csr"))
        return cls(X)

    def take(self, columns: Codes) -> SparseSamples:
        """Only these columns."""
        whole = len(columns) == self.X.shape[1]
        return self if whole else SparseSamples(csr_array(self.X[:, columns]))

    def gradient(self, R: Matrix) -> Matrix:
        """R X, (p, D), of residuals (p, n)."""
        G = np.zeros((len(R), self.X.shape[1]), order="F")
        add_products(self.X, R, G)
        return G

    def scores(self, theta: Matrix) -> Matrix:
        """Scores, (p, n), of weights (p, D)."""
        return scores_of(self.X, theta)

    def hessian(self, weight_set: WeightSet, own: Matrix, inverse: Vector) -> Matrix:
        """Second derivatives by the chosen weights, (m, m), as of `DenseSamples`."""
        classes, _, columns, position = weight_set
        if len(own) == 1:
            # the constant feature is stored: there is no other beyond the features
            slots = np.append(np.arange(len(columns)), -1)
            block = Block(self.X, np.empty(0, np.intp), np.ascontiguousarray(own[0]))
            return head_moments(block, position=slots)
        m = len(classes)
        H = np.zeros((m, m))
        first = np.searchsorted(position, np.arange(len(columns) + 1))
        shares = np.ascontiguousarray(own.T)
        add_class_moments(*arrays_of(self.X), shares, inverse, first, classes, H)
        return H + np.tril(H, -1).T


def columns_of(X: Any, intercept: bool) -> DenseSamples | SparseSamples:
    """Samples, (n, d), whose features can be taken one by one."""
    return SparseSamples.of(X, intercept) if issparse(X) else DenseSamples(X, intercept)


@njit(cache=True, nogil=True)
def add_class_moments(
    data: Vector,
    columns: Codes,
    starts: Codes,
    shares: Matrix,
    inverse: Vector,
    first: Codes,
    classes: Codes,
    H: Matrix,
) -> None:
    """Add softmax's second derivatives by the chosen weights to the lower triangle of H.

    shares, (n, k), are w P, `inverse` is 1 / w; weights of feature j are first[j] to first[j + 1].
    """
    m = len(classes)
    kept, of_class = np.empty(m, np.int64), np.empty(m, np.int64)
    values, pulls = np.empty(m), np.empty(m)
    for i in range(len(inverse)):
        count = 0
        for entry in range(starts[i], starts[i + 1]):
            j, value = np.int64(columns[entry]), data[entry]
            for weight in range(first[j], first[j + 1]):
                c = classes[weight]
                kept[count], of_class[count] = weight, c
                values[count], pulls[count] = value, value * shares[i, c]
                count += 1
        for a in range(count):
            row, c, value = kept[a], of_class[a], pulls[a]
            pull = value * inverse[i]
            for b in range(a + 1):
                own = value * values[b] if of_class[b] == c else 0.0
                H[row, kept[b]] += own - pull * pulls[b]
