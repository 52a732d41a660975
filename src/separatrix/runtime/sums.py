"""A fit that is a sum: each block gives its part, parts merge in order, and merged equals whole.

So the same two functions serve an array, a memory map, a stream of blocks and, later, a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.blocks import MEBIBYTE, rows_that_fit
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_order
from separatrix.types import Matrix

Part = TypeVar("Part")
Item = TypeVar("Item")

BLOCK_BYTES = 8 * MEBIBYTE
MOST_BYTES = (
    24 * MEBIBYTE
)  # what is over 32 the C library takes from, and gives to, the system each time
FEWEST_ROWS = 2048  # below that a product of the rows with themselves runs at half speed
MANY = 8  # times d: where d x d sums are merged, that costs little beside making them


def total(
    part_of: Callable[[Item], Part],
    blocks: Iterable[Item],
    merged: Callable[[Part, Part], Part],
    monitor: FitMonitor | None = None,
    *,
    threads: int = 1,
) -> Part:
    """The merged parts of all blocks, in their order whatever the number of threads.

    >>> total(len, ["ab", "cde"], lambda a, b: a + b)
    5
    """
    if isinstance(blocks, Sized) and len(blocks) == 1:
        threads = 1  # one block is done before a thread has begun
    found: Part | None = None
    for part in in_order(part_of, blocks, threads=threads):
        found = part if found is None else merged(found, part)
        if monitor is not None:
            monitor.step()
    if found is None:
        raise ValueError("a sum over no block at all")
    return found


def rows_of_a_block(d: int) -> int:
    """Samples of d features that are worked on at a time."""
    fewest = rows_that_fit(8 * d, MOST_BYTES, most=max(FEWEST_ROWS, MANY * d))
    return max(fewest, rows_that_fit(8 * d, BLOCK_BYTES))


def dense(X: Any, dtype: Any = np.float64) -> Matrix:
    """Samples as an array of that precision; not copied where they are one."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=dtype)


def shared_rows(X: Any, rows: slice) -> Any:
    """Some samples that share the memory of all; of a sparse matrix SciPy's slice is a copy."""
    if not issparse(X):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    held = slice(ends[0], ends[-1])
    found = type(X)((len(ends) - 1, X.shape[1]))  # given all at once, small parts would be copied
    found.data, found.indices, found.indptr = X.data[held], X.indices[held], ends - ends[0]
    return found
