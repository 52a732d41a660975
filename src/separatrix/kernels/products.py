"""Inner products of sparse rows by column, and the mirror of a symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Codes, Matrix, Vector

SCATTERED = 3  # a product by column costs as much as this many in a row
MIRRORED = 256  # columns that are copied at a time: their rows stay in cache
WORTH_THREADS = 2**20  # values that take longer than starting threads


def few_meet(X: Any, Z: Any) -> bool:
    """Whether few pairs of stored values share a column, so that products by column are faster."""
    d = X.shape[1]
    in_x, in_z = (np.bincount(part.indices, minlength=d) for part in (X, Z))
    return bool(SCATTERED * float(in_x @ in_z.astype(np.float64)) < float(X.nnz) * Z.shape[0])


def products_by_column(X: Any, Z: Any, out: Matrix | None) -> Matrix:
    """x . z for sparse rows, (n, m): each value of x is multiplied with those of its column of Z only."""
    columns = Z.tocsc()
    P = np.empty((X.shape[0], Z.shape[0]), X.dtype) if out is None else out

    def fill(rows: slice) -> None:
        _add_products(
            X.indptr,
            X.indices,
            X.data,
            columns.indptr,
            columns.indices,
            columns.data,
            P,
            rows.start,
            rows.stop,
        )

    threads = thread_count() if P.size > WORTH_THREADS else 1
    in_threads(fill, row_blocks(X.shape[0], 128), threads=threads)
    return P


@njit(cache=True, nogil=True)
def _add_products(
    starts: Codes,
    features: Codes,
    values: Vector,
    tops: Codes,
    rows: Codes,
    others: Vector,
    P: Matrix,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        row = P[i]
        row[:] = 0
        for at in range(starts[i], starts[i + 1]):
            value, feature = values[at], features[at]
            for below in range(tops[feature], tops[feature + 1]):
                row[rows[below]] += value * others[below]


def mirror(P: Matrix, rows: slice) -> None:
    """Copy some rows of the lower half from the upper."""
    for columns in row_blocks(rows.stop, MIRRORED):
        P[rows, columns] = P[columns, rows].T
