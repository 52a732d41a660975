"""Loops that cut cells and bound distances to them, against plain ones over whole numbers."""

import numpy as np
import pytest

from separatrix.solvers.nearest import cells
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN

KEYS = {
    "ties": lambda rng, n: rng.integers(0, 4, n),
    "one least": lambda rng, n: np.minimum(rng.integers(0, 9, n), 1),
    "equal": lambda rng, n: np.full(n, 2),
    "different": lambda rng, n: rng.permutation(n),
    "sorted": lambda rng, n: np.arange(n),
}


def plain_partition(pairs, pivot):
    """Pairs below the pivot in order, then the others in reversed order; and how many are below."""
    below = [pair for pair in pairs if pair[0] < pivot]
    return below + [pair for pair in pairs if pair[0] >= pivot][::-1], len(below)


def plain_select(pairs, low, high, rank):
    """As `_select`: the pivot has that rank among 15 keys."""
    while high - low > 32:
        sample = sorted(pairs[low + t * (high - low) // 15][0] for t in range(15))
        pivot = sample[15 * (rank - low) // (high - low)]
        pairs[low:high], below = plain_partition(pairs[low:high], pivot)
        if rank < low + below:
            high = low + below
        elif below:
            low += below
        else:  # the keys that are the pivot go first
            pairs[low:high], below = plain_partition(pairs[low:high], pivot + 0.5)
            low += below
            if rank < low:
                return
    pairs[low:high] = sorted(pairs[low:high], key=lambda pair: pair[0])


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(("low", "high"), [(0, 150), (7, 90), (3, 35), (3, 36), (5, 6)])
def test_keys_are_selected_as_a_plain_loop_does(kind, low, high):
    rng = np.random.default_rng(low)
    keys, order = KEYS[kind](rng, 150).astype(np.float32), rng.permutation(150).astype(np.int32)
    for rank in {low, (low + high) // 2, high - 1, min(low + 1, high - 1)}:
        pairs = list(zip(keys.tolist(), order.tolist(), strict=True))
        plain_select(pairs, low, high, rank)
        own_keys, own_order = keys.copy(), order.copy()

        spare = np.empty(150, np.float32), np.empty(150, np.int32)
        cells._select(own_keys, own_order, low, high, rank, *spare)

        assert list(zip(own_keys.tolist(), own_order.tolist(), strict=True)) == pairs
        inside = own_keys[low:high]
        assert inside[: rank - low].max(initial=-1) <= own_keys[rank] <= inside[rank - low :].min()


@pytest.mark.parametrize("kind", KEYS)
def test_keys_are_partitioned_and_sorted_as_plain_loops_do(kind):
    rng = np.random.default_rng(1)
    keys, order = KEYS[kind](rng, 40).astype(np.float32), rng.permutation(40).astype(np.int32)
    pairs = list(zip(keys.tolist(), order.tolist(), strict=True))
    for pivot in (0.0, 2.0, 99.0):
        own = keys.copy(), order.copy()
        spare = np.empty(40, np.float32), np.empty(40, np.int32)
        front = cells._partition(*own, 3, 37, np.float32(pivot), *spare)
        inside, below = plain_partition(pairs[3:37], pivot)
        assert front == 3 + below
        assert list(zip(*map(np.ndarray.tolist, own), strict=True)) == [
            *(*pairs[:3], *inside, *pairs[37:])
        ]
    cells._sort(keys, order, 3, 37, *spare)
    inside = sorted(pairs[3:37], key=lambda pair: pair[0])
    assert keys.tolist() == [pair[0] for pair in (*pairs[:3], *inside, *pairs[37:])]
    assert order.tolist() == [pair[1] for pair in (*pairs[:3], *inside, *pairs[37:])]


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (10, 41), (3, 67), (5, 6), (0, 95)])
def test_the_widest_axis_is_that_of_some_rows(start, stop):
    """Every third row of 100, every second of 64, all of 63: these differ along axis 2, others along 0."""
    rng = np.random.default_rng(stop)
    Z, order = rng.integers(-2, 3, (100, 4)).astype(np.float32), rng.permutation(100)
    sampled = order[start:stop][:: max(1, (stop - start) // 32)]
    Z[:, 0] *= 40
    Z[sampled, 0] = 1
    Z[:, 2:] += 50  # far from 0, which is no spread
    Z[sampled, 2] *= 2
    sums, squares = np.full(4, 7.0), np.full(4, 7.0)
    found = cells._widest(Z, order.astype(np.int32), start, stop, sums, squares)
    own = Z[sampled].astype(np.float64)
    assert found == np.argmax(np.var(own, axis=0).round(9))
    np.testing.assert_array_equal(sums, own.sum(axis=0))
    np.testing.assert_allclose(squares, len(own) * np.var(own, axis=0), atol=1e-9)


def assert_cut(Z, order, size):
    """Rows lie on both sides of the middle of the axis along which they spread most."""
    if len(order) <= size:
        return
    middle = -(-len(order) // size) // 2 * size
    left, right = order[:middle], order[middle:]
    axis = np.argmax(np.var(Z[order], axis=0))
    assert Z[left, axis].max() <= Z[right, axis].min()
    assert_cut(Z, left, size)
    assert_cut(Z, right, size)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 16, 17, 48, 63])
def test_parts_are_cut_at_their_middle_until_they_are_cells(n):
    rng = np.random.default_rng(n)
    Z = rng.standard_normal((n, 3)).astype(np.float32)
    order = np.arange(n, dtype=np.int32)
    cells._cut(Z, order, np.array([16, 4]))
    assert sorted(order) == list(range(n))
    for start in range(0, n, 16):
        assert_cut(Z, order[start : start + 16], 4)
    assert_cut(Z, order, 16)
    same = np.arange(n, dtype=np.int32)
    cells._cut(Z, same, np.array([64, 63]))
    assert same.tolist() == list(range(n))  # nothing to cut


@pytest.mark.parametrize("code", [EUCLIDEAN, MANHATTAN, CHEBYSHEV])
def test_boxes_are_bounded_with_room_for_rounding(code):
    rng = np.random.default_rng(code)
    lows = rng.integers(-9, 8, (5, 3)).astype(np.float32)
    highs = lows + rng.integers(0, 4, (5, 3)).astype(np.float32)
    Z = np.ascontiguousarray(rng.integers(-12, 13, (3, 17)).astype(np.float32))
    gaps = np.maximum(np.maximum(lows[:, :, None] - Z, Z - highs[:, :, None]), 0)
    expected = {
        EUCLIDEAN: np.sqrt((gaps**2).sum(axis=1)),
        MANHATTAN: gaps.sum(axis=1),
        CHEBYSHEV: gaps.max(axis=1),
    }[code] * np.float32(1 - 7 * 2.0**-24)
    found = cells.distances_to_boxes(lows, highs, np.zeros(5), Z, code)
    np.testing.assert_array_equal(found, expected)
    margins = rng.integers(1, 5, 5) / 4
    found = cells.distances_to_boxes(lows, highs, margins, Z, code)
    np.testing.assert_allclose(found, expected - margins[:, None], atol=1e-5)
