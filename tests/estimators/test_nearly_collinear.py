"""Discriminants on nearly collinear features against the same formulas in rational numbers."""

import numpy as np
import pytest
from tests.rationals import dot, rational, solve_exactly

from separatrix import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


def samples(seed, offset=0.0, scales=1.0, apart=None):
    """Three classes in three features, and a fourth that is the sum of two but for `apart`."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 3
    X = rng.normal(size=(40, 3)) + rng.normal(size=(3, 3))[y] + offset
    if apart is not None:
        X = np.column_stack([X, X[:, 0] + X[:, 1] + apart * rng.normal(size=40)])
    return X * scales, y


def exact_probabilities(X, y, pooled):
    """Gaussian classes, with one covariance or one each."""
    Z, (n, d) = rational(X), X.shape
    rows = [np.flatnonzero(y == c) for c in range(3)]
    means = [[sum(Z[i][j] for i in own) / len(own) for j in range(d)] for own in rows]

    def covariance(chosen):
        apart = [[a - b for a, b in zip(Z[i], means[y[i]], strict=True)] for i in chosen]
        columns = list(zip(*apart, strict=True))
        return [[dot(u, v) / len(chosen) for v in columns] for u in columns]

    S = np.empty((n, 3))
    for c, own in enumerate(rows):
        away = [[a - b for a, b in zip(z, means[c], strict=True)] for z in Z]
        C = covariance(range(n) if pooled else own)
        solved, determinant = solve_exactly(C, list(zip(*away, strict=True)))
        lengths = [float(dot(u, v)) for u, v in zip(away, zip(*solved, strict=True), strict=True)]
        S[:, c] = np.log(len(own) / n) - 0.5 * np.array(lengths) - 0.5 * np.log(float(determinant))
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-6])
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_nearly_collinear_features_keep_the_digits_of_the_samples(solver, apart):
    X, y = samples(1, apart=apart)
    model = LinearDiscriminantAnalysis(solver, tol=1e-12).fit(X, y)
    expected = exact_probabilities(X, y, pooled=True)
    assert model.rank_ == 4
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


@pytest.mark.parametrize("apart", [1e-3, 1e-5])
def test_nearly_collinear_features_of_a_class_keep_the_digits_of_its_samples(apart):
    X, y = samples(2, apart=apart)
    model = QuadraticDiscriminantAnalysis(tol=1e-14).fit(X, y)
    expected = exact_probabilities(X, y, pooled=False)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-7)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_samples_far_from_the_origin_keep_their_digits_with_every_solver(solver):
    X, y = samples(3, offset=1e6)
    model = LinearDiscriminantAnalysis(solver).fit(X, y)
    expected = exact_probabilities(X, y, pooled=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("copied", [0, 3])
def test_a_repeated_feature_changes_nothing_but_the_rank_whatever_the_units(solver, copied):
    X, y = samples(4, scales=np.array([1e-6, 1.0, 1e6]))
    columns = [*range(3), 0] if copied == 0 else [*range(3), 1, 0, 2]
    with pytest.warns(UserWarning, match=rf"has rank 3, and {len(columns)} features vary"):
        model = LinearDiscriminantAnalysis(solver).fit(X[:, columns], y)
    expected = exact_probabilities(X, y, pooled=True)
    np.testing.assert_allclose(model.predict_proba(X[:, columns]), expected, atol=1e-10)


def test_priors_and_weights_refine_as_they_count():
    X, y = samples(5, apart=1e-6)
    weights = 1 + np.arange(40) % 2
    priors = [0.2, 0.3, 0.5]
    A, b = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    for solver in ("lsqr", "eigen"):
        weighed = LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y, weights)
        repeated = LinearDiscriminantAnalysis(solver, priors=priors).fit(A, b)
        np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


def test_a_stream_whose_sums_have_lost_the_digits_says_so():
    X, y = samples(6, apart=3e-6)
    with pytest.warns(UserWarning, match="features are nearly collinear"):
        LinearDiscriminantAnalysis("lsqr").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.warns(UserWarning, match="features are nearly collinear"):
        QuadraticDiscriminantAnalysis(tol=1e-14).partial_fit(X, y, classes=[0, 1, 2])
