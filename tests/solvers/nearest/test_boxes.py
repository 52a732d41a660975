import numpy as np
import pytest
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest.boxes import Boxes
from separatrix.solvers.nearest.metrics import metric_of


@pytest.mark.parametrize("n", [3, 16, 17, 256, 257, 4097])
@pytest.mark.parametrize("metric", ["l2", "l1", "chebyshev"])
def test_trees_of_every_height_find_all_neighbours(n, metric):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 3)).round(1)  # with ties
    Q = rng.standard_normal((60, 3)).round(1)
    index = Boxes(X, metric_of(metric))
    assert_exhaustive(index, X, Q, min(n, 5), metric)
    skip = np.arange(min(n, 60))
    assert_exhaustive(index, X, X[: len(skip)], min(n - 1, 5), metric, skip=skip, threads=3)


def test_a_row_far_away_does_not_hide_neighbours():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    X[7] = 1e12
    assert_exhaustive(Boxes(X, metric_of("l2")), X, rng.standard_normal((40, 2)), 3)


def test_threads_build_the_same_tree():
    X = np.random.default_rng(1).standard_normal((20_000, 3))
    one, several = (Boxes(X, metric_of("l2"), threads=threads) for threads in (1, 3))
    for first, second in zip(one._tree, several._tree, strict=True):
        np.testing.assert_array_equal(first, second)
