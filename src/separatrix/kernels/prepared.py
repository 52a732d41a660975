"""Samples prepared for inner products: centred if the kernel allows it, in the precision it needs.

float32 products are faster and take half the memory, and must never be silently wrong. So the kernel
first bounds its own error from the largest norm, after centring for kernels that depend on
differences only; above a tenth of the tolerance the products are float64. They are float64 for small
matrices too, where it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, PrecisionWarning
from separatrix.kernels.base import Kernel
from separatrix.kernels.products import few_meet, mirror, products_by_column
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Matrix, Vector

TOLERANCE = 1e-3
LARGEST_FLOAT32, SMALLEST_FLOAT32 = 1e37, 1e-30  # a scale beyond these leaves float32's range
DENSE_BELOW = 32  # a stored value of a sparse product costs as much as this many dense ones
SMALL = 2**22  # values of a kernel matrix up to which float64 costs next to nothing
ROWS_AT_ONCE = 1024  # rows that stay in cache while they are prepared
WORTH_THREADS = 2**20  # values of X that take longer than starting threads
LARGEST_SPREAD = 2**28  # bytes of sparse samples made dense
WARN_ABOVE = 1e-9  # errors of float64 values up to this are never worth a warning
MOSTLY_USED = 0.95  # dropping empty columns pays below this share of columns in use
PRODUCT_ROWS = 1024  # rows of one matrix product: wide enough for BLAS, short enough to interrupt


class Prepared(Protocol):
    """Samples of any kind, prepared for products in the feature space of a kernel."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        ...

    @property
    def squares(self) -> Vector:
        """Product of each sample with itself, (n,)."""
        ...

    def __len__(self) -> int: ...

    def take(self, rows: Any) -> Self:
        """Some of the samples."""
        ...

    def products(self, other: Self, out: Matrix | None = None) -> Matrix:
        """Products of all pairs, (n, m)."""
        ...

    def own_products(self, threads: int | None = None) -> Matrix:
        """Products of all pairs among themselves, (n, n); half of them are computed."""
        ...


@dataclass(frozen=True)
class Vectors:
    """Prepared samples, and how to prepare others the same way."""

    X: Any  # shape: (n, used); dense or CSR
    squares: Vector  # shape: (n,); squared norms over all features
    centre: Vector | None  # shape: (d,); subtracted from every sample
    used: Codes | None  # features that are not all 0; None for all

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.X.dtype
        return kind

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Codes | slice) -> Vectors:
        return replace(self, X=self.X[rows], squares=self.squares[rows])

    def like(self, Z: Any) -> Vectors:
        Z = _convert(Z, self.dtype, self.centre)
        squares = squared_norms(Z).astype(self.dtype)
        if self.used is not None:
            Z = Z[:, self.used] if issparse(Z) else np.ascontiguousarray(Z[:, self.used])
        if issparse(Z) and not issparse(self.X):
            Z = Z.toarray()
        return Vectors(Z, squares, self.centre, self.used)

    def products(self, other: Vectors, out: Matrix | None = None) -> Matrix:
        if not issparse(self.X):
            dense = other.X.toarray() if issparse(other.X) else other.X
            return np.matmul(self.X, dense.T, out=out)
        if issparse(other.X) and few_meet(self.X, other.X):
            return products_by_column(self.X, other.X, out)
        # sparse times dense is scipy's fast path; the smaller set is made dense
        if 8 * min(len(self), len(other)) * self.X.shape[1] > LARGEST_SPREAD:
            P = np.asarray((self.X @ other.X.T).toarray())
        elif len(self) <= len(other):
            P = np.ascontiguousarray((other.X @ self.X.toarray().T).T)
        else:
            P = np.asarray(self.X @ other.X.toarray().T)
        if out is None:
            return P
        out[...] = P
        return out

    def own_products(self, threads: int | None = None) -> Matrix:
        n = len(self)
        P = np.empty((n, n), self.dtype)
        for rows in row_blocks(n, PRODUCT_ROWS):
            rest = slice(rows.start, n)
            self.take(rows).products(self.take(rest), out=P[rows, rest])
        in_threads(
            lambda rows: mirror(P, rows),
            row_blocks(n, 256),
            threads=threads or thread_count(),
        )
        return P


def are_dense(*samples: Prepared) -> bool:
    """Whether all are dense vectors, whose products are those of matrices."""
    return all(isinstance(part, Vectors) and not issparse(part.X) for part in samples)


def prepare(
    kernel: Kernel,
    X: Any,
    *others: Any,
    tolerance: float = TOLERANCE,
    budget: int = LARGEST_SPREAD,
    order: Codes | None = None,
    dtype: np.dtype[Any] | None = None,
) -> Vectors:
    """X, in an order of its rows, prepared for products with itself and with others.

    In `dtype` if that is precise enough; by default float32 is tried for many products only.
    """
    if not X.shape[0]:
        raise DataError("a kernel matrix needs at least one sample; got 0")
    if issparse(X):
        X = X.tocsr()
        stored = X.nnz / X.shape[0]
        if X.shape[1] <= DENSE_BELOW * stored and 8 * X.shape[0] * X.shape[1] <= budget // 2:
            X = X.toarray()
        elif order is not None:
            X, order = X[order], None
    centre, used = _columns(X, centred=kernel.translation_invariant)
    n = X.shape[0] if order is None else len(order)
    values = n * max([n, *(part.shape[0] for part in others)])
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    if dtype is None:
        dtype = single if values > SMALL else double
    ready, squares = _convert_rows(X, dtype, centre, used, order)
    all_squares = np.concatenate([squares, *(_squares(part, centre) for part in others)])
    wanted = precision(kernel, all_squares, tolerance, can_be_float32=dtype == single)
    if wanted != dtype:
        ready, squares = _convert_rows(X, wanted, centre, used, order)
    return Vectors(ready, squares.astype(wanted), centre, used)


def _columns(X: Any, *, centred: bool) -> tuple[Vector | None, Codes | None]:
    """The mean if samples are centred, and the features in use; None for all of them.

    A feature is not in use if it is 0 in all samples, or constant and centred.
    """
    if issparse(X):
        return None, None
    first = X[0] if centred else np.zeros(1, X.dtype)

    def summarize(rows: slice) -> tuple[Any, Any]:
        part = X[rows]
        return part.sum(axis=0, dtype=np.float64), (part != first).any(axis=0)

    sums, seen = zip(*_over_rows(summarize, X), strict=True)
    in_use = np.flatnonzero(np.any(seen, axis=0))
    used = in_use if len(in_use) < MOSTLY_USED * X.shape[1] else None
    return (np.sum(sums, axis=0) / X.shape[0] if centred else None), used


def _convert_rows(
    X: Any,
    dtype: np.dtype[Any],
    centre: Vector | None,
    used: Codes | None,
    order: Codes | None,
) -> tuple[Any, Vector]:
    """Samples in the precision of products, and their squared norms in float64."""
    if issparse(X):
        ready = _convert(X, dtype, centre)
        return ready, squared_norms(ready)
    columns: Any = slice(None) if used is None else used
    n = X.shape[0] if order is None else len(order)
    ready = np.empty((n, X.shape[1] if used is None else len(used)), dtype)
    squares = np.empty(n)

    def fill(rows: slice) -> None:
        part = X[rows if order is None else order[rows]][:, columns]
        if centre is None:
            ready[rows] = part
        else:  # the difference itself is float64
            np.subtract(part, centre[columns], out=ready[rows], casting="same_kind")
        squares[rows] = squared_norms(ready[rows])

    _over_rows(fill, ready)
    return ready, squares


def _over_rows(function: Callable[[slice], Any], X: Any) -> list[Any]:
    """Call a function on blocks of the rows of X, on all threads if it is large."""
    threads = thread_count() if X.size > WORTH_THREADS else 1
    return in_threads(function, row_blocks(X.shape[0], ROWS_AT_ONCE), threads=threads)


def _convert(X: Any, dtype: np.dtype[Any], centre: Vector | None) -> Any:
    if issparse(X):
        if centre is None:
            return X.tocsr().astype(dtype)
        X = X.toarray()
    if centre is None:
        return np.ascontiguousarray(X, dtype=dtype)
    centred = np.empty(X.shape, dtype)
    np.subtract(X, centre, out=centred, casting="same_kind")  # the difference itself is float64
    return centred


def _squares(X: Any, centre: Vector | None) -> Vector:
    """|x - centre|^2 of every row, without a centred copy of them all."""
    if centre is None:
        return squared_norms(X)
    blocks = (X[rows] for rows in row_blocks(X.shape[0], 1024))
    return np.concatenate(
        [squared_norms((part.toarray() if issparse(part) else part) - centre) for part in blocks]
        or [np.zeros(0)]
    )


def precision(
    kernel: Kernel, squares: Vector, tolerance: float, *, can_be_float32: bool
) -> np.dtype[Any]:
    """float32 if its range and its error bound allow it, else float64."""
    s = float(squares.max(initial=0.0))
    least = float(squares.min(initial=s, where=squares > 0))
    scale, resolution = kernel.scale(s), kernel.resolution(s)
    wanted = tolerance / 10

    def off(dtype: type[np.floating[Any]]) -> float:
        return kernel.error(s, float(np.finfo(dtype).eps)) / resolution if resolution else 0.0

    in_range = max(scale, s) < LARGEST_FLOAT32 and min(kernel.scale(least), s) > SMALLEST_FLOAT32
    if can_be_float32 and (in_range or s == 0) and off(np.float32) <= wanted:
        return np.dtype(np.float32)
    if not np.isfinite(scale):
        raise DataError(
            f"{kernel!r} overflows: samples of squared norm {s:.3g} give values beyond float64. "
            "Scale the features (for example to [0, 1]) or lower the degree"
        )
    if off(np.float64) > max(wanted, WARN_ABOVE):
        warn_user(
            f"{kernel!r} of samples with squared norm {s:.3g} may be off by {off(np.float64):.1g}, "
            f"more than the {wanted:.1g} wanted; scale the features to a common size",
            PrecisionWarning,
        )
    return np.dtype(np.float64)
