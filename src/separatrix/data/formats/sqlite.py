"""Tables of SQLite databases: `file.db`, or `file.db:table` if there are several."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import TableContents, format_names
from separatrix.data.formats.one_hot import as_dataset
from separatrix.data.formats.rows import memory_source, scan_rows
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource, open_, split_table

LONGEST_VALUE = 1_000_000_000  # bytes, of SQLite
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_MAGIC = b"SQLite format 3\0"


def read_sqlite(path: str, limits: Limits | None = None, **options: Any) -> Dataset:
    """The samples of a table of a database; options as for `read_csv`."""
    return as_dataset(memory_source(path, limits), scan_sqlite(path, limits, **options))


def scan_sqlite(path: str, limits: Limits | None = None, **options: Any) -> TableContents:
    """The columns of a table of a database, which is opened for reading only."""
    file, table = split_table(path)
    with open_(file, limits) as source:
        if not bytes(source.read_up_to(16)).startswith(_MAGIC):
            raise source.error(found="another file", expected="an SQLite database")
        address = f"file:{os.path.abspath(file).replace('?', '%3f').replace('#', '%23')}"
        try:
            database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
            with closing(database), _limited_query(source, database):
                return _scan(source, database, table, options)
        except sqlite3.Error as error:
            raise source.error(
                found=f"a damaged database ({error})", expected="an SQLite database"
            ) from None


@contextmanager
def _limited_query(source: ByteSource, database: sqlite3.Connection) -> Iterator[None]:
    """Stop after some seconds: a view may be a query that computes without end, with or without rows."""
    seconds = source.limits.query_seconds
    end = time.monotonic() + seconds
    database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    longest = min(source.limits.line_bytes, LONGEST_VALUE)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    try:
        yield
    except sqlite3.DataError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_TOOBIG:
            raise
        raise source.error(
            found=f"a value or a row of more than {longest:,} bytes",
            expected="shorter ones",
            hint="raise `line_bytes` of Limits for a database that you trust",
        ) from None
    except sqlite3.OperationalError:
        if time.monotonic() <= end:
            raise
        raise source.error(
            found=f"a view that takes more than {seconds:g} seconds",
            expected="a table, or a view that ends",
            hint="save its rows as a table, or raise `query_seconds` of Limits",
        ) from None


def _count_bytes(source: ByteSource, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows, refused once they are much larger than the file: only a view without end has so many."""
    size, read = os.fstat(source.raw.fileno()).st_size, 0
    limits = source.limits
    most = min(max(limits.inflation_free, limits.inflation * size), limits.inflated_bytes)
    for row in rows:
        read += 8 * len(row) + sum(len(cell) for cell in row if type(cell) in (str, bytes))
        if read > most:
            source.require_inflation(read, size)
        yield row


def _scan(
    source: ByteSource, database: sqlite3.Connection, table: str, options: dict[str, Any]
) -> TableContents:
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    )
    names = [str(row[0]) for row in found]
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        missing = f"no table named {table!r}" if table else f"{len(names)} tables"
        raise source.error(
            found=missing,
            expected=f"one among {format_names(names)}",
            hint=f"name it behind a colon: {source.name}:TABLE",
        )
    quoted = table.replace('"', '""')
    rows = database.execute(f'SELECT * FROM "{quoted}"')
    columns = [str(entry[0]) for entry in rows.description]
    source.require_limit("columns", len(columns), found=f"{len(columns):,} columns")
    return scan_rows(source, columns, _count_bytes(source, rows), how=f"table {table}", **options)
