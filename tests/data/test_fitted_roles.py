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


@pytest.fixture(scope="module")
def foreign_columns(tmp_path_factory):
    """Columns that were fitted to percents and to decimal commas."""
    path = tmp_path_factory.mktemp("foreign") / "train.csv"
    rows = "".join(f"{i}.5 %;{i},25;{'ab'[i % 2]}\n" for i in range(40))
    path.write_text("share;paid;class\n" + rows)
    specs = read_table(path).X.specs
    assert [spec.format for spec in specs] == ["plain with %", "1.234,5"]
    return specs


def test_numbers_without_the_percent_sign_of_the_training_rows_are_noted_once(
    tmp_path, foreign_columns
):
    found, notes = read_like(tmp_path, foreign_columns, "share;paid\n12.5;1,5\n0;2,5\n7;3,5\n")
    assert found["share"] == [12.5, 0.0, 7.0]
    told = [note for note in notes if note.startswith("share: ")]
    assert told == [
        "share: 2 numbers without %; the model was fitted to numbers with %: 12.5 is 1250 %"
    ]


def test_numbers_without_a_percent_sign_among_others_are_noted(tmp_path, foreign_columns):
    found, notes = read_like(tmp_path, foreign_columns, "share;paid\n12.5;1,5\n7 %;2,5\n")
    assert found["share"] == [12.5, 0.07]
    assert any("share: 1 number without %" in note for note in notes)


def test_percents_as_at_training_have_no_note_of_another_form(tmp_path, foreign_columns):
    found, notes = read_like(tmp_path, foreign_columns, "share;paid\n12.5 %;1,5\n0;2,5\n")
    assert found == {"share": [0.125, 0.0], "paid": [1.5, 2.5]}
    assert not any("the model was fitted to" in note for note in notes)


def test_decimal_points_are_noted_by_a_model_that_was_fitted_to_commas(tmp_path, foreign_columns):
    found, notes = read_like(tmp_path, foreign_columns, "share;paid\n1 %;1.5\n2 %;12.25\n")
    assert found["paid"] == [1.5, 12.25]
    assert "paid: numbers written as 1234.5; the model was fitted to 1.234,5" in notes


def test_decimal_commas_are_noted_by_a_model_that_was_fitted_to_points(tmp_path, fitted_columns):
    text = "day;paid;smoker\n2020-03-14;1,5;no\n2020-03-14;7,25;no\n"
    _, notes = read_like(tmp_path, fitted_columns, text)
    assert "paid: numbers written as 1.234,5; the model was fitted to 1234.5" in notes


def test_a_point_before_three_digits_is_read_as_at_training(tmp_path, foreign_columns):
    found, _ = read_like(tmp_path, foreign_columns, "share;paid\n1 %;1.234\n2 %;2.500\n")
    assert found["paid"] == [1234.0, 2500.0]
