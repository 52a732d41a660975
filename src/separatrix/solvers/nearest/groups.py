"""Queries in groups: a group shares the rows it brings into the cache, and groups share the cores."""

from __future__ import annotations

from collections.abc import Callable

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

    try:
        for _ in in_order(group, row_blocks(m, size), threads=threads):
            watch.step()
    except BaseException:
        inner.cancel()
        raise
