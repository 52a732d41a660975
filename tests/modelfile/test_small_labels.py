"""Labels, categories, words and tables of records: what is written is read, the rest is refused."""

import numpy as np
import pytest
from tests.modelfile.field_tools import ends, letters, said, written
from tests.modelfile.test_fields import round_trip

from separatrix.errors import ModelFileError
from separatrix.modelfile import fields as f
from separatrix.modelfile.labels import CategoryColumns, Labels, RecordTable, WordList

COLUMNS = CategoryColumns(Labels("k", rising=False, missing=True), "d")


LABELS = [
    ({"mixed": [1, None]}, {}, "schema: `at` must be words and numbers; found"),
    ({"mixed": [1, {"float": "nan"}]}, {}, "schema: `at` must be words and numbers; found"),
    ({"mixed": [1, [2]]}, {}, "schema: `at` must be a list of words and numbers"),
    ("objects", {"": letters("aa"), ".ends": ends(1, 1)}, "all different; found one of them twice"),
    ("objects", {"": letters("a\xff"), ".ends": ends(1, 1, 1)}, "must be words in UTF-8"),
    ("words", {"": letters("a"), ".ends": ends(1)}, "words of at most 10000 letters; found words"),
    ({"words": -1}, {"": letters("a"), ".ends": ends(1)}, "schema: `at` must be labels, or words"),
    ({"words": 10_001}, {"": letters("a"), ".ends": ends(1)}, "schema: `at` must be labels, or"),
    ({"words": True}, {"": letters("a"), ".ends": ends(1)}, "schema: `at` must be labels, or"),
    ({"words": 1, "x": 1}, {"": letters("a"), ".ends": ends(1)}, "schema: `at` must be labels, or"),
    ({"words": 1}, {"": letters("abc"), ".ends": ends(1, 2)}, "words of up to 1 letters"),
    ({"words": 2}, {"": letters("a\0"), ".ends": ends(2)}, "words of up to 2 letters"),
    ("numbers", {"": np.array([1.0, np.nan])}, "invariant: `at` must be finite; found nan"),
    ("numbers", {"": np.array([2, 1])}, "invariant: `at` must be in rising order, none twice"),
]


@pytest.mark.parametrize(("document", "tensors", "sentence"), LABELS, ids=range(len(LABELS)))
def test_labels_that_are_none_are_refused(document, tensors, sentence):
    assert sentence in said(Labels("k"), document, tensors)


def test_labels_of_every_form_come_back():
    for labels in (
        np.array(["b", "a"], dtype=object),
        np.array(["", "aé"]),
        np.array([""]),
        np.array([1, "a", 2.5, False], dtype=object),
        np.array([True, False]),
    ):
        found = round_trip(Labels("k", rising=False), labels)
        assert found.tolist() == labels.tolist()
        assert found.dtype == labels.dtype
    np.testing.assert_array_equal(
        round_trip(Labels("k", missing=True, rising=False), np.array([np.nan, 1.0])), [np.nan, 1.0]
    )
    twice = Labels("k", rising=False, distinct=False)
    assert round_trip(twice, np.array(["a", "a"], dtype=object)).tolist() == ["a", "a"]
    with pytest.raises(ModelFileError, match="a lone surrogate"):
        round_trip(Labels("k"), np.array(["\ud800"], dtype=object))


def test_letters_of_words_have_a_limit_for_the_whole_file(monkeypatch):
    tensors = {"": letters("ab"), ".ends": ends(1, 1)}
    monkeypatch.setattr(f, "MOST_LETTERS", 6)
    archive = f.Archive({"at": tensors[""], "at.ends": tensors[".ends"]})
    assert Labels("k").get({"words": 3}, "at", archive).tolist() == ["a", "b"]
    assert "limit: `at`: a file holds at most 6 letters" in said(Labels("k"), {"words": 4}, tensors)


CATEGORIES = [
    ({}, {}, "schema: `at` must be a list of columns"),
    ([["i8", "numbers"]], {}, "schema: `at[0]` must be an array, a kind and a length"),
    ([5], {}, "schema: `at[0]` must be an array, a kind and a length"),
    (
        [["i8", "numbers", -1]],
        {".i8": np.arange(3)},
        "`at[0]` must be an array, a kind and a length",
    ),
    ([["i8", "numbers", 1.0]], {".i8": np.arange(3)}, "`at[0]` must be an array, a kind and a"),
    ([["i9", "numbers", 1]], {".i9": np.arange(3)}, "`at[0]` must be an array, a kind and a"),
    ([["i8", "objects", 3]], {".i8": np.arange(3)}, "`at[0]` must be numbers; found objects"),
    ([["i8", "numbers", 4]], {".i8": np.arange(3)}, "invariant: `at[0]` must be 4 labels; found 3"),
    ([["i8", "numbers", 2]], {".i8": np.arange(3)}, "invariant: `at.i8` must be 2 labels; found 3"),
    ([["mixed", {"mixed": [1]}, 2]], {}, "invariant: `at[0]` must be 2 labels; found 1"),
    ([["mixed", 5, 1]], {}, "schema: `at[0]` must be a list of words and numbers"),
    (
        [["i8", "numbers", 2]],
        {".i8": np.zeros(2, np.int64)},
        "all different; found one of them twice",
    ),
]


@pytest.mark.parametrize(
    ("document", "tensors", "sentence"), CATEGORIES, ids=range(len(CATEGORIES))
)
def test_columns_of_categories_that_are_none_are_refused(document, tensors, sentence):
    assert sentence in said(COLUMNS, document, tensors)


def test_columns_of_categories_share_their_arrays(monkeypatch):
    columns = [
        np.array([3, 1]),
        np.array(["b", "a"], dtype=object),
        np.array([5]),
        np.array(["c"], dtype=object),
        np.array([1, "x", None], dtype=object),
        np.array([0.5, np.nan]),
        np.array(["ab", "c"]),
    ]
    found = round_trip(COLUMNS, columns)
    assert [column.dtype for column in found] == [column.dtype for column in columns]
    assert repr([column.tolist() for column in found]) == repr([c.tolist() for c in columns])
    _, tensors = written(COLUMNS, columns)
    assert set(tensors) == {".i8", ".f8", ".words", ".words.ends"}
    monkeypatch.setattr(f, "MOST_COLUMNS", 7)
    round_trip(COLUMNS, columns)
    monkeypatch.setattr(f, "MOST_COLUMNS", 6)
    with pytest.raises(ModelFileError, match="at most 6 columns with categories"):
        round_trip(COLUMNS, columns)
    monkeypatch.setattr(f, "MOST_COLUMNS", 7)
    monkeypatch.setattr(f, "MOST_WORDS", 10)
    round_trip(COLUMNS, columns)
    monkeypatch.setattr(f, "MOST_WORDS", 9)
    with pytest.raises(ModelFileError, match="at most 9 words"):
        round_trip(COLUMNS, columns)


def test_lists_of_few_words(monkeypatch):
    field = WordList("p")
    assert round_trip(field, ["b", "a", "b"]) == ["b", "a", "b"]
    codes = {"": np.array([0, 1, 0], np.int32)}
    monkeypatch.setattr(f, "MOST_DIFFERENT", 2)
    assert round_trip(field, ["b", "a"], p=2) == ["b", "a"]
    assert "a list of at most 2 words; found 3" in said(field, ["a", "b", "c"], codes)
    assert "below 1; found 1" in said(field, ["a"], codes)
    assert "invariant" in said(field, ["a", "b"], codes, p=2)


class Row:
    _fields = ("rows", "y", "value", "word")

    def __init__(self, rows, y, value, word):
        self.rows, self.y, self.value, self.word = rows, y, value, word

    def plain(self):
        return self.rows.tolist(), self.y.tolist(), self.value, self.word


TABLE = RecordTable(Row, f.arrays(rows="i8 m >=0", y="f8 m"), {"value": "f8"}, ("word",), "p")
ROWS = [
    Row(np.array([1, 2]), np.array([0.5, 1.5]), 3.0, "tol"),
    Row(np.array([], dtype=np.int64), np.array([]), -1.0, "time"),
    Row(np.array([7]), np.array([2.5]), 0.0, "tol"),
]


def test_tables_of_records(monkeypatch):
    assert [row.plain() for row in round_trip(TABLE, ROWS)] == [row.plain() for row in ROWS]
    document, tensors = written(TABLE, ROWS)
    assert document == {"word": ["time", "tol"]}
    short = {**tensors, ".y": tensors[".y"][:-1]}
    assert "`at.y` must be as long as its parts together" in said(TABLE, document, short)
    none = {**tensors, ".ends": tensors[".ends"][:0]}
    assert "`at.rows` must be as long as its parts together" in said(TABLE, document, none)
    monkeypatch.setattr(f, "MOST_RECORDS", 3)
    round_trip(TABLE, ROWS)
    monkeypatch.setattr(f, "MOST_RECORDS", 2)
    with pytest.raises(
        ModelFileError, match="`at` has 3 records, at most 2 are kept; use slim=True"
    ):
        written(TABLE, ROWS)
    assert "limit: `at`: a file holds at most 2 records" in said(TABLE, document, tensors)
