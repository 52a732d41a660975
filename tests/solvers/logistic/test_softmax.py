import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax

from separatrix.solvers.logistic.softmax import replace_scores


def scores(p, n=500, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(p, n)) * rng.choice([0.1, 3.0, 300.0, 1e5], size=n)
    return F, rng.normal(size=p), rng.integers(0, max(2, p), size=n), rng.random(n)


@pytest.mark.parametrize("k", [2, 3, 30])
def test_softmax_residuals_are_those_of_scipy(k):
    F, bias, y, weights = scores(k)
    S, own = F + bias[:, None], (y, np.arange(len(y)))
    expected = weights * softmax(S, axis=0)
    expected[own] -= weights
    loss = weights @ (logsumexp(S, axis=0) - S[own])

    assert replace_scores(F, bias, y, weights) == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(F, expected, atol=1e-15)


def test_one_score_is_that_of_the_second_of_two_classes():
    F, bias, y, weights = scores(1)
    S = F[0] + bias[0]
    loss = weights @ (np.logaddexp(0.0, S) - y * S)

    assert replace_scores(F, bias, y, weights) == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(F[0], weights * (expit(S) - y), atol=1e-15)


@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("c", [0, -1])
def test_a_score_that_is_not_a_number_shows_in_the_loss(p, c):
    F = np.ones((p, 7))
    F[c, 3] = np.nan
    assert np.isnan(replace_scores(F, np.zeros(p), np.zeros(7, dtype=int), np.ones(7)))
