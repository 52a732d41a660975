"""The normalised kernel, and what kernels around kernels have inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.kernels.base import KernelWrapper
from separatrix.runtime.device import as_numpy, dtype_of, like
from separatrix.types import Matrix, Vector


@dataclass(frozen=True)
class Normalized(KernelWrapper):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where k(x, x) is 0.

    Parameters
    ----------
    kernel
        The kernel object to normalise.

    Examples
    --------
    >>> from separatrix.kernels import Polynomial
    >>> Normalized(Polynomial(2)).block(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0]])).round(3)
    array([[0.5]])
    """

    def block(self, X: Any, Z: Any) -> Matrix:
        K = self.kernel.block(X, Z)
        return (
            K
            * inverse_root(self.kernel.diagonal(X))[:, None]
            * inverse_root(self.kernel.diagonal(Z))
        )

    def diagonal(self, X: Any) -> Vector:
        return (self.kernel.diagonal(X) > 0).astype(np.float64)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        self.kernel.apply(P, sx, sz)
        first, second = (
            inverse_root(self.kernel.self_values(as_numpy(s))).astype(dtype_of(P)) for s in (sx, sz)
        )
        P *= like(first, P)[:, None]
        P *= like(second, P)

    def self_values(self, s: Vector) -> Vector:
        return (self.kernel.self_values(s) > 0).astype(np.float64)

    def scale(self, s: float) -> float:
        return self.kernel.scale(s)

    def error(self, s: float, eps: float) -> float:
        return self.kernel.error(s, eps)


def inside(kernel: Any) -> Any:
    """The kernel inside `Normalized` and multiples; anything else unchanged."""
    while isinstance(kernel, KernelWrapper):
        kernel = kernel.kernel
    return kernel


def inverse_root(diagonal: Vector) -> Vector:
    """1 over the root of each value, (n,); 0 where it is 0."""
    positive = diagonal > 0
    root = np.zeros(len(diagonal))
    root[positive] = 1.0 / np.sqrt(diagonal[positive])
    return root
