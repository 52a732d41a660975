"""Graphs of explicit feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.onnx.onnx_graph import Tensor
from separatrix.runtime.sums import dense


def polynomial_map(model: Any, x: Tensor) -> Tensor:
    """All monomials: those of a degree are products of earlier ones with one feature."""
    monomials = model.monomials_
    weights = None if monomials.kernel is None else monomials.weights()
    if monomials.kernel is not None:
        x = x * float(np.sqrt(monomials.kernel.gamma))
    of = [np.zeros(0, np.int64) for _ in range(monomials.degree + 1)]
    features = list(of)
    for step in monomials._steps():
        columns = np.arange(step.of.start, step.of.stop)
        of[step.degree] = np.append(of[step.degree], columns)
        features[step.degree] = np.append(
            features[step.degree], np.full(len(columns), step.feature)
        )
    parts, start = [x.columns(0) * 0.0 + 1.0], 0
    for degree in range(1, monomials.degree + 1):
        if len(of[degree]):
            before = parts[-1].columns(*(of[degree] - start).tolist())
            start = 1 + sum(len(index) for index in of[1:degree])
            parts.append(before * x.columns(*features[degree].tolist()))
    all_ = x.graph.concatenate(parts)
    kept = all_.columns(*range(monomials.skipped, monomials.total)) if monomials.skipped else all_
    return kept if weights is None else kept * weights


def random_fourier(model: Any, x: Tensor) -> Tensor:
    """Cosines of random frequencies."""
    W = dense(model.random_weights_)
    angles = x @ W + dense(model.random_offset_)
    return angles.op("Cos") * float(np.sqrt(2.0 / W.shape[1]))
