"""What all search methods share: the interface of an index, groups of queries, a fallback index.

The queries of a group share the rows that they bring into the cache; threads work on groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_order
from separatrix.solvers.nearest.ranking import Neighbors, sort_heaps
from separatrix.types import Codes, Flags


class Index(Protocol):
    """Rows prepared for a nearest-neighbour search."""

    @property
    def method(self) -> str:
        """Name of the search method."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes that the index holds besides the rows."""
        ...

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query by raw distance; skip: the row each must not find, or -1.

        Q is float64 and C-contiguous, or CSR for "sparse" and "bits"; k is at most n, or n - 1 if a
        query skips a row.
        """
        ...


def search_groups(
    scan: Callable[[slice, FitMonitor], None],
    m: int,
    size: int,
    found: Neighbors,
    *,
    threads: int,
    monitor: FitMonitor | None,
) -> None:
    """Let `scan` fill the heaps of every group of `size` queries; then sort the heaps.

    `scan` asks its monitor now and then whether to stop; the caller's monitor counts the groups.
    """
    monitor = monitor or FitMonitor()
    inner = monitor.inner()

    def search_group(queries: slice) -> None:
        scan(queries, inner)
        sort_heaps(found.distances[queries], found.rows[queries])

    for _ in in_order(search_group, row_blocks(m, size), threads=threads, monitor=inner):
        monitor.step()


def search_with_fallback(
    fast: Callable[[Any], Neighbors],
    needs_fallback: Flags,  # shape: (m,)
    fallback: Index,
    Q: Any,
    k: int,
    skip: Codes,
    *,
    threads: int,
    monitor: FitMonitor | None,
) -> Neighbors:
    """Neighbours by a fast search, but from another index for the queries that need it."""
    if not needs_fallback.any():
        return fast(slice(None))
    own, others = np.flatnonzero(~needs_fallback), np.flatnonzero(needs_fallback)
    found = fallback.nearest(Q[others], k, skip[others], threads=threads, monitor=monitor)
    if not len(own):
        return found
    back = np.argsort(np.concatenate([own, others]))
    return Neighbors(*(np.concatenate(pair)[back] for pair in zip(fast(own), found, strict=True)))
