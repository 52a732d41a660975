import numpy as np
import pytest

from separatrix.solvers.least_squares_rows import PANEL, pivoted_cholesky, solve_rows


def nearly_equal_rows(seed, n, d, apart):
    """Rows about their mean, of which the last is the first to `apart`."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    A[-1] = A[0] + apart * rng.normal(size=d)
    T = rng.normal(size=(n, 3))
    return A - A.mean(axis=0), T - T.mean(axis=0)


def solve(A, T, ridge):
    return solve_rows(A @ A.T, T, ridge=ridge, multiply=lambda W: A @ W, combine=lambda V: A.T @ V)


@pytest.mark.parametrize("rank", [1, 7, PANEL, PANEL + 20])
def test_the_factor_of_a_singular_matrix_has_its_rank_and_its_values(rank):
    B = np.random.default_rng(rank).normal(size=(PANEL + 30, rank))
    R, order = pivoted_cholesky(B @ B.T)
    assert R.shape == (rank, PANEL + 30)
    np.testing.assert_allclose(R.T @ R, (B @ B.T)[order][:, order], atol=1e-11 * rank)
    np.testing.assert_array_equal(np.tril(R, -1), 0.0)


def test_a_matrix_of_zeros_has_no_factor_and_its_problem_no_weights():
    assert pivoted_cholesky(np.zeros((3, 3)))[0].shape == (0, 3)
    found = solve(np.zeros((3, 4)), np.ones((3, 1)), 0.0)
    assert not found.W.any()
    assert (found.rank, found.gradient) == (0, 0.0)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("n", [8, 150])
def test_the_shortest_weights_are_those_of_a_singular_value_decomposition(n, ridge):
    A, T = nearly_equal_rows(n, n, 200, 1.0)
    found = solve(A, T, ridge)
    stacked = np.vstack([A, np.sqrt(ridge) * np.eye(200)])
    expected = np.linalg.lstsq(stacked, np.vstack([T, np.zeros((200, 3))]), rcond=1e-12)[0]
    np.testing.assert_allclose(found.W, expected, atol=1e-12)
    assert found.rank == n - 1


@pytest.mark.parametrize("power", [-3, -5])
def test_nearly_equal_rows_keep_digits_that_their_products_have_lost(power):
    A, T = nearly_equal_rows(1, 40, 60, 10.0**power)
    expected = np.linalg.lstsq(A, T, rcond=1e-13)[0]
    found = solve(A, T, 0.0)
    assert np.abs(found.W - expected).max() < 1e-9 * np.abs(expected).max()
    assert found.gradient < 1e-8


@pytest.mark.parametrize("distinct", [1, 20, 90])
def test_repeated_rows_with_other_targets_get_the_mean_of_their_targets(distinct):
    rng = np.random.default_rng(distinct)
    A = rng.normal(size=(distinct, 150))[rng.integers(0, distinct, 100)]
    A, T = A - A.mean(axis=0), rng.normal(size=(100, 2))
    expected = np.linalg.lstsq(A, T, rcond=1e-12)[0]
    found = solve(A, T, 0.0)
    np.testing.assert_allclose(found.W, expected, atol=1e-12)
    assert found.rank == np.linalg.matrix_rank(A)
