"""What a score of exactly 0 and equal values predict: the estimators do what `docs/ties.md` says."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
from tests.contracts.calls import make

from separatrix import SVC, KernelPerceptron, Perceptron
from separatrix.estimators.base.multiclass import LabelledGram
from separatrix.estimators.registry import REGISTRY
from separatrix.kernels import Linear
from separatrix.kernels.gram import make_gram

PAGE = Path(__file__).parents[2] / "docs" / "ties.md"
ROWS = re.findall(r"^\| (`.*?`) \| (first|second) \|", PAGE.read_text(), flags=re.MULTILINE)
CLASS_AT_ZERO = {
    name if "(" in name else f"{name}()": ("first", "second").index(winner)
    for names, winner in ROWS
    for name in re.findall(r"`(.+?)`", names)
}
ON_A_LINE = np.tile([[-1.0], [1.0]], (5, 1)), np.tile([0, 1], 5), np.array([[0.0], [-1.0]])
COUNTS = np.tile([[1, 0], [0, 1]], (5, 1)), np.tile([0, 1], 5), np.array([[1, 1]])
SPREAD = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), np.array([[0.0]])
DATA = {
    "LinearDiscriminantAnalysis": SPREAD,
    "FisherDiscriminant": SPREAD,
    "OneClassSVM": (np.ones((2, 1)), None, np.ones((1, 1))),
    **dict.fromkeys(("MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"), COUNTS),
}
SYMMETRIC = {  # parameters with which no rounding is in the way
    "SVC": {"kernel": "linear"},
    "NuSVC": {"kernel": "linear"},
    "SVCCV": {"kernels": ["linear"]},
    "OneClassSVM": {"kernel": "linear"},
    "RadiusNeighborsClassifier": {"outlier_label": 0},
    "Perceptron": {"shuffle": False},
    "KernelPerceptron": {"kernel": "linear", "shuffle": False},
    "KernelPerceptronCV": {"kernels": ["linear"]},
    "KernelLogisticRegression": {"kernel": "linear"},
    "KernelLogisticRegressionCV": {"kernels": ["linear"]},
    "PassiveAggressiveClassifier": {"fit_intercept": False},
    "LogisticRegression": {"fit_intercept": False},
    "LogisticRegressionCV": {"fit_intercept": False},
    "QuadraticDiscriminantAnalysis": {"reg_param": 0.1},
    "KNeighborsClassifier": {"n_neighbors": 10},
}


def name_of(call):
    return call.partition("(")[0]


def fit(call, model=None):
    """The fitted model, and samples whose two classes it holds exactly equal."""
    X, y, queries = DATA.get(name_of(call), ON_A_LINE)
    model = make(call) if model is None else model
    model.set_params(**SYMMETRIC.get(name_of(call), {})).fit(X, y)
    if hasattr(model, "decision_function"):
        undecided = model.decision_function(queries) == 0
    else:
        P = model.predict_proba(queries)
        undecided = P[:, 0] == P[:, 1]
    assert undecided.any()
    return model, queries[undecided]


@pytest.mark.filterwarnings("ignore")  # so few samples
@pytest.mark.parametrize("call", CLASS_AT_ZERO)
def test_a_score_of_0_is_of_the_class_that_the_page_says(call):
    model, undecided = fit(call)
    classes = getattr(model, "classes_", np.array([-1, 1]))
    assert set(model.predict(undecided).tolist()) == {classes[CLASS_AT_ZERO[call]]}
    if hasattr(model, "decision_function"):
        assert model._class_at_zero == ("first", "second")[CLASS_AT_ZERO[call]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CLASS_AT_ZERO)
def test_an_onnx_model_predicts_the_same_at_0(call):
    for package in ("onnxruntime", "skl2onnx"):
        pytest.importorskip(package, reason="pip install 'separatrix[onnx]'")
    from tests.onnx.comparison import run

    from separatrix import to_onnx

    model, undecided = fit(call)
    answers = run(to_onnx(model, dtype="float64"), undecided.astype(np.float64))
    assert answers["label"].ravel().tolist() == model.predict(undecided).tolist()


PEERS = {
    name: getattr(module, name)
    for module in (
        sklearn.svm,
        sklearn.linear_model,
        sklearn.discriminant_analysis,
        sklearn.naive_bayes,
        sklearn.neighbors,
    )
    for name in map(name_of, CLASS_AT_ZERO)
    if hasattr(module, name)
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PEERS)
def test_scikit_learns_classes_predict_the_same_at_0(name):
    own = SYMMETRIC.get(name, {}) | ({"cv": 2} if name.endswith("CV") else {})
    if name == "LinearSVC":
        own = {"loss": "squared_hinge", "fit_intercept": False}
    if name == "QuadraticDiscriminantAnalysis":
        own = {"reg_param": 0.1}
    model, undecided = fit(name, PEERS[name](**own))
    classes = getattr(model, "classes_", np.array([-1, 1]))
    assert set(model.predict(undecided).tolist()) == {classes[CLASS_AT_ZERO[f"{name}()"]]}


@pytest.mark.parametrize(
    "model",
    [SVC(kernel="linear"), KernelPerceptron("linear", bias="rosenblatt", shuffle=False)],
    ids=str,
)
def test_rows_of_a_shared_kernel_matrix_meet_0_as_predict_does(model):
    X, y, train = np.array([[-1.0], [0.0], [1.0]]), np.array([0, 0, 1]), np.array([0, 2])
    gram = make_gram(Linear(), X, segments=(slice(0, 2), slice(2, 3)))
    result = model.classify_rows(LabelledGram(gram, y, 2), train)
    assert result.values(np.array([1])) == 0
    assert result.codes(np.array([1])) == model.fit(X[train], y[train]).predict(X[1:2]) == 1


@pytest.mark.parametrize(
    "votes", [Perceptron(bias="radius"), KernelPerceptron("linear", bias="rosenblatt")]
)
def test_a_hypothesis_with_a_score_of_0_votes_for_the_class_of_0(votes):
    votes.set_params(predictor="vote", shuffle=False, max_iter=10).fit([[-1.0], [1.0]], [-1, 1])
    # the first row leaves a score of -1 at 0, the second one of 0: three of four hypotheses vote +1
    assert votes.decision_function([[0.0]]).tolist() == [0.5]
    assert votes.predict([[0.0]]).tolist() == [1]


def test_the_page_names_every_classifier():
    kinds = ("classifier", "wrapper", "novelty")
    names = {record.name for record in REGISTRY if record.kind in kinds}
    assert names <= set(map(name_of, CLASS_AT_ZERO))
