"""Loops over products against plain ones."""

import numpy as np
import pytest

from separatrix.solvers.nearest import scan
from separatrix.solvers.nearest.ranking import enter, no_neighbors, sort_heaps


def test_neighbours_of_parts_are_merged():
    part, found = no_neighbors(3, 2), no_neighbors(3, 2)
    part.distances[:], part.rows[:] = [[3.0, 1.0], [4.0, 0.5], [0.0, 0.0]], [[5, 7], [8, 9], [1, 0]]
    found.distances[:2], found.rows[:2] = [[3.0, 2.0], [1.0, 0.5]], [[6, 4], [2, 1]]
    scan._merge(part, found)
    sort_heaps(found)
    assert found.rows.tolist() == [[7, 4], [1, 9], [0, 1]]
    assert found.distances.tolist() == [[1.0, 2.0], [0.5, 0.5], [0.0, 0.0]]


@pytest.mark.parametrize("size", [1.0, 2.0**48])
@pytest.mark.parametrize("k", [1, 3])
def test_rows_are_measured_that_products_do_not_rule_out(size, k):
    """Products and squares have nothing to do with the rows: what is measured shows."""
    rng = np.random.default_rng(k)
    n, m, d, start = 60, 9, 3, 4
    X, Q = rng.integers(-4, 5, (n, d)).astype(float), rng.integers(-4, 5, (m, d)).astype(float)
    D = ((Q[:, None] - X) ** 2).sum(axis=-1)
    products = rng.integers(-30, 31, (m, n - start)) / 2
    squares, own = rng.integers(0, 60, n).astype(float), rng.integers(0, 60, m).astype(float)
    if size > 1:  # what is allowed for rounding is about as large as distances then
        squares, own = size + squares, size + own
        products += size
    products[0, 3] = np.nan
    skip = np.where(np.arange(m) % 2 == 0, start + np.arange(m), -1)
    e = 8 * (d + 8) * 2.0**-53
    found, expected = no_neighbors(m, k), no_neighbors(m, k)

    for first, last in ((0, 20), (20, n - start)):
        part = np.ascontiguousarray(products[:, first:last])
        scan._keep(part, squares, start + first, X, Q, skip, own, found)

    for i in range(m):
        for j, row in enumerate(range(start, n)):
            limit = expected.distances[i, 0] * (1 + e) - own[i] * (1 - e)
            is_out = squares[row] * (1 - e) - 2 * products[i, j] > limit
            if not is_out and row != skip[i] and D[i, row] <= expected.distances[i, 0]:
                enter(expected, i, D[i, row], row)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert (found.distances[:, 0] > np.sort(D[:, start:])[:, k - 1]).any()  # some are ruled out
