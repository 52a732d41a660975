import numpy as np
import pandas as pd
import polars as pl
import pytest

from separatrix.data.targets import indicator
from separatrix.errors import DataError, ParameterError

PARITY = {0, 2, 4, 6, 8}


@pytest.mark.parametrize(
    "v", [PARITY, frozenset(PARITY), [8, 6, 4, 2, 0], (0, 2, 4, 6, 8), range(0, 10, 2)], ids=repr
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, object])
def test_parity_of_digits_whatever_holds_them(v, dtype):
    digits = np.arange(10).astype(dtype)
    np.testing.assert_array_equal(indicator(digits, v), [1, -1] * 5)


def test_any_set_of_labels_and_any_shape():
    assert indicator(np.array([[0, 1], [2, 300]], dtype=np.int16), np.array([1, 300])).tolist() == [
        [-1, 1],
        [-1, 1],
    ]
    assert indicator(7, {7}) == 1
    assert indicator([-1, 0.5], {0.5}).tolist() == [-1, 1]
    assert indicator([], {1}).shape == (0,)
    assert indicator([1, 2], set()).tolist() == [-1, -1]
    assert indicator(np.array([1, 2], dtype=np.uint8), {257, 258}).tolist() == [-1, -1]


@pytest.mark.parametrize("series", [pd.Series, pl.Series, np.array, list])
def test_words_are_labels_too(series):
    words = series(["cat", "dog", "elephant"])
    assert indicator(words, {"dog", "elephant"}).tolist() == [-1, 1, 1]
    assert indicator(words, series(["cat"])).tolist() == [1, -1, -1]


def test_targets_can_be_multiplied_without_overflow():
    assert (indicator([1, 2], {1}) * 1000).tolist() == [1000, -1000]


@pytest.mark.parametrize("v", [3, "02468", b"02", None, 1.5, [[0, 2]], np.array(3), np.eye(2)])
def test_what_is_no_collection_of_labels_is_refused(v):
    with pytest.raises(
        ParameterError, match=r"`v` of indicator must be a collection of labels, such"
    ):
        indicator([1, 2], v)


@pytest.mark.parametrize(
    ("d", "v", "sentence"),
    [
        ([1, 2], {"1"}, "labels in d and v must be all strings or all numbers; got int64 in d"),
        (["1", "2"], {1}, "and int64 in v"),
        ([1, "2"], {1}, "labels in d must be all strings or all numbers"),
        ([1, 2], {1, "2"}, "labels in v must be all strings or all numbers"),
        ([1, None], {1}, "labels in d must be all strings or all numbers"),
        ([1.0, np.nan], {1}, "labels in d must not be NaN"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(d, v, sentence):
    with pytest.raises(DataError, match=sentence):
        indicator(d, v)
