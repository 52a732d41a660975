"""The samples of a linear kernel: columns whose products are the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from separatrix.kernels.base import Kernel
from separatrix.kernels.vector_kernels import CentredLinear, Linear
from separatrix.types import Codes, Matrix

MOST_DENSE = 2**24  # values of sparse samples that may be made dense


@dataclass(frozen=True)
class LinearColumns:
    """Samples in the order of a Gram, in float64 where they are taken."""

    X: Any  # shape: (n, d); dense or sparse
    order: Codes | None
    centre: Any = 0.0  # shape: (d,); subtracted from every sample

    @classmethod
    def of(cls, kernel: Kernel, X: Any, order: Codes | None) -> Self | None:
        """The columns of a kernel matrix; None of other kernels, and of too many sparse values."""
        if issparse(X) and X.shape[0] * X.shape[1] > MOST_DENSE:
            return None
        if type(kernel) is CentredLinear and not issparse(X):
            return cls(X, order, X.mean(axis=0, dtype=np.float64))
        return cls(X, order) if type(kernel) is Linear else None

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def take(self, rows: Codes) -> Matrix:
        """Some rows, (rows, d)."""
        chosen = self.X[rows if self.order is None else self.order[rows]]
        dense = chosen.toarray() if issparse(chosen) else chosen
        return np.asarray(np.subtract(dense, self.centre, dtype=np.float64))
