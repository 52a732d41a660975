"""Neighbours at equal distances: the votes are those of scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from separatrix import accel
from separatrix.accel import counters
from separatrix.accel.neighbor_search import MOST_TIED

pytestmark = pytest.mark.usefixtures("all_served")

DIGITS, NUMBERS = load_digits(return_X_y=True)  # whole numbers: some distances are equal


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("features", [64, 15])  # by all distances, by a tree
def test_sets_of_neighbours_are_scikit_learns(k, features):
    X = DIGITS if features == 64 else DIGITS[:, 20:35]
    model = KNeighborsClassifier(k).fit(X[400:], NUMBERS[400:])
    wanted = model.kneighbors(X[:400], k + 1)[0]
    assert 0 < np.mean(wanted[:, k] == wanted[:, k - 1]) < MOST_TIED
    theirs = model.kneighbors(X[:400])[1], model.predict_proba(X[:400])
    with accel.patched():
        ours = model.kneighbors(X[:400])[1], model.predict_proba(X[:400])
    assert counters.CALLS["KNeighborsClassifier.kneighbors"].served == 1
    np.testing.assert_array_equal(np.sort(ours[0]), np.sort(theirs[0]))
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_the_votes_of_a_large_batch_are_scikit_learns():
    many = np.vstack([DIGITS[:900]] * 5)
    model = KNeighborsClassifier(5).fit(DIGITS[900:], NUMBERS[900:])
    theirs = model.predict_proba(many)
    with accel.patched():
        ours = model.predict_proba(many)
    np.testing.assert_array_equal(ours, theirs)


def test_cross_validated_predictions_are_scikit_learns():
    theirs = cross_val_predict(KNeighborsClassifier(), DIGITS, NUMBERS, cv=10)
    with accel.patched():
        ours = cross_val_predict(KNeighborsClassifier(), DIGITS, NUMBERS, cv=10)
    np.testing.assert_array_equal(ours, theirs)


def test_searches_over_k_have_scikit_learns_scores():
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [2, 5, 9], "weights": ["uniform", "distance"]}, cv=5
    )
    theirs = search.fit(DIGITS, NUMBERS).cv_results_
    with accel.patched():
        ours = search.fit(DIGITS, NUMBERS).cv_results_
    assert counters.CALLS["KNeighborsClassifier in a search"].served == 30
    for fold in range(5):
        key = f"split{fold}_test_score"
        np.testing.assert_array_equal(ours[key], theirs[key])
