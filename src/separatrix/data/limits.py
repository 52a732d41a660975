"""How much a file may ask for. A reader refuses what is over, before it allocates or goes on."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The most that a reader takes from one file; raise a limit where a file is trusted.

    >>> Limits(rows=1000).rows
    1000
    """

    bytes: int = 4096 * MIB  # of the file as it lies there
    inflated_bytes: int = 16384 * MIB  # of what a compressed file holds
    inflation: int = 200  # inflated bytes for each byte read, past the first `inflation_free`
    inflation_free: int = 16 * MIB  # small files may be as compressible as they like
    line_bytes: int = 16 * MIB
    rows: int = 100_000_000
    features: int = 10_000_000  # of a sparse file, whose width costs nothing
    columns: int = 100_000  # of a table, whose width costs a value in every row
    values: int = 2_000_000_000  # of a dense table, rows times columns
    categories: int = 10_000  # of one column
