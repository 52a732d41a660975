"""Queries in groups: a group shares the rows it brings into the cache, and groups share the cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.arrays import Flags
from separatrix.compute.blocks import row_blocks
from separatrix.compute.threads import in_order
from separatrix.compute.watch import Watch
from separatrix.solvers.nearest.ranking import Neighbors, sort_heaps


def over_groups(
    look: Callable[[slice, Watch], None],
    m: int,
    size: int,
    found: Neighbors,
    *,
    threads: int,
    watch: Watch | None,
) -> None:
    """Let `look` fill the heaps of one group of queries after the other; then sort them.

    `look` asks its watch now and then whether to go on; the caller's watch hears of every group.
    """
    watch = watch or Watch()
    inner = watch.inner()

    def group(queries: slice) -> None:
        look(queries, inner)
        sort_heaps(found.distances[queries], found.rows[queries])

    for _ in in_order(group, row_blocks(m, size), threads=threads, watch=inner):
        watch.step()


def divided(
    here: Callable[[Any], Neighbors], there: Callable[[Any], Neighbors], elsewhere: Flags
) -> Neighbors:
    """Neighbours of queries, (m,), some of which are to be searched for elsewhere."""
    if not elsewhere.any():
        return here(slice(None))
    if elsewhere.all():
        return there(slice(None))
    own, others = np.flatnonzero(~elsewhere), np.flatnonzero(elsewhere)
    parts = here(own), there(others)
    back = np.argsort(np.concatenate([own, others]))
    return Neighbors(*(np.concatenate(pair)[back] for pair in zip(*parts, strict=True)))
