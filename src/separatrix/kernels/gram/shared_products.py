"""One data set under many kernels: inner products, or the level products of a family, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.gram.build import gram_of, make_gram
from separatrix.kernels.gram.columns import LinearColumns
from separatrix.kernels.gram.held import HeldGram
from separatrix.kernels.gram.sources import ProductSource, make_source, strips
from separatrix.kernels.object_kernels import ObjectKernel
from separatrix.kernels.prepared import SMALL, TOLERANCE, precision
from separatrix.runtime.blocks import default_budget
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Gram, Matrix, Vector


class SharedProducts:
    """One data set under many kernels: the products are computed once, each kernel is an epilogue.

    Parameters
    ----------
    X
        Samples, (n, d), or a list of objects.
    memory
        Bytes for kernel values; None for a share of the machine's memory.
    tolerance
        Largest error of a float32 kernel value; beyond it, values are float64.
    threads
        Number of threads; None for all cores.
    segments
        Slices of the rows of each class, if rows are sorted by class.
    device
        A torch device; None for the CPU.

    Examples
    --------
    >>> from separatrix.kernels import Gaussian, Polynomial
    >>> shared = SharedProducts(np.arange(6.0).reshape(3, 2))
    >>> for gram in shared.grams([Polynomial(2), Polynomial(3)]):
    ...     print(gram.matrix[0, 1])
    9.0
    27.0
    """

    def __init__(
        self,
        X: Any,
        *,
        memory: int | None = None,
        tolerance: float = TOLERANCE,
        threads: int | None = None,
        segments: tuple[slice, ...] | None = None,
        device: Any = None,
    ) -> None:
        self.device = device
        self._on_device: Any = None  # the products there, once they are needed
        self.X, self.tolerance, self.segments = X, tolerance, segments
        self.memory = memory
        self.budget = default_budget() if memory is None else memory
        self.threads = threads or thread_count()
        self._products: dict[tuple[Any, bool, np.dtype[Any]], Matrix] = {}
        self._values: dict[np.dtype[Any], Matrix] = {}
        self._wanted: dict[Any, set[int]] = {}  # levels of each family of kernels on objects
        self._levels: tuple[Any, dict[int, tuple[Matrix, Vector]]] = (None, {})

    def grams(self, kernels: Iterable[Kernel], monitor: FitMonitor | None = None) -> Iterator[Gram]:
        """The Gram of each kernel in turn; each is valid until the next one is taken.

        Kernels of one family share the products of their levels if they follow each other. A monitor
        that stops leaves the matrices on a device incomplete.
        """
        kernels = list(kernels)
        if self.device is not None:
            yield from self._grams_on_device(kernels, monitor)
            return
        for kernel in kernels:
            if kernel.base is not None:
                levels = self._wanted.setdefault(kernel.base.family, set())
                levels.update(level for level, _ in kernel.base.levels)
        for kernel in kernels:
            yield self._gram(kernel)

    def _gram(self, kernel: Kernel) -> Gram:
        if isinstance(kernel, Precomputed):
            return make_gram(kernel, self.X, segments=self.segments)
        if kernel.base is not None and self._levels_fit(kernel.base):
            return self._of_levels(kernel, kernel.base)
        source = make_source(
            kernel, self.X, tolerance=self.tolerance, budget=self.budget, threads=self.threads
        )
        size = source.n * source.n * source.dtype.itemsize
        if not isinstance(source, ProductSource) or 2 * size > self.budget:
            return gram_of(source, self.budget, self.segments)
        P = self._shared(source, size)
        if source.dtype not in self._values:
            self._values = {source.dtype: np.empty_like(P)}
        K = self._values[source.dtype]
        squares = source.vectors.squares

        def strip(rows: slice) -> None:
            K[rows] = P[rows]
            kernel.apply(K[rows], squares[rows], squares)

        in_threads(strip, strips(P), threads=self.threads)
        gram = HeldGram(K, diagonal=source.diagonal(), segments=self.segments)
        gram.columns = LinearColumns.of(kernel, self.X, None)
        return gram

    def _grams_on_device(self, kernels: list[Kernel], monitor: FitMonitor | None) -> Iterator[Gram]:
        from separatrix.kernels.gram.device_gram import DeviceSharedProducts  # torch is optional

        if self._on_device is None:
            self._on_device = DeviceSharedProducts(
                self.X,
                self.device,
                memory=self.memory,
                tolerance=self.tolerance,
                segments=self.segments,
            )
        yield from self._on_device.grams(kernels, monitor)

    def _levels_fit(self, base: ObjectKernel) -> bool:
        matrices = base.matrices_of(self._wanted[base.family]) + 2
        return matrices * 8 * len(self.X) ** 2 <= self.budget

    def _of_levels(self, kernel: Kernel, base: ObjectKernel) -> Gram:
        """The weighted sum of the products of the kernel's levels, then the epilogue."""
        held = self._levels[1] if self._levels[0] == base.family else {}
        if not all(level in held for level, _ in base.levels):
            self._levels = (None, {})  # frees memory for the next ones
            wanted = sorted(self._wanted[base.family])
            dtype = np.dtype(np.float32 if len(self.X) ** 2 > SMALL else np.float64)
            found = base.level_products(self.X, wanted, dtype, self.threads)
            self._levels = (base.family, dict(zip(wanted, found, strict=True)))
        parts = [(weight, *self._levels[1][level]) for level, weight in base.levels]
        with np.errstate(over="ignore"):  # `precision` reports it
            squares: Vector = np.sum([weight * own for weight, _, own in parts], axis=0)
        single = all(P.dtype == np.float32 for _, P, _ in parts)
        dtype = precision(kernel, squares, self.tolerance, can_be_float32=single)
        K = np.zeros((len(squares), len(squares)), dtype)
        for weight, P, _ in parts:
            K += P if weight == 1 else dtype.type(weight) * P

        def strip(rows: slice) -> None:
            kernel.apply(K[rows], squares[rows], squares)

        in_threads(strip, strips(K), threads=self.threads)
        error = kernel.error(float(squares.max(initial=0.0)), float(np.finfo(K.dtype).eps))
        own = kernel.self_values(squares)
        return HeldGram(K, diagonal=own, segments=self.segments, error=error)

    def _shared(self, source: ProductSource, size: int) -> Matrix:
        key = (source.kernel.base, source.kernel.translation_invariant, source.dtype)
        if key not in self._products:
            if (len(self._products) + 2) * size > self.budget:
                self._products.clear()
            self._products[key] = source.vectors.own_products(self.threads)
        return self._products[key]
