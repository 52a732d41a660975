"""A fit that raises leaves the estimator with its last good fit, or unfitted, wherever it is stopped."""

import sys
from inspect import CO_GENERATOR
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from tests.contracts.calls import make
from tests.modelfile.cases import CASES, Case

import separatrix
from separatrix import LogisticRegression, NearestNeighbors
from separatrix.errors import SeparatrixError
from separatrix.estimators.base.grid_widening import WideningSearchCV
from separatrix.estimators.base.nystroem_search import NystroemSVCCV
from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.estimators.registry import REGISTRY
from separatrix.runtime.threads import limited_threads

SOURCE = str(Path(separatrix.__file__).parent)
STEPS = ("step", "should_stop")  # of a `FitMonitor`: where Ctrl-C usually arrives
pytestmark = pytest.mark.filterwarnings("ignore")


class Interruption:
    """Raises an error at the n-th call that code of separatrix makes, or counts the calls.

    Calls of compiled functions and of NumPy count, so that it may come between any two of them.
    """

    def __init__(self, moment=None, error=KeyboardInterrupt):
        self.moment, self.error, self.calls, self.steps = moment, error, 0, []

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def __call__(self, frame, event, _):
        code = frame.f_code
        if event not in ("call", "c_call") or not code.co_filename.startswith(SOURCE):
            return
        if code.co_flags & CO_GENERATOR:  # Python drops an error when it closes one
            return
        if event == "call" and code.co_name in STEPS:
            self.steps.append(self.calls)
        self.calls += 1
        if self.calls - 1 == self.moment:
            raise self.error


def learned(model):
    """A hash of all that a model holds: arrays, records, and objects inside them, by their bytes."""
    return joblib.hash(vars(model))


def other_data(X, y):
    """The same samples in another order, without some, so that nothing learned stays what it was."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.random.default_rng(1).permutation(n)[: n - 3]
    if issparse(X):
        part = X[rows]
    elif hasattr(X, "take") and not isinstance(X, np.ndarray):
        part = X.take(rows)
    else:
        square = isinstance(X, np.ndarray) and X.shape[0] == X.shape[1]
        part = [X[i] for i in rows] if isinstance(X, list) else X[rows]
        part = X[np.ix_(rows, rows)] if square else part
    return part, None if y is None else np.asarray(y)[rows]


def interrupted(work, moments):
    """Yield after each moment at which `work` was interrupted."""
    for number, moment in enumerate(moments):
        error = (KeyboardInterrupt, MemoryError)[number % 2]
        try:
            with Interruption(moment, error) as interruption:
                work()
        except (error, SeparatrixError):  # of a check that was interrupted
            yield moment
            continue
        assert number, "no moment was reached"
        assert interruption.calls <= moment, f"{error} at call {moment} went unnoticed"
        return  # it took fewer calls than when they were counted, and has fitted the model again


def moments_of(work, how_many):
    """Moments to interrupt `work` at: drawn from all, at steps of its monitor, and at its end."""
    with Interruption() as count:
        work()
    rng = np.random.default_rng(count.calls)
    drawn = rng.integers(count.calls, size=how_many).tolist()
    steps = [count.steps[i] for i in sorted({0, len(count.steps) // 2})] if count.steps else []
    return sorted({*drawn, *steps, count.calls - 1})


def check(model, begin, work, how_many):
    """`work` on a model that `begin` fitted changes nothing where it is interrupted."""
    model = seeded(model)
    with limited_threads(1):
        fitted, again = begin(clone(model)), begin(clone(model))
        before, moments = learned(fitted), moments_of(lambda: work(again), how_many)
        for moment in interrupted(lambda: work(fitted), moments):
            assert learned(fitted) == before, f"interrupted at call {moment}"


def seeded(model):
    """The same, which takes as many calls each time."""
    return (
        clone(model).set_params(random_state=0) if "random_state" in model.get_params() else model
    )


def model_of(call, **params):
    """The model of a call, with a seed, and few folds."""
    model = make(call)
    params |= {"cv": 2} if "cv" in model.get_params() else {}
    return seeded(model.set_params(**params))


def samples_for(call):
    X, y = CASES[0].X, CASES[0].y
    if "precomputed" in call:
        X = X @ X.T
    if "Categorical" in call:
        X = np.round(X)
    return X, y % 2 if "threshold" in call else y


def calls_of(record):
    """Its default call, and others in the slow tests; searches with many candidates are slow as well."""
    slow = "LogisticRegressionCV" in record.name
    yield pytest.param(f"{record.name}()", marks=pytest.mark.slow if slow else ())
    for call in record.variants:
        yield pytest.param(call, marks=pytest.mark.slow)


CALLS = [param for record in REGISTRY for param in calls_of(record)]
STREAMS = [param for param in CALLS if hasattr(make(*param.values), "partial_fit")]
WARM = [param for param in CALLS if "warm_start" in make(*param.values).get_params()]
MERGED = [param for param in STREAMS if hasattr(make(*param.values), "merge")]
WATCHED = [param for param in CALLS if hasattr(make(*param.values), "set_callbacks")]


@pytest.mark.parametrize("call", CALLS)
def test_a_second_fit_that_fails_leaves_the_first(call):
    X, y = samples_for(call)
    second = other_data(X, y)
    check(model_of(call), lambda m: m.fit(X, y), lambda m: m.fit(*second), how_many=3)


@pytest.mark.parametrize("call", CALLS)
def test_a_first_fit_that_fails_leaves_an_unfitted_model(call):
    X, y = samples_for(call)
    check(model_of(call), lambda m: m, lambda m: m.fit(X, y), how_many=1)


@pytest.mark.parametrize("call", STREAMS)
def test_a_part_of_a_stream_that_fails_leaves_what_was_learned_before(call):
    X, y = samples_for(call)
    more = other_data(X, y)
    for begin in (lambda m: m.partial_fit(X, y, np.unique(y)), lambda m: m.fit(X, y)):
        check(model_of(call), begin, lambda m: m.partial_fit(*more), how_many=3)


@pytest.mark.parametrize("call", WARM)
def test_a_warm_start_that_fails_leaves_the_fit_before(call):
    X, y = samples_for(call)
    more = other_data(X, y)
    model = model_of(call, warm_start=True)
    check(model, lambda m: m.fit(X, y), lambda m: m.fit(*more), how_many=3)


@pytest.mark.parametrize("call", MERGED)
def test_a_merge_that_fails_leaves_what_was_learned_before(call):
    X, y = samples_for(call)
    other = model_of(call).fit(*other_data(X, y))
    check(model_of(call), lambda m: m.fit(X, y), lambda m: m.merge(other, other), how_many=3)


class RaisingCallback:
    """Raises at the n-th of its calls, and counts them."""

    def __init__(self, moment=None):
        self.moment, self.calls, self.torn_down = moment, 0, False

    def _note(self, estimator, context):
        self.calls += 1
        if self.calls - 1 == self.moment:
            raise KeyboardInterrupt

    setup = on_fit_task_begin = on_fit_task_end = _note

    def teardown(self, estimator, context):
        self.torn_down = True


@pytest.mark.parametrize("call", WATCHED)
def test_a_callback_that_raises_leaves_the_fit_before(call):
    X, y = samples_for(call)
    second = other_data(X, y)
    fitted, again = model_of(call).fit(X, y), model_of(call)
    counted = RaisingCallback()
    again.set_callbacks(counted).fit(*second)
    before = learned(fitted)
    for moment in sorted({0, 1, counted.calls // 2, counted.calls - 1}):
        callback = RaisingCallback(moment)
        with pytest.raises(KeyboardInterrupt):
            fitted.set_callbacks(callback).fit(*second)
        assert callback.torn_down
        del fitted._skl_callbacks
        assert learned(fitted) == before, f"at call {moment} of {counted.calls}"


OTHERS = [case for case in CASES if type(case.model).__module__.startswith("separatrix")]
OTHERS += [Case("knn-cv", KNeighborsCV(k_max=9)), Case("nystroem-cv", NystroemSVCCV(cv=2))]
OTHERS += [Case("widening", WideningSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2))]
OTHERS += [Case("neighbors", NearestNeighbors()), Case("index", NearestNeighbors(metric="cosine"))]
FEW = ("knn-cv", "nystroem-cv", "widening", "neighbors", "table", "positions", "features", "svc-cv")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in OTHERS if case.name in FEW], ids=lambda c: c.name
)
def test_searches_and_encoders_keep_the_fit_before(case):
    second = other_data(case.X, case.y)
    check(case.model, lambda m: m.fit(case.X, case.y), lambda m: m.fit(*second), how_many=4)


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_every_kind_of_model_keeps_the_fit_before_wherever_it_is_stopped(case):
    second = other_data(case.X, case.y)
    check(case.model, lambda m: m.fit(case.X, case.y), lambda m: m.fit(*second), how_many=12)
