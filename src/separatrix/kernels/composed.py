"""Kernels made of kernels: sums, products, multiples, and the normalised form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.runtime.device import as_numpy, dtype_of, like
from separatrix.types import Matrix, Vector
from separatrix.validation import require_real

if TYPE_CHECKING:
    from separatrix.kernels.object_kernels import ObjectKernel


def _require_kernel(owner: str, name: str, value: object) -> None:
    if not isinstance(value, Kernel):
        raise ParameterError(owner, name, "a kernel object", value)
    if isinstance(value, Precomputed):
        raise ParameterError(
            owner, name, "a kernel on samples; combine the matrices instead", value
        )


@dataclass(frozen=True)
class _Pair(Kernel):
    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _require_kernel(type(self).__name__, "left", self.left)
        _require_kernel(type(self).__name__, "right", self.right)
        if self.left.takes != self.right.takes:
            must_be = f"a kernel on {self.left.takes}, as the left one is"
            raise ParameterError(type(self).__name__, "right", must_be, self.right)

    @property
    def takes(self) -> str:  # type: ignore[override]
        """What both take."""
        return self.left.takes

    @property
    def base(self) -> ObjectKernel | None:
        """That of both, where it is the same."""
        base = self.left.base
        return base if base == self.right.base else None

    @property
    def from_products(self) -> bool:
        """Where both are, of the same products."""
        of_both = self.left.from_products and self.right.from_products
        return of_both and self.left.base == self.right.base

    @property
    def translation_invariant(self) -> bool:
        """Where both are."""
        return self.left.translation_invariant and self.right.translation_invariant


@dataclass(frozen=True)
class Sum(_Pair):
    """k(x, z) = left(x, z) + right(x, z): the feature spaces side by side.

    >>> from separatrix.kernels import Linear
    >>> (Linear() + Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[12.]])
    """

    def block(self, X: Any, Z: Any) -> Matrix:
        """Sum of the blocks."""
        return self.left.block(X, Z) + self.right.block(X, Z)

    def diagonal(self, X: Any) -> Vector:
        """Sum of the diagonals."""
        return self.left.diagonal(X) + self.right.diagonal(X)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """Sum of both applied."""
        other = P * 1  # a copy of arrays and of tensors alike
        self.left.apply(P, sx, sz)
        self.right.apply(other, sx, sz)
        P += other

    def self_values(self, s: Vector) -> Vector:
        """Sum of both."""
        return self.left.self_values(s) + self.right.self_values(s)

    def scale(self, s: float) -> float:
        """Sum of both."""
        return self.left.scale(s) + self.right.scale(s)

    def error(self, s: float, eps: float) -> float:
        """Sum of both, and the rounding of the sum."""
        return self.left.error(s, eps) + self.right.error(s, eps) + eps * self.scale(s)

    def resolution(self, s: float) -> float:
        """The smaller of both: a large term must not drown a small one."""
        return min(self.left.resolution(s), self.right.resolution(s))


@dataclass(frozen=True)
class Product(_Pair):
    """k(x, z) = left(x, z) * right(x, z): all products of one feature of each.

    >>> from separatrix.kernels import Linear
    >>> (Linear() * Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[36.]])
    """

    def block(self, X: Any, Z: Any) -> Matrix:
        """Product of the blocks."""
        return self.left.block(X, Z) * self.right.block(X, Z)

    def diagonal(self, X: Any) -> Vector:
        """Product of the diagonals."""
        return self.left.diagonal(X) * self.right.diagonal(X)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """Product of both applied."""
        other = P * 1  # a copy of arrays and of tensors alike
        self.left.apply(P, sx, sz)
        self.right.apply(other, sx, sz)
        P *= other

    def self_values(self, s: Vector) -> Vector:
        """Product of both."""
        return self.left.self_values(s) * self.right.self_values(s)

    def scale(self, s: float) -> float:
        """Product of both."""
        return self.left.scale(s) * self.right.scale(s)

    def error(self, s: float, eps: float) -> float:
        """By the product rule."""
        left, right = self.left, self.right
        return left.error(s, eps) * right.scale(s) + right.error(s, eps) * left.scale(s)

    def resolution(self, s: float) -> float:
        """Product of both."""
        return self.left.resolution(s) * self.right.resolution(s)


@dataclass(frozen=True)
class _Around(Kernel):
    kernel: Kernel

    def __post_init__(self) -> None:
        _require_kernel(type(self).__name__, "kernel", self.kernel)

    @property
    def takes(self) -> str:  # type: ignore[override]
        """What the kernel inside does."""
        return self.kernel.takes

    @property
    def base(self) -> ObjectKernel | None:
        """That of the kernel inside."""
        return self.kernel.base

    @property
    def from_products(self) -> bool:
        """Where the kernel inside is."""
        return self.kernel.from_products

    @property
    def translation_invariant(self) -> bool:
        """Where the kernel inside is."""
        return self.kernel.translation_invariant


@dataclass(frozen=True)
class Scaled(_Around):
    """k(x, z) = factor * kernel(x, z).

    >>> from separatrix.kernels import Linear
    >>> (2.0 * Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[12.]])
    """

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_real("Scaled", "factor", self.factor, above=0)

    def block(self, X: Any, Z: Any) -> Matrix:
        """Multiple of the block."""
        return self.kernel.block(X, Z) * self.factor

    def diagonal(self, X: Any) -> Vector:
        """Multiple of the diagonal."""
        return self.kernel.diagonal(X) * self.factor

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """The kernel inside, then the factor."""
        self.kernel.apply(P, sx, sz)
        P *= self.factor

    def self_values(self, s: Vector) -> Vector:
        """Multiple of the kernel's."""
        return self.kernel.self_values(s) * self.factor

    def scale(self, s: float) -> float:
        """Multiple of the kernel's."""
        return self.kernel.scale(s) * self.factor

    def error(self, s: float, eps: float) -> float:
        """Multiple of the kernel's."""
        return self.kernel.error(s, eps) * self.factor

    def resolution(self, s: float) -> float:
        """Multiple of the kernel's."""
        return self.kernel.resolution(s) * self.factor


@dataclass(frozen=True)
class Normalized(_Around):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; 0 where k(x, x) is 0.

    >>> from separatrix.kernels import Polynomial
    >>> Normalized(Polynomial(2)).block(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0]])).round(3)
    array([[0.5]])
    """

    def block(self, X: Any, Z: Any) -> Matrix:
        """The block over the roots of both diagonals."""
        K = self.kernel.block(X, Z)
        return (
            K
            * inverse_root(self.kernel.diagonal(X))[:, None]
            * inverse_root(self.kernel.diagonal(Z))
        )

    def diagonal(self, X: Any) -> Vector:
        """1, or 0 where k(x, x) is 0."""
        return (self.kernel.diagonal(X) > 0).astype(np.float64)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """The kernel inside, then the roots of both diagonals."""
        self.kernel.apply(P, sx, sz)
        first, second = (
            inverse_root(self.kernel.self_values(as_numpy(s))).astype(dtype_of(P)) for s in (sx, sz)
        )
        P *= like(first, P)[:, None]
        P *= like(second, P)

    def self_values(self, s: Vector) -> Vector:
        """1, or 0 where k(x, x) is 0."""
        return (self.kernel.self_values(s) > 0).astype(np.float64)

    def scale(self, s: float) -> float:
        """That of the kernel inside: its values pass through the same precision."""
        return self.kernel.scale(s)

    def error(self, s: float, eps: float) -> float:
        """That of the kernel inside, relative to the same scale."""
        return self.kernel.error(s, eps)


def inside(kernel: Any) -> Any:
    """What `Normalized` and multiples are around; anything else as it is."""
    while isinstance(kernel, _Around):
        kernel = kernel.kernel
    return kernel


def inverse_root(diagonal: Vector) -> Vector:
    """1 over the root of each value, (n,); 0 where it is 0."""
    positive = diagonal > 0
    root = np.zeros(len(diagonal))
    root[positive] = 1.0 / np.sqrt(diagonal[positive])
    return root
