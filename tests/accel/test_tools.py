"""scikit-learn's own conventions around models that the switch accelerates: one test each."""

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.inspection import DecisionBoundaryDisplay, partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from separatrix import accel

FRAME, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = scale(FRAME)


@pytest.fixture(autouse=True)
def _switched():
    with accel.patched(smallest=0):
        yield


def test_set_output_names_the_columns():
    model = LinearDiscriminantAnalysis().set_output(transform="pandas").fit(FRAME, Y)
    found = model.transform(FRAME)
    assert list(found.columns) == ["lineardiscriminantanalysis0"]
    assert list(found.index) == list(FRAME.index)
    polars = pytest.importorskip("polars")
    model.set_output(transform="polars")
    assert isinstance(model.transform(FRAME), polars.DataFrame)


def test_metadata_is_routed_to_the_model():
    weights = np.where(Y == 1, 1.0, 5.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        routed = CalibratedClassifierCV(model, ensemble=False, cv=3).fit(
            X, Y, sample_weight=weights
        )
        plain = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X, Y)
        scores = cross_val_score(model, X, Y, cv=3, params={"sample_weight": weights})
    assert scores.min() > 0.9
    ours, other = (m.calibrated_classifiers_[0].estimator for m in (routed, plain))
    assert not np.allclose(ours.decision_function(X), other.decision_function(X))
    accel.unpatch()
    wanted = SVC().fit(X, Y, sample_weight=weights).decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), wanted, atol=5e-3)


def test_models_are_drawn_in_notebooks():
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0]}, cv=2)
    drawn = search.fit(FRAME, Y)._repr_html_()
    assert "SVC" in drawn
    assert "fitted" in drawn


def test_inspection_sees_the_same_model():
    model = SVC().fit(X, Y)
    found = partial_dependence(model, X, [0], kind="average", grid_resolution=5)
    display = DecisionBoundaryDisplay.from_estimator(
        SVC().fit(X[:, :2], Y), X[:, :2], grid_resolution=10
    )
    accel.unpatch()
    theirs = SVC().fit(X, Y)
    wanted = partial_dependence(theirs, X, [0], kind="average", grid_resolution=5)
    np.testing.assert_allclose(found["average"], wanted["average"], atol=5e-3)
    assert display.response.shape == (10, 10)


def test_onnx_of_an_accelerated_model_is_that_of_scikit_learn():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = LogisticRegression().fit(X, Y)
    made = skl2onnx.to_onnx(model, X[:1].astype(np.float32))
    session = runtime.InferenceSession(made.SerializeToString())
    (labels, *_) = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    assert np.mean(labels == model.predict(X)) > 0.99
