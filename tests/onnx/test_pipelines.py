"""skl2onnx converts pipelines with estimators of separatrix by its own functions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.onnx.comparison import assert_same_answers, run, to_onnx

from separatrix import (
    SVC,
    GaussianNB,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Nystroem,
    PolynomialMap,
    TableEncoder,
    errors,
)
from separatrix.onnx import register_converters

skl2onnx = pytest.importorskip("skl2onnx")
X, y = load_iris(return_X_y=True)
SINGLE = X.astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), SVC(calibration="sigmoid", random_state=0)],
        [StandardScaler(), Nystroem(n_components=20, random_state=0), LogisticRegression()],
        [PolynomialMap(2), StandardScaler(), LinearDiscriminantAnalysis("eigen", 0.1)],
        [LinearDiscriminantAnalysis(), GaussianNB()],
        [LinearDiscriminantAnalysis(), StandardScaler(), Peer()],
    ],
    ids=["svc", "nystroem", "map", "axes", "axes-scaled"],
)
def test_a_pipeline_answers_as_before(steps, dtype):
    model = make_pipeline(*steps).fit(X, y)
    X_in = X.astype(dtype)
    answers = run(to_onnx(model, dtype=dtype), X_in)

    np.testing.assert_array_equal(answers["label"], model.predict(X_in))
    tolerance = 1e-5 if dtype == "float32" or isinstance(steps[-1], Peer) else 1e-9
    np.testing.assert_allclose(answers["probabilities"], model.predict_proba(X_in), atol=tolerance)


def test_skl2onnx_converts_a_pipeline_by_itself():
    register_converters()
    model = make_pipeline(StandardScaler(), SVC(calibration="sigmoid", random_state=0)).fit(X, y)
    graph = skl2onnx.to_onnx(model, SINGLE, options={"zipmap": False})

    np.testing.assert_array_equal(run(graph, SINGLE)["label"], model.predict(SINGLE))


def test_skl2onnx_converts_a_column_transformer_with_a_table():
    import onnxruntime

    register_converters()
    table = pd.DataFrame(SINGLE, columns=["a", "b", "c", "d"])
    table["colour"] = np.array(["red", "blue"])[np.arange(len(table)) % 2]
    columns = ColumnTransformer(
        [
            ("map", make_pipeline(StandardScaler(), PolynomialMap(2)), ["a", "b"]),
            ("near", Nystroem(n_components=5, random_state=0), ["c", "d"]),
            ("colour", OneHotEncoder(), ["colour"]),
        ]
    )
    model = make_pipeline(columns, SVC()).fit(table, y)
    graph = skl2onnx.to_onnx(model, table)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    label, _ = session.run(None, {name: table[[name]].to_numpy() for name in table})

    np.testing.assert_array_equal(label, model.predict(table))


def test_models_of_scikit_learn_around_ours():
    register_converters()
    members = [("svc", SVC(calibration="sigmoid", random_state=0)), ("nb", GaussianNB())]
    for model in (
        VotingClassifier(members, voting="soft", flatten_transform=False),
        StackingClassifier(members, final_estimator=LogisticRegression(), cv=3),
    ):
        model.fit(X, y)
        graph = skl2onnx.to_onnx(model, SINGLE, options={"zipmap": False})
        answers = run(graph, SINGLE)
        np.testing.assert_array_equal(answers["label"], model.predict(SINGLE))
        np.testing.assert_allclose(answers["probabilities"], model.predict_proba(SINGLE), atol=1e-5)


def test_axes_of_a_discriminant_alone():
    register_converters()
    model = LinearDiscriminantAnalysis().fit(X, y)
    graph = skl2onnx.to_onnx(model, X, options={id(model): {"transform": True}})
    np.testing.assert_allclose(run(graph, X)["variable"], model.transform(X), atol=1e-9)


def test_a_table_encoder_is_refused():
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "town": ["a", "b", "a", "b"]})
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(table, [0, 0, 1, 1])
    with pytest.raises(errors.UnsupportedError, match="encode the table with it"):
        to_onnx(model)


def test_a_step_that_skl2onnx_does_not_know_is_named():
    from sklearn.preprocessing import SplineTransformer

    model = make_pipeline(SplineTransformer(), LogisticRegression()).fit(X, y)
    with pytest.raises(
        errors.UnsupportedError, match=r"skl2onnx cannot convert.*SplineTransformer"
    ):
        to_onnx(model)


def test_neighbours_in_a_pipeline():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y)
    graph = to_onnx(model, dtype="float64")
    np.testing.assert_array_equal(run(graph, X)["label"], model.predict(X))
    assert_same_answers(KNeighborsClassifier().fit(X, y), X, "float64")
