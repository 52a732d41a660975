"""The kernel matrix by rows: computed when they are fetched, and cached by column segment."""

from __future__ import annotations

import numpy as np

from separatrix.kernels.gram.sources import ROWS_AT_ONCE, Source
from separatrix.runtime.blocks import in_words, row_blocks, rows_that_fit
from separatrix.types import Codes, Matrix, Vector


class LazyGram:
    """A kernel matrix whose values are computed when they are needed and never stored."""

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
        self._clock += 1
        slot_of, storage = self._slots[segment], self._storage[segment]
        missing = np.unique(index[slot_of[index] < 0])
        self._last_use[segment, slot_of[index[slot_of[index] >= 0]]] = self._clock
        for part in row_blocks(len(missing), ROWS_AT_ONCE):
            rows = missing[part]
            slots = self._free_slots(len(rows), segment)
            if slots[-1] - slots[0] == len(slots) - 1:  # contiguous: written in place
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
