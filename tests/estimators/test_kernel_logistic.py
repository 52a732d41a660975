"""Kernel logistic regression is logistic regression in the feature space."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from separatrix import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    LogisticRegression,
    evaluate,
    load,
    save,
)
from separatrix.data.splits import random_splits
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base import gram_training
from separatrix.kernels import FromCallable, Gaussian, Normalized, Polynomial, Spectrum

IRIS, SPECIES = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(IRIS)
TWO = (SPECIES == 1).astype(int)
EXACT = {"tol": 1e-13}


def squared_features(X):
    """Vectors whose inner products are (1 + <x, z>)^2."""
    d = X.shape[1]
    scale = np.array(
        [1.0]
        + [2.0**0.5] * d
        + [1.0 if i == j else 2.0**0.5 for i in range(d) for j in range(i, d)]
    )
    return PolynomialFeatures(2).fit_transform(X) * scale


@pytest.mark.parametrize("y", [TWO, SPECIES], ids=["two", "three"])
@pytest.mark.parametrize(
    ("kernel", "features"),
    [("linear", lambda X: X), (Polynomial(2, gamma=1.0, coef0=1.0), squared_features)],
    ids=["linear", "polynomial"],
)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_scikit_learns_logistic_regression_on_explicit_features(y, kernel, features, C):
    F = features(X)
    peer = Peer(C=C, tol=1e-12, max_iter=100_000, solver="newton-cg").fit(F, y)
    model = KernelLogisticRegression(C=C, kernel=kernel, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(F), atol=1e-6)
    np.testing.assert_allclose(
        model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict(X), peer.predict(F))
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
        ours = LogisticRegression(C=C, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.objective_, ours.objective_, rtol=1e-9)


def test_weights_of_classes_and_samples_are_those_of_scikit_learn():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=len(X))
    peer = Peer(class_weight={0: 3.0, 2: 0.5}, tol=1e-12, max_iter=10_000)
    peer.fit(X, SPECIES, sample_weight=weights)
    model = KernelLogisticRegression(kernel="linear", class_weight={0: 3.0, 2: 0.5}, **EXACT)
    model.fit(X, SPECIES, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_given_values_functions_and_sparse_samples_give_the_same_model():
    kernel = Gaussian(0.3)
    model = KernelLogisticRegression(kernel=kernel, **EXACT).fit(X[::2], SPECIES[::2])
    expected = model.predict_proba(X)
    given = KernelLogisticRegression(kernel="precomputed", **EXACT)
    given.fit(kernel.block(X[::2], X[::2]), SPECIES[::2])
    np.testing.assert_allclose(given.predict_proba(kernel.block(X, X[::2])), expected, atol=1e-8)
    own = KernelLogisticRegression(kernel=kernel.block, **EXACT).fit(X[::2], SPECIES[::2])
    np.testing.assert_allclose(own.predict_proba(X), expected, atol=1e-8)
    named = KernelLogisticRegression(gamma=0.3, **EXACT)
    named.fit(csr_array(X[::2]), SPECIES[::2])
    np.testing.assert_allclose(named.predict_proba(csr_array(X)), expected, atol=1e-8)


def test_strings_and_objects_of_ones_own_are_taken():
    words = ["acgt" * 3, "aacc" * 3, "ggtt" * 3, "gtgt" * 3, "acca" * 3, "ttgg" * 3]
    y = [0, 0, 1, 1, 0, 1]
    model = KernelLogisticRegression(C=10, kernel=Normalized(Spectrum(2))).fit(words, y)
    assert model.predict(words).tolist() == y
    sets = [{1, 2}, {1, 3}, {7, 8}, {8, 9}, {1, 2, 3}, {7, 9}]
    overlap = FromCallable(lambda a, b: len(a & b) / len(a | b))
    assert KernelLogisticRegression(C=10, kernel=overlap).fit(sets, y).predict(sets).tolist() == y


def test_the_certificate_bounds_the_error_and_a_missed_tolerance_is_said():
    exact = KernelLogisticRegression(C=100, **EXACT).fit(X, SPECIES)
    with pytest.warns(
        ConvergenceWarning, match=r"in 2 iterations; raise max_iter.*gap is .*wanted"
    ):
        early = KernelLogisticRegression(C=100, max_iter=2).fit(X, SPECIES)
    above = (early.objective_ - exact.objective_) / max(1.0, early.objective_)
    assert 1e-6 < above <= early.dual_gap_
    assert (early.stop_, early.n_iter_, exact.stop_) == ("max_iter", 2, "tol")


def test_a_small_budget_computes_the_matrix_for_each_product_with_the_same_result():
    held = KernelLogisticRegression(**EXACT).fit(X, SPECIES)
    small = KernelLogisticRegression(cache_size=0.1, **EXACT).fit(X, SPECIES)
    assert "HeldGram" in held.gram_
    assert "HeldGram" not in small.gram_
    np.testing.assert_allclose(small.predict_proba(X), held.predict_proba(X), atol=1e-7)


def test_a_large_C_after_float32_values_is_solved_in_float64(monkeypatch):
    monkeypatch.setattr("separatrix.kernels.prepared.SMALL", 0)
    loose = KernelLogisticRegression(C=1.0).fit(X, SPECIES)
    exact = KernelLogisticRegression(C=1e5, tol=1e-10).fit(X, SPECIES)
    assert "float32" in loose.gram_
    assert "float64" in exact.gram_


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
def test_an_indefinite_kernel_is_refused(kernel):
    samples = X if kernel == "sigmoid" else X @ X.T - 5.0 * np.eye(150)
    with pytest.raises(
        DataError, match=r"needs a positive semi-definite kernel.*eigenvalues from -"
    ):
        KernelLogisticRegression(kernel=kernel, gamma=1.0).fit(samples, SPECIES)


def test_classes_weighted_to_nothing_are_refused():
    with pytest.raises(DataError, match="at least 2 classes; all but one class have weight 0"):
        KernelLogisticRegression(class_weight={0: 0, 1: 0}).fit(X, SPECIES)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"C": 0}, "`C` of KernelLogisticRegression must be above 0; got 0"),
        ({"C": np.inf}, "`C` of KernelLogisticRegression must be"),
        ({"tol": 0}, "`tol` of KernelLogisticRegression must be above 0"),
        ({"max_iter": 0}, "`max_iter` of KernelLogisticRegression must be"),
        ({"kernel": "gauss"}, "`kernel` of KernelLogisticRegression must be a kernel object"),
    ],
)
def test_wrong_parameters_are_refused(wrong, sentence):
    with pytest.raises(ParameterError, match=sentence):
        KernelLogisticRegression(**wrong).fit(X, SPECIES)


def test_probabilities_of_held_out_digits_are_better_than_those_of_a_linear_model():
    digits, labels = load_digits(return_X_y=True)
    model = KernelLogisticRegression(C=10, gamma=0.001).fit(digits[:900], labels[:900])
    linear = LogisticRegression(max_iter=1000).fit(digits[:900], labels[:900])
    ours, theirs = (log_loss(labels[900:], m.predict_proba(digits[900:])) for m in (model, linear))
    assert ours < theirs


@pytest.mark.parametrize("size", [0.2, 0.7])
def test_evaluations_of_many_kernels_are_fits_on_each_split(size):
    kernels = [Gaussian(0.1), Polynomial(2)]
    splits = random_splits(150, repeats=3, test_size=size, seed=1)
    found = evaluate(KernelLogisticRegression(), X, SPECIES, kernels=kernels, splits=splits)
    for row, kernel in enumerate(kernels):
        for column, (train, test) in enumerate(splits):
            alone = KernelLogisticRegression(kernel=kernel).fit(X[train], SPECIES[train])
            error = np.mean(alone.predict(X[test]) != SPECIES[test])
            assert found.test_error[row, column] == error


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
@pytest.mark.parametrize("y", [TWO, SPECIES], ids=["two", "three"])
def test_the_search_is_that_of_grid_search(scoring, y):
    Cs, gammas = [0.1, 1.0, 30.0], [0.05, 0.5]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = KernelLogisticRegression(tol=1e-12)
    grid = GridSearchCV(model, {"C": Cs, "gamma": gammas}, cv=folds, scoring=scoring).fit(X, y)
    search = KernelLogisticRegressionCV(Cs, gammas, cv=folds, scoring=scoring, estimator=model)
    search.fit(X, y)
    for name in ("mean_test_score", "split1_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], grid.cv_results_[name], atol=1e-7)
    assert search.cv_results_["params"] == grid.cv_results_["params"]
    assert search.best_params_ == grid.best_params_
    np.testing.assert_allclose(search.predict_proba(X), grid.predict_proba(X), atol=1e-8)


def test_one_matrix_of_each_kernel_serves_all_folds_and_values_of_C(monkeypatch):
    made = []
    real = gram_training.SharedProducts._gram
    monkeypatch.setattr(
        gram_training.SharedProducts, "_gram", lambda self, k: made.append(k) or real(self, k)
    )
    kernels = [Gaussian(0.1), Gaussian(1.0)]
    KernelLogisticRegressionCV([0.1, 1.0, 10.0], kernels=kernels, cv=5).fit(X, SPECIES)
    assert made == kernels


def test_a_search_takes_weights_and_given_values():
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=len(X))
    search = KernelLogisticRegressionCV(
        [1.0, 10.0], cv=3, estimator=KernelLogisticRegression(kernel="precomputed")
    )
    search.fit(X @ X.T, SPECIES, sample_weight=weights)
    alone = KernelLogisticRegression(kernel="linear", **search.best_params_)
    alone.fit(X, SPECIES, sample_weight=weights)
    np.testing.assert_allclose(search.predict_proba(X @ X.T), alone.predict_proba(X), atol=1e-3)


def test_wrong_searches_are_refused():
    with pytest.raises(ParameterError, match="`Cs` of KernelLogisticRegressionCV must be above 0"):
        KernelLogisticRegressionCV([0.0]).fit(X, SPECIES)
    with pytest.raises(ParameterError, match=r"`estimator` .* must be a KernelLogisticRegression"):
        KernelLogisticRegressionCV(estimator=Peer()).fit(X, SPECIES)
    with pytest.raises(ParameterError, match=r"`gammas` .* must be None for Linear\(\)"):
        KernelLogisticRegressionCV(gammas=[1.0], kernels=["linear"]).fit(X, SPECIES)


def test_the_search_names_parameters_whose_best_value_is_an_end_of_the_grid(tmp_path):
    search = KernelLogisticRegressionCV([1e-3, 1e-2], gammas=[1e-4, 0.1, 50.0], cv=3)
    assert search.fit(X, SPECIES).edges_ == {"C": "largest"}
    assert load(save(search, tmp_path / "search.model")).edges_ == {"C": "largest"}


@pytest.mark.parametrize("value", [1.0, -0.3])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_equal_samples_have_the_shares_of_the_classes(value, C):
    """The bias explains all of them; a gap of rounding alone must not pass for an indefinite kernel."""
    for n in range(20, 40):
        X, y = np.full((n, 2), value), (np.arange(n) % 3 == 0).astype(int)
        model = KernelLogisticRegression(C=C, gamma=0.1).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 2])
def test_kernel_values_of_1e16_have_a_factor(seed):
    """Beside them 1 / C is below rounding, and the sums over the classes are singular."""
    rng = np.random.default_rng(seed)
    y = np.arange(20) % 4
    X = 1e8 * (rng.normal(size=(20, 3)) + 4.0 * rng.normal(size=(4, 3))[y])
    model = KernelLogisticRegression(C=100.0, kernel="linear").fit(X, y)
    assert model.score(X, y) > 0.7
