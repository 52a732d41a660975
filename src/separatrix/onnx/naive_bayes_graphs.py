"""Graphs of naive Bayes. Negative counts, which `predict` refuses, are not refused by a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.onnx_graph import Prediction, Tensor
from separatrix.solvers.categorical_bayes import starts_of
from separatrix.solvers.naive_bayes import EQUAL


def _prediction(model: Any, finite: Tensor, zeros: Tensor | None) -> Prediction:
    """The classes with the fewest factors of 0, and among them the most probable."""
    if zeros is not None:
        zeros = finite.equals(-np.inf).choose(np.inf, zeros)
        fewest = zeros.reduce("Min") * (1.0 + EQUAL)
        finite = (zeros <= fewest).choose(finite, -np.inf)
    likely = finite.op("Softmax", axis=1)
    return Prediction(finite.arg("Max"), model.classes_, None, likely)


def counting(model: Any, x: Tensor) -> Prediction:
    """Log probabilities that are linear in the counts."""
    likelihood, prior = model._likelihood, model.class_log_prior_
    finite = x @ likelihood.weights.T + (likelihood.bias + prior)
    if likelihood.zeros is None:
        return _prediction(model, finite, None)
    return _prediction(model, finite, x @ likelihood.zeros.T + likelihood.zeros_bias)


def complement(model: Any, x: Tensor) -> Prediction:
    """Counts of the other classes, without priors."""
    likelihood = model._likelihood
    return _prediction(model, x @ likelihood.weights.T + likelihood.bias, None)


def bernoulli(model: Any, x: Tensor) -> Prediction:
    """Features that a sample has or has not."""
    if model.binarize is None:
        return counting(model, x)
    threshold = np.float32(model.binarize) if x.graph.single else model.binarize
    return counting(model, (x > float(threshold)).numbers())


def gaussian(model: Any, x: Tensor) -> Prediction:
    """A Gaussian for each feature and class."""
    with np.errstate(divide="ignore"):
        prior = np.log(model.class_prior_)
    parts = []
    for c, (mean, variance) in enumerate(zip(model.theta_, model.var_, strict=True)):
        if np.isinf(prior[c]):
            parts.append(x.reduce("SumSquare") * 0.0 - np.inf)
            continue
        constant = prior[c] - 0.5 * np.log(2.0 * np.pi * variance).sum()
        apart = (x - mean) * (1.0 / np.sqrt(variance))
        parts.append(constant - apart.reduce("SumSquare") * 0.5)
    return _prediction(model, x.graph.concatenate(parts), None)


def categorical(model: Any, x: Tensor) -> Prediction:
    """A table of log probabilities for each feature; an unknown category is an index out of range."""
    likelihood = model._likelihood
    entries = int(likelihood.sizes.sum())
    known = x.op("Floor").equals(x).op("And", x >= 0.0).op("And", x < likelihood.sizes * 1.0)
    index = known.choose((x + starts_of(likelihood.sizes) * 1.0), float(entries)).integers()
    sums = [
        x.graph.node("Gather", np.ascontiguousarray(table.T), index, axis=0).reduce(
            "Sum", axis=1, keep=False
        )
        for table in (likelihood.finite, likelihood.zeros)
        if table is not None
    ]
    return _prediction(model, sums[0] + model.class_log_prior_, sums[1] if sums[1:] else None)
