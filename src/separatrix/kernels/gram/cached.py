"""The kernel matrix by rows: computed when they are fetched, and cached by column segment."""

from __future__ import annotations

import numpy as np

from separatrix.kernels.gram.columns import LinearColumns
from separatrix.kernels.gram.sources import Source
from separatrix.runtime.blocks import in_words, rows_that_fit
from separatrix.types import Codes, Matrix, Vector


class LazyGram:
    """A kernel matrix whose values are computed when they are needed and never stored."""

    columns: LinearColumns | None = None  # samples of a linear kernel
    keeps_rows = False

    def __init__(
        self, source: Source, *, batch: int, segments: tuple[slice, ...] | None = None
    ) -> None:
        n = source.n
        self.source, self.error, self.dtype = source, source.error, source.dtype
        self.shape = (n, n)
        self.segments = segments or (slice(0, n),)
        self.batch = self.capacity = batch

    def diagonal(self) -> Vector:
        return self.source.diagonal()

    def tile(self, rows: Codes | slice, columns: Codes | slice) -> Matrix:
        return self.source.tile(rows, columns)

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        return self.source.tile(index, self.segments[segment]), np.arange(len(index))

    def fetch_many(self, wanted: dict[int, Codes]) -> dict[int, tuple[Matrix, Codes]]:
        """`fetch` of the rows wanted of several segments."""
        return {segment: self.fetch(index, segment) for segment, index in wanted.items()}

    def __repr__(self) -> str:
        n, m = self.shape
        return f"{type(self).__name__}({n} x {m}, {self.dtype}{self._storage_size()})"

    def _storage_size(self) -> str:
        return ""


class CachedGram(LazyGram):
    """A kernel matrix whose rows are cached by column segment; the least recently used are evicted."""

    keeps_rows = True

    def __init__(
        self, source: Source, *, budget: int, batch: int, segments: tuple[slice, ...] | None = None
    ) -> None:
        super().__init__(source, batch=batch, segments=segments)
        n = source.n
        self.capacity = rows_that_fit(n * source.dtype.itemsize, budget, most=n)
        self.batch = min(batch, self.capacity)
        widths = [segment.stop - segment.start for segment in self.segments]
        self._storage = [np.empty((self.capacity, width), source.dtype) for width in widths]
        self._slots = np.full((len(widths), n), -1)  # row -> its slot, or -1
        self._rows = np.full((len(widths), self.capacity), -1)  # slot -> its row, or -1
        self._last_use = np.zeros((len(widths), self.capacity), dtype=np.int64)
        self._clock = 0
        self._filled = [0] * len(widths)  # slots of each segment that have ever been used

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        return self.fetch_many({segment: index})[segment]

    def fetch_many(self, wanted: dict[int, Codes]) -> dict[int, tuple[Matrix, Codes]]:
        """Rows of several segments, computed at once: the storage of each and the slots of the rows."""
        self._clock += 1
        parts = []
        for segment, index in wanted.items():
            slot_of, last_use = self._slots[segment], self._last_use[segment]
            missing = index[slot_of[index] < 0]
            if len(missing) > 1 and np.any(missing[1:] <= missing[:-1]):
                missing = np.unique(missing)
            last_use[slot_of[index[slot_of[index] >= 0]]] = self._clock
            if len(missing):
                slots = self._free_slots(len(missing), segment)
                slot_of[missing] = slots
                self._rows[segment, slots] = missing
                last_use[slots] = self._clock
                parts.append((missing, self.segments[segment], self._storage[segment], slots))
        if parts:
            self.source.fill_rows(parts)
        return {s: (self._storage[s], self._slots[s][index]) for s, index in wanted.items()}

    def _free_slots(self, count: int, segment: int) -> Codes:
        """Slots never used, or else the least recently used ones."""
        filled = self._filled[segment]
        if filled + count <= self.capacity:
            self._filled[segment] += count
            return np.arange(filled, filled + count)
        slots = np.sort(np.argsort(self._last_use[segment], kind="stable")[:count])
        self._filled[segment] = self.capacity
        evicted = self._rows[segment, slots]
        self._slots[segment, evicted[evicted >= 0]] = -1
        return slots

    def _storage_size(self) -> str:
        return f", {self.capacity} rows in {in_words(sum(part.nbytes for part in self._storage))}"
