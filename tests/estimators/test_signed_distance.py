"""Distances to boundaries in the feature space of a kernel."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix import SVC, KernelPerceptron, LinearSVC, NuSVC, Perceptron, load, save
from separatrix.kernels import Gaussian, Polynomial
from separatrix.solvers.decomposition import pairs

X, Y = load_iris(return_X_y=True)
TWO = Y < 2
SQUARE = Polynomial(2)
FEATURES = np.stack(  # of the squared inner product
    [X[:, i] * X[:, j] * (1.0 if i == j else np.sqrt(2.0)) for i in range(4) for j in range(i, 4)],
    axis=1,
)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def explicit_distances(model, columns):
    """Distances to each boundary with weights in the space of the features, (n, p)."""
    W = columns @ FEATURES[model.support_]
    return (FEATURES @ W.T + model.intercept_) / np.linalg.norm(W, axis=1)


@pytest.mark.parametrize("rule", ["ovo", "ovr"])
def test_distances_of_a_kernel_machine_are_those_of_its_weights_in_the_feature_space(rule):
    shape = {"multi_class": rule, "decision_function_shape": rule}
    model = SVC(kernel=SQUARE, C=0.1, **shape).fit(X, Y)
    expected = explicit_distances(model, model._support.columns())
    np.testing.assert_allclose(model.signed_distance(X), expected, rtol=1e-4, atol=1e-6)
    online = KernelPerceptron(SQUARE, max_iter=5, multi_class="ovr").fit(X, Y)
    expected = explicit_distances(online, online.alpha_.T)
    np.testing.assert_allclose(online.signed_distance(X), expected, rtol=1e-5, atol=1e-8)


def test_distances_of_a_linear_kernel_are_those_of_linear_machines():
    model = SVC(kernel="linear", C=2.0, decision_function_shape="ovo").fit(X, Y)
    W = model.coef_
    expected = (X @ W.T + model.intercept_) / np.linalg.norm(W, axis=1)
    np.testing.assert_allclose(model.signed_distance(X), expected, atol=1e-9)
    assert LinearSVC().fit(X, Y).signed_distance(X).shape == (150, 3)
    rows = {"shuffle": False, "max_iter": 20}
    primal = Perceptron(bias="radius", tol=None, **rows).fit(X[TWO], Y[TWO])
    dual = KernelPerceptron("linear", bias="rosenblatt", **rows).fit(X[TWO], Y[TWO])
    np.testing.assert_allclose(dual.signed_distance(X), primal.signed_distance(X))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), "linear"], ids=str)
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_free_support_vectors_are_half_the_width_of_the_margins_away(machine, kernel):
    model = machine(kernel=kernel, tol=1e-6).fit(X[50:], Y[50:])
    margins, _ = model.training_margins()
    on_margin = np.abs(margins - 1.0) < 1e-5
    assert on_margin.sum() > 1
    away = np.abs(model.signed_distance(X[50:]))[on_margin]
    np.testing.assert_allclose(away, model.margin_width_[0] / 2, rtol=1e-4)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(multi_class="ovr"), KernelPerceptron(), KernelPerceptron(multi_class="ovo")],
    ids=str,
)
def test_distances_have_the_shape_of_the_decision_function(model, shape):
    if isinstance(model, SVC):
        model.set_params(decision_function_shape=shape)
    for rows in (Y < 3, TWO):
        model.fit(X[rows], Y[rows])
        assert model.signed_distance(X).shape == model.decision_function(X).shape
    np.testing.assert_array_equal(model.signed_distance(X) > 0, model.predict(X) == 1)


def test_where_pairs_vote_a_class_is_as_far_as_the_nearest_of_its_boundaries():
    model = SVC(gamma=0.5).fit(X, Y)
    D = model.signed_distance(X)
    at_pairs = model.set_params(decision_function_shape="ovo").signed_distance(X)
    for c in range(3):
        signs = [
            (at_pairs[:, p] if a == c else -at_pairs[:, p])
            for p, (a, b) in enumerate(pairs(3))
            if c in (a, b)
        ]
        np.testing.assert_array_equal(D[:, c], np.min(signs, axis=0))
    wins = D.max(axis=1) > 0
    np.testing.assert_array_equal(D.argmax(axis=1)[wins], model.predict(X)[wins])


def test_a_file_without_the_fit_measures_the_same(tmp_path):
    model = SVC(gamma=0.5).fit(X, Y)
    save(model, tmp_path / "slim.sep", slim=True)
    slim = load(tmp_path / "slim.sep")
    assert not hasattr(slim, "margin_width_")
    np.testing.assert_allclose(slim.signed_distance(X), model.signed_distance(X), rtol=1e-5)


def test_there_is_no_distance_without_a_feature_space():
    assert not hasattr(SVC(kernel="sigmoid").fit(X, Y), "signed_distance")
    assert not hasattr(SVC(kernel=Polynomial(2, coef0=-1.0)), "signed_distance")
    assert not hasattr(KernelPerceptron("precomputed"), "signed_distance")
    assert not hasattr(KernelPerceptron(predictor="vote"), "signed_distance")
    K = np.array([[-1.0, 0.0], [0.0, -1.0]])
    model = SVC(kernel="precomputed").fit(K, [0, 1])
    assert np.isnan(model.signed_distance(K)).all()
