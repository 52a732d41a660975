"""Euclidean neighbours through lower bounds, from one small matrix product for a tile of pairs.

Rows and queries are projected on a few leading axes (`axes.py`), and the length of what is left is
one more coordinate: the squared distance in those is at most the true one. A product of a group of
queries with a cell of rows gives all their bounds at once; the few remaining pairs are bounded more
closely along more axes, and those that remain get an exact distance.

Without axes the "projection" is the centred row itself, and the bound the distance: plain products,
which is best where rows spread alike in all directions.

Products are float32, and a length left over is the root of a difference of float64 sums, off by
r = sqrt(d 2^-53) of the row's at most. With K terms a bound is off by less than o (|q| + |x|)^2
<= 2 o |q|^2 + 2 o |x|^2, o = 2 (K + 8) 2^-24 + 4 r; that much is taken off, for the row in its term of the
norm, and the exact distance decides.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401 - compiled products need it
from numba import uintp

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import LANES, at_least_mask, first_bit, squared_distance
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_scratch
from separatrix.solvers.nearest.axes import PER_AXIS, PER_PAIR, ProjectionAxes
from separatrix.solvers.nearest.cells import (
    cells_of,
    distances_to_boxes,
    order_by_cells,
    plain_cells,
    sides_of,
)
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import EUCLIDEAN, Metric
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors, enter, no_neighbors, sort_heap
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.types import Codes, Flags, Matrix, Vector

GROUP = 320  # queries, at most
CELL = 512  # rows; a tile of a group and a cell stays in the cache
FEW_FEATURES = 48  # up to which cells are pruned even without axes
BLOCK = 256  # rows projected at a time
VALUES = 2**15  # that a thread projects, at least
AT_ONCE = 20 * CHUNK  # multiply-adds of products between two checks of the monitor
FEW_HIGHEST = 16  # values from which a first limit is taken, for few neighbours
LOWEST = -float(np.finfo(np.float32).max)


class Projected(NamedTuple):
    """Scaled projections of rows or queries; unused levels have no columns."""

    first: Matrix  # shape: (n, m + 2); float32; leading axes, the length left over, the term of the norm
    second: Matrix  # shape: (n, axes + 1); float32; the next axes, and the length left over then
    third: Matrix  # shape: (n, axes + 1); float32; the same again

    def of(self, rows: Any) -> Projected:
        """Those of some rows."""
        return Projected(*(part[rows] for part in self))


class ProjectedRows(NamedTuple):
    """Rows in the order of their cells; without boxes, no cell is ruled out."""

    projected: Projected
    order: Codes  # shape: (n,); row numbers
    starts: Codes  # shape: (cells + 1,)
    lows: (
        Matrix  # shape: (cells, m + 1) or (0, m + 1); float32; sides of the boxes around the cells
    )
    highs: Matrix
    margins: Vector  # shape: (cells,) or (0,); how far rounding may have moved their rows


class ProjectedQueries(NamedTuple):
    """Queries with their projections."""

    Q: Matrix  # shape: (m, d)
    skip: Codes  # shape: (m,)
    projected: Projected
    squares: Vector  # shape: (m,); of their scaled lengths
    slack: Vector  # shape: (m,); of their bounds
    moved: Vector  # shape: (m,); by rounding


class Projections(Index):
    """Dense rows of any number type, with projections that bound distances."""

    def __init__(self, X: Any, axes: ProjectionAxes, *, threads: int) -> None:
        self._X = X
        self._axes = axes
        rest = np.sqrt(X.shape[1] * 2.0**-53)
        columns = axes.leading + (1 if axes.directions is None else 2)
        self._off = 2 * (columns + 8) * 2.0**-24 + 4 * rest
        self._moved = 4 * 2.0**-24 + 2 * rest  # how far a row may have moved, for its length
        projected, squares = self._project(X, threads, self._off - 0.5, 0.0)
        if not squares.max() <= FAR**2:  # rows that the sample did not show
            ends = (float(np.abs(end - axes.centre).max()) for end in (X.min(0), X.max(0)))
            self._axes = axes._replace(scale=scale_of(max(ends) * np.sqrt(X.shape[1])))
            projected, squares = self._project(X, threads, self._off - 0.5, 0.0)
        pruned = axes.directions is not None or X.shape[1] <= FEW_FEATURES
        self._rows = self._in_cells(projected, squares) if pruned else _in_order(projected)
        self.method = "products" if axes.directions is None else "projections"
        self.nbytes = sum(part.nbytes for part in (*self._rows.projected, *self._rows[1:]))

    def answer(self, search: Search) -> Neighbors:
        projected, squares = self._project(search.Q, search.threads, 0.0, 1.0)

        def search_near(some: Any) -> Neighbors:
            return self._nearest(search.of(some), projected.of(some), squares[some])

        fallback = Exhaustive(self._X, Metric(EUCLIDEAN))
        return search.with_fallback(search_near, ~(squares < FAR**2), fallback)

    def _nearest(self, search: Search, projected: Projected, squares: Vector) -> Neighbors:
        m, n_cells = len(squares), len(self._rows.starts) - 1
        order = np.arange(m)
        if len(self._rows.lows):
            order = order_by_cells(projected.first[:, :-1], (GROUP,), threads=search.threads)
        slack = 2 * self._off * squares + NEXT_TO_NOTHING**2
        moved = self._moved * np.sqrt(squares) + NEXT_TO_NOTHING
        queries = ProjectedQueries(search.Q, search.skip, projected, squares, slack, moved)
        found, unit = no_neighbors(m, search.k), self._axes.scale**2

        def scan(group: slice, monitor: FitMonitor) -> None:
            some, visited = order[group], np.zeros(n_cells, np.bool_)
            columns = projected.first.shape[1]
            while not monitor.should_stop():
                scratch = thread_scratch(len(some) * (CELL + columns), np.float32)
                to_do = (some, visited, AT_ONCE)
                if _scan(*to_do, queries, self._rows, self._X, self._off, unit, found, scratch):
                    return

        cost = len(self._X) * (PER_PAIR + PER_AXIS * projected.first.shape[1])
        search.over_groups(scan, GROUP, cost=cost)
        return found

    def _in_cells(self, projected: Projected, squares: Vector) -> ProjectedRows:
        """Rows sorted by cell, so that whole cells can be ruled out."""
        order, starts = cells = cells_of(projected.first[:, :-1], CELL)
        projected = projected.of(order)
        lengths = np.sqrt(np.maximum.reduceat(squares[order], starts[:-1]))
        sides = sides_of(projected.first[:, :-1], cells)
        return ProjectedRows(projected, *cells, *sides, self._moved * lengths)

    def _project(
        self, X: Any, threads: int, factor: float, constant: float
    ) -> tuple[Projected, Vector]:
        """Rows of X on the axes, and their squared lengths.

        The term of the norm is `factor` times the squared length, plus a constant.
        """
        (centre, scale, turned, m), n = self._axes, len(X)
        total = m if turned is None else turned.shape[1]
        ends = [m, min(2 * m, total), total]
        widths = [m + 2 if turned is not None else m + 1]
        widths += [b - a + 1 if b > a else 0 for a, b in pairwise(ends)]
        levels = Projected(*(np.empty((n, width), np.float32) for width in widths))
        squares = np.empty(n)

        def project(rows: slice) -> None:
            part, own = levels.of(rows), squares[rows]
            if turned is None:
                _centre(X[rows], centre, scale, part.first, own)
            else:
                _project(X[rows], centre, scale, turned, part, own)
            part.first[:, -1] = factor * own + constant

        with blas_on_one_thread(), np.errstate(over="ignore", invalid="ignore"):  # infinite is far
            size = max(BLOCK, VALUES // X.shape[1], -(-n // (2 * threads)))
            in_threads(project, row_blocks(n, size), threads=threads)
        return levels, squares


def _in_order(projected: Projected) -> ProjectedRows:
    """Rows as they are, without boxes."""
    none = np.empty((0, projected.first.shape[1] - 1), np.float32)
    return ProjectedRows(
        projected, *plain_cells(len(projected.first), CELL), none, none, np.empty(0)
    )


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _centre(X: Any, centre: Vector, scale: float, out: Matrix, squares: Vector) -> None:
    """Scaled differences from the centre, and their squared lengths."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            z = (np.float64(X[i, j]) - centre[j]) * scale
            out[i, j] = z
            total += z * z
        squares[i] = total


@njit(cache=True, nogil=True)
def _project(
    X: Any, centre: Vector, scale: float, turned: Matrix, levels: Projected, squares: Vector
) -> None:
    """Projections on all axes, level after level, with the lengths left over."""
    n = X.shape[0]
    first, second, third = levels
    ends = (first.shape[1] - 2, second.shape[1] - 1, third.shape[1] - 1)
    Z, P = np.empty((BLOCK, X.shape[1])), np.empty((BLOCK, turned.shape[1]))
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        size = stop - start
        _centre(X[start:stop], centre, scale, Z, squares[start:stop])
        np.dot(Z[:size], turned, P[:size])
        for i in range(start, stop):
            left, at = squares[i], 0
            for level in range(3):
                out = first if level == 0 else second if level == 1 else third
                for j in range(ends[level]):
                    p = P[i - start, at + j]
                    out[i, j] = p
                    left -= p * p
                if ends[level] > 0:
                    at += ends[level]
                    out[i, ends[level]] = np.sqrt(max(left, 0.0))


@njit(cache=True, nogil=True)
def _scan(
    some: Codes,
    visited: Flags,
    at_once: int,
    queries: ProjectedQueries,
    rows: ProjectedRows,
    X: Any,
    off: float,
    unit: float,
    heaps: Neighbors,
    scratch: Vector,
) -> bool:
    """Scan cells not visited yet for some queries, those nearest to all of them first.

    Returns whether all cells are done: then the heaps are sorted. After so many multiply-adds at once
    it returns False.
    """
    first, moved = queries.projected.first, queries.moved
    size, columns = len(some), first.shape[1]
    left = scratch[: size * columns].reshape(size, columns)
    who, distances = np.empty(size, np.int64), heaps.distances
    boxed = rows.lows.shape[0] > 0
    bounds = np.empty((0, 0), np.float32)
    sums = np.zeros(len(visited))
    if boxed:
        Z = np.empty((columns - 1, size), np.float32)
        for position, i in enumerate(some):
            for j in range(columns - 1):
                Z[j, position] = first[i, j]
        bounds = distances_to_boxes(rows.lows, rows.highs, rows.margins, Z, EUCLIDEAN)
    for cell in range(len(visited)):
        for position in range(size if boxed else 0):
            sums[cell] += bounds[cell, position]
        sums[cell] = np.inf if visited[cell] else sums[cell]
    while at_once > 0:
        cell = int(np.argmin(sums))
        if visited[cell]:
            for i in some:
                sort_heap(heaps, i)
            return True
        visited[cell], sums[cell] = True, np.inf
        count = 0
        for position, i in enumerate(some):
            if not boxed or bounds[cell, position] <= (np.sqrt(distances[i, 0] * unit) + moved[i]):
                for j in range(columns):
                    left[count, j] = first[i, j]
                who[count] = i
                count += 1
        if count:
            start, stop = rows.starts[cell], rows.starts[cell + 1]
            width = int(stop - start)
            tile = scratch[size * columns :][: count * width].reshape(count, width)
            np.dot(left[:count], rows.projected.first[start:stop].T, tile)
            _keep(tile, who, start, queries, rows, X, off, unit, heaps)
            at_once -= count * width * columns
    return False


@njit(cache=True, nogil=True)  # no flags: they would reach into the distance that decides
def _keep(
    tile: Matrix,
    who: Codes,
    start: int,
    queries: ProjectedQueries,
    rows: ProjectedRows,
    X: Any,
    off: float,
    unit: float,
    heaps: Neighbors,
) -> None:
    """Compute exact distances of the pairs of a tile that its bounds do not rule out.

    tile: q . x - |x|^2 / 2 of the projections, for the queries `who` and the rows from `start` on; so
    |q|^2 - 2 tile is the bound, less the rounding of |x|^2. Candidates go to a list without a branch, so
    that the next rows are prefetched.
    """
    # unpacked once: a field of a tuple costs two atomic operations each time
    (first, second, third), order = rows.projected, rows.order
    Q, skip, (own_first, own_second, own_third), squares, slack, _ = queries
    distances, norm = heaps.distances, first.shape[1] - 1
    left, bounds = np.empty(tile.shape[1], np.int64), np.empty(tile.shape[1])
    highest = np.empty(FEW_HIGHEST if 2 * distances.shape[1] <= FEW_HIGHEST else tile.shape[1])
    best = Neighbors(np.empty((1, distances.shape[1])), np.empty((1, distances.shape[1]), np.int64))
    for position in range(tile.shape[0]):
        i = who[position]
        if distances[i, 0] == np.inf:
            least = _least_of_best(tile, position, highest, best)
            for t in range(_reaching(tile, position, least, left)):
                row = np.int64(order[start + left[t]])
                tile[position, left[t]] = -np.inf  # done
                if row != skip[i]:
                    enter(heaps, i, squared_distance(X, row, Q, i, np.inf), row)
        limit = distances[i, 0] * unit + slack[i]
        count = _reaching(tile, position, max((squares[i] - limit) / 2, LOWEST), left)
        limit += slack[i]
        for t in range(count):
            square = np.float64(first[start + left[t], norm]) / (off - 0.5)
            bounds[t] = squares[i] - 2 * np.float64(tile[position, left[t]]) - 2 * off * square
        if second.shape[1] and count:
            for t in range(count):
                c = start + left[t]
                gap = np.float64(own_first[i, norm - 1] - first[c, norm - 1])
                bounds[t] += _gap(own_second, i, second, c) - gap * gap
            count = _within(limit, left, bounds, count)
        if third.shape[1] and count:
            for t in range(count):
                c = start + left[t]
                gap = np.float64(own_second[i, -1] - second[c, -1])
                bounds[t] += _gap(own_third, i, third, c) - gap * gap
            count = _within(limit, left, bounds, count)
        for t in range(count):
            row = np.int64(order[start + left[t]])
            if bounds[t] <= limit and row != skip[i]:
                distance = squared_distance(X, row, Q, i, distances[i, 0])
                if distance <= distances[i, 0] and enter(heaps, i, distance, row):
                    limit = distances[i, 0] * unit + 2 * slack[i]


@njit(cache=True, nogil=True)
def _least_of_best(tile: Matrix, i: int, highest: Vector, best: Neighbors) -> float:
    """A value that at least k values of a row of the tile reach, but not many more.

    That is the k-th of the highest values of some parts of the row; highest and best are overwritten.
    """
    parts, width = len(highest), tile.shape[1]
    i = uintp(i)  # unsigned indexes need no check
    for c in range(parts):
        highest[c] = -np.inf
    for start in range(0, width - parts + 1, parts):
        for c in range(parts):
            value = np.float64(tile[i, uintp(start) + uintp(c)])
            highest[uintp(c)] = value if value > highest[uintp(c)] else highest[uintp(c)]
    for c in range(width // parts * parts, width):
        highest[c % parts] = max(highest[c % parts], tile[i, uintp(c)])
    for c in range(best.rows.shape[1]):
        best.distances[0, c], best.rows[0, c] = np.inf, NOBODY
    for c in range(parts):
        if -highest[c] < best.distances[0, 0]:
            enter(best, 0, -highest[c], c)
    return float(max(-best.distances[0, 0], LOWEST))


@njit(cache=True, nogil=True)
def _reaching(tile: Matrix, i: int, least: float, left: Codes) -> int:
    """Positions of values of at least `least` in a row of the tile; returns their number."""
    count, reach = 0, np.float32(least)
    end_of_lanes = tile.shape[1] // LANES * LANES
    for start in range(0, end_of_lanes, LANES):
        hits = at_least_mask(tile, i, start, reach)
        while hits:
            left[count] = start + first_bit(hits)
            count += 1
            hits &= hits - np.uint64(1)
    for c in range(end_of_lanes, tile.shape[1]):
        left[count] = c
        count += tile[i, c] >= reach
    return count


@njit(cache=True, nogil=True)
def _within(limit: float, left: Codes, bounds: Vector, count: int) -> int:
    """Move the positions whose bound is within the limit to the front; returns their number."""
    kept = 0
    for t in range(count):
        left[kept], bounds[kept] = left[t], bounds[t]
        kept += bounds[t] <= limit
    return kept


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _gap(Q: Matrix, i: int, X: Any, c: int) -> Any:
    """Squared distance of two rows in float32."""
    i, c = uintp(i), uintp(c)
    total = np.float32(0.0)
    for j in range(X.shape[1]):
        gap = Q[i, j] - X[c, j]
        total += gap * gap
    return total
