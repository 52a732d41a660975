"""What all search methods share: the interface of an index, and a search in groups of queries.

The queries of a group share the rows that they bring into the cache; threads work on groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.nearest.ranking import Neighbors, no_neighbors, sort_heaps
from separatrix.types import Codes, Flags

ROUND = 8  # groups of a thread between two steps of the monitor
SMALL_GROUP = 128  # queries; smaller groups are not divided for the sake of balance
WORTH_A_THREAD = 500_000  # nanoseconds of work


class Index(ABC):
    """Rows prepared for a nearest-neighbour search."""

    method: str  # name of the search method
    nbytes = 0  # that the index holds besides the rows

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query by raw distance; skip: the row each must not find, or -1.

        Q is float64 and C-contiguous, or CSR for "sparse" and "bits"; k is at most n, or n - 1 if a
        query skips a row.
        """
        return self.answer(Search(Q, k, skip, threads, monitor or FitMonitor()))

    def built(self) -> Index:
        """The index that answers many queries."""
        return self

    @abstractmethod
    def answer(self, search: Search) -> Neighbors:
        """The neighbours that a search asks for."""


class Search(NamedTuple):
    """The arguments of `Index.nearest`."""

    Q: Any  # shape: (m, d)
    k: int
    skip: Codes  # shape: (m,)
    threads: int
    monitor: FitMonitor

    def of(self, queries: Any) -> Search:
        """The search for some of the queries."""
        return self._replace(Q=self.Q[queries], skip=self.skip[queries])

    def in_groups(
        self, scan: Callable[[slice, Neighbors, FitMonitor], None], size: int, *, heaps: bool = True
    ) -> Neighbors:
        """Let `scan` fill the heaps of every group of at most `size` queries; then sort the heaps.

        `scan` asks its monitor now and then whether to stop; the monitor of the search counts rounds.
        With heaps=False the lists of `scan` are sorted.
        """
        found = no_neighbors(self.Q.shape[0], self.k)

        def search_group(queries: slice, monitor: FitMonitor) -> None:
            own = found.of(queries)
            scan(queries, own, monitor)
            if heaps:
                sort_heaps(own)

        self.over_groups(search_group, size)
        return found

    def over_groups(
        self,
        search_group: Callable[[slice, FitMonitor], None],
        size: int,
        *,
        cost: float = WORTH_A_THREAD,
    ) -> None:
        """Let threads search groups of at most `size` queries, as many groups for each thread.

        cost: of a query in nanoseconds; threads that would have little to do are not started.
        """
        m, inner = self.Q.shape[0], self.monitor.inner()
        threads = int(min(self.threads, max(1, m * cost // WORTH_A_THREAD)))
        shares = max(-(-m // (size * threads)), min(2, m // (SMALL_GROUP * threads)), 1)
        size = min(size, max(SMALL_GROUP // 2, -(-m // (shares * threads))))
        with blas_on_one_thread():
            for groups in _rounds(row_blocks(m, size), ROUND * threads):
                in_threads(
                    lambda group: search_group(group, inner),
                    groups,
                    threads=threads,
                    monitor=inner,
                )
                self.monitor.step()

    def with_fallback(
        self,
        fast: Callable[[Any], Neighbors],
        needs_fallback: Flags,  # shape: (m,)
        fallback: Index,
    ) -> Neighbors:
        """Neighbours by a fast search, but from another index for the queries that need it."""
        if not needs_fallback.any():
            return fast(slice(None))
        own, others = np.flatnonzero(~needs_fallback), np.flatnonzero(needs_fallback)
        found = fallback.answer(self.of(others))
        if not len(own):
            return found
        back = np.argsort(np.concatenate([own, others]))
        both = zip(fast(own), found, strict=True)
        return Neighbors(*(np.concatenate(pair) for pair in both)).of(back)


def _rounds(groups: Iterator[slice], size: int) -> Iterator[list[slice]]:
    """The groups in lists of `size`."""
    while some := list(islice(groups, size)):
        yield some
