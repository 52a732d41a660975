"""What `LogisticRegression` publishes against the same sums with 60 digits: claims are never too small."""

import warnings

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from tests.exact_losses import ExactLosses
from tests.random_problems import random_problem

from separatrix import LogisticRegression


def exact_gap(losses, W, b, l1, l2, intercept):
    """The duality gap over max(1, P) of the dual probabilities that the docs name."""
    loss, *_ = losses.at(W, b)
    P = loss + sum(l1 * abs(v) + l2 * v * v / 2 for w in W for v in w)
    at = losses.best_biases(W, b) if intercept else b
    _, R, shares = losses.at(W, at)
    V, _ = losses.gradient(R)
    largest = max([mpf(1), *(abs(v) / l1 for row in V for v in row)])
    gaps = []
    for t in {mpf(1), 1 / largest} if l2 else {1 / largest}:
        D = (
            -sum(max(t * abs(v) - l1, 0) ** 2 / (2 * l2) for row in V for v in row)
            if l2
            else mpf(0)
        )
        for own, weight, p in zip(losses.y, losses.weights, shares, strict=True):
            q = [v * t for v in p]
            q[own] += 1 - t
            D -= weight * sum(v * mp.log(v) for v in q if v > 0)
        gaps.append((P - D) / max(mpf(1), P))
    return min(gaps)


def check(seed):
    """One fit; returns whether its published numbers are all at least the exact ones."""
    given, rng = random_problem(seed, most_rows=15), np.random.default_rng(seed)
    l1_ratio, intercept = [0.0, 0.0, 0.5, 1.0][rng.integers(4)], bool(rng.random() < 0.8)
    model = LogisticRegression(C=given.C, l1_ratio=l1_ratio, fit_intercept=intercept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(given.X, given.y, sample_weight=given.weights)
    weights = np.ones(len(given.y)) if given.weights is None else given.weights
    losses = ExactLosses(given.dense, given.y, weights)
    l1, l2 = mpf(l1_ratio / given.C), mpf((1.0 - l1_ratio) / given.C)
    W, b = (
        [[mpf(v) for v in row] for row in model.coef_.tolist()],
        list(map(mpf, model.intercept_)),
    )
    loss, R, _ = losses.at(W, b)
    G, at_bias = losses.gradient(R)
    off = [abs(v) for v in at_bias] if intercept else []
    for w, row in zip(W, G, strict=True):
        for v, g in zip(w, row, strict=True):
            g += l2 * v
            off.append(abs(g + mp.sign(v) * l1) if v else max(abs(g) - l1, 0))
    assert model.gradient_ >= max(off) / losses.weight
    P = loss + sum(l1 * abs(v) + l2 * v * v / 2 for w in W for v in w)
    assert abs(P - model.objective_) <= mpf(10) ** -9 * max(1, P)
    if l1_ratio:
        assert model.dual_gap_ >= exact_gap(losses, W, b, l1, l2, intercept) * (1 - mpf(10) ** -9)
    if max(off) / losses.weight > 2 * model.tol:
        assert any(issubclass(one.category, ConvergenceWarning) for one in caught)


@pytest.mark.parametrize("seed", range(24))
def test_gradients_and_gaps_are_never_below_the_exact_ones(seed):
    check(seed)


def test_dense_and_sparse_blocks_have_the_certificate_of_one_array():
    rng = np.random.default_rng(0)
    X, y = rng.normal(5.0, 1.0, size=(60, 3)), np.arange(60) % 2
    expected = LogisticRegression().fit(X, y)

    found = LogisticRegression().fit([(X[:30], y[:30]), (csr_array(X[30:]), y[30:])])

    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert found.gradient_ <= found.tol


@pytest.mark.slow
def test_gradients_and_gaps_of_many_problems_are_never_below_the_exact_ones():
    for seed in range(24, 300):
        check(seed)
