"""Scores of new samples at the boundaries of a support machine, on the CPU.

What depends on the model alone is prepared once and kept while the model lives: the weights of a linear
kernel, or the support vectors and their coefficients in the precision of the products. A thread computes
products, kernel values and scores of a tile of samples and support vectors while they are in its cache.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse

from separatrix.estimators.base.support import Support, add_sides, centred_weights
from separatrix.jit import njit
from separatrix.kernels.base import Kernel
from separatrix.kernels.epilogues import Epilogue, kernel_block
from separatrix.kernels.gram.sources import EPILOGUE_WORK
from separatrix.kernels.prepared import Vectors, precision, prepare
from separatrix.kernels.vector_kernels import Linear, squared_norms
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.device import is_tensor
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_scratch
from separatrix.types import Codes, Matrix, Vector

LARGEST_WEIGHTS = 2**24  # values of the weights of a linear kernel up to which they are used
SMALL = 2**20  # kernel values up to which float64 costs next to nothing
COLUMNS = 1024  # support vectors of a tile
SCORES = 2**22  # that are held at once
LINEAR_WORK = 2**23  # multiply-adds of linear scores that are worth a thread
TILE, TILE_WORK = 2**18, 2**24  # most values of a tile, in a core's cache, and enough multiply-adds
TILES = 64  # of many samples: fewer and larger ones are faster, but share the work less evenly
ROOM = 20.0  # `precision` asks for a tenth of a tolerance, and a bound of errors is rarely reached
_WEIGHTS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # of the values of each Support
FEWEST_ROWS = 32  # of a tile: a product of fewer is slow


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


def score_tolerance(kernel: Kernel, support: Support, vectors: Any, tolerance: float) -> float:
    """The relative error of kernel values at which scores are off by about `tolerance`, or that if less."""
    return tolerance * min(1.0, ROOM / max(score_weight(kernel, support, vectors), 1e-300))


def score_weight(kernel: Kernel, support: Support, vectors: Any) -> float:
    """By what relative errors of kernel values are multiplied in scores, about.

    They are independent: those of a sum grow with the norm of its coefficients.
    """
    weight = _WEIGHTS.get(support)
    if weight is None:
        weight = float(support.norms().max(initial=0.0))
        if kernel.takes == "vectors" and kernel.from_products and kernel.base is None:
            weight *= kernel.resolution(_largest_square(vectors))
        _WEIGHTS[support] = weight
    return weight


def _largest_square(vectors: Any) -> float:
    """The largest squared norm of samples or of a tensor of them."""
    if is_tensor(vectors):
        return float(vectors.double().square().sum(dim=1).max()) if len(vectors) else 0.0
    return float(squared_norms(vectors).max(initial=0.0))


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
        work = X.shape[0] * self.weights.size
        threads = min(threads, work // LINEAR_WORK)
        with blas_on_one_thread(work):
            return in_threads(score, blocks, threads=threads)


class KernelScorer:
    """Scores by kernel values with support vectors, for kernels that are functions of inner products."""

    def __init__(self, kernel: Kernel, support: Support, vectors: Any, tolerance: float) -> None:
        self.kernel, self.vectors, self.tolerance = kernel, vectors, tolerance
        self.cuts, self.coef, self.intercept = support.cuts, support.coef, support.intercept
        self.paired = support.paired
        self._prepared: dict[Any, tuple[Vectors, Matrix, Vector]] = {}  # by precision

    def map(self, X: Matrix, function: Callable[[Matrix], Any], threads: int) -> list[Any]:
        """`function` of the scores of blocks of samples."""
        answers: list[Any] = []
        for block in row_blocks(X.shape[0], max(1, SCORES // len(self.intercept))):
            S = self._score_block(X[block], threads)
            workers = max(1, min(threads, S.size // TILE))
            parts = np.array_split(S, workers)
            answers += in_threads(function, parts, threads=workers)
        return answers

    def _score_block(self, X: Matrix, threads: int) -> Matrix:
        """Scores of samples, (rows, p): in float32 where that is precise enough and there are many."""
        values = X.shape[0] * len(self.vectors)
        single = values > SMALL and self.tolerance > float(np.finfo(np.float32).eps)
        Z, coef, extremes = self._prepare(np.dtype(np.float32 if single else np.float64))
        S, squares = self._score_tiles(X, Z, coef, threads)
        found = np.concatenate([extremes, squares])
        wanted = precision(self.kernel, found, self.tolerance, can_be_float32=single)
        if wanted != Z.dtype:
            Z, coef, _ = self._prepare(wanted)
            S, _ = self._score_tiles(X, Z, coef, threads)
        return S

    def _score_tiles(
        self, X: Matrix, Z: Vectors, coef: Matrix, threads: int
    ) -> tuple[Matrix, Vector]:
        """Scores of samples, (rows, p), in the precision of Z, and their squared norms."""
        n, d = X.shape
        work = n * len(Z) * (d + coef.shape[1] + EPILOGUE_WORK)  # multiply-adds
        rows = max(n * TILE_WORK // max(1, work), n // TILES)
        rows = min(TILE // min(len(Z), COLUMNS), rows)
        S, squares = np.empty((n, len(self.intercept))), np.empty(n)
        centre = np.zeros(d) if Z.centre is None else Z.centre
        used = np.arange(d) if Z.used is None else Z.used

        def score(part: slice) -> None:
            x = X[part] if X.dtype.char in "fd" else X[part].astype(np.float64)
            m = len(x)
            scratch = thread_scratch(m * (len(used) + COLUMNS + coef.shape[1]), coef.dtype)
            A = scratch[: m * len(used)].reshape(m, len(used))
            convert_rows(np.ascontiguousarray(x), centre, used, A, squares[part])
            self._scores(A, squares[part].astype(Z.dtype), Z, coef, scratch[A.size :], S[part])

        blocks = row_blocks(n, max(FEWEST_ROWS, rows))
        with blas_on_one_thread(work):
            in_threads(score, blocks, threads=min(threads, work // TILE_WORK))
        return S, squares

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

    def _scores(
        self, A: Matrix, squares: Vector, Z: Vectors, coef: Matrix, scratch: Vector, S: Matrix
    ) -> None:
        """Write scores of a few samples, (rows, p), into S."""
        cuts = self.cuts if self.paired else np.array([0, len(Z)])
        sums = np.zeros((len(A), (len(cuts) - 1) * coef.shape[1]), coef.dtype)
        if self.kernel.epilogue is not None:
            numbers = A, squares, Z.X, Z.squares, self.kernel.epilogue
            add_scores(*numbers, coef, cuts, COLUMNS, scratch, sums)
        else:
            for c, (first, stop) in enumerate(pairwise(cuts)):
                own = sums[:, c * coef.shape[1] : (c + 1) * coef.shape[1]]
                for part in row_blocks(stop - first, COLUMNS):
                    columns = slice(first + part.start, first + part.stop)
                    K = A @ Z.X[columns].T
                    self.kernel.apply(K, squares, Z.squares[columns])
                    own += K @ coef[columns]
        if self.paired:
            add_sides(sums, self.intercept, len(cuts) - 1, S)
        else:
            np.add(self.intercept, sums, out=S)


def _scorer(
    kernel: Kernel, support: Support, vectors: Any, tolerance: float
) -> LinearScorer | KernelScorer | None:
    """The scorer of a model, or None."""
    if kernel.takes != "vectors" or not len(support.rows):
        return None
    if isinstance(kernel, Linear) and len(support.intercept) * vectors.shape[1] <= LARGEST_WEIGHTS:
        if issparse(vectors):
            own = support.weights
            weights = np.asarray(support.columns() @ vectors) if own is None else own
            return LinearScorer(weights, support.intercept)
        return LinearScorer(centred_weights(support, vectors)[0], support.intercept)
    if kernel.from_products and kernel.base is None and not issparse(vectors):
        return KernelScorer(kernel, support, vectors, tolerance)
    return None


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def convert_rows(X: Matrix, centre: Vector, used: Codes, A: Matrix, squares: Vector) -> None:
    """Write the used features less their centre into A, and squared norms over all features."""
    d, every = X.shape[1], len(used) == X.shape[1]
    row = np.empty(d, A.dtype)
    for i in range(len(X)):
        total = 0.0
        for j in range(d):
            row[j] = X[i, j] - centre[j]
        for j in range(d):
            total += np.float64(row[j]) * np.float64(row[j])
        squares[i] = total
        if every:
            for j in range(d):
                A[i, j] = row[j]
        else:
            for j in range(len(used)):
                A[i, j] = row[used[j]]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def add_scores(
    A: Matrix, squares: Vector, Z: Matrix, sz: Vector, epilogue: Epilogue,
    coef: Matrix, cuts: Codes, columns: int, scratch: Vector, sums: Matrix,
) -> None:  # fmt: skip
    """Add K[:, j] coef[j] to the sums of the class that support vector j is of, (rows, k width).

    Kernel values of so many columns at a time are in `scratch`, for (rows, columns + width).
    """
    n, width = len(A), coef.shape[1]
    part = scratch[n * columns : n * (columns + width)].reshape(n, width)
    only = coef.reshape(coef.size)  # of one boundary
    for c in range(len(cuts) - 1):
        for first in range(cuts[c], cuts[c + 1], columns):
            stop = min(first + columns, cuts[c + 1])
            K = scratch[: n * (stop - first)].reshape(n, stop - first)
            kernel_block(A, squares, Z[first:stop], sz[first:stop], epilogue, K)
            if width > 1:
                np.dot(K, coef[first:stop], part)
                for i in range(n):
                    for t in range(width):
                        sums[i, c * width + t] += part[i, t]
            else:
                weights = only[first:stop]
                for i in range(n):
                    row, total = K[i], sums[i, c]
                    for j in range(len(weights)):
                        total += row[j] * weights[j]
                    sums[i, c] = total


_KEPT: WeakKeyDictionary[Support, tuple[Any, Any, Any]] = WeakKeyDictionary()
