"""Graphs of kernel machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.decision_graphs import (
    calibrated,
    decision_values,
    from_values,
    pair_sides,
    squeezed,
    vote,
    winners,
)
from separatrix.onnx.kernel_graphs import kernel_scores, kernel_with_rows
from separatrix.onnx.linear_graphs import require_one_hypothesis
from separatrix.onnx.onnx_graph import Prediction, Tensor
from separatrix.runtime.sums import dense


def support_vectors(model: Any, x: Tensor) -> Prediction:
    """Votes of pairs or the highest score, with the probabilities of the calibration."""
    k, S = len(model.classes_), kernel_scores(model, x)
    values = _values(model, S, k)
    if model.break_ties and k > 2:
        codes = winners(values, k)
    else:
        codes = vote(S, k, model.multi_class, getattr(model, "_ties", None))
    calibration = getattr(model, "_calibration", None)
    likely = None if calibration is None else calibrated(calibration, S, codes)
    return Prediction(codes, model.classes_, values, likely)


def _values(model: Any, S: Tensor, k: int) -> Tensor:
    """`decision_function`: for pairs, votes and squeezed margins."""
    if k == 2 or model.multi_class == "ovr" or model.decision_function_shape == "ovo":
        return S
    sides = pair_sides(k)
    won = dense((sides > 0).sum(axis=0))  # by every class, if no score is below 0
    return (S < 0.0).numbers() @ -sides + won + squeezed(S @ sides)


def kernel_perceptron(model: Any, x: Tensor) -> Prediction:
    """The last or the averaged coefficients."""
    require_one_hypothesis(model)
    alpha = model.alpha_
    if len(model.support_):
        K = kernel_with_rows(model, x, model.support_, model.support_vectors_)
        S = K @ alpha + model._square * alpha.sum(axis=0)
    else:
        S = x.reduce("SumSquare") * np.zeros(alpha.shape[1])
    k = len(model.classes_)
    if k == 2 and alpha.shape[1] == 2:
        S = S.columns(1) - S.columns(0)
    return from_values(model, decision_values(S, k, model._options().scheme, model.ties))


def kernel_logistic(model: Any, x: Tensor) -> Prediction:
    """Log odds, or log probabilities up to a constant."""
    return from_values(model, kernel_scores(model, x))


def kernel_fisher(model: Any, x: Tensor) -> Prediction:
    """The nearest class mean along the axes, with priors."""
    means = model.means_
    with np.errstate(divide="ignore"):
        constant = np.log(model.priors_) - 0.5 * (means**2).sum(axis=1)
    S = kernel_scores(model, x) @ means.T + constant
    return from_values(model, S.columns(1) - S.columns(0) if len(means) == 2 else S)


def one_class(model: Any, x: Tensor) -> Prediction:
    """1 for samples like the training samples, else -1."""
    S = kernel_scores(model, x)
    return Prediction(winners(S, 2), np.array([-1, 1]), S)


def nystroem(model: Any, x: Tensor) -> Tensor:
    """Kernel values with the landmarks, whitened."""
    K = kernel_with_rows(model, x, model.component_indices_, model.components_)
    return K @ dense(model.normalization_)
