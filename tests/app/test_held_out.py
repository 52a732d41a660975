import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, balanced_accuracy_score, confusion_matrix

from separatrix import GaussianNB, LinearDiscriminantAnalysis
from separatrix.app.held_out import HeldOutRows, measure_held_out
from separatrix.app.split_columns import take_column
from separatrix.data.dataset import Dataset
from separatrix.data.splits import stratified_folds
from separatrix.errors import DataError

X, Y = load_breast_cancer(return_X_y=True)
DATA = Dataset("cancer", X, np.array(["sick", "well"])[Y])


def test_numbers_are_scikit_learns_of_models_that_do_not_see_the_rows():
    found = measure_held_out(GaussianNB(), DATA, rows=HeldOutRows(folds=5), seed=0)
    true, guess, areas = [], [], []
    for train, test in stratified_folds(DATA.y, folds=5, seed=0):
        model = GaussianNB().fit(X[train], DATA.y[train])
        true.append(DATA.y[test])
        guess.append(model.predict(X[test]))
        P = model.predict_proba(X[test])[:, 1]
        areas.append(average_precision_score(DATA.y[test] == "well", P) * len(test))
    true, guess = np.concatenate(true), np.concatenate(guess)
    assert found.error == pytest.approx(np.mean(true != guess))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(true, guess))
    assert found.average_precision == pytest.approx(sum(areas) / 569)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(true, guess))
    assert (found.majority, found.majority_error) == ("well", pytest.approx(212 / 569))
    assert found.details() == []


def test_a_rare_class_shows_more_than_an_error_rate():
    keep = np.flatnonzero((Y == 1) | (np.arange(569) % 12 == 0))
    found = measure_held_out(GaussianNB(), DATA.at(keep), rows=HeldOutRows(folds=5), seed=0)
    assert found.rare == ["sick"]
    first, head, *table = found.details()
    assert first.startswith("rare: sick; balanced accuracy ")
    assert head.split() == ["true,", "predicted", "sick", "well"]
    assert [line.split()[0] for line in table] == ["sick", "well"]


def test_a_class_of_one_row_is_learned_but_not_tested():
    y = DATA.y.copy()
    y[0] = "odd"
    single = Dataset("cancer", X, y)
    found = measure_held_out(GaussianNB(), single, rows=HeldOutRows(folds=5), seed=0)
    assert found.rows == 568


def test_groups_stay_together_and_times_go_forward():
    groups = np.arange(569) // 10
    for rows in (HeldOutRows(folds=4, groups=groups), HeldOutRows(test_share=0.25, groups=groups)):
        for train, test in rows.draw(DATA.y, 0)[0]:
            assert not set(groups[train]) & set(groups[test])
    for rows in (HeldOutRows(folds=4, times=groups), HeldOutRows(test_share=0.25, times=groups)):
        for train, test in rows.draw(DATA.y, 0)[0]:
            assert groups[train].max() < groups[test].min()


def test_many_rows_are_not_all_held_out():
    assert HeldOutRows.usual(500, tuned=True) == HeldOutRows(folds=5, asked=False)
    assert HeldOutRows.usual(50_000, tuned=False) == HeldOutRows(0.2, asked=False)


def test_a_column_is_taken_out_of_the_features():
    data = Dataset("a", np.arange(6.0).reshape(2, 3), [0, 1], features=("a", "b", "c"))
    values, rest = take_column(data, "b")
    assert values.tolist() == [1, 4]
    assert rest.X.tolist() == [[0, 2], [3, 5]]
    with pytest.raises(DataError, match="a has no column 'd'"):
        take_column(data, "d")
    assert (
        measure_held_out(
            LinearDiscriminantAnalysis(), DATA, rows=HeldOutRows(test_share=0.5), seed=0
        ).how
        == "a share of 0.5"
    )
