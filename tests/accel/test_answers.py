"""What separatrix computes inside of scikit-learn's classes: the same answers, attributes and layouts."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC, NuSVC

from separatrix import accel
from separatrix.accel import counters

DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS, NUMBERS = DIGITS[:500] / 16.0, NUMBERS[:500]
X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
FOUR = {"tol": 1e-6}

MODELS = {  # the model, and how far its values may be from scikit-learn's
    "rbf": (SVC(**FOUR), 1e-3),
    "linear": (SVC(kernel="linear", C=0.1, **FOUR), 1e-3),
    "poly": (SVC(kernel="poly", degree=2, coef0=1.0, class_weight="balanced", **FOUR), 1e-3),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.001, **FOUR), 1e-3),
    "pairs": (SVC(decision_function_shape="ovo", break_ties=False, **FOUR), 1e-3),
    "nu": (NuSVC(nu=0.1, **FOUR), 1e-3),
    "linear svc": (LinearSVC(C=0.1, tol=1e-6, max_iter=20_000), 1e-3),
    "hinge": (LinearSVC(loss="hinge", C=0.1, tol=1e-6, max_iter=100_000), 1e-3),
    "logistic": (LogisticRegression(tol=1e-8, max_iter=10_000), 1e-3),
    "lda": (LinearDiscriminantAnalysis(), 1e-6),
    "qda": (QuadraticDiscriminantAnalysis(reg_param=0.1), 1e-6),
}


def both(model, X, y, **fit):
    """scikit-learn's fit alone, and with the switch and no fallback."""
    from sklearn.base import clone

    counters.reset()
    theirs = clone(model).fit(X, y, **fit)
    with accel.patched(fallback=False):
        ours = clone(model).fit(X, y, **fit)
    assert sum(calls.served for calls in counters.CALLS.values()) > 0
    return ours, theirs


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["two classes", "ten classes", "sparse"])
def test_decision_values_are_scikit_learns(name, data):
    model, tolerance = MODELS[name]
    A, y = (X, Y) if data == "two classes" else (DIGITS, NUMBERS)
    if name in ("lda", "qda", "nu") and data != "two classes":
        pytest.skip("collinear features, or scores that are flat")
    A = csr_array(A) if data == "sparse" else A
    ours, theirs = both(model, A, y)
    assert sorted(vars(ours)) == sorted(vars(theirs))
    for key, value in vars(theirs).items():
        found = vars(ours)[key]
        assert type(found) is type(value), key
        if hasattr(value, "dtype"):
            assert found.dtype == value.dtype, key
    with accel.patched(fallback=False):
        values = ours.decision_function(A)
    wanted = theirs.decision_function(A)
    if isinstance(model, SVC | NuSVC) and values.ndim == 2 and name != "pairs":
        assert np.mean(np.abs(values - wanted) > 0.01) < 1e-3  # a vote may tip
    else:
        np.testing.assert_allclose(values, wanted, atol=tolerance * max(1, np.abs(wanted).max()))
    assert np.mean(ours.predict(A) == theirs.predict(A)) > 0.995  # without the switch


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_penalised_logistic_regression(l1_ratio):
    model = LogisticRegression(
        C=0.1, l1_ratio=l1_ratio, solver="saga" if l1_ratio else "lbfgs", tol=1e-7, max_iter=20_000
    )
    ours, theirs = both(model, X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.coef_.dtype == theirs.coef_.dtype
    small = both(model, X.astype(np.float32), Y)[0]
    assert small.coef_.dtype == np.float32


@pytest.mark.parametrize("intercept_scaling", [1.0, 10.0])
def test_liblinear_penalises_the_bias(intercept_scaling):
    model = LogisticRegression(
        solver="liblinear", intercept_scaling=intercept_scaling, C=0.01, tol=1e-8
    )
    ours, theirs = both(model, X + 3.0, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_paths_of_logistic_regression():
    model = LogisticRegressionCV(
        Cs=[0.01, 0.1, 1.0], cv=3, scoring="accuracy", tol=1e-6, max_iter=5000, l1_ratios=(0.0,),
        use_legacy_attributes=False,
    )  # fmt: skip
    ours, theirs = both(model, X, Y)
    assert ours.C_ == theirs.C_
    assert ours.scores_.shape == theirs.scores_.shape
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=0.01)
    np.testing.assert_allclose(ours.coefs_paths_, theirs.coefs_paths_, atol=0.05)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan", "cosine"])
def test_neighbours_are_scikit_learns(weights, metric):
    model = KNeighborsClassifier(4, weights=weights, metric=metric).fit(DIGITS, NUMBERS)
    wanted = [model.predict(DIGITS), model.predict_proba(DIGITS), model.kneighbors(DIGITS)[0]]
    near = NearestNeighbors(n_neighbors=3).fit(X)
    graph = near.kneighbors_graph(mode="distance").toarray()
    with accel.patched(fallback=False):
        found = [model.predict(DIGITS), model.predict_proba(DIGITS), model.kneighbors(DIGITS)[0]]
        np.testing.assert_allclose(near.kneighbors_graph(mode="distance").toarray(), graph)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_gaussian_bayes_has_the_same_probabilities():
    model = GaussianNB().fit(X, Y)
    wanted = model.predict_log_proba(X)
    with accel.patched(fallback=False):
        np.testing.assert_allclose(model.predict_log_proba(X), wanted, atol=1e-8)


@pytest.mark.parametrize("min_categories", [None, 20])
def test_categories_are_counted_as_scikit_learn_counts_them(min_categories):
    A = (16 * DIGITS).astype(int)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(A))
    weights[::7] = 0.0
    model = CategoricalNB(min_categories=min_categories)
    for more in ({}, {"sample_weight": weights}):
        ours, theirs = both(model, A, NUMBERS, **more)
        for found, wanted in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(ours.class_count_, theirs.class_count_)
        np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
        with accel.patched(fallback=False):
            found = ours.predict_joint_log_proba(A)
        np.testing.assert_array_equal(found, theirs.predict_joint_log_proba(A))


def test_categories_in_parts_and_unknown_ones():
    A = (16 * DIGITS).astype(int)
    parts = [(A[:200].clip(0, 3), NUMBERS[:200]), (A[200:], NUMBERS[200:])]
    theirs, ours = CategoricalNB(), CategoricalNB()
    for a, b in parts:
        theirs.partial_fit(a, b, classes=range(10))
        with accel.patched(fallback=False):
            ours.partial_fit(a, b, classes=range(10))
    for found, wanted in zip(ours.category_count_, theirs.category_count_, strict=True):
        np.testing.assert_array_equal(found, wanted)
    with accel.patched(fallback=False), pytest.raises(IndexError):
        ours.predict(A + 30)


def test_probabilities_by_platts_sigmoids():
    """Without the fallback; with it scikit-learn learns them, as its folds are drawn otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(SVC(probability=True, random_state=0), X, Y)
        more, others = both(SVC(probability=True, random_state=0), DIGITS, NUMBERS)
    assert np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 0.1
    assert np.abs(more.predict_proba(DIGITS) - others.predict_proba(DIGITS)).mean() < 0.03


def test_weights_below_0_are_absent_rows():
    weights = np.ones(len(Y))
    weights[::4] = -1.0
    ours, theirs = both(SVC(**FOUR), X, Y, sample_weight=weights)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_a_changed_model_is_predicted_as_it_is_now():
    with accel.patched(fallback=False):
        model = SVC(kernel="linear").fit(X, Y)
        before = model.decision_function(X)
        model._dual_coef_ = 2.0 * model._dual_coef_
        model._intercept_ = 2.0 * model._intercept_
        np.testing.assert_allclose(model.decision_function(X), 2.0 * before, atol=1e-9)


def test_it_works_inside_of_scikit_learns_tools():
    models = [
        CalibratedClassifierCV(SVC(), ensemble=False),
        StackingClassifier([("svm", SVC()), ("near", KNeighborsClassifier())]),
        make_pipeline(StandardScaler().set_output(transform="default"), SVC()),
    ]
    for model in models:
        ours, theirs = both(model, X, Y)
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    with accel.patched(fallback=False):
        found = permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=1, random_state=0)
    wanted = permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=1, random_state=0)
    np.testing.assert_allclose(found.importances, wanted.importances, atol=0.01)


def test_feature_names_are_kept():
    frame = load_iris(as_frame=True)
    ours, _ = both(SVC(), frame.data, frame.target)
    assert list(ours.feature_names_in_) == list(frame.data.columns)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(frame.data.rename(columns=str.upper))
