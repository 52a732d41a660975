"""What each search allows for rounding, and the sizes of its groups, are what its header says."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest import bits, boxes, cells, columns, manhattan, scan, sparse
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Search
from separatrix.solvers.nearest.metrics import metric_of
from separatrix.solvers.nearest.rounding import FAR, NEXT_TO_NOTHING, scale_of

L1, L2 = metric_of("l1"), metric_of("l2")


@pytest.mark.parametrize(("metric", "power"), [(L2, 2), (L1, 1)])
def test_sparse_rows_are_scaled_and_their_sums_leave_room_for_rounding(metric, power):
    X = csr_array([[3.0, 0.0, -12.0, 1.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    index = sparse.Sparse(X, metric)
    scale = 2.0**-5  # 12 sqrt(4) = 24 is below 2^5
    off = power * 2 * (3 + 8) * 2.0**-24
    assert (index._scale, index._off, index._bounded) == (scale, off, True)
    np.testing.assert_array_equal(index._scaled, (X.data * scale).astype(np.float32))
    sums = (np.abs(X.toarray() * scale) ** power).sum(axis=1)
    np.testing.assert_array_equal(index._starts, ((1 - off) * sums).astype(np.float32))
    assert index.nbytes == 4 * (4 + 3)
    assert sparse.Sparse(csr_array((3, 4)), metric)._bounded
    assert sparse.Sparse(csr_array((3, 4)), metric)._off == power * 2 * 8 * 2.0**-24


def asked_of(monkeypatch, index, Q, k, threads=1):
    """The size of the groups of queries that an index asks for."""
    sizes = []

    def in_groups(self, scan, size, *, heaps=True):
        sizes.append(size)
        return whole(self, scan, size, heaps=heaps)

    whole = Search.in_groups
    monkeypatch.setattr(Search, "in_groups", in_groups)
    index.nearest(Q, k, np.full(len(Q), -1), threads=threads)
    return sizes[0]


def test_groups_of_binary_queries_fit_in_a_mebibyte_and_are_shared_by_the_threads(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, (300, 40)).astype(np.float64)
    index = bits.Bits(X, Exhaustive(X, L1))
    assert asked_of(monkeypatch, index, X[:9], 3, threads=2) == 5
    assert asked_of(monkeypatch, index, X[:9], 3) == 9
    assert asked_of(monkeypatch, index, np.tile(X, (3, 1)), 3) == 512
    slots = 2 * 299 + 64 + 40
    monkeypatch.setattr(bits, "MEBIBYTE", 7 * slots + 1)
    assert asked_of(monkeypatch, index, X, 299) == 7


def test_manhattan_queries_are_shared_and_begin_with_some_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 3)) @ rng.normal(size=(3, 20))
    index = manhattan.Manhattan(X)
    begun, seed = [], manhattan._seed

    def spy(*given):
        begun.append(given[3])
        return seed(*given)

    monkeypatch.setattr(manhattan, "_seed", spy)
    assert asked_of(monkeypatch, index, X[:9], 3, threads=2) == 5
    assert asked_of(monkeypatch, index, X[:99], 3) == 32
    assert asked_of(monkeypatch, index, X[:1], 3, threads=4) == 1
    assert set(begun) == {8}
    asked_of(monkeypatch, index, X[:1], 39)
    asked_of(monkeypatch, index, X[:1], 699)
    assert begun[-2:] == [9, 11]  # one for 4 neighbours; there are 11 blocks
    monkeypatch.setattr(manhattan, "MOST_SEEDS", 10)
    asked_of(monkeypatch, index, X[:1], 699)
    monkeypatch.setattr(manhattan, "CHUNK", 6 * 32 * 64 * 20)
    asked_of(monkeypatch, index, X[:1], 699)
    assert begun[-2:] == [10, 6]


def test_manhattan_codes_are_group_sums_in_units():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 6))
    groups = [
        columns.Groups(np.array([0, 1, 0, 1, 2, 2]), np.array([1, -1, 1, 1, -1, 1], np.int8), 3)
    ]
    coding = manhattan.GroupCoding(X.mean(axis=0), 2.0**-10, groups)
    assert coding.slacks.tolist() == [3 * 1.000001]
    assert coding.ends.tolist() == [0, manhattan.PIECE]
    codes, reaches = manhattan._codes(X, coding)
    gaps = X - coding.centre
    sums = columns.group_sums(gaps, groups[0])
    np.testing.assert_allclose(reaches, np.abs(gaps).sum(axis=1))
    np.testing.assert_array_equal(codes[:, :3], np.floor(sums * 2.0**10 + 16384))
    assert not codes[:, 3:].any()
    far, reach = manhattan._codes(np.array([[1e3] * 6, [1e201] * 6]), coding)
    assert far[0, 0] == 32_767
    assert reach[1] == np.inf
    assert not far[1].any()


def test_a_limit_in_units_is_rounded_up_and_bounded():
    assert manhattan._limit(2.0, 8.0, 3.5) == 19
    assert manhattan._limit(np.inf, 8.0, 3.5) == 65_535
    assert manhattan._limit(65_534.0, 1.0, 0.5) == 65_534
    assert manhattan._limit(65_536.0, 1.0, 0.0) == 65_535
    sums = np.array([[5, 3, 9], [4, 8, 2]], np.uint16)
    assert [manhattan._seed_limit(sums, k) for k in (1, 2, 3, 5, 99)] == [3, 3, 4, 8, 9]


@pytest.mark.parametrize("name", ["l2", "l1", "chebyshev"])
def test_boxes_know_how_far_rounding_moves_rows(name):
    X = np.array([[0.0, 8.0], [4.0, 2.0], [5.0, 2.0]])
    index = boxes.Boxes(X, metric_of(name))
    np.testing.assert_array_equal(index._centre, [3.0, 4.0])
    assert index._scale == scale_of(4.0) == 0.125
    assert index._off == 2.0**-24 * {"l2": np.sqrt(2), "l1": 2, "chebyshev": 1}[name]
    Z, largest = index._scale_rows(X, 1)
    np.testing.assert_array_equal(Z, (X - [3.0, 4.0]) / 8)
    np.testing.assert_array_equal(largest, np.abs(Z).max(axis=1))
    assert index._tree.margins.tolist() == [np.float32(np.float32(0.5) * np.float32(index._off))]


def test_a_tree_has_a_level_for_every_sixteen():
    for n, starts in ((16, [0]), (17, [0, 1]), (256, [0, 1]), (257, [0, 2, 3])):
        Z = np.random.default_rng(n).normal(size=(n, 2)).astype(np.float32)
        tree = boxes._build_tree(Z, np.zeros(n, np.float32), 2)
        assert tree.starts.tolist() == starts
        assert tree.rows.shape == (-(-n // 16), 2, 16)
        lanes = tree.rows.transpose(0, 2, 1).reshape(-1, 2)[:n]
        np.testing.assert_array_equal(lanes, Z[tree.order])
        assert np.isinf(tree.rows.transpose(0, 2, 1).reshape(-1, 2)[n:]).all()


def test_far_queries_are_measured_one_by_one():
    X = np.random.default_rng(5).normal(size=(60, 3))
    index = boxes.Boxes(X, L2)
    limit = FAR / index._scale
    Q = index._centre + np.array([[0.4 * limit, 0, 0], [3 * limit, 0, 0], [0, 0, 0]])
    assert_exhaustive(index, X, Q, 4)
    assert NEXT_TO_NOTHING < 1e-15


def test_threads_cut_cells_one_size_after_the_other(monkeypatch):
    calls = []
    cut = cells._cut_cell
    monkeypatch.setattr(
        cells,
        "_cut_cell",
        lambda *given: calls.append((given[2].tolist(), given[3])) or cut(*given),
    )
    Z = np.random.default_rng(6).normal(size=(100, 2)).astype(np.float32)
    cells.order_by_cells(Z, (200, 50, 10), threads=2)
    assert calls == [([50, 10], slice(0, 100))]  # few rows: all at once
    calls.clear()
    monkeypatch.setattr(cells, "MANY", 100)
    cells.order_by_cells(Z, (200, 50, 10), threads=2)
    assert sorted(calls, key=str) == sorted(
        [([50], slice(0, 100)), ([10], slice(0, 50)), ([10], slice(50, 100))], key=str
    )
    calls.clear()
    cells.order_by_cells(Z, (50, 10), threads=1)
    assert calls == [([50, 10], slice(0, 100))]


def test_a_scan_gives_each_thread_its_part_of_the_rows(monkeypatch):
    X = np.random.default_rng(7).normal(size=(101, 4))
    found, blocks = scan.ProductScan(X), []
    keep = scan._keep

    def spy(products, squares, start, *rest):
        blocks.append((start, products.shape[1]))
        return keep(products, squares, start, *rest)

    monkeypatch.setattr(scan, "_keep", spy)
    monkeypatch.setattr(scan, "WORTH_A_THREAD", 101 * 4 * (1.0 + 0.05 * 10) / 2)
    found.answer(Search(X[:10], 3, np.full(10, -1), 4, FitMonitor()))
    assert sorted(blocks) == [(0, 51), (51, 50)]
    np.testing.assert_allclose(found._squares, (X**2).sum(axis=1))


def spread_lost(a, b):
    together = max(np.linalg.norm(a + b), np.linalg.norm(a - b))
    return np.linalg.norm(a) + np.linalg.norm(b) - together


def test_columns_are_merged_as_the_definition_says():
    """The pair that loses the least spread, again and again; plain loops over all pairs."""
    rng = np.random.default_rng(8)
    S = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 7)) + 0.3 * rng.normal(size=(60, 7))
    S -= S.mean(axis=0)
    for g in (7, 5, 3, 1):
        sums = {j: S[:, j].copy() for j in range(7)}
        members = {j: {j: 1} for j in range(7)}
        while len(sums) > g:
            pairs = [(a, b) for a in sums for b in sums if a < b]
            a, b = min(pairs, key=lambda pair, sums=sums: spread_lost(*map(sums.get, pair)))
            sign = 1 if sums[a] @ sums[b] >= 0 else -1
            sums[a] = sums[a] + sign * sums.pop(b)
            members[a].update({j: sign * s for j, s in members.pop(b).items()})
        found = columns.merge_columns(S).groups(7, g)
        assert len(set(found.labels.tolist())) == found.size == g
        for own in members.values():
            label = {found.labels[j] for j in own}
            assert len(label) == 1
            signs = {found.signs[j] * s for j, s in own.items()}
            assert len(signs) == 1
        np.testing.assert_allclose(
            np.sort(np.abs(columns.group_sums(S, found)).sum(axis=0)),
            np.sort([np.abs(total).sum() for total in sums.values()]),
        )


def test_many_columns_are_merged_in_adjacent_parts_first(monkeypatch):
    monkeypatch.setattr(columns, "MAX_COLUMNS", 6)
    monkeypatch.setattr(columns, "ADJACENT", 4)
    S = np.random.default_rng(9).normal(size=(50, 12))
    steps = columns.merge_columns(S)
    assert len(steps.into) == 11
    first = [set(range(start, start + 4)) for start in (0, 4, 8)]
    for number in range(6):  # two merges in each part, down to half
        part = first[number // 2]
        assert {int(steps.into[number]), int(steps.gone[number])} <= part
    assert len(set(steps.gone.tolist())) == 11
