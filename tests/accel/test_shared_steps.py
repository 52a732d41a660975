"""Steps that the candidates of a search have in common are fitted once for each fold; equal tables."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC

from separatrix import accel
from separatrix.accel import counters, shared_steps
from separatrix.accel.shared_steps import LABEL

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[:200], Y[:200]
TEXTS = [
    f"{'spam now' if n % 3 == 0 else 'dear you'} word{n % 7} and word{n % 5}" for n in range(60)
]
LABELS = [n % 3 for n in range(60)]
FITS = []


class Counting(TransformerMixin, BaseEstimator):
    """Scales, and counts its fits."""

    def fit(self, X, y=None):
        FITS.append(len(X))
        return self

    def transform(self, X):
        return X / 100.0


def logistic(*steps):
    return make_pipeline(*steps, LogisticRegression(max_iter=300))


# no name to be pickled by, and an array whose middle is not written out
NAMELESS = FunctionTransformer(lambda A, kept: A, kw_args={"kept": np.arange(2000)})
C = {"logisticregression__C": [0.1, 1.0, 10.0]}
SEARCHES = {
    "chosen features": (
        logistic(StandardScaler(), SelectKBest()), {**C, "selectkbest__k": [3, 9]}, {}, X, Y
    ),
    "training scores": (
        logistic(StandardScaler()), C,
        {"return_train_score": True, "scoring": ["f1", "roc_auc"], "refit": "f1"}, X, Y,
    ),
    "texts": (logistic(TfidfVectorizer()), {**C, "tfidfvectorizer__min_df": [1, 4]}, {}, TEXTS, LABELS),
    "regression": (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1, 10]}, {}, X, Y),
    "a split of flags": (
        logistic(StandardScaler()), C, {"cv": PredefinedSplit(np.arange(200) % 3 - 1)}, X, Y
    ),
    "models from the global generator": (
        make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3)),
        {"randomforestclassifier__max_depth": [1, 2, 4]}, {}, X, Y,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _off_again():
    counters.reset()
    FITS.clear()
    yield
    accel.unpatch()
    counters.reset()


def fitted(search, A, y):
    np.random.seed(3)  # noqa: NPY002
    return clone(search).fit(A, y)


def shared():
    calls = counters.CALLS.get(LABEL)
    return (0, {}) if calls is None else (calls.served, dict(calls.fallbacks))


@pytest.mark.parametrize("name", SEARCHES)
def test_tables_are_the_same(name):
    model, grid, options, A, y = SEARCHES[name]
    search = GridSearchCV(model, grid, **{"cv": 3, **options})
    theirs = fitted(search, A, y)
    with accel.patched():
        ours = fitted(search, A, y)
    cells = len(theirs.cv_results_["params"]) * theirs.n_splits_
    assert shared() == (cells, {})
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, wanted in theirs.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(ours.cv_results_[key], wanted, err_msg=key)
    assert (ours.cv_results_["mean_fit_time"] > 0).all()
    assert repr(ours.best_estimator_) == repr(theirs.best_estimator_)
    np.testing.assert_array_equal(ours.predict(A), theirs.predict(A))


def test_steps_are_fitted_once_for_a_fold():
    search = GridSearchCV(
        make_pipeline(Counting(), Ridge()), {"ridge__alpha": [0.1, 1, 10]}, cv=4, refit=False
    )
    search.fit(X, Y)
    assert len(FITS) == 12
    FITS.clear()
    with accel.patched():
        search.fit(X, Y)
    assert len(FITS) == 4


def test_long_arrays_that_look_alike_are_other_steps():
    wide = np.hstack([X] * 40)  # 1,200 features: NumPy writes the middle of such arrays as dots
    masks = [np.zeros(1200, int), np.zeros(1200, int)]
    masks[0][590:592], masks[1][600:605] = 1, 1
    grid = {"functiontransformer__kw_args": [{"kept": mask} for mask in masks], **C}
    search = GridSearchCV(logistic(FunctionTransformer(_kept)), grid, cv=3)
    theirs = search.fit(wide, Y).cv_results_["mean_test_score"]
    with accel.patched():
        ours = search.fit(wide, Y).cv_results_["mean_test_score"]
    assert shared()[0] == 18
    assert len(set(theirs.tolist())) > 1
    np.testing.assert_array_equal(ours, theirs)


def _kept(values, kept):
    return values[:, kept > 0]


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (logistic(GaussianRandomProjection(5)), {}, "random steps"),
        (
            logistic(GaussianRandomProjection(5, random_state=np.random.RandomState(0))),
            {},
            "a RandomState in the pipeline",
        ),
        (
            make_pipeline(StandardScaler(), LogisticRegression(), verbose=True),
            {},
            "memory or verbose of a pipeline",
        ),
        (logistic(StandardScaler()), {"scoring": lambda m, A, y: m.score(A, y)}, "a function as the score"),
        (logistic(StandardScaler().set_output(transform="pandas")), {}, "steps that return no array"),
        (
            logistic(StandardScaler(), NAMELESS),
            {},
            "steps that cannot be compared",
        ),
    ],
)  # fmt: skip
def test_what_could_differ_is_left_to_scikit_learn(model, options, reason):
    search = GridSearchCV(model, C, cv=3, **options)
    theirs = fitted(search, X, Y)
    with accel.patched():
        ours = fitted(search, X, Y)
    assert shared() == (0, {reason: 1})
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("model", [SVC(), KNeighborsClassifier()])
def test_models_that_are_solved_together_see_the_numbers_that_scikit_learn_draws(
    model, monkeypatch
):
    monkeypatch.setattr("separatrix.accel.dispatch.is_worth_it", lambda seconds, worth: True)
    monkeypatch.setattr("separatrix.accel.dispatch.LOADING", 0.0)
    pipe = Pipeline([("few", GaussianRandomProjection(2)), ("model", model)])
    search = GridSearchCV(pipe, {"few__eps": [0.1, 0.2]}, cv=3)
    theirs = fitted(search, X, Y)
    with accel.patched():
        ours = fitted(search, X, Y)
    assert counters.CALLS["Pipeline in a search"].fallbacks == {"random steps": 1}
    for fold in range(3):
        key = f"split{fold}_test_score"
        np.testing.assert_array_equal(ours.cv_results_[key], theirs.cv_results_[key])


def test_searches_that_need_much_memory_are_left_to_scikit_learn(monkeypatch):
    monkeypatch.setattr(shared_steps, "LARGEST", 1000)
    with accel.patched():
        GridSearchCV(logistic(StandardScaler()), C, cv=3).fit(X, Y)
    assert shared() == (0, {"much memory": 1})


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_candidate_that_fails_is_scikit_learns_own_error():
    search = GridSearchCV(logistic(StandardScaler()), {"logisticregression__C": [1.0, -1.0]}, cv=3)
    with accel.patched(), pytest.warns(match="3 fits failed"):
        scores = search.fit(X, Y).cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [False, True]


def test_a_small_search_is_served_where_workers_would_have_to_start(monkeypatch):
    from separatrix.accel import dispatch, workers

    monkeypatch.setattr(dispatch._Loaded, "served", False)
    monkeypatch.setattr(dispatch._Loaded, "missed", 0.0)
    monkeypatch.setattr(workers, "_starting", lambda parallel: workers.STARTING)
    with accel.patched():
        GridSearchCV(SVC(), {"C": [1, 10]}, cv=3).fit(X, Y)
    assert counters.CALLS["SVC in a search"].served == 6


def test_workers_that_run_cost_nothing_more():
    from sklearn.utils.parallel import Parallel, delayed

    from separatrix.accel.workers import STARTING, _starting

    assert _starting(Parallel(n_jobs=1)) == 0.0
    assert _starting(Parallel(n_jobs=2, backend="threading")) == 0.0
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    with Parallel(n_jobs=2) as jobs:
        assert _starting(jobs) == STARTING
        jobs(delayed(abs)(number) for number in (-1, 2))
        assert _starting(jobs) == 0.0
