"""Neighbours among sparse rows: one pass over their stored values serves a group of queries.

The features that a group uses lie side by side for all its queries, so a stored value of a row is
multiplied with all of them at once; features that no query of the group uses cost one lookup. Of
squares, |x - q|^2 = |q|^2 + |x|^2 - 2 x . q; of sizes, |x - q| = |q| + |x| + sum (|x_j - q_j| - |x_j| -
|q_j|) over the features both have. That is float32, for K stored values of a row off by less than
2 (K + 8) 2^-24 times (|q| + |x|)^2 <= 2 |q|^2 + 2 |x|^2, or |q| + |x|, which is subtracted; candidates
get an exact distance in float64, feature by feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uintp
from scipy.sparse import csr_array, issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import EUCLIDEAN, Metric
from separatrix.solvers.nearest.ranking import Neighbors, enter
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.solvers.rows import CompiledRows
from separatrix.types import Codes, Matrix, Vector

GROUP = 64  # queries


class QueryColumns(NamedTuple):
    """A group of queries, with the features that it uses side by side."""

    stored: CompiledRows
    skip: Codes  # shape: (group,)
    sizes: Vector  # shape: (group,); sums of squares or sizes
    slack: Vector  # shape: (group,); of their rounding
    slots: Codes  # shape: (d,); row of `spread` of each feature, or -1
    spread: Matrix  # shape: (used, group); float32, scaled


class Sparse(Index):
    """CSR rows, canonical, and queries that are CSR too, or dense; Euclidean or Manhattan."""

    method = "sparse"

    def __init__(self, X: Any, metric: Metric) -> None:
        self._X, self._metric = X, metric
        self._power = 2 if metric.code == EUCLIDEAN else 1
        largest = float(np.abs(X.data).max(initial=0.0)) * np.sqrt(X.shape[1])
        self._scale = scale_of(largest)
        scaled = X.data * self._scale
        self._bounded = largest == 0 or bool(np.abs(scaled).max() < FAR)  # else all is measured
        if not self._bounded:
            scaled[:] = 0.0
        self._off = self._power * 2 * (int(np.diff(X.indptr).max(initial=0)) + 8) * 2.0**-24
        self._rows = CompiledRows(X.data, X.indices, X.indptr)
        self._scaled = scaled.astype(np.float32)
        self._starts = ((1 - self._off) * self._sizes(X.indptr, scaled)).astype(np.float32)
        self.nbytes = int(self._scaled.nbytes + self._starts.nbytes)

    def answer(self, search: Search) -> Neighbors:
        Q = search.Q if issparse(search.Q) else csr_array(search.Q)
        with np.errstate(over="ignore"):  # infinite is far
            sizes = self._sizes(Q.indptr, Q.data * self._scale)
        far = ~(sizes < FAR**self._power) | (not self._bounded)
        slack = self._off * sizes + NEXT_TO_NOTHING**2
        slack[far], sizes[far] = np.inf, 0.0
        n = self._X.shape[0]
        at_once = max(1, CHUNK // max(1, GROUP * (self._X.nnz // n + 1)))
        unit, code = self._scale**self._power, self._metric.code

        def scan(group: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            ends = Q.indptr[group.start : group.stop + 1].astype(np.int64)
            columns, values = Q.indices[ends[0] : ends[-1]], Q.data[ends[0] : ends[-1]]
            used, positions = np.unique(columns, return_inverse=True)
            slots = np.full(Q.shape[1], -1, np.int32)
            slots[used] = np.arange(len(used))
            spread = np.zeros((len(used), len(ends) - 1), np.float32)
            bounded = np.repeat(~far[group], np.diff(ends))
            rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            spread[positions[bounded], rows[bounded]] = values[bounded] * self._scale
            stored = CompiledRows(values, columns, ends - ends[0])
            of_group = search.skip[group], sizes[group], slack[group]
            queries = QueryColumns(stored, *of_group, slots, spread)
            for block in row_blocks(n, at_once):
                if monitor.should_stop():
                    return
                bounds = self._scaled, self._starts, unit
                _scan(block.start, block.stop, self._rows, *bounds, queries, code, heaps)

        return search.in_groups(scan, GROUP)

    def _sizes(self, ends: Codes, values: Vector) -> Vector:
        """Sums of the squares, or of the sizes, of each row."""
        n = len(ends) - 1
        rows = np.repeat(np.arange(n), np.diff(ends))
        return np.asarray(np.bincount(rows, np.abs(values) ** self._power, n), np.float64)


@njit(cache=True, nogil=True)
def _scan(
    start: int,
    stop: int,
    sparse: CompiledRows,
    scaled: Vector,
    starts: Vector,
    unit: float,
    queries: QueryColumns,
    code: int,
    heaps: Neighbors,
) -> None:
    """Compute exact distances of the rows that may be neighbours of a group of queries."""
    ends, columns = sparse.indptr, sparse.indices
    slots, spread, distances = queries.slots, queries.spread, heaps.distances
    skip, slack, sizes = queries.skip, queries.slack, queries.sizes
    count = distances.shape[0]
    sums, limits = np.empty(count, np.float32), np.empty(count, np.float32)
    for i in range(count):
        limits[i] = distances[i, 0] * unit + slack[i] - sizes[i]
    for row in range(start, stop):
        sums[:] = starts[row]
        for position in range(ends[row], ends[row + 1]):
            used = slots[columns[position]]
            if used >= 0:
                if code == EUCLIDEAN:
                    _less_product(sums, scaled[position], spread, used)
                else:
                    _less_shared(sums, scaled[position], spread, used)
        hits = 0
        for i in range(count):
            hits += sums[i] <= limits[i]
        if not hits:
            continue
        for i in range(count):
            if sums[i] <= limits[i] and row != skip[i]:
                distance = _distance(sparse, row, queries.stored, i, code)
                if enter(heaps, i, distance, row):
                    limits[i] = distances[i, 0] * unit + slack[i] - sizes[i]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _less_product(sums: Vector, value: float, spread: Matrix, used: int) -> None:
    used, twice = uintp(used), 2 * value
    for i in range(sums.shape[0]):
        sums[i] -= twice * spread[used, i]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _less_shared(sums: Vector, value: float, spread: Matrix, used: int) -> None:
    used, size = uintp(used), abs(value)
    for i in range(sums.shape[0]):
        sums[i] += abs(value - spread[used, i]) - abs(spread[used, i]) - size


@njit(cache=True, nogil=True)
def _distance(A: CompiledRows, row: int, B: CompiledRows, i: int, code: int) -> float:
    """Raw distance of two sparse rows, feature by feature in float64."""
    a_values, a_columns, a_ends = A
    b_values, b_columns, b_ends = B
    a, a_end, b, b_end = a_ends[row], a_ends[row + 1], b_ends[i], b_ends[i + 1]
    total = 0.0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and a_columns[a] < b_columns[b]):
            gap = a_values[a]
            a += 1
        elif a == a_end or b_columns[b] < a_columns[a]:
            gap = b_values[b]
            b += 1
        else:
            gap = a_values[a] - b_values[b]
            a += 1
            b += 1
        total += gap * gap if code == EUCLIDEAN else abs(gap)
    return total
