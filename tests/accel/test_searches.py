"""Searches over shared Gram matrices: tables, choices and messages as scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler, scale
from sklearn.svm import SVC
from tests.blas import blas_threads
from threadpoolctl import threadpool_limits

from separatrix import accel
from separatrix.accel import counters

DIGITS, NUMBERS = load_digits(return_X_y=True)
DIGITS, NUMBERS = DIGITS[:400], NUMBERS[:400]
X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
STRICT = SVC(tol=1e-5)
GRID = {"C": [1, 10, 20], "gamma": [3e-4, 1e-3, "scale"]}  # every boundary has free coefficients
SPIPE = make_pipeline(StandardScaler(), PCA(20, random_state=0), STRICT)

SEARCHES = {
    "plain": (GridSearchCV(STRICT, GRID), DIGITS, NUMBERS),
    "two classes": (GridSearchCV(STRICT, GRID, cv=3), X, Y),
    "kernels": (
        GridSearchCV(
            STRICT,
            [{"kernel": ["linear"], "C": [0.01, 0.1]}, {"kernel": ["rbf", "poly"], "C": [1, 2]}],
            cv=3,
        ),
        X,
        Y,
    ),
    "weights": (
        GridSearchCV(STRICT, {"C": [1, 10], "class_weight": [None, "balanced", {0: 3}]}, cv=3), X, Y
    ),
    "scores": (
        GridSearchCV(
            SVC(tol=1e-7), {"C": [0.1, 1]}, scoring=["accuracy", "roc_auc", "f1"], refit="roc_auc",
            return_train_score=True, cv=3,
        ), X, Y
    ),
    "jobs": (GridSearchCV(STRICT, {"C": [1, 10]}, n_jobs=2, cv=3), X, Y),
    "pipeline": (
        GridSearchCV(SPIPE, {"svc__C": [1, 10], "pca__n_components": [5, 20]}, cv=3), DIGITS, NUMBERS
    ),
    "random": (
        RandomizedSearchCV(
            STRICT, {"C": [0.1, 1, 10], "gamma": [1e-3, 1e-2]}, n_iter=4, random_state=0, cv=3
        ),
        X, Y,
    ),
    "shuffled": (
        GridSearchCV(STRICT, {"C": [1, 10]}, cv=StratifiedKFold(3, shuffle=True, random_state=1)), X, Y
    ),
    "neighbours": (
        GridSearchCV(
            KNeighborsClassifier(),
            {"n_neighbors": [1, 4, 9], "p": [1, 2]},
            return_train_score=True,
        ), X, Y,
    ),
    "neighbours in a pipeline": (
        GridSearchCV(
            make_pipeline(StandardScaler(), KNeighborsClassifier()),
            {"kneighborsclassifier__n_neighbors": [1, 5]}, scoring="neg_log_loss",
        ), X, Y,
    ),
}  # fmt: skip


def served():
    """Calls in searches that separatrix served, and those that scikit-learn did."""
    found = [calls for name, calls in counters.CALLS.items() if "in a search" in name]
    return sum(c.served for c in found), sum(c.fallbacks.total() for c in found)


@pytest.mark.parametrize("name", SEARCHES)
def test_tables_and_choices_are_scikit_learns(name):
    from sklearn.base import clone

    search, A, y = SEARCHES[name]
    theirs = clone(search).fit(A, y)
    with accel.patched(smallest=0):
        ours = clone(search).fit(A, y)
    calls, left = served()
    assert left == 0, counters.report()
    assert calls == len(theirs.cv_results_["params"]) * theirs.n_splits_
    assert sorted(vars(ours)) == sorted(vars(theirs))
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for key, wanted in theirs.cv_results_.items():
        found = ours.cv_results_[key]
        assert type(found) is type(wanted), key
        if "time" in key or "rank" in key or key == "params":
            continue
        if key.startswith("param_"):
            assert found.dtype == wanted.dtype
            assert list(found) == list(wanted)
        else:
            np.testing.assert_allclose(found, wanted, atol=0.003, err_msg=key)
    best = theirs.cv_results_[
        "rank_test_" + (search.refit if search.refit is not True else "score")
    ]
    assert best[ours.best_index_] <= 2
    assert np.mean(ours.predict(A) == theirs.predict(A)) > 0.99


def test_searches_over_several_models_are_served_together():
    """The last step of a pipeline as a parameter; with another model all are scikit-learn's."""
    kinds = [
        {"clf": [SVC(tol=1e-5)], "clf__C": [1, 10]},
        {"clf": [KNeighborsClassifier()], "clf__n_neighbors": [1, 5]},
    ]
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", LinearDiscriminantAnalysis())])
    for grid, calls in ((kinds, 12), ([*kinds, {}], 0)):
        counters.reset()
        search = GridSearchCV(pipeline, grid, cv=3)
        theirs = search.fit(X, Y).cv_results_
        with accel.patched(smallest=0):
            ours = search.fit(X, Y).cv_results_
        assert counters.CALLS["Pipeline in a search"].served == calls
        assert [str(one) for one in ours["params"]] == [str(one) for one in theirs["params"]]
        for fold in range(3):
            key = f"split{fold}_test_score"
            np.testing.assert_array_equal(ours[key], theirs[key])


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_search_with_candidates_that_scikit_learn_refuses_is_its_own():
    search = GridSearchCV(SVC(), {"C": [-1.0, 1.0, 10.0]}, cv=3)
    with pytest.warns(FitFailedWarning):
        theirs = search.fit(X, Y).cv_results_["mean_test_score"]
    with (
        accel.patched(smallest=0),
        pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 9"),
    ):
        ours = search.fit(X, Y).cv_results_["mean_test_score"]
    assert served() == (0, 1)
    np.testing.assert_allclose(ours, theirs)


def test_searches_that_would_need_much_memory_are_left_to_scikit_learn():
    many = np.random.default_rng(0).normal(size=(6000, 2))
    with accel.patched():
        cross_val_score(SVC(tol=1.0), many, many[:, 0] > 0, cv=3)
        cross_val_score(SVC(tol=1.0, cache_size=1), X, Y, cv=3)
    assert served() == (0, 2)
    reasons = counters.CALLS["SVC in a search"].fallbacks
    assert reasons == {"too small": 2} or "much memory" in reasons


def test_candidates_of_a_fold_are_solved_together(monkeypatch):
    """One path in C for each gamma, with all folds; one search of a fold for all numbers of neighbours."""
    from separatrix.accel import neighbor_cells, svc_cells

    paths, searches = [], []
    solve, search = svc_cells.solve_svc_path, neighbor_cells.find_rows
    monkeypatch.setattr(
        svc_cells,
        "solve_svc_path",
        lambda *given: paths.append((len(given[3]), given[4])) or solve(*given),
    )
    monkeypatch.setattr(
        neighbor_cells, "find_rows", lambda *given: searches.append(1) or search(*given)
    )
    with accel.patched(smallest=0):
        GridSearchCV(SVC(), {"C": [10, 1], "gamma": [0.01, 0.1]}, cv=3).fit(X, Y)
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5]}, cv=4).fit(X, Y)
    assert paths == [(3, (10.0, 1.0))] * 2
    assert len(searches) == 4


def test_folds_are_scored_with_blas_on_one_thread(monkeypatch):
    """Its threads wait by spinning: for products so small that took half of a search's processor time."""
    from separatrix.accel import svc_cells

    seen, score = [], svc_cells.scores_of_all

    def watch(*given):
        seen.extend(blas_threads())
        return score(*given)

    monkeypatch.setattr(svc_cells, "scores_of_all", watch)
    with threadpool_limits(2, user_api="blas"), accel.patched(smallest=0):
        GridSearchCV(SVC(), {"C": [1, 10]}, cv=3).fit(X, Y)
    assert set(seen) == {1}


def test_values_of_C_that_bound_nothing_share_their_solution():
    grid = {"C": [1e3, 1e4, 1e6, 1e9]}  # separable: a hard margin for all of them
    search = GridSearchCV(SVC(gamma=1.0), grid, cv=3, scoring="roc_auc")
    theirs = search.fit(X, Y).cv_results_["mean_test_score"]
    with accel.patched(smallest=0):
        ours = search.fit(X, Y).cv_results_["mean_test_score"]
    assert len(set(ours)) == 1
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_cross_validation_is_served_too():
    wanted = cross_val_score(STRICT, X, Y)
    more = cross_validate(STRICT, X, Y, return_train_score=True, cv=3)
    curve = validation_curve(STRICT, X, Y, param_name="C", param_range=[0.1, 1.0], cv=3)
    with accel.patched(smallest=0):
        np.testing.assert_allclose(cross_val_score(STRICT, X, Y), wanted)
        found = cross_validate(STRICT, X, Y, return_train_score=True, cv=3)
        for ours, theirs in zip(
            validation_curve(STRICT, X, Y, param_name="C", param_range=[0.1, 1.0], cv=3),
            curve,
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs)
    assert list(found) == list(more)
    np.testing.assert_allclose(found["train_score"], more["train_score"])
    assert served() == (5 + 3 + 6, 0)


def test_learning_curves_have_folds_of_their_own():
    sizes, *wanted = learning_curve(STRICT, X, Y, cv=3, train_sizes=[0.5, 1.0])
    with accel.patched(smallest=0):
        same, *found = learning_curve(STRICT, X, Y, cv=3, train_sizes=[0.5, 1.0])
    np.testing.assert_array_equal(sizes, same)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def count_hits(y, found):
    return float(np.sum(y == found))


def score_by_samples(model, X, y):
    return float(np.mean(model.predict(X) == y) + 0.0 * X[0, 0])


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (GridSearchCV(SVC(), {"C": [1]}, scoring=score_by_samples), "a function as the score"),
        (
            GridSearchCV(SVC(), {"C": [1]}, scoring=make_scorer(count_hits)),
            "a function as the score",
        ),
        (GridSearchCV(SVC(max_iter=10_000), {"C": [1]}), "max_iter or verbose"),
        (GridSearchCV(SVC(), {"kernel": [lambda A, B: A @ B.T]}), "what is not scikit-learn's own"),
    ],
)
def test_other_searches_are_left_to_scikit_learn(search, reason):
    with accel.patched(smallest=0):
        search.fit(X, Y)
    assert search.best_score_ > 0.8
    assert counters.CALLS["SVC in a search"].fallbacks == {reason: 1}


def test_weights_of_samples_are_left_to_scikit_learn():
    with accel.patched(smallest=0):
        GridSearchCV(SVC(), {"C": [1]}).fit(X, Y, sample_weight=np.ones(len(Y)))
    assert counters.CALLS["SVC in a search"].fallbacks == {"parameters of fit": 1}


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_errors_and_warnings_are_scikit_learns_own():
    with accel.patched(smallest=0):
        with pytest.raises(ValueError, match="The 'C' parameter of SVC must be a float"):
            GridSearchCV(SVC(), {"C": [-1.0]}, error_score="raise").fit(X, Y)
        with pytest.warns(FitFailedWarning, match="fits failed"):
            GridSearchCV(SVC(), {"C": [-1.0, 1.0]}).fit(X, Y)


def test_a_search_is_scikit_learns_where_a_step_writes_into_its_samples():
    """The training samples are then scored as the step has left them."""
    pipe = make_pipeline(MinMaxScaler(copy=False), KNeighborsClassifier())
    theirs = cross_validate(pipe, X[:200], Y[:200], cv=3, return_train_score=True)
    with accel.patched(smallest=0):
        ours = cross_validate(pipe, X[:200], Y[:200], cv=3, return_train_score=True)
    np.testing.assert_array_equal(ours["train_score"], theirs["train_score"])


def test_cells_whose_intercept_rounding_decides_are_scikit_learns():
    """Of classes of equal weight all coefficients may be at their bounds."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(120, 6)), np.arange(120) % 3
    model = SVC(class_weight="balanced", tol=1e-6)
    search = GridSearchCV(model, {"C": [0.01, 0.1, 10.0], "gamma": [0.1]}, cv=3)
    theirs = search.fit(A, b).cv_results_["mean_test_score"]
    counters.reset()
    with accel.patched(smallest=0):
        ours = search.fit(A, b).cv_results_["mean_test_score"]
    assert 0 < counters.CALLS["SVC in a search"].served < 9
    np.testing.assert_array_equal(ours, theirs)
    labels = cross_val_predict(SVC(C=0.01, class_weight="balanced"), A, b)
    with accel.patched(smallest=0):
        np.testing.assert_array_equal(
            cross_val_predict(SVC(C=0.01, class_weight="balanced"), A, b), labels
        )
