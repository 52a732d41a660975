"""Coordinate descent on a quadratic with an l1 penalty, against a plain loop."""

import numpy as np
import pytest

from separatrix.solvers.logistic.quadratic import descend


def plain_descent(H, u, v, penalty, epochs, wanted):
    """Soft thresholds (Friedman et al. 2010, equation 5); returns the largest change of a slope."""
    worst = 0.0
    for _ in range(epochs):
        changes = [0.0]
        for j in range(len(u)):
            new = 0.0
            if H[j, j] > 0.0:
                goal = u[j] * H[j, j] - v[j]
                new = np.sign(goal) * max(abs(goal) - penalty[j], 0.0) / H[j, j]
            step = new - u[j]
            u[j] = new
            v += step * H[j]
            changes.append(abs(step) * H[j, j])
        worst = max(changes)
        if worst <= wanted:
            break
    return worst


@pytest.mark.parametrize("epochs", [0, 1, 2, 5])
def test_weights_are_those_of_soft_thresholds(epochs):
    """Diagonals are 0, 1, 2 or 4, so that all numbers are exact and ends at a threshold are common."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 5))
        half = np.triu(rng.choice([-0.5, 0.0, 0.5, 1.0], (m, m)), 1)
        diagonal = rng.choice([0.0, 1.0, 2.0, 4.0], m, p=[0.1, 0.3, 0.3, 0.3])
        H = half + half.T + np.diag(diagonal)
        u, v = rng.integers(-2, 3, m) / 2.0, rng.integers(-4, 5, m) / 2.0
        penalty, wanted = rng.choice([0.0, 0.5, 1.0], m), rng.choice([0.0, 0.25, 0.5])
        expected = u.copy(), v.copy()
        worst = plain_descent(H, *expected, penalty, epochs, wanted)
        assert descend(H, u, v, penalty, epochs, wanted) == worst
        np.testing.assert_array_equal(u, expected[0])
        np.testing.assert_array_equal(v, expected[1])
