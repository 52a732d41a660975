"""The promise of the switch: no new error, no changed answer, nor one of what a program does later."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
    validation_curve,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from separatrix import accel
from separatrix.accel import counters
from separatrix.accel.support_vectors import is_definite

X, Y = load_breast_cancer(return_X_y=True)
X, Y = scale(X)[:250], Y[:250]
DIGITS, NUMBERS = load_digits(return_X_y=True)
STRICT = SVC(tol=1e-6)
PIPE = make_pipeline(StandardScaler(), SVC())
FORESTS = Pipeline([("scale", StandardScaler()), ("forest", RandomForestClassifier(2))])
C = {"C": [1, 2]}


class DrawnLate:
    """Draws each split when it is asked for it, without being a generator."""

    def get_n_splits(self, *_, **_groups):
        return 4

    def split(self, X, *_, **_groups):
        return map(self._draw, [len(X)] * 4)

    def _draw(self, n):
        return np.split(np.random.permutation(n), [n // 2])  # noqa: NPY002


class ZippedLate(DrawnLate):
    """The same, as pairs."""

    def split(self, X, *_, **_groups):
        return zip(*[iter(half for split in super().split(X) for half in split)] * 2, strict=True)


OPEN = {"C": [1e-4, 1]}  # of the smaller all coefficients are at their bounds

DRAWING = {
    "a search in processes of which some cells are scikit-learn's": lambda: GridSearchCV(
        SVC(), OPEN, cv=3, n_jobs=2
    ).fit(X, Y),
    "splits that are drawn when they are used": lambda: cross_val_score(SVC(), X, Y, cv=DrawnLate()),
    "pairs that are drawn when they are used": lambda: cross_val_score(SVC(), X, Y, cv=ZippedLate()),
    "steps that draw without a parameter for it": lambda: GridSearchCV(
        make_pipeline(SelectKBest(mutual_info_classif, k=4), RidgeClassifier()),
        {"ridgeclassifier__alpha": [0.1, 1.0]},
        cv=3,
    ).fit(np.round(2 * X), Y),
    "a search": lambda: GridSearchCV(SVC(), C, cv=3).fit(X, Y),
    "a search with a seed": lambda: GridSearchCV(SVC(random_state=1), C, cv=3).fit(X, Y),
    "a search in processes": lambda: GridSearchCV(SVC(), C, cv=3, n_jobs=2).fit(X, Y),
    "scores": lambda: cross_val_score(PIPE, X, Y, cv=3),
    "predictions": lambda: cross_val_predict(SVC(), X, Y, cv=3),
    "curves": lambda: (
        validation_curve(PIPE, X, Y, param_name="svc__C", param_range=[1, 2], cv=3),
        learning_curve(SVC(), *train_test_split(X, Y)[::2], cv=3, train_sizes=[0.5, 1.0]),
    ),
    "neighbours": lambda: cross_val_score(KNeighborsClassifier(), X, Y, cv=3),
    "one fit": lambda: SVC().fit(X, Y),
    "splits that are drawn between fits": lambda: cross_val_score(SVC(), X, Y, cv=ShuffleSplit(4)),
    "a search of forests": lambda: GridSearchCV(FORESTS, {"forest__max_depth": [1, 2]}, cv=3).fit(X, Y),
    "a search of forests of which one fails": lambda: GridSearchCV(
        FORESTS, {"forest__max_depth": [1, -2]}, cv=3
    ).fit(X, Y),
    "models of several kinds": lambda: GridSearchCV(
        FORESTS, [{}, {"forest": [SVC(), KNeighborsClassifier()]}], cv=3
    ).fit(X, Y),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DRAWING)
def test_numbers_that_a_program_draws_later_are_the_same(name):
    """The fits of scikit-learn draw seeds from NumPy's global generator, of which most are not used."""
    drawn = []
    for switch in (False, True):
        np.random.seed(7)  # noqa: NPY002
        if switch:
            accel.patch(smallest=0)
        DRAWING[name]()
        drawn.append(np.random.random_sample(3).tolist())  # noqa: NPY002
    assert drawn[0] == drawn[1]


def test_numbers_that_another_thread_draws_meanwhile_are_drawn_once():
    numbers, done = [], threading.Event()

    def draw():
        while not done.is_set():
            numbers.append(np.random.random_sample())  # noqa: NPY002

    thread = threading.Thread(target=draw)
    with accel.patched(smallest=0):
        thread.start()
        GridSearchCV(PIPE, {"svc__C": [1, 2]}, cv=3).fit(X, Y)
        GridSearchCV(make_pipeline(StandardScaler(), RidgeClassifier()), {}, cv=3).fit(X, Y)
        done.set()
        thread.join()
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "model", [STRICT, make_pipeline(StandardScaler(), STRICT), KNeighborsClassifier()]
)
def test_rows_that_a_split_draws_several_times_count_as_often(model):
    random = np.random.default_rng(0)
    splits = [(random.integers(0, 200, 200), np.arange(190, 250)) for _ in range(4)]
    model = model.set_params(svc__C=0.05) if hasattr(model, "steps") else model
    theirs = cross_val_score(model, X, Y, cv=splits)
    with accel.patched(smallest=0):
        ours = cross_val_score(model, X, Y, cv=splits)
    served = sum(calls.served for calls in counters.CALLS.values())
    assert served == (
        0 if isinstance(model, KNeighborsClassifier) else 4
    )  # rows that are equally near
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("model", [STRICT, KNeighborsClassifier()])
@pytest.mark.parametrize("y", [Y[:, None], pd.DataFrame({"y": Y})], ids=["column", "frame"])
def test_labels_in_a_table_are_left_to_scikit_learn(model, y):
    search = GridSearchCV(model, {}, cv=3)
    theirs = search.fit(X, y).cv_results_["mean_test_score"]
    with accel.patched(smallest=0):
        ours = search.fit(X, y).cv_results_["mean_test_score"]
    assert ours == pytest.approx(theirs)
    name = f"{type(model).__name__} in a search"
    assert dict(counters.CALLS[name].fallbacks) == {"labels that are a table": 1}


def test_scores_that_fail_warn_as_in_scikit_learn():
    found = []
    for switch in (False, True):
        if switch:
            accel.patch(smallest=0)
        with pytest.warns(UserWarning, match="Scoring failed") as caught:
            scores = cross_val_score(SVC(), X, Y, cv=3, scoring="neg_brier_score")
        assert np.isnan(scores).all()
        found.append([str(one.message)[:110] for one in caught])
    assert found[0] == found[1]
    assert "set to nan" in found[0][0]


def test_names_of_features_of_several_types_are_scikit_learns_error():
    frame = pd.DataFrame(X).rename(columns={0: "first"})
    for call in (cross_val_score, cross_val_predict):
        more = {"error_score": "raise"} if call is cross_val_score else {}
        with (
            accel.patched(smallest=0),
            pytest.raises(TypeError, match="Feature names are only supported"),
        ):
            call(SVC(), frame, Y, cv=3, **more)


INDEFINITE = {
    "sigmoid": SVC(kernel="sigmoid", tol=1e-6),
    "a negative constant": SVC(kernel="poly", coef0=-1.0, tol=1e-6),
}


@pytest.mark.parametrize("name", INDEFINITE)
def test_kernels_that_are_not_definite_are_left_to_scikit_learn(name):
    """They have several solutions: each solver finds its own."""
    model = INDEFINITE[name]
    theirs, scores = model.fit(X, Y).decision_function(X), cross_val_score(model, X, Y, cv=3)
    with accel.patched(smallest=0):
        np.testing.assert_allclose(model.fit(X, Y).decision_function(X), theirs, atol=1e-6)
        np.testing.assert_array_equal(cross_val_score(model, X, Y, cv=3), scores)
    reasons = {reason for calls in counters.CALLS.values() for reason in calls.fallbacks}
    assert reasons == {"an indefinite kernel"}


def test_matrices_that_are_not_definite_are_left_to_scikit_learn():
    K = np.tanh(X @ X.T / 30.0)
    model = SVC(kernel="precomputed", tol=1e-6)
    theirs = model.fit(K, Y).n_support_
    with accel.patched(smallest=0):
        np.testing.assert_array_equal(model.fit(K, Y).n_support_, theirs)
        model.fit(X @ X.T, Y)
    assert (counters.CALLS["SVC.fit"].served, counters.CALLS["SVC.fit"].fallbacks.total()) == (1, 1)


@pytest.mark.parametrize(
    ("K", "definite"),
    [
        (np.eye(40), True),
        (np.ones((40, 40)), True),
        (np.zeros((5, 5)), True),
        (X @ X.T, True),
        (X @ X.T - 20.0 * np.eye(250), False),
        (np.diag([*np.linspace(1.0, 2.0, 60), -0.1]), False),
        (np.triu(np.ones((4, 4))), False),
        (DIGITS[:300] @ DIGITS[:300].T, True),
    ],
)
def test_negative_eigenvalues_are_found(K, definite):
    assert is_definite(K) is definite
