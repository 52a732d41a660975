"""Kernel logistic regression against SciPy on its primal problem, and its certificate by plain formulas."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import entr, log_softmax, softmax
from sklearn.datasets import load_iris

from separatrix.kernels import Gaussian
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.gram.held import HeldGram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.kernel_newton import solve_kernel_logistic

X, SPECIES = load_iris(return_X_y=True)
K = Gaussian(0.1).block(X, X)
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, size=len(X))
TARGETS = {2: (SPECIES == 1).astype(int), 3: SPECIES}


def with_reference(S):
    """Scores of all classes: those of two have one column."""
    return np.column_stack([np.zeros(len(S)), S]) if S.shape[1] == 1 else S


def objective(F, y, weights, square, C):
    losses = -log_softmax(with_reference(F), axis=1)[np.arange(len(y)), y]
    return weights @ losses + square / (2.0 * C)


def solve_primal(y, weights, k, C):
    """L-BFGS on weights in the eigenbasis of K, and a bias: the objective and the scores."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    Z = vectors[:, kept] * np.sqrt(values[kept])
    p, r = (1 if k == 2 else k), Z.shape[1]
    hot = np.eye(k)[y]

    def scores(theta):
        W = theta.reshape(p, r + 1)
        return W, Z @ W[:, :r].T + W[:, r]

    def value_and_gradient(theta):
        W, F = scores(theta)
        R = weights[:, None] * (softmax(with_reference(F), axis=1) - hot)
        R = R[:, -p:]
        gradient = np.column_stack([R.T @ Z + W[:, :r] / C, R.sum(axis=0)])
        return objective(F, y, weights, (W[:, :r] ** 2).sum(), C), gradient.ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 50}
    found = minimize(
        value_and_gradient, np.zeros(p * (r + 1)), jac=True, method="L-BFGS-B", options=options
    )
    return found.fun, scores(found.x)[1]


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_it_finds_the_minimum_that_scipy_finds(k, C):
    y = TARGETS[k]
    found = solve_kernel_logistic(
        HeldGram(K), y, WEIGHTS, n_classes=k, C=C, tol=1e-12, max_iter=100
    )
    lowest, scores = solve_primal(y, WEIGHTS, k, C)
    assert found.stop == "tol"
    np.testing.assert_allclose(found.objective, lowest, rtol=1e-9)
    mine, theirs = log_softmax(with_reference(found.scores), axis=1), with_reference(scores)
    np.testing.assert_allclose(mine, log_softmax(theirs, axis=1), atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("steps", [1, 3, 100])
def test_the_gap_is_that_of_primal_and_dual_objectives_wherever_it_stops(k, steps):
    y, C = TARGETS[k], 20.0
    found = solve_kernel_logistic(
        HeldGram(K), y, WEIGHTS, n_classes=k, C=C, tol=1e-10, max_iter=steps
    )
    F = K @ found.coef.T + found.intercept
    np.testing.assert_allclose(found.scores, F, atol=1e-9)
    square = np.einsum("cn,nm,cm->", found.coef, K, found.coef)
    primal = objective(F, y, WEIGHTS, square, C)
    P = softmax(with_reference(F), axis=1)
    G = WEIGHTS[:, None] * (np.eye(k)[y] - P)
    assert np.abs(G.sum(axis=0)).max() < 1e-10 * WEIGHTS.sum()  # feasible: the bias is free
    G = G[:, 1:] if k == 2 else G
    dual = WEIGHTS @ entr(P).sum(axis=1) - 0.5 * C * np.einsum("nc,nm,mc->", G, K, G)
    np.testing.assert_allclose(found.objective, primal, rtol=1e-12)
    np.testing.assert_allclose(found.gap, (primal - dual) / max(1.0, primal), atol=1e-12)
    assert primal - dual > -1e-10


def test_rows_without_weight_are_rows_that_are_not_there_but_are_scored():
    held_out = np.arange(0, 150, 4)
    weights = WEIGHTS.copy()
    weights[held_out] = 0.0
    rest = np.setdiff1d(np.arange(150), held_out)
    options = {"n_classes": 3, "C": 5.0, "tol": 1e-14, "max_iter": 100}
    whole = solve_kernel_logistic(HeldGram(K), SPECIES, weights, **options)
    part = solve_kernel_logistic(
        HeldGram(K[np.ix_(rest, rest)]), SPECIES[rest], weights[rest], **options
    )
    assert not whole.coef[:, held_out].any()
    expected = K[:, rest] @ part.coef.T + part.intercept
    expected += (whole.scores - expected).mean(axis=1, keepdims=True)  # softmax does not see it
    np.testing.assert_allclose(whole.scores, expected, atol=1e-6)


def test_a_matrix_computed_in_blocks_of_rows_gives_the_same_fit():
    options = {"n_classes": 3, "C": 5.0, "tol": 1e-12, "max_iter": 100}
    held = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, **options)
    lazy = make_gram(Gaussian(0.1), X, memory=20_000)
    assert "HeldGram" not in repr(lazy)
    np.testing.assert_allclose(
        solve_kernel_logistic(lazy, SPECIES, WEIGHTS, **options).scores, held.scores, atol=1e-8
    )


def test_float32_kernel_values_give_the_same_probabilities():
    options = {"n_classes": 3, "C": 5.0, "tol": 1e-8, "max_iter": 100}
    exact = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, **options)
    rounded = solve_kernel_logistic(HeldGram(K.astype(np.float32)), SPECIES, WEIGHTS, **options)
    assert rounded.stop == "tol"
    np.testing.assert_allclose(
        softmax(rounded.scores, axis=1), softmax(exact.scores, axis=1), atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_sums_of_float32_values_over_sorted_rows_keep_the_digits_of_the_gap(C):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, 10))
    y = np.sort(((points[:, :4] ** 2).sum(axis=1) + rng.normal(size=1500) > 4).astype(int))
    values = Gaussian(0.03).block(points, points).astype(np.float32)
    found = solve_kernel_logistic(
        HeldGram(values), y, np.ones(1500), n_classes=2, C=C, tol=1e-9, max_iter=60
    )
    assert found.stop == "tol"
    A, wide = found.coef[0], values.astype(np.float64)
    P = softmax(with_reference((wide @ A + found.intercept)[:, None]), axis=1)[:, 1]
    away = A - C * (y - P)
    assert away @ wide @ away / (2.0 * C) <= 1e-9 * max(1.0, found.objective)


def test_a_fit_begins_where_another_ended():
    options = {"n_classes": 3, "tol": 1e-10, "max_iter": 100}
    first = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, C=5.0, **options)
    again = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, C=5.0, start=first.coef, **options)
    assert again.n_iter == 0
    cold = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, C=15.0, **options)
    warm = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, C=15.0, start=first.coef, **options)
    assert warm.n_iter <= cold.n_iter
    np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-9)


def test_a_monitor_stops_it_with_a_certificate_for_the_C_wanted():
    monitor = FitMonitor(None, lambda number: number == 0)
    options = {"n_classes": 3, "C": 1e4, "tol": 1e-10, "max_iter": 100}
    found = solve_kernel_logistic(HeldGram(K), SPECIES, WEIGHTS, monitor=monitor, **options)
    assert (found.stop, found.n_iter) == ("stopped", 1)
    square = np.einsum("cn,nm,cm->", found.coef, K, found.coef)
    expected = objective(found.scores, SPECIES, WEIGHTS, square, 1e4)
    np.testing.assert_allclose(found.objective, expected)
    assert found.gap > 1e-10


def test_an_indefinite_matrix_is_found_out():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(60, 60))
    y = rng.integers(0, 2, size=60)
    found = solve_kernel_logistic(
        HeldGram(A + A.T), y, np.ones(60), n_classes=2, C=10.0, tol=1e-8, max_iter=100
    )
    assert found.stop == "indefinite"
