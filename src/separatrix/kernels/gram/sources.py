"""Sources of kernel values: tiles of the kernel matrix, from inner products or a kernel's own `block`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from separatrix.kernels.base import Kernel
from separatrix.kernels.object_kernels import FeatureKernel, as_vectors
from separatrix.kernels.prepared import Prepared, are_dense, prepare
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_count, thread_scratch
from separatrix.types import Codes, Matrix, Vector

ROWS_AT_ONCE = 1024  # rows of one matrix product: wide enough for BLAS, short enough to interrupt
WORTH_THREADS = 2**20  # values of an epilogue that take longer than starting threads
LARGEST_TILE = 2**19  # values that one thread computes at a time: they stay in its cache
EPILOGUE_WORK = 32  # an epilogue of a value costs as much as this many multiply-adds
TILES, TILE_WORK = 64, 2**25  # tiles that share a product, of at least so many multiply-adds
STRIP_BYTES = 2**20  # of one epilogue call: stays in a core's second-level cache


class KernelTile(NamedTuple):
    """Kernel values of some rows of X and some of Z, and where they go."""

    X: Any  # prepared vectors, as Z
    rows: Any  # a slice, or an index
    Z: Any
    columns: slice
    K: Matrix
    into: Any  # rows of K


class ProductSource:
    """Tiles of the kernel matrix of prepared samples: inner products, then the kernel's epilogue."""

    def __init__(self, kernel: Kernel, vectors: Any, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.vectors: Prepared = vectors
        self.n, self.dtype = len(vectors), vectors.dtype
        self._last: tuple[Any, Prepared] = (None, vectors)  # columns of the last tile

    def tile(
        self, rows: Codes | slice, columns: Codes | slice, out: Matrix | None = None
    ) -> Matrix:
        if isinstance(columns, slice):
            return self.between(self.vectors.take(rows), self.vectors.take(columns), out)
        last = self._last  # another thread may replace it meanwhile
        if not np.array_equal(last[0], columns):
            last = (columns.copy(), self.vectors.take(columns))
            self._last = last
        return self.between(self.vectors.take(rows), last[1], out)

    def between(self, X: Any, Z: Any, out: Matrix | None = None) -> Matrix:
        """Kernel values of two prepared sets."""
        if are_dense(X, Z):
            K: Matrix = np.empty((len(X), len(Z)), self.dtype) if out is None else out
            if K.size * X.X.shape[1] <= TILE_WORK and K.size <= LARGEST_TILE:
                np.matmul(X.X, Z.X.T, out=K)
                self.kernel.apply(K, X.squares, Z.squares)
                return K
            side = _tile_side(len(X), len(Z), X.X.shape[1])
            blocks = product(row_blocks(len(X), side), row_blocks(len(Z), 2 * side))
            self._fill([KernelTile(X, rows, Z, columns, K, rows) for rows, columns in blocks])
            return K
        P: Matrix = X.products(Z, out)
        self.apply(P, X.squares, Z.squares)
        return P

    def fill_rows(self, parts: list[tuple[Codes, slice, Matrix, Codes]]) -> None:
        """Compute rows of some columns into rows of matrices: all parts at once, on all threads.

        A part is the rows, the columns, a matrix of those columns, and its rows to fill.
        """
        X: Any = self.vectors
        tiles = []
        for rows, columns, K, slots in parts:
            if not are_dense(X):
                K[slots] = self.between(X.take(rows), X.take(columns))
                continue
            Z = X.take(columns)
            side = _tile_side(len(rows), len(Z), X.X.shape[1])
            for some, others in product(row_blocks(len(rows), side), row_blocks(len(Z), 2 * side)):
                own = slots[some]
                together = own[-1] - own[0] == len(own) - 1
                into = slice(own[0], own[-1] + 1) if together else own
                tiles.append(KernelTile(X, rows[some], Z, others, K, into))
        if tiles:
            self._fill(tiles)

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """Apply the kernel's epilogue to all of P, on all threads."""

        def strip(rows: slice) -> None:
            self.kernel.apply(P[rows], sx[rows], sz)

        threads = self.threads if P.size > WORTH_THREADS else 1
        in_threads(strip, strips(P), threads=threads)

    def matrix(self) -> Matrix:
        vectors: Any = self.vectors
        if are_dense(vectors):
            K = np.empty((self.n, self.n), self.dtype)
            blocks = list(row_blocks(self.n, _tile_side(self.n, self.n, vectors.X.shape[1])))
            upper = [
                KernelTile(vectors, rows, vectors, columns, K, rows)
                for rows in blocks
                for columns in blocks
                if rows.start <= columns.start
            ]
            self._fill(upper, symmetric=True)
            return K
        K = self.vectors.own_products(self.threads)
        self.apply(K, self.vectors.squares, self.vectors.squares)
        return K

    def _fill(self, tiles: list[KernelTile], *, symmetric: bool = False) -> None:
        """Fill tiles: products and epilogue of a tile while it is in cache, one tile per thread.

        The tiles do not depend on the number of threads, and nor does a bit of their values.
        """

        def fill(tile: KernelTile) -> None:
            X, rows, Z, columns, K, into = tile
            A = X.X[rows]
            if isinstance(rows, slice) and rows == columns:
                A = A.copy()  # NumPy's product of a matrix with itself is slower
            n, m = len(A), columns.stop - columns.start
            P = thread_scratch(n * m, self.dtype).reshape(n, m)
            np.matmul(A, Z.X[columns].T, out=P)
            self.kernel.apply(P, X.squares[rows], Z.squares[columns])
            K[into, columns] = P
            if symmetric and rows.start < columns.start:
                K[columns, rows] = P.T

        sizes = [(tile.columns.stop - tile.columns.start) * _count(tile.rows) for tile in tiles]
        work = sum(sizes) * (tiles[0].Z.X.shape[1] + EPILOGUE_WORK)
        threads = max(1, min(self.threads, work // TILE_WORK))
        with blas_on_one_thread() if len(tiles) > 1 else nullcontext():
            in_threads(fill, tiles, threads=threads)

    def diagonal(self) -> Vector:
        return np.asarray(self.kernel.self_values(self.vectors.squares.astype(np.float64)))

    @property
    def error(self) -> float:
        s = float(self.vectors.squares.max(initial=0.0))
        return float(self.kernel.error(s, float(np.finfo(self.dtype).eps)))


class BlockSource:
    """Tiles of the kernel matrix of any samples, by the kernel's own `block`."""

    error = 0.0  # the kernel's own

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        self.dtype = np.dtype(np.float64)

    def tile(
        self, rows: Codes | slice, columns: Codes | slice, out: Matrix | None = None
    ) -> Matrix:
        K = self.kernel.block(self.X[rows], self.X[columns])
        if out is None:
            return K
        out[...] = K
        return out

    def fill_rows(self, parts: list[tuple[Codes, slice, Matrix, Codes]]) -> None:
        for rows, columns, K, slots in parts:
            for some in row_blocks(len(rows), ROWS_AT_ONCE):
                K[slots[some]] = self.tile(rows[some], columns)

    def matrix(self) -> Matrix:
        K = np.empty((self.n, self.n), self.dtype)
        for rows in row_blocks(self.n, ROWS_AT_ONCE):
            self.tile(rows, slice(0, self.n), out=K[rows])
        return K

    def diagonal(self) -> Vector:
        return self.kernel.diagonal(self.X)


Source = ProductSource | BlockSource


def make_source(
    kernel: Kernel,
    X: Any,
    *,
    tolerance: float,
    budget: int,
    threads: int | None = None,
    order: Codes | None = None,
) -> Source:
    """The source of kernel values of X, in an order of its rows."""
    if not kernel.from_products:
        return BlockSource(kernel, X if order is None else X[order])
    base = kernel.base
    if base is None or isinstance(base, FeatureKernel):
        (X,) = as_vectors(kernel, X)
        vectors: Any = prepare(kernel, X, order=order, tolerance=tolerance, budget=budget)
    else:
        vectors = base.prepared(X if order is None else X[order])[0]
    return ProductSource(kernel, vectors, threads or thread_count())


def _count(rows: Codes | slice) -> int:
    return rows.stop - rows.start if isinstance(rows, slice) else len(rows)


def strips(P: Matrix) -> Iterator[slice]:
    """Rows of P, so many at a time that they stay in a core's second-level cache."""
    return row_blocks(len(P), rows_that_fit(P.shape[1] * P.itemsize, STRIP_BYTES))


def _tile_side(n: int, m: int, d: int) -> int:
    """Rows of a tile, and half of its columns: many tiles of a long product, few of a short one."""
    values = min(max(n * m // TILES, TILE_WORK // max(1, d)), LARGEST_TILE)
    return max(16, math.isqrt(values // 2) // 8 * 8)
