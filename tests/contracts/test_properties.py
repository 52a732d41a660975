"""Properties of every estimator that is learned from sums over the samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone

from separatrix import (
    BernoulliNB,
    ComplementNB,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    SubgradientSVC,
)

MODELS = [
    LeastSquaresClassifier(0.5),
    LeastSquaresClassifier([0.1, 10.0]),
    LeastSquaresClassifier(max_norm=0.05),
    FisherDiscriminant(ridge=0.1),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis("lsqr", shrinkage=0.3),
    LinearDiscriminantAnalysis("eigen", shrinkage="auto"),
    LinearDiscriminantAnalysis("eigen", 0.3, priors=[0.25, 0.25, 0.5]),
    LinearDiscriminantAnalysis(priors=[0.25, 0.25, 0.5], store_covariance=True),
    QuadraticDiscriminantAnalysis(reg_param=0.3),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.4),
    MultinomialNB(),
    MultinomialNB(alpha=0),
    BernoulliNB(alpha=0, fit_prior=False),
    BernoulliNB(binarize=2.0),
    ComplementNB(norm=True),
    GaussianNB(var_smoothing=0.1),
    LogisticRegression(tol=1e-10),
    LogisticRegression(tol=1e-10, posterior="laplace", intercept_precision=0.1),
]
INCREMENTAL = [model for model in MODELS if hasattr(model, "merge")]


def describe(model):
    return " ".join(repr(model).split())


def problem(seed):
    """Samples of three classes with nonnegative integer features."""
    rng = np.random.default_rng(seed)
    y = np.append(np.repeat(np.arange(3), 4), rng.integers(0, 3, size=18))
    X = rng.integers(0, 4, size=(30, 3)) + np.array([3, 1, 0]) * (y[:, None] == np.arange(3))
    return X.astype(float), y, rng


def outputs(model, X):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.transform(X) if hasattr(model, "transform") else model.decision_function(X)


def assert_same(first, second, X, **more):
    a, b = outputs(first, X), outputs(second, X)
    if hasattr(first, "transform") and not hasattr(first, "predict_proba"):
        a, b = np.abs(a), np.abs(b)  # an axis has no natural sign
    np.testing.assert_allclose(a, b, atol=1e-6, **more)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=describe)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_weight_is_a_repetition_and_weight_0_a_removal(model, seed):
    X, y, rng = problem(seed)
    times = rng.integers(0, 4, size=30)
    times[:12] = np.maximum(times[:12], 1)
    if isinstance(model.get_params().get("ridge"), list):  # leaving out a row leaves out its copies
        times = np.minimum(times, 1)
    weighted = clone(model).fit(X, y, sample_weight=times.astype(float))
    repeated = clone(model).fit(X.repeat(times, axis=0), y.repeat(times))
    assert_same(weighted, repeated, X)
    halves = [(X[part], y[part], times[part]) for part in (slice(0, 12), slice(12, 30))]
    assert_same(weighted, clone(model).fit(halves), X)


@pytest.mark.parametrize("model", MODELS, ids=describe)
def test_sparse_samples_and_memory_maps_give_the_same_model(model, tmp_path):
    X, y, _ = problem(0)
    plain = clone(model).fit(X, y)
    assert_same(plain, clone(model).fit(csr_array(X), y), X)
    np.testing.assert_allclose(outputs(plain, csr_array(X)), outputs(plain, X), atol=1e-6)
    np.save(tmp_path / "X.npy", X)
    assert_same(plain, clone(model).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), X)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=describe)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_row_order_and_class_names_do_not_matter(model, seed):
    X, y, rng = problem(seed)
    order = rng.permutation(30)
    plain = clone(model).fit(X, y)
    assert_same(plain, clone(model).fit(X[order], y[order]), X)
    names = np.array(["pear", "apple", "quince"])
    renamed = clone(model).fit(X, names[y])
    if hasattr(plain, "transform") and not hasattr(plain, "predict"):
        assert_same(plain, renamed, X)
        return
    positions = np.searchsorted(renamed.classes_, names)
    np.testing.assert_allclose(outputs(renamed, X)[:, positions], outputs(plain, X), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("model", INCREMENTAL, ids=describe)
@pytest.mark.filterwarnings("ignore:LinearDiscriminantAnalysis")  # a part may lack full rank
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_merged_parts_equal_one_fit(model, seed):
    X, y, rng = problem(seed)
    full = clone(model).fit(X, y)
    parts = np.array_split(rng.permutation(30), 3)
    if getattr(model, "shrinkage", None) != "auto":  # which needs all rows twice
        models = [clone(model).partial_fit(X[part], y[part], classes=[0, 1, 2]) for part in parts]
        assert_same(full, models[0].merge(*models[1:]), X)
        steps = clone(model)
        for part in parts:
            steps.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert_same(full, steps, X)
        blocks = ((X[part], y[part]) for part in parts)
        assert_same(full, clone(model).partial_fit(blocks, classes=[0, 1, 2]), X)
    assert_same(full, clone(model).fit([(X[part], y[part]) for part in parts]), X)


LINEAR = [
    *(LeastSquaresClassifier(), LinearDiscriminantAnalysis(), LogisticRegression()),
    *(LinearSVC(), Perceptron(), SubgradientSVC(max_iter=50)),
    FisherDiscriminant(threshold="midpoint"),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", LINEAR, ids=describe)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_signed_distance_is_the_distance_to_the_boundary(model):
    X, y, _ = problem(0)
    model = clone(model).fit(X[y < 2], y[y < 2])
    distance = model.signed_distance(X)
    sided = distance != 0
    np.testing.assert_array_equal(distance[sided] > 0, model.predict(X)[sided] == 1)
    gradient = [(model.signed_distance(X[:1] + axis) - distance[:1])[0] for axis in np.eye(3)]
    foot = X[0] - distance[0] * np.array(gradient)
    assert np.linalg.norm(gradient) == pytest.approx(1.0, rel=1e-9)
    assert model.signed_distance(foot[None])[0] == pytest.approx(0.0, abs=1e-9)
