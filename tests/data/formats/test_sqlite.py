"""Databases whose views compute without end, or make far more of a file than it holds."""

import os
import sqlite3
from contextlib import closing

import pytest

from separatrix.data.limits import MIB, Limits
from separatrix.data.read import read
from separatrix.data.read_table import read_table
from separatrix.errors import DataFileError

ROWS = "WITH RECURSIVE r(x, y) AS (SELECT 1, 0 UNION ALL SELECT x + 1, x % 2 FROM r) SELECT x, y FROM r"
ENDLESS = {
    "rows": ROWS,
    "texts": f"SELECT y, printf('%.*c', 100000, 'x') AS t FROM ({ROWS})",
    "blobs": f"SELECT y, zeroblob(900000000) AS t FROM ({ROWS})",
}
SILENT = {
    "filter": f"SELECT * FROM ({ROWS}) WHERE x < 0",
    "sum": f"SELECT sum(x) AS x, 1 AS y FROM ({ROWS})",
    "sorted": f"SELECT * FROM ({ROWS}) ORDER BY y",
}


def database(folder, view):
    path = folder / "views.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"CREATE VIEW v AS {view}")
        made.commit()
    return path


@pytest.mark.parametrize("name", ENDLESS)
def test_a_view_with_endless_rows_ends_at_the_limit_of_the_memory(tmp_path, name):
    path = database(tmp_path, ENDLESS[name])
    with pytest.raises(DataFileError, match=r"views.db: found .*(bytes|too big)"):
        read(path, limits=Limits(inflation_free=MIB))


@pytest.mark.parametrize("name", SILENT)
def test_a_view_without_rows_and_without_end_ends_at_the_limit_of_the_time(tmp_path, name):
    path = database(tmp_path, SILENT[name])
    with pytest.raises(
        DataFileError, match=r"views[.]db: found a view that takes more than 0[.]05"
    ) as one:
        read(path, limits=Limits(query_seconds=0.05))
    assert "query_seconds" in one.value.hint


def test_a_view_that_ends_is_read(tmp_path):
    path = database(tmp_path, f"{ROWS} LIMIT 1000")
    assert read(path).X[:, 0].tolist() == list(range(1, 1001))


@pytest.mark.parametrize(
    "value", ["zeroblob(2000000000)", "hex(zeroblob(1000000000))", "hex(zeroblob(10000000))"]
)
@pytest.mark.parametrize("size", [None, 10**9])
def test_a_huge_value_is_refused_whatever_the_size_of_the_file(tmp_path, value, size):
    path = database(tmp_path, f"SELECT {value} AS t, 1 AS y")
    if size is not None:
        os.truncate(path, size)  # a file with a hole
    with pytest.raises(
        DataFileError, match=r"views.db: found a value or a row of more than 16,777,216 bytes"
    ) as one:
        read(path)
    assert "line_bytes" in one.value.hint


def test_a_long_value_is_read_with_a_higher_limit(tmp_path):
    path = tmp_path / "long.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (x, note, y)")
        made.executemany(
            "INSERT INTO t VALUES (?, ?, ?)", [(i, "a" * 3000, i % 2) for i in range(9)]
        )
        made.commit()
    with pytest.raises(DataFileError, match="more than 2,000 bytes"):
        read_table(path, limits=Limits(line_bytes=2000))
    assert len(read_table(path, limits=Limits(line_bytes=4000)).X) == 9


def test_a_query_may_take_a_minute():
    assert Limits().query_seconds == 60.0
