import numpy as np
import pytest

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.least_squares_products import (
    TOLERANCE,
    iterations_needed,
    largest_eigenvalue,
    solve_products,
)

rng = np.random.default_rng(0)
FULL = rng.normal(size=(30, 80))
DEFICIENT = rng.normal(size=(30, 12)) @ rng.normal(size=(12, 80))
TARGETS = np.column_stack([rng.normal(size=(30, 2)), np.zeros(30)])  # one that is solved at once


def solve(A, ridge, max_iter=500, monitor=None):
    return solve_products(
        TARGETS,
        ridge=ridge,
        multiply=lambda W: A @ W,
        combine=lambda V: A.T @ V,
        max_iter=max_iter,
        monitor=monitor or FitMonitor(),
    )


@pytest.mark.parametrize("A", [FULL, DEFICIENT], ids=["full", "deficient"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_weights_are_the_shortest_with_the_least_squares(A, ridge):
    stacked = np.vstack([A, np.sqrt(ridge) * np.eye(80)])
    expected = np.linalg.lstsq(stacked, np.vstack([TARGETS, np.zeros((80, 3))]), rcond=1e-12)[0]
    found = solve(A, ridge)
    np.testing.assert_allclose(found.W, expected, atol=1e-9)
    assert found.gradient < 2 * TOLERANCE


def test_what_is_not_solved_says_how_far_it_is():
    found = solve(FULL, 0.0, max_iter=3)
    gradient = FULL.T @ (TARGETS - FULL @ found.W)
    assert found.n_iter == 3
    assert found.gradient == pytest.approx(
        np.linalg.norm(gradient) / np.linalg.norm(FULL.T @ TARGETS)
    )
    assert found.gradient > 1e-3


def test_a_stopped_fit_keeps_its_weights_of_that_moment():
    monitor = FitMonitor(on_step=lambda step: step == 1)
    np.testing.assert_array_equal(
        solve(FULL, 0.0, monitor=monitor).W, solve(FULL, 0.0, max_iter=2).W
    )


@pytest.mark.parametrize("ridge", [0.1, 1.0, 100.0])
def test_the_bound_on_the_iterations_holds(ridge):
    largest = largest_eigenvalue(30, lambda W: FULL @ W, lambda V: FULL.T @ V)
    assert largest == pytest.approx(np.linalg.norm(FULL, 2) ** 2, rel=0.1)
    found = solve(FULL, ridge, max_iter=iterations_needed(ridge, largest))
    assert found.gradient < 2 * TOLERANCE
