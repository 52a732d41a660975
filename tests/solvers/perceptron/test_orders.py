import numpy as np
import pytest

from separatrix.solvers.perceptron.orders import shuffled


@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_an_order_holds_every_row_once_and_leaves_the_rows_alone(n):
    rows = np.arange(n) * 3
    order = shuffled(rows, np.random.default_rng(0))
    assert sorted(order) == rows.tolist()
    np.testing.assert_array_equal(rows, np.arange(n) * 3)


def test_the_same_seed_draws_the_same_order_and_the_next_draw_another():
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    rows = np.arange(50)
    np.testing.assert_array_equal(shuffled(rows, first), shuffled(rows, second))
    assert not np.array_equal(shuffled(rows, first), shuffled(rows, np.random.default_rng(1)))


def test_every_row_is_equally_likely_at_every_position():
    rng = np.random.default_rng(2)
    counts = np.zeros((5, 5))
    for _ in range(5000):
        counts[np.arange(5), shuffled(np.arange(5), rng)] += 1
    # 25 cells of mean 1000: chi-squared with 16 degrees of freedom, above 50 once in 30,000 times
    assert ((counts - 1000) ** 2 / 1000).sum() < 50
