"""The reference evaluator of ONNX answers as onnxruntime does: graphs use standard operators only."""

import pytest
from sklearn.datasets import load_iris
from tests.onnx.comparison import assert_same_answers, evaluate_by_reference, to_onnx

from separatrix import (
    SVC,
    BayesDecision,
    CalibratedClassifier,
    CategoricalNB,
    GaussianNB,
    KernelPerceptron,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    PolynomialMap,
    QuadraticDiscriminantAnalysis,
    RandomFourier,
)
from separatrix.kernels import Laplacian, Normalized, Polynomial

X, y = load_iris(return_X_y=True)
MODELS = [
    SVC(calibration="sigmoid", random_state=0),
    SVC(kernel=Laplacian(0.5), calibration="temperature", multi_class="ovr", random_state=0),
    SVC(kernel=Normalized(Polynomial(3, 0.1, 1.0)), calibration="platt", random_state=0),
    KernelPerceptron("poly", multi_class="ovo", ties="margin"),
    KNeighborsClassifier(5, weights="distance", ties="nearest"),
    KNeighborsClassifier(5, metric="manhattan"),
    KNeighborsClassifier(5, metric="cosine"),
    LinearSVC(),
    LogisticRegression(),
    QuadraticDiscriminantAnalysis(),
    GaussianNB(),
    MultinomialNB(alpha=0),
    CategoricalNB(),
    BayesDecision(GaussianNB(), [[0, 1, 2], [5, 0, 1], [1, 3, 0]], reject_cost=0.1),
    CalibratedClassifier(LinearSVC(), method="isotonic", cv=3),
    PolynomialMap(3),
    RandomFourier(0.1, n_components=5, random_state=0),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:40])
def test_the_reference_evaluator_answers_as_the_model(model, dtype):
    samples = X.round() if isinstance(model, CategoricalNB) else X
    assert_same_answers(model.fit(samples[::2], y[::2]), samples[::2], dtype, evaluate_by_reference)


@pytest.mark.parametrize("opset", [18, 21, None])
def test_graphs_are_valid_in_every_version(opset):
    import onnx

    for model in (MODELS[1], MODELS[4], MODELS[13]):
        graph = to_onnx(model.fit(X, y), opset=opset)
        onnx.checker.check_model(graph, full_check=True)
        assert {node.domain for node in graph.graph.node} == {""}
