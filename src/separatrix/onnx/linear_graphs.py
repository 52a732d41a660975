"""Graphs of linear classifiers and of the discriminants."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.decision_graphs import from_values
from separatrix.onnx.distance_graphs import absolute_distances, squares_from_products
from separatrix.onnx.onnx_graph import Prediction, Tensor, refuse
from separatrix.runtime.sums import dense
from separatrix.solvers.discriminant import quadratic
from separatrix.solvers.naive_bayes import log_of


def linear(model: Any, x: Tensor) -> Prediction:
    """Weights and biases: the highest score, or for two classes the side of the score, wins."""
    S = x @ dense(model.coef_).T + model.intercept_
    if len(model.classes_) == 2 and len(model.intercept_) == 2:
        S = S.columns(1) - S.columns(0)
    return from_values(model, S)


def perceptron(model: Any, x: Tensor) -> Prediction:
    """The last or the averaged weights."""
    require_one_hypothesis(model)
    return linear(model, x)


def require_one_hypothesis(model: Any) -> None:
    """Refuse a perceptron that predicts by many hypotheses."""
    reasons = {
        "vote": "predictor='vote' asks a hypothesis for each mistake of the training; use 'average'",
        "random": "predictor='random' draws a hypothesis for each sample; use 'average'",
    }
    if model.predictor in reasons:
        raise refuse(model, reasons[model.predictor])


def logistic(model: Any, x: Tensor) -> Prediction:
    """Logistic regression without a posterior."""
    if getattr(model, "_posterior", None) is not None:
        why = "its probabilities are means over a posterior; fit with posterior=None"
        raise refuse(model, why)
    return linear(model, x)


def project(x: Tensor, axes: Any, origin: Any) -> Tensor:
    """Coordinates along axes, (n, c)."""
    return (x - dense(origin)) @ dense(axes)


def discriminant_axes(model: Any, x: Tensor) -> Tensor:
    """The embedding of linear discriminant analysis."""
    if model.solver == "lsqr":
        raise refuse(model, "solver='lsqr' has no axes; use 'svd' or 'eigen'")
    return project(x, model.scalings_[:, : model._n_features_out], getattr(model, "xbar_", 0.0))


def fisher_axes(model: Any, x: Tensor) -> Tensor:
    """The embedding of Fisher's discriminant."""
    return project(x, model.axes_, model.xbar_)


def fisher(model: Any, x: Tensor) -> Prediction:
    """Fisher's discriminant with a threshold."""
    return from_values(model, project(x, model.axes_[:, :1], model.xbar_) - model.threshold_)


def quadratic_discriminant(model: Any, x: Tensor) -> Prediction:
    """One Gaussian for each class."""
    gaussians = quadratic(model.means_, model._axes, model.priors_)
    parts = []
    for mean, root, constant in zip(*gaussians, strict=True):
        if np.isinf(constant):
            parts.append(x.reduce("SumSquare") * 0.0 + constant)
        else:
            parts.append(constant - ((x - mean) @ root).reduce("SumSquare") * 0.5)
    return from_values(model, _lead(x.graph.concatenate(parts), len(parts)))


def _lead(S: Tensor, k: int) -> Tensor:
    return S.columns(1) - S.columns(0) if k == 2 else S


def nearest_centroid(model: Any, x: Tensor) -> Prediction:
    """The centre at the least distance, or with the highest score."""
    k, C = len(model.classes_), model.centroids_
    spread = np.where(model.within_class_std_dev_ > 0, model.within_class_std_dev_, 1.0)
    scaled = _centroid_distances(model, x / spread, C / spread)
    if model.metric == "manhattan":
        scaled = scaled * scaled
    S = 2.0 * log_of(model.class_prior_) - scaled
    if np.isclose(model.class_prior_, 1.0 / k).all():
        codes = _centroid_distances(model, x, C).arg("Min")
    else:
        codes = S.arg("Max")
    if model.metric == "manhattan":
        return Prediction(codes, model.classes_)
    return Prediction(codes, model.classes_, _lead(S, k), S.op("Softmax", axis=1))


def _centroid_distances(model: Any, x: Tensor, C: Any) -> Tensor:
    if model.metric == "manhattan":
        return absolute_distances(x, C)
    shift = C.mean(axis=0)
    return squares_from_products(x - shift, C - shift)
