import numpy as np
import pytest

from separatrix.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from separatrix.kernels.epilogues import (
    EXPONENTIALS,
    STRIP,
    Epilogue,
    _exponentials_of,
    exp_of_distances,
    kernel_block,
    power,
)
from separatrix.runtime.exponential import LEAST


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", range(1, 17))
def test_powers_are_exact_on_small_whole_numbers(degree, dtype):
    P = np.tile(np.array([[-2.0, -1.0, 0.0, 1.0, 2.0]], dtype=dtype), (3, 400))
    expected = (2.0 * P + 0.0) ** degree if degree < 6 else P**degree
    power(P, 2.0 if degree < 6 else 1.0, 0.0, degree)
    np.testing.assert_array_equal(P, expected)


@pytest.mark.parametrize("width", [1, 7, 1023, 1024, 1025, 3000])
def test_the_float32_exponential_is_good_to_its_precision(width):
    distances = np.linspace(0.0, 80.0, width)
    P = np.zeros((2, width), np.float32)
    exp_of_distances(P, np.zeros(2), distances, 1.0)
    exact = np.exp(-distances.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(P[1], exact, rtol=6e-6)


def test_the_float64_exponential_is_numpys():
    rng = np.random.default_rng(0)
    P, sx, sz = rng.normal(size=(4, 5)), rng.uniform(3, 4, 4), rng.uniform(3, 4, 5)
    expected = np.exp(-0.3 * np.maximum(sx[:, None] + sz - 2 * P, 0.0))
    exp_of_distances(P, sx, sz, 0.3)
    np.testing.assert_allclose(P, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_without_the_compiler_are_the_compiled_ones(dtype):
    rng = np.random.default_rng(1)
    P, sx, sz = (rng.uniform(1, 2, size).astype(dtype) for size in ((3, 4), 3, 4))
    compiled = P.copy()
    exp_of_distances(compiled, sx, sz, 0.3)
    _exponentials_of(P, sx, sz, 0.3)  # what NUMBA_DISABLE_JIT=1 runs
    np.testing.assert_allclose(P, compiled, rtol=6e-6)


def test_far_samples_have_similarity_zero_to_float32():
    P = np.zeros((1, 3), np.float32)
    exp_of_distances(P, np.zeros(1), np.array([1e2, 1e6, 1e30]), 1.0)
    assert (P >= 0).all()
    assert P.max() < 1e-37


def test_distances_that_round_below_zero_are_zero():
    P = np.full((1, 1), 1.0000001, np.float32)
    exp_of_distances(P, np.ones(1), np.ones(1), 5.0)
    assert P[0, 0] == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_a_number_stays_not_a_number_in_powers(dtype):
    P = np.full((1, 3), np.nan, dtype)
    power(P, 1.0, 0.0, 3)
    assert np.isnan(P).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.5, 1.0), Gaussian(0.3)], ids=repr)
def test_a_compiled_block_is_products_and_then_the_epilogue(kernel, dtype):
    rng = np.random.default_rng(0)
    A, Z = rng.normal(size=(70, 9)).astype(dtype), rng.normal(size=(1100, 9)).astype(dtype)
    squares = [np.einsum("ij,ij->i", part, part) for part in (A, Z)]
    expected = A @ Z.T
    kernel.apply(expected, *squares)
    found = np.empty((70, 1100), dtype)
    kernel_block(A, squares[0], Z, squares[1], kernel.epilogue, found)
    np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-12)


def test_only_functions_that_compiled_loops_know_have_an_epilogue():
    assert Gaussian(0.3).epilogue == Epilogue(EXPONENTIALS, 0.3)
    for kernel in (Sigmoid(), 2.0 * Gaussian(0.3), Gaussian(0.3) + Linear(), Laplacian()):
        assert kernel.epilogue is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [1, 2, 3, 6, 7, 8, 13])
@pytest.mark.parametrize("width", [0, 1, STRIP, STRIP + 1])
def test_powers_have_their_sign_and_constant(width, degree, dtype):
    P = np.resize(np.array([-1.0, 0.5, 2.0]), (2, width)).astype(dtype)
    expected = (0.5 * P.astype(np.float64) - 1.25) ** degree
    power(P, 0.5, -1.25, degree)
    np.testing.assert_allclose(P, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("gamma", [0.01, 0.7, 3.0])
def test_float32_exponentials_are_those_of_distances(gamma):
    """Close to rounding: every coefficient of the polynomial counts."""
    rng = np.random.default_rng(0)
    sx, sz = rng.uniform(1, 6, 3).astype(np.float32), rng.uniform(1, 6, 40).astype(np.float32)
    P = rng.uniform(-1, 0.4, (3, 40)).astype(np.float32)
    distances = sx[:, None] + sz - 2 * P  # in float32, as they are computed
    exact = np.exp(-gamma * distances.astype(np.float64))
    exp_of_distances(P, sx, sz, gamma)
    np.testing.assert_allclose(P, exact, rtol=4e-6 * max(1.0, gamma))
    near = np.zeros((1, 200), np.float32)
    exp_of_distances(near, np.zeros(1), np.linspace(0, 1, 200), gamma)
    np.testing.assert_allclose(near[0], np.exp(-gamma * np.linspace(0, 1, 200)), rtol=5e-7)


def test_float64_exponentials_below_the_least_are_0():
    P = np.zeros((1, 4))
    exp_of_distances(P, np.zeros(1), np.array([-LEAST - 1.0, -LEAST, -LEAST + 1.0, 1e300]), 1.0)
    np.testing.assert_allclose(P[0, 0], np.exp(LEAST + 1.0), rtol=1e-13)
    assert P[0, 1:].tolist() == [0.0, 0.0, 0.0]
