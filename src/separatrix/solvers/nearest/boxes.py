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
from numba import njit

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import (
    FLOATS,
    boxes_within_mask,
    first_bit,
    rows_within_mask,
    squared_distance,
)
from separatrix.solvers.nearest.cells import order_by_cells
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Metric, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.types import Codes, Matrix, Vector

GROUP = 256  # queries
BLOCK = 2**14  # rows scaled at a time
NORMS = {EUCLIDEAN: 2, MANHATTAN: 1, CHEBYSHEV: 0}  # as the masks name them


class BoxTree(NamedTuple):
    """Rows in leaves of 16, and the boxes of all levels above; unused lanes are infinitely far."""

    rows: Any  # shape: (leaves, d + 1, 16); float32; the last: how far rounding may have moved rows
    boxes: (
        Any  # shape: (nodes, 2 d + 1, 16); float32; level after level; the last: of the rows inside
    )
    starts: Codes  # shape: (levels + 1,); the first node of each level in `boxes`
    order: Codes  # shape: (n,); row numbers, leaf after leaf


class ScaledQueries(NamedTuple):
    """A group of queries, and the same scaled and rounded."""

    Q: Matrix  # shape: (group, d)
    skip: Codes  # shape: (group,)
    Z: Matrix  # shape: (group, d); float32
    moved: Vector  # shape: (group,); by rounding


class Boxes(Index):
    """Dense rows of few features, in boxes."""

    method = "boxes"

    def __init__(self, X: Any, metric: Metric) -> None:
        self._X, self._metric = X, metric
        d = X.shape[1]
        self._centre = X.mean(axis=0, dtype=np.float64)
        largest = max(float(np.abs(end - self._centre).max()) for end in (X.min(0), X.max(0)))
        self._scale = scale_of(largest)
        self._off = 2.0**-24 * {EUCLIDEAN: np.sqrt(d), MANHATTAN: d, CHEBYSHEV: 1}[metric.code]
        Z = self._scale_rows(X)
        self._tree = _build_tree(Z, np.abs(Z).max(axis=1) * np.float32(self._off))
        self.nbytes = sum(part.nbytes for part in self._tree)

    def answer(self, search: Search) -> Neighbors:
        Z = self._scale_rows(search.Q)
        largest = np.abs(Z).max(axis=1).astype(np.float64)

        def search_boxes(some: Any) -> Neighbors:
            moved = self._off * largest[some] + NEXT_TO_NOTHING
            return self._nearest(search.of(some), Z[some], moved)

        far = ~(largest < FAR)
        return search.with_fallback(search_boxes, far, Exhaustive(self._X, self._metric))

    def _nearest(self, search: Search, Z: Matrix, moved: Vector) -> Neighbors:
        order = order_by_cells(Z, (FLOATS,))
        search, Z, moved = search.of(order), Z[order], moved[order]
        code = self._metric.code
        unit = self._scale ** (2 if code == EUCLIDEAN else 1)

        def scan(group: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            if not monitor.should_stop():
                queries = ScaledQueries(search.Q[group], search.skip[group], Z[group], moved[group])
                _search(self._tree, self._X, queries, unit, code, NORMS[code], heaps)

        return search.in_groups(scan, GROUP).of(np.argsort(order))

    def _scale_rows(self, X: Any) -> Matrix:
        Z = np.empty(X.shape, np.float32)
        with np.errstate(over="ignore"):  # infinite is far
            for rows in row_blocks(len(X), BLOCK):
                Z[rows] = (X[rows] - self._centre) * self._scale
        return Z


def _build_tree(Z: Matrix, margins: Vector) -> BoxTree:
    """The tree of scaled rows, and of how far rounding may have moved them."""
    n, d = Z.shape
    counts = [-(-n // FLOATS)]  # nodes of each level, leaves first
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // FLOATS))
    order = order_by_cells(Z, [FLOATS**level for level in range(len(counts), 0, -1)])
    rows = np.full((counts[0], d + 1, FLOATS), np.inf, np.float32)
    starts = np.cumsum([0, *counts[1:]])
    boxes = np.full((starts[-1], 2 * d + 1, FLOATS), np.inf, np.float32)
    _fill(Z, margins, order, rows, starts, boxes)
    return BoxTree(rows, boxes, starts, order)


@njit(cache=True, nogil=True)
def _fill(Z: Matrix, margins: Vector, order: Codes, rows: Any, starts: Codes, boxes: Any) -> None:
    """Fill in the leaves and then the boxes, level after level."""
    n, d = Z.shape
    for leaf in range(rows.shape[0]):
        for lane in range(min(FLOATS, n - leaf * FLOATS)):
            row = order[leaf * FLOATS + lane]
            for j in range(d):
                rows[leaf, j, lane] = Z[row, j]
            rows[leaf, d, lane] = margins[row]
    for level in range(len(starts) - 1):
        below = starts[level] - starts[level - 1] if level else rows.shape[0]
        for child in range(below):
            node, lane = starts[level] + child // FLOATS, child % FLOATS
            size = min(FLOATS, n - child * FLOATS) if level == 0 else FLOATS
            for j in range(d + 1):
                low, high = np.float32(np.inf), np.float32(-np.inf)
                for c in range(size):
                    if level == 0:
                        least = most = rows[child, j, c]
                    else:
                        inner = boxes[starts[level - 1] + child]
                        least = inner[2 * j, c]
                        if least == np.inf:
                            break
                        most = inner[min(2 * j + 1, 2 * d), c]
                    low, high = min(low, least), max(high, most)
                if j < d:
                    boxes[node, 2 * j, lane], boxes[node, 2 * j + 1, lane] = low, high
                else:
                    boxes[node, 2 * d, lane] = high


@njit(cache=True, nogil=True)
def _search(
    tree: BoxTree,
    X: Any,
    queries: ScaledQueries,
    unit: float,
    code: int,
    norm: int,
    heaps: Neighbors,
) -> None:
    """Find the neighbours of each query, nearest boxes first; queries are near the ones before them."""
    rows, boxes, starts, order = tree
    Q, skip, Z, moved = queries
    distances, top_level = heaps.distances, len(starts) - 1
    up = 1 + (Z.shape[1] + 8) * 2.0**-23  # a sum, its root and the limit are rounded
    depth = FLOATS * (top_level + 1)
    bounds, nodes = np.empty(depth, np.float32), np.empty(depth, np.int64)
    levels, found = np.empty(depth, np.int64), np.empty(FLOATS, np.float32)
    for i in range(Z.shape[0]):
        bounds[0], levels[0], nodes[0], size = -np.inf, top_level, 0, 1
        most = _bound_by_last(X, queries, i, code, heaps) if i else np.inf
        limit = _limit(most, moved[i], unit, norm, up)
        while size:
            size -= 1
            bound, level, node = bounds[size], levels[size], nodes[size]
            if bound > limit:
                continue
            if level == 0:
                hits = rows_within_mask(rows, node, Z, i, limit, norm)
                while hits:
                    position = node * FLOATS + first_bit(hits)
                    hits &= hits - np.uint64(1)
                    if position < len(order) and order[position] != skip[i]:
                        row = order[position]
                        if code == EUCLIDEAN:
                            distance = squared_distance(X, row, Q, i, distances[i, 0])
                        else:
                            distance = raw_distance(X, row, Q, i, code, 2.0, distances[i, 0])
                        if distance <= distances[i, 0]:
                            enter(heaps, i, distance, row)
                if distances[i, 0] < most:
                    most = distances[i, 0]
                    limit = _limit(most, moved[i], unit, norm, up)
                continue
            at = starts[level - 1] + node
            hits = boxes_within_mask(boxes, at, Z, i, limit, norm, found)
            first = size
            while hits:
                lane = first_bit(hits)
                hits &= hits - np.uint64(1)
                bound = found[lane]
                if bound == np.inf:
                    continue
                spot = size
                while spot > first and bounds[spot - 1] < bound:
                    bounds[spot], nodes[spot] = bounds[spot - 1], nodes[spot - 1]
                    spot -= 1
                bounds[spot], nodes[spot] = bound, node * FLOATS + lane
                levels[size] = level - 1
                size += 1


@njit(cache=True, nogil=True)
def _bound_by_last(X: Any, queries: ScaledQueries, i: int, code: int, heaps: Neighbors) -> float:
    """A raw distance within which query i has k rows: the neighbours of the query before, and its row."""
    Q, skip = queries.Q, queries.skip
    k, most, count = heaps.rows.shape[1], 0.0, 0
    for position in range(-1, k):
        row = skip[i - 1] if position < 0 else heaps.rows[i - 1, position]
        if row >= 0 and row != skip[i] and count < k:
            if code == EUCLIDEAN:
                most = max(most, squared_distance(X, row, Q, i, np.inf))
            else:
                most = max(most, raw_distance(X, row, Q, i, code, 2.0, np.inf))
            count += 1
    return most if count == k else np.inf


@njit(cache=True, nogil=True)
def _limit(raw: float, moved: float, unit: float, norm: int, up: float) -> Any:
    """Upper bound, in float32, of the distance of a neighbour to the rounded query."""
    scaled = raw * unit
    return np.float32(((np.sqrt(scaled) if norm == 2 else scaled) + moved) * up)
