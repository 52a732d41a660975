import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.preprocessing import StandardScaler

from separatrix.errors import DataError, ParameterError
from separatrix.estimators import least_squares as module
from separatrix.estimators.feature_maps import PolynomialMap
from separatrix.estimators.least_squares import LeastSquaresClassifier

X, Y = load_iris(return_X_y=True)
D, L = load_digits(return_X_y=True)
SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


@pytest.mark.parametrize("rows", [slice(None), slice(0, 100)])
def test_scikit_learns_ridge_classifier_has_the_same_boundaries(rows):
    ours = LeastSquaresClassifier(2.0).fit(X[rows], Y[rows])
    theirs = RidgeClassifier(2.0).fit(X[rows], Y[rows])
    if len(ours.classes_) == 2:
        np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-10)
    else:  # targets 0 and 1 here, -1 and +1 there
        np.testing.assert_allclose(2 * ours.coef_, theirs.coef_, atol=1e-10)
        np.testing.assert_allclose(2 * ours.intercept_ - 1, theirs.intercept_, atol=1e-10)


def test_the_path_is_scikit_learns_where_it_has_one():
    ridges = np.logspace(-3, 3, 7)
    two = Y < 2
    ours = LeastSquaresClassifier(ridges).fit(X[two], Y[two])
    theirs = RidgeClassifierCV(ridges, store_cv_results=True).fit(X[two], Y[two])
    np.testing.assert_allclose(
        ours.loo_.squared_error, theirs.cv_results_[:, 0].mean(axis=0), rtol=1e-8
    )
    assert ours.ridge_ == theirs.alpha_


@pytest.mark.slow
@pytest.mark.parametrize("samples", [D[:300], D[:40], csr_array(D[:40])])
def test_loo_chooses_the_least_squared_error_and_is_a_plain_fit_with_it(samples):
    labels = L[: samples.shape[0]]
    model = LeastSquaresClassifier("loo").fit(samples, labels)
    assert model.loo_.ridges.shape == model.loo_.error.shape == (50,)
    best = model.loo_.squared_error.argmin()
    assert model.ridge_ == model.loo_.ridges[best]
    again = LeastSquaresClassifier(model.ridge_).fit(samples, labels)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-8)
    mistaken = 0
    for i in range(len(labels)):
        rest = np.arange(len(labels)) != i
        without = LeastSquaresClassifier(model.ridge_).fit(samples[rest], labels[rest])
        mistaken += without.predict(samples[[i]])[0] != labels[i]
    assert model.loo_.error[best] == pytest.approx(mistaken / len(labels), abs=1e-12)


def test_fewer_samples_than_features_take_the_shortest_exact_fit():
    with pytest.warns(UserWarning, match="30 parameters are fitted to 30 samples"):
        model = LeastSquaresClassifier().fit(D[:30], L[:30])
    T = np.eye(10)[L[:30]]
    np.testing.assert_allclose(model.decision_function(D[:30]), T, atol=1e-8)
    mean = D[:30].mean(axis=0)
    shortest = np.linalg.pinv(D[:30] - mean) @ (T - T.mean(axis=0))
    np.testing.assert_allclose(model.coef_.T, shortest, atol=1e-8)
    assert model.rank_ == 29


@pytest.mark.parametrize("rows", [30, 1797])
def test_weights_are_no_longer_than_allowed(rows):
    model = LeastSquaresClassifier(max_norm=1e-4).fit(D[:rows], L[:rows])
    np.testing.assert_allclose((model.coef_**2).sum(axis=1), 1e-4, rtol=1e-8)
    assert (model.ridge_ > 0).all()


def test_features_are_fitted_and_applied():
    plain = LeastSquaresClassifier(1.0).fit(PolynomialMap(2).fit_transform(X), Y)
    mapped = LeastSquaresClassifier(1.0, features=PolynomialMap(2)).fit(X, Y)
    np.testing.assert_allclose(
        mapped.decision_function(X),
        plain.decision_function(PolynomialMap(2).fit_transform(X)),
        atol=1e-9,
    )
    assert mapped.n_features_in_ == 4
    distance = mapped.signed_distance(X)
    np.testing.assert_allclose(
        distance, mapped.decision_function(X) / np.linalg.norm(mapped.coef_, axis=1)
    )


def test_a_frozen_transformer_serves_blocks():
    scaler = FrozenEstimator(StandardScaler().fit(D))
    parts = [(D[:900], L[:900]), (D[900:], L[900:])]
    blocks = LeastSquaresClassifier(1.0, features=scaler).fit(parts)
    whole = LeastSquaresClassifier(1.0).fit(scaler.transform(D), L)
    np.testing.assert_allclose(blocks.coef_, whole.coef_, atol=1e-10)
    with pytest.raises(ParameterError, match=r"`features` .* FrozenEstimator"):
        LeastSquaresClassifier(1.0, features=StandardScaler()).fit(parts)


def test_a_far_point_on_its_right_side_pulls_the_boundary_over():
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    plain = LeastSquaresClassifier().fit(x, y)
    assert abs(-plain.intercept_ / plain.coef_[0])[0] < 1e-12
    pulled = LeastSquaresClassifier().fit(np.vstack([x, [[40.0]]]), np.append(y, 1))
    assert pulled.predict([[1.0]])[0] == 0  # a training sample that was right before


def test_what_cannot_be_merged_says_why():
    wide = LeastSquaresClassifier(1e-3).fit(D[:30], L[:30])
    with pytest.raises(DataError, match=r"fewer samples than features does not keep"):
        wide.merge(wide)
    with pytest.raises(AttributeError, match="merge") as raised:
        LeastSquaresClassifier("loo").fit(X, Y).merge()
    assert "`ridge`" in str(raised.value.__cause__)
    assert not hasattr(LeastSquaresClassifier(features=StandardScaler()), "partial_fit")
    with pytest.raises(DataError, match="must have the same classes"):
        LeastSquaresClassifier().fit(X, Y).merge(LeastSquaresClassifier().fit(X, Y + 1))
    with pytest.raises(DataError, match="can be read only once"):
        LeastSquaresClassifier("loo").fit(part for part in [(X, Y)])


def test_a_ridge_keeps_small_features_beside_large_ones():
    wide = NOISY * [1.0, 1.0, 1e7]
    ours, theirs = (
        LeastSquaresClassifier(1.0).fit(wide, SIDES),
        RidgeClassifier(1.0).fit(wide, SIDES),
    )
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, rtol=1e-6)
    assert ours.score(wide, SIDES) == theirs.score(wide, SIDES)


def test_wide_sparse_integers_do_not_overflow():
    X = np.random.default_rng(0).integers(0, 30, size=(40, 100)).astype(np.uint8)
    sparse = LeastSquaresClassifier(10.0).fit(csr_array(X), SIDES[:40])
    plain = LeastSquaresClassifier(10.0).fit(X.astype(float), SIDES[:40])
    np.testing.assert_allclose(sparse.coef_, plain.coef_, atol=1e-10)


def test_a_ridge_without_leave_one_out_errors_is_not_chosen():
    model = LeastSquaresClassifier([0.0, 1.0]).fit(
        np.random.default_rng(0).normal(size=(10, 30)), [0, 1] * 5
    )
    assert model.ridge_ == 1.0
    assert np.isinf(model.loo_.squared_error[0])
    flat = LeastSquaresClassifier("loo").fit(np.ones((10, 2)), [0, 1] * 5)
    assert flat.coef_.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("features", [30, 60, 119, 500])
def test_a_fit_without_a_ridge_warns_where_it_would_follow_random_labels(features):
    rng = np.random.default_rng(features)
    A, y = rng.normal(size=(60, features)), rng.integers(0, 2, 60)
    if features == 30:  # half as many parameters as samples: random labels are not reproduced
        assert LeastSquaresClassifier().fit(A, y).score(A, y) < 1.0
        return
    with pytest.warns(UserWarning, match="use a ridge above 0, such as"):
        model = LeastSquaresClassifier().fit(A, y)
    assert model.score(A, y) == 1.0
    for ridge in (1e-3, "loo"):
        LeastSquaresClassifier(ridge).fit(A, y)  # does not warn: warnings are errors


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_nearly_repeated_wide_samples_give_the_shortest_weights(kind):
    rng = np.random.default_rng(3)
    A = rng.integers(0, 2, (30, 80)).astype(float)
    A[-1] = A[0]
    A[-1, 0] += 1e-5
    y, weights = np.arange(30) % 2, 1.0 + np.arange(30) % 3
    with pytest.warns(UserWarning, match="reproduces almost any labels"):
        model = LeastSquaresClassifier().fit(kind(A), y, sample_weight=weights)
    mean, T = weights @ A / weights.sum(), 2.0 * y - 1.0
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(
        root[:, None] * (A - mean), root * (T - weights @ T / weights.sum()), rcond=1e-13
    )[0]
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-7, atol=1e-7)


def refuse(*_):
    raise AssertionError("made a matrix of inner products")


def wide_sparse(seed, n, d):
    rng = np.random.default_rng(seed)
    return random_array((n, d), density=0.02, format="csr", rng=rng), rng.integers(0, 3, n)


@pytest.mark.slow
def test_wide_sparse_samples_under_a_ridge_need_no_inner_products(monkeypatch):
    A, y = wide_sparse(0, 1200, 3000)
    dense = LeastSquaresClassifier(20.0).fit(A.toarray(), y)
    monkeypatch.setattr(module, "_products_about", refuse)
    monkeypatch.setattr(type(A), "toarray", refuse)
    sparse = LeastSquaresClassifier(20.0).fit(A, y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-10)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-10)
    assert sparse.rank_ == 1199


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("repeated", [False, True])
def test_conjugate_gradients_have_the_weights_of_the_factorisation(ridge, repeated, monkeypatch):
    A, y = wide_sparse(1, 40, 300)
    if repeated:
        A = A[np.arange(40) % 25]
    weights = np.arange(40) % 4 + 0.0  # some are 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        direct = LeastSquaresClassifier(ridge).fit(A, y, sample_weight=weights)
        monkeypatch.setattr(module, "products_are_cheaper", lambda *_: True)
        monkeypatch.setattr(module, "_products_about", refuse)
        iterated = LeastSquaresClassifier(ridge).fit(A, y, sample_weight=weights)
    np.testing.assert_allclose(iterated.coef_, direct.coef_, atol=1e-7)
    np.testing.assert_allclose(iterated.intercept_, direct.intercept_, atol=1e-7)


def test_conjugate_gradients_that_end_early_say_so(monkeypatch):
    A, y = wide_sparse(2, 60, 300)
    monkeypatch.setattr(module, "products_are_cheaper", lambda *_: True)
    monkeypatch.setattr(module, "iterations_needed", lambda *_: 2)
    with pytest.warns(
        ConvergenceWarning, match="stopped after 2 iterations: the gradient .* of that"
    ):
        LeastSquaresClassifier(1e-3).fit(A, y)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("features", [55, 200])
def test_the_warning_of_interpolation_names_a_ridge_that_works(kind, features):
    rng = np.random.default_rng(features)
    A, y = rng.normal(size=(60, features)) + 3.0, rng.integers(0, 2, 60)
    expected = ((A - A.mean(axis=0)) ** 2).sum(axis=1).mean()
    with pytest.warns(UserWarning, match=re.escape(f"such as {expected:.2g} (the mean squared")):
        LeastSquaresClassifier().fit(kind(A), y)
