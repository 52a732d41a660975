"""Graphs of nearest neighbours: exact distances decide, and of equal ones the lower row number."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.distances import absolute_distances, squares_from_products
from separatrix.onnx.graph import Prediction, Tensor, dense, refuse
from separatrix.types import Matrix

SPARE = 8  # rows beyond k whose exact distances are computed, as products round
NORMS = {"euclidean", "l2", "sqeuclidean"}
SUMS = {"manhattan", "cityblock", "l1"}


def nearest_neighbors(model: Any, x: Tensor) -> Prediction:
    """The class with the most votes among the k nearest rows."""
    _require_convertible(model)
    voters, k = model._voters[0], len(model.classes_)
    distances, rows = _search(model, x)
    table = np.eye(k)[voters.y] * voters.weights[:, None]  # (rows, k): the vote of each row
    votes = x.graph.node("Gather", table, rows, axis=0)  # (n, neighbours, k)
    if model.weights == "distance":
        votes = votes * _factors(distances).op("Unsqueeze", np.array([2]))
    sums = votes.reduce("Sum", axis=1, keep=False)
    codes = sums.arg("Max") if model.ties == "lowest" else _nearest_of_best(votes, sums, model)
    shares = sums / sums.reduce("Sum")
    behind = shares.arg("Max").equals(codes).op("Not").column().numbers()
    shares = shares * (1.0 + behind * codes.one_hot(k).numbers() * np.finfo(float).eps)
    if model.smoothing:
        count, more = int(model.n_neighbors), float(model.smoothing)
        shares = (shares * float(count) + more / k) / (count + more)
    return Prediction(codes, model.classes_, None, shares)


def _require_convertible(model: Any) -> None:
    metric = model.effective_metric_
    if model.kernel_ is not None:
        raise refuse(model, "it measures distances in the feature space of a kernel; leave it out")
    if callable(model.weights):
        raise refuse(model, "`weights` is a function of Python; use 'uniform' or 'distance'")
    if not isinstance(metric, str) or metric not in NORMS | SUMS | {"cosine"}:
        known = "'euclidean', 'sqeuclidean', 'manhattan' or 'cosine'"
        raise refuse(model, f"metric={metric!r} is not one of {known}")


def _search(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Distances of the k nearest rows, nearest first, and their numbers; each (n, k)."""
    metric, R, k = model.effective_metric_, dense(model.index_.rows), int(model.n_neighbors)
    if metric in SUMS:
        return _smallest(absolute_distances(x, R), k)
    none = None
    if metric == "cosine":
        x, none = _directions(x, R.shape[1] - model.n_features_in_)
    squares, rows = _nearest_by_differences(x, R, k, none)
    if metric == "cosine":
        return (squares * 0.5).op("Min", 2.0), rows
    return squares if metric == "sqeuclidean" else squares.op("Sqrt"), rows


def _nearest_by_differences(
    x: Tensor, R: Matrix, k: int, none: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Squared distances, summed from differences, and rows; products choose the candidates.

    Products of integers are exact if no mean is subtracted. Samples flagged in `none` are at the same
    distance from all rows.
    """
    graph, whole = x.graph, bool((np.rint(R) == R).all())
    shift = np.zeros(R.shape[1]) if whole else R.mean(axis=0)
    approximate = squares_from_products(x - shift, R - shift)
    if none is not None:
        approximate = none.choose(0.0, approximate)
    count = min(len(R), k + SPARE)
    _, candidates = _smallest(approximate, count)
    candidates, _ = _smallest(candidates, count)  # by number, which decides between equal distances
    exact = graph.concatenate([_square(x, R, candidates.columns(j)) for j in range(count)])
    if none is not None:
        exact = none.choose(2.0, exact)
    squares, places = _smallest(exact, k)
    return squares, candidates.op("GatherElements", places, axis=1)


def _square(x: Tensor, R: Matrix, row: Tensor) -> Tensor:
    """Squared distance of each sample to one row, (n, 1)."""
    return (x - x.graph.node("Gather", R, row.vector(), axis=0)).reduce("SumSquare")


def _smallest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The smallest values of each row, ascending, and their indices; of equal ones the first."""
    how = {"axis": 1, "largest": 0, "sorted": 1}
    smallest, index = values.graph.nodes(2, "TopK", values, np.array([count]), **how)
    return smallest, index


def _directions(x: Tensor, extra: int) -> tuple[Tensor, Tensor]:
    """Unit vectors, with a column of zeros for the flag of zero rows, and which samples are zero."""
    largest = x.op("Abs").reduce("Max")
    none = largest.equals(0.0)
    x = x / none.choose(1.0, largest)
    length = x.reduce("SumSquare").op("Sqrt")
    x = x / none.choose(1.0, length)
    return (x.graph.concatenate([x, length * 0.0]) if extra else x), none


def _factors(distances: Tensor) -> Tensor:
    """1 / distance; if some of a sample are infinite, 1 for those and 0 for the others."""
    factors = 1.0 / distances
    infinite = factors.equals(np.inf)
    alone = infinite.numbers().reduce("Max") > 0.0
    return alone.choose(infinite.numbers(), factors)


def _nearest_of_best(votes: Tensor, sums: Tensor, model: Any) -> Tensor:
    """Of the classes with the most votes the one that voted first."""
    late = float(model.n_neighbors)
    order = np.arange(model.n_neighbors, dtype=np.float64)[:, None]
    first = (votes > 0.0).choose(order, late).reduce("Min", axis=1, keep=False)
    return (sums >= sums.reduce("Max")).choose(first, late + 1.0).arg("Min")
