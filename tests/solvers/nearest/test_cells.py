import numpy as np
import pytest
from scipy.spatial.distance import cdist

from separatrix.solvers.nearest import cells as module
from separatrix.solvers.nearest.cells import (
    cells_of,
    distances_to_boxes,
    order_by_cells,
    plain_cells,
    sides_of,
)
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000, 4097])
def test_every_row_is_in_one_cell_of_the_right_size(n):
    Z = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
    cells = cells_of(Z, 64)
    assert sorted(cells.order) == list(range(n))
    sizes = np.diff(cells.starts)
    assert sizes.sum() == n
    assert (sizes[:-1] == 64).all()
    assert 1 <= sizes[-1] <= 64


def test_rows_of_a_cell_are_near():
    Z = np.random.default_rng(0).standard_normal((4096, 2)).astype(np.float32)
    cells = cells_of(Z, 64)
    parts = np.split(Z[cells.order], cells.starts[1:-1])
    within = [part.std(axis=0).mean() for part in parts]
    assert np.mean(within) < 0.3 * Z.std()


def test_equal_rows_are_divided_all_the_same():
    cells = cells_of(np.zeros((1000, 3), np.float32), 64)
    assert np.diff(cells.starts).max() <= 64


@pytest.mark.parametrize("sizes", [(512, 64), (64,), (4096, 256, 16)])
def test_threads_cut_the_same_cells(sizes, monkeypatch):
    monkeypatch.setattr(module, "MANY", 1)
    rng = np.random.default_rng(2)
    for Z in (rng.standard_normal((5000, 3)), rng.integers(0, 3, (5000, 2))):
        Z = Z.astype(np.float32)
        one, several = (order_by_cells(Z, sizes, threads=threads) for threads in (1, 5))
        np.testing.assert_array_equal(one, several)
        assert sorted(one) == list(range(5000))


def test_plain_cells_keep_the_order():
    cells = plain_cells(10, 4)
    assert cells.order.tolist() == list(range(10))
    assert cells.starts.tolist() == [0, 4, 8, 10]


@pytest.mark.parametrize(
    ("code", "name"), [(EUCLIDEAN, "euclidean"), (MANHATTAN, "cityblock"), (CHEBYSHEV, "chebyshev")]
)
def test_no_row_of_a_box_is_nearer_than_the_box(code, name):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((500, 4)).astype(np.float32)
    Q = rng.standard_normal((30, 4)).astype(np.float32)
    cells = cells_of(Z, 16)
    Z = Z[cells.order]
    lows, highs = sides_of(Z, cells)
    margins = np.full(cells.n_cells, 1e-3)
    bounds = distances_to_boxes(lows, highs, margins, np.ascontiguousarray(Q.T), code)
    D = cdist(Z.astype(np.float64), Q.astype(np.float64), name)
    nearest = np.minimum.reduceat(D, cells.starts[:-1], axis=0)
    assert (bounds <= nearest - 0.99e-3).all()
    assert (bounds > 0).any()
