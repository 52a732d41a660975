"""All cells of a search over `KNeighborsClassifier`: one search of a fold for all numbers of neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.accel.neighbor_votes import (
    count_votes,
    find_rows,
    require_served,
    samples_as_numbers,
)
from separatrix.accel.searches import Cell, Solved, transform_by


def solve_cells(X: Any, y: Any, cells: list[Cell]) -> Iterator[tuple[int, Solved]]:
    """Predictions of every cell, with its number."""
    groups: dict[Hashable, list[Cell]] = defaultdict(list)
    for cell in cells:
        model = cell.model
        metric = repr((model.metric, model.p, model.metric_params))
        groups[cell.before, cell.fold, metric].append(cell)
    for group in groups.values():
        yield from _solve_fold(X, y, group)


def _solve_fold(X: Any, y: Any, cells: list[Cell]) -> Iterator[tuple[int, Solved]]:
    """Cells that differ in the number of neighbours."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    fold, steps = cells[0].fold, cells[0].steps
    learned, labels = _safe_indexing(X, fold.train), _safe_indexing(y, fold.train)
    parts = [_safe_indexing(X, rows) for rows in fold.parts]
    if steps is not None:
        learned = steps.fit_transform(learned, labels)
        parts = [transform_by(steps, part) for part in parts]
    models = [cell.model.fit(learned, labels) for cell in cells]
    most = max(require_served(model) for model in models)
    widest = next(model for model in models if model.n_neighbors == most)
    classes = widest.classes_
    shares = [np.zeros((n, len(classes))) for _ in cells]
    for rows, part in zip(fold.parts, parts, strict=True):
        Q = samples_as_numbers(widest, part)
        found = find_rows(widest, Q, most)
        for model, votes in zip(models, shares, strict=True):
            votes[rows] = count_votes(model, part, Q, int(model.n_neighbors), found)
    for cell, votes in zip(cells, shares, strict=True):
        yield cell.number, Solved(classes, classes[votes.argmax(axis=1)], shares=votes)
