"""Steps that the candidates of a search have in common are fitted once for each fold; equal tables."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    BayesianRidge,
    Lars,
    Lasso,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

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


def logistic(*steps):
    return make_pipeline(*steps, LogisticRegression(max_iter=300))


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
    with accel.patched(smallest=0):
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


IN_PLACE = {  # last steps that overwrite their samples
    "ridge": Ridge(copy_X=False),
    "least squares": LinearRegression(copy_X=False),
    "lars": Lars(copy_X=False),
    "lasso by lars": LassoLars(0.01, copy_X=False),
    "lasso": Lasso(0.01, copy_X=False),
    "bayesian ridge": BayesianRidge(copy_X=False),
    "ridge classifier": RidgeClassifier(copy_X=False),
    "partial least squares": PLSRegression(copy=False),
    "principal components": make_pipeline(PCA(4, svd_solver="full", copy=False), Ridge()),
    "a scaler": make_pipeline(MinMaxScaler(copy=False), Ridge(1e-3)),
    "a scaler of sparse rows": make_pipeline(MaxAbsScaler(copy=False), Ridge(1e-3)),
    "norms of sparse rows": make_pipeline(Normalizer(copy=False), Ridge(1e-3, solver="lsqr")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_PLACE)
def test_candidates_that_work_in_place_see_the_samples_as_they_were(name):
    A, y = load_diabetes(return_X_y=True)
    y = (y > 150).astype(int) if name == "ridge classifier" else y
    A = csr_array(np.where(A > 0.02, A, 0.0)) if "sparse" in name else A
    first = MaxAbsScaler() if "sparse" in name else MinMaxScaler()
    last = IN_PLACE[name]
    search = GridSearchCV(
        Pipeline([("first", first), ("last", last)]),
        {"last": [last, clone(last), clone(last)]},
        cv=3,
        return_train_score=True,
    )
    theirs = fitted(search, A.copy(), y.copy()).cv_results_  # the refit overwrites them
    with accel.patched(smallest=0):
        ours = fitted(search, A.copy(), y.copy()).cv_results_
    assert shared() == (9, {})
    for key, wanted in theirs.items():
        if key.startswith("split"):
            np.testing.assert_array_equal(ours[key], wanted, err_msg=key)


class Loud(StandardScaler):
    """Scales, and counts its fits."""

    def fit(self, X, y=None, sample_weight=None):
        FITS.append(len(X))
        return super().fit(X, y, sample_weight)


def test_steps_and_models_of_the_program_itself_are_fitted_as_often_as_before():
    search = GridSearchCV(make_pipeline(Loud(), Ridge()), {"ridge__alpha": [0.1, 1, 10]}, cv=4)
    search.fit(X, Y)
    fits = len(FITS)
    with accel.patched(smallest=0):
        search.fit(X, Y)
    assert len(FITS) == 2 * fits == 26


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (logistic(GaussianRandomProjection(5)), {}, "random steps"),
        (
            logistic(GaussianRandomProjection(5, random_state=np.random.RandomState(0))),
            {},
            "what is not scikit-learn's own",
        ),
        (
            make_pipeline(StandardScaler(), LogisticRegression(), verbose=True),
            {},
            "verbose",
        ),
        (logistic(StandardScaler()), {"scoring": lambda m, A, y: m.score(A, y)}, "a function as the score"),
        (logistic(StandardScaler().set_output(transform="pandas")), {}, "steps that return no numbers"),
    ],
)  # fmt: skip
def test_what_could_differ_is_left_to_scikit_learn(model, options, reason):
    search = GridSearchCV(model, C, cv=3, **options)
    theirs = fitted(search, X, Y)
    with accel.patched(smallest=0):
        ours = fitted(search, X, Y)
    assert shared() == (0, {reason: 1})
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize(
    ("step", "A", "least"),
    [(StandardScaler(), X, 200 * 30 * 8), (TfidfVectorizer(ngram_range=(1, 3)), TEXTS, 10_000)],
    ids=["samples", "a vocabulary"],
)
def test_searches_that_need_much_memory_are_left_to_scikit_learn(monkeypatch, step, A, least):
    """Of all folds together, what the steps learned included."""
    y = LABELS if A is TEXTS else Y
    for limit, answer in ((3 * least, (0, {"much memory": 1})), (2**26, (9, {}))):
        counters.reset()
        monkeypatch.setattr(shared_steps, "LARGEST", limit)
        with accel.patched(smallest=0):
            GridSearchCV(logistic(step), C, cv=3).fit(A, y)
        assert shared() == answer


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_candidate_that_fails_is_scikit_learns_own_error():
    search = GridSearchCV(logistic(StandardScaler()), {"logisticregression__C": [1.0, -1.0]}, cv=3)
    with accel.patched(smallest=0), pytest.warns(match="3 fits failed"):
        scores = search.fit(X, Y).cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [False, True]
