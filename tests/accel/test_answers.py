"""What separatrix computes inside of scikit-learn's classes: the same answers, attributes and layouts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from separatrix import accel
from separatrix.accel import counters
from separatrix.kernels.names import resolve_kernel

DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS, NUMBERS = DIGITS[:500] / 16.0, NUMBERS[:500]
X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
FOUR = {"tol": 1e-6}

MODELS = {  # the model, and how far its values may be from scikit-learn's
    "rbf": (SVC(**FOUR), 1e-3),
    "linear": (SVC(kernel="linear", C=0.1, **FOUR), 1e-3),
    "poly": (SVC(kernel="poly", degree=2, coef0=1.0, class_weight="balanced", **FOUR), 1e-3),
    "pairs": (SVC(decision_function_shape="ovo", break_ties=False, **FOUR), 1e-3),
}


def both(model, X, y, **fit):
    """scikit-learn's fit alone, and with the switch on all sizes."""
    from sklearn.base import clone

    counters.reset()
    theirs = clone(model).fit(X, y, **fit)
    with accel.patched(smallest=0):
        ours = clone(model).fit(X, y, **fit)
    assert sum(calls.served for calls in counters.CALLS.values()) > 0
    return ours, theirs


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", ["two classes", "ten classes", "sparse"])
def test_decision_values_are_scikit_learns(name, data):
    model, tolerance = MODELS[name]
    A, y = (X, Y) if data == "two classes" else (DIGITS, NUMBERS)
    A = csr_array(A) if data == "sparse" else A
    ours, theirs = both(model, A, y)
    assert sorted(vars(ours)) == sorted(vars(theirs))
    for key, value in vars(theirs).items():
        found = vars(ours)[key]
        assert type(found) is type(value), key
        if hasattr(value, "dtype"):
            assert found.dtype == value.dtype, key
    with accel.patched(smallest=0):
        values = ours.decision_function(A)
    wanted = theirs.decision_function(A)
    if values.ndim == 2 and name != "pairs":
        assert np.mean(np.abs(values - wanted) > 0.01) < 1e-3  # a vote may tip
    else:
        np.testing.assert_allclose(values, wanted, atol=tolerance * max(1, np.abs(wanted).max()))
    assert np.mean(ours.predict(A) == theirs.predict(A)) > 0.995  # without the switch


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_rows_without_weight_are_left_to_libsvm_which_numbers_the_others(weight):
    weights = np.ones(len(Y))
    weights[::4] = weight
    theirs = SVC(**FOUR).fit(X, Y, sample_weight=weights)
    with accel.patched(smallest=0):
        ours = SVC(**FOUR).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)


def test_a_changed_model_is_predicted_as_it_is_now():
    with accel.patched(smallest=0):
        model = SVC(kernel="linear").fit(X, Y)
        before = model.decision_function(X)
        model._dual_coef_ *= 2.0  # in place: nothing of a model is kept
        model._intercept_ *= 2.0
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
    with accel.patched(smallest=0):
        found = permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=1, random_state=0)
    wanted = permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=1, random_state=0)
    np.testing.assert_allclose(found.importances, wanted.importances, atol=0.01)


def test_feature_names_are_kept():
    frame = load_iris(as_frame=True)
    ours, _ = both(SVC(), frame.data, frame.target)
    assert list(ours.feature_names_in_) == list(frame.data.columns)
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(frame.data.rename(columns=str.upper))


def test_own_functions_as_kernels_are_called_once_and_solved_like_named_ones():
    calls = []

    def linear(A, B):
        calls.append(A.shape)
        return A @ B.T

    def indefinite(A, B):
        calls.append(A.shape)
        return np.tanh(A @ B.T / 30.0)

    with accel.patched(smallest=0):
        ours, named = SVC(kernel=linear).fit(X, Y), SVC(kernel="linear").fit(X, Y)
        assert counters.CALLS["SVC.fit"].served == 2
        SVC(kernel=indefinite).fit(X, Y)
    assert len(calls) == 2
    np.testing.assert_allclose(ours.dual_coef_, named.dual_coef_, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), named.predict(X))


def coefficients(model):
    """The coefficient of each row of the training set, (n,), of two classes."""
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    return alpha


@pytest.mark.parametrize("tol", [1e-3, 0.1])
@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(C=100.0, gamma=0.3), SVC(kernel="linear", C=0.1), SVC(kernel="poly", coef0=1.0)],
    ids=repr,
)
def test_scores_and_labels_differ_within_the_listed_bound(model, tol):
    ours, theirs = both(model.set_params(tol=tol), X[::2], Y[::2])
    values, wanted = ours.decision_function(X), theirs.decision_function(X)
    resolved = resolve_kernel(
        "SVC",
        model.kernel,
        X[::2],
        gamma=theirs._gamma,
        degree=model.degree,
        coef0=float(model.coef0),
    )
    apart = np.abs(coefficients(ours) - coefficients(theirs)).sum()
    bound = np.sqrt(tol * apart * resolved.diagonal(X)) + abs(ours.intercept_ - theirs.intercept_)
    rounding = 1e-6 * np.abs(ours.dual_coef_).sum() * np.sqrt(resolved.diagonal(X).max())
    assert (np.abs(values - wanted) <= bound + rounding).all()
    differ = ours.predict(X) != theirs.predict(X)
    assert (np.abs(wanted[differ]) <= (bound + rounding)[differ]).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("data", ["two classes", "ten classes", "sparse"])
def test_the_same_model_predicts_the_same(kernel, data):
    A, y = (X, Y) if data == "two classes" else (DIGITS, NUMBERS)
    A = csr_array(A) if data == "sparse" else A
    model = SVC(kernel=kernel, C=1e3, decision_function_shape="ovo").fit(A[:200], y[:200])
    theirs = model.predict(A), model.decision_function(A)
    with accel.patched(smallest=0):
        ours = model.predict(A), model.decision_function(A)
    assert counters.CALLS["SVC.predict"].served == 1
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-9)


def test_samples_on_the_boundary_have_libsvms_labels():
    A, y = np.array([[-1.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]]), [0, 1, 0, 1]
    model = SVC(gamma=0.7).fit(A, y)
    rows = np.column_stack([np.zeros(50), np.random.default_rng(0).normal(size=50)])
    theirs = model.predict(rows)
    with accel.patched(smallest=0):
        np.testing.assert_array_equal(model.predict(rows), theirs)
