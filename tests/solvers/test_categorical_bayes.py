"""Categorical naive Bayes: tables and probabilities counted sample by sample."""

import numpy as np
import pytest

from separatrix.solvers.categorical_bayes import (
    categorical,
    categorical_log_joint,
    count_categories,
    merge_categories,
)

SIZES = (3, 2, 4)


def samples(seed, n=40):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    X[0] = np.array(SIZES) - 1
    return X, rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float) + (np.arange(n) == 0)


def probability(X, y, weights, alpha, c, j, t):
    """(weight of class c with category t of feature j + alpha) over the sum of these."""
    shares = [weights[(y == c) & (X[:, j] == s)].sum() + alpha for s in range(SIZES[j])]
    return shares[t] / sum(shares)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_joint_is_the_product_of_shares(alpha):
    X, y, weights = samples(0)
    counts = count_categories(X, y, weights, 3)
    assert counts.sizes.tolist() == list(SIZES)
    np.testing.assert_array_equal(counts.weight, [weights[y == c].sum() for c in range(3)])
    prior = np.log([0.2, 0.3, 0.5])
    joint = categorical_log_joint(categorical(counts, alpha), prior, X)
    for i in range(len(X)):
        for c in range(3):
            factors = [probability(X, y, weights, alpha, c, j, X[i, j]) for j in range(3)]
            zeros = sum(factor == 0 for factor in factors)
            expected = prior[c] + sum(np.log(factor) for factor in factors if factor > 0)
            assert joint.finite[i, c] == pytest.approx(expected)
            assert zeros == (0 if joint.zeros is None else joint.zeros[i, c])


def test_counts_of_parts_are_those_of_the_whole():
    X, y, weights = samples(1)
    whole = count_categories(X, y, weights, 3)
    some = y[:15] < 2
    parts = (
        count_categories(X[:15][some], y[:15][some], weights[:15][some], 2),  # fewer classes
        count_categories(X[:15][~some], y[:15][~some], weights[:15][~some], 3),
        count_categories(X[15:], y[15:], weights[15:], 3),
    )
    found = merge_categories(merge_categories(*parts[:2]), parts[2])
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_array_equal(one, other)
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(whole.taken(order).table, whole.table[order])
    assert whole.grown(5).weight.tolist() == [*whole.weight, 0.0, 0.0]


def test_a_class_without_samples_has_equal_shares():
    X, y, weights = samples(2)
    found = categorical(count_categories(X, y, weights, 4), 0.0)
    expected = np.repeat(-np.log(SIZES), SIZES)
    np.testing.assert_allclose(found.log_prob[3], expected)
