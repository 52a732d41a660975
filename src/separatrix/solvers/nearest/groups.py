"""Queries in groups: a group shares the rows it brings into the cache, and groups share the cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_order
from separatrix.solvers.nearest.ranking import Neighbors, sort_heaps
from separatrix.types import Codes, Flags


def over_groups(
    scan: Callable[[slice, FitMonitor], None],
    m: int,
    size: int,
    found: Neighbors,
    *,
    threads: int,
    monitor: FitMonitor | None,
) -> None:
    """Let `scan` fill the heaps of one group of queries after the other; then sort them.

    `scan` asks its watch now and then whether to go on; the caller's watch hears of every group.
    """
    monitor = monitor or FitMonitor()
    inner = monitor.inner()

    def group(queries: slice) -> None:
        scan(queries, inner)
        sort_heaps(found.distances[queries], found.rows[queries])

    for _ in in_order(group, row_blocks(m, size), threads=threads, monitor=inner):
        monitor.step()


class Searched(Protocol):
    """What `search_with_fallback` knows of the index it turns to."""

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query."""
        ...


def search_with_fallback(
    here: Callable[[Any], Neighbors],
    elsewhere: Flags,
    otherwise: Searched,
    Q: Any,
    k: int,
    skip: Codes,
    *,
    threads: int,
    monitor: FitMonitor | None,
) -> Neighbors:
    """Neighbours of queries, those `elsewhere`, (m,), from another index."""
    if not elsewhere.any():
        return here(slice(None))
    own, others = np.flatnonzero(~elsewhere), np.flatnonzero(elsewhere)
    found = otherwise.nearest(Q[others], k, skip[others], threads=threads, monitor=monitor)
    if not len(own):
        return found
    back = np.argsort(np.concatenate([own, others]))
    return Neighbors(*(np.concatenate(pair)[back] for pair in zip(here(own), found, strict=True)))
