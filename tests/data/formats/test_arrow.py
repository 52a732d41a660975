import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.data.formats.samples import ARROW_TABLE, WRITERS, from_path, parquet

from separatrix.data.formats import arrow, nested, table
from separatrix.data.formats.rows import memory_source
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError, ParameterError

read_arrow = from_path(arrow.read_arrow)
read_csv = from_path(table.read_csv)


@pytest.mark.parametrize("writer", WRITERS)
def test_the_same_as_the_table_in_a_csv_file(write, writer):
    text = b"age,job,n,class\n31,clerk,1,a\n45.5,cook,2,b\n,clerk,3,a\n"
    expected = read_csv(write(text, "t.csv"))

    found = read_arrow(write(writer(ARROW_TABLE)))

    assert found.features == expected.features == ("age", "n", "job=clerk", "job=cook")
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.target == "class"


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_a_number_and_what_a_category(write, writer):
    columns = {
        "i": pa.array([1, None], pa.uint8()),
        "f": pa.array([0.5, 1.0], pa.float32()),
        "d": pa.array([Decimal("1.5"), Decimal("2.5")]),
        "nothing": pa.nulls(2),
        "b": [True, False],
        "day": [datetime.date(2020, 1, 1), None],
        "c": pa.array(["x", "y"]).dictionary_encode(),
        "s": ["?", " z "],
        "y": [3.0, 4.0],
    }
    found = read_arrow(write(writer(columns)))

    assert found.features == (
        *("i", "f", "d", "nothing"),
        *("b=false", "b=true", "day=2020-01-01", "c=x", "c=y", "s=z"),
    )
    np.testing.assert_array_equal(
        found.X,
        [[1, 0.5, 1.5, np.nan, 0, 1, 1, 1, 0, 0], [np.nan, 1, 2.5, np.nan, 1, 0, 0, 0, 1, 1]],
    )
    assert found.y.tolist() == [3, 4]
    assert found.y.dtype == np.intp


@pytest.mark.parametrize("writer", WRITERS)
def test_features_of_a_model_are_found(write, writer):
    new = {"job": ["cook", "smith"], "extra": [[1], [2]], "age": [1, 2]}

    found = read_arrow(write(writer(new)), features=["age", "job=clerk", "job=cook"], target=None)

    assert found.X.tolist() == [[1, 0, 1], [2, 0, 0]]
    assert found.notes == ("job: 1 rows have values the model has not seen: 'smith'",)
    with pytest.raises(DataFileError, match="no column for the feature 'town=Rome'"):
        read_arrow(write(writer(new)), features=["town=Rome"])
    with pytest.raises(DataFileError, match="string in 'job', expected numbers"):
        read_arrow(write(writer(new)), features=["job"])


def test_what_cannot_be_used_is_refused(write):
    for columns, words in (
        ({"a": [b"\0"], "y": [1]}, "binary in 'a', expected numbers, texts"),
        ({"a": [1, 2], "y": ["x", None]}, "no label in 'y', row 2"),
        ({"a": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}, "no rows"),
    ):
        with pytest.raises(DataFileError, match=words):
            read_arrow(write(parquet(columns)))
    with pytest.raises(DataFileError, match="begins with b'a,b"):
        read_arrow(write(b"a,b\n1,2\n"))
    with pytest.raises(ParameterError):
        read_arrow(write(parquet(ARROW_TABLE)), target=1.5)


def test_limits_are_kept(write):
    path = write(parquet({"a": range(30), "b": [f"k{i}" for i in range(30)], "y": [0, 1] * 15}))
    for limits, words in (
        (Limits(rows=29), "30 rows, expected at most 29"),
        (Limits(values=89), "90 values"),
        (Limits(columns=2), "3 columns|damaged"),
        (Limits(inflated_bytes=300), "inflated bytes|more than 300 bytes"),
        (Limits(categories=29), "more than 29 different texts in 'b'"),
    ):
        with pytest.raises(DataFileError, match=words):
            read_arrow(path, limits=limits)
    assert read_arrow(path, limits=Limits(rows=30, columns=3)).X.shape == (30, 31)


def test_a_small_file_of_many_rows_is_refused_before_they_are_made(write):
    bomb = parquet({"a": np.zeros(20_000_000, dtype=np.int8), "y": np.zeros(20_000_000, np.int8)})

    assert len(bomb) < 1 << 20
    with pytest.raises(DataFileError, match="40,000,000 values in"):
        read_arrow(write(bomb))


def test_the_first_six_bytes_of_another_file_are_shown():
    with pytest.raises(DataFileError, match=r"begins with b'ABCDEF'"):
        arrow._open_content(memory_source("a.arrow"), b"ABCDEFGH")


def test_lists_of_one_length_are_columns_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(nested, "MOST_VALUES", 2)
    kind = pa.list_(pa.float64())

    def length(*lists):
        batch = pa.RecordBatch.from_pydict({"v": pa.array(lists, kind)})
        return nested._common_length(kind, lambda names: [batch], "v")

    assert length([1.0, 2.0], None, [3.0, 4.0]) == 2
    assert length([1.0, 2.0, 3.0]) == 0
    assert length([1.0], [1.0, 2.0]) == 0
    assert nested._common_length(pa.list_(pa.string()), lambda names: [], "v") == 0
    column = pa.array([[1.0, 2.0], None, [3.0, 4.0]], kind)
    assert nested._element(column, 1).to_pylist() == [2.0, None, 4.0]
    assert nested.nested_note("v", ["v"]) == "v: lists or maps are read as texts in JSON"
    four = nested.nested_note("v", ["v.0", "v.1", "v.2", "v.3"])
    assert four == "v: nested values are the columns v.0, v.1, v.2, ... v.3"
    three = nested.nested_note("v", ["v.0", "v.1", "v.2"])
    assert three == "v: nested values are the columns v.0, v.1, v.2"


def test_columns_of_texts_are_encoded_in_place():
    columns = {"a": ["x", "y"], "n": [1, 2], "b": pa.array(["p", None]).dictionary_encode()}
    found = arrow._encode_texts(pa.RecordBatch.from_pydict(columns), ["b", "a"])
    assert found.schema.names == ["a", "n", "b"]
    assert [found.column(i).to_pylist() for i in range(3)] == [["x", "y"], [1, 2], ["p", None]]
    assert all(pa.types.is_dictionary(found.column(i).type) for i in (0, 2))
