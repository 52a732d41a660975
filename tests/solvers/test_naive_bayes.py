import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from scipy.stats import norm

from separatrix.errors import DataError
from separatrix.runtime.sums import shared_rows
from separatrix.solvers.moments import merge as merged_moments
from separatrix.solvers.moments import moments_of
from separatrix.solvers.naive_bayes import (
    Counts,
    Joint,
    bernoulli,
    complement,
    counts_of,
    flags_of,
    gaussian_log_joint,
    log_joint,
    log_of,
    merge,
    multinomial,
    total_variance,
)
from separatrix.types import Block


def made_up(seed, n=40, d=7, k=3):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, size=(n, d)).astype(float)
    return Block(X, rng.integers(0, k, size=n), rng.uniform(0.1, 2.0, size=n))


def rows(block, which):
    return Block(block.X[which], block.y[which], block.weights[which])


def assert_same(a, b, **tolerance):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


def test_counts_are_weighted_sums_of_the_samples_of_a_class():
    block = made_up(0)
    found = counts_of(block, 3)
    for c in range(3):
        own = block.y == c
        np.testing.assert_allclose(found.features[c], block.weights[own] @ block.X[own])
        np.testing.assert_allclose(found.weight[c], block.weights[own].sum())


@pytest.mark.parametrize("container", [csr_array, csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_sparse_and_dense_samples_of_any_type_count_the_same_to_the_last_bit(container, dtype):
    block = made_up(1)
    block = block._replace(X=block.X.astype(dtype))
    dense, sparse = counts_of(block, 3), counts_of(block._replace(X=container(block.X)), 3)
    np.testing.assert_array_equal(dense.features, sparse.features)
    np.testing.assert_array_equal(dense.weight, sparse.weight)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), cut=st.integers(0, 40))
def test_merged_parts_are_the_whole(seed, cut):
    block = made_up(seed)
    parts = merge(
        counts_of(rows(block, slice(cut)), 3), counts_of(rows(block, slice(cut, None)), 3)
    )
    assert_same(parts, counts_of(block, 3), rtol=1e-13)


def test_parts_that_know_fewer_classes_merge_too():
    block = made_up(2)
    first = block.y < 2
    parts = counts_of(rows(block, first), 2), counts_of(rows(block, ~first), 3)
    assert_same(merge(*parts), counts_of(block, 3), rtol=1e-13)
    assert_same(merge(*parts[::-1]), counts_of(block, 3), rtol=1e-13)


def test_classes_are_taken_in_any_order():
    found = counts_of(made_up(3), 3)
    order = np.array([2, 0, 1])
    assert_same(found.taken(order), (found.weight[order], found.features[order]))
    assert found.taken(np.arange(3)) is found


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_weight_is_a_repetition_and_zero_is_a_row_that_is_not_there(seed):
    block = made_up(seed)
    times = np.random.default_rng(seed).integers(0, 4, size=40)
    repeated = rows(block._replace(weights=np.ones(40)), np.repeat(np.arange(40), times))
    weighted = counts_of(block._replace(weights=times.astype(float)), 3)
    assert_same(weighted, counts_of(repeated, 3))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_all_samples_of_a_class_have_counts_exactly_what_the_class_weighs(seed):
    block = made_up(seed)
    ones = block._replace(X=np.ones((40, 2)))
    parts = merge(counts_of(rows(ones, slice(13)), 3), counts_of(rows(ones, slice(13, 40)), 3))
    np.testing.assert_array_equal(parts.features, np.column_stack([parts.weight] * 2))


def test_without_smoothing_a_probability_is_a_share_of_the_counts():
    counts = Counts(np.array([2.0, 1.0]), np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0]]))
    found = multinomial(counts, 0.0)
    np.testing.assert_allclose(
        np.exp(found.log_prob), [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]], rtol=1e-15
    )
    assert np.isneginf(found.log_prob[0, 2])
    assert np.isfinite(found.weights).all()


def test_smoothing_adds_alpha_to_every_count():
    counts = Counts(np.array([2.0, 1.0]), np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 2.0]]))
    alpha = np.array([0.5, 1.0, 2.0])
    expected = (counts.features + alpha) / (counts.features + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(multinomial(counts, alpha).log_prob), expected)
    np.testing.assert_allclose(
        np.exp(bernoulli(Counts(np.array([4.0, 2.0]), counts.features), alpha).log_prob),
        (counts.features + alpha) / (np.array([[4.0], [2.0]]) + 2 * alpha),
    )


@pytest.mark.parametrize("kind", [multinomial, bernoulli])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, np.array([0.0, 1.0, 0.0, 2.0, 0.5, 0.0, 1.0])])
def test_probabilities_are_those_of_every_factor_multiplied(kind, alpha):
    block = made_up(4)
    X = np.minimum(block.X, 1.0)
    likelihood = kind(counts_of(block._replace(X=X), 3), alpha)
    prior = np.log([0.2, 0.3, 0.5])
    P = np.exp(likelihood.log_prob)
    found = log_joint(likelihood, prior, X).log_probabilities()
    for i, x in enumerate(X):
        factors = P**x if kind is multinomial else np.where(x > 0, P, 1.0 - P)
        np.testing.assert_allclose(
            np.exp(found[i]), np.exp(prior) * factors.prod(axis=1), rtol=1e-9, atol=1e-15
        )


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from([multinomial, bernoulli]))
def test_no_smoothing_is_the_limit_of_ever_less_smoothing(seed, kind):
    block = made_up(seed, n=12, d=6)
    train = block._replace(X=np.minimum(block.X, 1.0), weights=np.ones(12))
    new = np.random.default_rng(seed).integers(0, 2, size=(30, 6)).astype(float)
    counts, prior = counts_of(train, 3), np.log([0.2, 0.3, 0.5])

    none = log_joint(kind(counts, 0.0), prior, new).contenders()
    little = log_joint(kind(counts, 1e-200), prior, new).contenders()

    for S in (none, little):
        S -= np.log(np.exp(S - S.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
        S -= S.max(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(none), np.exp(little), atol=1e-9)
    assert not np.isnan(none).any()


def test_the_class_with_the_fewest_factors_of_zero_wins_and_a_prior_of_zero_never():
    joint = Joint(np.array([[-1.0, -9.0, -7.0]] * 2), np.array([[3.0, 1.0, 1.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(
        joint.contenders(), [[-np.inf, -9.0, -7.0], [-1.0, -np.inf, -7.0]]
    )
    np.testing.assert_array_equal(joint.log_probabilities(), [[-np.inf] * 3, [-1.0, -np.inf, -7.0]])
    joint = Joint(np.array([[-np.inf, -9.0]]), np.array([[0.0, 5.0]]))
    np.testing.assert_array_equal(joint.contenders(), [[-np.inf, -9.0]])


def test_a_class_that_was_never_met_has_equal_shares():
    counts = Counts(np.array([0.0, 3.0]), np.array([[0.0, 0.0], [1.0, 2.0]]))
    np.testing.assert_allclose(multinomial(counts, 0.0).log_prob[0], np.log(0.5))
    np.testing.assert_allclose(bernoulli(counts, 0.0).log_prob[0], np.log(0.5))
    assert np.isneginf(log_of(np.array([0.0, 1.0]))[0])


def test_rows_of_a_sparse_matrix_share_its_memory():
    X = csr_array(made_up(6).X)
    for which in (slice(0, 40), slice(7, 19), slice(39, 40)):
        found = shared_rows(X, which)
        np.testing.assert_array_equal(found.toarray(), X[which].toarray())
        assert np.shares_memory(found.data, X.data)
    assert shared_rows(csr_array((3, 2)), slice(1, 2)).shape == (1, 2)


def test_flags_are_what_lies_above_the_threshold_even_where_entries_are_repeated():
    X = np.array([[0.0, 2.0, 0.5], [3.0, 0.0, 1.0]])
    np.testing.assert_array_equal(flags_of(X, 0.5), [[0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(flags_of(csr_array(X), 0.5).toarray(), [[0, 1, 0], [1, 0, 1]])
    twice = csr_array((np.array([0.4, 0.4]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    np.testing.assert_array_equal(flags_of(twice, 0.5).toarray(), [[0, 1, 0]])
    assert twice.nnz == 2  # what came in is left alone


def test_total_variance_comes_from_merged_moments():
    block = made_up(5)
    far = block._replace(X=block.X + 1e6)
    halves = (rows(far, which) for which in (slice(9), slice(9, 40)))
    parts = [moments_of(half, n_classes=3, form="features") for half in halves]
    mean = np.average(block.X, axis=0, weights=block.weights)
    expected = np.average((block.X - mean) ** 2, axis=0, weights=block.weights)
    np.testing.assert_allclose(total_variance(merged_moments(*parts)), expected, rtol=1e-8)


@pytest.mark.parametrize("far", [0.0, 1e8])
def test_gaussian_densities_are_scipys_also_far_from_the_origin(far):
    rng = np.random.default_rng(0)
    X, mean = rng.normal(size=(700, 60)), rng.normal(size=(3, 60))
    variance = rng.uniform(0.5, 2.0, size=(3, 60))
    prior = np.array([np.log(0.4), -np.inf, np.log(0.6)])
    found = gaussian_log_joint(mean + far, variance, prior, X + far)
    for c in (0, 2):
        expected = norm.logpdf(X + far, mean[c] + far, np.sqrt(variance[c])).sum(axis=1) + prior[c]
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-12)
    assert np.isneginf(found[:, 1]).all()


def test_a_feature_that_one_class_alone_has_is_named_if_nothing_smoothes():
    counts = counts_of(
        Block(np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]]), np.array([0, 1]), np.ones(2)), 2
    )
    with pytest.raises(DataError, match="feature 2 occurs in no class but class number 0"):
        complement(counts, 0.0)
    weights = complement(counts, 1.0).log_prob
    np.testing.assert_allclose(weights, -np.log([[2 / 7, 4 / 7, 1 / 7], [2 / 6, 1 / 6, 3 / 6]]))
