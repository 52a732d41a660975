import numpy as np
import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    Gaussian,
    Sigmoid,
    eigen_embedding,
    embedding,
    is_positive_semidefinite,
)
from separatrix.kernels.embedding import (
    enforce_semidefinite,
    extreme_eigenvalues,
    require_semidefinite,
    symmetric_matrix,
)

X = np.random.default_rng(0).normal(size=(25, 3))


def test_a_gaussian_matrix_is_positive_semidefinite_and_a_sigmoid_one_is_not():
    assert is_positive_semidefinite(Gaussian(0.5).block(X, X))
    assert not is_positive_semidefinite(Sigmoid(1.0, -1.0).block(X, X))


def test_the_embedding_reproduces_the_matrix():
    K = Gaussian(0.5).block(X, X)
    F = eigen_embedding(K, tol=1e-12)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9)


def test_the_embedding_of_a_linear_kernel_has_as_many_dimensions_as_the_data():
    F = eigen_embedding(X @ X.T)
    assert F.shape == (25, 3)
    np.testing.assert_allclose(F @ F.T, X @ X.T, atol=1e-9)


def test_fewer_components_are_the_best_approximation_of_that_rank():
    K = Gaussian(0.5).block(X, X)
    F = eigen_embedding(K, 4)
    tail = np.linalg.eigvalsh(K)[:-4]
    assert np.linalg.norm(K - F @ F.T) == pytest.approx(np.linalg.norm(tail))


def test_an_indefinite_matrix_has_no_embedding():
    with pytest.raises(DataError, match="positive semi-definite"):
        eigen_embedding(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize(
    ("K", "sentence"),
    [
        (np.zeros((2, 3)), r"must be a square kernel matrix \(n, n\); got shape \(2, 3\)"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "must be symmetric; found .* up to 2"),
        (np.array([[np.nan]]), "must be finite"),
        (np.array([["a"]]), "must hold numbers"),
    ],
)
def test_input_other_than_a_kernel_matrix_is_refused(K, sentence):
    with pytest.raises(DataError, match=sentence):
        is_positive_semidefinite(K)


def test_zero_components_are_refused():
    with pytest.raises(ParameterError, match="`n_components`"):
        eigen_embedding(np.eye(2), 0)


def with_eigenvalues(*values):
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    Q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0]
    K = (Q * np.array(values)) @ Q.T
    return (K + K.T) / 2


def test_eigenvalues_below_a_share_of_the_largest_are_negative():
    for share, positive in ((0.9e-6, True), (1.1e-6, False)):
        assert is_positive_semidefinite(with_eigenvalues(-share, 0.5, 1.0), tol=1e-6) == positive
        assert is_positive_semidefinite(with_eigenvalues(-8 * share, 4, 8), tol=1e-6) == positive
    assert not is_positive_semidefinite(-np.eye(2))
    assert is_positive_semidefinite(np.zeros((2, 2)))
    assert is_positive_semidefinite(np.zeros((0, 0)))
    lowest, largest = extreme_eigenvalues(with_eigenvalues(-2.0, 1.0, 5.0, 7.0))
    assert (lowest, largest) == pytest.approx((-2.0, 7.0))


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_what_is_added_to_the_diagonal_is_the_lowest_eigenvalue(size):
    K = size * with_eigenvalues(-2.0, 1.0, 5.0)
    before = K.copy()
    assert enforce_semidefinite("k", K, "ignore") == 0.0
    np.testing.assert_array_equal(K, before)
    assert enforce_semidefinite("k", K, "shift") == pytest.approx(2.0 * size)
    np.testing.assert_allclose(K, before + 2.0 * size * np.eye(3), rtol=1e-12)
    K = before.copy()
    said = (
        "k is not positive semi-definite on these 3 samples: the smallest eigenvalue of its matrix"
    )
    with pytest.raises(DataError, match=said):
        enforce_semidefinite("k", K, "error")
    with pytest.warns(UserWarning, match=said):
        assert enforce_semidefinite("k", K, "warn") == 0.0
    np.testing.assert_array_equal(K, before)


def test_rounding_is_no_negative_eigenvalue():
    for policy in ("error", "shift"):
        for good in (np.eye(2), with_eigenvalues(-0.9e-8, 0.5, 1.0), np.zeros((0, 0))):
            assert enforce_semidefinite("k", good.copy(), policy) == 0.0
    assert enforce_semidefinite("k", with_eigenvalues(-1.1e-8, 0.5, 1.0), "shift") > 0
    with pytest.raises(DataError):
        enforce_semidefinite("k", -np.eye(2), "error")


def test_a_problem_that_is_not_convex_is_refused():
    for good in (np.eye(2), with_eigenvalues(-0.9e-6, 0.5, 1.0), np.zeros((0, 0))):
        require_semidefinite("SVC", Gaussian(1.0), good)
    said = r"SVC needs a positive semi-definite kernel, and the matrix of Gaussian\(gamma=1.0\) on these 3"
    with pytest.raises(DataError, match=said):
        require_semidefinite("SVC", Gaussian(1.0), with_eigenvalues(-1.1e-6, 0.5, 1.0))


def test_a_matrix_is_as_symmetric_as_its_size_allows():
    for size in (1.0, 1e6, 1e-6):
        K = size * np.eye(2)
        K[0, 1] = 0.9e-5 * size
        assert symmetric_matrix(K) is K
        K[0, 1] = 1.1e-5 * size
        with pytest.raises(DataError, match="K must be symmetric"):
            symmetric_matrix(K)
    for bad in (np.inf, -np.inf, np.nan):
        K = np.eye(3)
        K[1, 1] = bad
        with (
            np.errstate(invalid="ignore"),  # of inf - inf, without the compiler
            pytest.raises(DataError, match="M must be finite"),
        ):
            symmetric_matrix(K, name="M")
    for kind in (bool, np.int8, np.uint16, np.float32):
        found = symmetric_matrix(np.eye(2, dtype=kind))
        assert found.dtype == np.float64
    assert symmetric_matrix(np.zeros((0, 0))).shape == (0, 0)
    with pytest.raises(DataError, match=r"got shape \(3,\)"):
        symmetric_matrix(np.ones(3))
    symmetric_matrix(np.zeros((2, 2)))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 65, 257])
def test_the_largest_value_and_gap_are_found_wherever_they_are(n):
    rng = np.random.default_rng(n)
    for _ in range(4):
        K = np.full((n, n), 0.25)
        i, j, a, b = rng.integers(0, n, 4)
        K[a, b] = K[b, a] = -3.0
        K[i, j] += 0.5
        found = np.max(embedding._over_strips(K), axis=0)
        np.testing.assert_array_equal(found, [np.abs(K).max(), np.abs(K - K.T).max()])
    assert embedding._sizes(K, 0, n) == (np.abs(K).max(), np.abs(K - K.T).max())


def test_components_come_by_falling_eigenvalue_and_small_ones_are_left_out():
    K = with_eigenvalues(0.5e-3, 2e-3, 1.0, 4.0)
    F = eigen_embedding(K, tol=1e-3 / 4)
    np.testing.assert_allclose((F**2).sum(axis=0), [4.0, 1.0, 2e-3], rtol=1e-9)
    assert eigen_embedding(K, 2, tol=0.0).shape == (4, 2)
    assert eigen_embedding(np.zeros((3, 3))).shape == (3, 0)
    assert eigen_embedding(np.zeros((0, 0))).shape == (0, 0)
    with pytest.raises(DataError, match=r"its lowest eigenvalue is -0\.5"):
        eigen_embedding(with_eigenvalues(-0.5, 1.0, 2.0))
    assert eigen_embedding(with_eigenvalues(-1.9e-8, 1.0, 2.0)).shape == (3, 2)
