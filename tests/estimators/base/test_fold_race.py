import numpy as np
import pytest
from sklearn.datasets import load_digits

from separatrix import LogisticRegression
from separatrix.estimators.base.fold_race import FoldRace
from separatrix.estimators.base.grid_widening import WideningSearchCV

ROWS = 200
RIGHT = {  # share of the rows of each of three folds that a cell gets right
    "good": (0.9, 0.5, 0.7),
    "near": (0.88, 0.6, 0.8),
    "bad": (0.4, 0.9, 0.9),
}


def run(race, cells, asked):
    def right_rows(some_cells, folds):
        asked.extend((cell, fold) for cell in some_cells for fold in range(3)[folds])
        return [[np.arange(ROWS) < s * ROWS for s in RIGHT[c][folds]] for c in some_cells]

    return race.accuracies(cells, right_rows)


def test_a_cell_that_is_clearly_behind_skips_the_other_folds():
    asked = []
    table = run(FoldRace(3, skips=True), ["good", "near", "bad"], asked)
    assert asked.count(("bad", 0)) == 1
    assert ("bad", 1) not in asked
    np.testing.assert_allclose(table[:2], [RIGHT["good"], RIGHT["near"]])
    np.testing.assert_allclose(table[2], [0.4, 0.0, 0.2])  # half of the rows behind "good"


def test_the_best_cell_of_an_earlier_call_is_remembered():
    asked, race = [], FoldRace(3, skips=True)
    run(race, ["good"], asked)
    np.testing.assert_allclose(run(race, ["bad"], asked), [[0.4, 0.0, 0.2]])
    assert asked[-1] == ("bad", 0)


def test_without_skipping_all_folds_are_run():
    asked = []
    table = run(FoldRace(3, skips=False), list(RIGHT), asked)
    np.testing.assert_allclose(table, list(RIGHT.values()))


def test_a_search_chooses_the_same_cell_with_and_without_a_race():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    model, grid = LogisticRegression(), {"C": [1e-6, 0.1, 1.0]}
    plain, raced = (
        WideningSearchCV(model, grid, cv=3, widen=0, race=race).fit(X, y) for race in (False, True)
    )
    assert raced.best_params_ == plain.best_params_
    assert raced.best_score_ == pytest.approx(plain.best_score_, abs=1e-12)
    one, other = (found.cv_results_["mean_test_score"] for found in (plain, raced))
    assert np.argmax(one) == np.argmax(other)
    assert not np.allclose(one, other)  # a cell was skipped
