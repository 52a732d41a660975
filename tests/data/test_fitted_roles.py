"""Files that a saved model predicts, written in another way than those it was fitted to."""

import numpy as np
import pytest

from separatrix.data.read_table import read_table


@pytest.fixture(scope="module")
def fitted_columns(tmp_path_factory):
    path = tmp_path_factory.mktemp("fitted") / "train.csv"
    path.write_text(
        "day,paid,smoker,class\n"
        + "".join(
            f"2020-0{1 + i % 9}-1{i % 9},{i}.{i % 7}5,{'no' if i % 3 else 'yes'},{'ab'[i % 2]}\n"
            for i in range(40)
        )
    )
    return read_table(path).X.specs


def read_like(tmp_path, specs, text):
    path = tmp_path / "new.csv"
    path.write_text(text)
    data = read_table(path, specs=specs, target=None)
    return {name: data.X.number_column(name).tolist() for name in data.X.columns}, data.notes


@pytest.mark.parametrize(
    "day", ["2020-03-14", "2020-03-14 00:00:00", "14.03.2020", "2020-03-14T00:00:00.000Z"]
)
def test_dates_in_another_form_than_the_training_rows_are_read(tmp_path, fitted_columns, day):
    found, notes = read_like(tmp_path, fitted_columns, f"day,paid,smoker\n{day},1.5,no\n")
    assert found["day"] == [1584144000.0]
    told = any("the model was fitted to %Y-%m-%d" in note for note in notes)
    assert told == (day != "2020-03-14")


@pytest.mark.parametrize("words", [("yes", "no"), ("TRUE", "FALSE"), ("ja", "nein"), ("1", "0")])
def test_other_words_for_true_and_false_than_those_of_the_training_rows_are_read(
    tmp_path, fitted_columns, words
):
    rows = "".join(f"2020-03-14,1.5,{word}\n" for word in words)
    found, notes = read_like(tmp_path, fitted_columns, "day,paid,smoker\n" + rows)
    assert found["smoker"] == [1.0, 0.0]
    assert not notes


def test_numbers_with_a_decimal_comma_are_read_by_a_model_that_was_fitted_to_points(
    tmp_path, fitted_columns
):
    text = "day;paid;smoker\n2020-03-14;1.234,5;no\n2020-03-14;7,25;no\n"
    found, notes = read_like(tmp_path, fitted_columns, text)
    assert found["paid"] == [1234.5, 7.25]
    assert any("written as 1.234,5" in note for note in notes)


def test_cells_that_a_fitted_role_cannot_read_are_noted(tmp_path, fitted_columns):
    text = "day,paid,smoker\nsoon,1.5,no\n2020-03-14,2.5,sometimes\n"
    found, notes = read_like(tmp_path, fitted_columns, text)
    assert np.isnan(found["day"][0])
    assert np.isnan(found["smoker"][1])
    assert any("day: 1 cell is not dates in the form %Y-%m-%d" in note for note in notes)
    assert any("smoker: 1 cell is not no or yes" in note for note in notes)


def test_percents_are_noted_as_the_training_rows_may_have_none(tmp_path, fitted_columns):
    text = "day,paid,smoker\n2020-03-14,45 %,no\n2020-03-14,7 %,no\n"
    found, notes = read_like(tmp_path, fitted_columns, text)
    assert found["paid"] == [0.45, 0.07]
    assert notes == ("paid: '45 %' is 0.45",)
