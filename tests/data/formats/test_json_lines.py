"""Files of JSON: objects in lines, in an array, in columns."""

import numpy as np
import pytest
from tests.data.formats.samples import from_path

from separatrix.data.formats.json_lines import _holds_columns, read_json_lines
from separatrix.data.formats.rows import as_array, memory_source
from separatrix.data.limits import Limits
from separatrix.data.read_table import read_table
from separatrix.errors import DataFileError


def rows(data):
    return [dict(zip(data.X.columns, row, strict=True)) for row in data.X.numbers.tolist()]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 3.5, "class": "x"}\n{"a": 2, "b": 4, "class": "y"}\n',
        '[{"a": 1, "b": 3.5, "class": "x"}, {"a": 2, "b": 4, "class": "y"}]',
        '{"a": [1, 2], "b": [3.5, 4], "class": ["x", "y"]}',
        '{"a": {"0": 1, "1": 2}, "b": {"0": 3.5, "1": 4}, "class": {"0": "x", "1": "y"}}',
        '{"made": 2020, "rows": [{"a": 1, "b": 3.5, "class": "x"}, {"a": 2, "b": 4, "class": "y"}]}',
    ],
)
def test_the_same_table_in_five_forms(write, text):
    data = read_table(write(text, "t.json"))
    assert rows(data) == [{"a": 1, "b": 3.5}, {"a": 2, "b": 4}]
    assert data.y.tolist() == ["x", "y"]


def test_lists_of_different_lengths_are_cells_and_no_columns(write):
    line = '{"a": [1, 2], "b": [3], "class": "%s"}\n'
    data = read_table(write(line % "x" + line % "y", "t.jsonl"))
    assert len(data.X) == 2
    single = '{"a": [1, 2], "b": [3]}'
    assert len(read_table(write(single, "t.json"), target=None).X) == 1


def test_columns_of_whole_and_broken_numbers_are_numbers():
    assert as_array([1, 2.5, None]).to_pylist() == [1.0, 2.5, None]
    assert as_array([1, 2]).to_pylist() == [1.0, 2.0]
    assert as_array([True, None]).to_pylist() == [True, None]
    assert as_array([None, None]).to_pylist() == [None, None]
    assert as_array([True, 2]).to_pylist() == ["True", "2"]
    assert as_array([1.0, "x"]).to_pylist() == ["1", "x"]


def test_integers_beyond_all_floats_are_infinite_as_other_numbers_are(write):
    line = '{"a": %s, "class": "%s"}\n'
    for sign in ("", "-"):
        huge, large = (
            read_table(write(line % (sign + text, "x") + line % ("2", "y"), "t.jsonl"))
            for text in ("1" + 400 * "0", "1e999")
        )
        assert rows(huge) == rows(large) or np.isnan(huge.X.numbers[0, 0])
        assert huge.notes == large.notes == ("a: 1 of 2 cells is infinite and counts as missing",)
    assert as_array([10**400, -(10**400), 1]).to_pylist() == [np.inf, -np.inf, 1.0]


def test_an_empty_list_is_no_array_of_objects(write):
    text = (
        '{"none": [], "rows": [{"a": 1, "b": 3.5, "class": "x"}, {"a": 2, "b": 4, "class": "y"}]}'
    )
    assert rows(read_table(write(text, "t.json"))) == [{"a": 1, "b": 3.5}, {"a": 2, "b": 4}]


def test_rows_have_a_limit(write):
    path = write(
        '{"a": 1, "class": "x"}\n{"a": 2, "class": "y"}\n{"a": 3, "class": "y"}\n', "t.jsonl"
    )
    read = from_path(read_json_lines)
    assert len(read(path, Limits(rows=3)).y) == 3
    with pytest.raises(DataFileError, match=":3: found more than 2 rows"):
        read(path, Limits(rows=2))


def test_bytes_of_every_type_are_bytes():
    cells = [b"\xff", bytearray(b"\xfe"), memoryview(b"\xfd"), None]
    assert as_array(cells).to_pylist() == [b"\xff", b"\xfe", b"\xfd", None]
    assert memory_source("x", Limits(rows=3)).limits.rows == 3


@pytest.mark.parametrize(
    ("found", "columns"),
    [
        ({"a": [1, 2], "b": [3, 4]}, True),
        ({"a": [1, 2], "b": [3]}, False),
        ({"a": {"x": 1}, "b": {"x": 2}}, True),
        ({"a": {"x": 1}, "b": {"y": 2}}, False),
        ({"a": [1], "b": {"x": 2}}, False),
        ({"a": 1, "b": [{"x": 2}]}, True),
        ({"a": 1}, False),
        ({}, False),
    ],
)
def test_an_object_of_columns_has_lists_or_objects_of_the_same_keys(found, columns):
    assert _holds_columns(found) == columns


def test_keys_that_differ_in_blanks_are_columns_of_their_own(write):
    text = '{"a ": 1, "b": 5, "class": "x"}\n{"a": 2, "b": 6, "class": "y"}\n'
    data = read_table(write(text, "t.jsonl"))
    found = dict(zip(data.X.columns, data.X.numbers.T.tolist(), strict=True))
    np.testing.assert_equal(found, {"a_2": [1.0, np.nan], "a": [np.nan, 2.0], "b": [5.0, 6.0]})
    assert "columns of the same name were numbered: 'a' is now 'a_2'" in data.notes


def test_two_values_for_one_column_are_refused(write):
    path = write('{"c": 1, "class": "x"}\n{"a.b": 1, "a": {"b": 2}, "class": "y"}\n', "t.jsonl")
    with pytest.raises(DataFileError, match=r"t.jsonl:2: found two values for 'a.b'"):
        read_table(path)


def test_a_list_does_not_take_the_name_of_another_column(write):
    line = '{"a.0": %d, "a": [1, 2], "class": "%s"}\n'
    data = from_path(read_json_lines)(write(line % (7, "x") + line % (8, "y"), "t.jsonl"))
    assert data.features == ("a.0", "a=[1, 2]")
    assert data.X[:, 0].tolist() == [7.0, 8.0]


def test_a_byte_order_mark_is_read_at_the_beginning_only(write):
    line = '{"a": %d, "class": "%s"}\n'
    first, second = line % (1, "x"), line % (2, "y")
    assert len(read_table(write("\ufeff" + first + second, "t.jsonl")).X) == 2
    with pytest.raises(DataFileError, match=r"t\.jsonl:2:1"):
        read_table(write(first + "\ufeff" + second, "t.jsonl"))


LONE = r"found \\udf11, half of a surrogate pair, expected both halves"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (r'{"a": 1, "class": "x"}' "\n" r'{"a": 2, "class": "\udf11"}', "2:20"),
        (r'[{"a": 1, "class": "x"},' "\n" r' {"a": 2, "class": "\udf11"}]', "2:21"),
        ('{"a":\n [1, 2], ' r'"class": ["x", "\udf11"]}', "2:26"),
        (r'{"\udf11": 1, "class": "x"}' "\n", "1:3"),
        (r'{"a": {"b": ["\\\udf11"]}, "class": "x"}' "\n", "1:17"),
        (r'{"a": "\ud83d\ude00\udf11", "class": "x"}' "\n", "1:20"),
        (r'{"a": "\udf11\ud83d", "class": "x"}' "\n", "1:8"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_where_it_is(write, text, where):
    with pytest.raises(DataFileError, match=rf"t\.json:{where}: {LONE}"):
        read_table(write(text, "t.json"))


@pytest.mark.parametrize("escape", [r"\ud83d", r"\uD83D", r"\uDBFF\uD83D\uDE00", r"\udbff\u0041"])
def test_the_first_half_alone_is_refused_too(write, escape):
    path = write(f'{{"a": "{escape}", "class": "x"}}\n', "t.jsonl")
    with pytest.raises(DataFileError, match=r"t\.jsonl:1:8: found \\u[dD][8bB]"):
        read_table(path)


def test_whole_pairs_and_escaped_backslashes_are_texts(write):
    line = r'{"a": 1, "class": "%s"}' "\n"
    text = line % r"\ud83d\ude00" + line % r"\uD83D\uDE00" + line % r"\\udf11" + line % r"\ud7ff"
    found = read_table(write(text, "t.jsonl")).y.tolist()
    assert found == ["\U0001f600", "\U0001f600", r"\udf11", "\ud7ff"]


@pytest.mark.parametrize("blank", ["\x1f", "\x1c", "\x0b", "\u00a0", "\u2028"])
def test_blanks_that_json_does_not_have_are_refused(write, blank):
    line = '{"a": %d, "class": "%s"}'
    for text in (blank + line % (1, "x"), line % (1, "x") + blank):
        with pytest.raises(DataFileError, match=r"t\.jsonl:2:1: found .*, expected an object"):
            read_table(write(line % (2, "y") + "\n" + text + "\n", "t.jsonl"))


def test_records_may_begin_with_a_record_separator(write):
    line = '\x1e{"a": %d, "class": "%s"}\n'
    data = read_table(write(line % (1, "x") + line % (2, "y"), "t.jsonl"))
    assert (rows(data), data.y.tolist()) == ([{"a": 1}, {"a": 2}], ["x", "y"])


@pytest.mark.parametrize("odd", ["[{}]", "3", '["x", "y", "z"]'])
def test_an_object_of_several_arrays_of_objects_is_refused_with_their_names(write, odd):
    text = '{"nodes": [{"a": 1}, {"a": 2}], "links": [{"b": 3}, {"b": 4}], "more": ' + odd + "}"
    with pytest.raises(DataFileError, match="arrays of objects: 'nodes', 'links'"):
        read_table(write(text, "t.json"))


def test_an_object_whose_first_line_has_several_keys_is_read(write):
    text = '{"type": "rows", "made": {\n"by": "us"},\n"rows": [{"a": 1, "class": "x"},\n'
    data = read_table(write(text + '{"a": 2, "class": "y"}]}', "t.json"))
    assert rows(data) == [{"a": 1}, {"a": 2}]


def test_a_damaged_first_line_is_named(write):
    with pytest.raises(DataFileError, match=r"t.jsonl:1:1: found"):
        read_table(write('{"a": 1, \n{"a": 2, "class": "y"}\n', "t.jsonl"))
