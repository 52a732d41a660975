"""Scores of one model, computed while other threads load and score theirs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    BayesDecision,
    CalibratedClassifier,
    KernelLogisticRegression,
    LogisticRegression,
    Perceptron,
)
from separatrix.serving.served_model import ServedModel

NAMES = ["a", "b", "c", "d"]
MODELS = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "decision": BayesDecision(
        make_pipeline(StandardScaler(), LogisticRegression()), 1.0 - np.eye(3), reject_cost=0.3
    ),
    "kernel": KernelLogisticRegression(gamma=0.1),
    "calibrated": CalibratedClassifier(make_pipeline(StandardScaler(), Perceptron()), cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_scores_do_not_rely_on_filters_of_warnings(name, monkeypatch):
    """Filters belong to the process: a thread that restores them undoes those of another."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    model = MODELS[name].fit(frame, y)
    expected = model.predict(frame), model.predict_proba(frame)
    with monkeypatch.context() as patched:
        patched.setattr(warnings, "warn", None)  # fails where it is called
        served = ServedModel(model, "iris", "1", 16)
        labels, P = served.score(X, True)
        served.score(1e9 * X, True)  # beyond the precision of a kernel
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(P, expected[1], rtol=1e-12)
    assert served.columns == tuple(NAMES)
    assert list(model.feature_names_in_) == NAMES  # as the explanation of a row needs them
