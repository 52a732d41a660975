import numpy as np
import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import Gaussian, Sigmoid, eigen_embedding, is_positive_semidefinite

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
