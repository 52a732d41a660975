"""Where complete records end, rows above a table, and cells of ARFF."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from separatrix.data.formats.arff import _split_cells
from separatrix.data.formats.cells import RecordSplitter
from separatrix.data.formats.excel import _skip_title
from separatrix.data.limits import Limits
from separatrix.data.numerals import is_number, is_numeral
from separatrix.data.read import read
from separatrix.data.read_table import read_table
from separatrix.data.units import find_unit
from separatrix.errors import DataFileError


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('a,b\n"c","d"\n', 12),
        ('"a\nb",c\n', 8),
        ('"a ""b""",c\n', 12),  # doubled quotes
        ('a,b\nc,"d\n', 4),  # the last record goes on
        ('a,b\nc,d\ne,"f\ng', 8),
        ('a,"b', 0),
        ('a,b"c"\n', None),  # a quote inside of a cell
        ('"a"b,c\n', None),
        ("a,b\n", 4),
    ],
)
def test_where_complete_records_end(text, end):
    assert RecordSplitter(",", 2)._end_of_regular(text.encode()) == end


@pytest.mark.parametrize(
    ("widths", "skipped"),
    [
        ([1, 3, 3], 1),
        ([2, 3, 3], 0),  # a table of three columns may have a short row
        ([2, 4, 4], 1),
        ([3, 4, 4], 0),
        ([1, 2, 2], 0),
        ([1, 1, 4, 4], 2),
        ([1, 4], 0),  # one row is no table
    ],
)
def test_rows_above_a_table_are_left_out(widths, skipped):
    rows = [["x"] * size + [None] * (4 - size) for size in widths]
    kept, notes = _skip_title(rows)
    assert kept == rows[skipped:]
    assert bool(notes) == bool(skipped)


def test_cells_of_a_row_in_quotes():
    assert _split_cells("1, 2 ,x") == ["1", "2", "x"]
    assert _split_cells("'a,b', 2") == ["a,b", "2"]


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-1, False)])
def test_values_of_parquet_are_limited_by_its_bytes(tmp_path, spare, fits):
    path = tmp_path / "t.parquet"
    table = pa.table({"x": np.zeros(1000), "class": np.arange(1000) % 2})
    pyarrow.parquet.write_table(table, path)
    wanted = 8 * 2 * 1000  # bytes of the values
    limits = Limits(inflation=2, inflation_free=wanted - 2 * path.stat().st_size + spare)
    if fits:
        assert len(read_table(path, limits=limits).y) == 1000
    else:
        with pytest.raises(DataFileError, match="2,000 values in"):
            read_table(path, limits=limits)


def test_long_cells_take_no_longer_than_others(write):
    digits = "1" * 400_000  # the square of so many steps would take hours
    assert not is_number(digits + "x")
    assert not is_numeral(digits + "x")
    assert not is_numeral("1" + " " * 400_000 + "x")
    assert find_unit([digits + "x", "1" + " " * 400_000 + "x"]) == ""
    assert len(read(write(f"a,b,class\n{digits}x,1,x\n2,2,y\n", "x.csv")).y) == 2
