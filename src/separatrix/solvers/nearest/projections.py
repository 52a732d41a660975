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

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit, uintp

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import LANES, at_least_mask, first_bit, squared_distance
from separatrix.runtime.threads import in_order
from separatrix.solvers.nearest.axes import ProjectionAxes
from separatrix.solvers.nearest.cells import cells_of, distances_to_boxes, plain_cells, sides_of
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.metrics import EUCLIDEAN, Metric
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors, enter
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of
from separatrix.types import Codes, Matrix, Vector

GROUP = 256  # queries
LARGE_GROUP = 1024  # if all rows are scanned, so that products are large
CELL = 2048  # rows
FIRST = 8  # cells that a group scans before it drops those too far for all its queries
FEW_FEATURES = 48  # up to which cells are pruned even without axes
BLOCK = 1024  # rows projected at a time
LOWEST = -float(np.finfo(np.float32).max)


class Projected(NamedTuple):
    """Scaled projections of rows or queries; unused levels have no columns."""

    first: Matrix  # shape: (n, m + 2); float32; leading axes, the length left over, the term of the norm
    second: Matrix  # shape: (n, axes + 1); float32; the next axes, and the length left over then
    third: Matrix  # shape: (n, axes + 1); float32; the same again

    def of(self, rows: Any) -> Projected:
        """Those of some rows."""
        return Projected(*(part[rows] for part in self))


class QueryGroup(NamedTuple):
    """A group of queries with their projections."""

    Q: Matrix  # shape: (group, d)
    skip: Codes  # shape: (group,)
    projected: Projected
    squares: Vector  # shape: (group,); of their scaled lengths
    slack: Vector  # shape: (group,); of their bounds


class Projections(Index):
    """Dense rows of any number type, with projections that bound distances."""

    def __init__(self, X: Any, axes: ProjectionAxes, *, threads: int) -> None:
        self._X = X
        self._axes = axes
        rows, squares = self._project(X, threads)
        if not squares.max() <= FAR**2:  # rows that the sample did not show
            ends = (float(np.abs(end - axes.centre).max()) for end in (X.min(0), X.max(0)))
            self._axes = axes._replace(scale=scale_of(max(ends) * np.sqrt(X.shape[1])))
            rows, squares = self._project(X, threads)
        rest = np.sqrt(X.shape[1] * 2.0**-53)
        self._off = 2 * (rows.first.shape[1] + 8) * 2.0**-24 + 4 * rest
        self._moved = 4 * 2.0**-24 + 2 * rest  # how far a row may have moved, for its length
        rows.first[:, -1] = (self._off - 0.5) * squares
        pruned = axes.directions is not None or X.shape[1] <= FEW_FEATURES
        self._cells = cells_of(rows.first[:, :-1], CELL) if pruned else plain_cells(len(X), CELL)
        order = self._cells.order
        self._rows = rows.of(order) if pruned else rows
        self._sides: tuple[Matrix, Matrix, Vector] | None = None
        if pruned:
            lengths = np.sqrt(np.maximum.reduceat(squares[order], self._cells.starts[:-1]))
            self._sides = *sides_of(self._rows.first[:, :-1], self._cells), self._moved * lengths
        self.method = "products" if axes.directions is None else "projections"
        held = (*self._rows, *self._cells, *(self._sides or ()))
        self.nbytes = sum(part.nbytes for part in held)

    def answer(self, search: Search) -> Neighbors:
        queries, squares = self._project(search.Q, search.threads)

        def search_near(some: Any) -> Neighbors:
            return self._nearest(search.of(some), queries.of(some), squares[some])

        fallback = Exhaustive(self._X, Metric(EUCLIDEAN))
        return search.with_fallback(search_near, ~(squares < FAR**2), fallback)

    def _nearest(self, search: Search, projected: Projected, squares: Vector) -> Neighbors:
        projected.first[:, -1] = 1.0
        m = len(squares)
        if self._sides is None:
            size, order = min(LARGE_GROUP, max(GROUP, -(-m // search.threads))), np.arange(m)
        else:
            size, order = GROUP, cells_of(projected.first[:, :-1], GROUP).order
        search, projected, squares = search.of(order), projected.of(order), squares[order]
        slack = 2 * self._off * squares + NEXT_TO_NOTHING**2
        moved = self._moved * np.sqrt(squares) + NEXT_TO_NOTHING
        unit = self._axes.scale**2

        def scan(group: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            mine, of_group = projected.of(group), (squares[group], slack[group])
            queries = QueryGroup(search.Q[group], search.skip[group], mine, *of_group)
            scratch = np.empty(len(mine.first) * CELL, np.float32)

            def limits() -> Vector:
                return np.asarray(np.sqrt(heaps.distances[:, 0] * unit) + moved[group])

            for cell, bounds in self._near_first(mine.first, limits):
                if monitor.should_stop():
                    return
                who = np.flatnonzero(bounds <= limits())
                if not len(who):
                    continue
                rows = slice(*self._cells.starts[cell : cell + 2])
                near = self._rows.of(rows)
                tile = scratch[: len(who) * len(near.first)].reshape(len(who), -1)
                left = mine.first if len(who) == len(mine.first) else mine.first[who]
                np.matmul(left, near.first.T, out=tile)
                numbers = self._cells.order[rows]
                _keep(tile, who, numbers, near, self._X, queries, self._off, unit, heaps)

        return search.in_groups(scan, size).of(np.argsort(order))

    def _near_first(
        self, group: Matrix, limits: Callable[[], Vector]
    ) -> Iterator[tuple[int, Vector]]:
        """Cells, those nearest to the group first, with the distances of its queries to them, (group,).

        After a few, when neighbours are known, those too far for the whole group are left out.
        """
        if self._sides is None:
            yield from ((cell, np.zeros(len(group))) for cell in range(self._cells.n_cells))
            return
        Z = np.ascontiguousarray(group[:, :-1].T)
        bounds = distances_to_boxes(*self._sides, Z, EUCLIDEAN)
        order = np.argsort(bounds.sum(axis=1), kind="stable")
        for cells in (order[:FIRST], order[FIRST:]):
            within = (bounds[cells] <= limits()).any(axis=1)
            yield from ((cell, bounds[cell]) for cell in cells[within])

    def _project(self, X: Any, threads: int) -> tuple[Projected, Vector]:
        """Rows of X on the axes, and their squared lengths; the last column of `first` is not filled."""
        axes, n = self._axes, len(X)
        m, turned = axes.leading, axes.directions
        total = m if turned is None else turned.shape[1]
        ends = [m, min(2 * m, total), total]
        widths = [m + 2 if turned is not None else m + 1]
        widths += [b - a + 1 if b > a else 0 for a, b in pairwise(ends)]
        levels = Projected(*(np.empty((n, width), np.float32) for width in widths))
        squares = np.empty(n)

        @np.errstate(over="ignore", invalid="ignore")  # infinite is far
        def project(rows: slice) -> None:
            Z = X[rows] - axes.centre
            Z *= axes.scale
            squares[rows] = s = np.einsum("ij,ij->i", Z, Z)
            if turned is None:
                levels.first[rows, :m] = Z
                return
            Z = Z @ turned
            for level, start, end in zip(levels, [0, *ends], ends, strict=False):
                if end > start:
                    level[rows, : end - start] = Z[:, start:end]
                    level[rows, end - start] = _rest_length(s, Z[:, :end])

        for _ in in_order(project, row_blocks(n, BLOCK), threads=threads):
            pass
        return levels, squares


def _rest_length(squares: Vector, Z: Matrix) -> Vector:
    """Length of the component orthogonal to the axes."""
    return np.asarray(np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", Z, Z), 0.0)))


@njit(cache=True, nogil=True)  # no flags: they would reach into the distance that decides
def _keep(
    tile: Matrix,
    who: Codes,
    order: Codes,
    near: Projected,
    X: Any,
    queries: QueryGroup,
    off: float,
    unit: float,
    heaps: Neighbors,
) -> None:
    """Compute exact distances of the pairs of a tile that its bounds do not rule out.

    tile: q . x - |x|^2 / 2 of the projections, for the queries `who`; so |q|^2 - 2 tile is the bound,
    less the rounding of |x|^2. Candidates go to a list without a branch, so that the next rows are
    prefetched.
    """
    Q, skip, projected, q_squares, slack = queries
    distances, rows = heaps
    m = near.first.shape[1] - 2
    left, bounds = np.empty(tile.shape[1], np.int64), np.empty(tile.shape[1])
    for position, i in enumerate(who):
        if rows[i, 0] == NOBODY:
            _begin(tile, position, i, order, X, queries, heaps)
        limit = distances[i, 0] * unit + slack[i]
        least = max((q_squares[i] - limit) / 2, LOWEST)
        count = _reaching(tile, position, np.float32(least), left)
        limit += slack[i]
        for t in range(count):
            c = left[t]
            square = np.float64(near.first[c, m + 1]) / (off - 0.5)
            bounds[t] = q_squares[i] - 2 * np.float64(tile[position, c]) - 2 * off * square
        if near.second.shape[1] and count:
            for t in range(count):
                c = left[t]
                gap = np.float64(projected.first[i, m] - near.first[c, m])
                bounds[t] += _gap(projected.second, i, near.second, c) - gap * gap
            count = _within(limit, left, bounds, count)
        if near.third.shape[1] and count:
            for t in range(count):
                c = left[t]
                gap = np.float64(projected.second[i, -1] - near.second[c, -1])
                bounds[t] += _gap(projected.third, i, near.third, c) - gap * gap
            count = _within(limit, left, bounds, count)
        for t in range(count):
            row = np.int64(order[left[t]])
            if bounds[t] <= limit and row != skip[i]:
                distance = squared_distance(X, row, Q, i, distances[i, 0])
                if enter(heaps, i, distance, row):
                    limit = distances[i, 0] * unit + 2 * slack[i]


@njit(cache=True, nogil=True)
def _begin(
    tile: Matrix, position: int, i: int, order: Codes, X: Any, queries: QueryGroup, heaps: Neighbors
) -> None:
    """Compute exact distances of the k rows with the least bounds in the first tile."""
    Q, skip = queries.Q, queries.skip[i]
    k = min(heaps.rows.shape[1], tile.shape[1])
    bounds, positions = np.full((1, k), np.inf), np.full((1, k), NOBODY)
    best = Neighbors(bounds, positions)
    for c in range(tile.shape[1]):
        if -tile[position, c] < bounds[0, 0]:
            enter(best, 0, np.float64(-tile[position, c]), c)
    for c in positions[0]:
        if c != NOBODY:
            row = np.int64(order[c])
            if row != skip:
                enter(heaps, i, squared_distance(X, row, Q, i, np.inf), row)
            tile[position, c] = -np.inf  # done


@njit(cache=True, nogil=True)
def _reaching(tile: Matrix, i: int, least: float, left: Codes) -> int:
    """Positions of values of at least `least` in a row of the tile; returns their number."""
    count = 0
    end_of_lanes = tile.shape[1] // LANES * LANES
    for start in range(0, end_of_lanes, LANES):
        hits = at_least_mask(tile, i, start, least)
        while hits:
            left[count] = start + first_bit(hits)
            count += 1
            hits &= hits - np.uint64(1)
    for c in range(end_of_lanes, tile.shape[1]):
        left[count] = c
        count += tile[i, c] >= least
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
