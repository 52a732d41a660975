"""Neighbours in few dimensions: rows in small boxes, of which only near ones are scanned.

Boxes are grouped into shelves. Each query first scans the nearest box of the nearest shelf; then the
group of queries scans the remaining candidate boxes, nearest first, so that a box is read into the
cache once for all of them. The distances from a group to many boxes are computed together, vectorised.
Boxes are scanned in float32, all rows of a box side by side; candidates get an exact distance.

A float32 coordinate is off by at most 2^-24 of itself; so rows and queries have moved by at most
2^-24 sqrt(d) (Euclidean), 2^-24 d (Manhattan) or 2^-24 (Chebyshev) of their largest coordinate, and a
sum is off by (d + 4) 2^-24 of itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uintp

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import LANES, at_least_mask, first_bit
from separatrix.solvers.nearest.cells import cells_of, distances_to_boxes, sides_of
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, Metric, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.types import Codes, Matrix, Vector

BOX = 2 * LANES  # rows
SHELF = 64  # boxes with a common bounding box
GROUP = 128  # queries
BLOCK = 2**14  # rows scaled at a time
ABOVE = 1 + 2.0**-23  # rounds up


class BoxedRows(NamedTuple):
    """Rows of boxes and the sides of boxes and shelves; margins: the rounding of their rows."""

    lanes: Any  # shape: (boxes, d, BOX); float32
    starts: Codes  # shape: (boxes + 1,); where each box begins in `order`
    order: Codes  # shape: (n,); row numbers, box after box
    lows: Matrix  # shape: (boxes, d)
    highs: Matrix
    margins: Vector  # shape: (boxes,)
    shelves: Codes  # shape: (shelves + 1,); the first box of each
    shelf_lows: Matrix  # shape: (shelves, d)
    shelf_highs: Matrix
    shelf_margins: Vector


class ScaledQueries(NamedTuple):
    """A group of queries, and the same scaled and rounded."""

    Q: Matrix  # shape: (group, d)
    skip: Codes  # shape: (group,)
    Z: Matrix  # shape: (d, group); float32
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
        Z = self._scale_rows(X)
        cells = cells_of(Z, BOX)
        Z = Z[cells.order]
        lows, highs = sides_of(Z, cells)
        lanes = np.full((cells.n_cells, d, BOX), np.inf, np.float32)
        _fill(Z, cells.starts, lanes)
        self._off = 2.0**-24 * {EUCLIDEAN: np.sqrt(d), MANHATTAN: d, CHEBYSHEV: 1}[metric.code]
        margins = self._off * np.maximum(-lows, highs).max(axis=1)
        shelves = np.append(np.arange(0, cells.n_cells, SHELF), cells.n_cells)
        of_shelves = (
            np.minimum.reduceat(lows, shelves[:-1], axis=0),
            np.maximum.reduceat(highs, shelves[:-1], axis=0),
            np.maximum.reduceat(margins, shelves[:-1]),
        )
        self._boxes = BoxedRows(
            lanes, cells.starts, cells.order, lows, highs, margins, shelves, *of_shelves
        )
        self.nbytes = sum(part.nbytes for part in self._boxes)

    def answer(self, search: Search) -> Neighbors:
        Z = self._scale_rows(search.Q)
        largest = np.abs(Z).max(axis=1).astype(np.float64)

        def search_boxes(some: Any) -> Neighbors:
            moved = self._off * largest[some] + NEXT_TO_NOTHING
            return self._nearest(search.of(some), Z[some], moved)

        far = ~(largest < FAR)
        return search.with_fallback(search_boxes, far, Exhaustive(self._X, self._metric))

    def _nearest(self, search: Search, Z: Matrix, moved: Vector) -> Neighbors:
        order = cells_of(Z, GROUP).order
        search, Z, moved = search.of(order), Z[order], moved[order]
        code = self._metric.code
        unit = self._scale ** (2 if code == EUCLIDEAN else 1)

        def scan(group: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            if not monitor.should_stop():
                own = np.ascontiguousarray(Z[group].T), moved[group]
                queries = ScaledQueries(search.Q[group], search.skip[group], *own)
                _scan(self._boxes, self._X, queries, unit, code, heaps)

        return search.in_groups(scan, GROUP).of(np.argsort(order))

    def _scale_rows(self, X: Any) -> Matrix:
        Z = np.empty(X.shape, np.float32)
        with np.errstate(over="ignore"):  # infinite is far
            for rows in row_blocks(len(X), BLOCK):
                Z[rows] = (X[rows] - self._centre) * self._scale
        return Z


@njit(cache=True, nogil=True)
def _fill(Z: Matrix, starts: Codes, lanes: Any) -> None:
    """Put the rows of a box side by side, feature by feature."""
    for box in range(lanes.shape[0]):
        for lane in range(starts[box + 1] - starts[box]):
            for j in range(Z.shape[1]):
                lanes[box, j, lane] = Z[starts[box] + lane, j]


@njit(cache=True, nogil=True)
def _scan(
    boxed: BoxedRows, X: Any, queries: ScaledQueries, unit: float, code: int, heaps: Neighbors
) -> None:
    """Scan the boxes that may hold neighbours of a group of queries."""
    lows, highs, margins, shelves = boxed.lows, boxed.highs, boxed.margins, boxed.shelves
    Z, moved, distances = queries.Z, queries.moved, heaps.distances
    boxes, count = lows.shape[0], Z.shape[1]
    bounds = distances_to_boxes(boxed.shelf_lows, boxed.shelf_highs, boxed.shelf_margins, Z, code)
    least, own = np.full(count, np.inf, np.float32), np.zeros(count, np.int32)
    for shelf in range(bounds.shape[0]):
        _update_nearest(bounds, shelf, least, own)
    limits, scanned = np.empty(count, np.float32), np.empty((1, BOX), np.float32)
    for i in range(count):
        own[i] = _nearest_box(lows, highs, Z, i, shelves[own[i]], shelves[own[i] + 1], code)
        _scan_box(boxed, own[i], X, queries, i, np.inf, code, scanned, heaps)
        limits[i] = _limit(distances[i, 0], moved[i], unit, code)
    left, some = np.empty(boxes, np.int64), 0
    for shelf in range(bounds.shape[0]):
        if _wanted(bounds, shelf, limits)[1]:
            for box in range(shelves[shelf], shelves[shelf + 1]):
                left[some] = box
                some += 1
    left = left[:some]
    bounds = distances_to_boxes(lows[left], highs[left], margins[left], Z, code)
    position = np.full(boxes, -1)
    for t in range(some):
        position[left[t]] = t
    for i in range(count):
        if position[own[i]] >= 0:
            bounds[position[own[i]], i] = np.nan  # scanned already
    nearest, wanted = np.empty(some, np.float32), 0
    for t in range(some):
        nearest[wanted], is_wanted = _wanted(bounds, t, limits)
        left[wanted], position[wanted] = left[t], t
        wanted += is_wanted
    for t in np.argsort(nearest[:wanted]):
        for i in range(count):
            if bounds[position[t], i] <= limits[i]:
                limit = limits[i] + margins[left[t]]
                _scan_box(boxed, left[t], X, queries, i, limit, code, scanned, heaps)
                limits[i] = _limit(distances[i, 0], moved[i], unit, code)


@njit(cache=True, nogil=True)
def _nearest_box(
    lows: Matrix, highs: Matrix, Z: Matrix, i: int, start: int, stop: int, code: int
) -> int:
    """The nearest of some boxes to one query."""
    nearest, least = start, np.inf
    for box in range(start, stop):
        bound = 0.0
        for j in range(lows.shape[1]):
            gap = max(lows[box, j] - Z[j, i], Z[j, i] - highs[box, j], 0.0)
            if code == CHEBYSHEV:
                bound = max(bound, gap)
            else:
                bound += gap * gap if code == EUCLIDEAN else gap
        if bound < least:
            nearest, least = box, bound
    return nearest


@njit(cache=True, nogil=True)
def _update_nearest(bounds: Matrix, box: int, least: Vector, own: Codes) -> None:
    """Update the nearest box of each query."""
    box = uintp(box)
    for i in range(least.shape[0]):
        nearer = bounds[box, i] < least[i]
        least[i] = bounds[box, i] if nearer else least[i]
        own[i] = np.int32(box) if nearer else own[i]


@njit(cache=True, nogil=True)
def _wanted(bounds: Matrix, box: int, limits: Vector) -> Any:
    """Least distance of a box to the queries, and whether one of them must scan it."""
    box = uintp(box)
    nearest, wanted = np.float32(np.inf), 0
    for i in range(limits.shape[0]):
        nearest = bounds[box, i] if bounds[box, i] < nearest else nearest
        wanted += bounds[box, i] <= limits[i]
    return nearest, wanted > 0


@njit(cache=True, nogil=True)
def _limit(distance: float, moved: float, unit: float, code: int) -> Any:
    """Upper bound of the distance of a neighbour to the rounded query."""
    scaled = distance * unit
    return np.float32(((np.sqrt(scaled) if code == EUCLIDEAN else scaled) + moved) * ABOVE)


@njit(cache=True, nogil=True)
def _scan_box(
    boxed: BoxedRows,
    box: int,
    X: Any,
    queries: ScaledQueries,
    i: int,
    limit: float,
    code: int,
    scanned: Matrix,
    heaps: Neighbors,
) -> None:
    """Compute exact distances of the rows of a box that are within the limit after rounding."""
    lanes, starts, order = boxed.lanes, boxed.starts, boxed.order
    Q, Z, skip, distances = queries.Q, queries.Z, queries.skip[i], heaps.distances
    if code == EUCLIDEAN:
        _scan_squares(lanes, box, Z, i, scanned)
    else:
        _scan_sizes(lanes, box, Z, i, code, scanned)
    size = starts[box + 1] - starts[box]
    raw = limit * limit if code == EUCLIDEAN else limit
    least = np.float32(-raw * (1 + (Z.shape[0] + 8) * 2.0**-24))
    for start in range(0, BOX, LANES):
        hits = at_least_mask(scanned, 0, start, least)
        while hits:
            lane = start + first_bit(hits)
            hits &= hits - np.uint64(1)
            if lane < size:
                row = order[starts[box] + lane]
                if row != skip:
                    distance = raw_distance(X, row, Q, i, code, 2.0, distances[i, 0])
                    enter(heaps, i, distance, row)


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _scan_squares(lanes: Any, box: int, Z: Matrix, i: int, scanned: Matrix) -> None:
    """Minus the squared distances of one query to the rows of a box; four features at a time."""
    box, d = uintp(box), Z.shape[0]
    width = lanes.shape[2]
    for lane in range(width):
        scanned[0, lane] = 0.0
    end_of_fours = d // 4 * 4
    for j in range(0, end_of_fours, 4):
        q0, q1, q2, q3 = Z[j, i], Z[j + 1, i], Z[j + 2, i], Z[j + 3, i]
        j0, j1, j2, j3 = uintp(j), uintp(j + 1), uintp(j + 2), uintp(j + 3)
        for lane in range(width):
            a, b = lanes[box, j0, lane] - q0, lanes[box, j1, lane] - q1
            c, e = lanes[box, j2, lane] - q2, lanes[box, j3, lane] - q3
            scanned[0, lane] -= a * a + b * b + c * c + e * e
    for j in range(end_of_fours, d):
        for lane in range(width):
            gap = lanes[box, uintp(j), lane] - Z[uintp(j), i]
            scanned[0, lane] -= gap * gap


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _scan_sizes(lanes: Any, box: int, Z: Matrix, i: int, code: int, scanned: Matrix) -> None:
    """Minus the Manhattan or Chebyshev distances."""
    box, d = uintp(box), Z.shape[0]
    for lane in range(lanes.shape[2]):
        scanned[0, lane] = 0.0
    for j in range(d):
        q = Z[j, i]
        for lane in range(lanes.shape[2]):
            gap = -abs(lanes[box, j, lane] - q)
            if code == MANHATTAN:
                scanned[0, lane] += gap
            else:
                scanned[0, lane] = gap if gap < scanned[0, lane] else scanned[0, lane]
