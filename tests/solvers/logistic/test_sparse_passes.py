import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix import LogisticRegression
from separatrix.solvers.logistic import descent, sparse_passes
from separatrix.solvers.logistic.passes import sums_of
from separatrix.solvers.logistic.preconditioner import Factored
from separatrix.types import Block


def words(n, d, k, seed=0):
    """Sparse rows like texts: some words are everywhere, others belong to a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    usual = np.minimum(rng.pareto(1.0, size=(n, 30)) * d / 50, d - 1).astype(int)
    own = rng.integers(d, size=(k, 30))[y]
    chosen = np.where(rng.random(usual.shape) < 0.2, own, usual)
    X = csr_array((np.ones(n * 30), (np.repeat(np.arange(n), 30), chosen.ravel())), shape=(n, d))
    return X / np.sqrt(30), y


def out_of_order(X):
    """The same samples with columns in the reverse order, and half of each value stored twice."""
    rows = [
        np.repeat(X.indices[a:b][::-1], 2) for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]
    values = [
        np.repeat(X.data[a:b][::-1], 2) / 2 for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]
    return csr_array((np.concatenate(values), np.concatenate(rows), 2 * X.indptr), shape=X.shape)


@pytest.mark.parametrize("strip", [1, 100, 10**9])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_a_pass_over_sparse_samples_is_one_over_dense_samples(k, intercept, strip, monkeypatch):
    monkeypatch.setattr(sparse_passes, "STRIP", strip)
    X, y = words(50, 40, k)
    rng = np.random.default_rng(1)
    weights = rng.integers(3, size=50).astype(float)
    theta = rng.normal(size=(1 if k == 2 else k, 40 + intercept))
    found, expected = (
        sums_of(Block(rows, y, weights), theta, intercept=intercept, hessian=False)
        for rows in (X, X.toarray())
    )
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-12)
    np.testing.assert_allclose(found[3:], expected[3:], rtol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("k", [2, 5])
def test_a_default_fit_of_texts_ends_within_a_millionth_of_the_minimum(k, C):
    X, y = words(600, 2000, k)
    usual = LogisticRegression(C=C).fit(X, y)
    exact = LogisticRegression(C=C, tol=1e-9, max_iter=2000).fit(X, y)
    assert usual.objective_ <= exact.objective_ * (1 + 1e-6)
    assert usual.gradient_ <= usual.tol
    assert usual.n_iter_[0] < 50


@pytest.mark.parametrize("k", [2, 3])
def test_weights_of_texts_are_repetitions_and_those_of_0_removals(k):
    X, y = words(300, 500, k)
    weights = np.random.default_rng(1).integers(4, size=300)
    rows = np.repeat(np.arange(300), weights)
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    weighted = model.fit(X, y, sample_weight=weights).decision_function(X)
    repeated = model.fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


@pytest.mark.parametrize("d", [60, 2000])
@pytest.mark.parametrize("k", [2, 3])
def test_columns_in_any_order_and_values_stored_twice_are_the_same_samples(k, d):
    X, y = words(300, d, k)
    model = LogisticRegression(tol=1e-9, max_iter=1000)
    expected = model.fit(X, y).coef_
    np.testing.assert_allclose(model.fit(out_of_order(X), y).coef_, expected, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_results_do_not_depend_on_the_number_of_threads(k, monkeypatch):
    monkeypatch.setattr(descent, "BLOCK_WORK", 1.0)
    monkeypatch.setattr(descent, "MERGED", 1)
    X, y = words(600, 500, k)
    one, many = (LogisticRegression(n_jobs=threads).fit(X, y) for threads in (1, 3))
    np.testing.assert_array_equal(one.coef_, many.coef_)


@pytest.mark.parametrize("d", [60, 2000])
def test_where_no_factor_can_be_had_a_diagonal_leads_to_the_same_minimum(d, monkeypatch):
    X, y = words(300, d, 3)
    expected = LogisticRegression(solver="lbfgs", tol=1e-8, max_iter=1000).fit(X, y)
    monkeypatch.setattr(Factored, "of", classmethod(lambda cls, guess: None))
    found = LogisticRegression(solver="lbfgs", tol=1e-8, max_iter=1000).fit(X, y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-12)


def test_an_indefinite_guess_has_no_factor():
    assert Factored.of(np.diag([1.0, -1.0])) is None
    assert Factored.of(np.diag([1.0, np.inf])) is None
    assert Factored.of(np.diag([1.0, 4.0])) is not None


@pytest.mark.parametrize(
    ("k", "C"), [(2, 1.0), (2, np.inf), (3, 1.0), pytest.param(3, np.inf, marks=pytest.mark.slow)]
)
def test_indicators_that_sum_to_the_intercept_are_no_trouble(k, C):
    rng = np.random.default_rng(0)
    letters = rng.integers(4, size=(2000, 60))
    y = np.where(rng.random(2000) < 0.3, rng.integers(k, size=2000), letters[:, 30] % k)
    columns = (letters + 4 * np.arange(60)).ravel()
    X = csr_array(
        (np.ones(len(columns)), columns, np.arange(0, len(columns) + 1, 60)), shape=(2000, 240)
    )
    model = LogisticRegression(C=C, solver="lbfgs", max_iter=500).fit(X, y)
    assert model.gradient_ <= model.tol
    assert model.score(X, y) > 0.6


def test_without_a_prior_frequent_words_are_no_trouble():
    X, y = words(600, 2000, 3)
    y = np.random.default_rng(2).permutation(y)  # 2000 weights separate 600 samples all the same
    with pytest.warns(match="separated"):
        model = LogisticRegression(C=np.inf, max_iter=30).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.95
