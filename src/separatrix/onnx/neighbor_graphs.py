"""Graphs of neighbours: distances from differences decide, and of equal ones the lower row number."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.distance_graphs import (
    absolute_distances,
    squares_from_products,
    squares_of_differences,
    sum_in_order,
    sum_one_by_one,
)
from separatrix.onnx.onnx_graph import Prediction, Tensor, refuse
from separatrix.runtime.sums import dense
from separatrix.types import Matrix

SPARE = 8  # rows beyond k whose distances are computed from differences, as products round
MANY = 40  # candidates from which the distances of all rows are
NORMS = {"euclidean", "l2", "sqeuclidean"}
SUMS = {"manhattan", "cityblock", "l1"}


def nearest_neighbors(model: Any, x: Tensor) -> Prediction:
    """The class with the most votes among the k nearest rows."""
    _require_convertible(model)
    k = len(model.classes_)
    distances, rows = _search(model, x)
    votes = x.graph.node("Gather", _votes(model), rows, axis=0)  # (n, neighbours, k)
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


def radius_neighbors(model: Any, x: Tensor) -> Prediction:
    """The class with the most votes among the rows within the radius, or the label of outliers."""
    _require_convertible(model)
    if model.outlier_label_ is None:
        why = "a sample without neighbours is an error, which a graph cannot raise; set `outlier_label`"
        raise refuse(model, why)
    if model.ties == "nearest":
        raise refuse(model, "ties='nearest' needs the order of all neighbours; use 'lowest'")
    distances, k = _all_distances(model, x), len(model.classes_)
    inside = distances <= float(model.radius)
    weight = inside.numbers()
    if model.weights == "distance":
        weight = inside.choose(_factors(inside.choose(distances, np.inf)), 0.0)
    sums = weight @ _votes(model)
    lonely = inside.numbers().reduce("Max").equals(0.0)
    own = np.asarray(model.classes_ == model.outlier_label_[0], dtype=np.float64)
    likely = lonely.choose(own, sums / lonely.choose(1.0, sums.reduce("Sum")))
    codes, labels = lonely.vector().choose(np.int64(k), sums.arg("Max")), radius_labels(model)
    return Prediction(codes, labels, None, likely)


def radius_labels(model: Any) -> Any:
    """The labels of a radius classifier: the classes and the label of outliers, (k + 1,)."""
    last = np.empty(1, dtype=model.classes_.dtype if model.classes_.dtype.kind != "U" else object)
    last[0] = model.outlier_label_[0]
    return np.concatenate([model.classes_, last])


def _votes(model: Any) -> Matrix:
    """The vote of each row for each class, (rows, k)."""
    voters = model._voters[0]
    return np.asarray(np.eye(voters.n_classes)[voters.y] * voters.weights[:, None])


def _all_distances(model: Any, x: Tensor) -> Tensor:
    """Distances to all rows, (n, rows)."""
    metric, R = model.effective_metric_, dense(model.index_.rows)
    if metric in SUMS:
        return absolute_distances(x, R)
    if metric == "cosine":
        x, none = _directions(x, R.shape[1] - model.n_features_in_)
        return (none.choose(2.0, squares_of_differences(x, R)) * 0.5).op("Min", 2.0)
    squares = squares_of_differences(x, R)
    return squares if metric == "sqeuclidean" else squares.op("Sqrt")


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
    if k + SPARE > MANY:
        return _smallest(_all_distances(model, x), k)
    none = None
    if metric == "cosine":
        x, none = _directions(x, R.shape[1] - model.n_features_in_)
    if metric in SUMS:
        return _nearest_of_candidates(x, R, k, absolute_distances(x, R), "Abs")
    whole = bool((np.rint(R) == R).all())  # then products are exact if no mean is subtracted
    shift = np.zeros(R.shape[1]) if whole else R.mean(axis=0)
    approximate = squares_from_products(x - shift, R - shift)
    squares, rows = _nearest_of_candidates(x, R, k, approximate, "Square", none)
    if metric == "cosine":
        return (squares * 0.5).op("Min", 2.0), rows
    return squares if metric == "sqeuclidean" else squares.op("Sqrt"), rows


def _nearest_of_candidates(
    x: Tensor, R: Matrix, k: int, approximate: Tensor, term: str, none: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Distances as the library sums them, and rows, of a few rows that are near but for rounding.

    Samples flagged in `none` are at a squared distance of 2 from all rows.
    """
    count = min(len(R), k + SPARE)
    if none is not None:
        approximate = none.choose(2.0, approximate)
    _, candidates = _smallest(approximate, count)
    candidates, _ = _smallest(candidates, count)  # by number, which decides between equal distances
    parts = []
    for j in range(count):
        gap = x - x.graph.node("Gather", R, candidates.columns(j).vector(), axis=0)
        parts.append(sum_in_order(gap * gap if term == "Square" else gap.op("Abs"), R.shape[1]))
    exact = x.graph.concatenate(parts)
    exact = exact if none is None else none.choose(2.0, exact)
    distances, positions = _smallest(exact, k)
    return distances, candidates.op("GatherElements", positions, axis=1)


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
    length = sum_one_by_one(x * x).op("Sqrt")
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
