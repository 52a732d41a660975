"""Graphs of support vector machines: votes, ties, calibrated probabilities and kernels."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.modelfile.cases import EVERY_KERNEL
from tests.onnx.comparison import assert_same_answers, run, to_onnx

from separatrix import SVC, KernelPerceptron, NuSVC, Nystroem, OneClassSVM, errors, load_libsvm
from separatrix.estimators.base.support import Support
from separatrix.estimators.calibration import Calibration
from separatrix.kernels import Normalized, Spectrum

X, y = load_iris(return_X_y=True)
# scores of three pairs, with equal votes (a cycle), scores of exactly 0 and no votes to share
SCORES = [[1, -1, 1], [-1, 1, -1], [0, 0, 0], [0, 1, 0], [1, 0, -1], [-2, -1, 0], [0.5, -3, 3]]


def machine_of_scores(p, k, **params):
    """An SVC of a linear kernel whose scores at the boundaries are its features."""
    model = SVC(kernel="linear").fit(np.eye(p), np.arange(p) % k).set_params(**params)
    unit = Support(np.arange(p), np.arange(p), np.arange(p + 1), np.eye(p), np.zeros(p), False)
    model._support, model.support_vectors_ = unit, np.eye(p)
    model.support_, model.classes_ = np.arange(p), np.arange(k)
    return model


@pytest.mark.parametrize("order", [None, [0, 1, 2], [2, 0, 1], [1, 2, 0]])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_votes_and_ties_are_decided_as_predict_does(multi_class, break_ties, order):
    model = machine_of_scores(3, 3, multi_class=multi_class, break_ties=break_ties)
    if order is not None:
        model._ties = np.array(order)

    answers = assert_same_answers(model, SCORES, "float64")

    assert len(set(answers["label"])) > 1


@pytest.mark.parametrize("order", [None, [0, 1], [1, 0]])
def test_of_two_classes_a_score_of_0_goes_where_predict_puts_it(order):
    model = machine_of_scores(2, 2, multi_class="ovr")
    unit = Support(np.arange(2), np.arange(2), np.arange(3), np.eye(2)[:1], np.zeros(1), False)
    model._support = unit
    if order is not None:
        model._ties = np.array(order)

    assert_same_answers(model, [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], "float64")


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("calibration", ["sigmoid", "temperature", "platt"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_the_calibration(calibration, multi_class, shape, classes):
    some = y < classes
    model = SVC(
        calibration=calibration,
        multi_class=multi_class,
        decision_function_shape=shape,
        random_state=0,
    ).fit(X[some], y[some])
    others = np.vstack([X, np.random.default_rng(0).normal(4, 3, size=(300, 4))])

    for dtype in ("float32", "float64"):
        assert_same_answers(model, others, dtype)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_the_predicted_class_is_the_most_likely_even_where_votes_decide_otherwise(
    method, multi_class
):
    model = machine_of_scores(3, 3, multi_class=multi_class, calibration=method)
    slopes = {"sigmoid": np.array([[1.0, 2.0]] * 3), "temperature": np.array([[1.5]])}[method]
    model._calibration = Calibration(method, 3, multi_class, slopes)
    probabilities = assert_same_answers(model, SCORES, "float64")["probabilities"]

    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(SCORES))


@pytest.mark.parametrize("name", EVERY_KERNEL)
def test_every_kernel_on_vectors_has_a_graph(name):
    kernel = EVERY_KERNEL[name]
    jitter = np.random.default_rng(0).normal(
        scale=0.01, size=X.shape
    )  # no score is 0 but for rounding
    others = np.vstack([X + jitter, np.zeros((1, 4))])
    for model in (
        SVC(kernel=kernel),
        NuSVC(nu=0.1, kernel=kernel),
        OneClassSVM(kernel=kernel, nu=0.3),
        KernelPerceptron(kernel, max_iter=3, ties="margin", multi_class="ovo"),
        Nystroem(kernel, n_components=6, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # not all kernels suit all models
            model.fit(X[::4], y[::4])
        assert_same_answers(model, others, "float64")


def test_kernel_values_are_exact_with_widths_that_cancel():
    far = X + 1e5
    assert_same_answers(SVC(gamma=2.0).fit(far[::2], y[::2]), far, "float64")


def test_factors_of_kernels_are_not_rounded():
    """onnxruntime makes one operator of a product and a scalar behind it, with a factor in float32."""
    model = SVC(kernel=3.3 * EVERY_KERNEL["linear"] + 0.7 * EVERY_KERNEL["polynomial"])
    assert_same_answers(model.fit(X[::3], y[::3]), X, "float64")


def test_sparse_support_vectors_become_dense():
    from scipy.sparse import csr_array

    assert_same_answers(SVC().fit(csr_array(X[::2]), y[::2]), X, "float64")


def test_a_model_of_libsvm_keeps_its_order_of_labels(tmp_path):
    from separatrix import save_libsvm

    path = save_libsvm(SVC(calibration="platt", random_state=0).fit(X, y), tmp_path / "m.libsvm")
    path.write_text(path.read_text().replace("label 0 1 2", "label 2 0 1"))

    assert_same_answers(load_libsvm(path, n_features=4), X, "float64")


@pytest.mark.parametrize("kernel", [Normalized(Spectrum(2)), Spectrum(3)])
def test_kernels_on_objects_are_refused(kernel):
    model = SVC(kernel=kernel).fit(["abab", "abba", "cdcd", "ccdd"], [0, 0, 1, 1])
    with pytest.raises(errors.UnsupportedError, match="sequences, graphs or tables"):
        to_onnx(model)


def test_a_function_as_kernel_is_refused():
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(errors.UnsupportedError, match="is a function of Python"):
        to_onnx(model)


def test_one_row_and_no_row_are_answered():
    model = SVC(calibration="sigmoid", random_state=0).fit(X, y)
    graph = to_onnx(model)

    assert run(graph, X[:1].astype("f4"))["probabilities"].shape == (1, 3)
    assert run(graph, X[:0].astype("f4"))["label"].shape == (0,)
