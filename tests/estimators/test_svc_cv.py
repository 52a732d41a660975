import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

from separatrix import SVC, SVCCV
from separatrix.estimators import svc_cv
from separatrix.estimators.base.support import class_segments, scores_of_all
from separatrix.estimators.base.svc_path import scores_of_rows, solve_svc_path
from separatrix.kernels import Gaussian, Polynomial
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.runtime.monitor import FitMonitor

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
    with pytest.warns(ConvergenceWarning, match="stopped before all folds were done"):
        search.fit(DIGITS[:600], LABELS[:600])
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


@pytest.mark.parametrize("classes", [2, 5])
def test_a_race_chooses_the_cell_that_all_folds_choose(classes):
    X, y = make_classification(
        500, 8, n_informative=6, n_redundant=0, n_classes=classes, n_clusters_per_class=1,
        class_sep=1.5, random_state=1,
    )  # fmt: skip
    how = {"Cs": (0.1, 1.0, 10.0), "gammas": "scale", "cv": 3, "widen": 2, "search_tol": 0.1}

    plain = SVCCV(**how).fit(X, y)
    raced = SVCCV(**how, race=True).fit(X, y)

    assert raced.best_params_ == plain.best_params_
    assert raced.best_score_ == plain.best_score_
    np.testing.assert_array_equal(raced.predict(X), plain.predict(X))


def test_cells_that_are_clearly_behind_skip_folds(monkeypatch):
    solved = []
    solve = svc_cv.solve_svc_path

    def count(model, gram, n_classes, weights, Cs, *more):
        solved.append(len(weights) * len(Cs))
        return solve(model, gram, n_classes, weights, Cs, *more)

    monkeypatch.setattr(svc_cv, "solve_svc_path", count)
    grid = {"Cs": [1e-4, 1.0, 10.0], "gammas": [1e-6, 0.001], "cv": 3}
    X, y = DIGITS[:600], LABELS[:600]

    raced = SVCCV(**grid, race=True).fit(X, y)
    cells = sum(solved)
    solved.clear()
    plain = SVCCV(**grid).fit(X, y)

    assert sum(solved) == 18 > cells
    assert raced.best_params_ == plain.best_params_


def test_rows_held_out_are_scored_alike_from_errors_and_from_the_kernel():
    X, y = make_classification(300, 6, random_state=0)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    gram = next(iter(SharedProducts(X, segments=class_segments(y, 2)).grams([Gaussian(0.1)])))
    weights = np.ones((2, 300))
    weights[0, ::3] = weights[1, 1::3] = 0.0

    path = solve_svc_path(SVC(), gram, 2, weights, [0.1, 10.0], FitMonitor(), [])

    for number, held in enumerate((np.arange(0, 300, 3), np.arange(1, 300, 3))):
        from_errors = scores_of_rows(path, number, gram, held)
        from_kernel = scores_of_all(path.supports[number], gram, held)
        np.testing.assert_allclose(from_errors, from_kernel, rtol=0, atol=1e-9)
