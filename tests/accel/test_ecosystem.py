"""Other packages on models that the switch accelerates; each test needs the real package."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from separatrix import accel

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_shap_explains_linear_models_and_any_function():
    shap = pytest.importorskip("shap")
    with accel.patched(smallest=0):
        model = LogisticRegression().fit(X, Y)
        linear = shap.LinearExplainer(model, X).shap_values(X[:5])
        near = KNeighborsClassifier().fit(X, Y)
        explainer = shap.KernelExplainer(lambda A: near.predict_proba(A)[:, 1], X[:10])
        parts = explainer.shap_values(X[:2], nsamples=100, silent=True)
        whole = near.predict_proba(X[:2])[:, 1] - explainer.expected_value
    centred = (X[:5] - X.mean(axis=0)) * model.coef_[0]
    np.testing.assert_allclose(linear, centred, atol=0.2)
    np.testing.assert_allclose(np.sum(parts, axis=1), whole, atol=1e-6)


def test_imbalanced_learn_resamples_by_neighbours():
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    pipeline = pytest.importorskip("imblearn.pipeline")
    rare = np.flatnonzero((Y == 1) | (np.arange(len(Y)) % 4 == 0))

    def fit():
        smote = over_sampling.SMOTE(random_state=0)
        return pipeline.make_pipeline(smote, SVC()).fit(X[rare], Y[rare]).predict(X)

    wanted = fit()
    with accel.patched(smallest=0):
        assert np.mean(fit() == wanted) > 0.99


def test_skops_writes_a_card():
    card = pytest.importorskip("skops.card")
    with accel.patched(smallest=0):
        model = SVC(C=2.0).fit(X, Y)
    written = card.Card(model).render()
    assert "Hyperparameters" in written
    assert "2.0" in written
