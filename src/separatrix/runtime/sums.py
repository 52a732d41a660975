"""Sums over blocks of samples: each block gives its part, and parts merge in order.

The same functions serve an array, a memory map, a stream of blocks and a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.blocks import MEBIBYTE, rows_that_fit
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_order
from separatrix.types import Matrix

Part = TypeVar("Part")
Item = TypeVar("Item")

BLOCK_BYTES = 8 * MEBIBYTE
MOST_BYTES = 24 * MEBIBYTE  # malloc returns blocks above 32 MiB to the system each time
FEWEST_ROWS = 2048  # below that a product of the rows with themselves runs at half speed
MANY = 8  # times d: where d x d sums are merged, that costs little beside making them


@runtime_checkable
class SumsItself(Protocol):
    """Blocks that are not here: they compute and merge their parts where they are."""

    def merge_parts(
        self,
        part_of: Callable[[Any], Any],
        merged: Callable[[Any, Any], Any],
        monitor: FitMonitor | None,
    ) -> Any:
        """The merged parts of all blocks, in their order."""
        ...


def total(
    part_of: Callable[[Item], Part],
    blocks: Iterable[Item],
    merged: Callable[[Part, Part], Part],
    monitor: FitMonitor | None = None,
    *,
    threads: int = 1,
) -> Part:
    """The merged parts of all blocks, in their order for any number of threads.

    >>> total(len, ["ab", "cde"], lambda a, b: a + b)
    5
    """
    if isinstance(blocks, SumsItself):
        return cast(Part, blocks.merge_parts(part_of, merged, monitor))
    if isinstance(blocks, Sized) and len(blocks) == 1:
        threads = 1  # one block needs no thread
    found: Part | None = None
    for part in in_order(part_of, blocks, threads=threads):
        found = part if found is None else merged(found, part)
        if monitor is not None:
            monitor.step()
    if found is None:
        raise ValueError("sum over an empty iterable of blocks")
    return found


def rows_of_a_block(d: int) -> int:
    """Rows of a block of samples with d features."""
    fewest = rows_that_fit(8 * d, MOST_BYTES, most=max(FEWEST_ROWS, MANY * d))
    return max(fewest, rows_that_fit(8 * d, BLOCK_BYTES))


def dense(X: Any, dtype: Any = np.float64) -> Matrix:
    """Samples as an array of that dtype, None: their own; copied only if necessary."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=dtype)


def canonical(X: Any) -> Any:
    """CSR rows with sorted columns and no entry twice; copied only if necessary."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def shared_rows(X: Any, rows: slice) -> Any:
    """A slice of the samples without a copy; SciPy would copy a sparse slice."""
    if not issparse(X):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    held = slice(ends[0], ends[-1])
    found = type(X)((len(ends) - 1, X.shape[1]))  # the constructor would copy small parts
    found.data, found.indices, found.indptr = X.data[held], X.indices[held], ends - ends[0]
    return found
