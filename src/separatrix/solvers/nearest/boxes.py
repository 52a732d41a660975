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
QUERY_CELLS = (4096, FLOATS)  # of queries, so that those near each other follow each other
BLOCK = 2**14  # rows scaled at a time
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
    """A group of queries, and the same scaled and rounded."""

    Q: Matrix  # shape: (group, d)
    skip: Codes  # shape: (group,)
    Z: Matrix  # shape: (group, d); float32
    moved: Vector  # shape: (group,); by rounding


class Stack(NamedTuple):
    """Boxes that a query has yet to visit, and scratch memory."""

    bounds: Vector  # shape: (16 (levels + 1),); float32
    nodes: Codes
    levels: Codes
    found: Vector  # shape: (16,); float32

    @classmethod
    def of(cls, tree: BoxTree) -> Stack:
        """An empty stack that suffices for a tree."""
        size = FLOATS * len(tree.starts)
        found = np.empty(FLOATS, np.float32)
        return cls(
            np.empty(size, np.float32), np.empty(size, np.int64), np.empty(size, np.int64), found
        )


class Boxes(Index):
    """Dense rows of few features, in boxes."""

    method = "boxes"

    def __init__(self, X: Any, metric: Metric, *, threads: int = 1) -> None:
        self._X, self._metric = X, metric
        d = X.shape[1]
        self._centre = X.mean(axis=0, dtype=np.float64)
        blocks = (X[rows] - self._centre for rows in row_blocks(len(X), BLOCK))
        self._scale = scale_of(max(float(np.abs(block).max()) for block in blocks))
        self._off = 2.0**-24 * {EUCLIDEAN: np.sqrt(d), MANHATTAN: d, CHEBYSHEV: 1}[metric.code]
        Z = self._scale_rows(X)
        self._tree = _build_tree(Z, _largest_of(Z) * np.float32(self._off), threads)
        self.nbytes = sum(part.nbytes for part in self._tree)

    def answer(self, search: Search) -> Neighbors:
        Z = self._scale_rows(search.Q)
        largest = _largest_of(Z).astype(np.float64)

        def search_boxes(some: Any) -> Neighbors:
            moved = self._off * largest[some] + NEXT_TO_NOTHING
            return self._nearest(search.of(some), Z[some], moved)

        far = ~(largest < FAR)
        return search.with_fallback(search_boxes, far, Exhaustive(self._X, self._metric))

    def _nearest(self, search: Search, Z: Matrix, moved: Vector) -> Neighbors:
        order = order_by_cells(Z, QUERY_CELLS, threads=search.threads)
        search, Z, moved = search.of(order), Z[order], moved[order]
        code = self._metric.code
        unit = self._scale ** (2 if code == EUCLIDEAN else 1)

        def scan(group: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            if not monitor.should_stop():
                queries = ScaledQueries(search.Q[group], search.skip[group], Z[group], moved[group])
                stack = Stack.of(self._tree)
                _search(self._tree, self._X, queries, unit, code, NORMS[code], heaps, stack)

        return search.in_groups(scan, GROUP).of(np.argsort(order))

    def _scale_rows(self, X: Any) -> Matrix:
        Z = np.empty(X.shape, np.float32)
        with np.errstate(over="ignore"):  # infinite is far
            for rows in row_blocks(len(X), BLOCK):
                Z[rows] = (X[rows] - self._centre) * self._scale
        return Z


def _largest_of(Z: Matrix) -> Vector:
    """The largest magnitude in each row, (n,); column after column, since rows are short."""
    largest = np.abs(Z[:, 0])
    for j in range(1, Z.shape[1]):
        np.maximum(largest, np.abs(Z[:, j]), out=largest)
    return largest


def _build_tree(Z: Matrix, moved: Vector, threads: int) -> BoxTree:
    """The tree of scaled rows, and of how far rounding may have moved them."""
    sizes = [FLOATS]
    while sizes[-1] < len(Z):
        sizes.append(FLOATS * sizes[-1])
    order = order_by_cells(Z, sizes[::-1], threads=threads)
    Z, inside = Z[order], moved[order, None].astype(np.float32)
    rows, lows, highs, levels = _side_by_side(Z), Z, Z, []
    for _ in sizes:
        lows, highs, inside = (
            join.reduceat(part, np.arange(0, len(part), FLOATS), axis=0)
            for join, part in ((np.minimum, lows), (np.maximum, highs), (np.maximum, inside))
        )
        ends = np.stack([lows, highs], axis=2).reshape(len(lows), -1)
        levels.append(np.concatenate([ends, inside], axis=1))
    margins = levels[0][:, -1].copy()
    blocks = [_side_by_side(level) for level in levels[:-1]]
    starts = np.cumsum([0, *map(len, blocks)])
    boxes = np.concatenate(blocks) if blocks else np.empty((0, 1, FLOATS), np.float32)
    return BoxTree(rows, margins, boxes, starts, order)


def _side_by_side(values: Matrix) -> Any:
    """Values of 16 rows of (n, d) side by side, (blocks, d, 16); infinity fills up."""
    n, d = values.shape
    out = np.full((-(-n // FLOATS), d, FLOATS), np.inf, np.float32)
    whole = n // FLOATS
    out[:whole] = values[: whole * FLOATS].reshape(whole, FLOATS, d).transpose(0, 2, 1)
    if whole < len(out):
        out[whole, :, : n - whole * FLOATS] = values[whole * FLOATS :].T
    return out


@njit(cache=True, nogil=True)
def _search(
    tree: BoxTree,
    X: Any,
    queries: ScaledQueries,
    unit: float,
    code: int,
    norm: int,
    heaps: Neighbors,
    stack: Stack,
) -> None:
    """Find the neighbours of each query, nearest boxes first; queries are near the ones before them."""
    rows, margins, boxes, starts, order = tree
    Q, skip, Z, moved = queries
    bounds, nodes, levels, found = stack
    distances = heaps.distances
    up = 1 + (Z.shape[1] + 8) * 2.0**-23  # a sum, its root and the limit are rounded
    for i in range(Z.shape[0]):
        bounds[0], levels[0], nodes[0], size = -np.inf, len(starts) - 1, 0, 1
        most, limit, changed = np.inf, np.float32(np.inf), i > 0
        if changed:
            most = _bound_by_last(X, queries, i, code, heaps)
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
                    position = node * FLOATS + first_bit(hits)
                    hits &= hits - np.uint64(1)
                    if position < len(order) and order[position] != skip[i]:
                        row = np.int64(order[position])
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


@njit(cache=True, nogil=True)
def _bound_by_last(X: Any, queries: ScaledQueries, i: int, code: int, heaps: Neighbors) -> float:
    """A raw distance within which query i has k rows: the neighbours of the query before, and its row."""
    Q, skip = queries.Q, queries.skip
    k, most, count = heaps.rows.shape[1], 0.0, 0
    for position in range(-1, k):
        row = skip[i - 1] if position < 0 else heaps.rows[i - 1, position]
        if row >= 0 and row != skip[i] and count < k:
            if code == EUCLIDEAN:
                distance = squared_distance(X, row, Q, i, np.inf)
            else:
                distance = raw_distance(X, row, Q, i, code, 2.0, np.inf)
            if distance > most:
                most = distance
            count += 1
    return most if count == k else np.inf
