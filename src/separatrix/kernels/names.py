"""scikit-learn's names and parameters for kernels, as kernel objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.arrays import require_real
from separatrix.errors import DataError, ParameterError
from separatrix.kernels.kernel import FromCallable, Kernel, Precomputed
from separatrix.kernels.vector import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed")
MEANT = f"a kernel object, a callable or one of {', '.join(NAMES)}"
DEFAULTS = {"gamma": "scale", "degree": 3, "coef0": 0.0}


def resolve_kernel(
    owner: str, kernel: Any, X: Any, *, gamma: Any = "scale", degree: Any = 3, coef0: Any = 0.0
) -> Kernel:
    """The kernel object that an estimator's parameters mean on data X.

    >>> resolve_kernel("SVC", "rbf", np.eye(2), gamma="auto")
    Gaussian(gamma=0.5)
    """
    if isinstance(kernel, Kernel):
        for name, value in (("gamma", gamma), ("degree", degree), ("coef0", coef0)):
            if not (isinstance(value, str | int | float) and value == DEFAULTS[name]):
                raise ParameterError(
                    owner,
                    name,
                    f"left at its default {DEFAULTS[name]!r} when `kernel` is an object "
                    f"(set it inside: {kernel!r})",
                    value,
                )
        return kernel
    if callable(kernel):
        return FromCallable(kernel)
    if not isinstance(kernel, str):
        raise ParameterError(owner, "kernel", MEANT, kernel)
    if kernel == "linear":
        return Linear()
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "rbf":
        return Gaussian(width(owner, gamma, X))
    if kernel == "laplacian":
        return Laplacian(width(owner, gamma, X))
    if kernel == "poly":
        return Polynomial(degree, width(owner, gamma, X), coef0)
    if kernel == "sigmoid":
        return Sigmoid(width(owner, gamma, X), coef0)
    raise ParameterError(owner, "kernel", MEANT, kernel)


def width(owner: str, gamma: Any, X: Any) -> float:
    """gamma as a number: "scale" is 1 / (d var(X)), "auto" is 1 / d, as in scikit-learn."""
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / float(X.shape[1])
        if gamma == "scale":
            with np.errstate(over="ignore", invalid="ignore"):
                variance = _variance(X)
            if not np.isfinite(variance):
                raise DataError(
                    "the variance of X overflows, so gamma='scale' has no value; scale the features"
                )
            return 1.0 / float(X.shape[1] * variance) if variance > 0 else 1.0
        raise ParameterError(owner, "gamma", "'scale', 'auto' or a number above 0", gamma)
    require_real(owner, "gamma", gamma, above=0)
    return float(gamma)


def _variance(X: Any) -> float:
    if issparse(X):
        wide = X.astype(np.float64)
        return float(wide.multiply(wide).mean() - wide.mean() ** 2)
    return float(np.var(X, dtype=np.float64))
