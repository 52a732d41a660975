"""Scale, resolution and error of kernels and of those made of them, straight from their formulas."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Sigmoid,
    Spectrum,
)
from separatrix.kernels.base import device_kernel_refusal
from separatrix.kernels.composed import inside, inverse_root
from separatrix.kernels.vector_kernels import inner_products, squared_norms

S, EPS = 3.0, 1e-7
POLY = (0.5 * S + 2.0) ** 3
BOUNDS = [  # scale, error and resolution
    (Linear(), S, EPS * S, S),
    (Polynomial(3, 0.5, -2.0), POLY, 3 * POLY * EPS * 0.5 * S / (0.5 * S + 2), POLY),
    (Gaussian(0.5), 1.0, 4 * 0.5 * EPS * S, 1.0),
    (Sigmoid(0.5, 1.0), 1.0, 0.5 * EPS * S, 1.0),
    (5.0 * Linear(), 5 * S, 5 * EPS * S, 5 * S),
    (Normalized(Linear()), S, EPS * S, S),
    (Linear() + Gaussian(0.5), S + 1, EPS * S + 2 * EPS * S + EPS * (S + 1), 1.0),
    (Linear() * Gaussian(0.5), S, EPS * S * 1 + 2 * EPS * S * S, S),
    (Linear() * (2.0 * Linear()), 2 * S * S, EPS * S * 2 * S + 2 * EPS * S * S, 2 * S * S),
]


@pytest.mark.parametrize(("kernel", "scale", "error", "resolution"), BOUNDS, ids=repr)
def test_bounds_follow_their_formulas(kernel, scale, error, resolution):
    assert kernel.scale(S) == pytest.approx(scale, rel=1e-14)
    assert kernel.error(S, EPS) == pytest.approx(error, rel=1e-14)
    assert kernel.resolution(S) == pytest.approx(resolution, rel=1e-14)


def test_a_power_of_nothing_has_no_error():
    assert Polynomial(3).error(0.0, EPS) == 0.0
    assert Polynomial(400).scale(1e9) == np.inf
    assert Polynomial(2, coef0=1.0).error(0.0, EPS) == 0.0


def test_self_values_are_values_of_equal_samples():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]])
    kernels = [kernel for kernel, *_ in BOUNDS] + [Sigmoid(0.2, 0.1), 3.0 * Gaussian(0.1)]
    for kernel in kernels:
        expected = np.diagonal(kernel.block(X, X))
        np.testing.assert_allclose(kernel.self_values(squared_norms(X)), expected, rtol=1e-13)
        np.testing.assert_allclose(kernel.diagonal(X), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda kernel: kernel.apply(np.ones((1, 1)), None, None), r"products; call block\(X, Z\)"),
        (lambda kernel: kernel.self_values(np.ones(1)), r"products; call diagonal\(X\)"),
        (lambda kernel: kernel.scale(1.0), "not a function of inner products"),
        (lambda kernel: kernel.error(1.0, 1.0), "not a function of inner products"),
    ],
)
def test_a_kernel_that_is_no_function_of_products_says_so(call, said):
    with pytest.raises(DataError, match=said):
        call(FromCallable(lambda X, Z: X @ Z.T))


@pytest.mark.parametrize(
    "samples",
    [np.ones(3), np.ones((2, 2, 2)), np.array([["a", "b"]]), np.ones((2, 2), dtype=complex)],
    ids=["one axis", "three axes", "words", "complex"],
)
@pytest.mark.parametrize("kernel", [Linear(), Laplacian()], ids=repr)
def test_samples_are_a_matrix_of_numbers(kernel, samples):
    said = r"samples must be a matrix \(n, d\) of numbers; got"
    for call in (kernel.diagonal, lambda X: kernel.block(X, np.ones((2, 2)))):
        with pytest.raises(DataError, match=said):
            call(samples)
    if samples.dtype.kind == "U":
        with pytest.raises(DataError, match=said):
            kernel.block(np.ones((2, 2)), samples)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, bool, np.float32, np.float64])
def test_norms_and_products_are_float64_unless_samples_are_floats(kind):
    X = np.array([[200, 100], [0, 3], [1, 0]]).astype(kind)
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(squared_norms(X), (wide**2).sum(axis=1), strict=True)
    np.testing.assert_array_equal(squared_norms(csr_array(X)), (wide**2).sum(axis=1), strict=True)
    np.testing.assert_array_equal(Linear().block(X, X), wide @ wide.T)
    assert Linear().block(X, X).dtype == (kind if wide.dtype.kind == X.dtype.kind else np.float64)
    assert squared_norms(X[:0]).shape == (0,)


def test_products_may_be_of_sparse_and_dense_samples():
    A, B = np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 5.0]])
    for first in (A, csr_array(A)):
        for second in (B, csr_array(B)):
            found = inner_products(first, second)
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, [[3.0, 10.0]])


def test_no_samples_at_all_have_no_values():
    none, some = np.ones((0, 2)), np.ones((3, 2))
    for kernel in (Linear(), Gaussian(1.0), Laplacian(1.0), Normalized(Linear())):
        assert kernel.block(some, none).shape == (3, 0)
        assert kernel.block(none, some).shape == (0, 3)


def test_inverse_roots_of_zero_are_zero():
    np.testing.assert_array_equal(inverse_root(np.array([4.0, 0.0, 0.25, -1.0])), [0.5, 0, 2, 0])
    assert inside(2.0 * Normalized(Gaussian(3.0))) == Gaussian(3.0)
    assert inside("rbf") == "rbf"


def test_parts_take_samples_of_one_kind():
    kernel = FromCallable(len, objects=None)
    assert (kernel + Spectrum(2)).left.objects is True
    assert (kernel + Linear()).left.objects is None
    for left, right in ((Spectrum(2), Linear()), (Linear(), Spectrum(2))):
        with pytest.raises(
            ParameterError, match=f"`right` of Sum must be a kernel on {left.takes}"
        ):
            left + right
    with pytest.raises(ParameterError, match="`right` of Product must be a kernel on vectors"):
        Linear() * FromCallable(len, objects=True)
    with pytest.raises(TypeError):
        Linear() + 3
    with pytest.raises(TypeError):
        Linear() * "3"


def test_a_parameter_inside_is_reached_only_where_there_is_a_kernel():
    for bad in ("factor__gamma", "kernel__width", "other"):
        with pytest.raises(ParameterError, match="must be one of its parameters"):
            (2.0 * Gaussian(1.0)).with_params(**{bad: 3})
    changed = (2.0 * Gaussian(1.0)).with_params(factor=3.0, kernel__gamma=0.5)
    assert changed == 3.0 * Gaussian(0.5)
    assert changed.with_params(kernel=Linear()).kernel == Linear()


def test_kernels_that_a_device_cannot_compute_are_named():
    own = FromCallable(lambda X, Z: X @ Z.T)
    assert "not a function of inner products of vectors" in device_kernel_refusal(own)
    for kernel in (Laplacian(), Precomputed(), Sigmoid()):
        assert device_kernel_refusal(kernel) is None


@pytest.mark.parametrize("sigma", [1e-200, 1e-160])
def test_a_width_whose_square_vanishes_is_refused(sigma):
    with pytest.raises(ParameterError, match="`gamma` of Gaussian must be"):
        Gaussian.from_sigma(sigma)
