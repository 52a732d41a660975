"""A `time_limit` or a callback that stops a fit ends it normally, wherever the stop comes.

The fit then has all its attributes for the state it reached, and warns unless it is what the whole fit is.
"""

import warnings

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from tests.contracts.calls import make

from separatrix import LogisticRegressionCV
from separatrix.estimators.registry import REGISTRY

X, Y = load_iris(return_X_y=True)
NOISE = np.random.default_rng(0)
Y = np.where(NOISE.random(150) < 0.15, NOISE.integers(0, 3, 150), Y)  # nothing ends in one pass
METHODS = ("decision_function", "predict_proba", "transform", "predict")


class StopAt:
    """Stops a fit at the end of its n-th task, and counts tasks."""

    def __init__(self, number=None):
        self.number, self.tasks = number, 0

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...
    def on_fit_task_end(self, estimator, context):
        self.tasks += 1
        return self.tasks - 1 == self.number


def calls_of(record):
    """Its default call, and others in the slow tests."""
    yield pytest.param(f"{record.name}()")
    for call in (*record.variants, *record.exact_variants):
        yield pytest.param(call, marks=pytest.mark.slow)


def is_stoppable(call):
    model = make(call)
    return hasattr(model, "set_callbacks") or "time_limit" in model.get_params()


CALLS = [param for record in REGISTRY for param in calls_of(record)]
CALLS = [param for param in CALLS if is_stoppable(*param.values)]


def samples_for(call):
    A = X @ X.T if "precomputed" in call else np.round(X) if "Categorical" in call else X
    return A, Y % 2 if "threshold" in call else Y


def fitted(model, A, y):
    """The model after its fit, and the kinds of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(A, y)
    return model, {warning.category for warning in caught}


def answers(model, A):
    found = next(getattr(model, name)(A) for name in METHODS if hasattr(model, name))
    return found.toarray() if issparse(found) else np.asarray(found, dtype=np.float64)


def learned(model):
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize("call", CALLS)
def test_a_fit_that_is_stopped_ends_normally(call):
    model, (A, y) = make(call), samples_for(call)
    known = model.get_params()
    model.set_params(**{name: 2 for name in ("cv",) if name in known})
    model.set_params(**{name: 0 for name in ("random_state",) if name in known})
    whole, counted = clone(model), StopAt()
    whole, _ = fitted(whole.set_callbacks(counted), A, y)
    expected = answers(whole, A)
    stops = sorted({0, counted.tasks // 2, counted.tasks - 1})
    stopped = [clone(model).set_callbacks(StopAt(number)) for number in stops]
    if "time_limit" in known:
        stopped.append(clone(model).set_params(time_limit=1e-9))
    for other in stopped:
        other, warned = fitted(other, A, y)
        assert learned(other) >= learned(whole)
        found = answers(other, A)
        assert np.isfinite(found).all()
        assert np.array_equal(found, expected) or ConvergenceWarning in warned
        assert warned <= {ConvergenceWarning, UserWarning, FutureWarning}


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_a_search_that_is_stopped_chooses_among_the_cells_of_most_folds(refit):
    model = LogisticRegressionCV(Cs=[1e-6, 1.0], cv=3, refit=refit, use_legacy_attributes=False)
    found = model.set_callbacks(StopAt(2)).fit(X, Y)  # both of the first fold, and one of the next
    reached = np.isfinite(found.scores_).sum(axis=(1, 2))
    assert reached.tolist() == [2, 1, 0]
    assert pytest.approx(1e-6 if refit else (1.0 + 1e-6) / 2) == found.C_
