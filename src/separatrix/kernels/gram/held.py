"""The kernel matrix in memory."""

from __future__ import annotations

import numpy as np

from separatrix.kernels.gram.columns import LinearColumns
from separatrix.runtime.blocks import in_words, row_blocks
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Codes, Matrix, Vector


class HeldGram:
    """A kernel matrix whose values are all in memory.

    >>> HeldGram(np.eye(3))
    HeldGram(3 x 3, float64, 72 bytes)
    """

    columns: LinearColumns | None = None  # samples of a linear kernel

    def __init__(
        self,
        matrix: Matrix,  # shape: (n, n)
        *,
        diagonal: Vector | None = None,
        segments: tuple[slice, ...] | None = None,
        error: float = 0.0,
    ) -> None:
        n = len(matrix)
        self.matrix, self._diagonal, self.error = matrix, diagonal, error
        self.shape, self.dtype = (n, n), matrix.dtype
        self.segments = segments or (slice(0, n),)

    def diagonal(self) -> Vector:
        return np.diagonal(self.matrix).copy() if self._diagonal is None else self._diagonal

    def tile(self, rows: Codes | slice, columns: Codes | slice) -> Matrix:
        if isinstance(rows, slice) or isinstance(columns, slice):
            return self.matrix[rows, columns]
        return self.matrix[np.ix_(rows, columns)]

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        return self.matrix[:, self.segments[segment]], index

    def __repr__(self) -> str:
        n, m = self.shape
        return f"HeldGram({n} x {m}, {self.dtype}, {in_words(self.matrix.nbytes)})"


def reorder(K: Matrix, order: Codes) -> Matrix:
    """Rows and columns of a square matrix in another order, or some of them."""
    out = np.empty((len(order), len(order)), K.dtype)

    def strip(rows: slice) -> None:
        out[rows] = K[order[rows]][:, order]

    in_threads(strip, row_blocks(len(order), 256), threads=thread_count())
    return out
