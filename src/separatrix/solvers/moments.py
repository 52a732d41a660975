"""Weight, mean and scatter of every class: all that Gaussian models and least squares need to know.

A block of samples gives its moments, and two sets of moments merge (Chan, Golub and LeVeque 1983):

    W = Wa + Wb,   m = ma + (mb - ma) Wb / W,   S = Sa + Sb + (mb - ma)(mb - ma)' Wa Wb / W

Deviations are taken from the class's own mean before they are squared, so that a class far from the
origin, or from the others, loses no digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.device import is_tensor
from separatrix.runtime.sums import dense
from separatrix.types import Block, Codes, Matrix, Vector

FEW_DIGITS = 10.0  # by which squares may exceed the scatter that is left of them


class Moments(NamedTuple):
    """Sums over the samples of each class; `form` says how much of the scatter is kept."""

    form: str
    weight: Vector  # shape: (k,)
    samples: Codes  # shape: (k,); samples with a weight above 0
    mean: Matrix  # shape: (k, d); 0 for a class not met
    scatter: Matrix  # shape: (d, d) "pooled", (k, d, d) of "each", (k, d) of its "features" alone

    @property
    def grand_mean(self) -> Vector:
        """Mean of all samples, (d,)."""
        return np.asarray(self.weight @ self.mean / self.weight.sum())

    def between(self) -> Matrix:
        """Scatter of the class means about the mean of all, sum of n_k (m_k - m)(m_k - m)', (d, d)."""
        apart = np.sqrt(self.weight)[:, None] * (self.mean - self.grand_mean)
        return np.asarray(apart.T @ apart)

    def pooled(self) -> Matrix:
        """Scatter within the classes, (d, d)."""
        return self.scatter.sum(axis=0) if self.form == "each" else self.scatter

    def taken(self, order: Codes) -> Moments:
        """The same with the classes in another order."""
        scatter = self.scatter if self.form == "pooled" else self.scatter[order]
        return Moments(
            self.form, self.weight[order], self.samples[order], self.mean[order], scatter
        )

    def grown(self, k: int) -> Moments:
        """The same with room for k classes; the new ones are empty."""
        scatter = self.scatter if self.form == "pooled" else padded(self.scatter, k)
        weight, samples, mean = (padded(p, k) for p in (self.weight, self.samples, self.mean))
        return Moments(self.form, weight, samples, mean, scatter)


def padded(part: Any, k: int) -> Any:
    """A part of the sums over classes with zeros for new ones, (k, ...)."""
    more = k - len(part)
    if not more:
        return part
    return np.concatenate([part, np.zeros((more, *part.shape[1:]), dtype=part.dtype)])


def moments_of(block: Block, *, n_classes: int, form: str) -> Moments:
    """Moments of the samples of one block; a sample of weight 0 is not there."""
    X, y, weights = block
    if is_tensor(X):
        from separatrix.solvers.device_sums import moments_on  # torch is optional

        return Moments(form, *moments_on(block, n_classes=n_classes, form=form))
    if not weights.all():
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
    if form == "pooled" and len(y) and (found := _where_they_are(X, y, weights, n_classes)):
        return found
    order = np.argsort(y.astype(np.int16) if n_classes < 2**15 else y, kind="stable")
    X, weights = dense(X[order]), weights[order]
    count = np.bincount(y, minlength=n_classes)
    ends = np.concatenate([[0], np.cumsum(count)])
    d = X.shape[1]
    weight, mean = np.zeros(n_classes), np.zeros((n_classes, d))
    equal = bool(len(weights)) and bool((weights == weights[0]).all())
    segments = [(c, slice(ends[c], ends[c + 1])) for c in np.flatnonzero(count)]
    for c, rows in segments:
        own = weights[rows]
        weight[c] = own.sum()
        mean[c] = own @ X[rows] / weight[c]
        X[rows] -= mean[c]
        if not equal:
            X[rows] *= np.sqrt(own)[:, None]
    scale = float(weights[0]) if equal else 1.0
    if form == "pooled":
        scatter = scale * (X.T @ X)
    elif form == "each":
        scatter = np.zeros((n_classes, d, d))
        for c, rows in segments:
            scatter[c] = scale * (X[rows].T @ X[rows])
    else:
        scatter = np.zeros((n_classes, d))
        for c, rows in segments:
            scatter[c] = scale * np.einsum("ij,ij->j", X[rows], X[rows])
    return Moments(form, weight, count, mean, scatter)


def _where_they_are(X: Any, y: Codes, weights: Vector, n_classes: int) -> Moments | None:
    """Pooled moments from plain products, no sample moved; None where that would lose digits.

    It loses as many as the squares of the features are above their scatter: at most one here.
    """
    if issparse(X) or X.dtype != np.float64 or n_classes > X.shape[1]:
        return None
    if (weights != weights[0]).any():
        return None
    if not _near_zero(X[: len(X) : max(1, len(X) // 64)]):
        return None
    samples = np.bincount(y, minlength=n_classes)
    weight = weights[0] * samples
    of_class = np.zeros((len(y), n_classes))
    of_class[np.arange(len(y)), y] = 1.0
    mean = of_class.T @ X / np.maximum(samples, 1)[:, None]
    squares = X.T @ X
    apart = np.sqrt(samples)[:, None] * mean
    scatter = squares - apart.T @ apart
    if (np.diag(squares) > FEW_DIGITS * np.diag(scatter)).any():
        return None
    return Moments("pooled", weight, samples, mean, weights[0] * scatter)


def _near_zero(X: Matrix) -> bool:
    """Whether no feature of some samples is far from 0 beside how much it varies."""
    return bool((np.einsum("ij,ij->j", X, X) <= FEW_DIGITS / 2 * len(X) * X.var(axis=0)).all())


def merge(a: Moments, b: Moments) -> Moments:
    """Moments of two sets of samples together."""
    k = max(len(a.weight), len(b.weight))
    a, b = a.grown(k), b.grown(k)
    weight = a.weight + b.weight
    safe = np.where(weight > 0, weight, 1.0)
    apart = b.mean - a.mean
    mean = a.mean + (b.weight / safe)[:, None] * apart
    bend = np.sqrt(a.weight * b.weight / safe)[:, None] * apart  # 0 where either is empty
    if a.form == "pooled":
        more = bend.T @ bend
    elif a.form == "each":
        more = bend[:, :, None] * bend[:, None, :]
    else:
        more = bend**2
    more += a.scatter
    more += b.scatter
    return Moments(a.form, weight, a.samples + b.samples, mean, more)
