"""When boundaries that are solved together end, and why."""

import numpy as np

from separatrix.solvers.linear_svm.boundary_stops import BoundaryStops
from separatrix.solvers.linear_svm.primal_newton import FLAT, PATIENCE


def test_a_boundary_is_solved_when_gradient_and_gap_are_both_small():
    stops = BoundaryStops(np.array([1.0, 2.0, 2.0, 0.0]), 0.1, 50)
    gradients = np.array([0.11, 0.2, 0.21, 0.1])  # relative: 0.11, 0.1, 0.105, 0.1
    stops.review(3, gradients**2, np.full(4, 5.0))
    np.testing.assert_allclose(stops.reached, [0.11, 0.1, 0.105, 0.1])
    assert stops.words.tolist() == ["max_iter", "tol", "max_iter", "tol"]
    assert stops.steps.tolist() == [50, 3, 50, 3]
    assert stops.active.tolist() == [0, 2]
    gap = BoundaryStops(np.array([100.0, 100.0]), 0.1, 50)
    gap.review(1, np.array([0.18, 0.22]), np.array([0.5, 0.9]))  # gaps 0.09, 0.11 of at most 0.1
    assert gap.words.tolist() == ["tol", "max_iter"]


def test_a_boundary_that_becomes_no_better_ends_after_some_patience():
    stops = BoundaryStops(np.ones(3), 1e-12, 100)
    for step in range(PATIENCE + 2):
        assert stops.active.tolist() == [0, 1, 2]
        falling = 1.0 / 2.0**step
        squares = np.array([(0.5 * FLAT) ** 2, 1.0, falling])
        stops.review(step, squares, np.array([1.0, 1.0, 1.0]))
    assert stops.active.tolist() == [2]
    assert stops.steps.tolist() == [PATIENCE + 1, PATIENCE + 1, 100]
    stops.close()
    assert stops.words.tolist() == ["tol", "max_iter", "max_iter"]


def test_a_falling_objective_is_progress():
    stops = BoundaryStops(np.ones(1), 1e-12, 100)
    for step in range(3 * PATIENCE):
        stops.review(step, np.ones(1), np.array([100.0 - step]))
    assert stops.active.tolist() == [0]
