"""Compiled tiles of a kernel matrix of dense vectors: products, values and their storing in one call.

A call does not hold the interpreter lock, so threads that fill tiles do not wait for each other.
"""

from __future__ import annotations

from separatrix.jit import njit
from separatrix.kernels.epilogues import Epilogue, kernel_block
from separatrix.types import Codes, Matrix, Vector


@njit(cache=True, nogil=True)
def gather_rows(
    X: Matrix, squares: Vector, rows: Codes, scratch: Vector, start: int
) -> tuple[Matrix, Vector, int]:
    """Copies of some rows and of their squares, in scratch memory from `start` on; and where they end."""
    n, d = len(rows), X.shape[1]
    middle, end = start + n * d, start + n * d + n
    A, own = scratch[start:middle].reshape(n, d), scratch[middle:end]
    for i in range(n):
        row, to = X[rows[i]], A[i]
        for j in range(d):  # an assignment of slices takes a second longer to compile
            to[j] = row[j]
        own[i] = squares[rows[i]]
    return A, own, end


@njit(cache=True, nogil=True)
def fill_tile(
    X: Matrix, sx: Vector, rows: Codes, Z: Matrix, sz: Vector, start: int, stop: int,
    epilogue: Epilogue, scratch: Vector, K: Matrix, into: Codes,
) -> None:  # fmt: skip
    """Write kernel values of some rows of X with rows `start` to `stop` of Z into K[into, start:stop].

    `scratch` is for (len(rows), stop - start + d + 1); the values come first in it.
    """
    n, m = len(rows), stop - start
    P = scratch[: n * m].reshape(n, m)
    A, own, _ = gather_rows(X, sx, rows, scratch, n * m)
    kernel_block(A, own, Z[start:stop], sz[start:stop], epilogue, P)
    for i in range(n):
        row, to = P[i], K[into[i], start:stop]
        for j in range(m):
            to[j] = row[j]


@njit(cache=True, nogil=True)
def kernel_values_among(
    X: Matrix, squares: Vector, rows: Codes, columns: Codes,
    epilogue: Epilogue, scratch: Vector, K: Matrix,
) -> None:  # fmt: skip
    """Write kernel values of some rows with some others into K, (n, m).

    `scratch` is for (len(rows) + len(columns), d + 1).
    """
    A, own, end = gather_rows(X, squares, rows, scratch, 0)
    B, others, _ = gather_rows(X, squares, columns, scratch, end)
    kernel_block(A, own, B, others, epilogue, K)
