"""Kernel values that the fits of one dragged slider share.

A slider that leaves the kernel as it is, such as C, needs no value twice. The values are float32 where the
kernel's own bound of its error allows it: of two features the exponentials are most of the work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.build import gram_of, make_gram
from separatrix.kernels.gram.sources import ProductSource
from separatrix.kernels.prepared import prepare
from separatrix.types import Codes, Gram

MEMORY = 2**26  # bytes of kernel values that are kept


class _Made(NamedTuple):
    """A kernel matrix, and what it is of."""

    gram: Gram
    kernel: Kernel
    X: Any
    order: Codes
    tolerance: float


class KernelValuesCache:
    """Makes the kernel matrix of an SVM, or gives the last one again."""

    def __init__(self) -> None:
        self._last: _Made | None = None

    def make(
        self, kernel: Kernel, X: Any, *, order: Codes, tolerance: float, **options: Any
    ) -> Gram:
        """The kernel matrix of X by rows; the arguments are those of `make_gram`."""
        if (last := self._last) is not None and (
            last.kernel == kernel
            and last.tolerance == tolerance
            and np.array_equal(last.order, order)
            and np.array_equal(last.X, X)
        ):
            return last.gram
        if not kernel.from_products or kernel.base is not None:
            return make_gram(kernel, X, order=order, tolerance=tolerance, **options)
        single = np.dtype(np.float32)
        vectors = prepare(kernel, X, order=order, tolerance=tolerance, dtype=single)
        source = ProductSource(kernel, vectors, options["threads"])
        gram = gram_of(source, MEMORY, options["segments"], hold=False)
        self._last = _Made(gram, kernel, X, order, tolerance)
        return gram
