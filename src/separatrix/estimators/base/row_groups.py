"""Nearest neighbours from groups of rows that are not in one memory: an index each, and answers that merge.

Rows merge by distance and then by number, as in one index, so that the result is that of one index.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.labelled_blocks import LabelledBlock, concatenate_rows
from separatrix.estimators.base.prepare import check_samples
from separatrix.estimators.metrics.votes import Voters
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Vector

SCALED = ("seuclidean", "mahalanobis")  # metrics whose parameters come from all samples


class GroupIndex(NamedTuple):
    """The index of the rows of some blocks that have a vote, with their votes."""

    index: Any  # None without rows
    voters: Voters
    numbers: Codes  # shape: (n,); of the rows among all rows
    model: Any  # knows the names of the features


class FoundRows(NamedTuple):
    """Neighbours of some queries, with what each of them votes."""

    neighbors: Neighbors
    y: Codes  # shape: (m, k)
    weights: Vector  # shape: (m, k)


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


def votes_of(found: LabelledBlock | None) -> Voters:
    """The labels and votes of the rows of a block that have a vote."""
    if found is None:
        return Voters(np.empty(0, np.intp), np.empty(0), 0)
    voters = Voters(found.block.y, found.block.weights, len(found.labels))
    return voters.taken(np.flatnonzero(voters.weights > 0))


def join_votes(votes: Sequence[Voters]) -> Voters:
    """Those of several blocks."""
    y, weights = (np.concatenate(column) for column in list(zip(*votes, strict=True))[:2])
    return Voters(y, weights, max(one.n_classes for one in votes))


def index_group(model: Any, starts: Codes, blocks: list[LabelledBlock | None]) -> GroupIndex:
    """An index over the rows of some blocks that have a vote; `starts` are the numbers of their first."""
    votes = [votes_of(one) for one in blocks]
    numbers = [start + np.arange(len(one.y)) for start, one in zip(starts, votes, strict=True)]
    voters = join_votes(votes)
    parts = [one.block.X[one.block.weights > 0] for one in blocks if one is not None]
    own, index = copy(model), None
    if len(voters.y):
        X = concatenate_rows(parts)
        own._set_metric(X)
        own._build_index(X)
        index = own.index_
    return GroupIndex(index, voters, np.concatenate(numbers), model)


def search_group(k: int, number: int, one: GroupIndex, Q: Any, threads: int) -> FoundRows | None:
    """The k nearest rows of some blocks, or all if they have fewer."""
    if one.index is None:
        return None
    k, m = min(k, one.index.n_rows), Q.shape[0]
    if not m:
        return FoundRows(Neighbors(np.empty((0, k)), np.empty((0, k), int)), *np.empty((2, 0, k)))
    try:
        known = one.model if hasattr(Q, "columns") else _without_names(one.model)
        found = one.index.nearest(check_samples(known, Q, reset=False), k, threads=threads)
    except ValueError as error:
        raise DataError(f"block {number}: {error}") from None
    neighbors = Neighbors(found.distances, one.numbers[found.rows])
    return FoundRows(neighbors, one.voters.y[found.rows], one.voters.weights[found.rows])


def merge_found(k: int, parts: list[FoundRows | None]) -> FoundRows:
    """The k nearest of all, by distance and then by row."""
    kept = [(*part.neighbors, part.y, part.weights) for part in parts if part is not None]
    distances, rows, y, weights = (np.hstack(column) for column in zip(*kept, strict=True))
    order = np.lexsort((rows, distances), axis=1)[:, :k]
    take: Any = partial(np.take_along_axis, indices=order, axis=1)
    return FoundRows(Neighbors(take(distances), take(rows)), take(y), take(weights))


def vote(light: Any, method: str, found: FoundRows) -> Any:
    """What the estimator makes of neighbours that were found."""
    model, m = _without_names(light), len(found.y)
    if not m:  # the result of a made-up row has the dtype
        found = FoundRows(Neighbors(*np.ones((2, 1, 1))), np.zeros((1, 1), int), np.ones((1, 1)))
    shape = found.y.shape
    rows = np.arange(found.y.size).reshape(shape)
    model._voters = [Voters(found.y.ravel(), found.weights.ravel(), len(model.classes_))]
    model.index_ = GivenNeighbors(Neighbors(found.neighbors.distances, rows))
    model.n_samples_fit_ = max(model.n_samples_fit_, found.y.size)
    return getattr(model, method)(np.zeros((shape[0], model.n_features_in_)))[:m]


def _without_names(model: Any) -> Any:
    """A copy of an estimator that does not know the names of its features."""
    found = copy(model)
    found.__dict__.pop("feature_names_in_", None)
    return found


def require_groups(model: Any, weighted: bool) -> None:
    """Refuse what needs all rows in one memory."""
    given = isinstance(model.metric, str) and model.metric in SCALED and not model.metric_params
    for wrong, what in (
        (model.kernel is not None, "a kernel"),
        (model._precomputed, "metric='precomputed'"),
        (callable(model.metric), "a function as metric"),
        (given, f"metric={model.metric!r} without metric_params"),
        (model.k_max is not None, "k_max"),
        (model.class_weight == "balanced" and weighted, "balanced, weighted rows"),
    ):
        if wrong:
            raise UnsupportedError(
                f"KNeighborsClassifier with {what} needs all samples in one memory; pass X.compute(), or "
                "leave it out"
            )


def require_rows(model: Any, k: int) -> None:
    """Refuse more neighbours than there are rows."""
    if k > model.n_samples_fit_:
        raise DataError(
            f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
            f"{model.n_samples_fit_}"
        )
