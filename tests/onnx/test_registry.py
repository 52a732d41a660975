"""Every estimator of the registry has an ONNX graph that answers as it does, or is refused."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import minmax_scale
from tests.contracts.calls import make
from tests.onnx.comparison import assert_same_answers, to_onnx

from separatrix import errors
from separatrix.estimators.registry import REGISTRY
from separatrix.kernels import Precomputed

CALLS = [(record, call) for record in REGISTRY for call, _ in record.checked_calls()]
REFUSED = {  # calls, with a part of the reason
    "RadiusNeighborsClassifier()": "cannot raise",
    "RadiusNeighborsClassifier(2.0, weights='distance', metric='manhattan', ties='nearest')": "raise",
    "KernelPerceptron('poly', multi_class='ovr', predictor='vote')": "hypothesis for each mistake",
    "KNeighborsClassifier(9, metric='precomputed')": "metric='precomputed' is not one of",
    "KNeighborsClassifier(5, kernel=Polynomial(3, coef0=1.0))": "feature space of a kernel",
    "LogisticRegression(posterior='laplace', predictive='quadrature')": "means over a posterior",
}
iris, species = load_iris(return_X_y=True)


def samples(record, model):
    """Samples and labels that a model can be fitted to: counts, kernel values, two classes."""
    X, y = iris[::3], species[::3]
    if record.counts:
        X = np.rint(X)
    if getattr(model, "threshold", None) is not None:
        X, y = X[y > 0], y[y > 0]
    kernel = getattr(model, "kernel", None)
    if isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed"):
        X = X @ X.T
    elif getattr(model, "metric", None) == "precomputed":
        X = np.abs(X[:, None] - X).sum(axis=-1)
    return X, y


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize(("record", "call"), CALLS, ids=[call for _, call in CALLS])
def test_a_model_is_converted_or_refused_with_the_reason(record, call):
    model = make(call)
    X, y = samples(record, model)
    fit(model, X, y)

    if call not in REFUSED:
        assert_same_answers(model, X, "float64")
        return
    with pytest.raises(errors.UnsupportedError, match="has no ONNX graph: ") as caught:
        to_onnx(model)
    assert REFUSED[call] in str(caught.value)


DEFAULTS = [record for record in REGISTRY if record.name != "RadiusNeighborsClassifier"]
digits, numbers = load_digits(return_X_y=True)
wine, cultivars = load_wine(return_X_y=True)
SETS = {
    "digits": (digits[:300], numbers[:300], digits[300:]),
    "wine": (minmax_scale(wine)[::2], cultivars[::2], minmax_scale(wine)),
    "two": (iris[50::2], np.array(["versicolor", "virginica"])[species[50::2] - 1], iris),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("record", DEFAULTS, ids=lambda record: record.name)
def test_the_graph_answers_as_the_model_on_other_rows(record, name):
    X, y, others = SETS[name]
    if record.name == "CategoricalNB":
        X, others = np.rint(X), np.rint(others).clip(0, np.rint(X).max(axis=0))
    model = fit(make(f"{record.name}()"), X, y)

    for dtype in ("float32", "float64"):
        assert_same_answers(model, others, dtype)
