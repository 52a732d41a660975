from functools import reduce

import numpy as np
from scipy.sparse import csr_array

from separatrix.solvers.nearest import directions
from separatrix.solvers.nearest.directions import directions_of, with_flags


def test_rows_have_length_one_and_sparse_ones_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.3)
    X[3] = 0.0
    dense, sparse = directions_of(X), directions_of(csr_array(X))
    np.testing.assert_array_equal(sparse.rows.toarray(), dense.rows)
    assert dense.none.tolist() == sparse.none.tolist() == (~X.any(axis=1)).tolist()
    lengths = np.linalg.norm(dense.rows, axis=1)
    np.testing.assert_allclose(lengths[~dense.none], 1.0, rtol=1e-14)


def test_whole_multiples_point_exactly_the_same_way():
    X = np.random.default_rng(0).integers(-9, 10, size=(30, 12))
    for times in (3, 7, 1000):
        np.testing.assert_array_equal(directions_of(times * X).rows, directions_of(X).rows)


def test_squares_may_overflow_or_vanish():
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(
            directions_of(np.array([[3.0, 4.0]]) * scale).rows, [[0.6, 0.8]], rtol=1e-14
        )


def test_what_came_is_not_changed_and_a_flag_is_a_column():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    before = X.copy()
    U, none = directions_of(X)
    np.testing.assert_array_equal(X, before)
    expected = [[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(with_flags(U, none), expected)
    np.testing.assert_allclose(with_flags(csr_array(U), none).toarray(), expected)


def test_rows_are_divided_by_their_largest_value_and_then_by_their_length():
    rows = [[3.0, -0.5], [], [0.25], [0.0, 0.0, 0.0], [-7.0, 2.0, 1.0], [0.125, -0.25]]
    values, ends = (
        np.array([value for row in rows for value in row]),
        np.cumsum([0, *map(len, rows)]),
    )
    expected = []
    for row in rows:
        row = [value / max(map(abs, row)) for value in row] if any(row) else row
        length = np.sqrt(reduce(lambda total, value: total + value * value, row, 0.0)) or 1.0
        expected += [value / length for value in row]
    none = np.zeros(len(rows), bool)
    directions._scale(values, ends, none)
    assert values.tolist() == expected
    assert none.tolist() == [False, True, False, True, False, False]
