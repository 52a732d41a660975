import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from separatrix import kernels
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
)

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(20, 5)), RNG.normal(size=(30, 5))
ALL = [
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Gaussian(0.3),
    Laplacian(0.2),
    Sigmoid(0.1, 0.2),
    Gaussian(0.3) + Linear(),
    Gaussian(0.3) * Polynomial(2),
    2.5 * Gaussian(0.3),
    Normalized(Polynomial(2, coef0=1.0)),
    Laplacian(0.2) + Gaussian(0.1),
]


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Linear(), linear_kernel(X, Z)),
        (Polynomial(1), X @ Z.T),
        (Polynomial(7, 0.4, 0.3), polynomial_kernel(X, Z, degree=7, gamma=0.4, coef0=0.3)),
        (Gaussian(0.7), rbf_kernel(X, Z, gamma=0.7)),
        (Laplacian(0.7), laplacian_kernel(X, Z, gamma=0.7)),
        (Sigmoid(0.3, -0.1), sigmoid_kernel(X, Z, gamma=0.3, coef0=-0.1)),
    ],
    ids=repr,
)
def test_values_are_those_of_scikit_learn(kernel, reference):
    np.testing.assert_allclose(kernel.block(X, Z), reference, rtol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_the_diagonal_is_the_blocks_diagonal(kernel):
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel.block(X, X)), rtol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_sparse_samples_give_the_same_values(kernel):
    sparse = csr_array(np.where(X > 0, X, 0.0))
    np.testing.assert_allclose(
        kernel.block(sparse, csr_array(Z)), kernel.block(sparse.toarray(), Z), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_a_kernel_prints_as_the_call_that_makes_it(kernel):
    assert eval(repr(kernel), vars(kernels)) == kernel


@pytest.mark.parametrize("kernel", [kernel for kernel in ALL if kernel.from_products], ids=repr)
def test_the_error_bound_holds_for_float32_products(kernel):
    s = max(float((X**2).sum(axis=1).max()), float((Z**2).sum(axis=1).max()))
    P = (X.astype(np.float32) @ Z.astype(np.float32).T).astype(np.float32)
    kernel.apply(P, (X**2).sum(axis=1), (Z**2).sum(axis=1))

    worst = float(np.abs(P - kernel.block(X, Z)).max())

    relative = kernel.error(s, float(np.finfo(np.float32).eps)) / kernel.scale(s)
    assert worst <= 4 * kernel.error(s, float(np.finfo(np.float32).eps)) + 1e-6 * kernel.scale(s)
    assert relative < 1e-4


def test_sums_products_and_multiples_are_what_they_say():
    a, b = Gaussian(0.3), Polynomial(2)
    A, B = a.block(X, Z), b.block(X, Z)
    np.testing.assert_allclose((a + b).block(X, Z), A + B)
    np.testing.assert_allclose((a * b).block(X, Z), A * B)
    np.testing.assert_allclose((3 * a).block(X, Z), 3 * A)
    np.testing.assert_allclose((a * 3.0).block(X, Z), 3 * A)


def test_the_normalised_kernel_is_a_cosine():
    K = Normalized(Polynomial(3, coef0=1.0)).block(X, X)
    np.testing.assert_allclose(np.diagonal(K), 1.0)
    assert np.abs(K).max() <= 1 + 1e-12


def test_a_sample_of_norm_zero_has_normalised_values_of_zero():
    K = Normalized(Linear()).block(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[2.0, 0.0]]))
    np.testing.assert_array_equal(K, [[0.0], [1.0]])


def test_from_sigma_and_from_variance_say_which_they_mean():
    d2 = ((X[:1] - Z[:1]) ** 2).sum()
    assert Gaussian.from_sigma(3.0).block(X[:1], Z[:1])[0, 0] == pytest.approx(np.exp(-d2 / 18))
    assert Gaussian.from_variance(3.0).block(X[:1], Z[:1])[0, 0] == pytest.approx(np.exp(-d2 / 6))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Gaussian(0.0), "`gamma` of Gaussian must be above 0; got 0.0"),
        (lambda: Gaussian(-1), "`gamma` of Gaussian must be above 0; got -1"),
        (lambda: Gaussian(float("nan")), "`gamma` of Gaussian must be above 0; got nan"),
        (lambda: Gaussian("wide"), "`gamma` of Gaussian must be above 0; got 'wide'"),
        (lambda: Gaussian(True), "`gamma` of Gaussian must be above 0; got True"),
        (lambda: Gaussian.from_sigma(0), "`sigma` of Gaussian must be above 0; got 0"),
        (lambda: Polynomial(0), "`degree` of Polynomial must be an integer of at least 1; got 0"),
        (
            lambda: Polynomial(2.5),
            "`degree` of Polynomial must be an integer of at least 1; got 2.5",
        ),
        (lambda: Laplacian(-0.1), "`gamma` of Laplacian must be above 0; got -0.1"),
        (lambda: Sigmoid(0.1, float("inf")), "`coef0` of Sigmoid must be a finite number; got inf"),
        (lambda: -1 * Linear(), "`factor` of Scaled must be above 0; got -1"),
        (lambda: Normalized("rbf"), "`kernel` of Normalized must be a kernel object; got 'rbf'"),
        (lambda: FromCallable(3), "`function` of FromCallable must be callable; got 3"),
    ],
)
def test_bad_parameters_are_refused_at_construction(make, sentence):
    with pytest.raises(
        ParameterError, match="^" + sentence.replace("(", r"\(").replace(")", r"\)") + "$"
    ):
        make()


def test_a_kernel_cannot_be_changed():
    with pytest.raises(AttributeError):
        Gaussian(1.0).gamma = 2.0


def test_parameters_are_reached_by_name_also_inside():
    kernel = Normalized(Gaussian(1.0) * Polynomial(2))
    changed = kernel.with_params(kernel__left__gamma=0.5, kernel__right__degree=3)
    assert changed == Normalized(Gaussian(0.5) * Polynomial(3))
    assert changed.get_params()["kernel__left__gamma"] == 0.5
    assert kernel == Normalized(Gaussian(1.0) * Polynomial(2))


def test_an_unknown_parameter_is_named():
    with pytest.raises(ParameterError, match="`width` of Gaussian must be one of its parameters"):
        Gaussian(1.0).with_params(width=3)


def test_clone_gives_an_equal_kernel():
    kernel = Gaussian(0.5) + Linear()
    assert clone(kernel) == kernel


def test_different_widths_are_refused():
    for kernel in (Gaussian(1.0), Laplacian(1.0)):
        with pytest.raises(DataError, match="X has 5 features, but Z has 4"):
            kernel.block(X, Z[:, :4])


def test_a_callable_that_returns_the_wrong_shape_is_named():
    with pytest.raises(DataError, match=r"must return shape \(20, 30\)"):
        FromCallable(lambda X, Z: np.zeros((2, 2))).block(X, Z)
    with pytest.raises(DataError, match="must return finite values"):
        FromCallable(lambda X, Z: np.full((20, 30), np.nan)).block(X, Z)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, z: float(x @ z),
        lambda x, z: float(np.exp(-np.sum((x - z) ** 2))),
        lambda x, z: len(x & z),
        lambda x, z: x[0] == z[99],
    ],
)
def test_a_function_of_two_samples_on_matrices_is_named_with_the_way_to_pass_it(function):
    with pytest.raises(DataError, match=r"FromCallable\(function, objects=True\).* list\(X\)"):
        FromCallable(function).block(X, Z)


def test_precomputed_values_pass_through():
    K = Gaussian(1.0).block(X, X)
    assert Precomputed().block(K, None) is K
    np.testing.assert_array_equal(Precomputed().diagonal(K), np.diagonal(K))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_far_from_the_origin_are_those_near_it(dtype):
    shift = 1000.0 if dtype is np.float32 else 1e8
    far, other = (X + shift).astype(dtype), (Z + shift).astype(dtype)
    exact = np.exp(-cdist(far.astype(float), other.astype(float), "sqeuclidean"))
    np.testing.assert_allclose(Gaussian(1.0).block(far, other), exact, atol=1e-5)


def test_half_precision_samples_are_widened():
    half = X.astype(np.float16)
    np.testing.assert_allclose(
        Polynomial(3).block(half, half), (half.astype(float) @ half.astype(float).T) ** 3
    )


@pytest.mark.parametrize("make", [lambda: 2.0 * Precomputed(), lambda: Precomputed() + Linear()])
def test_a_given_matrix_cannot_be_a_part(make):
    with pytest.raises(ParameterError, match="combine the matrices instead"):
        make()
