"""Explicit feature maps: the coordinates that a kernel is the inner product of."""

from __future__ import annotations

import numpy as np

from separatrix.arrays import Matrix


def quadratic_map(X: Matrix) -> Matrix:  # (n, d) -> (n, d (d + 1) / 2)
    """All squares x_i^2 and products sqrt(2) x_i x_j: <map(x), map(z)> = <x, z>^2.

    >>> quadratic_map(np.array([[1.0, 2.0]])).round(4)
    array([[1.    , 4.    , 2.8284]])
    """
    X = np.asarray(X)
    first, second = np.triu_indices(X.shape[1], k=1)
    return np.hstack([X**2, np.sqrt(2.0) * X[:, first] * X[:, second]])
