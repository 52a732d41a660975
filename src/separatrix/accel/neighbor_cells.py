"""All cells of a search over `KNeighborsClassifier`: one search of a fold serves all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.accel.dispatch import NotServed, prefer_sklearn
from separatrix.accel.neighbor_search import search_wider, settle_ties, voters_of
from separatrix.accel.searches import Cell, Solved, transform_by
from separatrix.estimators.metrics.votes import factors_of
from separatrix.solvers.nearest.ranking import Neighbors


def solve_cells(X: Any, y: Any, cells: list[Cell]) -> Iterator[tuple[int, Solved]]:
    """Predictions of every cell, with its number."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    groups: dict[Hashable, list[Cell]] = defaultdict(list)
    for cell in cells:
        model = cell.model
        if model.metric == "precomputed" or callable(model.metric):
            raise NotServed("precomputed or own metric")
        named = repr((model.metric, model.p, model.metric_params, model.algorithm))
        groups[cell.before, cell.fold, named].append(cell)
    for own in groups.values():
        yield from _solve_fold(X, y, n, own)


def _solve_fold(X: Any, y: Any, n: int, cells: list[Cell]) -> Iterator[tuple[int, Solved]]:
    """Cells that differ in the number of neighbours and the weights of their votes."""
    first = max(cells, key=lambda cell: int(cell.model.n_neighbors))
    learned, asked = _safe_indexing(X, first.fold.train), _safe_indexing(X, first.fold.wanted)
    labels = _safe_indexing(y, first.fold.train)
    if first.steps is not None:
        learned = first.steps.fit_transform(learned, labels)
        asked = transform_by(first.steps, asked)
    model = first.model.fit(learned, labels)
    if model.outputs_2d_:
        raise NotServed("several outputs")
    found, queries = search_wider(model, asked, None)
    settled: dict[int, Neighbors] = {}
    ((classes, voters),) = voters_of(model)
    for cell in cells:
        k = int(cell.model.n_neighbors)
        if k not in settled:
            settled[k] = settle_ties(model, queries, found, k)
        near = settled[k]
        factors = factors_of(cell.model.weights, near.distances)
        if callable(cell.model.weights):
            prefer_sklearn("a function as weights")
        shares = voters.shares(near.rows, factors, "lowest")
        every = np.zeros((n, len(classes)))
        every[cell.fold.wanted] = shares
        named = np.empty(n, dtype=classes.dtype)
        named[cell.fold.wanted] = classes[voters.winners(near.rows, factors, "lowest")]
        yield cell.number, Solved(classes, named, shares=every)
