"""The kernel discriminant is Fisher's, and a Gaussian classifier, in the feature space."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import StandardScaler
from tests.estimators.test_kernel_logistic import squared_features

from separatrix import FisherDiscriminant, KernelFisherDiscriminant, evaluate
from separatrix.data.splits import random_splits
from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.kernels import Gaussian, Normalized, Polynomial, Spectrum

IRIS, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(IRIS)
LINEAR = ("linear", lambda X: X)
QUADRATIC = (Polynomial(2, gamma=1.0, coef0=1.0), squared_features)


@pytest.mark.parametrize(("kernel", "features"), [LINEAR, QUADRATIC], ids=["linear", "quadratic"])
@pytest.mark.parametrize("y", [Y, Y == 1], ids=["three", "two"])
def test_its_coordinates_are_fishers_in_the_explicit_space(kernel, features, y):
    F = features(X)
    linear = FisherDiscriminant(ridge=0.5).fit(F, y)
    model = KernelFisherDiscriminant(kernel=kernel, ridge=0.5).fit(X, y)
    np.testing.assert_allclose(model.transform(X), linear.transform(F), atol=1e-7)
    np.testing.assert_allclose(model.scatter_ratio_, linear.scatter_ratio_, rtol=1e-7)
    assert model.get_feature_names_out()[0] == "kernelfisherdiscriminant0"


@pytest.mark.parametrize(("kernel", "features"), [LINEAR, QUADRATIC], ids=["linear", "quadratic"])
def test_its_probabilities_are_those_of_gaussians_in_the_explicit_space(kernel, features):
    F, ridge = features(X), 0.5
    means = np.array([F[c == Y].mean(axis=0) for c in range(3)])
    within = (F - means[Y]).T @ (F - means[Y]) + ridge * np.eye(F.shape[1])
    inverse = np.linalg.inv(within / len(F))
    away = F[:, None] - means
    expected = softmax(-0.5 * np.einsum("nkd,de,nke->nk", away, inverse, away), axis=1)
    model = KernelFisherDiscriminant(kernel=kernel, ridge=ridge).fit(X, Y)  # equal shares
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-7)


def test_with_equal_priors_the_nearest_mean_wins():
    part = np.r_[0:50, 50:70, 100:150]
    model = KernelFisherDiscriminant(gamma=0.3, priors="uniform").fit(X[part], Y[part])
    Z = model.transform(X)
    nearest = np.linalg.norm(Z[:, None] - model.means_, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    own = KernelFisherDiscriminant(gamma=0.3).fit(X[part], Y[part])
    np.testing.assert_allclose(own.priors_, [50 / 120, 20 / 120, 50 / 120])
    shift = own.decision_function(X) - model.decision_function(X)
    np.testing.assert_allclose(shift, np.broadcast_to(np.log(3 * own.priors_), shift.shape))


def test_class_means_and_spread_are_those_of_the_coordinates():
    model = KernelFisherDiscriminant(gamma=0.3, ridge=1e-6).fit(X, Y)
    Z = model.transform(X)
    for c in range(3):
        np.testing.assert_allclose(model.means_[c], Z[c == Y].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-5)
    away = Z - model.means_[Y]
    assert (np.diag(away.T @ away) / len(Z) < 1.0).all()  # the ridge has a part of it


def test_given_values_sparse_samples_and_strings_are_taken():
    kernel = Gaussian(0.3)
    expected = KernelFisherDiscriminant(kernel=kernel).fit(X[::2], Y[::2]).transform(X)
    given = KernelFisherDiscriminant(kernel="precomputed")
    values = kernel.block(X[::2], X[::2])
    kept = values.copy()
    given.fit(values, Y[::2])
    np.testing.assert_array_equal(values, kept)
    np.testing.assert_allclose(given.transform(kernel.block(X, X[::2])), expected, atol=1e-8)
    sparse = KernelFisherDiscriminant(gamma=0.3).fit(csr_array(X[::2]), Y[::2])
    np.testing.assert_allclose(sparse.transform(csr_array(X)), expected, atol=1e-8)
    words, y = ["acgt" * 3, "aacc" * 3, "ggtt" * 3, "gtgt" * 3, "acca" * 3], [0, 0, 1, 1, 0]
    model = KernelFisherDiscriminant(kernel=Normalized(Spectrum(2)), ridge=0.1).fit(words, y)
    assert model.predict(words).tolist() == y


def test_a_kernel_separates_digits_better_than_a_plane():
    digits, labels = load_digits(return_X_y=True)
    curved = KernelFisherDiscriminant(gamma=0.0005, ridge=0.1).fit(digits[:900], labels[:900])
    plane = KernelFisherDiscriminant(kernel="linear", ridge=0.1).fit(digits[:900], labels[:900])
    scores = [model.score(digits[900:], labels[900:]) for model in (curved, plane)]
    assert scores[0] > scores[1] + 0.02


def test_evaluations_of_many_kernels_are_fits_on_each_split():
    kernels = [Gaussian(0.1), Polynomial(2)]
    splits = random_splits(150, repeats=3, test_size=0.3, seed=1)
    found = evaluate(KernelFisherDiscriminant(), X, Y, kernels=kernels, splits=splits)
    for row, kernel in enumerate(kernels):
        for column, (train, test) in enumerate(splits):
            alone = KernelFisherDiscriminant(kernel=kernel).fit(X[train], Y[train])
            assert found.test_error[row, column] == np.mean(alone.predict(X[test]) != Y[test])
    assert evaluate(KernelFisherDiscriminant(), X, Y == 1, kernels=kernels, folds=3, repeats=2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"ridge": 0}, "`ridge` of KernelFisherDiscriminant must be above 0; got 0"),
        ({"n_components": 3}, "`n_components` .* must be at most k - 1 = 2 for 3 classes; got 3"),
        ({"priors": [0.5, 0.5]}, "`priors` of KernelFisherDiscriminant must be 3 numbers"),
        ({"priors": "even"}, "`priors` of KernelFisherDiscriminant must be"),
    ],
)
def test_wrong_parameters_are_refused(wrong, sentence):
    with pytest.raises(ParameterError, match=sentence):
        KernelFisherDiscriminant(**wrong).fit(X, Y)


def test_a_matrix_beyond_the_budget_is_refused_with_what_to_do():
    with pytest.raises(MemoryBudgetError, match=r"150 samples, which takes 175.8 KiB.*Nystroem"):
        KernelFisherDiscriminant(cache_size=0.1).fit(X, Y)


def test_an_indefinite_kernel_and_classes_with_one_mean_are_refused():
    with pytest.raises(DataError, match="needs a positive semi-definite kernel"):
        KernelFisherDiscriminant(kernel="sigmoid", gamma=1.0).fit(X, Y)
    with pytest.raises(DataError, match="all class means are the same"):
        KernelFisherDiscriminant(kernel="linear").fit(np.zeros((4, 2)), [0, 0, 1, 1])


def test_equal_samples_are_refused_whatever_the_sums_leave():
    """Their class means differ by rounding, which once passed for an axis with a probability of 0.999."""
    for n in range(8, 80):
        y = (np.arange(n) < n // 2).astype(int)
        for value in (1.0, 0.3, 1e-8):
            X = np.full((n, 1), value, dtype=np.float32)
            kernel = Polynomial(2, gamma=1.0 / value**2, coef0=1.0)
            model = KernelFisherDiscriminant(kernel=kernel, ridge=4.0)
            with pytest.raises(DataError, match="all class means are the same"):
                model.fit(X, y)
