import numpy as np
import pytest
from scipy.special import expit

from separatrix.estimators.calibration import couple_pairs, fit_calibration, match_predictions

RNG = np.random.default_rng(0)


def test_the_slopes_of_simulated_labels_are_recovered():
    S = RNG.normal(size=(50_000, 1)) * 2
    slope = np.where(S[:, 0] > 0, 3.0, 0.5)
    y = (RNG.random(50_000) < expit(slope * S[:, 0])).astype(np.intp)
    found = fit_calibration("sigmoid", S, y, np.ones(50_000), 2, "ovo")
    np.testing.assert_allclose(found.slopes[0], [0.5, 3.0], rtol=0.1)


def test_the_temperature_of_simulated_labels_is_recovered():
    S = RNG.normal(size=(50_000, 4)) * 3
    P = np.exp(S / 2.0)
    P /= P.sum(axis=1, keepdims=True)
    y = (P.cumsum(axis=1) < RNG.random((50_000, 1))).sum(axis=1)
    found = fit_calibration("temperature", S, y, np.ones(50_000), 4, "ovr")
    np.testing.assert_allclose(1.0 / found.slopes[0, 0], 2.0, rtol=0.05)


def test_weights_count_as_repetitions():
    S = RNG.normal(size=(200, 1))
    y = (RNG.random(200) < expit(S[:, 0])).astype(np.intp)
    weights = RNG.integers(0, 4, size=200)
    one = fit_calibration("sigmoid", S, y, weights.astype(float), 2, "ovo")
    ones = np.ones(weights.sum())
    other = fit_calibration("sigmoid", S.repeat(weights, 0), y.repeat(weights), ones, 2, "ovo")
    np.testing.assert_allclose(one.slopes, other.slopes, rtol=1e-3)


def test_pairs_that_agree_are_coupled_exactly():
    P = RNG.dirichlet(np.ones(4), size=100)
    first, second = np.triu_indices(4, k=1)
    sides = P[:, first] / (P[:, first] + P[:, second])
    np.testing.assert_allclose(couple_pairs(sides, 4), P, atol=1e-6)


def test_coupling_is_the_minimum_of_its_sum_of_squares():
    sides = RNG.random((20, 6))
    first, second = np.triu_indices(4, k=1)

    def loss(P):
        return ((sides * P[:, second] - (1 - sides) * P[:, first]) ** 2).sum(axis=1)

    best = couple_pairs(sides, 4)
    for _ in range(200):
        other = best + 0.01 * RNG.normal(size=best.shape)
        other = np.abs(other) / np.abs(other).sum(axis=1, keepdims=True)
        assert (loss(best) <= loss(other) + 1e-12).all()


def test_swapped_probabilities_put_the_prediction_first():
    P = RNG.dirichlet(np.ones(5), size=500)
    P[:50] = 0.2  # all equal
    codes = RNG.integers(0, 5, size=500)
    out = match_predictions(P, codes)
    np.testing.assert_array_equal(out.argmax(axis=1), codes)
    np.testing.assert_allclose(np.sort(out, axis=1), np.sort(P, axis=1), atol=1e-8)


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_scores_of_zero_are_ignored(method):
    found = fit_calibration(method, np.zeros((6, 3)), np.arange(6) % 3, np.ones(6), 3, "ovo")
    P = found.probabilities(np.zeros((2, 3)), np.array([2, 0]))
    np.testing.assert_allclose(P, 1 / 3, atol=1e-6)
    assert P.argmax(axis=1).tolist() == [2, 0]
