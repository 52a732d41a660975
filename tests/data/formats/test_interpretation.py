"""Columns of texts that are numbers, labels and targets, at the borders of what is taken for them."""

import numpy as np
import pytest

from separatrix.data.formats import columns, interpretation
from separatrix.data.formats.columns import Category, format_names, labels_of
from separatrix.data.formats.interpretation import as_numbers


def category(cells):
    values = [value for value in dict.fromkeys(cells) if value is not None]
    codes = [-1 if cell is None else values.index(cell) for cell in cells]
    return Category(np.array(codes, dtype=np.int32), values)


def numbers(cells, **options):
    found = as_numbers("c", category(cells), **options)
    return None if found is None else found.values.tolist()


def test_few_words_among_numbers_are_missing_and_many_make_a_column_of_words():
    plenty = int(np.ceil(1 / interpretation.FEW_WORDS))
    cells = [f"{i},5" for i in range(plenty)]
    few = numbers([*cells[1:], "oops"])
    assert np.isnan(few[-1])
    assert few[:-1] == [i + 0.5 for i in range(1, plenty)]
    assert numbers([*cells[2:], "oops", "oops"]) is None
    most = interpretation.MOST_DIFFERENT_WORDS
    many = [f"{i},5" for i in range(plenty * (most + 1))]
    words = [f"word{i}" for i in range(most + 1)]
    assert numbers([*many, *words[:most]]) is not None
    assert numbers([*many, *words]) is None
    assert numbers([*many, *words], forced=True) is not None


def test_a_note_says_how_many_cells_are_no_numbers():
    plenty = 2 * int(np.ceil(1 / interpretation.FEW_WORDS))
    cells = [f"{i},5" for i in range(plenty)]
    one = as_numbers("c", category([*cells, "oops"])).notes[0]
    assert one.startswith(
        f"c: 1 of {plenty + 1:,} cells is no number ('oops') and counts as missing"
    )
    two = as_numbers("c", category([*cells, "oops", "oops"])).notes[0]
    assert f"2 of {plenty + 2:,} cells are not numbers ('oops') and count as missing" in two


def test_limits_count_as_numbers_beside_enough_of_them():
    least = interpretation.LEAST_BESIDE_LIMITS
    found = numbers([*map(str, range(1, least + 1)), "<0.5"])
    assert found[-1] == 0.5
    assert numbers(["<18", ">18", "<18", ">18"]) is None
    limits, counts = np.array([True] + [False] * least), np.ones(least + 1, int)
    assert interpretation._are_limits(limits, counts)
    assert not interpretation._are_limits(limits[:-1], counts[:-1])
    counts[0] = least  # half of all cells
    assert interpretation._are_limits(limits, counts)
    counts[0] = least + 1
    assert not interpretation._are_limits(limits, counts)


def test_half_of_the_frequent_texts_must_be_numbers():
    may = interpretation._may_be_numbers
    assert may(["1", "x"], np.array([1, 1]))
    assert not may(["1", "x", "y"], np.array([1, 1, 1]))
    rare = ["x"] * 30 + [str(i) for i in range(20)]
    assert may(rare, np.array([1] * 30 + [2] * 20))


def test_codes_with_a_leading_zero_are_no_numbers():
    assert numbers(["007", "1,5"]) is None
    assert numbers(["0", "0,5"]) == [0.0, 0.5]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["1.5", "2"], [1.5, 2.0]),
        (["007", "1"], ["007", "1"]),
        (["-01", "1"], ["-01", "1"]),
        (["0", "0.5"], [0.0, 0.5]),
        (["x", "1"], ["x", "1"]),
        (["9007199254740991", "1"], [9007199254740991, 1]),
        (["9007199254740993", "9007199254740992"], ["9007199254740993", "9007199254740992"]),
        (["1e300", "1"], [1e300, 1.0]),
    ],
)
def test_labels_are_whole_numbers_numbers_or_texts(cells, expected):
    found = labels_of(category(cells))
    assert found.tolist() == expected
    assert [type(one) for one in found.tolist()] == [type(one) for one in expected]


def test_long_labels_are_no_fixed_strings():
    assert labels_of(category(["x" * columns._SHORT_LABEL])).dtype.kind == "U"
    assert labels_of(category(["x" * (columns._SHORT_LABEL + 1)])).dtype.kind == "O"


def test_names_are_shown_up_to_some():
    assert format_names(["a", "b"], 2) == "'a', 'b'"
    assert format_names(["a", "b", "c"], 2) == "'a', 'b' and 1 more"


@pytest.mark.parametrize(
    ("feature", "expected"),
    [
        ("a", ("a", None)),
        ("a=b", ("a=b", None)),
        ("a=x", ("a", "x")),
        ("a=b=x", ("a=b", "x")),  # the longest name that is a column
        ("a=c=x", ("a", "c=x")),
        ("z=x", None),
        ("z", None),
    ],
)
def test_features_are_columns_or_values_of_them(feature, expected):
    assert columns._split_feature({"a", "a=b"}, feature) == expected


@pytest.mark.parametrize(
    ("names", "texts", "header", "expected"),
    [
        (("a", "class", "b"), (), True, ("class", "by its name")),
        (("a", "b", "c"), ("a",), False, ("a", "the only column of texts")),
        (("a", "b", "c"), ("a",), True, ("c", "the last column")),
        (("a", "b", "c"), ("a", "b"), False, ("c", "the last column")),
        (("a", "b"), ("a",), False, ("b", "the last column")),
    ],
)
def test_the_target_is_guessed(names, texts, header, expected):
    assert columns._guess_target(None, names, texts, header) == expected
