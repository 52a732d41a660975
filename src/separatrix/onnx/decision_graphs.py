"""From scores at boundaries to classes and probabilities: the graphs of `estimators/base/multiclass.py`.

Values of two classes are one column, (n, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.calibration import Calibration
from separatrix.onnx.onnx_graph import Prediction, Tensor
from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Matrix


def pair_sides(k: int) -> Matrix:
    """+1 for the first class of each pair, -1 for the second, (p, k)."""
    return coding(k, "ovo").T.astype(np.float64)


def decision_values(S: Tensor, k: int, scheme: str, ties: str = "lowest") -> Tensor:
    """One value for each class, (n, k), or the score of the second of two, (n, 1)."""
    if k == 2 or scheme != "ovo":
        return S
    votes = (S > 0.0).numbers() @ pair_sides(k) + np.arange(k, dtype=np.float64)
    return votes + squeezed(S @ pair_sides(k)) if ties == "margin" else votes


def squeezed(margins: Tensor) -> Tensor:
    """Summed margins within (-1/3, 1/3), which decide between equal votes only."""
    return margins / ((margins.op("Abs") + 1.0) * 3.0)


def winners(values: Tensor, k: int, at_zero: str = "first") -> Tensor:
    """Class codes of decision values, (n,): the first among equals; `at_zero` of two at a score of 0."""
    if k != 2:
        return values.arg("Max")
    second = values >= 0.0 if at_zero == "second" else values > 0.0
    return second.integers().vector()


def class_probabilities(values: Tensor, k: int) -> Tensor:
    """Probabilities, (n, k), whose logarithms, or log odds of the second of two, are the values."""
    if k != 2:
        return values.op("Softmax", axis=1)
    return values.graph.concatenate([(-values).op("Sigmoid"), values.op("Sigmoid")])


def from_values(model: Any, values: Tensor) -> Prediction:
    """The prediction of a classifier by its decision values, with probabilities if it has them."""
    k = len(model.classes_)
    likely = class_probabilities(values, k) if hasattr(model, "predict_proba") else None
    return Prediction(winners(values, k, model._class_at_zero), model.classes_, values, likely)


def vote(S: Tensor, k: int, scheme: str, order: Any) -> Tensor:
    """Class codes from scores of support vector machines, as `multiclass.vote`."""
    if order is not None:  # a score of 0 is that of the pair's later class, in that order
        first, second = np.argsort(order)[pairs(k)].T
        other = (first > second) * (-1.0 if k == 2 else 1.0)
        S = S + S.equals(0.0).numbers() * other
    if k == 2:
        return winners(S, 2, at_zero="second")
    values = decision_values(S, k, scheme)
    if order is None:
        return winners(values, k)
    codes = winners(values.columns(*order.tolist()), k)
    return codes.graph.node("Gather", np.asarray(order), codes)


def calibrated(calibration: Calibration, S: Tensor, codes: Tensor) -> Tensor:
    """`Calibration.probabilities`, (n, p) -> (n, k)."""
    slopes, k = calibration.slopes, calibration.n_classes
    if calibration.method == "platt":
        return _couple(calibration, (-(S * slopes[:, 0] + slopes[:, 1])).op("Sigmoid"))
    if calibration.method == "temperature":
        P = _class_margins(S, k, calibration.scheme, slopes[0, 0]).op("Softmax", axis=1)
    else:
        slope = (S > 0.0).choose(slopes[:, 1], slopes[:, 0])
        P = _couple(calibration, (slope * S).op("Sigmoid"))
    return match_predictions(P, codes, k)


def _class_margins(S: Tensor, k: int, scheme: str, slope: float) -> Tensor:
    """A slope times the mean margin of each class."""
    if k == 2:
        return S @ np.array([[-0.5 * slope, 0.5 * slope]])
    return S * np.full(k, slope) if scheme != "ovo" else S @ (slope * pair_sides(k) / (k - 1))


def _couple(calibration: Calibration, sides: Tensor) -> Tensor:
    """Probability of each class from that of the positive side of each boundary."""
    if calibration.n_classes == 2:
        return sides.graph.concatenate([1.0 - sides, sides])
    if calibration.scheme == "ovo":
        return couple_pairs(sides, calibration.n_classes)
    return _shares(sides)


def _shares(P: Tensor) -> Tensor:
    """Numbers of at least 0 divided by their sum."""
    P = P.op("Max", 1e-300)
    return P / P.reduce("Sum")


def couple_pairs(sides: Tensor, k: int) -> Tensor:
    """`calibration.couple_pairs`, (n, p) -> (n, k), without a solver of linear systems, which ONNX lacks.

    The minimum of p'Qp with e'p = 1 has Qp = b e with b <= 0, so that (Q + ee') p is a positive multiple of
    e. That matrix is positive definite, and Gauss-Jordan steps without pivots solve it.
    """
    graph = sides.graph
    sides = sides.op("Max", 1e-7).op("Min", 1.0 - 1e-7)
    first, second = pairs(k).T
    p = len(first)
    position = np.full((k, k), 2 * p)  # of each entry of R among sides, the other sides, and 0
    position[first, second], position[second, first] = np.arange(p), p + np.arange(p)
    parts = graph.concatenate([sides, 1.0 - sides, sides.columns(0) * 0.0])
    R = parts.columns(*position.ravel().tolist()).op("Reshape", np.array([-1, k, k]))
    Q = (R * R).reduce("Sum", axis=1) * np.eye(k) - R * R.op("Transpose", perm=[0, 2, 1])
    ones = R.reduce("Sum", axis=2) * 0.0 + 1.0
    A = graph.node("Concat", Q + 1.0, ones, axis=2)
    for i in range(k):
        row = A.op("Slice", np.array([i]), np.array([i + 1]), np.array([1]))
        pivot = row.op("Slice", np.array([i]), np.array([i + 1]), np.array([2]))
        column = A.op("Slice", np.array([i]), np.array([i + 1]), np.array([2]))
        A = A - (column - np.eye(k)[:, i : i + 1]) * (row / pivot)
    solution = A.op("Slice", np.array([k]), np.array([k + 1]), np.array([2]))
    z = solution.op("Squeeze", np.array([2]))
    return _shares(z / z.reduce("Sum"))


def match_predictions(P: Tensor, codes: Tensor, k: int) -> Tensor:
    """`calibration.match_predictions`: each row's largest probability swapped to its predicted class."""
    predicted, best = codes.one_hot(k), P.arg("Max")
    own = P.op("GatherElements", codes.column(), axis=1)
    largest = P.reduce("Max")
    P = predicted.choose(largest, best.one_hot(k).choose(own, P))
    behind = P.arg("Max").equals(codes).op("Not").column()  # argmax takes the first of equal values
    raised = P * (1.0 + predicted.numbers() * 1e-9)
    return behind.choose(raised / raised.reduce("Sum"), P)
