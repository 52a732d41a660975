"""Kernels as frozen objects with `block` and `diagonal`, their sums, products and multiples.

Kernels compute in the precision of their samples: float64 samples give float64 values. The Gram
matrix (`prepared.py`) decides when float32 is precise enough.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.epilogues import Epilogue
from separatrix.types import Matrix, Vector
from separatrix.validation import require_real


class Kernel(ABC):
    """A similarity k(x, z) that is an inner product in some feature space.

    `k1 + k2`, `k1 * k2` and `2.0 * k` are kernels again.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian, Linear
    >>> kernel = Linear() + 2.0 * Gaussian(0.5)
    >>> kernel.block(np.array([[1.0]]), np.array([[1.0], [3.0]])).round(3)
    array([[3.   , 3.271]])
    >>> kernel.diagonal(np.array([[1.0], [3.0]]))
    array([ 3., 11.])
    """

    takes = "vectors"  # or "sequences", "graphs", "objects" of any type
    alias = ""  # its name in `kernel=` of an estimator

    @property
    def from_products(self) -> bool:
        """Whether the kernel is an element-wise function of inner products: `apply` exists."""
        return False

    @property
    def absolute_distances(self) -> bool:
        """Whether `apply` is a function of sums of absolute differences, given as products."""
        return False

    @property
    def base(self) -> Any:
        """The `ObjectKernel` whose values are those products; None: they are of vectors."""
        return None

    @property
    def epilogue(self) -> Epilogue | None:
        """`apply` for compiled loops; None if they cannot do it."""
        return None

    @property
    def translation_invariant(self) -> bool:
        """Whether k(x + a, z + a) = k(x, z): the data may be centred first."""
        return False

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every kernel matrix is known to be: only then has a machine a duality gap."""
        return False

    @abstractmethod
    def block(self, X: Any, Z: Any) -> Matrix:
        """Kernel values of every sample of X with every sample of Z, (n, m)."""

    @abstractmethod
    def diagonal(self, X: Any) -> Vector:
        """Kernel value of every sample with itself, (n,)."""

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """Turn inner products P, (n, m), into kernel values in place; sx, sz: squared norms."""
        raise DataError(f"{self!r} is not a function of inner products; call block(X, Z)")

    def self_values(self, s: Vector) -> Vector:
        """k(x, x) from the squared norms |x|^2, (n,)."""
        raise DataError(f"{self!r} is not a function of inner products; call diagonal(X)")

    def scale(self, s: float) -> float:
        """Upper bound of |k| for samples of squared norm up to s."""
        raise DataError(f"{self!r} is not a function of inner products")

    def resolution(self, s: float) -> float:
        """The scale that errors are relative to: that of the smallest term."""
        return self.scale(s)

    def error(self, s: float, eps: float) -> float:
        """Upper bound of the error of values if inner products are off by eps * s; s bounds |x|^2."""
        raise DataError(f"{self!r} is not a function of inner products")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of kernels inside too, as `left__gamma`."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            for name, value in list(own.items()):
                if isinstance(value, Kernel):
                    own |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return own

    def with_params(self, **params: Any) -> Self:
        """A new kernel with some parameters changed; `left__gamma` reaches inside.

        >>> from separatrix.kernels import Gaussian, Linear
        >>> (Gaussian(1.0) + Linear()).with_params(left__gamma=0.5)
        Sum(left=Gaussian(gamma=0.5), right=Linear())
        """
        changes: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        known = self.get_params(deep=False)
        for name, value in params.items():
            first, _, rest = name.partition("__")
            if first not in known or (rest and not isinstance(known[first], Kernel)):
                raise ParameterError(
                    type(self).__name__, name, f"one of its parameters {sorted(known)}", value
                )
            if rest:
                inner.setdefault(first, {})[rest] = value
            else:
                changes[first] = value
        for name, nested in inner.items():
            changes[name] = changes.get(name, known[name]).with_params(**nested)
        return replace(self, **changes)  # type: ignore[type-var]

    def on_objects(self) -> Kernel:
        """The kernel with functions whose samples are undecided as functions of two objects."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self  # kernels are immutable

    def __add__(self, other: object) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Product | Scaled:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, Real) else NotImplemented  # type: ignore[arg-type]

    __rmul__ = __mul__


class InnerProduct(Kernel):
    """A kernel whose values are the inner products themselves."""

    @property
    def positive_semidefinite(self) -> bool:
        return True

    @property
    def epilogue(self) -> Epilogue | None:
        return Epilogue()

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """Products are the values."""

    def self_values(self, s: Vector) -> Vector:
        return s

    def scale(self, s: float) -> float:
        return s

    def error(self, s: float, eps: float) -> float:
        return eps * s


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The samples are kernel values already: X is a block of a kernel matrix.

    Examples
    --------
    >>> Precomputed().block(np.array([[2.0, 1.0]]), None)
    array([[2., 1.]])
    """

    alias = "precomputed"

    def block(self, X: Any, Z: Any) -> Matrix:
        return np.asarray(X)

    def diagonal(self, X: Any) -> Vector:
        return np.diagonal(np.asarray(X)).copy()


def _require_kernel(owner: str, name: str, value: object) -> None:
    if not isinstance(value, Kernel):
        raise ParameterError(owner, name, "a kernel object", value)
    if isinstance(value, Precomputed):
        raise ParameterError(
            owner, name, "a kernel on samples; combine the matrices instead", value
        )


class ComposedKernel(Kernel):
    """A kernel made of others that take the same samples."""

    @property
    def parts(self) -> list[Kernel]:
        """The kernels that this one is made of."""
        return [part for part in self.get_params(deep=False).values() if isinstance(part, Kernel)]

    @property
    def takes(self) -> str:  # type: ignore[override]
        kinds = (part.takes for part in self.parts)  # each asked once: a sum may have many terms
        return next((kind for kind in kinds if kind != "objects"), "objects")

    def on_objects(self) -> Kernel:
        """The same of the parts."""
        params = self.get_params(deep=False).items()
        parts = {name: part.on_objects() for name, part in params if isinstance(part, Kernel)}
        return replace(self, **parts)  # type: ignore[type-var]

    @property
    def base(self) -> Any:
        first, *others = (part.base for part in self.parts)
        return first if all(other == first for other in others) else None

    @property
    def from_products(self) -> bool:
        same_base = all(part.base == self.parts[0].base for part in self.parts)
        return same_base and all(part.from_products for part in self.parts)

    @property
    def translation_invariant(self) -> bool:
        return all(part.translation_invariant for part in self.parts)

    @property
    def positive_semidefinite(self) -> bool:
        return all(part.positive_semidefinite for part in self.parts)


@dataclass(frozen=True)
class _Pair(ComposedKernel):
    combine: ClassVar[Callable[..., Any]]  # values of the pair from those of both
    combine_in_place: ClassVar[Callable[..., Any]]
    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _require_kernel(type(self).__name__, "left", self.left)
        _require_kernel(type(self).__name__, "right", self.right)
        if self.left.takes != self.right.takes:  # a function may take what the other one takes
            object.__setattr__(self, "left", self.left.on_objects())
            object.__setattr__(self, "right", self.right.on_objects())
        kinds = {self.left.takes, self.right.takes}
        if len(kinds) > 1 and ("vectors" in kinds or "objects" not in kinds):
            must_be = f"a kernel on {self.left.takes}, as the left one is"
            raise ParameterError(type(self).__name__, "right", must_be, self.right)

    def block(self, X: Any, Z: Any) -> Any:
        return self.combine(self.left.block(X, Z), self.right.block(X, Z))

    def diagonal(self, X: Any) -> Any:
        return self.combine(self.left.diagonal(X), self.right.diagonal(X))

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        other = P * 1  # a copy of arrays and of tensors alike
        self.left.apply(P, sx, sz)
        self.right.apply(other, sx, sz)
        self.combine_in_place(P, other)

    def self_values(self, s: Vector) -> Any:
        return self.combine(self.left.self_values(s), self.right.self_values(s))

    def scale(self, s: float) -> float:
        return float(self.combine(self.left.scale(s), self.right.scale(s)))


@dataclass(frozen=True)
class Sum(_Pair):
    """k(x, z) = left(x, z) + right(x, z): the feature spaces side by side.

    Parameters
    ----------
    left, right
        The two kernels; samples of both are of the same type.

    Examples
    --------
    >>> from separatrix.kernels import Linear
    >>> (Linear() + Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[12.]])
    """

    combine = staticmethod(operator.add)
    combine_in_place = staticmethod(operator.iadd)

    def error(self, s: float, eps: float) -> float:
        return self.left.error(s, eps) + self.right.error(s, eps) + eps * self.scale(s)

    def resolution(self, s: float) -> float:
        return min(self.left.resolution(s), self.right.resolution(s))


@dataclass(frozen=True)
class Product(_Pair):
    """k(x, z) = left(x, z) * right(x, z): all products of one feature of each.

    Parameters
    ----------
    left, right
        The two kernels; samples of both are of the same type.

    Examples
    --------
    >>> from separatrix.kernels import Linear
    >>> (Linear() * Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[36.]])
    """

    combine = staticmethod(operator.mul)
    combine_in_place = staticmethod(operator.imul)

    def error(self, s: float, eps: float) -> float:
        left, right = self.left, self.right
        return left.error(s, eps) * right.scale(s) + right.error(s, eps) * left.scale(s)

    def resolution(self, s: float) -> float:
        return self.left.resolution(s) * self.right.resolution(s)


@dataclass(frozen=True)
class KernelWrapper(ComposedKernel):
    """A kernel made of another one."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _require_kernel(type(self).__name__, "kernel", self.kernel)


@dataclass(frozen=True)
class Scaled(KernelWrapper):
    """k(x, z) = factor * kernel(x, z).

    Parameters
    ----------
    kernel
        A kernel object.
    factor
        A number, at least 0.

    Examples
    --------
    >>> from separatrix.kernels import Linear
    >>> (2.0 * Linear()).block(np.array([[2.0]]), np.array([[3.0]]))
    array([[12.]])
    """

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        require_real("Scaled", "factor", self.factor, above=0)

    def block(self, X: Any, Z: Any) -> Matrix:
        return self.kernel.block(X, Z) * self.factor

    def diagonal(self, X: Any) -> Vector:
        return self.kernel.diagonal(X) * self.factor

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        self.kernel.apply(P, sx, sz)
        P *= self.factor

    def self_values(self, s: Vector) -> Vector:
        return self.kernel.self_values(s) * self.factor

    def scale(self, s: float) -> float:
        return self.kernel.scale(s) * self.factor

    def error(self, s: float, eps: float) -> float:
        return self.kernel.error(s, eps) * self.factor

    def resolution(self, s: float) -> float:
        return self.kernel.resolution(s) * self.factor


def device_kernel_refusal(kernel: Any) -> str | None:
    """Why the matrix of a kernel cannot be computed on a GPU, or None."""
    if isinstance(kernel, Precomputed) or getattr(kernel, "absolute_distances", False):
        return None
    if isinstance(kernel, Kernel) and (not kernel.from_products or kernel.base is not None):
        return f"{kernel!r}, which is not a function of inner products of vectors"
    return None
