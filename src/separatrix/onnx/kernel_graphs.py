"""Kernel values of samples with constant vectors as graphs.

A product of matrices is never multiplied by a scalar: onnxruntime would make the two one operator, whose
factor is float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.base.support import Support, centred_weights
from separatrix.kernels.base import Precomputed, Product, Scaled, Sum
from separatrix.kernels.composed import Normalized, inverse_root
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from separatrix.onnx.distance_graphs import absolute_distances, squared_distances
from separatrix.onnx.onnx_graph import Tensor, refuse
from separatrix.runtime.sums import dense
from separatrix.types import Codes, Matrix


def kernel_with_rows(model: Any, x: Tensor, rows: Codes, vectors: Any) -> Tensor:
    """Kernel values of samples with the support vectors or landmarks of a model, (n, s)."""
    if isinstance(model.kernel_, Precomputed):
        return x.columns(*rows.tolist())
    why = _obstacle(model.kernel_)
    if why:
        raise refuse(model, why)
    return _values(model.kernel_, x, dense(vectors))


def kernel_scores(model: Any, x: Tensor) -> Tensor:
    """Scores at the boundaries of a model with a `_support`, (n, p)."""
    support: Support = model._support
    if type(model.kernel_) is Linear:
        return x @ centred_weights(support, dense(model.support_vectors_))[0].T + support.intercept
    K = kernel_with_rows(model, x, model.support_, model.support_vectors_)
    return K @ support.columns().T + support.intercept


def _obstacle(kernel: Any) -> str:
    """Why a kernel has no graph; "" if it has one."""
    if isinstance(kernel, Sum | Product):
        return _obstacle(kernel.left) or _obstacle(kernel.right)
    if isinstance(kernel, Scaled | Normalized):
        return _obstacle(kernel.kernel)
    if type(kernel) in (Linear, Polynomial, Gaussian, Laplacian, Sigmoid):
        return ""
    if kernel.takes != "vectors":
        return f"{kernel!r} compares {kernel.takes}, and ONNX has tensors only"
    return f"its kernel {kernel!r} is a function of Python; use a kernel of separatrix.kernels"


def _values(kernel: Any, x: Tensor, Z: Matrix) -> Tensor:
    """k(x, z), (n, m)."""
    if isinstance(kernel, Linear):
        return x @ Z.T
    if isinstance(kernel, Gaussian):
        return (squared_distances(x, Z) * -kernel.gamma).op("Exp")
    if isinstance(kernel, Laplacian):
        return (absolute_distances(x, Z) * -kernel.gamma).op("Exp")
    if isinstance(kernel, Polynomial | Sigmoid):
        return _of_products(kernel, x @ (kernel.gamma * Z.T))
    if isinstance(kernel, Sum):
        return _values(kernel.left, x, Z) + _values(kernel.right, x, Z)
    if isinstance(kernel, Product):
        return _values(kernel.left, x, Z) * _values(kernel.right, x, Z)
    if isinstance(kernel, Scaled):
        return _values(kernel.kernel, x, Z) * np.full(len(Z), float(kernel.factor))
    own = _self_values(kernel.kernel, x)
    positive = own > 0.0
    inverse = positive.choose(1.0 / positive.choose(own, 1.0).op("Sqrt"), 0.0)
    return _values(kernel.kernel, x, Z) * inverse * inverse_root(kernel.kernel.diagonal(Z))


def _of_products(kernel: Any, P: Tensor) -> Tensor:
    """A polynomial or sigmoid kernel of inner products times gamma."""
    inner = P + float(kernel.coef0)
    if isinstance(kernel, Sigmoid):
        return inner.op("Tanh")
    return inner.op("Pow", np.float64(kernel.degree))


def _self_values(kernel: Any, x: Tensor) -> Tensor:
    """k(x, x), (n, 1)."""
    if isinstance(kernel, Linear):
        return x.reduce("SumSquare")
    if isinstance(kernel, Polynomial | Sigmoid):
        return _of_products(kernel, x.reduce("SumSquare") * float(kernel.gamma))
    if isinstance(kernel, Sum):
        return _self_values(kernel.left, x) + _self_values(kernel.right, x)
    if isinstance(kernel, Product):
        return _self_values(kernel.left, x) * _self_values(kernel.right, x)
    if isinstance(kernel, Scaled):
        return _self_values(kernel.kernel, x) * float(kernel.factor)
    if isinstance(kernel, Normalized):
        return (_self_values(kernel.kernel, x) > 0.0).numbers()
    return x.reduce("SumSquare") * 0.0 + 1.0  # Gaussian and Laplacian
