"""Nearest neighbours on a cluster: an index for each block, where the block is.

A query goes to every index, which gives its k nearest rows; they merge by distance and then by row number,
as rows do in one index, so that the result is that of one index over all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed

from separatrix.cluster.cluster_blocks import CheckedBlock, ClusterBlocks
from separatrix.cluster.engine import compute, compute_each, map_blocks, persist, share, task
from separatrix.cluster.lazy import as_array, block_error
from separatrix.cluster.partitions import partition
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.metrics.votes import Voters
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Vector

SCALED = ("seuclidean", "mahalanobis")  # metrics whose parameters come from all samples


class BlockIndex(NamedTuple):
    """The index of one block with the labels and votes of its rows."""

    index: Any
    voters: Voters


class FoundRows(NamedTuple):
    """Neighbours of some queries, with what each of them votes."""

    neighbors: Neighbors
    y: Codes  # shape: (m, k)
    weights: Vector  # shape: (m, k)


class ClusterIndex:
    """An index of blocks on a cluster, in the place of a `NeighborIndex`."""

    sparse, gpu_obstacle = False, "samples on a cluster"

    def __init__(self, blocks: list[Delayed], starts: Codes, n_features: int) -> None:
        self.blocks, self.starts, self.n_features = blocks, starts, n_features

    @property
    def method(self) -> str:
        """How it searches."""
        return f"{len(self.blocks)} blocks on a cluster"

    def nearest(self, Q: Any, k: int, **options: Any) -> Neighbors:
        """The k nearest rows of queries that are in memory."""
        if Q is None:
            raise UnsupportedError(
                "the training samples are on a cluster: pass them as X, instead of X=None, and ask for "
                "one neighbour more"
            )
        (found,) = compute(*self.search_blocks(k, [share("knn-queries", Q)]))
        return Neighbors(*found.neighbors)

    def match_input(self, values: Any, Q: Any) -> Any:
        """The values."""
        return values

    def search_blocks(self, k: int, queries: list[Any]) -> list[Delayed]:
        """One task for each block of queries that gives its `FoundRows`."""
        search, merge = task("knn-search", search_block), task("knn-merge", merge_found)
        found = []
        for number, query in enumerate(queries):
            parts = [
                search(k, int(start), number, block, query, number=number * len(self.blocks) + b)
                for b, (block, start) in enumerate(zip(self.blocks, self.starts, strict=True))
            ]
            found.append(merge(k, parts, number=number))
        return found

    def __reduce__(self) -> Any:
        raise UnsupportedError(
            "this index is on a cluster and cannot be saved; fit the model to samples in memory"
        )


class GivenNeighbors:
    """An index that has searched already."""

    sparse, gpu_obstacle = False, "samples on a cluster"

    def __init__(self, found: Neighbors) -> None:
        self.found = found

    def nearest(self, Q: Any, k: int, **options: Any) -> Neighbors:
        """What was found."""
        return self.found

    def match_input(self, values: Any, Q: Any) -> Any:
        """The values."""
        return values


def fit_neighbors(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """Index every block where it is; labels and votes, 16 bytes a row, come here."""
    model._check_parameters()
    _require_supported(model, sample_weight)
    blocks = ClusterBlocks(model, partition(X, y, sample_weight), keep=True)
    kept = [(one,) for one in blocks.checked()]
    indexes = persist(map_blocks("knn-index", index_block, model, kept))
    voters = compute_each("knn-labels", voters_of, None, [(one,) for one in indexes])
    sizes = np.array([len(one.y) for one in voters])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    model.classes_, _ = blocks.in_class_order()
    y_all = np.concatenate([one.y for one in voters])
    votes = np.concatenate([one.weights for one in voters])
    model._voters = [Voters(y_all, votes, len(model.classes_))]
    model.outputs_2d_ = False
    model._set_metric(np.zeros((1, blocks.n_features)))
    model.index_ = ClusterIndex(indexes, starts, blocks.n_features)
    model.n_samples_fit_ = int(sizes.sum())
    return model


def query_lazily(model: Any, method: str, X: Any, *args: Any, **more: Any) -> Any:
    """`predict`, `predict_proba` or `kneighbors` of a model whose index is on a cluster."""
    k = int(model.n_neighbors)
    if method == "kneighbors":
        options = dict(zip(("n_neighbors", "return_distance"), args, strict=False)) | more
        k = int(options.get("n_neighbors") or k)
    if k > model.n_samples_fit_:
        raise DataError(
            f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
            f"{model.n_samples_fit_}"
        )
    parts = partition(X)
    found = model.index_.search_blocks(k, [X for (X,) in parts.samples])
    light = copy(model)
    light.__dict__ |= {"index_": None, "_voters": None}
    if method == "kneighbors":
        pick = [task("knn-neighbors", partial(pick_neighbors, i)) for i in range(2)]
        arrays = [
            as_array(_after(pick[i], found), parts, np.empty((0, k), (float, int)[i]))
            for i in range(2)
        ]
        return tuple(arrays) if options.get("return_distance", True) else arrays[1]
    voted = _after(task(f"knn-{method.replace('_', '-')}", partial(vote, light, method)), found)
    sample = model.classes_[:0] if method == "predict" else np.empty((0, len(model.classes_)))
    return as_array(voted, parts, sample)


def _after(call: Callable[..., Delayed], found: list[Delayed]) -> list[Delayed]:
    return [call(one, number=number) for number, one in enumerate(found)]


def _require_supported(model: Any, sample_weight: Any) -> None:
    given = isinstance(model.metric, str) and model.metric in SCALED and not model.metric_params
    for wrong, what in (
        (model.kernel is not None, "a kernel"),
        (model._precomputed, "metric='precomputed'"),
        (callable(model.metric), "a function as metric"),
        (given, f"metric={model.metric!r} without metric_params"),
        (model.k_max is not None, "k_max"),
        (model.class_weight == "balanced" and sample_weight is not None, "balanced, weighted rows"),
    ):
        if wrong:
            raise UnsupportedError(
                f"KNeighborsClassifier with {what} needs all samples in one memory; pass X.compute(), or "
                "leave it out"
            )


def index_block(model: Any, number: int, checked: CheckedBlock | None) -> BlockIndex:
    """An index over the rows of a block that have a vote."""
    if checked is None:
        return BlockIndex(None, Voters(np.empty(0, np.intp), np.empty(0), 0))
    own, (X, y, weights) = copy(model), checked.block
    own._voters = [Voters(y, weights, len(checked.labels))]
    X = own._leave_out_weightless(X)
    if not X.shape[0]:
        return BlockIndex(None, own._voters[0])
    own._set_metric(X)
    own._build_index(X)
    return BlockIndex(own.index_, own._voters[0])


def voters_of(_shared: None, number: int, one: BlockIndex) -> Voters:
    """The labels and votes of the rows of a block."""
    return one.voters


def search_block(k: int, start: int, number: int, one: BlockIndex, Q: Any) -> FoundRows | None:
    """The k nearest rows of a block, or all if it has fewer."""
    if one.index is None:
        return None
    try:
        Q = np.asarray(Q) if hasattr(Q, "columns") else Q
        found = one.index.nearest(Q, min(k, one.index.n_rows), threads=1)
    except ValueError as error:
        raise block_error(number, error) from None
    y, weights = one.voters.y[found.rows], one.voters.weights[found.rows]
    return FoundRows(Neighbors(found.distances, found.rows + start), y, weights)


def merge_found(k: int, parts: list[FoundRows | None]) -> FoundRows:
    """The k nearest of all, by distance and then by row."""
    kept = [part for part in parts if part is not None]
    distances, rows = (np.hstack([part.neighbors[i] for part in kept]) for i in range(2))
    y, weights = np.hstack([part.y for part in kept]), np.hstack([part.weights for part in kept])
    order = np.lexsort((rows, distances), axis=1)[:, :k]
    take: Any = partial(np.take_along_axis, indices=order, axis=1)
    return FoundRows(Neighbors(take(distances), take(rows)), take(y), take(weights))


def pick_neighbors(which: int, found: FoundRows) -> Any:
    """Distances or rows."""
    return found.neighbors[which]


def vote(light: Any, method: str, found: FoundRows) -> Any:
    """What the estimator makes of neighbours that were found."""
    model, shape = copy(light), found.y.shape
    rows = np.arange(found.y.size).reshape(shape)
    model._voters = [Voters(found.y.ravel(), found.weights.ravel(), len(model.classes_))]
    model.index_ = GivenNeighbors(Neighbors(found.neighbors.distances, rows))
    model.n_samples_fit_ = max(model.n_samples_fit_, found.y.size)
    return getattr(model, method)(np.zeros((shape[0], model.n_features_in_)))
