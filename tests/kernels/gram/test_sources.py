"""Tiles of the kernel matrix: they cover it, are neither too large nor too small, and have its values."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from separatrix.kernels import FromCallable, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from separatrix.kernels.gram import sources
from separatrix.kernels.gram.sources import (
    EPILOGUE_WORK,
    FEW_ROWS,
    LARGEST_TILE,
    STRIP_BYTES,
    TILE_WORK,
    TILES,
    BlockSource,
    ProductSource,
    _tile_shape,
    _tile_values,
    make_source,
    strips,
)

X = np.random.default_rng(0).normal(size=(70, 3))
SPARSE = csr_array(random_array((70, 900), density=0.005, random_state=0, format="csr"))
KERNELS = [Linear(), Polynomial(3), Gaussian(0.2), Sigmoid(0.1), Laplacian(0.2)]


@pytest.mark.parametrize("d", [1, 100, 10**6])
@pytest.mark.parametrize("total", [1, 10**6, 10**8, 10**12])
def test_a_tile_is_large_enough_to_be_worth_it_and_small_enough_for_a_cache(total, d):
    values = _tile_values(total, d)
    assert values <= LARGEST_TILE
    if values < LARGEST_TILE:
        assert values * (d + EPILOGUE_WORK) > TILE_WORK - (d + EPILOGUE_WORK)
        assert values > total / TILES - 1
        least = min(abs(values - total // TILES), abs(values - TILE_WORK // (d + EPILOGUE_WORK)))
        assert least == 0


@pytest.mark.parametrize("values", [100, 2**13, 2**17, 2**19])
@pytest.mark.parametrize("n", [0, 1, 5, 16, 40, 10**4])
def test_a_tile_is_twice_as_wide_as_high_if_the_rows_allow_it(n, values):
    height, width = _tile_shape(n, values)
    assert 1 <= height <= max(1, n)
    assert width >= 16
    if n >= 512:
        assert height % 8 == 0
        if values >= 2**13:
            assert 1.5 * height <= width <= 2.7 * height
    if values >= 2**13:
        assert values - height < height * width <= values


@pytest.mark.parametrize("shape", [(1, 1), (5, 70_000), (1000, 300)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strips_cover_all_rows_within_a_cache(shape, dtype):
    P = np.empty(shape, dtype)
    parts = list(strips(P))
    assert [row for part in parts for row in range(*part.indices(len(P)))] == list(range(len(P)))
    rows = parts[0].stop - parts[0].start
    assert rows * shape[1] * P.itemsize <= STRIP_BYTES
    assert rows == len(P) or (rows + 1) * shape[1] * P.itemsize > STRIP_BYTES


@pytest.mark.parametrize("largest", [16, 600, 2**19])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_do_not_depend_on_the_tiles(kernel, largest, monkeypatch):
    monkeypatch.setattr(sources, "LARGEST_TILE", largest)
    monkeypatch.setattr(sources, "WORTH_THREADS", 0)
    for samples in (X, csr_array(X), SPARSE):
        expected = kernel.block(samples, samples)
        source = make_source(kernel, samples, tolerance=1e-3, budget=2**30, threads=2)
        np.testing.assert_allclose(source.matrix(), expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(source.diagonal(), expected.diagonal(), rtol=1e-12)
        for count in (1, FEW_ROWS - 1, FEW_ROWS, 40):
            rows, columns = np.arange(count) * 7 % 70, np.array([3, 69, 3])
            for own, other in ((rows, columns), (slice(2, 9), columns), (rows, slice(5, 66))):
                found = source.tile(own, other)
                np.testing.assert_allclose(found, expected[own][:, other], rtol=1e-12, atol=1e-13)
        out = np.full((2, 70), np.nan)
        assert source.tile(np.array([4, 1]), slice(0, 70), out) is out
        np.testing.assert_allclose(out, expected[[4, 1]], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(0.2), Laplacian(0.2)], ids=repr)
@pytest.mark.parametrize("at_once", [1, 2, 1024])
def test_rows_are_written_where_they_belong(kernel, at_once, monkeypatch):
    monkeypatch.setattr(sources, "ROWS_AT_ONCE", at_once)
    for samples in (X, csr_array(X), SPARSE):
        expected = kernel.block(samples, samples)
        source = make_source(kernel, samples, tolerance=1e-3, budget=2**30, threads=1)
        first, second = np.full((4, 30), np.nan), np.full((3, 40), np.nan)
        rows, slots = np.array([8, 60, 2]), np.array([3, 0, 2])
        parts = [
            (rows, slice(0, 30), first, slots),
            (rows[:2], slice(30, 70), second, slots[1:]),
        ]
        source.fill_rows(parts)
        np.testing.assert_allclose(first[slots], expected[rows, :30], rtol=1e-12)
        np.testing.assert_allclose(second[slots[1:]], expected[rows[:2], 30:], rtol=1e-12)
        assert np.isnan(first[1]).all()
        assert np.isnan(second[1]).all()
        if type(source) is BlockSource:
            np.testing.assert_allclose(source.matrix(), expected, rtol=1e-12)


def test_the_kind_of_source_follows_the_kernel():
    order = np.array([5, 1])
    for kernel, kind in ((Gaussian(0.2), ProductSource), (Laplacian(0.2), BlockSource)):
        source = make_source(kernel, X, tolerance=1e-3, budget=2**30, threads=1, order=order)
        assert type(source) is kind
        assert source.n == 2
        np.testing.assert_allclose(source.matrix(), kernel.block(X[order], X[order]), rtol=1e-12)
    assert source.error == 0.0
    product = make_source(Gaussian(0.2), X, tolerance=1e-3, budget=2**30)
    centred = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    assert product.error == pytest.approx(4 * 0.2 * 2**-52 * centred.max())


def test_a_shift_shows_in_the_diagonal():
    kernel = FromCallable(lambda A, B: -(A @ B.T), check_psd="shift")
    source = make_source(kernel, X, tolerance=1e-3, budget=2**30)
    K = source.matrix()
    lowest = -np.linalg.eigvalsh(X @ X.T)[-1]
    np.testing.assert_allclose(K, -(X @ X.T) - lowest * np.eye(70), atol=1e-12)
    np.testing.assert_allclose(source.diagonal(), np.diagonal(K), rtol=1e-12)
