"""Categories as columns of zeros and ones."""

import numpy as np
import pytest
from scipy.sparse import issparse

from separatrix.data.formats import one_hot
from separatrix.data.formats.columns import Category, ColumnTable
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.errors import DataFileError

COLOURS = ["red", "blue", None, "red", "green"]


def table(columns=("size", "age"), cells=COLOURS):
    values = [value for value in dict.fromkeys(cells) if value is not None]
    codes = np.array([-1 if cell is None else values.index(cell) for cell in cells])
    numbers = np.arange(float(len(cells) * len(columns))).reshape(len(cells), -1)
    return ColumnTable(len(cells), numbers, tuple(columns), {"colour": Category(codes, values)})


FEATURES = [("age", None), ("colour", "blue"), ("colour", "red"), ("size", None)]


def expected(given):
    position = {name: i for i, name in enumerate(given.number_names)}
    return [
        [
            given.numbers[i, position[name]] if value is None else float(COLOURS[i] == value)
            for name, value in FEATURES
        ]
        for i in range(given.rows)
    ]


@pytest.mark.parametrize("width", [0, 10])
def test_features_are_in_the_order_asked_for_dense_or_sparse(write, monkeypatch, width):
    monkeypatch.setattr(one_hot, "SPARSE_WIDTH", width)
    monkeypatch.setattr(one_hot, "SPARSE_TIMES", 1)
    given = table()
    with open_(write("x")) as source:
        X = one_hot._matrix(source, given, FEATURES)
    assert issparse(X) == (width == 0)
    np.testing.assert_array_equal(X.toarray() if issparse(X) else X, expected(given))


def test_numbers_alone_are_taken_as_they_are(write):
    given = table()
    with open_(write("x")) as source:
        assert one_hot._matrix(source, given, [("size", None), ("age", None)]) is given.numbers


@pytest.mark.parametrize(("most", "fits"), [(20, True), (19, False)])
def test_rows_times_columns_have_a_limit(write, most, fits):
    with open_(write("x"), Limits(values=most)) as source:
        if fits:
            assert one_hot._matrix(source, table(), FEATURES).size == most
        else:
            with pytest.raises(DataFileError, match="5 rows that become 4 columns"):
                one_hot._matrix(source, table(), FEATURES)


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_categories_have_a_limit(write, most, fits):
    with open_(write("x"), Limits(categories=most)) as source:
        if fits:
            one_hot._require_few(source, table().categories)
        else:
            with pytest.raises(DataFileError, match="more than 2 different texts in 'colour'"):
                one_hot._require_few(source, table().categories)


def test_a_note_for_columns_that_nearly_identify_the_row():
    few = one_hot.FEW_CATEGORIES
    many = [f"name {i}" for i in range(few + 1)]
    assert one_hot._note_identifiers(table(cells=many).categories)
    assert not one_hot._note_identifiers(table(cells=many[:-1]).categories)
    assert not one_hot._note_identifiers(table(cells=many * 2).categories)  # half of the rows
    assert one_hot._note_identifiers(table(cells=many * 2 + ["other"]).categories)


def test_values_that_no_feature_stands_for_are_noted():
    notes = one_hot._note_unseen(table(), [("colour", "blue"), ("size", None)])
    assert notes == ["colour: 3 rows have values the model has not seen: 'red', 'green'"]
    known = [("colour", value) for value in ("red", "blue", "green")]
    assert one_hot._note_unseen(table(), known) == []
