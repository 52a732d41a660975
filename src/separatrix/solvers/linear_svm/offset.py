"""Samples far from the origin, whose offset would take the digits of a boundary.

A penalty |w|^2 + b^2 / c^2 is the same in every orthonormal basis of the features with the constant c
among them. So a reflection that puts the mean of the samples on one axis changes no solution, and leaves
all other features centred. A free bias takes up the mean itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.solvers.linear_svm.dual_descent import LinearFit
from separatrix.types import Vector

OFFSET = 1e3  # mean of a feature over its range from which on the offset is taken away


class NearSamples(NamedTuple):
    """Samples without their offset, and the way back."""

    X: Any  # shape: (n, d), or (n, d + 1) with the constant feature
    bias_step: float  # of their problem
    mean: Vector | None = None  # shape: (d,); what a free bias took up
    mirror: Vector | None = None  # shape: (d + 1,); normal of the reflection, of length sqrt(2)
    constant: float = 0.0

    def original(self, fit: LinearFit) -> LinearFit:
        """The same boundary in the features as they were."""
        if self.mean is not None:
            return fit._replace(b=fit.b - float(self.mean @ fit.w))
        if self.mirror is None:
            return fit
        w = fit.w - self.mirror * (self.mirror @ fit.w)
        return fit._replace(w=w[:-1], b=self.constant * float(w[-1]))


def take_offset(X: Any, bias_step: float) -> NearSamples:
    """Samples whose features are centred but for one; as they are, if near the origin or sparse.

    Given
        X           samples, (n, d)
        bias_step   square of the constant feature: 0 without a bias, infinite for a free one

    >>> X = np.array([[1e9], [1e9 + 2.0]])
    >>> take_offset(X, np.inf).X.tolist()
    [[-1.0], [1.0]]
    >>> take_offset(X, 1.0).X.round(3).tolist()
    [[-0.0, -1000000000.0], [0.0, -1000000002.0]]
    >>> take_offset(X - 1e9, 1.0).X.tolist()
    [[0.0], [2.0]]
    """
    if issparse(X):
        return NearSamples(X, bias_step)
    with np.errstate(over="ignore"):
        mean, extent = X.mean(axis=0), np.ptp(X, axis=0)
        far_off = (extent > 0) & (np.abs(mean) > OFFSET * extent)
    if not far_off.any() or not np.isfinite(mean @ mean):
        return NearSamples(X, bias_step)
    centred = X - mean
    if np.isinf(bias_step):
        return NearSamples(centred, bias_step, mean)
    constant = float(np.sqrt(bias_step))
    far = np.append(mean, constant)
    length = float(np.linalg.norm(far))
    mirror = far / length
    sign = -1.0 if mirror[-1] > 0 else 1.0  # so that nothing cancels
    mirror[-1] -= sign
    mirror *= np.sqrt(2.0) / np.linalg.norm(mirror)
    centred = np.column_stack([centred, np.zeros(len(X))])
    centred -= np.outer(centred @ mirror, mirror)
    centred[:, -1] += sign * length
    return NearSamples(centred, 0.0, None, mirror, constant)
