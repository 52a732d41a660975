import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, balanced_accuracy_score, confusion_matrix

from separatrix import GaussianNB, LinearDiscriminantAnalysis
from separatrix.app.held_out import HeldOutRows, measure_held_out
from separatrix.app.read_data import read_labelled
from separatrix.data.dataset import Dataset
from separatrix.data.split_columns import take_column, take_groups, take_times
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


@pytest.fixture
def visits(tmp_path):
    """A table whose patients are ids of texts, and whose numbers count the rows."""
    lines = ["id,patient,day,town,weight,sick"]
    for i in range(60):
        day = f"{1 + i % 28:02d}.{1 + i // 28:02d}.2025"
        lines.append(f"{i},P{i:03d},{day},{'abc'[i % 3]},{i * i % 17}.5,{'yn'[i % 2]}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("drop", [None, "id,patient"])
def test_a_column_that_rules_drop_can_split_rows_and_is_then_no_feature(visits, drop):
    file = {"target": "sick", "drop": drop, "progress": False}
    assert read_labelled(str(visits), **file).features == ("day", "town", "weight")
    data = read_labelled(str(visits), keep=["patient"], **file)
    values, rest = take_groups(data, "patient")
    assert values.tolist() == [f"P{i:03d}" for i in range(60)]
    assert rest.features == rest.X.columns == ("day", "town", "weight")
    assert {spec.name for spec in rest.X.specs if not spec.kept} == {"id", "patient"}
    counted, _ = take_groups(read_labelled(str(visits), keep=["id"], **file), "id")
    assert counted.tolist() == list(range(60))


def test_times_of_a_table_are_dates_or_numbers(visits, tmp_path):
    data = read_labelled(str(visits), target="sick", keep=["day"], progress=False)
    times, rest = take_times(data, "day")
    assert rest.features == ("town", "weight")
    order = np.argsort(times, kind="stable")
    assert np.array_equal(order, np.arange(60))
    with pytest.raises(DataError, match=r"'town' of visits\.csv holds texts, not dates or numbers"):
        take_times(data, "town")
    gaps = tmp_path / "gaps.csv"
    gaps.write_text(visits.read_text().replace("03.01.2025", "").replace(",a,", ",,"))
    data = read_labelled(str(gaps), target="sick", progress=False)
    with pytest.raises(DataError, match=r"'day' of gaps\.csv is empty in 1 of 60 rows"):
        take_times(data, "day")
    with pytest.raises(DataError, match=r"'town' of gaps\.csv is empty in 20 of 60 rows"):
        take_groups(data, "town")


def test_numbers_that_are_left_when_a_column_is_taken_are_a_matrix(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "who,x,z,label\n" + "".join(f"p{i % 9},{i},{i % 7},{'ab'[i % 2]}\n" for i in range(40))
    )
    _, rest = take_groups(read_labelled(str(path), progress=False), "who")
    assert rest.kind == "vectors"
    assert rest.X.shape == (40, 2)
    assert rest.X[:, 1].tolist() == [i % 7 for i in range(40)]


def test_rows_of_classes_that_occur_once_cannot_be_held_out():
    with pytest.raises(DataError, match="every class has a single row"):
        HeldOutRows(folds=5).draw(np.array(["a", "b"]), 0)
