"""ARFF: what the declarations say holds, whatever the values look like."""

import numpy as np
import pytest

from separatrix.data.formats.arff import _split_cells
from separatrix.data.read import read
from separatrix.data.read_table import read_table
from separatrix.errors import DataFileError

HEAD = "@relation r\n@attribute a {%s}\n@attribute b numeric\n@attribute class {x,y}\n@data\n"


def roles(data):
    return {spec.name: spec.role for spec in data.X.specs}


def test_nominal_attributes_of_three_numbers_are_categories(write):
    data = read_table(write(HEAD % "1,2,3" + "1,0.5,x\n2,1.5,y\n3,2.5,x\n", "r.arff"))
    assert roles(data) == {"a": "category", "b": "number"}


def test_nominal_attributes_of_two_numbers_are_left_to_their_values(write):
    data = read_table(write(HEAD % "0,1" + "1,0.5,x\n0,1.5,y\n1,2.5,x\n", "r.arff"))
    assert roles(data)["a"] != "category"


WORDS = "@relation r\n@attribute a numeric\n@attribute word string\n@attribute class {p, q}\n"


def test_cells_of_sparse_rows_may_be_long(write):
    text = WORDS + "@data\n{1 abcdefghijklm, 2 q}\n{0 1.5}\n{0 2, 1 b}\n"
    assert read_table(write(text, "t.arff")).y.tolist() == ["q", "p", "p"]


def test_an_attribute_that_is_none_is_named_with_its_place(write):
    path = write(WORDS + "@attribute b colour\n@data\n1,x,p,2\n", "t.arff")
    with pytest.raises(DataFileError, match=r"t.arff:5:1: found '@attribute b colour'"):
        read_table(path)


def test_cells_may_be_separated_by_tabs():
    assert _split_cells("1\t2") == ["1", "2"]
    assert _split_cells(" 1 , b c ") == ["1", "b c"]
    assert _split_cells("'a,b',2") == ["a,b", "2"]
    assert _split_cells("'a,b,2") is None


def test_values_of_a_nominal_attribute_whose_quotes_do_not_match_are_refused(write):
    path = write(HEAD % "'d\\\\'e'" + "?,1,x\n?,2,y\n", "t.arff")
    with pytest.raises(DataFileError, match=r"t.arff:2:1: found"):
        read_table(path)


def test_a_numeric_attribute_without_a_single_value_is_a_column_of_numbers(write):
    found = read(write(HEAD % "p,q" + "p,?,x\nq,?,y\n", "t.arff"))
    assert found.features == ("b", "a=p", "a=q")
    assert np.isnan(found.X[:, 0]).all()


def test_a_byte_order_mark_is_read_at_the_beginning_only(write):
    rows = "1,0.5,x\n2,1.5,y\n"
    assert len(read_table(write("\ufeff" + HEAD % "1,2" + rows, "t.arff")).X) == 2
    path = write((HEAD % "1,2").replace("@attribute b", "\ufeff@attribute b") + rows, "t.arff")
    with pytest.raises(DataFileError, match=r"t\.arff:3:1"):
        read_table(path)


def test_nominal_attributes_of_one_name_are_all_categories(write):
    head = (
        "@relation r\n@attribute a {1,2,3}\n@attribute a {4,5,6}\n@attribute class {x,y}\n@data\n"
    )
    data = read_table(write(head + "1,4,x\n2,5,y\n3,6,x\n", "t.arff"))
    assert roles(data) == {"a": "category", "a_2": "category"}


def test_files_of_keel_have_ranges_behind_types_lists_of_columns_and_their_own_missing_values(
    write,
):
    head = "@relation r\n@attribute a real[0.0,1.5]\n@attribute n integer [1, 9]\n"
    head += "@attribute class {p, q}\n@inputs a, n\n@outputs class\n@data\n"
    data = read_table(write(head + "0.5, 1, p\n<null>, 2, q\n1.5, 3, p\n", "t.dat"))
    assert roles(data) == {"a": "number", "n": "number"}
    np.testing.assert_array_equal(data.X.numbers, [[0.5, 1], [np.nan, 2], [1.5, 3]])
    assert data.y.tolist() == ["p", "q", "p"]
