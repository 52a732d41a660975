"""The NumPy twins of `tests/interpreted.py` answer as the compiled instructions do."""

import numpy as np
import pytest
from numba import njit
from scipy.sparse import csr_array
from tests import interpreted

from separatrix.kernels.strings import subsequence_simd
from separatrix.runtime import exponential, simd
from separatrix.solvers import rows

pytestmark = pytest.mark.skipif(
    interpreted.is_asked_for(), reason="the instructions are replaced by the twins already"
)
SEEDS = range(5)


@njit
def compiled_power(whole):
    return exponential.power_of_2(whole)


@njit
def compiled_hamming(blocks, b, queries, i, counts, limit):
    return simd.hamming_mask(blocks, b, queries, i, counts, limit)


@njit
def compiled_difference(blocks, b, queries, i, first, last, sums, position, limit):
    return simd.abs_difference_mask(blocks, b, queries, i, first, last, sums, position, limit)


@njit
def compiled_at_least(array, row, start, least):
    return simd.at_least_mask(array, row, start, least)


@njit
def compiled_squared(X, row, Q, i, limit):
    return simd.squared_distance(X, row, Q, i, limit)


@njit
def compiled_absolute(X, row, Q, i, limit):
    return simd.absolute_distance(X, row, Q, i, limit)


@njit
def compiled_rows(blocks, b, queries, i, limit, p):
    return simd.rows_within_mask(blocks, b, queries, i, limit, p)


@njit
def compiled_boxes(boxes, b, queries, i, limit, p, found):
    return simd.boxes_within_mask(boxes, b, queries, i, limit, p, found)


@njit
def compiled_bits(value, bits, mask):
    return simd.bits_of(value), simd.float_of(bits), simd.first_bit(mask)


@njit
def compiled_sweep(kind, buffers, i, j, width, a, low, feed, stride, out):
    if kind == 0:
        subsequence_simd.sweep(0, 0, 0, buffers, i, j, width, a, low, feed, stride, out)
    elif kind == 1:
        subsequence_simd.sweep(2, 1, 1, buffers, i, j, width, a, low, feed, stride, out)
    elif kind == 2:
        subsequence_simd.sweep(2, 0, 1, buffers, i, j, width, a, low, feed, stride, out)
    else:
        subsequence_simd.sweep(3, 1, 0, buffers, i, j, width, a, low, feed, stride, out)


SWEEPS = [(0, 0, 0), (2, 1, 1), (2, 0, 1), (3, 1, 0)]


def words(rng, n, d, high):
    """Blocks of 64 rows, and queries that repeat each word four times."""
    blocks = rng.integers(0, high, (n, d, simd.LANES), dtype=np.uint16)
    queries = rng.integers(0, high, (3, d), dtype=np.uint16).astype(np.uint64)
    return blocks, queries * simd.REPEAT_16_BITS


def test_powers_of_2():
    for whole in (-1022.0, -690.0, -1.0, 0.0, 1.0, 52.0, 1023.0):
        assert interpreted.power_of_2(whole) == compiled_power(whole)


@pytest.mark.parametrize("seed", SEEDS)
def test_hamming_distances(seed):
    rng = np.random.default_rng(seed)
    blocks, queries = words(rng, 2, 9, 65536)
    counts = np.zeros((2, simd.LANES), np.uint16)
    for limit in (0, 66, 72, 144):
        own = interpreted.hamming_mask(blocks, 1, queries, 2, counts[0], limit)
        assert own == compiled_hamming(blocks, 1, queries, 2, counts[1], np.uint16(limit))
        np.testing.assert_array_equal(*counts)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("high", [4, 600, 32768])
def test_absolute_differences_of_words(seed, high):
    rng = np.random.default_rng(seed)
    blocks, queries = words(rng, 2, 24, high)
    middle = min(16 * high // 3, 65535)
    for first, last in ((0, 24), (8, 16), (8, 8)):
        for limit in (0, middle, 65535):
            sums = np.full((2, 3, simd.LANES), 7, np.uint16)
            asked = (blocks, 1, queries, 2, first, last)
            own = interpreted.abs_difference_mask(*asked, sums[0], 1, limit)
            assert own == compiled_difference(*asked, sums[1], 1, np.uint16(limit))
            np.testing.assert_array_equal(*sums)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_at_least_a_bound(seed):
    values = np.random.default_rng(seed).integers(0, 9, (3, 140)).astype(np.float32)
    values[1, seed] = np.nan
    for least in (-1.0, 4.0, 8.0, 9.0, np.inf):
        own = interpreted.at_least_mask(values, 1, seed, least)
        assert own == compiled_at_least(values, 1, seed, np.float32(least))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 16, 17, 300])
def test_distances_of_rows(dtype, d):
    rng = np.random.default_rng(d)
    X, Q = rng.integers(0, 200, (3, d)).astype(dtype), rng.integers(0, 200, (2, d)).astype(float)
    for compiled, own in (
        (compiled_squared, interpreted.squared_distance),
        (compiled_absolute, interpreted.absolute_distance),
    ):
        exact = own(X, 2, Q, 1, np.inf)
        assert compiled(X, 2, Q, 1, np.inf) == exact  # sums of whole numbers have no rounding
        assert compiled(X, 2, Q, 1, exact) == exact
        assert compiled(X, 2, Q, 1, exact / 4) > exact / 4  # it may stop early


@pytest.mark.parametrize("p", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 4, 7])
def test_masks_of_rows_and_boxes(p, d):
    rng = np.random.default_rng([p, d])
    queries = rng.integers(0, 9, (3, d)).astype(np.float32)
    blocks = rng.integers(0, 9, (2, d, simd.FLOATS)).astype(np.float32)
    ends = np.sort(rng.integers(0, 9, (2, d, 2, simd.FLOATS)), axis=2).reshape(2, 2 * d, -1)
    margins = rng.integers(0, 3, (2, 1, simd.FLOATS))
    boxes = np.concatenate([ends, margins], axis=1).astype(np.float32)
    for limit in np.float32([0, 3, 5, 60]):
        own = interpreted.rows_within_mask(blocks, 1, queries, 2, limit, p)
        assert own == compiled_rows(blocks, 1, queries, 2, limit, p)
        found = np.zeros((2, simd.FLOATS), np.float32)
        own = interpreted.boxes_within_mask(boxes, 1, queries, 2, limit, p, found[0])
        assert own == compiled_boxes(boxes, 1, queries, 2, limit, p, found[1])
        np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -np.pi, 5e-324, np.inf])
def test_bits_of_numbers(value):
    bits, mask = interpreted.bits_of(value), np.uint64(1 << 40 | 1 << 63)
    assert compiled_bits(value, np.int64(bits), mask) == (
        bits,
        interpreted.float_of(bits),
        interpreted.first_bit(mask),
    )
    assert interpreted.first_bit(np.uint64(1 << 63)) == 63
    assert (bits >> 63, bits >> 64, bits ^ (bits >> 64)) == (-(bits < 0), bits, 0)


@pytest.mark.parametrize("kind", range(4))
def test_sweeps_of_the_subsequence_kernel(kind):
    rng = np.random.default_rng(kind)
    lanes, rows, n, m, height, a = subsequence_simd.LANES, subsequence_simd.ROWS, 8, 9, 6, 2
    shapes = {
        **{"P": (m, height, lanes), "carry": (n, height, 2, lanes)},
        **{"feeds": (40 + 2 * rows * (m + 1), lanes), "sums": (height + 1, lanes)},
    }
    states = {name: rng.random(shape) for name, shape in shapes.items()}
    letters = {name: rng.integers(0, 2, (size, lanes)) for name, size in (("S", n), ("T", m))}

    def run(sweep):
        buffers = subsequence_simd.LaneBuffers(
            **letters, down=0.5 ** np.arange(20.0), **{k: v.copy() for k, v in states.items()}
        )
        sweep(buffers, 2, 1, 7, a, 1, 3, m + 1, 40)
        return buffers

    own = run(lambda *arguments: interpreted.sweep(*SWEEPS[kind], *arguments))
    compiled = run(lambda *arguments: compiled_sweep(kind, *arguments))
    for name in shapes:
        np.testing.assert_allclose(getattr(own, name), getattr(compiled, name), rtol=1e-14)
    assert not np.array_equal(own.sums, states["sums"])


@njit
def compiled_rows_of(samples, i, w, W, steps, out):
    found = rows.dot_row(samples, i, w), rows.score_row(samples, i, w, 0.5)
    rows.add_row(samples, i, 2.0, w)
    rows.add_scores(samples, i, W, out)
    rows.add_outer(samples, i, steps, W)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
def test_products_with_rows(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (4, 11)) * (rng.random((4, 11)) < 0.7)
    X = (X != 0).astype(float) if kind == "ones" else X.astype(float)
    samples = rows.rows_of(X if kind == "dense" else csr_array(X))
    w, W, steps = rng.integers(0, 9, 11), rng.integers(0, 9, (11, 3)), rng.integers(0, 9, 3)

    def arguments():
        return [np.array(one, float) for one in (w, W, steps, [1, 2, 3])]

    compiled = arguments()
    products = compiled_rows_of(samples, 2, *compiled)
    dot, score, add, scores, outer = map(interpreted.row_function, interpreted.ROW_FUNCTIONS)
    own = arguments()
    assert (dot(samples, 2, own[0]), score(samples, 2, own[0], 0.5)) == products
    assert products[0] == X[2] @ w
    add(samples, 2, 2.0, own[0])
    scores(samples, 2, own[1], own[3])
    outer(samples, 2, own[2], own[1])
    for one, other in zip(own, compiled, strict=True):
        np.testing.assert_array_equal(one, other)
