"""The kernel matrix on a device: complete if it fits, otherwise a cache of rows.

Inner products are torch's, in float32 or float64 as `precision` decides: half of the symmetric
matrix, then mirrored; the epilogue is one pass over them (`device_epilogues.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from separatrix.errors import DataError, MemoryBudgetError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.gram.device_bytes import prepare_bytes
from separatrix.kernels.gram.device_epilogues import mirror
from separatrix.kernels.gram.device_prepared import DeviceVectors, prepare_on, to_device
from separatrix.kernels.prepared import TOLERANCE
from separatrix.runtime.blocks import in_words, row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, dtype_of, free_bytes, is_tensor, release_unused
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.runtime.monitor import FitMonitor

Tensor = Any
PRODUCT_ROWS = 4096  # rows of one matrix product, at most
PRODUCT_TERMS = 2**40  # multiplications of one: some 0.05 s on an H200, after which it can stop
ROWS_TOGETHER = 64  # rows of a product, at least
CHECKED_ROWS = 1024  # rows that are checked for symmetry at a time
BLOCK_BYTES = 2**30  # of kernel values that are computed at a time and not stored
LEAST_ROWS = 128  # capacity below which a cache is useless
STOPPED_ROWS = 4096  # of a matrix that was not completed in time, that are cached


class DeviceGram:
    """The kernel matrix of prepared samples on a device.

    `storage` holds rows; `slots` gives the slot of each row, or -1. A complete matrix has every row in
    its own slot; otherwise the least recently used rows are evicted, and the storage is allocated when
    the first rows are loaded.
    """

    def __init__(
        self,
        storage: Tensor | None,  # shape: (n, n); None if rows are computed from a source
        diagonal: Tensor,  # shape: (n,); float64
        segments: tuple[slice, ...] | None,
        *,
        source: tuple[Kernel, DeviceVectors] | None = None,
        capacity: int = 0,
        budget: int = 0,
        error: float = 0.0,
    ) -> None:
        self.device = diagonal.device
        self._storage, self._diagonal, self._source, self.error = storage, diagonal, source, error
        n = len(diagonal)
        self.shape = (n, n)
        self.dtype = source[1].dtype if source is not None else dtype_of(storage)
        self.segments = segments or (slice(0, n),)
        self.complete = source is None
        self.capacity, self.budget = (n, 0) if self.complete else (capacity, budget)
        slots = torch.arange(n, dtype=torch.int32, device=self.device)
        self.slots = slots if self.complete else torch.full_like(slots, -1)
        if not self.complete:
            self._rows = torch.full((self.capacity,), -1, device=self.device)  # slot -> its row
            self._last_use = torch.zeros(self.capacity, dtype=torch.int64, device=self.device)
            self._clock = 0

    @property
    def storage(self) -> Tensor:
        """Kernel values in memory, (capacity, n)."""
        self.reserve()
        return self._storage

    @storage.setter
    def storage(self, values: Tensor) -> None:
        self._storage = values

    def reserve(self) -> None:
        """Allocate the storage of a cache of rows; it holds fewer where less memory is free than was."""
        if self._storage is not None:
            return
        assert self._source is not None
        release_unused(self.device)
        free = rows_that_fit(self.shape[1] * self.dtype.itemsize, free_bytes(self.device))
        self.capacity = min(self.capacity, free)
        self._rows, self._last_use = self._rows[: self.capacity], self._last_use[: self.capacity]
        shape, kind = (self.capacity, self.shape[1]), self._source[1].value_type
        self._storage = torch.empty(shape, dtype=kind, device=self.device)

    @property
    def memory(self) -> int:
        """Bytes of the storage."""
        return self.capacity * self.shape[1] * self.dtype.itemsize

    def diagonal(self) -> Tensor:
        return self._diagonal

    def part(
        self, rows: Tensor, segments: tuple[slice, ...], memory: int, monitor: FitMonitor
    ) -> DeviceGram:
        """The kernel matrix of some rows, in the form that fits so many bytes."""
        assert self._source is not None
        kernel, vectors = self._source
        return gram_of_vectors(kernel, vectors.take(rows), memory, segments, monitor)

    def largest_part(self, memory: int, recomputed: int) -> int:
        """Rows of the largest part that so many bytes hold, or one row in `recomputed` of it."""
        value = self.dtype.itemsize
        return min(
            int((recomputed * memory / value) ** 0.5), memory * 3 // (4 * LEAST_ROWS * value)
        )

    def load_rows(self, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Storage, and the slot of every row; valid for these distinct rows until the next call.

        A complete matrix has all rows, whatever is asked for.
        """
        if self.complete or rows is None:
            return self.storage, self.slots
        if len(rows) > self.capacity:
            raise MemoryBudgetError(
                f"{len(rows)} rows of the kernel matrix are needed together, and {self.capacity} fit; "
                "raise `cache_size`"
            )
        self._clock += 1
        present = self.slots[rows].long()
        missing = rows[present < 0]
        self._last_use[present[present >= 0]] = self._clock
        if len(missing):
            slots = torch.topk(self._last_use, len(missing), largest=False).indices
            evicted = self._rows[slots]
            self.slots[evicted[evicted >= 0]] = -1
            queue = BoundedQueue(self.device)
            for part in row_blocks(len(missing), self._rows_at_once()):
                self.storage[slots[part]] = self._compute_rows(missing[part])
                queue.wait()
            self.slots[missing] = slots.to(torch.int32)
            self._rows[slots], self._last_use[slots] = missing, self._clock
        return self.storage, self.slots

    def fetch(self, index: Any, segment: int) -> tuple[Tensor, Tensor]:
        index = torch.as_tensor(index, device=self.device)
        if self.complete:
            return self.storage[:, self.segments[segment]], index
        rows = self.tile(index, self.segments[segment])
        return rows, torch.arange(len(index), device=self.device)

    def tile(self, rows: Any, columns: Any) -> Tensor:
        rows, columns = (
            part if isinstance(part, slice) else torch.as_tensor(part, device=self.device)
            for part in (rows, columns)
        )
        if self._source is None:
            if isinstance(rows, slice) or isinstance(columns, slice):
                return self.storage[rows, columns]
            return self.storage[rows[:, None], columns]
        kernel, vectors = self._source
        return vectors.take(rows).kernel_values(kernel, vectors.take(columns))

    def weighted_sums(self, rows: Tensor, columns: Tensor, steps: Tensor) -> Tensor:
        """Kernel rows times steps, (p, rows), summed up at some columns in float64: (p, columns)."""
        assert self._source is not None
        kernel, vectors = self._source
        return vectors.weighted_sums(kernel, rows, columns, steps)

    def __repr__(self) -> str:
        n, kept = self.shape[0], "" if self.complete else f"{self.capacity} rows in "
        return (
            f"DeviceGram({n} x {n}, {self.dtype}, {kept}{in_words(self.memory)} on {self.device})"
        )

    def _rows_at_once(self) -> int:
        limit = BLOCK_BYTES
        if not self.complete:  # storage is three quarters of the memory budget
            limit = min(limit, self.memory // 3)
        assert self._source is not None
        most = _product_rows(self._source[1])
        return rows_that_fit(self.shape[1] * self.dtype.itemsize, limit, most=most)

    def _compute_rows(self, rows: Tensor) -> Tensor:
        assert self._source is not None
        kernel, vectors = self._source
        return vectors.take(rows).kernel_values(kernel, vectors)


def device_gram(
    kernel: Kernel,
    X: Any,
    device: Any,
    *,
    memory: int | None = None,
    segments: tuple[slice, ...] | None = None,
    tolerance: float = TOLERANCE,
    order: Any = None,
    monitor: FitMonitor | None = None,
) -> DeviceGram:
    """The kernel matrix of X, in an order of its rows, on a device; not complete if the monitor stops."""
    if isinstance(kernel, Precomputed):
        K = _symmetric(X, device)
        if order is not None:
            index = torch.as_tensor(order, device=device)
            K = K[index[:, None], index]
        return DeviceGram(K, torch.diagonal(K).to(torch.float64), segments)
    X = to_device(X, device)
    vectors: DeviceVectors | None = prepare_bytes(kernel, X, tolerance=tolerance, order=order)
    if vectors is None:
        vectors = prepare_on(device, kernel, X, tolerance=tolerance, order=order)
    budget = free_bytes(device) if memory is None else min(memory, free_bytes(device))
    return gram_of_vectors(kernel, vectors, budget, segments, monitor)


def gram_of_vectors(
    kernel: Kernel,
    vectors: DeviceVectors,
    budget: int,
    segments: tuple[slice, ...] | None,
    monitor: FitMonitor | None = None,
) -> DeviceGram:
    """The Gram of prepared samples in the form that fits the budget, and the time."""
    n, row, most = len(vectors), len(vectors) * vectors.dtype.itemsize, len(vectors)
    if n * row <= budget:
        P = None if _is_stopped(monitor) else _upper_products(vectors, monitor)
        if P is not None:
            return _complete(P, kernel, vectors, segments)
        most = min(n, STOPPED_ROWS)
    capacity = rows_that_fit(row, budget - min(budget // 4, 2 * BLOCK_BYTES), most=most)
    if capacity < min(LEAST_ROWS, n):
        raise MemoryBudgetError(
            f"one row of the kernel matrix of {n} samples takes {in_words(row)}, and {in_words(budget)} "
            f"hold fewer than {min(LEAST_ROWS, n)} of them; raise `cache_size` or train on fewer samples"
        )
    return DeviceGram(
        None,
        _diagonal(kernel, vectors),
        segments,
        source=(kernel, vectors),
        capacity=capacity,
        budget=budget,
        error=vectors.error(kernel),
    )


class DeviceSharedProducts:
    """One data set under many kernels on a device: the products are computed once."""

    def __init__(
        self,
        X: Any,
        device: Any,
        *,
        memory: int | None,
        tolerance: float,
        segments: tuple[slice, ...] | None,
    ) -> None:
        self.X, self.device, self.memory = to_device(X, device), device, memory
        self.tolerance, self.segments = tolerance, segments
        self._products: tuple[Any, Tensor] = (None, None)
        self._values: Tensor | None = None  # storage of one kernel's values after the other

    def grams(
        self, kernels: Iterable[Kernel], monitor: FitMonitor | None = None
    ) -> Iterator[DeviceGram]:
        """The Gram of each kernel in turn; each is valid until the next one is taken."""
        last = None
        for kernel in kernels:
            if (
                last is not None
            ):  # the caller may still refer to it, and the next one needs its memory
                last.storage = last.storage.new_empty((0, last.shape[1]))
            last = self._gram(kernel, monitor)
            yield last

    def _gram(self, kernel: Kernel, monitor: FitMonitor | None) -> DeviceGram:
        if isinstance(kernel, Precomputed):
            return device_gram(kernel, self.X, self.device, segments=self.segments)
        vectors = prepare_on(self.device, kernel, self.X, tolerance=self.tolerance)
        key = (kernel.translation_invariant, vectors.distances, vectors.dtype)
        if self._products[0] != key or _is_stopped(monitor):
            self._products, self._values = (None, None), None
            budget = free_bytes(self.device)
            budget = budget if self.memory is None else min(self.memory, budget)
            size = len(vectors) ** 2 * vectors.dtype.itemsize
            held = 2 * size <= budget and not _is_stopped(monitor)
            P = _upper_products(vectors, monitor) if held else None
            if P is None:  # for lack of memory or of time
                return gram_of_vectors(kernel, vectors, budget, self.segments, monitor)
            self._products, self._values = (key, P), torch.empty_like(P)
        P, K = self._products[1], self._values
        assert K is not None
        for rows in row_blocks(len(vectors), _product_rows(vectors)):
            K[rows, rows.start :] = P[rows, rows.start :]
        return _complete(K, kernel, vectors, self.segments)


def device_blocks(
    kernel: Kernel, X: Any, vectors: DeviceVectors, *, memory: int | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Kernel values of X with prepared samples, a block of rows at a time, for prediction."""
    device = vectors.X.device
    budget = free_bytes(device) if memory is None else min(memory, free_bytes(device))
    row = vectors.dtype.itemsize * max(1, len(vectors))
    size = rows_that_fit(row, min(budget // 2, BLOCK_BYTES), most=_rows_in_time(vectors))
    queue = BoundedQueue(device)
    for rows in row_blocks(X.shape[0], size):
        yield rows, vectors.like(X[rows]).kernel_values(kernel, vectors)
        queue.wait()


def _rows_in_time(vectors: DeviceVectors) -> int:
    """Rows whose product with all samples does not take long."""
    terms = ROWS_TOGETHER * max(1, len(vectors)) * max(1, int(vectors.X.shape[1]))
    return ROWS_TOGETHER * max(1, PRODUCT_TERMS // terms)


def _product_rows(vectors: DeviceVectors) -> int:
    """Rows of one matrix product with all samples, and of what is done with its result."""
    return min(PRODUCT_ROWS, _rows_in_time(vectors))


def _is_stopped(monitor: FitMonitor | None) -> bool:
    return monitor is not None and monitor.should_stop()


def _upper_products(vectors: DeviceVectors, monitor: FitMonitor | None = None) -> Tensor | None:
    """x . z for all pairs, (n, n); of the lower half only blocks on the diagonal are filled.

    None if the monitor stops before all are computed.
    """
    n, queue = len(vectors), BoundedQueue(vectors.X.device)
    P = torch.empty((n, n), dtype=vectors.value_type, device=vectors.X.device)
    for rows in row_blocks(n, _product_rows(vectors)):
        if _is_stopped(monitor):
            return None
        rest = vectors.take(slice(rows.start, n))
        vectors.take(rows).products(rest, out=P[rows, rows.start :])
        queue.wait()
    return P


def _complete(
    K: Tensor, kernel: Kernel, vectors: DeviceVectors, segments: tuple[slice, ...] | None
) -> DeviceGram:
    """The Gram of a storage of upper products, which kernel values of both halves replace."""
    squares, size = vectors.epilogue_squares, _product_rows(vectors)
    for rows in row_blocks(len(vectors), size):
        rest = slice(rows.start, len(vectors))
        kernel.apply(K[rows, rest], squares[rows], squares[rest])
    mirror(K, size)
    own = _diagonal(kernel, vectors)
    return DeviceGram(K, own, segments, error=vectors.error(kernel))


def _diagonal(kernel: Kernel, vectors: DeviceVectors) -> Tensor:
    squares = as_numpy(vectors.squares.to(torch.float64))
    return torch.as_tensor(
        kernel.self_values(squares), dtype=torch.float64, device=vectors.X.device
    )


def _symmetric(K: Any, device: Any) -> Tensor:
    """A kernel matrix as float64 on a device; an error if it is not symmetric."""
    if not is_tensor(K):
        return to_device(symmetric_matrix(K, name="X (kernel='precomputed')"), device)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(f"X (kernel='precomputed') must be square; got shape {tuple(K.shape)}")
    K = K.to(device, torch.float64)
    parts = list(row_blocks(len(K), CHECKED_ROWS))
    largest = torch.stack([K[rows].abs().max() for rows in parts]).max()
    gap = torch.stack([(K[rows] - K[:, rows].T).abs().max() for rows in parts]).max()
    if not bool(torch.isfinite(largest)) or bool(gap > 1e-5 * largest):
        symmetric_matrix(as_numpy(K), name="X (kernel='precomputed')")  # raises the error
    return K
