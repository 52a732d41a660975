"""Kernels whose non-negative combination is to be learned, and the alignment of a kernel with labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.base import Kernel
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_flag


@dataclass(frozen=True)
class Combination:
    """Kernels, or names of kernels, of which `SVCCV` learns a sum with weights of at least 0.

    Parameters
    ----------
    kernels
        At least one kernel object or name.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian, Linear
    >>> Combination([Linear(), Gaussian(0.5)])
    Combination(kernels=(Linear(), Gaussian(gamma=0.5)))
    """

    kernels: Any

    def __post_init__(self) -> None:
        must_be = "a list of at least one kernel"
        if isinstance(self.kernels, str | Kernel) or not isinstance(self.kernels, Iterable):
            raise ParameterError("Combination", "kernels", must_be, self.kernels)
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.kernels:
            raise ParameterError("Combination", "kernels", must_be, self.kernels)

    def __iter__(self) -> Any:
        return iter(self.kernels)

    def __sklearn_clone__(self) -> Self:
        return self  # immutable, as kernels are


def weighted_sum(kernels: Iterable[Kernel], factors: Vector) -> Kernel:
    """The sum of kernels times their factors, those of factor 0 left out.

    >>> from separatrix.kernels import Gaussian, Linear
    >>> weighted_sum([Linear(), Gaussian(0.5), Gaussian(2.0)], np.array([0.25, 0.0, 1.0]))
    Sum(left=Scaled(kernel=Linear(), factor=0.25), right=Scaled(kernel=Gaussian(gamma=2.0), factor=1.0))
    """
    parts = [
        factor * kernel
        for factor, kernel in zip(factors.tolist(), kernels, strict=True)
        if factor > 0
    ]
    combined: Kernel = reduce(add, parts)
    return combined


def kernel_alignment(K: Matrix, y: Any, *, centered: bool = False) -> float:
    """The cosine between a kernel matrix and the ideal one of the labels, from -1 to 1.

    The ideal kernel is 1 for two samples of one class and -1 / (k - 1) for samples of different ones; of
    two classes it is y y'. The higher the alignment, the better the kernel separates the classes,
    before any training. `centered` subtracts the mean in the feature space first, which makes kernels
    with a large constant part comparable.

    Parameters
    ----------
    K
        Kernel matrix, (n, n).
    y
        Labels, (n,), of at least two classes.
    centered
        Whether both matrices are centred.

    Examples
    --------
    >>> y = np.array([1, 1, -1, -1])
    >>> round(kernel_alignment(np.outer(y, y), y), 12), round(kernel_alignment(np.ones((4, 4)), y), 12)
    (1.0, 0.0)

    References
    ----------
    Cristianini, Shawe-Taylor, Elisseeff and Kandola, On Kernel-Target Alignment, NIPS 2001. Cortes, Mohri
    and Rostamizadeh, Algorithms for Learning Kernels Based on Centered Alignment, JMLR 13 (2012).
    """
    require_flag("kernel_alignment", "centered", centered)
    K = symmetric_matrix(K)
    labels = np.asarray(y)
    if labels.shape != (len(K),):
        raise DataError(
            f"y must have a label for each of the {len(K)} rows of K; got {labels.shape}"
        )
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError("kernel_alignment needs labels of at least 2 classes; got one")
    if centered:
        means = K.mean(axis=0)
        K = K - means - means[:, None] + means.mean()
    length = float(np.linalg.norm(K))
    if length == 0:
        raise DataError("K is 0 for all pairs of samples, so it has no direction to compare")
    product, square = _with_ideal(K, codes, len(classes), centered)
    return product / (length * math.sqrt(square))


def _with_ideal(K: Matrix, codes: Codes, k: int, centered: bool) -> tuple[float, float]:
    """Inner product of K with the ideal kernel, and its squared length; the ideal one is never made.

    It is k / (k - 1) times the indicator of equal classes, minus 1 / (k - 1).
    """
    n, counts = len(K), np.bincount(codes, minlength=k).astype(np.float64)
    sums = np.zeros((k, n))
    np.add.at(sums, codes, K)
    within = float(sum(sums[c, codes == c].sum() for c in range(k)))
    scale, rest = k / (k - 1), 1 / (k - 1)
    if not centered:
        product = scale * within - rest * float(K.sum())
        square = (
            scale**2 * (counts**2).sum() - 2 * scale * rest * (counts**2).sum() + rest**2 * n**2
        )
        return product, float(square)
    # of the centred indicator: constants vanish, and K is centred already
    shares = counts / n
    square = (counts**2).sum() - 2 * n * (counts * shares**2).sum() + n**2 * (shares**2).sum() ** 2
    return scale * within, float(scale**2 * square)
