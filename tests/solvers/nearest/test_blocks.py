import numpy as np
import pytest
from scipy.sparse import csr_array

import separatrix.solvers.nearest.blocks as module
from separatrix.errors import DataError
from separatrix.solvers.nearest.blocks import Blocks, PrecomputedDistances

NOBODY_SKIPPED = np.full(20, -1)


def gaps(seed=0, m=20, n=50, values=7):
    """Distances with many ties."""
    return np.random.default_rng(seed).integers(0, values, size=(m, n)).astype(float)


def of(D, **more):
    """An index whose queries are rows of D, by number."""
    return Blocks(D.shape[1], lambda Q, rows: D[Q[:, 0], rows], **more)


def sorted_rows(D, k):
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("rows", [1, 7, 4096])
@pytest.mark.parametrize("threads", [1, 3])
def test_ties_go_by_row_whatever_the_blocks_and_threads(rows, threads, monkeypatch):
    monkeypatch.setattr(module, "ROWS", rows)
    monkeypatch.setattr(module, "MIN_QUERIES", 1)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 3 * min(rows, 50))
    D = gaps()
    found = of(D, threaded=True).nearest(np.arange(20)[:, None], 9, NOBODY_SKIPPED, threads=threads)
    np.testing.assert_array_equal(found.rows, sorted_rows(D, 9))
    np.testing.assert_array_equal(found.distances, np.take_along_axis(D, found.rows, axis=1))


@pytest.mark.parametrize(
    "made", [lambda D: PrecomputedDistances(D.shape[1]), of], ids=["precomputed", "computed"]
)
def test_a_skipped_row_is_not_found(made):
    D = gaps(m=50)
    queries = D if made is not of else np.arange(50)[:, None]
    found = made(D).nearest(queries, 49, np.arange(50), threads=1)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(found.rows, sorted_rows(D, 49))


def test_blocks_stay_within_their_size(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 2**19)
    asked = []

    def distances(Q, rows):
        asked.append(Q.shape[0] * (rows.stop - rows.start))
        return np.zeros((Q.shape[0], rows.stop - rows.start))

    Blocks(5000, distances).nearest(np.zeros((40, 1)), 1, np.full(40, -1), threads=1)
    assert sum(asked) == 40 * 5000
    assert max(asked) * 8 == module.BLOCK_BYTES


def test_what_is_not_a_number_comes_last_and_infinity_before_nobody():
    D = np.array([[np.nan, 2.0, np.inf, 1.0]])
    found = of(D).nearest(np.array([[0]]), 4, np.array([-1]), threads=1)
    assert found.rows.tolist() == [[3, 1, 0, 2]]
    assert found.distances.tolist() == [[1.0, 2.0, np.inf, np.inf]]


def test_no_query_has_no_neighbours():
    found = of(gaps()).nearest(np.empty((0, 1), dtype=int), 3, np.empty(0, dtype=int), threads=2)
    assert found.rows.shape == found.distances.shape == (0, 3)


def test_a_block_of_another_shape_is_refused():
    with pytest.raises(DataError, match=r"must have shape \(2, 3\); got \(3, 2\)"):
        Blocks(3, lambda Q, rows: np.zeros((3, 2))).nearest(
            np.zeros((2, 1)), 1, np.array([-1, -1]), threads=1
        )


def test_only_stored_distances_of_a_sparse_matrix_count():
    D = csr_array((np.array([3.0, 0.0, 3.0, 1.0, 2.0]), np.array([2, 0, 1, 3, 0]), [0, 3, 5]))
    found = PrecomputedDistances(4).nearest(D, 2, np.array([-1, -1]), threads=1)
    assert found.rows.tolist() == [[0, 1], [3, 0]]
    assert found.distances.tolist() == [[0.0, 3.0], [1.0, 2.0]]
    with pytest.raises(
        DataError, match=r"2 neighbors per samples are required, but some .* only 1"
    ):
        PrecomputedDistances(4).nearest(D, 2, np.array([-1, 3]), threads=1)


def test_a_block_enters_row_by_row_and_nan_is_far():
    D = np.array([[3.0, np.nan, 1.0, 3.0, 1.0], [np.nan, np.nan, 4.0, 4.0, 0.0]])
    found = module.no_neighbors(2, 3)
    module._enter_all(D, 10, np.array([14, 2]), found)
    module.sort_heaps(found)
    assert found.rows.tolist() == [[12, 10, 13], [14, 12, 13]]
    assert found.distances.tolist() == [[1.0, 3.0, 3.0], [0.0, 4.0, 4.0]]
    far = module.no_neighbors(1, 5)
    module._enter_all(D[:1], 10, np.array([9]), far)
    module.sort_heaps(far)
    assert far.rows.tolist() == [[12, 14, 10, 13, 11]]
    assert far.distances[0, -1] == np.inf


def test_stored_distances_enter_with_their_columns():
    ends, columns = np.array([0, 3, 3, 5], np.int32), np.array([7, 0, 2, 0, 5], np.int32)
    found = module.no_neighbors(3, 2)
    module._enter_stored(ends, columns, np.array([2.0, 2.0, 1, 4, 3]), np.array([2, 0, 5]), found)
    module.sort_heaps(found)
    nobody = module.NOBODY
    assert found.rows.tolist() == [[0, 7], [nobody, nobody], [0, nobody]]
    assert found.distances.tolist() == [[2.0, 2.0], [np.inf, np.inf], [4.0, np.inf]]
