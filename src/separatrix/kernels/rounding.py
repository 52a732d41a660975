"""How far computed kernel values can be from those of exact arithmetic on the samples as given.

Inner products of d features are off by at most (d + 2) u |x| |z|, u half the spacing of 1, in whatever
order they are added. All bounds of positive semidefinite kernels are shares of the root of
k(x, x) k(z, z); a few more u pay for conversions and for the functions of the products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels.base import Kernel, Precomputed, Product, Sum
from separatrix.kernels.callables import callables_in
from separatrix.kernels.composed import Normalized, inside
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Polynomial, squared_norms
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import is_tensor

FUNCTIONS = 8  # roundings of a kernel's own function, and of the conversion of samples
OBJECT_TERMS = 2.0**14  # of a product of two objects, about
BLOCKS = 4.0  # times larger can be |x|^2 about the mean of some samples than about that of all
ROWS_AT_ONCE = 4096
FIRST_ORDER = 0.1  # errors up to this share are nearly those of a linear function


def counts_as_exact(kernel: Kernel) -> bool:
    """Whether the values are the user's own: given, or of a function."""
    return isinstance(kernel, Precomputed) or bool(callables_in(kernel))


def relative_error(kernel: Kernel, X: Any, dtype: np.dtype[Any]) -> float:
    """Upper bound of the error of values among samples X, as a share of the root of k(x, x) k(z, z).

    Of kernels that are not positive semidefinite, as a share of the largest |k|. 0 where the values are
    the user's own.

    >>> from separatrix.kernels import Linear
    >>> relative_error(Linear(), np.eye(3), np.dtype(np.float32)) < 1e-6
    True
    """
    if counts_as_exact(kernel):
        return 0.0
    unit = float(np.finfo(dtype).eps) / 2
    if kernel.takes != "vectors":
        return _share(kernel, 0.0, OBJECT_TERMS * unit)
    eps = (X.shape[1] + FUNCTIONS) * unit
    s = largest_square(kernel, X)
    if not kernel.positive_semidefinite:
        scale = kernel.scale(s)
        return kernel.error(s, eps) / scale + FUNCTIONS * unit if scale > 0 else 0.0
    share = _share(kernel, s if kernel.from_products else BLOCKS * s, eps)
    return share if share <= FIRST_ORDER else np.inf


def largest_square(kernel: Kernel, X: Any) -> float:
    """Largest |x|^2 of the samples, about their mean if only differences matter."""
    sparse = hasattr(X, "indptr") or hasattr(X, "tocsr")
    centre: Any = 0.0
    if _depends_on_differences(kernel) and not sparse:
        centre = sum(_double(X[rows]).sum(0) for rows in row_blocks(len(X), ROWS_AT_ONCE)) / len(X)
    squares = (
        squared_norms(part) if sparse else ((_double(part) - centre) ** 2).sum(1)
        for part in (X[rows] for rows in row_blocks(X.shape[0], ROWS_AT_ONCE))
    )
    return max(float(part.max()) for part in squares)


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
        return _share(kernel.left, s, eps) + _share(kernel.right, s, eps) + eps
    if inside(kernel) is not kernel:
        factor = 2.0 if isinstance(kernel, Normalized) else 1.0
        return factor * _share(kernel.kernel, s, eps) + eps  # type: ignore[attr-defined]
    if isinstance(kernel, Polynomial):
        return kernel.degree * eps
    if isinstance(kernel, Gaussian):
        return min(1.0, kernel.error(s, eps)) + eps
    return eps  # linear, Laplacian, and kernels on objects
