"""Scans of sparse rows against plain loops.

Bounds have nothing to do with the rows: so it shows which of them are measured.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest import sparse
from separatrix.solvers.nearest.metrics import EUCLIDEAN, MANHATTAN, metric_of
from separatrix.solvers.nearest.ranking import enter, no_neighbors
from separatrix.solvers.rows import CompiledRows


def drawn(rng, n, d, share=0.4):
    """Whole numbers, mostly zeros, with empty rows."""
    X = rng.integers(-4, 5, (n, d)) * (rng.random((n, d)) < share).astype(float)
    X[n // 2] = 0.0
    return X


def compiled(X, ends=np.int32):
    return CompiledRows(X.data, X.indices, X.indptr.astype(ends))


@pytest.mark.parametrize("code", [EUCLIDEAN, MANHATTAN])
def test_distances_of_sparse_rows_are_those_of_dense_ones(code):
    rng = np.random.default_rng(code)
    X, Q = drawn(rng, 9, 6), drawn(rng, 7, 6)
    Q[1], Q[2, :3], X[3, 3:] = 0.0, 0.0, 0.0
    X[5], Q[5] = rng.integers(1, 5, (2, 6))
    gaps = np.abs(Q[:, None] - X)
    D = (gaps**2 if code == EUCLIDEAN else gaps).sum(axis=-1)
    rows, queries = compiled(csr_array(X)), compiled(csr_array(Q), np.int64)
    found = [[sparse._distance(rows, row, queries, i, code) for row in range(9)] for i in range(7)]
    assert found == D.tolist()


def test_shared_features_are_taken_off_the_sums():
    spread = np.array([[9.0, 9.0, 9.0], [2.0, -3.0, 0.0]], np.float32)
    sums = np.array([10.0, 20.0, 30.0], np.float32)
    sparse._less_product(sums, np.float32(1.5), spread, np.int32(1))
    assert sums.tolist() == [4.0, 29.0, 30.0]
    sparse._less_shared(sums, np.float32(-1.5), spread, np.int32(1))
    assert sums.tolist() == [4.0 + 3.5 - 2.0 - 1.5, 29.0 + 1.5 - 3.0 - 1.5, 30.0]


@pytest.mark.parametrize("code", [EUCLIDEAN, MANHATTAN])
@pytest.mark.parametrize(("m", "k"), [(6, 1), (6, 3), (1, 2)])
def test_rows_are_measured_that_sums_do_not_rule_out(code, m, k):
    rng = np.random.default_rng(10 * k + m + code)
    n, d, unit = 80, 7, 0.5
    X, Q = csr_array(drawn(rng, n, d)), csr_array(drawn(rng, m, d))
    gaps = np.abs(Q.toarray()[:, None] - X.toarray())
    D = (gaps**2 if code == EUCLIDEAN else gaps).sum(axis=-1)
    slots = np.array([2, -1, 0, 3, -1, 1, 4], np.int32)
    spread = rng.integers(-3, 4, (5, m)).astype(np.float32)
    scaled = rng.integers(-3, 4, X.nnz).astype(np.float32)
    starts = rng.integers(0, 30, n).astype(np.float32)
    sizes, slack = rng.integers(0, 9, m) / 2, rng.integers(0, 9, m) / 4
    skip = np.where(np.arange(m) % 2 == 0, rng.integers(0, n, m), -1)
    queries = sparse.QueryColumns(compiled(Q, np.int64), skip, sizes, slack, slots, spread)
    found, expected = no_neighbors(m, k), no_neighbors(m, k)
    for start, stop in ((3, 40), (40, 79)):
        sparse._scan(start, stop, compiled(X), scaled, starts, unit, queries, code, found)
        for row in range(start, stop):
            own = slice(X.indptr[row], X.indptr[row + 1])
            used = slots[X.indices[own]]
            values, others = scaled[own][used >= 0, None], spread[used[used >= 0]]
            both = np.abs(values - others) - np.abs(values) - np.abs(others)
            less = -2 * values * others if code == EUCLIDEAN else both
            sums = starts[row] + less.sum(axis=0)
            for i in range(m):
                limit = expected.distances[i, 0] * unit + slack[i] - sizes[i]
                if sums[i] <= limit and row != skip[i]:
                    enter(expected, i, D[i, row], row)
        np.testing.assert_array_equal(found.rows, expected.rows)
        np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("metric", ["l1", "l2"])
def test_equal_rows_and_skipped_ones_are_told_apart(metric):
    rng = np.random.default_rng(5)
    X = drawn(rng, 130, 9, 0.2)
    index = sparse.Sparse(csr_array(X), metric_of(metric))
    some = np.arange(0, 130, 2)
    for k in (1, 4, 129):
        assert_exhaustive(index, X, csr_array(X[some]), k, metric, skip=some, threads=2)


@pytest.mark.parametrize(("start", "is_measured"), [(2.0, True), (2.125, False)])
def test_a_row_whose_sum_is_the_limit_is_measured(start, is_measured):
    X, Q = csr_array([[0.0, 1.0]]), csr_array([[1.0, 0.0]])
    own = np.array([-1]), np.array([0.5]), np.array([0.5])  # nobody skipped; size and its rounding
    slots, spread = np.array([-1, -1], np.int32), np.empty((0, 1), np.float32)
    queries = sparse.QueryColumns(compiled(Q, np.int64), *own, slots, spread)
    found = no_neighbors(1, 1)
    found.distances[:], found.rows[:] = 4.0, 9

    starts = np.array([start], np.float32)
    scaled = X.data.astype(np.float32)
    sparse._scan(0, 1, compiled(X), scaled, starts, 0.5, queries, EUCLIDEAN, found)

    assert found.rows.tolist() == [[0 if is_measured else 9]]
