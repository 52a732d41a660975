"""Binary rows: the distance is the number of differing bits, counted for 64 rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import LANES, REPEAT_16_BITS, blocks_of, first_bit, hamming_mask
from separatrix.runtime.sums import canonical
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Flags, Vector

MOST_FEATURES = 65_534  # counts have 16 bits, and one value means "no limit"
WORD = 16  # features in a word
GROUP = 512  # queries; starting a group costs as much as comparing 100,000 pairs
FIRST_ROWS = 64  # checked first: most data that are not binary show it here
TILE = 16  # blocks of rows that stay in the L1 cache for all queries


class Hits(NamedTuple):
    """Rows that may be the nearest of a group of queries, in the order of their numbers."""

    rows: Codes  # shape: (group, slots)
    counts: Any  # shape: (group, slots); uint16; differing bits
    sizes: Codes  # shape: (group,); slots in use
    limits: Any  # shape: (group,); uint16; the smallest count that at least k rows do not exceed
    histogram: Codes  # shape: (group, d + 1); of the counts

    @classmethod
    def none(cls, m: int, slots: int, d: int) -> Hits:
        """No hits of m queries, and no limits."""
        hits = (
            np.empty((m, slots), np.int64),
            np.empty((m, slots), np.uint16),
            np.zeros(m, np.int64),
        )
        return cls(*hits, np.full(m, d + 1, np.uint16), np.zeros((m, d + 1), np.int64))


class Bits(Index):
    """Packed binary rows; for every p-norm with a finite p, whose raw distances are bit counts.

    Queries with other values go to the `fallback` index: as CSR if the rows are, else dense.
    """

    method = "bits"

    def __init__(self, X: Any, fallback: Index) -> None:
        self._n, self._d = X.shape
        self._fallback = fallback
        self._sparse = issparse(X)
        self._blocks = blocks_of(_pack_rows(X)[0])
        self.nbytes = int(self._blocks.nbytes)

    def answer(self, search: Search) -> Neighbors:
        words, binary = _pack_rows(search.Q)
        if issparse(search.Q) and not self._sparse:
            search = search._replace(Q=search.Q.toarray())

        def search_bits(some: Any) -> Neighbors:
            return self._nearest(search.of(some), words[some])

        return search.with_fallback(search_bits, ~binary, self._fallback)

    def _nearest(self, search: Search, words: Any) -> Neighbors:
        k, queries = search.k, words * REPEAT_16_BITS
        slots, share = 2 * k + LANES, -(-len(words) // search.threads)
        group = rows_that_fit(slots + self._d, MEBIBYTE, most=min(GROUP, share))
        at_once = max(1, 8 * CHUNK // (group * LANES * max(words.shape[1], 1)))

        def scan(some: slice, found: Neighbors, monitor: FitMonitor) -> None:
            hits = Hits.none(some.stop - some.start, slots, self._d)
            own = queries[some], search.skip[some], k, hits
            for blocks in row_blocks(len(self._blocks), at_once):
                if monitor.should_stop():
                    return
                _scan(self._blocks, blocks.start, blocks.stop, self._n, *own)
            _sort(hits, found)

        return search.in_groups(scan, group, heaps=False)


def is_binary(X: Any) -> bool:
    """Whether samples, dense or CSR, hold only zeros and ones and have few enough features."""
    first = X[:FIRST_ROWS]
    if X.shape[1] > MOST_FEATURES:
        return False
    if not (_pack_rows(first)[1] if issparse(X) else (first == 0) | (first == 1)).all():
        return False
    return bool(_pack_rows(X)[1].all())


def _pack_rows(X: Any) -> tuple[Any, Flags]:
    """Words of the rows, (n, words), and which rows hold only zeros and ones."""
    n, d = X.shape
    words = np.zeros((n, -(-d // WORD)), np.uint64)
    binary = np.ones(n, np.bool_)
    if not issparse(X):
        _pack(np.ascontiguousarray(X), words, binary)
        return words, binary
    X = canonical(X)
    _pack_csr(X.data, X.indices, X.indptr, words, binary)
    return words, binary


@njit(cache=True, nogil=True)
def _pack(X: Any, words: Any, binary: Flags) -> None:
    n, d = X.shape
    for i in range(n):
        other_values = 0
        for w in range(words.shape[1]):
            word = np.uint64(0)
            for j in range(WORD * w, min(WORD * (w + 1), d)):
                one = X[i, j] == 1
                other_values += (X[i, j] != 0) != one
                word |= np.uint64(one) << np.uint64(j - WORD * w)
            words[i, w] = word
        binary[i] = other_values == 0


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
    blocks: Any, start: int, stop: int, n: int, queries: Any, skip: Codes, k: int, hits: Hits
) -> None:
    """Collect the rows below the limit: a later row at the limit is not among the k nearest."""
    hit_rows, hit_counts, sizes, limits, histogram = hits
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
                    if size == hit_rows.shape[1]:
                        size = _compact(hit_rows, hit_counts, i, limit, k - below)
                    hit_rows[i, size], hit_counts[i, size] = row, count
                    size += 1
                    histogram[i, count] += 1
                    below += 1
                    while below >= k:
                        limit -= np.uint16(1)
                        below -= histogram[i, limit]
            sizes[i], limits[i] = size, limit


@njit(cache=True, nogil=True)
def _compact(hit_rows: Codes, hit_counts: Codes, i: int, limit: float, ties: int) -> int:
    """Keep the hits below the limit and the first `ties` at it; return how many are left."""
    size = 0
    for position in range(hit_rows.shape[1]):
        row, count = hit_rows[i, position], hit_counts[i, position]
        tie = count == limit and ties > 0
        ties -= tie
        if count < limit or tie:
            hit_rows[i, size], hit_counts[i, size] = row, count
            size += 1
    return size


@njit(cache=True, nogil=True)
def _sort(hits: Hits, found: Neighbors) -> None:
    """Sort the k nearest of the hits, nearest first, by counting."""
    hit_rows, hit_counts, sizes, limits, histogram = hits
    distances, rows = found
    k = distances.shape[1]
    for i in range(distances.shape[0]):
        start = 0
        for count in range(min(limits[i] + 1, histogram.shape[1])):
            start += histogram[i, count]
            histogram[i, count] = start - histogram[i, count]
        for position in range(sizes[i]):
            count = hit_counts[i, position]
            if count <= limits[i] and histogram[i, count] < k:
                target = histogram[i, count]
                distances[i, target], rows[i, target] = count, hit_rows[i, position]
                histogram[i, count] += 1
