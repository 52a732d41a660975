import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.solvers.least_squares import (
    LeaveOneOut,
    Normal,
    leave_one_out,
    merge_leave_one_out,
    normal_equations,
    ridges_within,
    rows_spectrum,
    solve_ridge,
    solve_within,
    spectrum_of,
    targets,
)
from separatrix.solvers.moments import moments_of
from separatrix.types import Block


def problem(seed=0, n=40, d=5, k=3):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)) + 3.0, rng.integers(0, k, size=n)
    y[:k] = np.arange(k)
    return X, y, rng.random(n) + 0.1


def normal_of(X, y, weights, k):
    return normal_equations(moments_of(Block(X, y, weights), n_classes=k, form="pooled"))


def plain(X, T, weights, ridge):
    """The same problem with a column of ones, as a stacked least-squares problem."""
    root = np.sqrt(weights)[:, None]
    penalty = np.sqrt(ridge) * np.eye(X.shape[1] + 1)
    penalty[-1] = 0.0
    rows = np.vstack([root * np.column_stack([X, np.ones(len(X))]), penalty])
    right = np.vstack([root * T, np.zeros((X.shape[1] + 1, T.shape[1]))])
    return np.linalg.lstsq(rows, right, rcond=None)[0]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.3, 50.0])
def test_moments_give_the_solution_of_the_stacked_problem(k, ridge):
    X, y, weights = problem(k=k)
    found = solve_ridge(normal_of(X, y, weights, k), ridge)
    expected = plain(X, targets(y, k), weights, ridge)
    np.testing.assert_allclose(found.coef.T, expected[:-1], atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected[-1], atol=1e-10)


def test_without_a_ridge_repeated_columns_share_the_shortest_weights():
    X, y, weights = problem()
    twice = np.column_stack([X, X, np.ones(len(X))])
    once = solve_ridge(normal_of(X, y, weights, 3), 0.0)
    found = solve_ridge(normal_of(twice, y, weights, 3), 0.0)
    assert (once.rank, found.rank) == (5, 5)
    np.testing.assert_allclose(found.coef[:, :5], once.coef / 2, atol=1e-10)
    np.testing.assert_allclose(found.coef[:, 5:10], once.coef / 2, atol=1e-10)
    np.testing.assert_allclose(found.coef[:, 10], 0.0, atol=1e-10)


@pytest.mark.parametrize("k", [2, 4])
def test_rows_and_columns_give_the_same_weights(k):
    X, y, weights = problem(n=30, d=7, k=k)
    mean = weights @ X / weights.sum()
    T = targets(y, k)
    T = T - weights @ T / weights.sum()
    apart = X - mean
    rows = rows_spectrum(apart @ apart.T, T, weights)
    spectrum = spectrum_of(normal_of(X, y, weights, k))
    for ridge in (0.0, 2.0):
        np.testing.assert_allclose(
            apart.T @ rows.coefficients(ridge), spectrum.weights(ridge), atol=1e-9
        )
    np.testing.assert_allclose(np.sort(rows.spectrum.s), np.sort(spectrum.s), rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(rows.positions()), np.abs(spectrum.positions(X, mean)), rtol=1e-6, atol=1e-8
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), power=st.floats(-6, 3))
def test_the_secular_equation_is_met_or_the_constraint_is_slack(seed, power):
    X, y, weights = problem(seed)
    normal = normal_of(X, y, weights, 3)
    C = 10.0**power
    found = solve_within(normal, C)
    lengths = (found.coef**2).sum(axis=1)
    assert (lengths <= C * (1 + 1e-9)).all()
    for length, ridge in zip(lengths, found.ridge, strict=True):
        assert ridge == 0.0 or abs(length / C - 1) < 1e-9  # complementary slackness
    for c, ridge in enumerate(found.ridge):
        np.testing.assert_allclose(solve_ridge(normal, ridge).coef[c], found.coef[c], atol=1e-9)


def test_a_loose_constraint_changes_nothing():
    normal = normal_of(*problem(), 3)
    assert ridges_within(spectrum_of(normal), 1e9).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_leaving_out_equals_fitting_again_without_the_sample(k, ridge):
    X, y, weights = problem(3, n=25, d=4, k=k)
    normal = normal_of(X, y, weights, k)
    spectrum = spectrum_of(normal)
    found = leave_one_out(
        spectrum.positions(X, normal.mean),
        y,
        weights,
        spectrum=spectrum,
        target_mean=normal.target_mean,
        total=normal.weight,
        ridges=np.array([ridge]),
    )
    squares = mistaken = 0.0
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        theta = plain(X[rest], targets(y[rest], k), weights[rest], ridge)
        says = np.append(X[i], 1.0) @ theta
        squares += weights[i] * ((says - targets(y[[i]], k)[0]) ** 2).sum()
        guess = int(says[0] > 0) if k == 2 else int(says.argmax())
        mistaken += weights[i] * (guess != y[i])
    np.testing.assert_allclose(found.squares, squares, rtol=1e-9)
    np.testing.assert_allclose(found.mistaken, mistaken, rtol=1e-12)


def test_a_sample_the_fit_hangs_on_counts_as_mistaken():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [1.0, 0.0]])
    y = np.array([0, 0, 1, 1, 1])
    normal = normal_of(X, y, np.ones(5), 2)
    spectrum = spectrum_of(normal)
    found = leave_one_out(
        spectrum.positions(X[4:], normal.mean),
        y[4:],
        np.ones(1),
        spectrum=spectrum,
        target_mean=normal.target_mean,
        total=5.0,
        ridges=np.array([0.0]),
    )
    assert found.mistaken.tolist() == [1.0]
    assert np.isposinf(found.squares).all()


def test_equal_scores_of_several_classes_are_no_mistake():
    X, y = np.zeros((8, 2)), np.arange(8) % 4  # a mean of 1/4 is exact
    normal = normal_of(X, y, np.ones(8), 4)
    spectrum = spectrum_of(normal)
    more = {"spectrum": spectrum, "target_mean": normal.target_mean, "ridges": np.array([1.0])}
    Z = spectrum.positions(X, normal.mean)
    found = leave_one_out(Z, y, np.ones(8), total=1e300, **more)  # nothing changes without one row
    assert found.mistaken.tolist() == [0.0]


def test_sums_of_left_out_samples_add_up():
    a = LeaveOneOut(2.0, np.array([1.0, 0.5]), np.array([3.0, 4.0]))
    b = LeaveOneOut(0.5, np.array([0.25, 2.0]), np.array([1.0, 7.0]))
    merged = merge_leave_one_out(a, b)
    assert merged.weight == 2.5
    assert merged.mistaken.tolist() == [1.25, 2.5]
    assert merged.squares.tolist() == [4.0, 11.0]


def test_columns_of_very_different_units_are_not_taken_for_singular():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 3)) * [1e-9, 1.0, 1e9]
    A -= A.mean(axis=0)
    B = A.T @ rng.normal(size=(9, 1))
    found = solve_ridge(Normal(A.T @ A, B, np.zeros(3), np.zeros(1), 9.0), 0.0)
    assert found.rank == 3
    np.testing.assert_allclose(A.T @ A @ found.coef.T, B, rtol=1e-6)
    empty = np.diag([2.0, 0.0])
    found = solve_ridge(Normal(empty, np.array([[4.0], [0.0]]), np.ones(2), np.ones(1), 9.0), 0.0)
    assert (found.rank, found.coef.tolist(), found.intercept.tolist()) == (1, [[2.0, 0.0]], [-1.0])
