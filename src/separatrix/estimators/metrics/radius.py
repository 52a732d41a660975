"""All rows within a radius of each query, from searches for ever more neighbours.

A search for the k nearest rows holds all rows within the radius if the farthest of them is beyond it.
Queries for which it is not are searched again with four times as many, or all distances are computed. So
every metric, kernel and search method of `NeighborIndex` serves, and a radius finds exactly the neighbours
that `kneighbors` finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy
from separatrix.runtime.sums import canonical, dense
from separatrix.runtime.threads import in_order
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Flags, Matrix

FIRST_K = 16  # neighbours of the first search
PROBE = 256  # queries whose numbers of neighbours tell how many to search for
GROWTH = 4
MANY = 32  # a search for more than this fraction of the rows is a scan of all distances
FOUND_BYTES = 64 * MEBIBYTE  # of neighbours at once
SCAN_BYTES = 16 * MEBIBYTE  # of distances and neighbours at once, in each thread


class RadiusBatch(NamedTuple):
    """Some queries, and the rows within the radius, nearest first; other entries are padding."""

    queries: Codes  # shape: (m,); their positions
    distances: Matrix  # shape: (m, k); infinite for padding
    rows: Codes  # shape: (m, k); 0 for padding
    inside: Flags  # shape: (m, k)

    @property
    def counts(self) -> Codes:
        """How many rows are within the radius of each query, (m,)."""
        return np.asarray(self.inside.sum(axis=1))


def search_radius(
    index: NeighborIndex, Q: Any, radius: float, *, threads: int, device: str, ordered: bool = True
) -> Iterator[RadiusBatch]:
    """Yield all queries in batches; Q holds checked queries, or is None for the rows themselves.

    ordered: whether neighbours must come nearest first.
    """
    n = index.n_rows
    count, most = (n, n - 1) if Q is None else (Q.shape[0], n)
    if index.metric == "precomputed" and issparse(index.rows if Q is None else Q):
        yield from _stored(index.rows if Q is None else Q, radius, own=Q is None)
        return
    if not most:  # one row, which is not its own neighbour
        yield _batch(
            np.arange(count), Neighbors(np.empty((count, 0)), np.empty((count, 0), np.intp)), radius
        )
        return

    def search(queries: Codes, k: int) -> Neighbors:
        some = None if Q is None else Q[queries]
        own = queries if Q is None else None
        return index.nearest(some, k, threads=threads, device=device, checked=True, own=own)

    waiting, k = np.arange(count), min(FIRST_K, most)
    if count > PROBE:
        probe = waiting[:: count // PROBE]
        while k * MANY <= n and (search(probe, k).distances[:, -1] <= radius).mean() > 0.5:
            k = grow(k, most)
    while len(waiting):
        if k * MANY > n and (scan := _Scan.of(index, Q, radius, threads, ordered)) is not None:
            yield from scan.batches(waiting)
            return
        left = []
        for part in row_blocks(len(waiting), rows_that_fit(17 * k, FOUND_BYTES)):
            queries = waiting[part]
            found = search(queries, k)
            done = np.full(len(queries), k == most) | (found.distances[:, -1] > radius)
            yield _batch(queries[done], found.of(done), radius)
            left.append(queries[~done])
        waiting, k = np.concatenate(left), grow(k, most)


@dataclass(frozen=True)
class _Scan:
    """A scan of all distances, for radii that hold a good part of the rows."""

    index: NeighborIndex
    Q: Any  # None: the rows themselves
    radius: float
    threads: int
    ordered: bool

    @classmethod
    def of(
        cls, index: NeighborIndex, Q: Any, radius: float, threads: int, ordered: bool
    ) -> _Scan | None:
        """The scan; None if the metric has none."""
        scan = cls(index, Q, radius, threads, ordered)
        if index.kernel is not None and index.kernel.takes != "vectors":
            return None  # kernels on objects start threads of their own
        return None if scan.distances(np.arange(1)) is None else scan

    def batches(self, queries: Codes) -> Iterator[RadiusBatch]:
        """All these queries in batches."""
        size = rows_that_fit(24 * self.index.n_rows, SCAN_BYTES)
        parts = [queries[part] for part in row_blocks(len(queries), size)]
        yield from in_order(self._search, parts, threads=self.threads)

    def distances(self, queries: Codes) -> Matrix | None:
        """Raw distances of some queries to all rows, (m, n)."""
        strategy, rows = self.index.strategy, self.index.rows
        own = self.Q is None
        some = rows[queries] if own else strategy.transform(as_numpy(self.Q[queries]))
        if strategy.converts_queries and not issparse(some):
            some = np.ascontiguousarray(dense(some))
        return strategy.all_distances(rows, some)

    def _search(self, queries: Codes) -> RadiusBatch:
        raw = self.distances(queries)
        assert raw is not None
        D = np.array(self.index.strategy.to_distance(raw), dtype=np.float64, order="C")
        if self.Q is None:
            D[np.arange(len(queries)), queries] = np.nan  # which is within no radius
        width = int((self.radius >= D).sum(axis=1).max(initial=0))
        found = Neighbors(np.full((len(D), width), np.inf), np.zeros((len(D), width), np.intp))
        _collect(D, self.radius, found.distances, found.rows)
        if self.ordered:
            order = np.argsort(found.distances, axis=1, kind="stable")
            found = Neighbors(
                np.take_along_axis(found.distances, order, axis=1),
                np.take_along_axis(found.rows, order, axis=1),
            )
        return _batch(queries, found, self.radius)


@njit(cache=True, nogil=True)
def _collect(D: Matrix, radius: float, distances: Matrix, rows: Codes) -> None:
    """Move what is within the radius to the front."""
    for i in range(D.shape[0]):
        position = 0
        for row in range(D.shape[1]):
            if D[i, row] <= radius:
                distances[i, position], rows[i, position] = D[i, row], row
                position += 1


def grow(k: int, most: int) -> int:
    """The number of neighbours of the next search.

    >>> grow(16, 1000), grow(256, 1000)
    (64, 1000)
    """
    return most if GROWTH * k > most // 2 else GROWTH * k


def _batch(queries: Codes, found: Neighbors, radius: float) -> RadiusBatch:
    """A batch whose entries beyond the radius are padding, without columns that are nothing else."""
    inside = found.distances <= radius
    width = int(inside.sum(axis=1).max(initial=0))
    inside = inside[:, :width]
    distances = np.where(inside, found.distances[:, :width], np.inf)
    rows = np.where(inside, found.rows[:, :width], 0).astype(np.intp)
    return RadiusBatch(queries, distances, rows, inside)


def _stored(graph: Any, radius: float, *, own: bool) -> Iterator[RadiusBatch]:
    """Batches from a sparse matrix of distances, in which only stored entries are neighbours."""
    graph = canonical(graph)
    for i in range(graph.shape[0]):
        held = slice(graph.indptr[i], graph.indptr[i + 1])
        distances, rows = graph.data[held].astype(np.float64), graph.indices[held].astype(np.intp)
        kept = np.flatnonzero((distances <= radius) & ~(own & (rows == i)))
        order = kept[np.lexsort((rows[kept], distances[kept]))][None, :]
        yield _batch(np.array([i]), Neighbors(distances[order], rows[order]), radius)
