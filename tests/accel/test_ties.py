"""Neighbours at equal distances: labels and probabilities are scikit-learn's, at every call."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from separatrix import accel
from separatrix.accel import counters, neighbor_votes

DIGITS, NUMBERS = load_digits(return_X_y=True)  # whole numbers: some distances are equal
RANDOM = np.random.default_rng(0)
SOME = DIGITS[:600], NUMBERS[:600]
WHOLE = RANDOM.integers(1, 6, (1000, 6)).astype(float)  # most distances are equal
LARGE = (WHOLE[:, 0] + WHOLE[:, 1] > 6).astype(int)
FLOATS = RANDOM.normal(size=(600, 24))
SIGNS = (FLOATS[:, 0] + RANDOM.normal(size=600) > 0).astype(int)
TWICE = np.vstack([FLOATS[:300], FLOATS[:300]])  # each row has a twin, some of the other class
DATA = {
    "digits": SOME,
    "few features": (SOME[0][:, 20:35], SOME[1]),
    "bytes": (SOME[0].astype(np.uint8), SOME[1]),
    "whole numbers": (WHOLE, LARGE),
    "normal": (FLOATS, SIGNS),
    "far from the origin": (FLOATS + 1e7, SIGNS),
    "twins": (TWICE, SIGNS),
    "twins of few features": (TWICE[:, :3], SIGNS),
    "thirds": (WHOLE / 3.0, LARGE),
    "far outliers": (np.vstack([FLOATS[:-1], np.full((1, 24), 1e200)]), SIGNS),
}


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("options", [{}, {"p": 1}, {"algorithm": "brute"}, {"metric": "chebyshev"}])
@pytest.mark.parametrize("name", DATA)
def test_labels_and_probabilities_are_scikit_learns(name, options, k):
    X, y = DATA[name]
    half = len(X) // 2
    model = KNeighborsClassifier(k, **options).fit(X[:half], y[:half])
    theirs = model.predict(X[half:]), model.predict_proba(X[half:])
    with accel.patched(smallest=0):
        ours = model.predict(X[half:]), model.predict_proba(X[half:])
    for found, wanted in zip(ours, theirs, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_only_samples_with_ties_are_handed_over(monkeypatch):
    X, asked = DIGITS[:, 20:35], []  # of whole numbers: searched by a tree
    take = neighbor_votes._safe_indexing
    monkeypatch.setattr(
        neighbor_votes, "_safe_indexing", lambda *given: asked.append(len(given[1])) or take(*given)
    )
    near = KNeighborsClassifier().fit(X[:900], NUMBERS[:900])
    with accel.patched(smallest=0):
        near.predict(X[900:])
    assert 0 < asked[0] < 0.2 * 897
    assert counters.CALLS["KNeighborsClassifier.predict"].served == 1


def test_identical_calls_have_identical_answers():
    model = KNeighborsClassifier(3).fit(WHOLE[:500], LARGE[:500])
    with accel.patched():
        answers = [model.predict(WHOLE[500:]).tolist() for _ in range(12)]
    assert all(answer == answers[0] for answer in answers)


def test_the_votes_of_a_large_batch_are_scikit_learns():
    many = np.vstack([DIGITS[:900]] * 5)
    model = KNeighborsClassifier(5, algorithm="brute").fit(DIGITS[900:], NUMBERS[900:])
    theirs = model.predict_proba(many)
    with accel.patched(smallest=0):
        ours = model.predict_proba(many)
    np.testing.assert_array_equal(ours, theirs)


def test_rows_that_are_changed_in_place_are_seen():
    rows = FLOATS[:300].copy()
    model = KNeighborsClassifier(5, algorithm="brute").fit(rows, SIGNS[:300])
    with accel.patched(smallest=0):
        model.predict(FLOATS[300:])
        model._fit_X *= -1.0
        ours = model.predict(FLOATS[300:])
    np.testing.assert_array_equal(ours, model.predict(FLOATS[300:]))
    assert counters.CALLS["KNeighborsClassifier.predict"].served == 2


def _of_rows(model):
    model._fit_X *= -1.0


def _of_some_rows(model):
    model._fit_X[:100] += 0.3


def _of_the_samples_of_the_program(model):
    model.samples *= np.array([1.0, -1.0, 1.0])


def _of_the_array(model):
    model._fit_X = -model._fit_X


def _of_the_metric(model):
    model.effective_metric_ = "manhattan"


def _of_the_power(model):
    model.set_params(p=1)


def _of_the_name_of_the_metric(model):
    model.set_params(metric="manhattan")


CHANGES = (
    *(_of_rows, _of_some_rows, _of_the_samples_of_the_program, _of_the_array),
    *(_of_the_metric, _of_the_power, _of_the_name_of_the_metric),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_changes_of_a_fitted_model_count_as_in_scikit_learn(algorithm, change):
    """A tree keeps the boxes of its rows, and the metric; without one the parameters count."""
    answers = []
    for switch in (False, True):
        rows = FLOATS[:300, :3].copy()  # scikit-learn keeps this very array
        model = KNeighborsClassifier(5, algorithm=algorithm).fit(rows, SIGNS[:300])
        model.samples = rows
        change(model)
        if switch:
            accel.patch(smallest=0)
        answers.append(model.predict_proba(FLOATS[300:, :3]))
    np.testing.assert_array_equal(*answers)


def test_a_valid_tree_is_served():
    model = KNeighborsClassifier(5, algorithm="kd_tree").fit(FLOATS[:300, :3], SIGNS[:300])
    with accel.patched(smallest=0):
        model.predict(FLOATS[300:, :3])
    assert counters.CALLS["KNeighborsClassifier.predict"].served == 1


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("case", ["a matrix", "a flag for the number of neighbours"])
def test_errors_of_neighbours_are_scikit_learns(case):
    model = KNeighborsClassifier(3, algorithm="kd_tree").fit(FLOATS, SIGNS)
    queries = np.matrix(FLOATS) if case == "a matrix" else FLOATS
    if case != "a matrix":
        model.set_params(n_neighbors=True)
    with pytest.raises(TypeError):
        model.predict(queries)
    with accel.patched(smallest=0), pytest.raises(TypeError):
        model.predict(queries)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["cosine", "nan_euclidean", "hamming", "euclidean"])
def test_types_are_scikit_learns(metric, dtype):
    X = FLOATS[:200].astype(dtype)
    model = KNeighborsClassifier(3, metric=metric).fit(X, SIGNS[:200])
    theirs = model.predict_proba(X), *model.kneighbors(X)
    with accel.patched(smallest=0):
        ours = model.predict_proba(X), *model.kneighbors(X)
    for found, wanted in zip(ours, theirs, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("features", [64, 15, 12])
def test_searches_over_k_have_scikit_learns_scores(features):
    A, y = SOME
    X = {64: A, 15: A[:, 20:35], 12: A[:, 20:32] + RANDOM.normal(size=(600, 12))}[features]
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [2, 5, 9]}, cv=5, return_train_score=True
    )
    theirs = search.fit(X, y).cv_results_
    wanted = cross_val_predict(KNeighborsClassifier(), X, y, cv=5)
    with accel.patched(smallest=0):
        ours = search.fit(X, y).cv_results_
        found = cross_val_predict(KNeighborsClassifier(), X, y, cv=5)
    served = counters.CALLS["KNeighborsClassifier in a search"].served
    assert served == {64: 0, 15: 20, 12: 20}[features]
    np.testing.assert_array_equal(found, wanted)
    for key in theirs:
        if key.startswith("split"):
            np.testing.assert_array_equal(ours[key], theirs[key])
