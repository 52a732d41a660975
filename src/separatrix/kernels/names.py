"""scikit-learn's names and parameters for kernels, as kernel objects."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.base import FromCallable, Kernel, Precomputed
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import is_tensor
from separatrix.validation import require_real

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed")
MEANT = f"a kernel object, a callable or one of {', '.join(NAMES)}"
DEFAULTS = {"gamma": "scale", "degree": 3, "coef0": 0.0}
ROWS_AT_ONCE = 8192  # of a tensor that are float64 at a time


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


def parse_kernel(text: str) -> Kernel:
    """A kernel as a person writes it: a call with plain values, kernels inside, + and *.

    >>> parse_kernel("Spectrum(4) + 2 * Spectrum(k=5)")
    Sum(left=Spectrum(k=4, ...), right=Scaled(kernel=Spectrum(k=5, ...), factor=2))
    """
    try:
        found = _built(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        found = None
    if not isinstance(found, Kernel):
        raise ParameterError("kernel", "text", f"such as Spectrum(4) or one of {_listed()}", text)
    return found


def _built(node: ast.AST) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        made = _kernel_classes().get(node.func.id)
        if made is None or any(word.arg is None for word in node.keywords):
            raise ValueError(node.func.id)
        words = {str(word.arg): _built(word.value) for word in node.keywords}
        return made(*map(_built, node.args), **words)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        left, right = _built(node.left), _built(node.right)
        if not any(isinstance(side, Kernel) for side in (left, right)):
            raise ValueError("nothing but kernels is added or multiplied")  # a text might get huge
        return left + right if isinstance(node.op, ast.Add) else left * right
    return ast.literal_eval(node)


def _kernel_classes() -> dict[str, Any]:
    from separatrix import kernels

    named = {name: getattr(kernels, name) for name in kernels.__all__}
    no_text = (Precomputed, FromCallable)
    return {
        name: kernel
        for name, kernel in named.items()
        if isinstance(kernel, type)
        and issubclass(kernel, Kernel)
        and kernel not in (Kernel, *no_text)
    }


def _listed() -> str:
    return ", ".join(_kernel_classes())


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
    if is_tensor(X):
        blocks = [X[rows] for rows in row_blocks(len(X), ROWS_AT_ONCE)]
        mean = sum(part.double().sum() for part in blocks) / X.numel()
        squares = sum((part.double() - mean).square().sum() for part in blocks)
        return float(squares) / float(X.numel())
    if issparse(X):
        wide = X.astype(np.float64)
        return float(wide.multiply(wide).mean() - wide.mean() ** 2)
    return float(np.var(X, dtype=np.float64))
