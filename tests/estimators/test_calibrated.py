"""CalibratedClassifier against scikit-learn's CalibratedClassifierCV with ensemble=False."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris

from separatrix import (
    GaussianNB,
    LinearSVC,
    NearestCentroid,
    Perceptron,
    calibrate,
    evaluate,
    load,
    save,
)
from separatrix.errors import ParameterError
from separatrix.estimators.calibrated import CalibratedClassifier, fit_sigmoid

DATA = [load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("X", "y"), DATA, ids=["two", "three"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("model", [GaussianNB(), NearestCentroid(), LinearSVC(tol=1e-8)])
def test_probabilities_are_those_of_scikit_learn(X, y, method, model):
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X / X.std(axis=0))[order], y[order]
    ours = calibrate(model, X, y, method=method)
    theirs = CalibratedClassifierCV(model, method=method, cv=5, ensemble=False).fit(X, y)
    # scikit-learn's sigmoid stops at the tolerance of L-BFGS
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3 if method == "sigmoid" else 1e-7
    )


def test_the_sigmoid_is_the_minimum_of_platts_loss():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.3
    scores = 50.0 * (rng.normal(size=300) + positive)
    found = fit_sigmoid(scores, positive)
    plus, minus = positive.sum(), (~positive).sum()
    targets = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def loss(w):
        z = w[0] * scores / 50 + w[1]
        return -(targets * log_expit(z) + (1 - targets) * log_expit(-z)).sum()

    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert loss([found.slope * 50, found.offset]) <= best.fun + 1e-8


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_it_is_saved_and_evaluated(method, tmp_path):
    X, y = DATA[1]
    model = calibrate(Perceptron(), X, y, method=method)
    again = load(save(model, tmp_path / "calibrated.model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    found = evaluate(
        CalibratedClassifier(GaussianNB(), method=method), X, y, repeats=2, progress=False
    )
    assert found.reliability().expected_calibration_error < 0.2


def test_bad_parameters_are_named():
    X, y = DATA[1]
    with pytest.raises(ParameterError, match="`method` of CalibratedClassifier must be"):
        calibrate(GaussianNB(), X, y, method="beta")
    with pytest.raises(
        ParameterError, match="`estimator` of CalibratedClassifier must be a classifier"
    ):
        calibrate(object(), X, y)
