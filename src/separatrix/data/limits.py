"""Limits of a file: a reader refuses a file above them before it allocates memory."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Upper limits of one file; raise a limit for a file that you trust.

    >>> Limits(rows=1000).rows
    1000
    """

    bytes: int = 4096 * MIB  # of the file on disk
    inflated_bytes: int = 16384 * MIB  # of a decompressed file
    inflation: int = 200  # decompressed bytes per compressed byte, past the first `inflation_free`
    inflation_free: int = 16 * MIB  # decompressed bytes without a limit on the ratio
    line_bytes: int = 16 * MIB  # also of a row of a database
    rows: int = 100_000_000
    features: int = 10_000_000  # of a sparse file, whose width takes no memory
    columns: int = 100_000  # of a dense table
    values: int = 2_000_000_000  # of a dense table, rows times columns
    categories: int = 10_000  # of one column
    query_seconds: float = 60.0  # of a view of a database, which may be a query without an end
