"""Sources of kernel values: tiles of the kernel matrix, from inner products or a kernel's own `block`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import psd_policy
from separatrix.kernels.embedding import enforce_semidefinite
from separatrix.kernels.gram.tiles import fill_tile, kernel_values_among
from separatrix.kernels.object_kernels import FeatureKernel, as_vectors
from separatrix.kernels.prepared import Prepared, are_dense, prepare
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_count, thread_scratch
from separatrix.types import Codes, Matrix, Vector

ROWS_AT_ONCE = 1024  # rows of one matrix product: wide enough for BLAS, short enough to interrupt
WORTH_THREADS = 2**20  # values of an epilogue that take longer than starting threads
LARGEST_TILE = 2**19  # values that one thread computes at a time: they stay in its cache
EPILOGUE_WORK = 32  # an epilogue of a value costs as much as this many multiply-adds
TILES, TILE_WORK = 128, 2**23  # tiles that share a product, of at least so many multiply-adds
FEW_ROWS = 16  # of a tile, below which the copy of its columns is worth keeping for the next one
STRIP_BYTES = 2**20  # of one epilogue call: stays in a core's second-level cache


class KernelTile(NamedTuple):
    """Kernel values of some rows of X and some of Z, and where they go."""

    X: Any  # prepared vectors, as Z
    rows: Codes
    Z: Any
    columns: slice
    K: Matrix
    into: Codes  # rows of K

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.rows) * int(self.columns.stop - self.columns.start)


class ProductSource:
    """Tiles of the kernel matrix of prepared samples: inner products, then the kernel's epilogue."""

    def __init__(self, kernel: Kernel, vectors: Any, threads: int) -> None:
        self.kernel, self.threads, self.epilogue = kernel, threads, kernel.epilogue
        self.vectors: Prepared = vectors
        self.n, self.dtype = len(vectors), vectors.dtype
        self._last: tuple[Any, Prepared] = (None, vectors)  # columns of the last tile

    def tile(
        self, rows: Codes | slice, columns: Codes | slice, out: Matrix | None = None
    ) -> Matrix:
        vectors: Any = self.vectors
        if isinstance(columns, slice) or isinstance(rows, slice):
            return self.between(vectors.take(rows), vectors.take(columns), out)
        if self.epilogue is not None and are_dense(vectors) and len(rows) >= FEW_ROWS:
            K: Matrix = np.empty((len(rows), len(columns)), self.dtype)
            X, squares = vectors.X, vectors.squares
            scratch = thread_scratch((len(rows) + len(columns)) * (X.shape[1] + 1), self.dtype)
            kernel_values_among(X, squares, rows, columns, self.epilogue, scratch, K)
            return K
        last = self._last  # another thread may replace it meanwhile
        if not np.array_equal(last[0], columns):
            last = (columns.copy(), vectors.take(columns))
            self._last = last
        return self.between(vectors.take(rows), last[1], out)

    def between(self, X: Any, Z: Any, out: Matrix | None = None) -> Matrix:
        """Kernel values of two prepared sets."""
        if are_dense(X, Z):
            K: Matrix = np.empty((len(X), len(Z)), self.dtype) if out is None else out
            everything = np.arange(len(X))
            self._fill(self._cut([(X, everything, Z, K, everything)]))
            return K
        P: Matrix = X.products(Z, out)
        self.apply(P, X.squares, Z.squares)
        return P

    def fill_rows(self, parts: list[tuple[Codes, slice, Matrix, Codes]]) -> None:
        """Compute rows of some columns into rows of matrices: all parts at once, on all threads.

        A part is the rows, the columns, a matrix of those columns, and its rows to fill.
        """
        X: Any = self.vectors
        if are_dense(X):
            areas = [(X, rows, X.take(columns), K, slots) for rows, columns, K, slots in parts]
            self._fill(self._cut(areas))
            return
        for rows, columns, K, slots in parts:
            K[slots] = self.between(X.take(rows), X.take(columns))

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
            side = math.isqrt(_tile_values(self.n * self.n // 2, vectors.X.shape[1]))
            blocks = list(row_blocks(self.n, max(16, side // 8 * 8)))
            everything = np.arange(self.n)
            upper = [
                KernelTile(vectors, everything[rows], vectors, columns, K, everything[rows])
                for rows in blocks
                for columns in blocks
                if rows.start <= columns.start
            ]
            self._fill(upper, symmetric=True)
            return K
        K = self.vectors.own_products(self.threads)
        self.apply(K, self.vectors.squares, self.vectors.squares)
        return K

    def _cut(self, areas: list[tuple[Any, Codes, Any, Matrix, Codes]]) -> list[KernelTile]:
        """Tiles of areas: rows of X, all of Z, a matrix and its rows; of about equal work."""
        total = sum(len(rows) * len(Z) for _, rows, Z, _, _ in areas)
        values = _tile_values(total, areas[0][0].X.shape[1])
        tiles = []
        for X, rows, Z, K, into in areas:
            height, width = _tile_shape(len(rows), values)
            for some, columns in product(row_blocks(len(rows), height), row_blocks(len(Z), width)):
                tiles.append(KernelTile(X, rows[some], Z, columns, K, into[some]))
        return tiles

    def _fill(self, tiles: list[KernelTile], *, symmetric: bool = False) -> None:
        """Fill tiles: products and values of a tile while it is in cache, one tile per thread.

        The tiles do not depend on the number of threads, and nor does a bit of their values.
        """

        def fill(tile: KernelTile) -> None:
            X, rows, Z, columns, K, into = tile
            if self.epilogue is not None:
                scratch = thread_scratch(tile.size + len(rows) * (X.X.shape[1] + 1), self.dtype)
                area = Z.X, Z.squares, columns.start, columns.stop
                fill_tile(X.X, X.squares, rows, *area, self.epilogue, scratch, K, into)
                P = scratch[: tile.size].reshape(len(rows), -1)
            else:
                P = np.matmul(X.X[rows], Z.X[columns].T)
                self.kernel.apply(P, X.squares[rows], Z.squares[columns])
                K[into, columns] = P
            if symmetric and rows[0] < columns.start:
                K[columns, rows[0] : rows[-1] + 1] = P.T

        if tiles:
            work = sum(tile.size for tile in tiles) * (tiles[0].Z.X.shape[1] + EPILOGUE_WORK)
            threads = max(1, min(self.threads, work // TILE_WORK))
            with blas_on_one_thread(work):
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
    shift = 0.0  # of the diagonal of the matrix

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
        if self.kernel.takes == "vectors":
            K = np.empty((self.n, self.n), self.dtype)
            for rows in row_blocks(self.n, ROWS_AT_ONCE):
                self.tile(rows, slice(0, self.n), out=K[rows])
        else:
            K = self.kernel.block(self.X, self.X)
        self.shift = enforce_semidefinite(repr(self.kernel), K, psd_policy(self.kernel))
        return K

    def diagonal(self) -> Vector:
        return self.kernel.diagonal(self.X) + self.shift


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


def strips(P: Matrix) -> Iterator[slice]:
    """Rows of P, so many at a time that they stay in a core's second-level cache."""
    return row_blocks(len(P), rows_that_fit(P.shape[1] * P.itemsize, STRIP_BYTES))


def _tile_values(total: int, d: int) -> int:
    """Values of a tile: many tiles of a long product, few of a short one."""
    return min(max(total // TILES, TILE_WORK // (d + EPILOGUE_WORK)), LARGEST_TILE)


def _tile_shape(n: int, values: int) -> tuple[int, int]:
    """Rows and columns of a tile of n rows at most; twice as wide as high if n allows it."""
    height = max(1, min(n, max(16, math.isqrt(values // 2) // 8 * 8)))
    return height, max(16, values // height)
