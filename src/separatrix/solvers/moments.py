"""Weight, mean and scatter of every class: all that Gaussian models and least squares need to know.

A block of samples gives its moments, and two sets of moments merge (Chan, Golub and LeVeque 1983):

    W = Wa + Wb,   m = ma + (mb - ma) Wb / W,   S = Sa + Sb + (mb - ma)(mb - ma)' Wa Wb / W

Deviations are taken from the class's own mean before they are squared, so that a class far from the
origin, or from the others, loses no digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.arrays import Block, Codes, Matrix, Vector
from separatrix.compute.sums import dense

FORMS = ("pooled", "each", "features")


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
        more = k - len(self.weight)
        if not more:
            return self

        def padded(part: Any) -> Any:
            return np.concatenate([part, np.zeros((more, *part.shape[1:]), dtype=part.dtype)])

        scatter = self.scatter if self.form == "pooled" else padded(self.scatter)
        return Moments(
            self.form, padded(self.weight), padded(self.samples), padded(self.mean), scatter
        )


def moments_of(block: Block, *, n_classes: int, form: str) -> Moments:
    """Moments of the samples of one block; a sample of weight 0 is not there."""
    X, y, weights = block
    if not weights.all():
        kept = weights > 0
        X, y, weights = X[kept], y[kept], weights[kept]
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


def merged(a: Moments, b: Moments) -> Moments:
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
