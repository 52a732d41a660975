"""Scores of new samples: equal to sums of kernel values, for every kernel, precision and thread count."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import separatrix.estimators.base.support_scores as support_scores
from separatrix import SVC, KernelLogisticRegression, OneClassSVM
from separatrix.kernels import Gaussian, Linear, Polynomial, Sigmoid

DIGITS = load_digits(return_X_y=True)
KERNELS = [
    Gaussian(1e-3),
    Polynomial(3, 1e-3, 1.0),
    Linear(),
    Sigmoid(1e-4),
    Gaussian(1e-3) + Linear(),
]


def exact(model, X):
    """Scores by the definition, in float64."""
    K = model.kernel_.block(X, model.support_vectors_)
    return K @ model._support.columns().T + model.intercept_


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("classes", "scheme"), [(2, "ovo"), (5, "ovo"), (10, "ovr")])
def test_scores_are_sums_of_kernel_values(kernel, classes, scheme):
    X, y = DIGITS
    few = y < classes
    model = SVC(C=5, kernel=kernel, multi_class=scheme, n_jobs=2).fit(X[few][:300], y[few][:300])
    expected = exact(model, X)
    np.testing.assert_allclose(model.boundary_scores(X), expected, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", 2.0 * Gaussian(0.3)], ids=["compiled", "composed"])
def test_float32_scores_of_tiles_are_within_the_tolerance_and_alike_on_all_threads(
    kernel, monkeypatch
):
    monkeypatch.setattr(support_scores, "SMALL", 0)
    monkeypatch.setattr(support_scores, "COLUMNS", 50)
    monkeypatch.setattr(support_scores, "TILE_WORK", 2**10)
    X, y = DIGITS[0] / 16, DIGITS[1]
    model = SVC(C=5, kernel=kernel).fit(X[:500], y[:500])
    found = [model.set_params(n_jobs=jobs).boundary_scores(X) for jobs in (1, 2, 5)]
    np.testing.assert_allclose(found[0], exact(model, X), atol=1e-3)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_features_that_no_support_vector_has_count_in_distances():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2
    X[:, 3:7] = 0.25  # constant in training only
    model = SVC(kernel=Gaussian(0.1)).fit(X, y)
    asked = rng.normal(size=(20, 8))
    np.testing.assert_allclose(model.boundary_scores(asked), exact(model, asked), atol=1e-12)


def test_another_fit_or_other_vectors_are_prepared_anew():
    X, y = DIGITS
    model = SVC(gamma=1e-3).fit(X[:200], y[:200])
    model.predict(X)
    model.fit(X[200:400], y[200:400])
    np.testing.assert_allclose(model.boundary_scores(X), exact(model, X), atol=1e-9)
    model.support_vectors_ = model.support_vectors_ + 1.0
    np.testing.assert_allclose(model.boundary_scores(X), exact(model, X), atol=1e-9)


@pytest.mark.parametrize("copied", [False, True], ids=["fitted", "copied"])
@pytest.mark.parametrize("model", [SVC(), OneClassSVM(), KernelLogisticRegression()])
def test_what_predictions_were_prepared_from_cannot_be_changed_in_place(model, copied):
    X, y = DIGITS[0][:200].copy(), DIGITS[1][:200]
    fitted = clone(model).fit(X, y)
    fitted = pickle.loads(pickle.dumps(fitted)) if copied else fitted
    for name in ("dual_coef_", "intercept_", "support_vectors_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(fitted, name)[:] = 0.0
    assert X.flags.writeable
    fitted.fit(X, y)
