"""The kernel matrix as an operator: held, cached by column segment, or computed when asked.

All three give the same values to the precision of their products, which shows in the repr. Inner
products are computed once and shared by all kernels over the same data (`shared.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.errors import MemoryBudgetError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.object_kernels import FeatureKernel, as_vectors
from separatrix.kernels.prepared import TOLERANCE, Prepared, prepare
from separatrix.runtime.blocks import default_budget, in_words, row_blocks, rows_that_fit
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Codes, Gram, Matrix, Vector

ROWS_AT_ONCE = 1024  # rows of one matrix product: wide enough for BLAS, short enough to interrupt
WORTH_THREADS = 2**20  # values of an epilogue that take longer than starting threads
STRIP_BYTES = 2**20  # of one epilogue call: stays in a core's second-level cache


class ProductSource:
    """Computes tiles of the kernel matrix of prepared samples: products, then the epilogue."""

    def __init__(self, kernel: Kernel, vectors: Any, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.vectors: Prepared = vectors
        self.n, self.dtype = len(vectors), vectors.dtype
        self._last: tuple[Any, Prepared] = (None, vectors)  # columns of the last tile

    def tile(
        self, rows: Codes | slice, columns: Codes | slice, out: Matrix | None = None
    ) -> Matrix:
        """Kernel values of rows with columns. A block of columns is often asked for twice in a row."""
        if isinstance(columns, slice):
            return self.between(self.vectors.take(rows), self.vectors.take(columns), out)
        last = self._last  # another thread may replace it meanwhile
        if not np.array_equal(last[0], columns):
            last = (columns.copy(), self.vectors.take(columns))
            self._last = last
        return self.between(self.vectors.take(rows), last[1], out)

    def between(self, X: Prepared, Z: Prepared, out: Matrix | None = None) -> Matrix:
        """Kernel values of two prepared sets."""
        P = X.products(Z, out)
        self.apply(P, X.squares, Z.squares)
        return P

    def apply(self, P: Matrix, sx: Vector, sz: Vector) -> None:
        """The kernel's epilogue over all of P, on all cores."""

        def strip(rows: slice) -> None:
            self.kernel.apply(P[rows], sx[rows], sz)

        threads = self.threads if P.size > WORTH_THREADS else 1
        in_threads(strip, strips(P), threads=threads)

    def diagonal(self) -> Vector:
        """All k(x, x)."""
        return np.asarray(self.kernel.self_values(self.vectors.squares.astype(np.float64)))

    @property
    def error(self) -> float:
        """How far off a value can be."""
        s = float(self.vectors.squares.max(initial=0.0))
        return float(self.kernel.error(s, float(np.finfo(self.dtype).eps)))


class ObjectSource:
    """Computes tiles of the kernel matrix of any samples by the kernel's own `block`."""

    error = 0.0  # the kernel's own

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X, self.n = kernel, X, X.shape[0]
        self.dtype = np.dtype(np.float64)

    def tile(
        self, rows: Codes | slice, columns: Codes | slice, out: Matrix | None = None
    ) -> Matrix:
        """Kernel values of rows with columns."""
        K = self.kernel.block(self.X[rows], self.X[columns])
        if out is None:
            return K
        out[...] = K
        return out

    def diagonal(self) -> Vector:
        """All k(x, x)."""
        return self.kernel.diagonal(self.X)


Source = ProductSource | ObjectSource


class _SourcedGram:
    """What the three forms share: shape, segments, products with a matrix, the repr."""

    keeps_rows = True
    device: Any = None  # this machine's memory

    def __init__(
        self, n: int, dtype: np.dtype[Any], segments: tuple[slice, ...] | None, batch: int
    ) -> None:
        self.shape = (n, n)
        self.dtype = dtype
        self.segments = segments or (slice(0, n),)
        self.batch = batch
        self.room = batch
        self.error = 0.0
        self.held: Matrix | None = None

    def rows(self, index: Codes) -> Matrix:
        """Whole rows, (index, n)."""
        out = np.empty((len(index), self.shape[1]), self.dtype)
        for part in row_blocks(len(index), self.batch):
            for number, segment in enumerate(self.segments):
                storage, where = self.fetch(index[part], number)
                out[part, segment] = storage[where]
        return out

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """Where rows lie over one segment."""
        raise NotImplementedError

    def matmul(self, V: Matrix) -> Matrix:
        """K @ V in float64."""
        n = self.shape[0]
        out = np.empty((n, V.shape[1]))
        for rows in row_blocks(n, self.batch):
            out[rows] = self.rows(np.arange(rows.start, rows.stop)) @ V.astype(
                np.float64, copy=False
            )
        return out

    def __repr__(self) -> str:
        n, m = self.shape
        return f"{type(self).__name__}({n} x {m}, {self.dtype}{self._more()})"

    def _more(self) -> str:
        return ""


class HeldGram(_SourcedGram):
    """The whole matrix in memory.

    >>> HeldGram(np.eye(3))
    HeldGram(3 x 3, float64, 72 bytes)
    """

    def __init__(
        self,
        K: Matrix,
        *,
        diagonal: Vector | None = None,
        segments: tuple[slice, ...] | None = None,
    ) -> None:
        super().__init__(len(K), K.dtype, segments, min(len(K), ROWS_AT_ONCE))
        self.held: Matrix = K
        self.room = len(K)
        self._diagonal = diagonal

    def diagonal(self) -> Vector:
        """All k(x, x)."""
        return np.diagonal(self.held).copy() if self._diagonal is None else self._diagonal

    def tile(self, rows: Codes, columns: Codes) -> Matrix:
        """Values of rows with columns."""
        return self.held[np.ix_(rows, columns)]

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """The matrix itself."""
        return self.held[:, self.segments[segment]], index

    def _more(self) -> str:
        return f", {in_words(self.held.nbytes)}"


class LazyGram(_SourcedGram):
    """Computed when asked for and never stored."""

    keeps_rows = False

    def __init__(
        self, source: Source, *, batch: int, segments: tuple[slice, ...] | None = None
    ) -> None:
        super().__init__(source.n, source.dtype, segments, batch)
        self.source, self.error = source, source.error

    def diagonal(self) -> Vector:
        """All k(x, x)."""
        return self.source.diagonal()

    def tile(self, rows: Codes, columns: Codes) -> Matrix:
        """Values of rows with columns."""
        return self.source.tile(rows, columns)

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """Computed now."""
        return self.source.tile(index, self.segments[segment]), np.arange(len(index))


class CachedGram(LazyGram):
    """Rows kept by column segment within a budget; the least recently used give way."""

    keeps_rows = True

    def __init__(
        self, source: Source, *, budget: int, batch: int, segments: tuple[slice, ...] | None = None
    ) -> None:
        super().__init__(source, batch=batch, segments=segments)
        n = source.n
        self.capacity = rows_that_fit(n * source.dtype.itemsize, budget, most=n)
        self.batch, self.room = min(batch, self.capacity), self.capacity
        widths = [segment.stop - segment.start for segment in self.segments]
        self._storage = [np.empty((self.capacity, width), source.dtype) for width in widths]
        self._slots = np.full((len(widths), n), -1)  # row -> where it lies, or -1
        self._rows = np.full((len(widths), self.capacity), -1)  # place -> the row in it, or -1
        self._last_use = np.zeros((len(widths), self.capacity), dtype=np.int64)
        self._clock = 0
        self._filled = [0] * len(widths)  # places of each segment that have ever been used

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """From the cache; what is missing is computed and kept."""
        self._clock += 1
        slot_of, storage = self._slots[segment], self._storage[segment]
        missing = np.unique(index[slot_of[index] < 0])
        self._last_use[segment, slot_of[index[slot_of[index] >= 0]]] = self._clock
        for part in row_blocks(len(missing), ROWS_AT_ONCE):
            rows = missing[part]
            slots = self._free_slots(len(rows), segment)
            if slots[-1] - slots[0] == len(slots) - 1:  # side by side: written in place
                self.source.tile(
                    rows, self.segments[segment], out=storage[slots[0] : slots[-1] + 1]
                )
            else:
                storage[slots] = self.source.tile(rows, self.segments[segment])
            slot_of[rows] = slots
            self._rows[segment, slots] = rows
            self._last_use[segment, slots] = self._clock
        return storage, slot_of[index]

    def _free_slots(self, count: int, segment: int) -> Codes:
        """Places never used, or else those used longest ago."""
        filled = self._filled[segment]
        if filled + count <= self.capacity:
            self._filled[segment] += count
            return np.arange(filled, filled + count)
        slots = np.sort(np.argsort(self._last_use[segment], kind="stable")[:count])
        self._filled[segment] = self.capacity
        given_up = self._rows[segment, slots]
        self._slots[segment, given_up[given_up >= 0]] = -1
        return slots

    def _more(self) -> str:
        return f", {self.capacity} rows in {in_words(sum(part.nbytes for part in self._storage))}"


def _prepared(kernel: Kernel, X: Any, order: Codes | None, **how: Any) -> Any:
    """Samples, or the vectors of their features, in an order of rows, ready for products."""
    base = kernel.base
    if base is None or isinstance(base, FeatureKernel):
        (X,) = as_vectors(kernel, X)
        return prepare(kernel, X, order=order, **how)
    return base.prepared(X if order is None else X[order])[0]


def make_source(
    kernel: Kernel,
    X: Any,
    *,
    tolerance: float,
    budget: int,
    threads: int | None = None,
    order: Codes | None = None,
) -> Source:
    """How tiles of the kernel matrix of X, in an order of its rows, are computed."""
    if kernel.from_products:
        vectors = _prepared(kernel, X, order, tolerance=tolerance, budget=budget)
        return ProductSource(kernel, vectors, threads or thread_count())
    return ObjectSource(kernel, X if order is None else X[order])


def make_gram(
    kernel: Kernel,
    X: Any,  # shape: (n, d), or (n, n) where the kernel is Precomputed
    *,
    memory: int | None = None,
    segments: tuple[slice, ...] | None = None,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
    hold: bool = True,
    order: Codes | None = None,
    device: Any = None,
) -> Gram:
    """The kernel matrix of X in the form that fits the memory, in bytes: held, cached or lazy.

    With hold=False it is not computed at once, though there be room: whoever is short of time. Its
    rows are those of X in `order`. On a torch device it is a `DeviceGram`.

    >>> from separatrix.kernels import Gaussian
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> make_gram(Gaussian(0.1), X)
    HeldGram(3 x 3, float64, 72 bytes)
    """
    if device is not None:
        from separatrix.kernels.gram.device_gram import device_gram

        on_device: Any = device_gram(
            kernel, X, device, memory=memory, segments=segments, tolerance=tolerance, order=order
        )
        return on_device  # type: ignore[no-any-return]
    if isinstance(kernel, Precomputed):
        K = symmetric_matrix(X, name="X (kernel='precomputed')")
        return HeldGram(K if order is None else reordered(K, order), segments=segments)
    budget = default_budget() if memory is None else memory
    source = make_source(
        kernel, X, tolerance=tolerance, budget=budget, threads=threads, order=order
    )
    return gram_of(source, budget, segments, hold=hold)


def gram_of(
    source: Source, budget: int, segments: tuple[slice, ...] | None, *, hold: bool = True
) -> Gram:
    """The Gram of a source in the form that fits the budget."""
    row = source.n * source.dtype.itemsize
    if hold and row * source.n <= budget:
        held = HeldGram(_whole(source), diagonal=source.diagonal(), segments=segments)
        held.error = source.error
        return held
    if row > budget:
        raise MemoryBudgetError(
            f"one row of the kernel matrix of {source.n} samples takes {in_words(row)}, more than "
            f"the {in_words(budget)} there are; give more memory (`cache_size`) or train on fewer samples"
        )
    batch = rows_that_fit(2 * row, budget, most=ROWS_AT_ONCE)
    if rows_that_fit(row, budget) < 2 * min(64, source.n):
        return LazyGram(source, batch=batch, segments=segments)
    return CachedGram(source, budget=budget, batch=batch, segments=segments)


def kernel_blocks(
    kernel: Kernel,
    X: Any,
    Z: Any,
    *,
    memory: int | None = None,
    tolerance: float = TOLERANCE,
    threads: int | None = None,
) -> Iterator[tuple[slice, Matrix]]:
    """Kernel values of X with Z a block of rows at a time: what prediction reads."""
    budget = default_budget() if memory is None else memory
    n, m = X.shape[0], Z.shape[0]
    size = rows_that_fit(8 * max(1, m), min(budget, 2**28), most=ROWS_AT_ONCE)
    if not kernel.from_products or not m:
        for rows in row_blocks(n, size):
            yield rows, kernel.block(X[rows], Z) if m else np.zeros((rows.stop - rows.start, 0))
        return
    threads = threads or thread_count()
    if kernel.base is None or isinstance(kernel.base, FeatureKernel):
        Z, X = as_vectors(kernel, Z, X)
        second: Any = prepare(kernel, Z, X, tolerance=tolerance, budget=budget)
        for rows in row_blocks(n, size):
            first = second.like(X[rows])
            yield rows, ProductSource(kernel, second, threads).between(first, second)
        return
    first, second = kernel.base.prepared(X, Z)
    for rows in row_blocks(n, size):
        yield rows, ProductSource(kernel, second, threads).between(first.take(rows), second)


def reordered(K: Matrix, order: Codes) -> Matrix:
    """Both sides of a square matrix in another order."""
    out = np.empty_like(K, order="C")

    def strip(rows: slice) -> None:
        out[rows] = K[order[rows]][:, order]

    in_threads(strip, row_blocks(len(K), 256), threads=thread_count())
    return out


def strips(P: Matrix) -> Iterator[slice]:
    """Rows of P, so many at a time that they stay in a core's second-level cache."""
    return row_blocks(len(P), rows_that_fit(P.shape[1] * P.itemsize, STRIP_BYTES))


def _whole(source: Source) -> Matrix:
    if isinstance(source, ProductSource):
        K = source.vectors.own_products(source.threads)
        source.apply(K, source.vectors.squares, source.vectors.squares)
        return K
    K = np.empty((source.n, source.n), source.dtype)
    for rows in row_blocks(source.n, ROWS_AT_ONCE):
        source.tile(rows, slice(0, source.n), out=K[rows])
    return K
