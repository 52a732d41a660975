"""The kernel perceptron on a GPU, for which torch's CPU device stands in."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import KernelPerceptron, KernelPerceptronCV, evaluate
from separatrix.errors import DataError, DeviceError, ParameterError
from separatrix.estimators import kernel_perceptron_cv
from separatrix.estimators.base import perceptron_fit
from separatrix.estimators.base.multiclass import LabelledGram, RowsClassified
from separatrix.kernels import Linear, Polynomial, Spectrum

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

KERNEL = Polynomial(2, coef0=1.0)
RULES = ("argmax", "ovr", "ovo")
FITTED = ("support_", "support_vectors_", "alpha_", "mistakes_", "learning_curve_", "classes_")


@pytest.fixture(autouse=True)
def small_blocks(gpu, monkeypatch):
    monkeypatch.setattr("separatrix.solvers.perceptron.cuda_blocks.BLOCK", 32)


@pytest.fixture
def samples():
    """Whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(120, 3)).astype(float)
    return X, np.argmax(X + rng.integers(-1, 2, X.shape), axis=1) + 5


def both(X, y, *, weights=None, **parameters):
    found = []
    for device in ("cpu", "cuda"):
        model = KernelPerceptron(**({"kernel": KERNEL, "max_iter": 4} | parameters), device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(model.fit(X, y, sample_weight=weights))
    return found


def assert_same_model(on_gpu, on_cpu, X):
    for name in FITTED:
        assert isinstance(getattr(on_gpu, name), np.ndarray)
        np.testing.assert_array_equal(getattr(on_gpu, name), getattr(on_cpu, name))
    assert (on_gpu.n_iter_, on_gpu.stop_) == (on_cpu.n_iter_, on_cpu.stop_)
    np.testing.assert_array_equal(on_gpu.predict(X), on_cpu.predict(X))
    np.testing.assert_allclose(
        on_gpu.decision_function(X), on_cpu.decision_function(X), rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
@pytest.mark.parametrize("multi_class", RULES)
def test_a_model_on_a_device_is_that_of_the_cpu(multi_class, predictor, samples):
    X, y = samples

    on_cpu, on_gpu = both(X[:80], y[:80], multi_class=multi_class, predictor=predictor)

    assert "DeviceGram" in on_gpu.gram_
    assert_same_model(on_gpu, on_cpu, X[80:])


@pytest.mark.parametrize(
    "parameters",
    [
        {"shuffle": False},
        {"min_gain": 0.01, "min_iter": 2, "max_iter": 50},
        {"kernel": Linear(), "eta0": 0.5},
        {"multi_class": "ovo", "ties": "margin"},
    ],
)
def test_parameters_mean_the_same_on_a_device(parameters, samples):
    X, y = samples

    on_cpu, on_gpu = both(X, y, **parameters)

    assert_same_model(on_gpu, on_cpu, X)


def test_weights_and_two_classes_mean_the_same(samples):
    X, y = samples
    weights = np.random.default_rng(1).integers(0, 3, len(y))

    on_cpu, on_gpu = both(X, y == 5, weights=weights)

    assert_same_model(on_gpu, on_cpu, X)


def test_a_kernel_matrix_may_be_on_a_device(samples):
    X, y = samples
    K = KERNEL.block(X, X)

    on_cpu, on_gpu = both(K, y, kernel="precomputed")
    given = torch.as_tensor(K)

    np.testing.assert_array_equal(on_gpu.predict(K), on_cpu.predict(K))
    np.testing.assert_array_equal(on_gpu.predict(given).numpy(), on_cpu.predict(K))


def test_a_stream_of_tensors_is_learned_from_on_the_cpu(samples):
    X, y = samples
    classes = np.unique(y)
    streamed = KernelPerceptron(KERNEL, shuffle=False, device="cuda")
    for part in (slice(0, 50), slice(50, 120)):
        streamed.partial_fit(torch.as_tensor(X[part]), torch.as_tensor(y[part]), classes)
    plain = KernelPerceptron(KERNEL, shuffle=False, device="cpu", max_iter=1)
    with pytest.warns(ConvergenceWarning):
        plain.fit(X, y)

    np.testing.assert_array_equal(streamed.support_, plain.support_)
    np.testing.assert_array_equal(streamed.predict(X), plain.predict(X))


def test_a_time_limit_ends_a_fit_on_a_device(samples):
    X, y = samples
    model = KernelPerceptron(KERNEL, time_limit=1e-9, device="cuda")

    with pytest.warns(ConvergenceWarning, match="time_limit reached"):
        model.fit(X, y)

    assert (model.stop_, model.n_iter_) == ("stopped", 1)


def test_what_cannot_be_on_a_gpu_is_said(samples):
    X, y = samples
    with pytest.raises(DeviceError, match="cannot run on a GPU with a budget"):
        KernelPerceptron(KERNEL, budget=5, device="cuda").fit(X, y)
    with pytest.raises(DeviceError, match="cannot run on a GPU with Spectrum"):
        KernelPerceptron(Spectrum(2), device="cuda").fit(["aab", "bba"], [0, 1])
    with pytest.raises(ParameterError, match="`device` of KernelPerceptron must be"):
        KernelPerceptron(KERNEL, device="gpu").fit(X, y)
    with pytest.raises(ParameterError, match="`device` of KernelPerceptronCV must be"):
        KernelPerceptronCV([KERNEL], device="gpu").fit(X, y)
    with pytest.raises(DataError, match="float16"):
        KernelPerceptron(KERNEL, device="cuda").fit(X.astype(np.float16), y)


@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
def test_without_support_scores_are_those_of_the_cpu(predictor, samples):
    X, _ = samples
    model = KernelPerceptron(KERNEL, predictor=predictor, device="cuda")
    model.partial_fit(X, np.zeros(len(X)), classes=[0, 1, 2])  # of equal scores the first is right

    scores = model.decision_function(torch.as_tensor(X))

    assert not len(model.support_)
    on_cpu = model.set_params(device="cpu").decision_function(X)
    np.testing.assert_array_equal(scores.numpy(), on_cpu)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_fit_that_fails_leaves_the_last_one(device, samples, monkeypatch):
    X, y = samples
    search = KernelPerceptronCV([KERNEL], cv=2, estimator=KernelPerceptron(min_gain=0.1))
    models = [KernelPerceptron(KERNEL, min_gain=0.1), search]
    for model in models:
        expected = model.set_params(device=device).fit(X, y).predict(X)
        before = dict(vars(model))
        for bad, labels in ((X * np.nan, y), (X, y[:5])):
            with pytest.raises(ValueError, match=r"NaN|inconsistent"):
                model.fit(bad, labels)
        with monkeypatch.context() as patched:
            patched.setattr(perceptron_fit, "fit_on_rows", _interrupted)
            patched.setattr(kernel_perceptron_cv, "_search", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X[:, :2], y)
        assert all(vars(model)[name] is value for name, value in before.items())
        np.testing.assert_array_equal(model.set_params(device="cpu").predict(X), expected)


def _interrupted(*_args, **_more):
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("predictor", ["last", "average", "vote", "random"])
@pytest.mark.parametrize("multi_class", RULES)
def test_runs_classified_at_the_same_time_are_those_classified_alone(
    multi_class, predictor, samples
):
    X, y = samples
    codes = y - 5
    model = KernelPerceptron(KERNEL, multi_class=multi_class, predictor=predictor, max_iter=3)
    shared = pytest.importorskip("separatrix.kernels.gram.shared_products").SharedProducts
    (on_cpu,) = shared(X).grams([KERNEL])
    (on_gpu,) = shared(X, device=torch.device("cpu")).grams([KERNEL])
    runs = [np.arange(60), np.arange(30, 120), np.arange(0, 120, 2)]

    many = list(model.classify_rows_many(LabelledGram(on_gpu, codes, 3), runs))

    rows = np.arange(120)
    for found, run in zip(many, runs, strict=True):
        alone = model.classify_rows(LabelledGram(on_cpu, codes, 3), run)
        assert isinstance(found, RowsClassified)
        np.testing.assert_array_equal(found.codes(rows), alone.codes(rows))
        np.testing.assert_allclose(found.values(rows), alone.values(rows), rtol=1e-12, atol=1e-9)
        assert found.n_iter == alone.n_iter


@pytest.mark.parametrize("multi_class", RULES)
def test_a_search_on_a_device_is_that_of_the_cpu(multi_class, samples):
    X, y = samples
    kernels = [Polynomial(degree, coef0=1.0) for degree in (1, 2, 3)]
    estimator = KernelPerceptron(multi_class=multi_class, max_iter=10, min_gain=0.0)
    on_cpu, on_gpu = (
        KernelPerceptronCV(kernels, cv=3, estimator=estimator, device=device).fit(X, y)
        for device in ("cpu", "cuda")
    )

    assert on_gpu.estimator_.device == "cuda"
    assert on_gpu.best_kernel_ == on_cpu.best_kernel_
    for name in ("mean_test_score", "split0_test_score", "rank_test_score"):
        np.testing.assert_array_equal(on_gpu.cv_results_[name], on_cpu.cv_results_[name])
    np.testing.assert_array_equal(on_gpu.predict(X), on_cpu.predict(X))
    given = torch.as_tensor(X)
    assert torch.equal(on_gpu.predict(given), torch.as_tensor(on_cpu.predict(X)))
    assert on_gpu.score(given, torch.as_tensor(y)) == on_cpu.score(X, y)


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize("multi_class", RULES)
def test_a_study_on_a_device_is_that_of_the_cpu(multi_class, folds, samples):
    X, y = samples
    kernels = [Polynomial(degree, coef0=1.0) for degree in (1, 2)]
    on_cpu, on_gpu = (
        evaluate(
            KernelPerceptron(multi_class=multi_class, max_iter=6, device=device),
            X,
            y,
            kernels=kernels,
            repeats=4,
            folds=folds,
        )
        for device in ("cpu", "cuda")
    )

    np.testing.assert_array_equal(on_gpu.test_error, on_cpu.test_error)
    np.testing.assert_array_equal(on_gpu.train_error, on_cpu.train_error)
    np.testing.assert_array_equal(on_gpu.n_iter, on_cpu.n_iter)
    if folds:
        np.testing.assert_array_equal(on_gpu.fold_error, on_cpu.fold_error)
    for cell, lead in on_cpu.lead.items():
        np.testing.assert_allclose(on_gpu.lead[cell], lead, rtol=1e-9)
        np.testing.assert_array_equal(on_gpu.predicted[cell], on_cpu.predicted[cell])
