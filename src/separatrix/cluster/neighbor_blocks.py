"""Nearest neighbours on a cluster: an index over the blocks of each worker, where they are.

A query goes to every index, which gives its k nearest rows; they merge by distance and then by row number,
as rows do in one index, so that the result is that of one index over all rows. An index over all blocks of
a worker rules out more rows than one for each block would.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from operator import attrgetter
from typing import Any

import numpy as np
from dask.delayed import Delayed
from distributed import futures_of

from separatrix.cluster import engine
from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.cluster.lazy import as_array
from separatrix.cluster.partitions import Samples, partition
from separatrix.errors import UnsupportedError
from separatrix.estimators.base import row_groups
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes

MOST_ROWS = 2**24  # of an index


class ClusterIndex(row_groups.GivenNeighbors):
    """An index of blocks on a cluster, in place of a `NeighborIndex`."""

    def __init__(self, groups: list[Delayed], n_blocks: int) -> None:
        self.groups, self.method = groups, f"{n_blocks} blocks on a cluster"

    def nearest(self, Q: Any, k: int, **options: Any) -> Neighbors:
        """The k nearest rows of queries that are in memory."""
        if Q is None:
            raise UnsupportedError(
                "the training samples are on a cluster: pass them as X, instead of X=None, and ask for "
                "one neighbour more"
            )
        (found,) = engine.compute(*self.search(k, [engine.share("knn-queries", Q)]))
        return Neighbors(*found.neighbors)

    def search(self, k: int, queries: list[Any]) -> list[Delayed]:
        """One task for each block of queries that gives its `FoundRows`."""
        size = len(self.groups)
        calls = [(k, q, one, Q) for q, Q in enumerate(queries) for one in self.groups]
        found = engine.call_each("knn-search", search_on_worker, calls)
        parts = [(k, found[q * size : (q + 1) * size]) for q in range(len(queries))]
        return engine.call_each("knn-merge", row_groups.merge_found, parts)

    def vote(self, model: Any, method: str, queries: list[Any]) -> list[Delayed]:
        """One task for each block of queries: what the model makes of its neighbours."""
        k = int(model.n_neighbors)
        row_groups.require_rows(model, k)
        light = copy(model)
        light.__dict__ |= {"index_": None, "_voters": None}
        shared, found = engine.share("knn-model", light), self.search(k, queries)
        calls = [(shared, method, one) for one in found]
        return engine.call_each(f"knn-{method.replace('_', '-')}", row_groups.vote, calls)

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "this index is on a cluster and cannot be saved; fit the model to samples in memory"
        )


def fit_neighbors(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """Index the blocks of every worker where they are; labels and votes, 16 bytes a row, come here."""
    model._check_parameters()
    row_groups.require_groups(model, samples[2] is not None)
    blocks = ClusterBlocks(model, samples, keep=True)
    votes = blocks.each("votes", row_groups.votes_of)
    sizes = np.array([len(one.y) for one in votes])
    starts = np.cumsum(sizes) - sizes
    light = engine.share("knn-model", copy(model))  # without the votes that it gets below
    tasks = blocks.tasks
    calls = [(light, starts[own], [tasks[b] for b in own]) for own in _on_workers(tasks, sizes)]
    groups = engine.call_each("knn-index", row_groups.index_group, calls)
    model.classes_, _ = blocks.in_class_order()
    model._voters, model.outputs_2d_ = [row_groups.join_votes(votes)], False
    model._set_metric(np.zeros((1, blocks.n_features)))
    model.index_ = ClusterIndex(engine.persist(groups), len(blocks))
    model.n_samples_fit_ = int(sizes.sum())
    return model


def _on_workers(blocks: list[Delayed], sizes: Codes) -> list[list[int]]:
    """Numbers of the blocks of each worker, in order; each by itself in threads of this process."""
    client = engine.client_in_use()
    if client is None:
        return [[b] for b in range(len(blocks))]
    where, groups = client.who_has(futures_of(blocks)), dict[str, list[list[int]]]()
    for b, block in enumerate(blocks):
        own = groups.setdefault(next(iter(where.get(block.key) or ()), ""), [[]])
        if sizes[own[-1]].sum() + sizes[b] > MOST_ROWS:
            own.append([])
        own[-1].append(b)
    return [group for own in groups.values() for group in own if group]


def query_lazily(model: Any, method: str, X: Any, *args: Any, **more: Any) -> Any:
    """`predict`, `predict_proba` or `kneighbors` of a model whose index is on a cluster."""
    parts = partition(X, lazy=True)
    queries = [X for _, X in parts.samples]
    if method != "kneighbors":
        sample = model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))
        return as_array(model.index_.vote(model, method, queries), parts, sample)
    options = dict(zip(("n_neighbors", "return_distance"), args, strict=False)) | more
    k = int(options.get("n_neighbors") or model.n_neighbors)
    row_groups.require_rows(model, k)
    found, arrays = model.index_.search(k, queries), []
    for name, dtype in (("distances", float), ("rows", int)):
        pick, calls = attrgetter(f"neighbors.{name}"), [(one,) for one in found]
        picked = engine.call_each(f"knn-{name}", pick, calls)
        arrays.append(as_array(picked, parts, np.empty((0, k), dtype)))
    return tuple(arrays) if options.get("return_distance", True) else arrays[1]


def search_on_worker(
    k: int, number: int, one: row_groups.GroupIndex, Q: Any
) -> row_groups.FoundRows | None:
    """The k nearest rows of a group, on the threads of its worker."""
    return row_groups.search_group(k, number, one, Q, engine.threads_here(thread_count()))
