from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.preprocessing import PolynomialFeatures

import separatrix.kernels.features as module
from separatrix.errors import DataError, MemoryBudgetError, PrecisionWarning
from separatrix.kernels import Gaussian, Linear, Polynomial, quadratic_map
from separatrix.kernels.features import (
    UNCOUNTABLE,
    Monomials,
    draw_fourier,
    fourier_map,
    inverse_root,
)

X = np.random.default_rng(0).normal(size=(12, 4))


def thinned(rng, shape, share=0.4):
    return csr_array(rng.normal(size=shape) * (rng.random(shape) < share))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 5),
    degree=st.integers(1, 7),
    gamma=st.sampled_from([0.25, 1.0, 3.0, 4.0]),
    coef0=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_dense_and_sparse_maps_have_the_kernel_for_any_sizes(seed, d, degree, gamma, coef0):
    samples = thinned(np.random.default_rng(seed), (6, d))
    kernel = Polynomial(degree, gamma, coef0)
    monomials = Monomials.of_kernel(kernel, d)

    dense, sparse = monomials.map(samples.toarray()), monomials.map(samples)

    K = kernel.block(samples.toarray(), samples.toarray())
    np.testing.assert_allclose(
        dense @ dense.T, K, rtol=1e-11, atol=1e-13 * max(1.0, np.abs(K).max())
    )
    np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    d=st.integers(1, 6),
    degree=st.integers(1, 5),
    distinct=st.booleans(),
    lowest=st.integers(0, 1),
)
def test_plain_monomials_are_those_of_scikit_learn(seed, d, degree, distinct, lowest):
    samples = thinned(np.random.default_rng(seed), (7, d))
    theirs = PolynomialFeatures(degree, interaction_only=distinct, include_bias=lowest == 0)
    expected = theirs.fit_transform(samples.toarray())
    names = [f"x{j}" for j in range(d)]

    ours = Monomials(d, degree, lowest=lowest, distinct=distinct)

    assert ours.size == expected.shape[1]
    assert ours.names(names) == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(ours.map(samples.toarray()), expected, rtol=1e-13)
    np.testing.assert_allclose(ours.map(samples).toarray(), expected, rtol=1e-13)


@pytest.mark.parametrize("room", [1, 500, 2**26])
def test_blocks_do_not_change_the_values(room, monkeypatch):
    samples = thinned(np.random.default_rng(1), (40, 6))
    monomials = Monomials.of_kernel(Polynomial(3, coef0=1.0), 6)
    expected = monomials.map(samples.toarray())
    monkeypatch.setattr(module, "SCRATCH", room)
    np.testing.assert_array_equal(monomials.map(samples.toarray()), expected)
    np.testing.assert_allclose(monomials.map(samples).toarray(), expected, rtol=1e-14)


def test_the_quadratic_map_is_the_scaled_monomials_of_degree_two_with_squares_first():
    monomials = Monomials.of_kernel(Polynomial(2), 4)
    squares = np.array(["^2" in name for name in monomials.names(["a", "b", "c", "d"])])
    F = monomials.map(X)
    np.testing.assert_allclose(
        np.hstack([F[:, squares], F[:, ~squares]]), quadratic_map(X), rtol=1e-15
    )


@pytest.mark.parametrize(("kind", "index"), [(csr_array, np.int32), (csr_matrix, np.int64)])
def test_sparse_samples_keep_their_type_and_order(kind, index):
    wide = kind((np.array([2.0, 3.0]), (np.array([0, 0]), np.array([7, 70_000]))), (2, 100_000))
    wide.indices, wide.indptr = wide.indices.astype(index), wide.indptr.astype(index)
    monomials = Monomials(100_000, 2, lowest=1)

    F = monomials.map(wide)

    assert isinstance(F, kind)
    assert F.shape == (2, 100_000 + comb(100_001, 2))
    assert F.indices.dtype == np.int64
    assert F.data.tolist() == [2.0, 3.0, 4.0, 6.0, 9.0]
    assert F.has_canonical_format
    assert (np.diff(F.indices) > 0).all()
    assert F.indices[:2].tolist() == [7, 70_000]


def test_duplicate_entries_are_added_in_a_copy():
    twice = csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Monomials(1, 2).map(twice).toarray().tolist() == [[1.0, 3.0, 9.0]]
    assert twice.nnz == 2


def test_float32_stays_float32():
    single = X.astype(np.float32)
    monomials = Monomials.of_kernel(Polynomial(3, 0.5, 1.0), 4)
    for samples in (single, csr_array(single)):
        F = monomials.map(samples)
        assert F.dtype == np.float32
        F = F.toarray() if issparse(F) else F
        np.testing.assert_allclose(F, monomials.map(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("monomials", "size"),
    [
        (Monomials(1000, 2), 501_501),
        (Monomials(1000, 2, lowest=1), 501_500),
        (Monomials(1000, 3, distinct=True), 1 + 1000 + comb(1000, 2) + comb(1000, 3)),
        (Monomials(3, 10, distinct=True), 8),
        (Monomials(1, 10**6), 10**6 + 1),
        (Monomials(10**6, 10**6), UNCOUNTABLE),  # counted without computing it
        (Monomials(10**9, 10**9, distinct=True), UNCOUNTABLE),
        (Monomials(10**6, 5), UNCOUNTABLE),
    ],
)
def test_monomials_are_counted_before_they_are_made(monomials, size):
    assert monomials.size == size


@pytest.mark.parametrize("samples", [np.ones((10, 1000)), csr_array(np.ones((10, 1000)))])
def test_too_large_outputs_are_refused_before_they_are_computed(samples):
    with pytest.raises(
        MemoryBudgetError,
        match=r"monomials of 1000 features up to degree 6 of 10 samples need .*; the limit is 1.0 GiB",
    ):
        Monomials(1000, 6).map(samples, limit=2**30)
    with pytest.raises(MemoryBudgetError, match=r"up to degree 600 are more than 2\^63"):
        Monomials(1000, 600).map(samples)


@pytest.mark.parametrize("samples", [np.array([[1e200, 1.0]]), csr_array([[1e200, 0.0]])])
def test_monomials_that_overflow_are_an_error(samples):
    with pytest.raises(DataError, match="monomials of degree 2 overflow float64; scale"):
        Monomials(2, 2).map(samples)


def test_a_small_gamma_saves_a_kernel_from_overflow():
    large = np.array([[1e200, 1e199]])
    F = Monomials.of_kernel(Polynomial(2, gamma=1e-300), 2).map(large)
    np.testing.assert_allclose(F @ F.T, [[1.01e100**2]], rtol=1e-12)


def test_a_kernel_whose_weights_overflow_is_an_error():
    with pytest.raises(DataError, match="overflows; lower the degree"):
        Monomials.of_kernel(Polynomial(2000, coef0=1.0), 1).map(np.ones((1, 1)))


@pytest.mark.parametrize("m", [1, 5, 12])
def test_the_inverse_root_whitens_the_landmarks(m):
    K = Gaussian(0.5).block(X[:m], X[:m])
    found = inverse_root(K)
    np.testing.assert_allclose(found.root @ K @ found.root, np.eye(m), atol=1e-10)
    np.testing.assert_array_equal(found.root, found.root.T)
    assert found.rank == m
    assert found.definite


def test_a_singular_matrix_is_inverted_on_its_range():
    K = Linear().block(X, X)  # 12 samples in 4 dimensions
    found = inverse_root(K)
    assert found.rank == 4
    np.testing.assert_allclose(K @ found.root @ found.root @ K, K, atol=1e-10)
    assert not inverse_root(np.zeros((3, 3))).root.any()


def test_negative_eigenvalues_are_left_out_and_reported():
    found = inverse_root(np.diag([4.0, -1.0]))
    np.testing.assert_allclose(found.root, np.diag([0.5, 0.0]))
    assert not found.definite
    assert found.lowest == -0.25


def test_random_fourier_features_have_the_mean_and_variance_of_theory():
    rng, draws, size = np.random.default_rng(7), 2000, 50
    K = Gaussian(0.4).block(X, X)
    maps = (fourier_map(X, *draw_fourier(4, size, gamma=0.4, rng=rng)) for _ in range(draws))
    errors = np.array([F @ F.T - K for F in maps])

    variance = (1.0 - K**2 + K**4 / 2.0) / size
    standard_error = np.sqrt(variance / draws)
    assert (np.abs(errors.mean(axis=0)) < 4.5 * standard_error).all()
    # a sample variance of 2000 nearly normal values is off by 3 % (one standard deviation)
    np.testing.assert_allclose(errors.var(axis=0) / variance, 1.0, atol=0.15)


def test_fourier_features_of_sparse_and_dense_samples_are_equal(monkeypatch):
    samples = thinned(np.random.default_rng(2), (30, 4))
    W, b = draw_fourier(4, 9, gamma=1.0, rng=np.random.default_rng(0))
    expected = fourier_map(samples.toarray(), W, b)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(fourier_map(samples, W, b), expected, atol=1e-13)


def test_angles_too_large_for_a_cosine_warn():
    W, b = np.array([[1.0, 2.0]]), np.zeros(2)
    with pytest.warns(PrecisionWarning, match=r"angles up to 2e\+20 are too large"):
        fourier_map(np.array([[1e20]]), W, b)
    with pytest.raises(DataError, match="too large for `gamma`"):
        fourier_map(np.array([[1.7e308]]), W, b)
    with pytest.raises(DataError, match="too large for `gamma`"):  # infinity less infinity
        fourier_map(np.array([[1e308, 1e308]]), np.array([[1e10], [-1e10]]), np.zeros(1))
