"""scikit-learn's names and parameters for kernels, as kernel objects."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, ParameterError
from separatrix.kernels.base import Kernel
from separatrix.kernels.callables import kernel_for_samples
from separatrix.kernels.registry import ALIASES, KERNELS
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import is_tensor
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.validation import require_real

MUST_BE = f"a kernel object, a callable or one of {', '.join(ALIASES)}"
TEXT_KERNELS = [name for name in KERNELS if name != "Precomputed"]
TEXT_CONSTRUCTORS = ("Gaussian.from_sigma", "Gaussian.from_variance")
DEFAULTS = {"gamma": "scale", "degree": 3, "coef0": 0.0}
SMALLEST_VARIANCE = 1e-300  # whose reciprocal is finite
ROWS_AT_ONCE = 8192  # that are float64 at a time
WORTH_THREADS = 2**20  # values whose variance takes longer than starting threads


def resolve_kernel(
    owner: str, kernel: Any, X: Any, *, gamma: Any = "scale", degree: Any = 3, coef0: Any = 0.0
) -> Kernel:
    """Return the kernel object for the parameters of an estimator on data X.

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
    if isinstance(kernel, Kernel) or callable(kernel):
        found: Kernel = kernel_for_samples(kernel, X)
        return found
    if not isinstance(kernel, str) or kernel not in ALIASES:
        raise ParameterError(owner, "kernel", MUST_BE, kernel)
    kind = ALIASES[kernel]
    parameters = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    given = {"degree": degree, "coef0": coef0}
    arguments = {name: value for name, value in given.items() if name in parameters}
    if "gamma" in parameters:
        arguments["gamma"] = width(owner, gamma, X)
    return kind(**arguments)


def parse_kernel(text: str) -> Kernel:
    """Parse a kernel expression: calls with plain values, nested kernels, + and *.

    >>> parse_kernel("Spectrum(4) + 2 * Spectrum(k=5)")
    Sum(left=Spectrum(k=4, ...), right=Scaled(kernel=Spectrum(k=5, ...), factor=2))
    >>> parse_kernel("Gaussian.from_variance(2.0)")
    Gaussian(gamma=0.25)
    """
    try:
        found = _built(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise
        found = None
    if not isinstance(found, Kernel):
        raise ParameterError(
            "kernel", "text", f"such as Spectrum(4) or one of {', '.join(TEXT_KERNELS)}", text
        )
    return found


def _built(node: ast.AST) -> Any:
    if isinstance(node, ast.Call):
        make = _constructor(node.func)
        if any(word.arg is None for word in node.keywords):
            raise ValueError("arguments have no names")
        arguments = {str(word.arg): _built(word.value) for word in node.keywords}
        return make(*map(_built, node.args), **arguments)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        left, right = _built(node.left), _built(node.right)
        if not any(isinstance(side, Kernel) for side in (left, right)):
            raise ValueError("only kernels are added or multiplied")  # numbers could grow huge
        return left + right if isinstance(node.op, ast.Add) else left * right
    return ast.literal_eval(node)


def _constructor(node: ast.expr) -> Callable[..., Any]:
    """The class of a kernel, or one of its named constructors, such as Gaussian.from_sigma."""
    if isinstance(node, ast.Name) and node.id in TEXT_KERNELS:
        return KERNELS[node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        name = f"{node.value.id}.{node.attr}"
        if name in TEXT_CONSTRUCTORS:
            make: Callable[..., Any] = getattr(KERNELS[node.value.id], node.attr)
            return make
    raise ValueError("not a kernel")


def width(owner: str, gamma: Any, X: Any) -> float:
    """Return gamma as a number: "scale" is 1 / (d var(X)), "auto" is 1 / d, as in scikit-learn."""
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
            if 0 < variance < SMALLEST_VARIANCE:
                raise DataError(
                    "the variance of X underflows, so gamma='scale' has no value; scale the features"
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
    if X.size <= WORTH_THREADS:
        return float(np.var(X, dtype=np.float64))

    def sum_of(function: Callable[[Any], Any]) -> float:
        blocks = row_blocks(len(X), ROWS_AT_ONCE)
        sums = in_threads(lambda rows: function(X[rows]), blocks, threads=thread_count())
        return float(np.sum(sums))

    mean = sum_of(lambda part: part.sum(dtype=np.float64)) / float(X.size)
    return sum_of(lambda part: np.square(np.subtract(part, mean, dtype=np.float64)).sum()) / float(
        X.size
    )
