import numpy as np
import pytest
from scipy.spatial.distance import cdist

from separatrix.solvers.nearest.exhaustive import Exhaustive, _scan, raw_distances
from separatrix.solvers.nearest.metrics import metric_of
from separatrix.solvers.nearest.ranking import no_neighbors, sort_heaps

NAMES = {"l2": "sqeuclidean", "l1": "cityblock", "chebyshev": "chebyshev", "p": "minkowski"}


@pytest.mark.parametrize("name", NAMES)
def test_raw_distances_and_neighbours_are_those_of_scipy(name):
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 4, (300, 3)).astype(float), rng.integers(0, 4, (17, 3)).astype(float)
    metric = metric_of(name, 3.0)
    expected = cdist(Q, X, NAMES[name], **({"p": 3.0} if name == "p" else {}))
    expected = (expected**3).round() if name == "p" else expected
    np.testing.assert_allclose(raw_distances(X, Q, metric), expected)
    found = Exhaustive(X, metric).nearest(Q, 5, np.full(17, -1), threads=1)
    order = np.argsort(expected, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found.rows, order)
    np.testing.assert_allclose(found.distances, np.take_along_axis(expected, order, axis=1))
    skipped = Exhaustive(X, metric).nearest(X[:17], 299, np.arange(17), threads=2)
    assert not (skipped.rows == np.arange(17)[:, None]).any()
    root = metric.distances(np.array([[8.0, 64.0]]))
    powers = {"l2": 0.5, "p": 1 / 3}.get(name, 1.0)
    np.testing.assert_allclose(root, np.array([[8.0, 64.0]]) ** powers)


@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_the_rows_is_scanned_in_blocks(name):
    rng = np.random.default_rng(1)
    X, Q = rng.integers(0, 9, (530, 2)).astype(float), rng.integers(0, 9, (3, 2)).astype(float)
    metric = metric_of(name, 3.0)
    D = raw_distances(X, Q, metric)
    for start, stop in ((0, 530), (7, 519), (260, 263)):
        skip = np.array([-1, start + 1, stop - 1])
        found = no_neighbors(3, 2)
        _scan(X, start, stop, Q, skip, metric, found)
        sort_heaps(found)
        for i in range(3):
            rows = [row for row in range(start, stop) if row != skip[i]]
            rows = sorted(rows, key=lambda row, i=i: (D[i, row], row))[:2]
            assert found.rows[i].tolist() == rows
            assert found.distances[i].tolist() == D[i, rows].tolist()


@pytest.mark.parametrize("name", ["l2", "p"])
def test_rows_whose_distances_overflow_are_found_in_their_order(name):
    X = np.array([[1e200], [3.0], [-1e200], [2e200]])
    found = Exhaustive(X, metric_of(name, 3.0)).nearest(
        np.zeros((1, 1)), 3, np.array([0]), threads=1
    )
    assert found.rows.tolist() == [[1, 2, 3]]
    assert found.distances[0, 1:].tolist() == [np.inf, np.inf]
