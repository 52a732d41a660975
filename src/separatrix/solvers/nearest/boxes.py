"""Neighbours in few dimensions: rows in small boxes, and boxes in larger ones, 16 to each.

Every level has exactly 16 children to a node, except the last node: node j of a level holds the children
16 j, 16 j + 1, ... of the level below, and rows lie in `order` leaf after leaf. A query descends to the
nearest boxes first. The distances to the 16 rows or boxes of a node are computed side by side in
float32; rows that these do not rule out get an exact distance.

A float32 coordinate is off by at most 2^-24 of itself; so rows and queries have moved by at most
2^-24 sqrt(d) (Euclidean), 2^-24 d (Manhattan) or 2^-24 (Chebyshev) of their largest coordinate, and a
sum is off by (d + 4) 2^-24 of itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import (
    FLOATS,
    boxes_within_mask,
    first_bit,
    rows_within_mask,
    squared_distance,
)
from separatrix.runtime.threads import in_threads
from separatrix.solvers.nearest.cells import order_by_cells
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Metric, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors, sort_heap
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.types import Codes, Matrix, Vector

GROUP = 1024  # queries
PER_FEATURE = 300.0  # nanoseconds of a query, about
QUERY_CELLS = (4096, 256, FLOATS)  # of queries, so that those near each other follow each other
BLOCK = 2**14  # rows that a thread scales or lays out at a time
NORMS = {EUCLIDEAN: 2, MANHATTAN: 1, CHEBYSHEV: 0}  # as the masks name them


class BoxTree(NamedTuple):
    """Rows in leaves of 16, and the boxes of all levels above; unused lanes are infinitely far."""

    rows: Any  # shape: (leaves, d, 16); float32
    margins: Vector  # shape: (leaves,); float32; how far rounding may have moved their rows
    boxes: (
        Any  # shape: (nodes, 2 d + 1, 16); float32; level after level; the last: of the rows inside
    )
    starts: Codes  # shape: (levels + 1,); the first node of each level in `boxes`
    order: Codes  # shape: (n,); row numbers, leaf after leaf


class ScaledQueries(NamedTuple):
    """Queries, and the same scaled and rounded."""

    Q: Matrix  # shape: (m, d)
    skip: Codes  # shape: (m,)
    Z: Matrix  # shape: (m, d); float32
    moved: Vector  # shape: (m,); by rounding


class Boxes(Index):
    """Dense rows of few features, in boxes."""

    method = "boxes"

    def __init__(self, X: Any, metric: Metric, *, threads: int = 1) -> None:
        self._X, self._metric = X, metric
        d = X.shape[1]
        sums, lows, highs = _summary(X)
        self._centre = sums / len(X)
        self._scale = scale_of(float(np.maximum(highs - self._centre, self._centre - lows).max()))
        self._off = 2.0**-24 * {EUCLIDEAN: np.sqrt(d), MANHATTAN: d, CHEBYSHEV: 1}[metric.code]
        Z, largest = self._scale_rows(X, threads)
        self._tree = _build_tree(Z, largest * np.float32(self._off), threads)
        self.nbytes = sum(part.nbytes for part in self._tree)

    def answer(self, search: Search) -> Neighbors:
        Z, largest = self._scale_rows(search.Q, search.threads)

        def search_boxes(some: Any) -> Neighbors:
            return self._nearest(search.of(some), Z[some], largest[some])

        far = ~(largest < FAR)
        return search.with_fallback(search_boxes, far, Exhaustive(self._X, self._metric))

    def _nearest(self, search: Search, Z: Matrix, largest: Vector) -> Neighbors:
        order = order_by_cells(Z, QUERY_CELLS, threads=search.threads)
        moved = self._off * largest.astype(np.float64) + NEXT_TO_NOTHING
        queries = ScaledQueries(search.Q, search.skip, Z, moved)
        code = self._metric.code
        unit = self._scale ** (2 if code == EUCLIDEAN else 1)
        found = no_neighbors(len(Z), search.k)

        def scan(group: slice, monitor: FitMonitor) -> None:
            if not monitor.should_stop():
                _search(self._tree, self._X, order[group], queries, unit, code, NORMS[code], found)

        search.over_groups(scan, GROUP, cost=PER_FEATURE * Z.shape[1])
        return found

    def _scale_rows(self, X: Any, threads: int) -> tuple[Matrix, Vector]:
        """Scaled rows, and the largest magnitude in each, in float32."""
        Z, largest = np.empty(X.shape, np.float32), np.empty(len(X), np.float32)

        def scale(rows: slice) -> None:
            _scale(X[rows], self._centre, self._scale, Z[rows], largest[rows])

        in_threads(scale, row_blocks(len(X), BLOCK), threads=threads)
        return Z, largest


def _build_tree(Z: Matrix, moved: Vector, threads: int) -> BoxTree:
    """The tree of scaled rows, and of how far rounding may have moved them."""
    n, d = Z.shape
    sizes = [FLOATS]
    while sizes[-1] < n:
        sizes.append(FLOATS * sizes[-1])
    order = order_by_cells(Z, sizes[::-1], threads=threads)
    counts = [-(-n // size) for size in sizes]  # leaves, and the nodes of every level above
    starts = np.cumsum([0, *counts[1:]])
    rows = np.empty((counts[0], d, FLOATS), np.float32)
    boxes = np.full((starts[-1], 2 * d + 1, FLOATS), np.inf, np.float32)
    margins = np.empty(counts[0], np.float32)

    def fill(leaves: slice) -> None:
        _fill_leaves(Z, moved, order, leaves.start, leaves.stop, rows, margins, boxes)

    in_threads(fill, row_blocks(counts[0], BLOCK // (4 * FLOATS)), threads=threads)
    _join_boxes(boxes, starts, np.array(counts))
    return BoxTree(rows, margins, boxes, starts, order)


@njit(cache=True, nogil=True)
def _summary(X: Any) -> tuple[Vector, Vector, Vector]:
    """Sums, lowest and highest values of the columns."""
    d = X.shape[1]
    sums, lows, highs = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
    for i in range(X.shape[0]):
        for j in range(d):
            value = np.float64(X[i, j])
            sums[j] += value
            lows[j], highs[j] = min(lows[j], value), max(highs[j], value)
    return sums, lows, highs


@njit(cache=True, nogil=True)
def _scale(X: Any, centre: Vector, scale: float, Z: Matrix, largest: Vector) -> None:
    for i in range(X.shape[0]):
        most = np.float32(0.0)
        for j in range(X.shape[1]):
            Z[i, j] = (np.float64(X[i, j]) - centre[j]) * scale
            most = max(most, abs(Z[i, j]))
        largest[i] = most


@njit(cache=True, nogil=True)
def _fill_leaves(
    Z: Matrix,
    moved: Vector,
    order: Codes,
    first: int,
    last: int,
    rows: Any,
    margins: Vector,
    boxes: Any,
) -> None:
    """Rows of some leaves side by side, and the boxes around them."""
    n, d = Z.shape
    for leaf in range(first, last):
        start, stop = leaf * FLOATS, min((leaf + 1) * FLOATS, n)
        margin = np.float32(0.0)
        for position in range(start, stop):
            margin = max(margin, moved[order[position]])
        margins[leaf] = margin
        for j in range(d):
            low, high = np.float32(np.inf), np.float32(-np.inf)
            for lane in range(stop - start, FLOATS):
                rows[leaf, j, lane] = low
            for position in range(start, stop):
                value = Z[order[position], j]
                rows[leaf, j, position - start] = value
                low, high = min(low, value), max(high, value)
            if len(boxes):
                boxes[leaf // FLOATS, 2 * j, leaf % FLOATS] = low
                boxes[leaf // FLOATS, 2 * j + 1, leaf % FLOATS] = high
        if len(boxes):
            boxes[leaf // FLOATS, 2 * d, leaf % FLOATS] = margin


@njit(cache=True, nogil=True)
def _join_boxes(boxes: Any, starts: Codes, counts: Codes) -> None:
    """The boxes of all levels above the leaves; the first one is filled."""
    for level in range(len(counts) - 2):
        for node in range(counts[level + 1]):
            below = boxes[starts[level] + node]
            above = boxes[starts[level + 1] + node // FLOATS]
            lanes = min(FLOATS, counts[level] - node * FLOATS)
            for j in range(below.shape[0]):
                is_low = j % 2 == 0 and j < below.shape[0] - 1
                end = below[j, 0]
                for lane in range(1, lanes):
                    end = min(end, below[j, lane]) if is_low else max(end, below[j, lane])
                above[j, node % FLOATS] = end


@njit(cache=True, nogil=True)
def _search(
    tree: BoxTree,
    X: Any,
    some: Codes,
    queries: ScaledQueries,
    unit: float,
    code: int,
    norm: int,
    heaps: Neighbors,
) -> None:
    """Find the neighbours of some queries, nearest boxes first; each is near the one before it."""
    rows, margins, boxes, starts, order = tree
    Q, skip, Z, moved = queries
    size = FLOATS * len(starts)  # of the stack of boxes yet to visit
    bounds, found = np.empty(size, np.float32), np.empty(FLOATS, np.float32)
    nodes, levels = np.empty(size, np.int64), np.empty(size, np.int64)
    distances = heaps.distances
    up = 1 + (Z.shape[1] + 8) * 2.0**-23  # a sum, its root and the limit are rounded
    for position, i in enumerate(some):
        bounds[0], levels[0], nodes[0], size = -np.inf, len(starts) - 1, 0, 1
        most, limit, changed = np.inf, np.float32(np.inf), position > 0
        if changed:
            most = _bound_by_last(X, Q, skip, some[position - 1], i, code, heaps)
        while size:
            if changed:
                scaled = most * unit
                scaled = np.sqrt(scaled) if norm == 2 else scaled
                limit, changed = np.float32((scaled + moved[i]) * up), False
            size -= 1
            bound, level, node = bounds[size], levels[size], nodes[size]
            if bound > limit:
                continue
            if level == 0:
                hits = rows_within_mask(rows, node, Z, i, limit + margins[node], norm)
                while hits:
                    slot = node * FLOATS + first_bit(hits)
                    hits &= hits - np.uint64(1)
                    if slot < len(order) and order[slot] != skip[i]:
                        row = np.int64(order[slot])
                        if code == EUCLIDEAN:
                            distance = squared_distance(X, row, Q, i, distances[i, 0])
                        else:
                            distance = raw_distance(X, row, Q, i, code, 2.0, distances[i, 0])
                        if distance <= distances[i, 0]:
                            enter(heaps, i, distance, row)
                changed = distances[i, 0] < most
                if changed:
                    most = distances[i, 0]
                continue
            hits = boxes_within_mask(boxes, starts[level - 1] + node, Z, i, limit, norm, found)
            first = size
            while hits:
                lane = first_bit(hits)
                hits &= hits - np.uint64(1)
                if found[lane] < np.inf:
                    spot = size
                    while spot > first and bounds[spot - 1] < found[lane]:
                        bounds[spot], nodes[spot] = bounds[spot - 1], nodes[spot - 1]
                        spot -= 1
                    bounds[spot], nodes[spot] = found[lane], node * FLOATS + lane
                    levels[size] = level - 1
                    size += 1
    for i in some:
        sort_heap(heaps, i)


@njit(cache=True, nogil=True)
def _bound_by_last(
    X: Any, Q: Matrix, skip: Codes, last: int, i: int, code: int, heaps: Neighbors
) -> float:
    """A raw distance within which query i has k rows: neighbours of the query before, and its row."""
    rows = heaps.rows
    k, most, count = rows.shape[1], 0.0, 0
    for position in range(-1, k):
        row = skip[last] if position < 0 else rows[last, position]
        if row >= 0 and row != skip[i] and count < k:
            if code == EUCLIDEAN:
                distance = squared_distance(X, row, Q, i, np.inf)
            else:
                distance = raw_distance(X, row, Q, i, code, 2.0, np.inf)
            if distance > most:
                most = distance
            count += 1
    return most if count == k else np.inf
