"""Loops over boxes against plain ones.

Rows lie elsewhere than their boxes say: so it shows which of them are measured.
"""

import numpy as np
import pytest

from separatrix.solvers.nearest import boxes
from separatrix.solvers.nearest.boxes import BoxTree, ScaledQueries
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors

CODES = [(EUCLIDEAN, 2), (MANHATTAN, 1), (CHEBYSHEV, 0)]


def sizes_of(gaps, norm):
    """Sums of squares, sums or maxima of differences, (d, lanes): exact for small whole numbers."""
    gaps = np.abs(gaps)
    return {2: (gaps * gaps).sum(0), 1: gaps.sum(0), 0: gaps.max(0, initial=0.0)}[norm]


def raw(X, Q, code):
    """Raw distances of all queries to all rows."""
    gaps = np.abs(Q[:, None] - X)
    return {EUCLIDEAN: (gaps**2).sum(-1), MANHATTAN: gaps.sum(-1), CHEBYSHEV: gaps.max(-1)}[code]


def test_columns_are_summed_up_and_rows_scaled():
    X = np.array([[3.0, -1.0, 0.25], [-5.0, -2.0, 0.5], [1.0, -4.0, 0.0]])
    for rows in (X, X.astype(np.float32)):
        sums, lows, highs = boxes._summary(rows)
        assert sums.tolist() == [-1.0, -7.0, 0.75]
        assert lows.tolist() == [-5.0, -4.0, 0.0]
        assert highs.tolist() == [3.0, -1.0, 0.5]
    Z, largest = np.full((3, 3), 9.0, np.float32), np.full(3, 9.0, np.float32)
    boxes._scale(X, np.array([1.0, -2.0, 0.25]), 0.125, Z, largest)
    np.testing.assert_array_equal(Z, (X - [1.0, -2.0, 0.25]) / 8)
    assert largest.tolist() == [0.25, 0.75, 0.25]


@pytest.mark.parametrize(("first", "last"), [(0, 18), (2, 17)])
def test_leaves_hold_their_rows_and_the_boxes_around_them(first, last):
    rng = np.random.default_rng(first)
    Z = rng.integers(-9, 10, (275, 2)).astype(np.float32)
    moved = rng.integers(1, 9, 275).astype(np.float32) / 8
    order = rng.permutation(275).astype(np.int32)
    rows, margins = np.full((18, 2, 16), 99, np.float32), np.full(18, 99, np.float32)
    around = np.full((2, 5, 16), 99, np.float32)
    expected = rows.copy(), margins.copy(), around.copy()
    for leaf in range(first, last):
        own = order[16 * leaf : 16 * leaf + 16]
        expected[0][leaf] = np.inf
        expected[0][leaf][:, : len(own)] = Z[own].T
        expected[1][leaf] = moved[own].max()
        lane = expected[2][leaf // 16, :, leaf % 16]
        lane[0:4:2], lane[1:4:2] = Z[own].min(axis=0), Z[own].max(axis=0)
        lane[4] = moved[own].max()

    boxes._fill_leaves(Z, moved, order, first, last, rows, margins, around)

    for found, wanted in zip((rows, margins, around), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_one_leaf_has_no_box():
    Z = np.array([[4.0], [-2.0]], np.float32)
    rows, margins = np.zeros((1, 1, 16), np.float32), np.zeros(1, np.float32)
    order, none = np.array([1, 0], np.int32), np.empty((0, 3, 16), np.float32)
    boxes._fill_leaves(Z, np.array([0.25, 0.5], np.float32), order, 0, 1, rows, margins, none)
    assert rows[0, 0].tolist() == [-2.0, 4.0, *[np.inf] * 14]
    assert margins.tolist() == [0.5]


def test_boxes_of_higher_levels_surround_those_below():
    counts, starts = np.array([301, 19, 2, 1]), np.array([0, 19, 21, 22])
    rng = np.random.default_rng(0)
    below = np.full((304, 5), np.inf, np.float32)
    below[:301] = rng.integers(-99, 100, (301, 5))
    tree = np.full((22, 5, 16), np.inf, np.float32)
    tree[:19] = below.reshape(19, 16, 5).transpose(0, 2, 1)
    expected = tree.copy()
    for level in (1, 2):
        n = counts[level - 1]
        above = np.full((16 * counts[level + 1], 5), np.inf, np.float32)
        for node in range(counts[level]):
            inside = below[16 * node : min(16 * node + 16, n)]
            above[node] = inside.max(axis=0)
            above[node, 0:4:2] = inside[:, 0:4:2].min(axis=0)
        parts = above.reshape(-1, 16, 5).transpose(0, 2, 1)
        expected[starts[level] : starts[level + 1]] = parts
        below = above

    boxes._join_boxes(tree, starts, counts)

    np.testing.assert_array_equal(tree, expected)


@pytest.mark.parametrize("code", [EUCLIDEAN, MANHATTAN, CHEBYSHEV])
def test_neighbours_of_the_last_query_bound_those_of_the_next(code):
    rng = np.random.default_rng(code)
    X, Q = rng.integers(-4, 5, (6, 2)) / 8, rng.integers(-4, 5, (3, 2)) / 8
    D = raw(X, Q, code)
    for last_skips in (-1, 0, 4):
        for skips in (-1, 0, 2, 3):
            found = no_neighbors(3, 3)
            found.rows[1] = [2, 5, 3]
            rows = [row for row in (last_skips, 2, 5, 3) if row >= 0 and row != skips][:3]
            skip = np.array([9, last_skips, skips])
            bound = boxes._bound_by_last(X, Q, skip, 1, 2, code, found)
            assert bound == (D[2, rows].max() if len(rows) == 3 else np.inf)


class PlainSearch:
    """As `_search`, box after box; the nearest first, of equally near ones the last."""

    def __init__(self, tree, X, queries, unit, code, norm, k):
        self.tree, self.queries, self.unit, self.norm = tree, queries, unit, norm
        self.D, self.k = raw(X, queries.Q, code), k
        self.heaps = no_neighbors(len(self.D), k)  # filled with some rows that are far
        self.heaps.rows[:] = range(len(X) - 1, len(tree.order) - 1, -1)
        self.heaps.distances[:] = self.D[:, len(tree.order) :]

    def run(self, some):
        for position, i in enumerate(some):
            self.i, self.most = i, np.inf
            self.heap = self.heaps.of([i])
            if position:
                self.most = self.bound_by(some[position - 1])
            self.visit(-np.inf, len(self.tree.starts) - 1, 0)
            self.heaps.rows[i], self.heaps.distances[i] = self.heap.rows, self.heap.distances

    def bound_by(self, last):
        rows = [self.queries.skip[last], *self.heaps.rows[last]]
        rows = [row for row in rows if row >= 0 and row != self.queries.skip[self.i]][: self.k]
        return self.D[self.i, rows].max() if len(rows) == self.k else np.inf

    def limit(self):
        scaled = self.most * self.unit
        scaled = np.sqrt(scaled) if self.norm == 2 else scaled
        up = 1 + (self.queries.Z.shape[1] + 8) * 2.0**-23
        return np.float32((scaled + self.queries.moved[self.i]) * up)

    def visit(self, bound, level, node):
        rows, margins, around, starts, order = self.tree
        z = self.queries.Z[self.i][:, None]
        if bound > self.limit():
            return
        if level == 0:
            reach = self.limit() + margins[node]
            near = sizes_of(rows[node] - z, self.norm) <= (reach**2 if self.norm == 2 else reach)
            own = order[16 * node : 16 * node + 16][near[: len(order) - 16 * node]]
            self.measure(own)
            return
        box = around[starts[level - 1] + node]
        gaps = np.maximum(np.maximum(box[:-1:2] - z, z - box[1::2]), 0)
        with np.errstate(invalid="ignore"):  # boxes without rows
            bounds = sizes_of(gaps, self.norm)
            bounds = (np.sqrt(bounds) if self.norm == 2 else bounds) - box[-1]
        near = np.flatnonzero((bounds <= self.limit()) & (bounds < np.inf))
        for lane in sorted(near, key=lambda lane: (bounds[lane], -lane)):
            self.visit(bounds[lane], level - 1, 16 * node + lane)

    def measure(self, rows):
        for row in rows:
            if row != self.queries.skip[self.i]:
                enter(self.heap, 0, self.D[self.i, row], row)
        self.most = min(self.most, self.heap.distances[0, 0])


@pytest.mark.parametrize(("code", "norm"), CODES)
@pytest.mark.parametrize(("n", "k"), [(275, 1), (275, 4), (13, 3), (39, 2)])
def test_boxes_are_searched_as_a_plain_loop_does(code, norm, n, k):
    rng = np.random.default_rng(n + k + norm)
    Z = rng.integers(-20, 21, (n, 2)).astype(np.float32)
    moved = rng.integers(0, 3, n).astype(np.float32) / 2
    tree = boxes._build_tree(Z, moved, 1)
    X = np.full((n + k, 2), 99.0)
    X[:n] = Z + rng.integers(-9, 10, (n, 2))
    m = 12
    some = rng.permutation(m)[:-1].astype(np.int32)
    queries = ScaledQueries(
        rng.integers(-9, 10, (m, 2)).astype(np.float64),
        np.where(np.arange(m) % 3 == 0, rng.integers(0, n, m), -1),
        rng.integers(-20, 21, (m, 2)).astype(np.float32),
        rng.integers(0, 4, m) / 4,
    )
    plain = PlainSearch(tree, X, queries, 0.25, code, norm, k)
    found = Neighbors(*(part.copy() for part in plain.heaps))

    boxes._search(tree, X, some, queries, 0.25, code, norm, found)

    plain.run(some)
    for i in some:
        ranks = np.lexsort((plain.heaps.rows[i], plain.heaps.distances[i]))
        assert found.rows[i].tolist() == plain.heaps.rows[i, ranks].tolist()
        assert found.distances[i].tolist() == plain.heaps.distances[i, ranks].tolist()


@pytest.mark.parametrize(("more", "is_near"), [(0, True), (9, True), (10, False), (14, False)])
@pytest.mark.parametrize("inside", [True, False])
def test_a_limit_leaves_room_for_the_rounding_of_sums(more, is_near, inside):
    """For d = 1 that is 9 units of the last place: a row of the second box is measured or not.

    The query is inside of that box, or as far from it as from the row.
    """
    edge = np.float32(1.0 + more * 2.0**-23)
    rows = np.full((2, 1, 16), np.inf, np.float32)
    rows[0, 0, 0], rows[1, 0, 0] = 0.0, edge
    around = np.full((1, 3, 16), np.inf, np.float32)
    around[0, :, 0], around[0, :, 1] = [0.0, 0.0, 1.0], [-2.0, 2.0, 0.0]
    around[0, 0, 1] = -2.0 if inside else edge
    order = np.full(32, 1, np.int32)
    order[[0, 16]] = [1, 0]
    tree = BoxTree(rows, np.zeros(2, np.float32), around, np.array([0, 1]), order)
    X, none, found = np.array([[0.5], [1.0]]), np.array([-1]), no_neighbors(1, 1)
    queries = ScaledQueries(np.zeros((1, 1)), none, np.zeros((1, 1), np.float32), np.zeros(1))

    boxes._search(tree, X, np.zeros(1, np.int32), queries, 1.0, MANHATTAN, 1, found)

    assert found.rows[0, 0] == (0 if is_near else 1)
