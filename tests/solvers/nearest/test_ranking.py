import numpy as np
import pytest

from separatrix.solvers.nearest.ranking import NOBODY, enter, no_neighbors, sort_heaps


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_best_are_kept_by_distance_and_then_by_row(k):
    rng = np.random.default_rng(k)
    distances = rng.integers(0, 6, 200).astype(np.float64)
    found = no_neighbors(1, k)
    for row in rng.permutation(200):  # in whatever order they come
        enter(found, 0, distances[row], row)
    sort_heaps(found)
    expected = np.argsort(distances, kind="stable")[:k]
    assert found.rows[0].tolist() == expected.tolist()
    assert found.distances[0].tolist() == distances[expected].tolist()


def test_enter_says_whether_a_row_came_in():
    found = no_neighbors(1, 1)
    assert enter(found, 0, 2.0, 7)
    assert not enter(found, 0, 2.0, 8)
    assert enter(found, 0, 2.0, 6)
    assert not enter(found, 0, 3.0, 0)


def test_infinite_distances_take_free_places_only():
    found = no_neighbors(1, 3)
    for distance, row in ((np.inf, 5), (np.inf, 2), (1.0, 9), (np.inf, 0)):
        enter(found, 0, distance, row)
    sort_heaps(found)
    assert found.rows[0].tolist() == [9, 0, 2]
    assert NOBODY not in found.rows
