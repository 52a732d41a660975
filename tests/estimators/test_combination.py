"""`SVCCV` with kernels combined: the search, the weights and their certificate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from separatrix import SVC, SVCCV
from separatrix.errors import MemoryBudgetError, ParameterError
from separatrix.kernels import Combination, FromCallable, Gaussian, Linear, Polynomial, Spectrum

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_model_is_an_svc_on_the_combined_kernel():
    kernels = [Linear(), Gaussian(0.05), Gaussian(1.0)]
    search = SVCCV([0.1, 1.0], kernels=Combination(kernels), cv=3).fit(X, Y)

    assert search.kernels_ == kernels
    assert search.kernel_weights_.sum() == pytest.approx(1.0)
    assert (search.kernel_weights_ >= 0).all()
    assert 0 <= search.combination_gap_ <= 1e-3
    scales = [np.mean(kernel.diagonal(X)) for kernel in kernels]
    K = sum(
        weight / scale * kernel.block(X, X)
        for weight, scale, kernel in zip(search.kernel_weights_, scales, kernels, strict=True)
    )
    np.testing.assert_allclose(search.best_params_["kernel"].block(X, X), K, rtol=1e-9, atol=1e-9)
    oracle = SVC(C=search.best_params_["C"], kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(search.decision_function(X), oracle.decision_function(K), atol=5e-3)


def test_held_out_rows_take_no_part_in_the_weights():
    kernels = Combination([Linear(), Gaussian(0.1)])
    folds = StratifiedKFold(3)
    search = SVCCV([1.0], kernels=kernels, cv=folds).fit(X, Y)
    rows, left = next(folds.split(X, Y))
    inside = SVCCV([1.0], kernels=kernels, cv=2).fit(X[rows], Y[rows])
    accuracy = np.mean(inside.predict(X[left]) == Y[left])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(accuracy, abs=0.02)


@pytest.mark.parametrize(
    ("params", "count"),
    [({"kernels": "combine"}, 8), ({"kernels": "combine", "gammas": [0.1, 1]}, 2)],
)
def test_the_word_combine_has_kernels_of_its_own(params, count):
    search = SVCCV([1.0], cv=2, **params).fit(X, Y)
    assert len(search.kernels_) == len(search.kernel_weights_) == count
    assert search.score(X, Y) > 0.97


def test_one_kernel_is_the_search_without_a_combination():
    kernel = Gaussian(0.05)  # k(x, x) is 1
    one = SVCCV([0.1, 1.0, 10.0], kernels=Combination([kernel]), cv=3).fit(X, Y)
    plain = SVCCV([0.1, 1.0, 10.0], kernels=[kernel], cv=3).fit(X, Y)
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.006
    )
    assert one.kernel_weights_.tolist() == [1.0]


def test_kernels_on_objects_are_combined():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=40)
    texts = ["".join(rng.choice(list("acgt"), 8)) + ("aag" if c else "ttc") for c in y]
    ending = FromCallable(lambda a, b: float(a[-3:] == b[-3:]))
    search = SVCCV([1.0], kernels=Combination([Spectrum(2), ending]), cv=2).fit(texts, y)
    assert search.kernel_weights_[1] > 0.5
    assert search.score(texts, y) == 1.0


def test_sample_weights_of_0_leave_rows_out():
    used = np.arange(len(Y)) % 4 > 0
    cv = [(np.arange(0, len(Y), 2), np.arange(1, len(Y), 2))]
    kernels = Combination([Linear(), Gaussian(0.1)])
    weighted = SVCCV([1.0], kernels=kernels, cv=cv).fit(X, Y, sample_weight=used.astype(float))
    assert not set(weighted.best_estimator_.support_) & set(np.flatnonzero(~used))


def test_a_file_keeps_the_weights(tmp_path):
    kernels = Combination([Linear(), "rbf", Polynomial(2)])
    search = SVCCV([1.0], kernels=kernels, cv=2).fit(X, Y)
    for slim in (False, True):
        again = sx.load(sx.save(search, tmp_path / "x.model", slim=slim))
        np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
        assert again.kernels == kernels
    again = sx.load(sx.save(search, tmp_path / "x.model"))
    np.testing.assert_array_equal(again.kernel_weights_, search.kernel_weights_)
    assert again.kernels_ == search.kernels_
    assert clone(search).kernels == kernels


def test_another_fit_forgets_the_weights():
    search = SVCCV([1.0], kernels="combine", cv=2).fit(X, Y)
    search.set_params(kernels=[Linear()]).fit(X, Y)
    assert not hasattr(search, "kernel_weights_")


@pytest.mark.parametrize(
    ("params", "error", "sentence"),
    [
        ({"kernels": "combined"}, ParameterError, "must be a list of at least one kernel, or None"),
        ({"kernels": Combination(["precomputed"])}, ParameterError, "must be kernels on samples"),
        (
            {"kernels": "combine", "estimator": SVC(kernel="precomputed")},
            ParameterError,
            "must be None for precomputed values",
        ),
        (
            {"kernels": "combine", "estimator": SVC(cache_size=1)},
            MemoryBudgetError,
            "8 kernel matrices of 178 samples take 1.9 MiB, more than the budget of 1.0 MiB",
        ),
    ],
)
def test_bad_parameters_are_refused(params, error, sentence):
    square = "estimator" in params and params["estimator"].kernel == "precomputed"
    with pytest.raises(error, match=sentence):
        SVCCV([1.0], cv=2, **params).fit(X @ X.T if square else X, Y)
