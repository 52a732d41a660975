"""Where complete records end, rows above a table, and cells of ARFF."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.data.formats.samples import from_path

from separatrix.data.formats.arff import _split_cells
from separatrix.data.formats.cells import RecordSplitter
from separatrix.data.formats.excel import _skip_title
from separatrix.data.formats.table import read_csv
from separatrix.data.limits import Limits
from separatrix.data.read_table import read_table
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


@pytest.mark.parametrize(
    ("row", "column"), [('1,\t"a",x', 3), ('1, \t "a,b",x', 4), ('\t"1",a,x', 1)]
)
def test_tabs_before_quotes_are_refused_as_other_readers_keep_the_quotes(write, row, column):
    path = write(f"n,word,class\n2,b,y\n{row}\n", "t.csv")
    with pytest.raises(DataFileError, match=rf"t.csv:3:{column}: found a tab before quotes"):
        read_table(path)


def test_blanks_around_quotes_do_not_count(write):
    commas = write('n,word,class\n2, "b" ,y\n1,"a"\t,x\n3,\tb,x\n', "t.csv")
    tabs = write('n\tword\tclass\n2\t"b"\ty\n1\t "a"\tx\n3\tb\tx\n', "t.tsv")
    for path in (commas, tabs):
        data = from_path(read_csv)(path)
        assert data.features == ("n", "word=a", "word=b")
        assert data.X[:, 1].tolist() == [0.0, 1.0, 0.0]
