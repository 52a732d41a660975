"""How far computed kernel values can be from those of exact arithmetic on the samples as given.

Inner products of d features are off by at most (d + 2) u |x| |z|, u half the spacing of 1, in whatever
order they are added. All bounds of positive semidefinite kernels are shares of the root of
k(x, x) k(z, z); a few more u pay for conversions and for the functions of the products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.kernels.base import ComposedKernel, Kernel, Product, Sum
from separatrix.kernels.composed import Normalized, inside
from separatrix.kernels.object_kernels import ObjectKernel
from separatrix.kernels.vector_kernels import (
    CentredLinear,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    squared_norms,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.types import Vector

BOUNDED = (Linear, CentredLinear, Polynomial, Gaussian, Sigmoid, Laplacian)
FUNCTIONS = 8  # roundings of a kernel's own function, and of the conversion of samples
OBJECT_TERMS = 2.0**14  # of a product of two objects, about
BLOCKS = 4.0  # times larger can be |x|^2 about the mean of some samples than about that of all
ROWS_AT_ONCE = 4096
FIRST_ORDER = 0.1  # errors up to this share are nearly those of a linear function


def counts_as_exact(kernel: Kernel) -> bool:
    """Whether some values are the user's own: given, or of a function or a class of theirs."""
    if isinstance(kernel, ComposedKernel):
        return any(counts_as_exact(part) for part in kernel.parts)
    return type(kernel) not in BOUNDED and not isinstance(kernel, ObjectKernel)


class ValueErrors(NamedTuple):
    """Bounds of the errors of kernel values k(x_i, x_j) of n samples.

    share root_i root_j + slope (square_i + square_j), with at least the roots of k(x_i, x_i); of kernels
    that are not positive semidefinite, the roots of the largest |k|.
    """

    share: float
    slope: float
    squares: Vector  # shape: (n,); |x|^2, about the mean if only differences matter

    @classmethod
    def of(cls, kernel: Kernel, X: Any, dtype: np.dtype[Any]) -> ValueErrors:
        """Those of values among samples X with products in some precision.

        >>> from separatrix.kernels import Linear
        >>> ValueErrors.of(Linear(), np.eye(3), np.dtype(np.float32)).share < 1e-6
        True
        """
        unit = float(np.finfo(dtype).eps) / 2
        squares = np.zeros(X.shape[0])
        if counts_as_exact(kernel):
            return cls(0.0, 0.0, squares)
        if kernel.takes != "vectors":
            return cls(_share(kernel, 0.0, OBJECT_TERMS * unit), 0.0, squares)
        with np.errstate(over="ignore"):
            squares, d = squares_of(kernel, X), X.shape[1]
        s, eps = float(squares.max()), _first_order((d + FUNCTIONS) * unit)
        if not kernel.positive_semidefinite:
            scale = kernel.scale(s)
            share = kernel.error(s, eps) / scale if scale > 0 else 0.0
            return cls(share + FUNCTIONS * unit, 0.0, squares)
        if isinstance(kernel, Gaussian):
            slope = (1.0 + 2.0 * FIRST_ORDER) * kernel.gamma * (d + 2 * FUNCTIONS) * unit
            if 2.0 * slope * s <= FIRST_ORDER:
                return cls(FUNCTIONS * unit, slope, squares)
        share = _share(kernel, s if kernel.from_products else BLOCKS * s, eps)
        return cls(share, 0.0, squares)

    @classmethod
    def of_differences(cls, X: Any) -> ValueErrors:
        """Those of Gaussian values exp(-t) of differences in float64, each t known to within (d + 4) u t.

        As t exp(-t) is at most 1 / e, neither the size of the samples nor gamma matters.
        """
        unit = float(np.finfo(np.float64).eps) / 2
        return cls((X.shape[1] + FUNCTIONS) * unit, 0.0, np.zeros(X.shape[0]))

    @property
    def largest(self) -> float:
        """The largest error of a value where all k(x, x) are 1."""
        return self.share + 2.0 * self.slope * float(self.squares.max(initial=0.0))


def squares_of(kernel: Kernel, X: Any) -> Vector:
    """|x|^2 of the samples, (n,), about their mean if only differences matter."""
    if issparse(X) or hasattr(X, "indptr"):
        return np.concatenate(
            [squared_norms(X[rows]) for rows in row_blocks(X.shape[0], ROWS_AT_ONCE)]
        )
    centre: Any = 0.0
    blocks = list(row_blocks(X.shape[0], ROWS_AT_ONCE))
    if _depends_on_differences(kernel):
        centre = sum(_double(X[rows]).sum(0) for rows in blocks) / len(X)
    return np.concatenate([as_numpy(((_double(X[rows]) - centre) ** 2).sum(1)) for rows in blocks])


def _double(X: Any) -> Any:
    return X.double() if is_tensor(X) else X.astype(np.float64)


def _depends_on_differences(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum | Product):
        return _depends_on_differences(kernel.left) and _depends_on_differences(kernel.right)
    return inside(kernel).translation_invariant or isinstance(inside(kernel), Laplacian)


def _share(kernel: Kernel, s: float, eps: float) -> float:
    """The bound, if products are off by eps |x| |z| and |x|^2 is at most s."""
    if isinstance(kernel, Sum):
        return max(_share(kernel.left, s, eps), _share(kernel.right, s, eps)) + eps
    if isinstance(kernel, Product):
        left, right = _share(kernel.left, s, eps), _share(kernel.right, s, eps)
        return left + right + left * right + eps
    if isinstance(kernel, Normalized):
        return _first_order(2.0 * _share(kernel.kernel, s, eps)) + eps
    if inside(kernel) is not kernel:
        return _share(kernel.kernel, s, eps) + eps  # type: ignore[attr-defined]
    if isinstance(kernel, Polynomial):
        return _first_order(kernel.degree * eps)
    if isinstance(kernel, Gaussian):  # values between 0 and 1, and steeper than 1 nowhere
        return min(1.0, kernel.error(s, eps)) + eps
    return eps  # linear, Laplacian, and kernels on objects


def _first_order(share: float) -> float:
    """Infinite where errors are too large to be nearly those of a linear function."""
    return share if share <= FIRST_ORDER else np.inf
