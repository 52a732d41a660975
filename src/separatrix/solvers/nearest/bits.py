"""Zeros and ones: the distance is the number of bits that differ, counted for 64 rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy.sparse import csr_array, issparse

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import LANES, REPEAT_16_BITS, blocks_of, first_bit, hamming_mask
from separatrix.solvers.nearest.groups import over_groups, search_with_fallback
from separatrix.solvers.nearest.ranking import Neighbors, no_neighbors
from separatrix.types import Codes, Flags, Matrix, Vector

if TYPE_CHECKING:
    from separatrix.solvers.nearest.index import Index

MOST_FEATURES = 65_534  # a count has 16 bits, and one value says that any count will do
WORD = 16  # features in a word
GROUP = 512  # queries; starting a group costs as much as comparing 100,000 pairs
SOON = 64  # rows that mostly tell
TILE = 16  # blocks of rows that stay in the nearest cache while all queries pass


class Bits:
    """Rows of zeros and ones, packed; for every p-norm with a finite p, whose raw distances all are counts.

    Queries with other values are handed on to `otherwise`; of CSR rows as they came, else dense.
    """

    method = "bits"

    def __init__(self, X: Any, otherwise: Index) -> None:
        self._n, self._d = X.shape
        self._otherwise = otherwise
        self._sparse = issparse(X)
        words, _ = _packed(X)
        self._blocks = blocks_of(words)

    @property
    def nbytes(self) -> int:
        """Bytes of the packed rows."""
        return int(self._blocks.nbytes)

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query; see `Index`."""
        words, binary = _packed(Q)
        if issparse(Q) and not self._sparse:
            Q = Q.toarray()

        def here(some: Any) -> Neighbors:
            return self._nearest(words[some], k, skip[some], threads=threads, monitor=monitor)

        return search_with_fallback(
            here, ~binary, self._otherwise, Q, k, skip, threads=threads, monitor=monitor
        )

    def _nearest(
        self, words: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None
    ) -> Neighbors:
        m = len(words)
        found = no_neighbors(m, k)
        queries = words * REPEAT_16_BITS
        positions = 2 * k + LANES
        group = rows_that_fit(positions + self._d, MEBIBYTE, most=min(GROUP, -(-m // threads)))
        at_once = max(1, 8 * CHUNK // (group * LANES * max(words.shape[1], 1)))

        def scan(some: slice, monitor: FitMonitor) -> None:
            count = some.stop - some.start
            met = np.empty((count, positions), np.int64), np.empty((count, positions), np.uint16)
            sizes, limits = np.zeros(count, np.int64), np.full(count, self._d + 1, np.uint16)
            histogram = np.zeros((count, self._d + 1), np.int64)
            for blocks in row_blocks(len(self._blocks), at_once):
                if monitor.should_stop():
                    return
                _scan(
                    self._blocks, blocks.start, blocks.stop, self._n, queries[some], skip[some], k,
                    *met, sizes, limits, histogram,
                )  # fmt: skip
            _sort(*met, sizes, limits, histogram, found.distances[some], found.rows[some])

        in_place = no_neighbors(m, 0)  # they come sorted
        over_groups(scan, m, group, in_place, threads=threads, monitor=monitor)
        return found


def packs(X: Any) -> bool:
    """Whether samples, dense or CSR, are zeros and ones only, and few enough of them in a row."""
    if X.shape[1] > MOST_FEATURES or not _packed(X[:SOON])[1].all():
        return False
    return bool(_packed(X)[1].all())


def _packed(X: Any) -> tuple[Any, Flags]:
    """Words of the rows, (n, words), and which rows are zeros and ones only."""
    n, d = X.shape
    words = np.zeros((n, -(-d // WORD)), np.uint64)
    binary = np.ones(n, np.bool_)
    if not issparse(X):
        _pack(np.ascontiguousarray(X), words, binary)
        return words, binary
    if not X.has_canonical_format:
        X = csr_array(X, copy=True)
        X.sum_duplicates()
    _pack_csr(X.data, X.indices, X.indptr, words, binary)
    return words, binary


@njit(cache=True, nogil=True)
def _pack(X: Any, words: Any, binary: Flags) -> None:
    n, d = X.shape
    for i in range(n):
        strange = 0
        for w in range(words.shape[1]):
            word = np.uint64(0)
            for j in range(WORD * w, min(WORD * (w + 1), d)):
                one = X[i, j] == 1
                strange += (X[i, j] != 0) != one
                word |= np.uint64(one) << np.uint64(j - WORD * w)
            words[i, w] = word
        binary[i] = strange == 0


@njit(cache=True, nogil=True)
def _pack_csr(data: Vector, indices: Codes, indptr: Codes, words: Any, binary: Flags) -> None:
    for i in range(words.shape[0]):
        for position in range(indptr[i], indptr[i + 1]):
            j = indices[position]
            if data[position] == 1:
                words[i, j // WORD] |= np.uint64(1) << np.uint64(j % WORD)
            elif data[position] != 0:
                binary[i] = False


@njit(cache=True, nogil=True)
def _scan(
    blocks: Any,
    start: int,
    stop: int,
    n: int,
    queries: Any,
    skip: Codes,
    k: int,
    met_rows: Codes,
    met_counts: Codes,
    sizes: Codes,
    limits: Any,
    histogram: Codes,
) -> None:
    """Gather the rows that come below the limit, the least count that k rows or more do not exceed.

    Rows come in ascending order, so a later row as far as that is not among the k nearest.
    """
    counts = np.empty(LANES, np.uint16)
    for first in range(start, stop, TILE):
        for i in range(queries.shape[0]):
            size, limit = sizes[i], limits[i]
            below = 0
            for count in range(limit):
                below += histogram[i, count]
            for b in range(first, min(first + TILE, stop)):
                mask = hamming_mask(blocks, b, queries, i, counts, limit)
                while mask != 0:
                    lane = first_bit(mask)
                    mask &= mask - np.uint64(1)
                    row, count = LANES * b + lane, counts[lane]
                    if count >= limit or row >= n or row == skip[i]:
                        continue
                    if size == met_rows.shape[1]:
                        size = _forget(met_rows, met_counts, i, limit, k - below)
                    met_rows[i, size], met_counts[i, size] = row, count
                    size += 1
                    histogram[i, count] += 1
                    below += 1
                    while below >= k:
                        limit -= np.uint16(1)
                        below -= histogram[i, limit]
            sizes[i], limits[i] = size, limit


@njit(cache=True, nogil=True)
def _forget(met_rows: Codes, met_counts: Codes, i: int, limit: float, ties: int) -> int:
    """Keep what is below the limit and the first `ties` at it; how many that are."""
    size = 0
    for position in range(met_rows.shape[1]):
        row, count = met_rows[i, position], met_counts[i, position]
        tie = count == limit and ties > 0
        ties -= tie
        if count < limit or tie:
            met_rows[i, size], met_counts[i, size] = row, count
            size += 1
    return size


@njit(cache=True, nogil=True)
def _sort(
    met_rows: Codes,
    met_counts: Codes,
    sizes: Codes,
    limits: Any,
    histogram: Codes,
    distances: Matrix,
    rows: Codes,
) -> None:
    """The k nearest of the rows that were met, nearest first: a counting sort."""
    k = distances.shape[1]
    for i in range(distances.shape[0]):
        start = 0
        for count in range(min(limits[i] + 1, histogram.shape[1])):
            start += histogram[i, count]
            histogram[i, count] = start - histogram[i, count]
        for position in range(sizes[i]):
            count = met_counts[i, position]
            if count <= limits[i] and histogram[i, count] < k:
                target = histogram[i, count]
                distances[i, target], rows[i, target] = count, met_rows[i, position]
                histogram[i, count] += 1
