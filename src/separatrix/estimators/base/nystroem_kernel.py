"""The kernel of a `Nystroem`: an object, a name with its parameters, or a function of two samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.composed import Normalized
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.vector_kernels import Linear
from separatrix.types import Matrix

NAMED_PARAMETERS = {"gamma": "auto", "coef0": 1.0, "degree": 3}  # of kernels by name, with defaults


def resolve_nystroem_kernel(model: Any, X: Any) -> Kernel:
    """The kernel object of a `Nystroem` for samples X, (n, d), or objects, (n,)."""
    name, kernel = "Nystroem", model.kernel
    given = {
        key: getattr(model, key) for key in NAMED_PARAMETERS if getattr(model, key) is not None
    }
    extra = dict(model.kernel_params or {})
    if isinstance(kernel, str) and kernel != "precomputed":
        if not extra.keys() <= NAMED_PARAMETERS.keys():
            must_be = "a dict of gamma, coef0 and degree when `kernel` is a name"
            raise ParameterError(name, "kernel_params", must_be, extra)
        if kernel == "cosine":
            return Normalized(Linear())
        kernel = "poly" if kernel == "polynomial" else kernel
        return resolve_kernel(name, kernel, X, **{**NAMED_PARAMETERS, **extra, **given})
    for parameter, value in given.items():
        must_be = f"None unless `kernel` is the name of one that has it; it is {kernel!r}"
        raise ParameterError(name, parameter, must_be, value)
    if isinstance(kernel, Kernel) or not callable(kernel):
        if extra:
            must_be = "None unless `kernel` is a function or a name"
            raise ParameterError(name, "kernel_params", must_be, extra)
        return resolve_kernel(name, kernel, X)
    function = partial(kernel, **extra)
    if X.ndim == 1:
        return FromCallable(function, objects=True)
    return FromCallable(partial(_evaluate_pairs, function))


def _evaluate_pairs(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Matrix:
    """A function of two samples for all pairs, (n, m)."""

    def value(x: Any, z: Any) -> float:
        result = function(x, z)
        if np.ndim(result):
            raise DataError(
                f"a function as `kernel` of Nystroem must return a number for two samples; it "
                f"returned shape {np.shape(result)}. Pass FromCallable(function) if it takes two sets "
                "of samples"
            )
        return float(result)

    columns = [slice(i, i + 1) if issparse(Z) else i for i in range(Z.shape[0])]
    rows = [slice(i, i + 1) if issparse(X) else i for i in range(X.shape[0])]
    return np.array([[value(X[i], Z[j]) for j in columns] for i in rows])
