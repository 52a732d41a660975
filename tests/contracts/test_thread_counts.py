"""The number of threads changes no bit, but for the models that `docs/explanation/exactness.md` names."""

import numpy as np
import pytest
from tests.contracts.calls import make
from threadpoolctl import threadpool_limits

from separatrix.estimators.registry import REGISTRY
from separatrix.runtime.threads import limited_threads

ROUNDED = (  # BLAS shares their products and factorisations among its own threads
    *("KernelLogisticRegression", "KernelFisherDiscriminant", "Nystroem", "LinearSVC"),
    *("LogisticRegression", "LeastSquares", "Discriminant"),
)
BOUND = 1e-9  # of the largest value, for those
METHODS = ("decision_function", "predict_proba", "transform", "predict")
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 500)
FEATURES = RNG.normal(size=(1100, 300)) + 1.5 * np.eye(3, 300)[RNG.integers(0, 3, 1100)]


def calls_of(record):
    """Its default call, and others in the slow tests."""
    slow = "LogisticRegressionCV" in record.name
    yield pytest.param(f"{record.name}()", marks=pytest.mark.slow if slow else ())
    for call in record.variants:
        yield pytest.param(call, marks=pytest.mark.slow)


def samples_for(call, width):
    """Training samples, their labels, and other samples."""
    width = min(width, 20) if "PolynomialMap" in call else width  # its features are many
    A, B, y = FEATURES[:500, :width], FEATURES[500:, :width], Y % 2 if "threshold" in call else Y
    if "metric='precomputed'" in call:
        return abs(A[:, None] - A).sum(axis=-1), y, abs(B[:, None] - A).sum(axis=-1)
    if "precomputed" in call:
        return A @ A.T, y, B @ A.T
    if "Categorical" in call:
        A, B = np.round(abs(A)), np.round(abs(B))
        return A, y, np.minimum(B, A.max(axis=0))
    return (abs(A), y, abs(B)) if "NB" in call else (A, y, B)


def answers(model, B):
    return [np.asarray(getattr(model, name)(B)) for name in METHODS if hasattr(model, name)]


EVERY = [param for record in REGISTRY for param in calls_of(record)]
EXACT = [param for param in EVERY if not any(part in param.values[0] for part in ROUNDED)]


def answers_on(threads, call, width):
    """What a model answers that was fitted with so many threads."""
    model, (A, y, B) = make(call), samples_for(call, width)
    known = model.get_params()
    given = {"cv": 2, "random_state": 0, "radius": 1e4}
    given |= {"max_iter": 5} if "Perceptron" in call else {}
    model.set_params(**{name: value for name, value in given.items() if name in known})
    with limited_threads(threads), threadpool_limits(threads, user_api="blas"):
        return answers(model.fit(A, y), B)


@pytest.mark.parametrize("width", [40, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("call", EXACT)
@pytest.mark.filterwarnings("ignore")
def test_the_number_of_threads_changes_no_bit(call, width):
    for one, two in zip(*(answers_on(n, call, width) for n in (1, 2)), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("call", [param for param in EVERY if param not in EXACT])
@pytest.mark.filterwarnings("ignore")
def test_of_the_other_models_it_changes_the_last_digits_only(call):
    for one, two in zip(*(answers_on(n, call, 40) for n in (1, 2)), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=BOUND * abs(one).max())
