"""Scores of new samples at the boundaries of a support machine, on the CPU.

What depends on the model alone is prepared once and kept while the model lives: the weights of a linear
kernel, or the support vectors and their coefficients in the precision of the products. A thread computes
products, kernel values and scores of a tile of samples and support vectors while they are in its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from scipy.sparse import issparse

from separatrix.estimators.base.support import Support
from separatrix.kernels.base import Kernel
from separatrix.kernels.prepared import Vectors, precision, prepare
from separatrix.kernels.vector_kernels import Linear
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_scratch
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes, Matrix, Vector

LARGEST_WEIGHTS = 2**24  # values of the weights of a linear kernel up to which they are used
SMALL = 2**20  # kernel values up to which float64 costs next to nothing
COLUMNS = 1024  # support vectors of a tile
LINEAR_WORK = 2**23  # multiply-adds of linear scores that are worth a thread
FEW_CLASSES = 12  # up to so many, a matrix product for each is faster than one loop over all
TILE = 2**18  # values of a tile: in a core's cache, and worth a thread


def score_samples(
    kernel: Kernel,
    support: Support,
    vectors: Any,
    X: Any,
    function: Callable[[Matrix], Any],
    *,
    tolerance: float,
    threads: int,
) -> list[Any] | None:
    """`function` of the scores of blocks of samples, (rows, p); None if the kernel has no fast scores."""
    kept = _KEPT.get(support)
    if kept is None or kept[0] is not vectors or kept[1] != (kernel, tolerance):
        kept = (vectors, (kernel, tolerance), _scorer(kernel, support, vectors, tolerance))
        _KEPT[support] = kept
    scorer = kept[2]
    if scorer is None or (issparse(X) and not isinstance(scorer, LinearScorer)):
        return None
    return scorer.map(X, function, threads)


class LinearScorer:
    """Scores by the weights of a linear kernel."""

    def __init__(self, weights: Matrix, intercept: Vector) -> None:
        self.weights = np.ascontiguousarray(weights.T)  # (d, p)
        self.intercept = intercept

    def map(self, X: Any, function: Callable[[Matrix], Any], threads: int) -> list[Any]:
        """`function` of the scores of blocks of samples."""

        def score(rows: slice) -> Any:
            S = np.asarray(X[rows] @ self.weights)
            S += self.intercept
            return function(S)

        blocks = list(row_blocks(X.shape[0], max(1, TILE // self.weights.shape[1])))
        threads = min(threads, X.shape[0] * self.weights.size // LINEAR_WORK)
        with blas_on_one_thread() if threads > 1 else nullcontext():
            return in_threads(score, blocks, threads=threads)


class KernelScorer:
    """Scores by kernel values with support vectors, for kernels that are functions of inner products."""

    def __init__(self, kernel: Kernel, support: Support, vectors: Any, tolerance: float) -> None:
        self.kernel, self.vectors, self.tolerance = kernel, vectors, tolerance
        self.cuts, self.coef, self.intercept = support.cuts, support.coef, support.intercept
        self.paired = support.paired
        self._prepared: dict[Any, tuple[Vectors, Matrix, Vector]] = {}  # by precision
        if self.paired:
            k = len(self.cuts) - 1
            first, second = pairs(k).T
            self._first, self._second = first * (k - 1) + second - 1, second * (k - 1) + first

    def map(self, X: Matrix, function: Callable[[Matrix], Any], threads: int) -> list[Any]:
        """`function` of the scores of blocks of samples."""
        values = X.shape[0] * len(self.vectors)
        single = values > SMALL
        Z, coef, extremes = self._prepare(np.dtype(np.float32 if single else np.float64))
        blocks = list(row_blocks(X.shape[0], max(1, TILE // min(len(Z), COLUMNS))))
        threads = min(threads, values // TILE)
        with blas_on_one_thread() if threads > 1 else nullcontext():
            parts = in_threads(lambda rows: Z.like(X[rows]), blocks, threads=threads)
            squares = np.concatenate([extremes, *(part.squares for part in parts)])
            wanted = precision(self.kernel, squares, self.tolerance, can_be_float32=single)
            if wanted != Z.dtype:
                Z, coef, _ = self._prepare(wanted)
                parts = [Z.like(X[rows]) for rows in blocks]
            return in_threads(
                lambda part: function(self._scores(part.X, part.squares, Z, coef)),
                parts,
                threads=threads,
            )

    def _prepare(self, dtype: np.dtype[Any]) -> tuple[Vectors, Matrix, Vector]:
        """Support vectors and coefficients, (s, k - 1 or p), in some precision; their extreme squares."""
        if dtype not in self._prepared:
            Z = prepare(self.kernel, self.vectors, tolerance=self.tolerance, dtype=dtype)
            coef = np.ascontiguousarray(self.coef.T.astype(Z.dtype))
            largest = float(Z.squares.max())
            smallest = float(Z.squares.min(initial=largest, where=Z.squares > 0))
            extremes = np.array([smallest, largest])
            self._prepared[dtype] = self._prepared[Z.dtype] = (Z, coef, extremes)
        return self._prepared[dtype]

    def _scores(self, A: Matrix, squares: Vector, Z: Vectors, coef: Matrix) -> Matrix:
        """Scores of a few samples, (rows, p)."""
        k, width = (len(self.cuts) - 1, coef.shape[1]) if self.paired else (1, coef.shape[1])
        sums = np.zeros((len(A), k, width), coef.dtype)
        for columns in row_blocks(len(Z), COLUMNS):
            size = (len(A), columns.stop - columns.start)
            K = thread_scratch(size[0] * size[1], coef.dtype).reshape(size)
            np.matmul(A, Z.X[columns].T, out=K)
            self.kernel.apply(K, squares, Z.squares[columns])
            if not self.paired:
                sums[:, 0] += K @ coef[columns]
            elif k > FEW_CLASSES:
                _add_by_class(sums, K, coef, self.cuts, columns.start)
            else:
                for c in range(k):
                    first = max(self.cuts[c], columns.start)
                    stop = min(self.cuts[c + 1], columns.stop)
                    if first < stop:
                        own = slice(first - columns.start, stop - columns.start)
                        sums[:, c] += K[:, own] @ coef[first:stop]
        flat = sums.reshape(len(A), k * width)
        if not self.paired:
            return self.intercept + flat
        return (self.intercept + flat[:, self._first]) + flat[:, self._second]


def _scorer(
    kernel: Kernel, support: Support, vectors: Any, tolerance: float
) -> LinearScorer | KernelScorer | None:
    """The scorer of a model, or None."""
    if kernel.takes != "vectors" or not len(support.rows):
        return None
    if isinstance(kernel, Linear) and len(support.intercept) * vectors.shape[1] <= LARGEST_WEIGHTS:
        return LinearScorer(np.asarray(support.columns() @ vectors), support.intercept)
    if kernel.from_products and kernel.base is None and not issparse(vectors):
        return KernelScorer(kernel, support, vectors, tolerance)
    return None


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _add_by_class(sums: Any, K: Matrix, coef: Matrix, cuts: Codes, start: int) -> None:
    """Add K[:, j] coef[start + j] to the sums of the class that support vector start + j is of."""
    width = coef.shape[1]
    for c in range(len(cuts) - 1):
        first, stop = max(cuts[c], start), min(cuts[c + 1], start + K.shape[1])
        for i in range(K.shape[0]):
            out = sums[i, c]
            for j in range(first, stop):
                value, row = K[i, j - start], coef[j]
                for t in range(width):
                    out[t] += value * row[t]


_KEPT: WeakKeyDictionary[Support, tuple[Any, Any, Any]] = WeakKeyDictionary()
