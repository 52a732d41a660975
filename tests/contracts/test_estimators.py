"""Contracts of every estimator of the registry."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter
from tests.contracts.calls import make

from separatrix import (
    SVC,
    SVCCV,
    KernelPerceptron,
    KernelPerceptronCV,
    KNeighborsClassifier,
    LinearSVC,
    Perceptron,
    SubgradientSVC,
)
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.registry import REGISTRY
from separatrix.kernels import Gaussian, Polynomial

X, Y = load_iris(return_X_y=True)


def checks():
    for record in REGISTRY:
        for call, expected in record.checked_calls():
            for estimator, check in estimator_checks_generator(make(call)):
                name = f"{call}-{check.func.__name__}"
                yield pytest.param(estimator, check, expected, id=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks provoke warnings on purpose
@pytest.mark.parametrize(("estimator", "check", "expected"), list(checks()))
def test_scikit_learns_checks_pass(estimator, check, expected):
    if check.func.__name__ in expected:
        pytest.xfail(expected[check.func.__name__])
    check(estimator)


def quick(record):
    estimator = record.load()()
    return estimator.set_params(cv=2) if "cv" in estimator.get_params() else estimator


NUMERIC = [record for record in REGISTRY if record.name != "CategoricalNB"]  # takes no fractions
CLASSIFIERS = [record for record in NUMERIC if record.kind in ("classifier", "wrapper")]
WITH_CALLBACKS = [record for record in NUMERIC if hasattr(record.load(), "set_callbacks")]
WITH_BARS = [record for record in REGISTRY if "verbose" in record.load()().get_params()]
WITH_WEIGHTS = [
    record.load()()
    for record in REGISTRY
    if record.kind == "classifier" and has_fit_parameter(record.load(), "sample_weight")
]
ENDLESS = [call for record in REGISTRY for call in record.endless]


@pytest.fixture(params=CLASSIFIERS, ids=lambda record: record.name)
def estimator(request):
    return quick(request.param)


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.slow
def test_frames_and_their_column_names_are_taken(estimator):
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    plain = clone(estimator).fit(X, Y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        fitted = clone(estimator).fit(frame, Y)
        assert fitted.feature_names_in_.tolist() == names
        np.testing.assert_array_equal(fitted.predict(frame), plain.predict(X))


def test_string_labels_come_back_as_they_are(estimator):
    words = np.array(["setosa", "versicolor", "virginica"])[Y]
    fitted = clone(estimator).fit(X, words)
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(
        fitted.predict(X), fitted.classes_[clone(estimator).fit(X, Y).predict(X)]
    )


@pytest.mark.slow
def test_sparse_and_dense_samples_give_the_same_model(estimator):
    whole = np.round(X * 10)
    dense, sparse = clone(estimator).fit(whole, Y), clone(estimator).fit(csr_array(whole), Y)
    np.testing.assert_array_equal(dense.predict(whole), sparse.predict(csr_array(whole)))


def test_the_same_seed_gives_the_same_model(estimator):
    first, second = clone(estimator).fit(X, Y), clone(estimator).fit(X, Y)
    values = "decision_function" if hasattr(first, "decision_function") else "predict_proba"
    np.testing.assert_array_equal(getattr(first, values)(X), getattr(second, values)(X))


def test_it_works_in_a_pipeline_and_prints_as_html(estimator):
    tags = get_tags(estimator)
    scaler = MinMaxScaler() if tags.input_tags.positive_only else StandardScaler()
    pipeline = make_pipeline(scaler, clone(estimator)).fit(X, Y)
    assert pipeline.score(X, Y) > (0.6 if tags.classifier_tags.poor_score else 0.8)
    assert type(estimator).__name__ in estimator._repr_html_()


@pytest.mark.parametrize("record", WITH_CALLBACKS, ids=lambda record: record.name)
def test_a_progress_callback_sees_the_fit(record, capsys):
    estimator = quick(record)
    clone(estimator).set_callbacks(ProgressBar()).fit(X, Y)
    assert type(estimator).__name__ in capsys.readouterr().out


@pytest.mark.parametrize("record", WITH_BARS, ids=lambda record: record.name)
def test_verbose_draws_a_bar_on_stderr_only(record, capfd):
    estimator = quick(record)
    clone(estimator).set_params(verbose=1).fit(X, Y)
    printed = capfd.readouterr()
    assert type(estimator).__name__ in printed.err
    assert printed.out == ""


class StopAtOnce:
    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...
    def on_fit_task_end(self, estimator, context):
        return True


@pytest.mark.parametrize(
    "model", [Perceptron(), KernelPerceptron(), SubgradientSVC(alpha=0.1, eps=1e-4)]
)
def test_a_callback_can_stop_the_fit(model):
    fitted = clone(model).set_callbacks(StopAtOnce()).fit(X, Y)
    assert fitted.n_iter_ == 1
    assert fitted.stop_ == "stopped"
    fitted.predict(X)


@pytest.mark.parametrize(
    "model", [SVC(cache_size=5), LinearSVC(loss="hinge", dual=True), SubgradientSVC(eps=1e-9)]
)
def test_a_machine_that_is_stopped_says_how_far_it_got(model):
    digits, labels = load_digits(return_X_y=True)
    labels = labels % 2  # one boundary, in many rounds
    with pytest.warns(ConvergenceWarning, match=r"(was stopped|cancelled).*(wanted|more than)"):
        fitted = clone(model).set_callbacks(StopAtOnce()).fit(digits, labels)
    assert fitted.predict(digits).shape == labels.shape


def test_leaving_out_that_is_stopped_says_so_and_the_model_predicts():
    model = KNeighborsClassifier(k_max=5).set_callbacks(StopAtOnce())
    with pytest.warns(ConvergenceWarning, match="cancelled before all samples were left out"):
        model.fit(X, Y)
    assert not hasattr(model, "best_k_")
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("search", [KernelPerceptronCV(cv=2), SVCCV(cv=2)])
def test_a_search_that_is_stopped_says_so(search):
    with pytest.warns(ConvergenceWarning, match="stopped before all folds were done"):
        clone(search).set_callbacks(StopAtOnce()).fit(X, Y)


SLOW = [
    Perceptron(tol=None, max_iter=10**6),
    KernelPerceptron("linear", max_iter=10**6),
    SVC(C=1e4, gamma=0.5, tol=1e-8),
    LinearSVC(dual=True, loss="hinge", C=1e4, tol=1e-12, max_iter=10**9, random_state=0),
    SubgradientSVC(eps=0.0, max_iter=10**7, keep_iterates=False),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", SLOW, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_holds_and_leaves_a_usable_model(model):
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(6000, 60)), rng.integers(0, 3, size=6000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(model).set_params(max_iter=2).fit(noise, labels)  # compile before the clock runs
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        fitted = clone(model).set_params(time_limit=0.5).fit(noise, labels)
    assert time.monotonic() - began > 0.4
    assert "stopped" in getattr(fitted, "stop_", "stopped")
    assert fitted.predict(noise).shape == (6000,)


BAD_INPUT = [
    (lambda m: m.fit([[1.0, np.nan], [0.0, 1.0]], [0, 1]), "NaN"),
    (lambda m: m.fit([[1.0, np.inf], [0.0, 1.0]], [0, 1]), "infinity"),
    (lambda m: m.fit(np.empty((0, 2)), []), r"0 sample\(s\)"),
    (lambda m: m.fit(np.empty((3, 0)), [0, 1, 0]), r"0 feature\(s\)"),
    (lambda m: m.fit(X, Y[:10]), "inconsistent numbers of samples"),
    (lambda m: m.fit(X, np.linspace(0, 1, 150)), "Unknown label type"),
    (lambda m: m.fit(X, ["a", 1] * 75), "all strings or all numbers; got both"),
    (lambda m: m.fit([["a", "b"], ["c", "d"]], [0, 1]), "convert|numeric"),
    (lambda m: m.fit(X, None), "requires y to be passed"),
    (lambda m: m.fit(X, Y).predict(X[:, :3]), "X has 3 features, but .* is expecting 4 features"),
    (lambda m: m.fit(X, Y).predict(X[0]), "Reshape your data"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("use", "sentence"), BAD_INPUT)
def test_bad_input_is_one_line_that_says_what_came(estimator, use, sentence):
    with pytest.raises(ValueError, match=sentence) as raised:
        use(clone(estimator))
    assert "\n" not in str(raised.value)


def test_a_sparse_matrix_with_indices_out_of_range_is_refused(estimator):
    broken = csr_array(X)
    broken.indices = broken.indices.copy()
    broken.indices[3] = 4000
    with pytest.raises(ValueError, match="indices must be < 4"):
        clone(estimator).fit(broken, Y)


def test_predicting_before_fitting_is_an_error(estimator):
    with pytest.raises(NotFittedError):
        clone(estimator).predict(X)


@pytest.mark.parametrize("model", WITH_WEIGHTS)
@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (-np.ones(150), "`sample_weight` must be finite and at least 0; got -1.0"),
        (np.full(150, np.nan), "`sample_weight` must be finite and at least 0; got nan"),
        (np.ones(3), r"`sample_weight` must have shape \(150,\); got \(3,\)"),
        (np.zeros(150), "must have a weight above zero"),
        (["heavy"] * 150, "`sample_weight` must hold numbers"),
    ],
)
def test_bad_weights_are_refused(model, weights, sentence):
    with pytest.raises(DataError, match=sentence):
        clone(model).fit(X, Y, sample_weight=weights)


def test_one_class_is_refused_or_predicted(estimator):
    model, y = clone(estimator), np.full(150, 3)
    if model._least_classes == 1:
        assert set(model.fit(X, y).predict(X)) == {3}
        return
    with pytest.raises(DataError, match="at least 2 classes; got one class, 3"):
        model.fit(X, y)


@pytest.mark.parametrize("model", WITH_WEIGHTS)
def test_one_class_with_weights_is_refused_or_predicted(model):
    model, weights, whole = clone(model), (Y == 1).astype(float), np.floor(X)  # categories too
    if model._least_weighted == 1:
        assert set(model.fit(whole, Y, sample_weight=weights).predict(whole[Y == 1])) == {1}
        return
    with pytest.raises(DataError, match="all but one class have weight 0"):
        model.fit(whole, Y, sample_weight=weights)


@pytest.mark.parametrize("model", [Perceptron(), KernelPerceptron("linear")])
def test_a_weight_of_zero_is_a_row_that_is_not_there(model):
    weights = np.ones(150)
    weights[::7] = 0.0
    model = clone(model).set_params(shuffle=False, max_iter=5)
    weighted, without = clone(model).fit(X, Y, sample_weight=weights), clone(model)
    without.fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), atol=1e-9
    )


@pytest.mark.parametrize(
    ("K", "sentence"),
    [
        (np.ones((150, 20)), r"must be a square kernel matrix \(n, n\); got shape \(150, 20\)"),
        (np.tri(150), "must be symmetric"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(K, sentence):
    with pytest.raises(DataError, match=sentence):
        KernelPerceptron("precomputed").fit(K, Y)


@pytest.mark.slow
def test_kernel_parameters_can_be_searched_by_name():
    search = GridSearchCV(
        KernelPerceptron(Gaussian(1.0)), {"kernel__gamma": [0.01, 0.5]}, cv=2, n_jobs=2
    )
    search.fit(X, Y)
    assert search.best_params_["kernel__gamma"] in (0.01, 0.5)
    assert search.best_estimator_.kernel_ == Gaussian(search.best_params_["kernel__gamma"])
    with pytest.raises(ParameterError, match="set on a kernel object, not on a name"):
        KernelPerceptron("rbf").set_params(kernel__gamma=1.0)


FORKING = """
import os, sys, warnings
import numpy as np
from separatrix import SVC, KernelPerceptron
from separatrix.kernels import Polynomial
rng = np.random.default_rng(0)
X, y = rng.normal(size=(2500, 20)), rng.integers(0, 3, size=2500)
warnings.simplefilter("ignore")
model = KernelPerceptron(Polynomial(2), max_iter=2).fit(X, y)
machine = SVC(max_iter=500, cache_size=20).fit(X, y)
expected = model.predict(X)
child = os.fork()
if child == 0:
    same = (model.predict(X) == expected).all()
    machine.fit(X, y).predict(X)
    again = KernelPerceptron(Polynomial(2), max_iter=2).fit(X, y)
    os._exit(0 if same and (again.predict(X) == expected).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_can_predict_and_fit():
    assert subprocess.run([sys.executable, "-c", FORKING], timeout=600).returncode == 0


@pytest.mark.slow
def test_two_threads_can_fit_at_once():
    digits, labels = load_digits(return_X_y=True)
    expected = KernelPerceptron(Polynomial(3)).fit(digits, labels).predict(digits)
    answers = [None, None]

    def work(number):
        answers[number] = KernelPerceptron(Polynomial(3)).fit(digits, labels).predict(digits)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)


INTERRUPT = """
import os, signal, sys, threading, time, warnings
import numpy as np
from separatrix import *
from separatrix.kernels import *
rng = np.random.default_rng(0)
X, y = rng.normal(size=(6000, 20)), rng.integers(0, 4, size=6000)
warnings.simplefilter("ignore")
model = eval(sys.argv[1])
if hasattr(model, "cv"):
    type(model)(cv=2).fit(X[:100], y[:100] % 2)  # compile
else:
    limit = model.max_iter
    model.set_params(max_iter=2).fit(X, y)
    model.set_params(max_iter=limit)
begin = time.process_time()
sum(number * number for number in range(10**6))  # 0.4 s where the limit was measured
pace = time.process_time() - begin
began = []

def interrupt():
    began.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(0.5, interrupt).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print((time.process_time() - began[0]) / pace)
"""


@pytest.mark.slow
@pytest.mark.parametrize("call", ENDLESS)
def test_ctrl_c_ends_a_fit_soon(call):
    for _ in range(3):  # other programs on the cores make processor time longer
        done = subprocess.check_output([sys.executable, "-c", INTERRUPT, call], timeout=300)
        if float(done) < 1.25 * os.cpu_count():  # half a second there
            return
    pytest.fail(f"took {float(done):.2f} times the loop's processor time to end")
