"""Scans of group sums against plain loops.

Rows have nothing to do with their group sums: so it shows which of them are measured.
"""

import numpy as np
import pytest

from separatrix.runtime.simd import LANES, PIECE, REPEAT_16_BITS, blocks_of
from separatrix.solvers.nearest import manhattan
from separatrix.solvers.nearest.columns import Groups
from separatrix.solvers.nearest.manhattan import CodedQueries, CodedRows
from separatrix.solvers.nearest.ranking import enter, no_neighbors

MOST = 65_535


@pytest.mark.parametrize("start", [0, 8])
def test_rows_are_coded_as_group_sums_in_units(start):
    X = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [9e9, 0.0, 0.0], [0.0, 9e9, 0.0]])
    X = np.vstack([X, [[1e200, 0.0, 0.0]], [[0.9e200, 0.0, 0.0]], [[0.75, 0.0, 0.25]]])
    centre = np.array([1.0, 0.0, 0.5])
    groups = Groups(np.array([1, 0, 1]), np.array([1, -1, -1], np.int8), 2)
    codes, reaches = np.full((7, 16), 7, np.uint64), np.empty(7)

    manhattan._code(X, centre, groups, 4.0, codes, start, reaches)

    gaps = X - centre
    sums = np.stack([-gaps[:, 1], gaps[:, 0] - gaps[:, 2]], axis=1)
    expected = np.clip(4.0 * sums + 16_384, 0, 32_767).astype(np.uint64)
    expected[4] = 7
    np.testing.assert_array_equal(codes[:, start : start + 2], expected)
    assert (np.delete(codes, [start, start + 1], axis=1) == 7).all()
    assert reaches.tolist() == [4.5, 1.5, 9e9 - 0.5, 9e9 + 1.5, np.inf, 0.9e200, 0.5]


@pytest.mark.parametrize("d", [1, 255, 256, 257, 600])
def test_distances_of_bytes_are_summed_until_they_exceed_the_limit(d):
    rng = np.random.default_rng(d)
    X, Q = (rng.integers(0, 256, (3, d)).astype(np.uint8) for _ in range(2))
    ends = [*range(256, d, 256), d]
    parts = [np.abs(X[2, :end].astype(int) - Q[1, :end]).sum() for end in ends]
    for limit in (-1.0, *parts, *(part - 1.0 for part in parts), np.inf):
        expected = next((part for part in parts if part > limit), parts[-1])
        assert manhattan._byte_distance(X, np.int32(2), Q, 1, float(limit)) == expected
    assert manhattan._byte_sizes(X, 2, Q, 1, d - 1, 1) == abs(int(X[2, -1]) - int(Q[1, -1]))


def limit_of(distance, inverse, spare):
    limit = distance * (1.0 + 1e-9) * inverse + spare
    return int(limit) if limit < MOST else MOST


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 128, 200])
def test_the_limit_of_the_seeds_is_that_of_about_k_rows(k):
    sums = np.random.default_rng(k).integers(3, 400, (2, LANES)).astype(np.uint16)
    ranked = np.sort(sums.ravel())
    expected = sums.min(axis=1).max() if k <= 2 else ranked[min(k, 128) - 1]
    assert manhattan._seed_limit(sums, k) == expected


class Drawn:
    """Rows and queries whose codes have nothing to do with them, on one or two levels or none."""

    def __init__(self, seed, n, m, levels, dtype=np.uint8):
        rng = np.random.default_rng(seed)
        width = PIECE * levels
        self.n, self.levels = n, levels
        X, Q = rng.integers(0, 30, (n, 5)).astype(dtype), rng.integers(0, 30, (m, 5)) * 1.0
        Q[1::2] += 0.5  # is not the query as bytes
        self.D = np.abs(Q[:, None] - X).sum(axis=-1)
        self.own = rng.integers(0, 30, (n, width)).astype(np.uint64)
        self.asked = rng.integers(0, 30, (m, width)).astype(np.uint64)
        order = rng.permutation(n).astype(np.int32)
        slacks = np.array([3.0, 2.0])[2 - levels :] * 1.5
        ends = np.arange(0, width + 1, PIECE)
        blocks = blocks_of(self.own, order)
        self.coded = CodedRows(X, order, blocks, ends, slacks, 2.0)
        skip = np.where(np.arange(m) % 3 == 0, rng.integers(0, n, m), -1)
        as_bytes = manhattan._as_bytes(X, Q)
        spare = rng.integers(0, 5, m) / 2
        self.queries = CodedQueries(Q, skip, self.asked * REPEAT_16_BITS, spare, *as_bytes)

    def sums(self, i, at, level):
        """The bound of the row at a position, of zeros if there is none."""
        words = slice(PIECE * level, PIECE * level + PIECE)
        row = self.own[self.coded.order[at], words].astype(int) if at < self.n else 0
        return int(np.abs(row - self.asked[i, words].astype(int)).sum())

    def limit(self, heaps, i, level):
        slack = self.coded.slacks[level] if self.levels else 0.0
        return limit_of(heaps.distances[i, 0], 2.0, self.queries.spare[i] + slack)

    def verify(self, heaps, i, b, lanes, sums, cap):
        """As `_verify`, of lanes in order: those that are left, and how many were measured."""
        left, checked = [], 0
        for lane in lanes:
            if sums[lane] > min(cap, self.limit(heaps, i, -1)):
                left.append(lane)
                continue
            at = LANES * b + lane
            row = self.coded.order[at] if at < self.n else -1
            if at < self.n and row != self.queries.skip[i]:
                checked += 1
                enter(heaps, i, self.D[i, row], row)
        return left, checked

    def scan(self, heaps, done, first, work):
        """As `_scan`: two blocks at a time."""
        count, m = len(self.coded.blocks), len(self.D)
        while first < count and work > 0:
            for i in range(m):
                for b in (b for b in range(first, min(first + 2, count)) if not done[i, b]):
                    lanes, sums = range(LANES), dict.fromkeys(range(LANES), 0)
                    for level in range(self.levels):
                        limit = self.limit(heaps, i, level)
                        sums = {lane: self.sums(i, LANES * b + lane, level) for lane in lanes}
                        lanes = [lane for lane in lanes if sums[lane] <= limit]
                    checked = self.verify(heaps, i, b, lanes, sums, MOST)[1]
                    work -= checked * self.coded.X.shape[1]
            work -= m * 2 * LANES * PIECE * self.levels // 8
            first += 2
        return min(first, count)


def lanes_of(mask):
    return [lane for lane in range(LANES) if int(mask) >> lane & 1]


def assert_same_heaps(found, expected):
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_rows_are_measured_that_bounds_allow(levels, dtype):
    drawn = Drawn(levels, 100, 4, levels, dtype)
    found, expected = (no_neighbors(4, 2) for _ in range(2))
    rng = np.random.default_rng(levels)
    for cap in (40, MOST, MOST):
        for i in range(4):
            for b in range(2):
                mask = np.uint64(rng.integers(1, 2**63)) | np.uint64(2**63)
                sums = rng.integers(0, 100, LANES).astype(np.uint16)
                left, checked = manhattan._verify(
                    drawn.coded, drawn.queries, i, b, mask, sums, np.uint16(cap), found
                )
                plain = drawn.verify(expected, i, b, lanes_of(mask), sums, cap)
                assert (lanes_of(left), checked) == plain
                assert_same_heaps(found, expected)


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize(
    ("n", "k", "work"), [(300, 1, 10**6), (300, 5, 1), (129, 3, 700), (64, 2, 1)]
)
def test_blocks_are_scanned_two_at_a_time(levels, n, k, work):
    drawn = Drawn(n + levels, n, 4, levels)
    found, expected = (no_neighbors(4, k) for _ in range(2))
    done = np.random.default_rng(n).random((4, len(drawn.coded.blocks))) < 0.2
    first, plain = 0, 0
    while plain < len(drawn.coded.blocks):
        first = manhattan._scan(drawn.coded, drawn.queries, done, first, work, found)
        plain = drawn.scan(expected, done, plain, work)
        assert first == plain
        assert_same_heaps(found, expected)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_scan_returns_after_so_much_work(levels):
    """Two blocks of 64 rows are 128 units of work for a query and level, if no row is measured."""
    drawn = Drawn(levels, 600, 3, levels)
    done = np.ones((3, 10), bool)
    each = 3 * 2 * 64 * levels
    for work, rounds in ((1, 1), (each, 1), (each + 1, 2), (2 * each, 2), (9 * each, 5)):
        heaps = no_neighbors(3, 1)
        assert manhattan._scan(drawn.coded, drawn.queries, done, 0, work, heaps) == 2 * rounds
        assert np.isinf(heaps.distances).all()


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize(("count", "k"), [(2, 1), (3, 9), (5, 4)])
def test_a_search_begins_with_the_blocks_of_near_centres(levels, count, k):
    drawn = Drawn(count, 300, 4, levels)
    rng = np.random.default_rng(count)
    centres = rng.integers(0, 30, (5, PIECE * levels)).astype(np.uint64)
    found, expected = (no_neighbors(4, k) for _ in range(2))
    done = np.zeros((4, 5), bool)
    gaps = np.abs(centres[:, :PIECE].astype(int) - drawn.asked[:, None, :PIECE].astype(int))
    begun = np.zeros((4, 5), bool)
    for i in range(4):
        near = no_neighbors(1, count)
        for c in range(5):
            enter(near, 0, gaps[i, c].sum() * 1.0, c)
        begun[i, near.rows[0]] = True
        positions = [[LANES * b + lane for lane in range(LANES)] for b in near.rows[0]]
        level = max(levels - 1, 0)
        sums = [[drawn.sums(i, at, level) if levels else 0 for at in own] for own in positions]
        lanes = [range(LANES)] * count
        cap = manhattan._seed_limit(np.array(sums, np.uint16), k)
        for limit in (cap, MOST):
            for s, b in enumerate(near.rows[0]):
                lanes[s] = drawn.verify(expected, i, b, lanes[s], sums[s], limit)[0]

    manhattan._seed(drawn.coded, blocks_of(centres), drawn.queries, count, done, found)

    np.testing.assert_array_equal(done, begun)
    assert_same_heaps(found, expected)
