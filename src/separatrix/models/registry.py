"""Every estimator: where its algorithm is, who wrote it down, when not to use it.

The contract tests run over this table; the command line and the documentation print it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

ORDER = "corrections depend on the order in which samples are met; a weight is a step size"
ORDER_DEPENDENT = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@dataclass(frozen=True)
class Entry:
    """One estimator of separatrix."""

    name: str
    module: str
    solver: str
    paper: str
    not_for: str
    expected_failures: dict[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """The estimator class."""
        return getattr(import_module(self.module), self.name)


REGISTRY = (
    Entry(
        name="Perceptron",
        module="separatrix.models.perceptrons",
        solver="separatrix.solvers.perceptron",
        paper="Rosenblatt 1958; Crammer and Singer 2003",
        not_for="overlapping classes, unless averaged; probabilities",
        expected_failures=ORDER_DEPENDENT,
    ),
    Entry(
        name="KernelPerceptron",
        module="separatrix.models.kernel_perceptrons",
        solver="separatrix.solvers.kernel_perceptron, separatrix.solvers.projectron",
        paper="Freund and Schapire 1999; Orabona, Keshet and Caputo 2009",
        not_for="the last per cent of accuracy; noisy labels, unless averaged",
        expected_failures=ORDER_DEPENDENT,
    ),
    Entry(
        name="KernelPerceptronCV",
        module="separatrix.models.kernel_perceptron_cv",
        solver="separatrix.solvers.kernel_perceptron",
        paper="Freund and Schapire 1999",
        not_for="choosing anything but the kernel: use GridSearchCV",
    ),
)
