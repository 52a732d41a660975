"""Exact classical classification for Python, fast because one Gram matrix serves many problems.

Names are loaded when first used, so that `import separatrix` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "KernelPerceptron": "separatrix.models.kernel_perceptrons",
    "KernelPerceptronCV": "separatrix.models.kernel_perceptron_cv",
    "Perceptron": "separatrix.models.perceptrons",
    "compare": "separatrix.evaluation.compare",
    "evaluate": "separatrix.evaluation.study",
}

if TYPE_CHECKING:
    from separatrix.evaluation.compare import compare
    from separatrix.evaluation.study import evaluate
    from separatrix.models.kernel_perceptron_cv import KernelPerceptronCV
    from separatrix.models.kernel_perceptrons import KernelPerceptron
    from separatrix.models.perceptrons import Perceptron

__all__ = ["KernelPerceptron", "KernelPerceptronCV", "Perceptron", "compare", "evaluate"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
