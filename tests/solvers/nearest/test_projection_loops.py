"""Loops over projections against plain ones.

Rows lie elsewhere than their projections say: so it shows which of them are measured.
"""

import numpy as np
import pytest

from separatrix.solvers.nearest import projections
from separatrix.solvers.nearest.projections import Projected, ProjectedQueries, ProjectedRows
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors

LOWEST = projections.LOWEST


def whole(rng, *shape, most=3, dtype=np.float32):
    return rng.integers(-most, most + 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_rows_are_centred_and_scaled(dtype):
    X = np.array([[3, 0, 7], [1, 2, 9]], dtype)
    out, squares = np.full((2, 5), 9, np.float32), np.empty(2)
    projections._centre(X, np.array([1.0, 2.0, -1.0]), 0.25, out, squares)
    np.testing.assert_array_equal(out[:, :3], [[0.5, -0.5, 2.0], [0.0, 0.0, 2.5]])
    assert (out[:, 3:] == 9).all()
    assert squares.tolist() == [4.5, 6.25]


@pytest.mark.parametrize("axes", [(2, 1, 1), (1, 3, 0), (3, 0, 0), (2, 2, 2)])
def test_rows_are_projected_level_after_level(axes):
    """258 rows are two blocks; the axes are columns of the identity, so that sums are exact."""
    rng = np.random.default_rng(sum(axes))
    n, d, total = 258, 7, sum(axes)
    X, centre = whole(rng, n, d, dtype=np.float64), whole(rng, d, dtype=np.float64)
    kept = rng.permutation(d)[:total]
    turned = np.ascontiguousarray(np.eye(d)[:, kept])
    extra = (2, 1, 1)
    parts = [
        np.full((n, count + more if count else 0), 9, np.float32)
        for count, more in zip(axes, extra, strict=True)
    ]
    squares = np.empty(n)

    projections._project(X, centre, 0.5, turned, Projected(*parts), squares)

    Z = (X - centre) * 0.5
    np.testing.assert_array_equal(squares, (Z**2).sum(axis=1))
    end = 0
    for count, part in zip(axes, parts, strict=True):
        if count:
            np.testing.assert_array_equal(part[:, :count], Z[:, kept[end : end + count]])
            end += count
            left = squares - (Z[:, kept[:end]] ** 2).sum(axis=1)
            np.testing.assert_array_equal(part[:, count], np.sqrt(left).astype(np.float32))
    assert (parts[0][:, -1] == 9).all()  # the term of the norm comes later


def test_a_length_left_over_is_not_the_root_of_a_negative_number():
    third, ones = np.array([[1 / 3]]), np.ones((1, 1))
    for factor in (1.0, 1.5):  # an axis that is too long by rounding, and more
        parts = [np.empty((1, 3), np.float32), *(np.empty((1, 0), np.float32) for _ in range(2))]
        projections._project(third, np.zeros(1), 1.0, factor * ones, Projected(*parts), np.empty(1))
        assert parts[0][0, :2].tolist() == [np.float32(factor / 3), 0.0]


@pytest.mark.parametrize(
    ("width", "parts", "k"), [(5, 16, 3), (5, 16, 8), (130, 16, 8), (37, 12, 4)]
)
def test_a_value_that_k_values_reach_is_the_kth_of_the_highest(width, parts, k):
    tile = whole(np.random.default_rng(width), 2, width, most=9)
    highest = [tile[1, c::parts].max(initial=-np.inf) for c in range(parts)]
    best = no_neighbors(1, k)
    found = projections._least_of_best(tile, 1, np.empty(parts), best)
    assert found == max(sorted(highest, reverse=True)[k - 1], LOWEST)


@pytest.mark.parametrize("width", [1, 63, 64, 65, 128, 130])
def test_positions_that_reach_a_value_come_in_order(width):
    tile = whole(np.random.default_rng(width), 3, width)
    for least in (-4.0, 1.0, 3.0, 4.0):
        left = np.full(width + 1, -1)
        count = projections._reaching(tile, 2, least, left)
        assert left[:count].tolist() == np.flatnonzero(tile[2] >= least).tolist()


def gap(a, b):
    return np.float64(((a - b) ** 2).sum(dtype=np.float32))


def raw(X, Q):
    return ((Q[:, None] - X) ** 2).sum(axis=-1)


def bound_of(queries, rows, i, c, value, off):
    """A query's bounds of a row on one, two and three levels, as far as there are any."""
    (first, second, third), (own_first, own_second, own_third) = rows.projected, queries.projected
    square = np.float64(first[c, -1]) / (off - 0.5)
    bounds = [queries.squares[i] - 2 * np.float64(value) - 2 * off * square]
    if second.shape[1]:
        left = own_first[i, -2] - first[c, -2]
        bounds.append(bounds[-1] + gap(own_second[i], second[c]) - left * left)
    if third.shape[1]:
        left = own_second[i, -1] - second[c, -1]
        bounds.append(bounds[-1] + gap(own_third[i], third[c]) - left * left)
    return bounds


def plain_keep(tile, who, start, queries, rows, X, off, unit, heaps):
    """As `_keep`, pair after pair."""
    D, slack = raw(X, queries.Q), queries.slack
    k, width = heaps.rows.shape[1], tile.shape[1]
    for i, values in zip(who, tile, strict=False):
        done = np.zeros(width, bool)
        if heaps.distances[i, 0] == np.inf:
            parts = 16 if 2 * k <= 16 else width
            highest = [values[c::parts].max(initial=-np.inf) for c in range(parts)]
            done = values >= max(sorted(highest, reverse=True)[k - 1], LOWEST)
            for row in rows.order[start + np.flatnonzero(done)]:
                if row != queries.skip[i]:
                    enter(heaps, i, D[i, row], row)
        limit = heaps.distances[i, 0] * unit + slack[i]
        reach = np.float32(max((queries.squares[i] - limit) / 2, LOWEST))
        passing = np.flatnonzero((values >= reach) & ~done)
        limit += slack[i]
        for c in passing:
            row = rows.order[start + c]
            bounds = bound_of(queries, rows, i, start + c, values[c], off)
            first_limit = heaps.distances[i, 0] * unit + 2 * slack[i]
            assert first_limit <= limit
            is_near = max(bounds[1:], default=-np.inf) <= limit and bounds[-1] <= first_limit
            if is_near and row != queries.skip[i]:
                enter(heaps, i, D[i, row], row)


def drawn(rng, n, m, widths, k, order):
    """Rows and queries, with projections that have nothing to do with them."""
    levels = [[whole(rng, count, width) for width in widths] for count in (n, m)]
    skip = np.where(np.arange(m) % 2 == 0, rng.integers(0, n, m), -1)
    X, Q = whole(rng, n, 2, most=6, dtype=np.float64), whole(rng, m, 2, most=6, dtype=np.float64)
    squares, slack = rng.integers(0, 40, m) / 2, rng.integers(0, 5, m) / 4
    queries = ProjectedQueries(Q, skip, Projected(*levels[1]), squares, slack, np.zeros(m))
    none = np.empty((0, widths[0] - 1), np.float32)
    starts = np.append(np.arange(0, n, 9), n)
    rows = ProjectedRows(Projected(*levels[0]), order, starts, none, none, np.empty(0))
    return X, queries, rows


@pytest.mark.parametrize("widths", [(3, 0, 0), (4, 2, 0), (4, 3, 2)])
@pytest.mark.parametrize("k", [1, 8, 9])
def test_the_pairs_of_a_tile_that_bounds_leave_are_measured(widths, k):
    rng = np.random.default_rng(k + sum(widths))
    n, m, off, unit = 90, 8, 0.25, 0.5
    X, queries, rows = drawn(rng, n, m, widths, k, rng.permutation(n).astype(np.int32))
    who = rng.permutation(m)
    found = no_neighbors(m, k)
    found.distances[1::2] = 60.0  # these know rows from cells before, the others none
    found.rows[1::2] = 1000 + np.arange(k)[::-1]
    expected = Neighbors(found.distances.copy(), found.rows.copy())
    for start, width in ((5, 75), (80, 10)):
        tile = whole(rng, m, width, most=9)
        plain_keep(tile, who, start, queries, rows, X, off, unit, expected)

        projections._keep(tile.copy(), who, start, queries, rows, X, off, unit, found)

        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("boxed", [True, False])
@pytest.mark.parametrize("at_once", [1, 300, 10**6])
def test_cells_are_scanned_nearest_first_and_queries_left_out_of_those_too_far(boxed, at_once):
    rng = np.random.default_rng(at_once)
    n, m, k, off, unit, width = 104, 13, 2, 0.25, 0.25, 3
    X, queries, rows = drawn(rng, n, m, (width, 0, 0), k, np.arange(n, dtype=np.int32))
    cells = len(rows.starts) - 1
    queries = queries._replace(moved=rng.integers(0, 3, m) / 2, slack=np.full(m, 300.0))
    lows = whole(rng, cells if boxed else 0, width - 1, most=9)
    highs, margins = lows + 2, rng.integers(0, 3, len(lows)) / 4
    rows = rows._replace(lows=lows, highs=highs, margins=margins)
    some = rng.permutation(m)[:-1]
    visited = np.zeros(cells, bool)
    visited[1] = True
    found = no_neighbors(m, k)
    found.distances[some[0]], found.rows[some[0]] = 9.0, [999, 998]
    plain, seen = Neighbors(found.distances.copy(), found.rows.copy()), visited.copy()
    scratch = np.empty(m * (600 + width), np.float32)
    first = queries.projected.first
    bounds = np.zeros((cells, m), np.float32)
    if boxed:
        lanes = np.ascontiguousarray(first[:, :-1].T)
        bounds = projections.distances_to_boxes(lows, highs, margins, lanes, 0)
    ended = False
    while not ended:
        work, order = at_once, sorted(range(cells), key=lambda c: (bounds[c, some].sum(), c))
        for cell in [c for c in order if not seen[c]]:
            if work <= 0:
                break
            seen[cell] = True
            reach = np.sqrt(plain.distances[some, 0] * unit) + queries.moved[some]
            who = some[bounds[cell, some] <= reach] if boxed else some
            part = slice(*rows.starts[cell : cell + 2])
            tile = first[who] @ rows.projected.first[part].T
            projections._keep(tile, who, part.start, queries, rows, X, off, unit, plain)
            work -= tile.size * width
        ended = projections._scan(
            some, visited, at_once, queries, rows, X, off, unit, found, scratch
        )
        assert visited.tolist() == seen.tolist()
        assert ended == (work > 0)
    assert visited.all()
    for i in some:
        assert sorted(zip(found.distances[i], found.rows[i], strict=True)) == sorted(
            zip(plain.distances[i], plain.rows[i], strict=True)
        )
        assert found.distances[i].tolist() == sorted(found.distances[i])
