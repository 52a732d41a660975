import os
import time

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

from separatrix import SVC, SVCCV
from separatrix.kernels import Gaussian, Polynomial

X, Y = load_iris(return_X_y=True)
DIGITS, LABELS = load_digits(return_X_y=True)
TWICE = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0)


def within_one_row_a_fold(ours, theirs, n):
    folds = sum(name.startswith("split") for name in ours)
    one_row = 1.0 / (n / folds) + 1e-12
    for fold in range(folds):
        name = f"split{fold}_test_score"
        np.testing.assert_allclose(ours[name], theirs[name], atol=one_row)
    np.testing.assert_allclose(ours["mean_test_score"], theirs["mean_test_score"], atol=one_row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samples", "labels", "grid", "cv"),
    [
        (X, Y, {"C": [100.0, 0.1, 1.0], "gamma": [0.01, 0.1, 1.0]}, 5),
        (DIGITS[:800], LABELS[:800], {"C": [1.0, 10.0], "gamma": [5e-4, 2e-3]}, 3),
        (X, Y == 2, {"C": [0.5, 5.0], "gamma": [0.1]}, TWICE),
    ],
)
def test_every_cell_is_that_of_a_grid_search(samples, labels, grid, cv):
    ours = SVCCV(grid["C"], grid["gamma"], cv=cv).fit(samples, labels)
    theirs = GridSearchCV(sklearn.svm.SVC(), grid, cv=cv).fit(samples, labels)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert list(ours.cv_results_["param_C"]) == list(theirs.cv_results_["param_C"])
    within_one_row_a_fold(ours.cv_results_, theirs.cv_results_, len(labels))
    assert ours.best_index_ == int(np.argmax(ours.cv_results_["mean_test_score"]))
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1
    best = SVC(**ours.best_params_).fit(samples, labels)
    np.testing.assert_array_equal(ours.predict(samples), best.predict(samples))
    np.testing.assert_array_equal(ours.decision_function(samples), best.decision_function(samples))


def test_little_memory_weights_and_sparse_samples_change_no_accuracy():
    weights = np.linspace(0.2, 2.0, 150)
    estimator = SVC(class_weight="balanced", multi_class="ovr")
    wanted = SVCCV([0.1, 10], [0.05, 0.5], estimator=estimator).fit(X, Y, sample_weight=weights)
    for model, samples in (
        (SVC(class_weight="balanced", multi_class="ovr", cache_size=0.05), X),
        (SVC(class_weight="balanced", multi_class="ovr", n_jobs=1), X),
        (estimator, csr_array(X)),
    ):
        found = SVCCV([0.1, 10], [0.05, 0.5], estimator=model)
        found.fit(samples, Y, sample_weight=weights)
        np.testing.assert_allclose(
            found.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"]
        )


def test_kernels_instead_of_widths():
    kernels = [Polynomial(2), Gaussian(0.5), "linear"]
    found = SVCCV([1.0, 10.0], kernels=kernels, cv=3).fit(X, Y)
    assert [cell["kernel"] for cell in found.cv_results_["params"][:2]] == kernels[:2]
    inner = SVCCV([1.0], [0.1, 1.0], estimator=SVC(kernel=Gaussian(7.0))).fit(X, Y)
    assert inner.cv_results_["params"][1] == {"C": 1.0, "kernel__gamma": 1.0}
    assert inner.best_estimator_.kernel_.gamma in (0.1, 1.0)


def test_a_ready_matrix_and_only_C():
    K = Gaussian(0.3).block(X, X)
    from_matrix = SVCCV([0.1, 1, 10], estimator=SVC(kernel="precomputed")).fit(K, Y)
    from_samples = SVCCV([0.1, 1, 10], estimator=SVC(kernel=Gaussian(0.3))).fit(X, Y)
    np.testing.assert_array_equal(
        from_matrix.cv_results_["mean_test_score"], from_samples.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(from_matrix.predict(K), from_samples.predict(X))


def test_probabilities_where_the_estimator_has_them():
    assert not hasattr(SVCCV(), "predict_proba")
    search = SVCCV([1.0], estimator=SVC(calibration="sigmoid", random_state=0)).fit(X, Y)
    np.testing.assert_array_equal(search.predict_proba(X).argmax(axis=1), search.predict(X))


@pytest.mark.slow
def test_a_search_out_of_time_says_so_and_leaves_a_model():
    search = SVCCV(np.logspace(-2, 6, 40), np.logspace(-4, 1, 40), time_limit=0.3)
    began = time.process_time()
    with pytest.warns(ConvergenceWarning, match="stopped before all folds were done"):
        search.fit(DIGITS[:600], LABELS[:600])
    assert time.process_time() - began < 3.0 * os.cpu_count()
    assert search.predict(DIGITS).shape == (1797,)


def test_a_loose_tolerance_of_the_search_does_not_reach_the_final_machine():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    grid = {"Cs": [0.1, 1, 10], "gammas": [0.05, 0.5], "cv": 3}

    exact = SVCCV(**grid).fit(X, y)
    loose = SVCCV(**grid, search_tol=0.1).fit(X, y)

    scores = [search.cv_results_["mean_test_score"] for search in (exact, loose)]
    np.testing.assert_allclose(scores[1], scores[0], atol=0.01)
    chosen = SVC(**loose.best_params_).fit(X, y)
    assert loose.best_estimator_.tol == SVC().tol
    np.testing.assert_array_equal(loose.decision_function(X), chosen.decision_function(X))
