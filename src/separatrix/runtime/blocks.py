"""Row blocks, and the memory budget that sizes them.

No other module computes the end of a block or asks for the memory of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

MEBIBYTE = 2**20
LARGEST_DEFAULT = 4096 * MEBIBYTE
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def row_blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover range(n) in order, each at most `size` long.

    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def rows_that_fit(row_bytes: int, budget: int, *, most: int | None = None) -> int:
    """Rows of `row_bytes` that fit a budget in bytes: at least 1, at most `most`.

    >>> rows_that_fit(100, 1000), rows_that_fit(100, 1000, most=4), rows_that_fit(100, 10)
    (10, 4, 1)
    """
    fitting = max(1, budget // max(1, row_bytes))
    return fitting if most is None else min(fitting, max(1, most))


def default_budget() -> int:
    """Default memory budget in bytes: 4 GiB, or a quarter of the machine's memory if that is less."""
    return min(LARGEST_DEFAULT, memory_of_this_machine() // 4)


def memory_of_this_machine() -> int:
    """Memory of this machine in bytes, or the limit of its container when it was first asked for."""
    return _least_limit(CGROUP_LIMITS)


@cache
def _least_limit(names: tuple[str, ...]) -> int:
    """Reading the files takes longer than many a small fit may wait."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in names:
        try:
            limits.append(int(Path(name).read_text()))
        except (OSError, ValueError):  # no such limit, or the word "max"
            continue
    return min(limits)


def in_words(size: float) -> str:
    """Bytes in a readable unit.

    >>> in_words(5_000), in_words(3.2e9)
    ('4.9 KiB', '3.0 GiB')
    """
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
