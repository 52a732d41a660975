"""Support vector machines on a GPU, for which torch's CPU device stands in; tests/gpu needs a real one."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    SVC,
    SVCCV,
    BayesDecision,
    KernelPerceptron,
    KernelPerceptronCV,
    KNeighborsClassifier,
    NearestCentroid,
    load,
    save,
)
from separatrix.errors import DataError, DeviceError, MemoryBudgetError, ParameterError
from separatrix.estimators.base import kernel_machine, svc_fit
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.base.device_support import PREPARED
from separatrix.estimators.base.multiclass import decision_values, vote, winners
from separatrix.kernels import Gaussian, Laplacian, Linear, Normalized, Polynomial, Spectrum
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime import device as backends

torch = pytest.importorskip("torch", reason="torch is not installed")
to_device = pytest.importorskip("separatrix.kernels.gram.device_prepared").to_device
X, Y = load_iris(return_X_y=True)
IMAGES, DIGITS = (part[:150] for part in load_digits(n_class=5, return_X_y=True))
TENSOR = torch.as_tensor(X)


@pytest.fixture
def all_is_worth_it(monkeypatch):
    monkeypatch.setattr(kernel_machine, "LARGE_ROWS", 0)
    monkeypatch.setattr(kernel_machine, "LARGE_VALUES", 0)


CASES = {
    "rbf": {"C": 10.0, "gamma": 0.001},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.001, "coef0": 1.0},
    "linear": {"kernel": "linear", "C": 0.01},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.0001},
    "normalized": {"kernel": Normalized(Polynomial(3, coef0=1.0))},
    "rest": {"gamma": 0.001, "multi_class": "ovr"},
    "gap": {"gamma": 0.001, "stop": "gap"},
    "pairs": {"gamma": 0.001, "decision_function_shape": "ovo"},
    "ties": {"gamma": 0.001, "break_ties": True},
    "classes": {"gamma": 0.001, "class_weight": {3: 2.0, 4: 0.5}},
    "balanced": {"gamma": 0.001, "class_weight": "balanced"},
    "sigmoids": {"gamma": 0.001, "calibration": "sigmoid", "random_state": 0},
    "temperature": {"gamma": 0.001, "calibration": "temperature", "random_state": 0},
    "scale": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_gives_what_this_machine_gives(name, gpu):
    on_cpu = SVC(device="cpu", tol=1e-6, **CASES[name]).fit(IMAGES, DIGITS)

    on_gpu = SVC(device="cuda", tol=1e-6, **CASES[name]).fit(IMAGES, DIGITS)

    assert on_gpu.gram_.startswith("DeviceGram(")
    assert (on_gpu.dual_gap_ if on_gpu.stop == "gap" else on_gpu.violation_).max() <= 1e-6
    assert set(on_gpu.stop_) == {"tol"}
    assert len(np.setxor1d(on_gpu.support_, on_cpu.support_)) <= 2
    np.testing.assert_array_equal(on_gpu.predict(IMAGES), on_cpu.predict(IMAGES))
    scores = on_cpu.boundary_scores(IMAGES)
    np.testing.assert_allclose(on_gpu.boundary_scores(IMAGES), scores, atol=1e-4)
    np.testing.assert_allclose(
        on_gpu.decision_function(IMAGES), on_cpu.decision_function(IMAGES), atol=1e-4
    )
    np.testing.assert_allclose(on_gpu.objective_, on_cpu.objective_, rtol=1e-6)
    if on_gpu.calibration:
        np.testing.assert_allclose(
            on_gpu.predict_proba(IMAGES), on_cpu.predict_proba(IMAGES), atol=1e-3
        )


def test_auto_takes_a_gpu_where_the_work_is_worth_it(gpu, all_is_worth_it):
    model = SVC().fit(X, Y)
    assert model.gram_.startswith("DeviceGram(")
    model.predict(X)
    assert model in PREPARED
    assert SVC(device="cpu").fit(X, Y).gram_.startswith("HeldGram(")
    assert isinstance(SVCCV([1.0], cv=2).fit(X, Y).predict(X), np.ndarray)


def test_auto_stays_on_the_cpu_for_a_small_problem(gpu):
    model = SVC().fit(X, Y)
    model.predict(X)
    assert model.gram_.startswith("HeldGram(")
    assert model not in PREPARED


def test_kernel_values_that_are_too_coarse_are_computed_again_in_float64(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.kernels.gram.device_prepared.SMALL", 0)
    coarse = SVC(gamma=0.5, device="cuda").fit(X, Y)
    assert "float32" in coarse.gram_

    model = SVC(C=1e6, gamma=0.5, device="cuda").fit(X, Y)

    assert "float64" in model.gram_
    assert model._kernel_tolerance < 1e-9
    assert set(model.stop_) == {"tol"}
    assert model.violation_.max() <= model.tol
    assert model.dual_gap_.max() <= 1e-3
    assert len(np.setxor1d(model.support_, SVC(C=1e6, gamma=0.5).fit(X, Y).support_)) <= 2


def test_a_fit_that_is_stopped_is_not_begun_again_in_float64(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.kernels.gram.device_prepared.SMALL", 0)
    solve = svc_fit.SvcOptions.solve

    def stop_afterwards(self, gram, problems, monitor):
        found = solve(self, gram, problems, monitor)
        monitor.cancel()
        return found

    monkeypatch.setattr(svc_fit.SvcOptions, "solve", stop_afterwards)
    with pytest.warns(Warning, match="SVC was stopped; .* a relative duality gap of up to"):
        model = SVC(C=1e6, gamma=0.5, device="cuda").fit(X, Y)
    assert "float32" in model.gram_
    assert set(model.stop_) == {"stopped"}
    assert model.dual_gap_.min() > 1e-3


def test_the_search_gives_the_same_table_on_a_gpu(gpu):
    how = {"Cs": [1, 10], "gammas": [0.0005, 0.002], "cv": 2}
    on_cpu = SVCCV(device="cpu", **how).fit(IMAGES, DIGITS)

    on_gpu = SVCCV(device="cuda", **how).fit(torch.as_tensor(IMAGES), torch.as_tensor(DIGITS))

    mine, other = on_gpu.cv_results_["mean_test_score"], on_cpu.cv_results_["mean_test_score"]
    np.testing.assert_allclose(mine, other, atol=1 / 75)
    assert on_gpu.best_params_ == on_cpu.best_params_
    assert on_gpu.best_estimator_.device == "cuda"
    assert on_gpu.best_estimator_.gram_.startswith("DeviceGram(")
    found = on_gpu.predict(torch.as_tensor(IMAGES))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), on_cpu.predict(IMAGES))


@pytest.mark.parametrize("own", ["auto", "cpu", "cuda"])
def test_an_estimator_that_has_its_own_device_keeps_it(own):
    search = SVCCV(estimator=SVC(device=own), device="cpu")

    assert search._model().device == ("cpu" if own == "auto" else own)
    assert search.estimator.device == own


@pytest.mark.parametrize(
    "search",
    [
        SVCCV([1.0], cv=2),
        KernelPerceptronCV([Gaussian(0.5)], cv=2, estimator=KernelPerceptron(min_gain=0.1)),
    ],
    ids=lambda m: type(m),
)
def test_a_search_works_where_it_is_told_to_after_its_fit(search, gpu):
    search = clone(search).set_params(device="cuda").fit(X, Y)
    best = getattr(search, "best_estimator_", None) or search.estimator_
    expected = search.predict(X)
    for device in ("cpu", "cuda", "auto"):
        np.testing.assert_array_equal(search.set_params(device=device).predict(X), expected)
        assert best.device == device
    with pytest.raises(ParameterError, match=r"`device` of .*CV must be one of"):
        search.set_params(device="gpu").predict(X)


def test_a_decision_around_a_machine_takes_tensors_as_arrays(gpu):
    machine = SVC(calibration="sigmoid", random_state=0, device="cuda")
    y, two = torch.as_tensor(Y), torch.as_tensor((Y == 2).astype(int))
    plain, model = BayesDecision(machine).fit(X, Y), BayesDecision(machine).fit(TENSOR, y)
    np.testing.assert_array_equal(model.predict(TENSOR), plain.predict(X))
    assert model.score(TENSOR, y, torch.ones(len(y))) == plain.score(X, Y)
    assert model.mean_cost(TENSOR, y) == plain.mean_cost(X, Y)
    tuned = BayesDecision(machine, threshold="tune", cv=2).fit(TENSOR, two)
    assert (
        tuned.threshold_ == BayesDecision(machine, threshold="tune", cv=2).fit(X, Y == 2).threshold_
    )


METHODS = ("predict", "decision_function", "boundary_scores", "predict_proba", "predict_log_proba")
PERCEPTRON = KernelPerceptron(min_gain=0.1)
MODELS = [
    *(SVC(calibration="sigmoid", random_state=0), SVCCV([1.0], cv=2), PERCEPTRON),
    *(KernelPerceptronCV([Gaussian(0.5)], cv=2, estimator=PERCEPTRON), KNeighborsClassifier()),
]


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_results_for_tensors_are_tensors_and_for_arrays_arrays(model, device, gpu):
    y, weights = torch.as_tensor(Y), torch.linspace(0, 1, len(Y))
    model = clone(model).set_params(device=device).fit(TENSOR, y)
    for method in [name for name in METHODS if hasattr(model, name)]:
        plain, tensor = getattr(model, method)(X), getattr(model, method)(TENSOR)
        assert isinstance(plain, np.ndarray)
        assert isinstance(tensor, torch.Tensor)
        assert tensor.device == TENSOR.device
        np.testing.assert_array_equal(tensor.numpy(), plain)
    assert model.score(TENSOR, y, weights) == model.score(X, Y, weights.numpy())
    assert not any(isinstance(value, torch.Tensor) for value in vars(model).values())
    words = np.array(["one", "two", "three"])[Y]
    assert isinstance(model.fit(TENSOR, words).predict(TENSOR), np.ndarray)


def test_an_explanation_of_tensors_is_the_same_in_tensors(gpu):
    model = SVC(device="cuda").fit(X, Y)

    plain, tensors = model.explain(X[:5], 3), model.explain(TENSOR[:5], 3)

    for one, other in zip(plain, tensors, strict=True):
        assert isinstance(other, torch.Tensor)
        np.testing.assert_array_equal(other.numpy(), one)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8"])
def test_gamma_scale_of_a_tensor_is_that_of_the_array(dtype, monkeypatch):
    monkeypatch.setattr("separatrix.kernels.names.ROWS_AT_ONCE", 7)
    values = (10 * X).astype(dtype)

    found = resolve_kernel("SVC", "rbf", torch.as_tensor(values))

    assert found.gamma == pytest.approx(resolve_kernel("SVC", "rbf", values).gamma, rel=1e-12)


def test_votes_of_tensors_are_those_of_arrays(monkeypatch):
    rng = np.random.default_rng(0)
    S = rng.integers(-2, 3, size=(50, 10)).astype(float)
    order = np.array([3, 0, 4, 1, 2])
    for most in (64, 2):  # by one product, and pair by pair
        monkeypatch.setattr("separatrix.estimators.base.multiclass.MATRIX_UP_TO", most)
        for ties in ("lowest", "margin"):
            mine = decision_values(torch.as_tensor(S), 5, "ovo", ties)
            np.testing.assert_array_equal(mine.numpy(), decision_values(S, 5, "ovo", ties))
            np.testing.assert_array_equal(winners(mine).numpy(), winners(mine.numpy()))
        for given in (None, order):
            found = vote(torch.as_tensor(S), 5, "ovo", given)
            np.testing.assert_array_equal(found.numpy(), vote(S, 5, "ovo", given))
    for given in (None, np.array([1, 0])):
        two = vote(torch.as_tensor(S[:, :1]), 2, "ovo", given)
        np.testing.assert_array_equal(two.numpy(), vote(S[:, :1], 2, "ovo", given))


def test_the_support_stays_on_the_gpu_between_predictions(gpu):
    model = SVC(device="cuda", gamma=0.5).fit(X, Y)
    first = model.predict(TENSOR)
    kept = PREPARED[model].floats[0]

    again = model.predict(TENSOR)

    assert PREPARED[model].floats[0] is kept
    np.testing.assert_array_equal(again, first)
    model.fit(X[:100], Y[:100])
    np.testing.assert_array_equal(model.predict(X), SVC(gamma=0.5).fit(X[:100], Y[:100]).predict(X))
    assert PREPARED[model].floats[0] is not kept


def test_samples_far_away_are_scored_in_the_precision_they_need(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.kernels.gram.device_prepared.SMALL", 0)
    model = SVC(kernel="linear", device="cuda").fit(X, Y)
    near = model.decision_function(X)
    far = np.concatenate([X, 1e25 * X[:3]])

    found = model.decision_function(far)

    assert PREPARED[model].floats[0].dtype == np.float32
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:150], near, atol=1e-3)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_has_nothing_on_a_gpu(copied, gpu):
    model = SVC(device="cuda").fit(X, Y)
    expected = model.predict(X)
    assert model in PREPARED

    found = copied(model)

    assert found not in PREPARED
    assert model in PREPARED
    found.device = "cpu"
    np.testing.assert_array_equal(found.predict(X), expected)


def test_a_model_file_does_not_say_where_to_work(gpu, tmp_path):
    plain = SVC(device="cpu").fit(X, Y)
    for name, model in (("one", SVC(device="cuda")), ("many", SVCCV([1.0], cv=2, device="cuda"))):
        model.fit(X, Y).predict(X)
        found = load(save(model, tmp_path / name))
        assert found.device == "auto"
        assert found.get_params().get("estimator__device", "auto") == "auto"
        np.testing.assert_array_equal(found.predict(X), plain.predict(X))
        found.set_params(device="cuda")
        np.testing.assert_array_equal(found.predict(TENSOR), plain.predict(X))


def test_samples_that_may_not_be_written_to_are_taken(gpu):
    fixed = X.copy()
    fixed.flags.writeable = False
    model = SVC(device="cuda").fit(fixed, Y)
    np.testing.assert_array_equal(model.predict(fixed), SVC().fit(X, Y).predict(X))


def test_sparse_support_vectors_that_may_not_be_written_to_are_copied(gpu):
    model = SVC(gamma=0.5, device="cuda").fit(csr_array(X), Y)
    values = model.support_vectors_.data
    assert not values.flags.writeable

    found = to_device(model.support_vectors_, torch.device("cpu"))

    assert found.values.data_ptr() != values.ctypes.data
    np.testing.assert_array_equal(found.values.numpy(), values)
    np.testing.assert_array_equal(model.predict(X), SVC(gamma=0.5).fit(X, Y).predict(X))


@pytest.fixture
def both():
    """The two estimators, with device="cuda"."""
    return [SVC(device="cuda"), SVCCV(Cs=[1.0], cv=2, device="cuda")]


def refused(models, kind, match, samples=X, labels=Y, **more):
    for model in models:
        before = dict(vars(model))
        with pytest.raises(kind, match=match) as caught:
            model.fit(samples, labels, **more)
        assert "\n" not in str(caught.value)
        assert vars(model) == before


@pytest.mark.parametrize(
    ("installed", "available", "sentence"),
    [
        (False, False, r"torch, which is not installed; .*pip install 'separatrix\[gpu\]'"),
        (True, False, "needs a GPU, and torch .* finds none"),
        (True, True, "GTX 1080 has compute capability 6.1, and at least 7.0 is needed"),
    ],
)
def test_without_a_usable_gpu_cuda_is_refused(installed, available, sentence, both, monkeypatch):
    if not installed:
        monkeypatch.setattr(backends.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (6, 1))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "GTX 1080")
    refused(both, DeviceError, sentence)


def test_a_gpu_that_cannot_be_used_is_said_once_by_auto(monkeypatch, all_is_worth_it):
    monkeypatch.setattr(backends, "has_driver", lambda: True)
    monkeypatch.setattr(backends, "_warned", set())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.warns(RuntimeWarning, match="finds none.* SVC runs on the CPU"):
        model = SVC().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y).predict(X)


def test_tensors_on_several_devices_are_refused(both):
    other = torch.empty(len(Y), device="meta")
    message = "X is on cpu, but other input is on meta; move all of it to one device"
    refused(both, DataError, message, TENSOR, other)
    refused([KNeighborsClassifier(), KernelPerceptron()], DataError, message, TENSOR, other)
    with pytest.raises(DataError, match=message):
        KernelPerceptron().partial_fit(TENSOR, other, classes=[0, 1])
    refused(both, DataError, message, TENSOR, torch.as_tensor(Y), sample_weight=other)


def test_a_tensor_on_a_gpu_is_refused_where_cpu_was_asked_for():
    on_gpu = torch.empty((150, 4), device="meta")
    message = "X is on meta, but .*'cpu'"
    refused([SVC(device="cpu"), SVCCV(device="cpu")], DataError, message, on_gpu)
    with pytest.raises(DataError, match=message):
        SVC(device="cpu").fit(X, Y).predict(on_gpu)


def test_a_model_without_a_device_says_so_of_a_tensor_on_a_gpu():
    on_gpu = torch.empty((150, 4), device="meta")
    message = "X is on meta, but NearestCentroid works on arrays in memory; pass X.cpu()"
    refused([NearestCentroid()], DataError, message, on_gpu)
    with pytest.raises(DataError, match="X is on meta, but NearestCentroid"):
        NearestCentroid().fit(X, Y).predict(on_gpu)


def test_a_model_without_a_device_takes_tensors_as_arrays():
    plain = NearestCentroid().fit(X, Y)
    found = NearestCentroid().fit(TENSOR, torch.as_tensor(Y))
    np.testing.assert_array_equal(found.centroids_, plain.centroids_)
    np.testing.assert_array_equal(found.predict(TENSOR), plain.predict(X))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64, torch.bool])
def test_tensors_that_are_too_coarse_are_refused(dtype, both, gpu):
    name = str(dtype).removeprefix("torch.")
    refused(both, DataError, rf"X holds {name}, .* pass X.float\(\)", TENSOR.to(dtype))


def test_half_precision_arrays_are_refused_on_a_gpu_and_taken_on_the_cpu(
    both, gpu, all_is_worth_it
):
    half = X.astype(np.float16)
    refused(both, DataError, r"X holds float16, .* pass X.astype\('float32'\)", half)
    assert SVC().fit(half, Y).gram_.startswith("HeldGram(")
    assert SVC(device="cpu").fit(torch.as_tensor(half), Y).score(half, Y) > 0.9


@pytest.mark.parametrize(
    ("samples", "match"),
    [
        (TENSOR[:, 0], "Expected 2D array, got 1D array"),
        (TENSOR[:0], "0 sample"),
        (TENSOR[:, :0], "0 feature"),
        (torch.where(TENSOR > 7.8, torch.nan, TENSOR), "Input X contains NaN"),
        (torch.where(TENSOR > 7.8, torch.inf, TENSOR), "Input X contains infinity"),
        (TENSOR[:100], "X has 100 samples, but y has 150 labels"),
        (TENSOR.to_sparse(), r"sparse tensor; pass X.to_dense\(\)"),
    ],
)
def test_a_tensor_is_checked_as_an_array_is(samples, match, both, gpu):
    refused(both, DataError, match, samples)


def test_a_tensor_of_another_width_is_refused(gpu):
    model = SVC(device="cuda").fit(TENSOR, Y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 4 features"):
        model.predict(TENSOR[:, :3])


@pytest.mark.parametrize(
    ("model", "samples", "match"),
    [
        (SVC(kernel=Laplacian(), device="cuda"), csr_array(X), "sparse samples and Laplacian"),
        (SVC(kernel=2.0 * Laplacian(), device="cuda"), X, "Laplacian.* not a function of inner"),
        (SVC(kernel=Spectrum(1), device="cuda"), ["ab", "ba", "cc"] * 50, "Spectrum"),
        (SVC(kernel=lambda A, B: A @ B.T, device="cuda"), X, "cannot run on a GPU with"),
        (SVCCV(kernels=[Linear(), 2.0 * Laplacian()], device="cuda"), X, "Laplacian"),
    ],
)
def test_what_has_no_way_to_a_gpu_is_refused(model, samples, match, gpu):
    refused([model], DeviceError, match, samples)
    model.set_params(device="auto").fit(samples, Y)


def run_out(*_args, **_more):
    raise torch.OutOfMemoryError("a lot of words of torch's")


def test_a_gpu_that_runs_out_of_memory_in_a_fit_is_an_error_or_said_once(
    gpu, monkeypatch, all_is_worth_it
):
    on_cpu = SVC(device="cpu").fit(X, Y)
    monkeypatch.setattr("separatrix.solvers.svm.cuda_chunks.solve_on_device", run_out)
    with pytest.raises(MemoryBudgetError, match="SVC ran out of memory on cpu"):
        SVC(device="cuda").fit(X, Y)

    with pytest.warns(RuntimeWarning, match="ran out of memory.* SVC continues on the CPU"):
        on_gpu = SVC().fit(TENSOR, torch.as_tensor(Y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X, Y)

    np.testing.assert_array_equal(on_gpu.dual_coef_, on_cpu.dual_coef_)
    assert on_gpu.gram_ == on_cpu.gram_


def test_a_gpu_that_runs_out_of_memory_in_a_prediction_is_too(gpu, monkeypatch, all_is_worth_it):
    on_cpu = SVC(device="cpu").fit(X, Y)
    monkeypatch.setattr("separatrix.kernels.gram.device_gram.device_blocks", run_out)
    on_gpu = copy.copy(on_cpu).set_params(device="auto")

    with pytest.warns(RuntimeWarning, match="SVC continues on the CPU"):
        found = on_gpu.decision_function(X)

    np.testing.assert_array_equal(found, on_cpu.decision_function(X))
    with pytest.raises(MemoryBudgetError, match="SVC ran out of memory"):
        on_gpu.set_params(device="cuda").predict(X)


def test_a_gpu_that_runs_out_of_memory_in_a_search_is_too(gpu, monkeypatch, all_is_worth_it):
    how = {"Cs": [1.0, 10.0], "cv": 2}
    on_cpu = SVCCV(device="cpu", **how).fit(X, Y)
    monkeypatch.setattr("separatrix.solvers.svm.cuda_chunks.solve_on_device", run_out)
    with pytest.raises(MemoryBudgetError, match="SVCCV ran out of memory"):
        SVCCV(device="cuda", **how).fit(X, Y)

    with pytest.warns(RuntimeWarning, match="SVCCV continues on the CPU") as said:
        on_gpu = SVCCV(**how).fit(X, Y)

    assert [warning.filename for warning in said] == [__file__]  # not again by the last fit
    for key in on_cpu.cv_results_:
        np.testing.assert_array_equal(on_gpu.cv_results_[key], on_cpu.cv_results_[key])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_interrupted_fit_leaves_the_last_one(device, gpu, monkeypatch):
    model = SVC(device=device).fit(X, Y)
    before, expected = dict(vars(model)), model.decision_function(X)

    def interrupt(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr(svc_fit, "solve_svms", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], Y == 1)

    assert before.keys() <= vars(model).keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.decision_function(X), expected)


def test_a_time_limit_holds_on_a_gpu_too(gpu):
    with pytest.warns(Warning, match="SVC was stopped"):
        model = SVC(C=1e5, gamma=0.001, time_limit=1e-9, device="cuda").fit(IMAGES, DIGITS)
    assert "stopped" in model.stop_
    assert len(model.predict(IMAGES)) == len(IMAGES)


def test_a_grid_search_and_a_pipeline_pass_it_on(gpu):
    piped = make_pipeline(StandardScaler(), SVC(device="cuda"))
    search = GridSearchCV(piped, {"svc__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_[-1].gram_.startswith("DeviceGram(")


def test_a_device_is_set_on_every_model_inside(gpu):
    models = [make_pipeline(StandardScaler(), SVCCV(estimator=SVC())), NearestCentroid()]
    set_device("cuda", *models)
    assert models[0][-1].device == models[0][-1].estimator.device == "cuda"
    with pytest.raises(Exception, match="no part of this model can run on a GPU"):
        set_device("cuda", NearestCentroid())
    set_device("cpu", NearestCentroid())


@pytest.mark.slow
def test_torch_is_not_imported_where_nobody_asked_for_it():
    program = """
import sys
import numpy as np
from separatrix import SVC, SVCCV, KernelPerceptron, KNeighborsClassifier
from separatrix.runtime import device as backends
from separatrix.studies.catalogue import make
backends.has_driver = lambda: False
X = np.random.default_rng(0).normal(size=(4100, 2))
y = (X[:, 0] > 0).astype(int)
for device in ("auto", "cpu"):
    SVC(device=device).fit(X, y).predict(X)
    SVCCV([1.0], cv=2, device=device).fit(X[:100], y[:100]).predict(X)
    KernelPerceptron(min_gain=0.1, device=device).fit(X, y).predict(X)
    KNeighborsClassifier(device=device).fit(np.tile(X, 512), y).predict(np.tile(X[:9], 512))
    make("knn-and-perceptron", device=device)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_support_vectors_of_tensors_are_copied_when_they_are_asked_for(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.estimators.base.kernel_machine.device_name", lambda _: "cuda:0")
    model, plain = SVC(device="cuda").fit(TENSOR, Y), SVC().fit(X, Y)
    assert "support_vectors_" not in vars(model)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert "support_vectors_" not in vars(model)
    for same in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(vars(same)["support_vectors_"], plain.support_vectors_)
    assert model.support_vectors_ is model.support_vectors_


def test_a_fit_that_fails_keeps_support_vectors_that_were_not_copied(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.estimators.base.kernel_machine.device_name", lambda _: "cuda:0")
    model = SVC(device="cuda").fit(TENSOR, Y)
    expected = model.predict(X)

    def refuse(*_):
        raise DataError("after all is kept")

    monkeypatch.setattr("separatrix.estimators.base.svc_training.warn_if_unfinished", refuse)
    with pytest.raises(DataError, match="after all"):
        model.fit(TENSOR[:100], Y[:100])

    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_support_vectors_before_a_fit_are_an_attribute_error():
    with pytest.raises(AttributeError, match="support_vectors_"):
        _ = SVC().support_vectors_
