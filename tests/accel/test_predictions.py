"""Cross-validated predictions: all folds as one problem, with scikit-learn's answers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from separatrix import accel
from separatrix.accel import counters

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:300], Y[:300]
NAMED = np.array(["malignant", "benign"], dtype=object)[Y]
DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS, NUMBERS = DIGITS[:400], NUMBERS[:400]
STRICT = SVC(tol=1e-7)
PIPE = make_pipeline(StandardScaler(), STRICT)
SHUFFLED = StratifiedKFold(4, shuffle=True, random_state=0)
CASES = {
    "labels": (STRICT, X, Y, {}),
    "names": (STRICT, X, NAMED, {}),
    "a frame": (PIPE, pd.DataFrame(X).add_prefix("x"), pd.Series(NAMED), {"cv": SHUFFLED}),
    "scores of two classes": (STRICT, X, NAMED, {"method": "decision_function"}),
    "scores": (PIPE, DIGITS, NUMBERS, {"method": "decision_function", "cv": 3}),
    "scores of pairs": (
        SVC(tol=1e-7, decision_function_shape="ovo"), DIGITS, NUMBERS,
        {"method": "decision_function", "cv": SHUFFLED},
    ),
    "two processes": (STRICT, X, Y, {"n_jobs": 2}),
    "groups": (STRICT, X, Y, {"groups": np.arange(300) % 7, "cv": GroupKFold(3)}),
    "neighbours": (KNeighborsClassifier(), X, NAMED, {"cv": SHUFFLED}),
    "probabilities of neighbours": (
        make_pipeline(StandardScaler(), KNeighborsClassifier(7)), X, NAMED, {"method": "predict_proba"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_scikit_learns(name):
    model, A, y, options = CASES[name]
    theirs = cross_val_predict(model, A, y, **options)
    with accel.patched(smallest=0):
        ours = cross_val_predict(model, A, y, **options)
    (calls,) = counters.CALLS.values()
    assert calls.served >= 3
    assert not calls.fallbacks
    assert ours.dtype == theirs.dtype
    if theirs.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (STRICT, {"params": {"sample_weight": np.ones(300)}}, "parameters of fit"),
        (SVC(kernel=lambda A, B: A @ B.T), {}, "what is not scikit-learn's own"),
        (SVC(max_iter=10**6), {}, "max_iter or verbose"),
    ],
)
def test_others_are_left_to_scikit_learn(model, options, reason):
    theirs = cross_val_predict(model, X, Y, **options)
    with accel.patched(smallest=0):
        ours = cross_val_predict(model, X, Y, **options)
    assert dict(counters.CALLS["SVC in a search"].fallbacks) == {reason: 1}
    np.testing.assert_array_equal(ours, theirs)


def test_models_without_a_method_have_scikit_learns_error():
    for model in (KNeighborsClassifier(), SVC()):
        method = "predict_proba" if isinstance(model, SVC) else "decision_function"
        with accel.patched(smallest=0), pytest.raises(AttributeError, match=method):
            cross_val_predict(model, X, Y, method=method)


def test_folds_of_one_sample_are_served():
    theirs = cross_val_predict(STRICT, X[:40], Y[:40], cv=LeaveOneOut())
    with accel.patched(smallest=0):
        ours = cross_val_predict(STRICT, X[:40], Y[:40], cv=LeaveOneOut())
    assert counters.CALLS["SVC in a search"].served == 40
    np.testing.assert_array_equal(ours, theirs)
