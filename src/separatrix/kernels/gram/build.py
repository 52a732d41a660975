"""The kernel matrix in the form that fits the memory: held, cached by rows, or computed on demand.

All forms give the same values to the precision of their products, which shows in the repr. Kernels
over the same data share their inner products (`shared_products.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.errors import MemoryBudgetError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.callables import callables_in
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.gram.cached import CachedGram, LazyGram
from separatrix.kernels.gram.columns import LinearColumns
from separatrix.kernels.gram.held import HeldGram, reorder
from separatrix.kernels.gram.sources import ROWS_AT_ONCE, ProductSource, Source, make_source
from separatrix.kernels.object_kernels import FeatureKernel, as_vectors
from separatrix.kernels.prepared import TOLERANCE, prepare
from separatrix.runtime.blocks import default_budget, in_words, row_blocks, rows_that_fit
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import thread_count
from separatrix.types import Codes, Gram, Matrix


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
    monitor: FitMonitor | None = None,
) -> Gram:
    """The kernel matrix of X in the form that fits `memory` bytes: held, cached or lazy.

    Parameters
    ----------
    kernel
        A kernel of `separatrix.kernels`.
    X
        Samples, (n, d), a list of objects, or the matrix itself if the kernel is `Precomputed`.
    memory
        Bytes for kernel values; None for a share of the machine's memory.
    segments
        Slices of the rows of each class, if rows are sorted by class.
    tolerance
        Largest error of a float32 kernel value; beyond it, values are float64.
    threads
        Number of threads; None for all cores.
    hold
        False computes rows lazily even if the full matrix would fit; use it under a time limit.
    order
        Row numbers of X: rows and columns of the matrix are in this order.
    device
        A torch device, for a `DeviceGram`; None for the CPU.
    monitor
        On a device, a monitor that stops leaves the matrix incomplete: its rows are computed when needed.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> make_gram(Gaussian(0.1), X)
    HeldGram(3 x 3, float64, 72 bytes)
    """
    if device is not None:
        from separatrix.kernels.gram.device_gram import device_gram  # torch is optional

        return device_gram(
            kernel,
            X,
            device,
            memory=memory,
            segments=segments,
            tolerance=tolerance,
            order=order,
            monitor=monitor,
        )
    if isinstance(kernel, Precomputed):
        K = symmetric_matrix(X, name="X (kernel='precomputed')")
        return HeldGram(K if order is None else reorder(K, order), segments=segments)
    budget = default_budget() if memory is None else memory
    source = make_source(
        kernel, X, tolerance=tolerance, budget=budget, threads=threads, order=order
    )
    # a function of two objects costs more than all that is computed with its values
    costly = kernel.takes != "vectors" and bool(callables_in(kernel))
    gram = gram_of(source, budget, segments, hold=hold or costly)
    gram.columns = LinearColumns.of(kernel, X, order)
    return gram


def gram_of(
    source: Source, budget: int, segments: tuple[slice, ...] | None, *, hold: bool = True
) -> HeldGram | LazyGram:
    """The Gram of a source in the form that fits the budget."""
    row = source.n * source.dtype.itemsize
    if hold and row * source.n <= budget:
        return HeldGram(
            source.matrix(), diagonal=source.diagonal(), segments=segments, error=source.error
        )
    if row > budget:
        raise MemoryBudgetError(
            f"one row of the kernel matrix of {source.n} samples takes {in_words(row)}, more than the "
            f"budget of {in_words(budget)}; raise `cache_size` or train on fewer samples"
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
    """Kernel values of X with Z, a block of rows at a time, for prediction."""
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
