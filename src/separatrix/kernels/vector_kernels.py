"""Kernels on vectors. All but `Laplacian` turn shared inner products into values, in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from separatrix.errors import DataError
from separatrix.kernels.base import InnerProduct, Kernel
from separatrix.kernels.epilogues import (
    EXPONENTIALS,
    POWERS,
    Epilogue,
    exp_of_distances,
    power,
    tanh,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer, require_real


def squared_norms(X: Any) -> Vector:
    """|x|^2 of every row, in float64, (n,)."""
    if issparse(X):
        squares = X.astype(np.float64)
        return np.asarray(squares.multiply(squares).sum(axis=1)).ravel()
    if X.dtype.kind == "f":
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    parts = (X[rows].astype(np.float64) for rows in row_blocks(X.shape[0], 1024))
    return np.concatenate([np.einsum("ij,ij->i", part, part) for part in parts] or [np.zeros(0)])


def inner_products(X: Any, Z: Any) -> Matrix:
    """x . z for every pair, dense, (n, m)."""
    if issparse(X) or issparse(Z):
        products = X @ Z.T
        return np.asarray(products.toarray() if issparse(products) else products)
    return np.asarray(X @ Z.T)


def _as_samples(X: Any) -> Any:
    X = X if issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(
            f"samples must be a matrix (n, d) of numbers; got {X.dtype} of shape {X.shape}"
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


class VectorKernel(Kernel):
    """A kernel that is an element-wise function of inner products and squared norms."""

    @property
    def from_products(self) -> bool:
        return True

    def block(self, X: Any, Z: Any) -> Matrix:
        X, Z = _as_samples(X), _as_samples(Z)
        if X.shape[1] != Z.shape[1]:
            raise DataError(f"X has {X.shape[1]} features, but Z has {Z.shape[1]}")
        if self.translation_invariant and Z.shape[0] and not (issparse(X) or issparse(Z)):
            centre = Z.mean(axis=0, dtype=np.float64)
            X, Z = (X - centre).astype(X.dtype), (Z - centre).astype(Z.dtype)
        P = inner_products(X, Z)
        self.apply(P, squared_norms(X), squared_norms(Z))
        return P

    def diagonal(self, X: Any) -> Vector:
        return self.self_values(squared_norms(_as_samples(X)))


@dataclass(frozen=True)
class Linear(InnerProduct, VectorKernel):
    """Inner product, k(x, z) = <x, z>.

    Examples
    --------
    >>> Linear().block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    alias = "linear"


@dataclass(frozen=True)
class CentredLinear(Linear):
    """Inner product about the mean of the samples, for machines whose intercept absorbs the shift."""

    alias = ""

    @property
    def translation_invariant(self) -> bool:
        return True


@dataclass(frozen=True)
class Polynomial(VectorKernel):
    """Polynomial kernel, k(x, z) = (gamma <x, z> + coef0)^degree.

    Parameters
    ----------
    degree
        An integer of at least 1.
    gamma
        Scale of the product. Above 0.
    coef0
        0 keeps only monomials of the full degree; above 0 all up to it. Below 0 the kernel may not
        be positive semi-definite.

    Examples
    --------
    >>> Polynomial(2).block(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[121.]])
    """

    alias = "poly"
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        require_integer("Polynomial", "degree", self.degree, least=1)
        require_real("Polynomial", "gamma", self.gamma, above=0)
        require_real("Polynomial", "coef0", self.coef0)

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    @property
    def epilogue(self) -> Epilogue:
        return Epilogue(POWERS, float(self.gamma), float(self.coef0), int(self.degree))

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        power(P, self.gamma, self.coef0, self.degree)

    def self_values(self, s: Vector) -> Vector:
        return np.asarray((self.gamma * s + self.coef0) ** self.degree)

    def scale(self, s: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.float64(self.gamma * s + abs(self.coef0)) ** self.degree)

    def error(self, s: float, eps: float) -> float:
        base = self.gamma * s + abs(self.coef0)
        return self.degree * self.scale(s) * eps * self.gamma * s / base if base else 0.0


@dataclass(frozen=True)
class Gaussian(VectorKernel):
    """Gaussian kernel, k(x, z) = exp(-gamma |x - z|^2).

    Parameters
    ----------
    gamma
        How fast similarity falls with squared distance. Above 0.

    Examples
    --------
    >>> Gaussian(gamma=0.5).block(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    >>> Gaussian.from_sigma(2.0), Gaussian.from_variance(2.0)
    (Gaussian(gamma=0.125), Gaussian(gamma=0.25))
    """

    alias = "rbf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        require_real("Gaussian", "gamma", self.gamma, above=0)

    @classmethod
    def from_sigma(cls, sigma: float) -> Self:
        """exp(-|x - z|^2 / (2 sigma^2)): sigma is a standard deviation."""
        require_real("Gaussian", "sigma", sigma, above=0)
        return cls(gamma=0.5 / sigma**2 if sigma**2 else float("inf"))

    @classmethod
    def from_variance(cls, variance: float) -> Self:
        """exp(-|x - z|^2 / (2 variance)): some texts call this variance sigma."""
        require_real("Gaussian", "variance", variance, above=0)
        return cls(gamma=0.5 / variance)

    @property
    def translation_invariant(self) -> bool:
        return True

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def epilogue(self) -> Epilogue:
        return Epilogue(EXPONENTIALS, float(self.gamma))

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        exp_of_distances(P, sx, sz, self.gamma)

    def self_values(self, s: Vector) -> Vector:
        return np.ones(len(s))

    def scale(self, s: float) -> float:
        return 1.0

    def error(self, s: float, eps: float) -> float:
        return 4.0 * self.gamma * eps * s

    def block_of_differences(self, X: Any, Z: Any) -> Matrix:
        """`block` without products: slower, and as precise however large samples and gamma are."""
        return _exp_of_differences(X, Z, "sqeuclidean", self.gamma)


@dataclass(frozen=True)
class Sigmoid(VectorKernel):
    """Sigmoid, k(x, z) = tanh(gamma <x, z> + coef0). In general not positive semi-definite.

    Parameters
    ----------
    gamma
        Scale of the product. Above 0.
    coef0
        Added before the tangent.

    Examples
    --------
    >>> Sigmoid(gamma=0.5).block(np.array([[1.0]]), np.array([[2.0]])).round(4)
    array([[0.7616]])
    """

    alias = "sigmoid"
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        require_real("Sigmoid", "gamma", self.gamma, above=0)
        require_real("Sigmoid", "coef0", self.coef0)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        tanh(P, self.gamma, self.coef0)

    def self_values(self, s: Vector) -> Vector:
        return np.asarray(np.tanh(self.gamma * s + self.coef0))

    def scale(self, s: float) -> float:
        return 1.0

    def error(self, s: float, eps: float) -> float:
        return self.gamma * eps * s


@dataclass(frozen=True)
class Laplacian(Kernel):
    """Laplacian kernel, k(x, z) = exp(-gamma sum_j |x_j - z_j|). Not a function of products.

    Parameters
    ----------
    gamma
        How fast similarity falls with the distance. Above 0.

    Examples
    --------
    >>> Laplacian(gamma=0.5).block(np.array([[0.0]]), np.array([[2.0]])).round(4)
    array([[0.3679]])
    """

    alias = "laplacian"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        require_real("Laplacian", "gamma", self.gamma, above=0)

    def block(self, X: Any, Z: Any) -> Matrix:
        return _exp_of_differences(X, Z, "cityblock", self.gamma)

    @property
    def absolute_distances(self) -> bool:
        return True

    @property
    def positive_semidefinite(self) -> bool:
        return True

    def apply(self, P: Any, sx: Any, sz: Any) -> None:
        """P holds distances, on a device; the norms play no part."""
        P.mul_(-self.gamma).exp_()

    def self_values(self, s: Vector) -> Vector:
        return np.ones(len(s))

    def diagonal(self, X: Any) -> Vector:
        return np.ones(_as_samples(X).shape[0])

    def scale(self, s: float) -> float:
        return 1.0

    def error(self, s: float, eps: float) -> float:
        return eps


def _exp_of_differences(X: Any, Z: Any, metric: str, gamma: float) -> Matrix:
    """exp(-gamma times the distance), (n, m), of differences and not of products."""
    X, Z = (_as_samples(part.toarray() if issparse(part) else part) for part in (X, Z))
    if X.shape[1] != Z.shape[1]:
        raise DataError(f"X has {X.shape[1]} features, but Z has {Z.shape[1]}")
    D: Matrix = cdist(X, Z, metric)
    with np.errstate(over="ignore"):
        D *= -gamma
    np.exp(D, out=D)
    return D
