"""How a text is seen as a table: headers, delimiters, codes, headers that come again."""

import numpy as np
import pytest

from separatrix.data.formats import records
from separatrix.data.formats.columns import (
    Category,
    ColumnTable,
    drop_repeated_headers,
    without_values,
)
from separatrix.data.formats.layout import (
    _are_units,
    _count_units,
    _detect_delimiter,
    _has_header,
    _holds_codes,
    number_names,
)
from separatrix.data.numerals import MISSING
from separatrix.data.read_table import read_table


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["colour,form", "red,round", "blue,flat"], True),
        (["x,a", "y,b", "z,a"], False),  # the last cell recurs in its column
        (["a,x", "b,y", "a,z"], False),
        (["a,b,x", "b,c,y", "c,a,z"], True),  # a, b and x recur in other columns only
        (["a,x,q", "b,x,p", "c,w,o"], False),  # the middle one
        (["ja,class", "ja,x", "nein,y"], True),  # a target's name below which nothing recurs
        (["ja,class", "ja,class", "nein,y"], True),  # a whole record that recurs is a header again
        (["ja,y", "ja,x", "nein,y"], False),
        (["size,kind", "1,a", "NA,b"], True),  # a text above numbers and missing cells
        (["1,kind", "2,a"], False),
        (["a,a", "b,c"], False),
        (["a,b"], True),
        (["a,1"], False),
        (
            [",sex,alive", "1,man,yes", "2,man,no"],
            True,
        ),  # an empty corner, as R and pandas write it
        ([",sex,alive", "1,man,yes", ",man,no"], False),  # other names of rows are missing, too
        ([",man,yes", "1,man,yes", "2,woman,no"], False),
        ([",a,b"], True),
        ([",1940,1945", "Food,22,44", "Home,10,15", "Care,3,5"], True),
        ([",0", "1821,269", "1822,321", "1823,585"], True),
        ([",3,4", "0.5,6,7", "1.5,8,9", "7.5,1,2"], False),  # measurements, the first one missing
        ([",3,4", "b,6,7", "b,8,9", "c,1,2"], False),
        ([",3,3", "a,6,7", "b,8,9", "c,1,2"], False),
    ],
)
def test_a_header_has_texts_above_numbers_or_texts_that_do_not_recur(rows, expected):
    assert _has_header([row.split(",") for row in rows]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("1,5\t2,5\n3,5\t4,5\n", "\t"),
        ("1,a;b\n3,c;d\n", ","),  # a comma beside a letter separates
        ("1,2\n3,4\n", ","),
        ("1, 2\n3, 4\n", ","),  # blanks behind commas
        ("a:b\nc:d\n", ","),  # one colon, as in a time, separates nothing
        ("a:b:c\nd:e:f\n", ":"),
    ],
)
def test_the_delimiter_splits_all_rows_evenly_and_is_no_decimal_comma(text, expected):
    assert _detect_delimiter(text) == expected


def test_rows_of_units_have_texts_above_numbers_and_two_rows_of_values_below():
    values = [["1", "a"], ["2", "b"], ["3", "a"], ["4", "b"]]
    assert _count_units([["size", "class"], ["cm", "-"], *values]) == 1
    assert _count_units([["size", "class"], *values]) == 0
    assert _count_units([["size", "class"], ["cm", "a"], *values]) == 0  # a is a value
    assert _count_units([["size", "class"], ["1", "-"], *values]) == 0
    assert _count_units([["size", "class"], ["cm"], *values]) == 0  # of another width


def test_a_leading_zero_makes_codes_also_in_a_table_with_short_rows():
    rows = [["7", "x"], ["8"], ["12", "01234"]]
    assert _holds_codes(rows, 1)
    assert not _holds_codes(rows, 0)
    assert not _holds_codes(rows, 2)


def test_names_differ_and_those_of_the_file_stay_first():
    assert number_names(["a", "a", "a_2", "a_2"]) == ("a", "a_3", "a_2", "a_2_2")
    assert number_names(["x", "y"]) == ("x", "y")


def texts(**columns):
    rows = len(next(iter(columns.values())))
    categories = {}
    for name, cells in columns.items():
        values = list(dict.fromkeys(cells))
        categories[name] = Category(np.array([values.index(one) for one in cells]), values)
    return ColumnTable(rows, np.empty((rows, 0)), (), categories)


def shown(table):
    return {n: [values[c] for c in codes] for n, (codes, values) in table.categories.items()}


def test_only_rows_that_repeat_the_whole_header_are_dropped():
    part, notes = drop_repeated_headers(texts(a=["x", "a", "y", "a"], b=["u", "b", "b", "v"]))
    assert shown(part) == {"a": ["x", "y", "a"], "b": ["u", "b", "v"]}
    assert notes == ["1 row repeats the header and is set aside"]
    part, notes = drop_repeated_headers(texts(a=["x", "a", "a"], b=["u", "b", "b"]))
    assert shown(part) == {"a": ["x"], "b": ["u"]}
    assert part.categories["a"].values == ["x"]
    assert notes == ["2 rows repeat the header and are set aside"]
    for same in (
        texts(a=["x", "a"], b=["b", "u"]),  # both names, in different rows
        texts(a=["a", "a"], b=["b", "b"]),  # nothing else
        texts(a=["x", "y"], b=["u", "b"]),
    ):
        assert drop_repeated_headers(same) == (same, [])


def test_values_that_are_taken_out_are_missing_and_the_others_keep_their_rows():
    column = Category(np.array([2, 0, -1, 1, 2], dtype=np.int32), ["a", "b", "c"])
    codes, values = without_values(column, ["b", "z"])
    assert values == ["a", "c"]
    assert codes.tolist() == [1, 0, -1, -1, 1]
    assert without_values(column, ["z"]) is column


@pytest.mark.parametrize("size", [4, 12, 1 << 20])
def test_a_header_in_quotes_may_go_over_several_blocks(write, monkeypatch, size):
    monkeypatch.setattr(records, "_BATCH_BYTES", size)
    path = write('"width\nin cm\nor so","class"\n1,a\n2,b\n', "t.csv")
    data = read_table(path, header=True)
    assert data.X.columns == ("width\nin cm\nor so",)
    assert data.X.numbers.ravel().tolist() == [1, 2]
    assert data.y.tolist() == ["a", "b"]


def test_large_blocks_of_plain_rows_are_parsed_by_compiled_code(write, monkeypatch):
    used = []
    parse = records.parse_plain
    monkeypatch.setattr(records, "_COMPILED_BYTES", 0)
    monkeypatch.setattr(records, "parse_plain", lambda *a: used.append(1) or parse(*a))
    read_table(write("x,class\n" + "1,a\n2,b\n" * 4, "t.csv"))
    assert used


def test_words_for_missing_values_fit_into_one_number_of_the_compiled_reader():
    assert max(len(word.encode()) for word in MISSING) < 8


def test_a_row_of_units_has_at_least_one_text_above_numbers():
    below = [["1", "a"], ["2", "b"]]
    assert _are_units(["kg", ""], below)
    assert not _are_units(["", ""], below)
    assert not _are_units(["7", ""], below)
    assert not _are_units(["kg", "a"], below)
    assert _are_units(["kg", "a"], [["1", "a"], ["2", "a"]])  # a column of one text may repeat it
