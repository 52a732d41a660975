"""Graphs of naive Bayes, decisions, calibrated classifiers, feature maps and models inside models."""

import numpy as np
import pytest
from sklearn import naive_bayes as peers
from sklearn.datasets import load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.onnx.comparison import assert_same_answers, run, to_onnx

from separatrix import (
    SVC,
    BayesDecision,
    BernoulliNB,
    CalibratedClassifier,
    CategoricalNB,
    FisherDiscriminant,
    GaussianNB,
    KernelPerceptron,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NearestCentroid,
    Perceptron,
    PolynomialMap,
    QuadraticDiscriminantAnalysis,
    RandomFourier,
    errors,
)

X, y = load_iris(return_X_y=True)
COUNTS = np.random.default_rng(0).poisson(0.7, size=(150, 6)).astype(float)
COSTS = [[0, 1, 2], [5, 0, 1], [1, 3, 0]]
TWO = y > 0
both = pytest.mark.parametrize("dtype", ["float32", "float64"])


@both
@pytest.mark.parametrize("model", [MultinomialNB(alpha=0), BernoulliNB(alpha=0)])
def test_factors_of_zero_are_counted(model, dtype):
    assert_same_answers(model.fit(COUNTS[:20], np.arange(20) % 3), COUNTS, dtype)


@both
def test_a_threshold_of_features_is_compared_in_the_type_of_the_samples(dtype):
    tenths = np.rint(10 * X) / 10
    model = BernoulliNB(binarize=1.3).fit(tenths.astype(dtype), y)

    assert_same_answers(model, tenths, dtype)


def test_an_unknown_category_is_an_error_and_not_another_feature():
    model = CategoricalNB().fit(COUNTS.clip(0, 2), y)
    graph = to_onnx(model)
    assert_same_answers(model, COUNTS.clip(0, 2), "float32")
    for wrong in (3.0, -1.0, 0.5):
        row = np.zeros((1, 6), np.float32)
        row[0, 0] = wrong
        with pytest.raises(Exception, match=r"out of data bounds|out of range"):
            run(graph, row)


@both
@pytest.mark.parametrize("priors", ["uniform", "empirical", [0.2, 0.0, 0.8]])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_priors_of_centroids(metric, priors, dtype):
    model = NearestCentroid(metric, priors=priors, shrink_threshold=0.3).fit(X[10:], y[10:])
    with np.errstate(invalid="ignore"):
        assert_same_answers(model, X, dtype)


def test_a_class_that_is_never_met_has_probability_0():
    for model in (GaussianNB(priors=[0.5, 0.5, 0.0]), MultinomialNB(class_prior=[1.0, 0.0, 0.0])):
        assert_same_answers(model.fit(X, y), X, "float64")


@both
@pytest.mark.parametrize("params", [{}, {"reject_cost": 0.1}, {"reject_cost": 5.0}])
@pytest.mark.parametrize("loss_matrix", [None, COSTS])
def test_decisions_minimise_costs_and_reject(loss_matrix, params, dtype):
    model = BayesDecision(GaussianNB(), loss_matrix, **params).fit(X, y)
    answers = assert_same_answers(model, X, dtype)

    rejected = (answers["label"] == -1).sum()
    assert (rejected > 0) == (params.get("reject_cost") == 0.1)


@both
@pytest.mark.parametrize("threshold", [0.2, "tune"])
def test_decisions_by_a_threshold(threshold, dtype):
    model = BayesDecision(LogisticRegression(), threshold=threshold).fit(X[TWO], y[TWO])
    assert_same_answers(model, X, dtype)


@pytest.mark.parametrize(
    "inside",
    [
        make_pipeline(StandardScaler(), SVC(calibration="sigmoid", random_state=0)),
        make_pipeline(MinMaxScaler(), PolynomialMap(2), LogisticRegression()),
        peers.GaussianNB(),
        make_pipeline(StandardScaler(), peers.GaussianNB()),
        KNeighborsClassifier(7),
    ],
    ids=["svc", "map", "peer", "peer-in-pipeline", "neighbours"],
)
def test_decisions_around_pipelines_and_models_of_scikit_learn(inside):
    model = BayesDecision(inside, COSTS, reject_cost=0.4).fit(X, y)
    assert_same_answers(model, X, "float64")
    frozen = FrozenEstimator(model.estimator_)
    assert_same_answers(BayesDecision(frozen, COSTS).fit(X, y), X, "float64")


def test_a_reject_label_of_another_type_is_refused():
    model = BayesDecision(reject_cost=0.1, reject_label="ask").fit(X, y)
    with pytest.raises(errors.UnsupportedError, match="choose a `reject_label` of their type"):
        to_onnx(model)


@both
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("inner", [LinearSVC(), KNeighborsClassifier(5), GaussianNB()])
@pytest.mark.parametrize("rows", [slice(None), TWO])
def test_calibrated_classifiers(inner, method, rows, dtype):
    model = CalibratedClassifier(inner, method=method, cv=3).fit(X[rows], y[rows])
    assert_same_answers(model, X + 0.05, dtype)


@pytest.mark.parametrize(
    "model",
    [
        PolynomialMap(3),
        PolynomialMap(4, include_bias=False, interaction_only=True),
        PolynomialMap(2, kernel=True),
        PolynomialMap(3, kernel=True, gamma=0.5, coef0=1.0),
        RandomFourier(0.1, n_components=7, random_state=0),
        FisherDiscriminant(1),
    ],
)
def test_features_are_those_of_the_map(model):
    assert_same_answers(model.fit(X, y), X, "float64")


def test_least_squares_on_features():
    for features in (PolynomialMap(2), make_pipeline(StandardScaler(), PolynomialMap(2))):
        model = LeastSquaresClassifier(0.1, features=features).fit(X, y)
        assert_same_answers(model, X, "float64")


def test_linear_models_with_two_scores_for_two_classes_or_sparse_weights():
    for model in (
        Perceptron(multi_class="argmax", predictor="average", max_iter=5, tol=None),
        KernelPerceptron("linear", multi_class="argmax", predictor="average", max_iter=3),
    ):
        assert_same_answers(model.fit(X[y < 2], y[y < 2]), X, "float64")
    assert_same_answers(LinearSVC().fit(X, y).sparsify(), X, "float64")


def test_priors_and_singular_covariances_of_discriminants():
    wine, cultivars = load_wine(return_X_y=True)
    for model in (
        QuadraticDiscriminantAnalysis(priors=[0.5, 0.5, 0.0]),
        LinearDiscriminantAnalysis(priors=[0.1, 0.1, 0.8]),
    ):
        with np.errstate(invalid="ignore"):
            assert_same_answers(model.fit(wine, cultivars), wine, "float64")


@pytest.mark.parametrize(
    "labels",
    [np.array(["é", "b", "日"]), np.array([10, -3, 7], np.int32), np.array([1.0, -2.0, 7.0])],
    ids=["words", "integers", "floats"],
)
def test_labels_keep_their_values(labels):
    answers = assert_same_answers(GaussianNB().fit(X, labels[y]), X, "float32")
    assert set(answers["label"].tolist()) == set(labels.tolist())


def test_labels_that_are_flags():
    assert_same_answers(LinearSVC().fit(X, y == 1), X, "float64")


def test_a_map_from_labels_to_probabilities():
    words = np.array(["a", "b", "c"])[y]
    model = GaussianNB().fit(X, words)
    label, maps = run(to_onnx(model, zipmap=True), X[::50].astype("f4")).values()

    assert label.tolist() == ["a", "b", "c"]
    wanted = model.predict_proba(X[::50])
    np.testing.assert_allclose([list(found.values()) for found in maps], wanted, atol=1e-6)
    with pytest.raises(errors.UnsupportedError, match="integers or strings as keys"):
        to_onnx(GaussianNB().fit(X, y + 0.0), zipmap=True)


@pytest.mark.parametrize("model", [Perceptron, KernelPerceptron])
def test_predictions_at_random_are_refused(model):
    fitted = model(predictor="random").fit(X[y < 2], y[y < 2])
    with pytest.raises(errors.UnsupportedError, match="draws a hypothesis"):
        to_onnx(fitted)
