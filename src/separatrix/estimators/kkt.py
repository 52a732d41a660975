"""The optimality conditions of a fitted support vector machine, as a table.

With margins m_i = y_i f(x_i) and coefficients a_i in [0, C_i], a boundary is optimal exactly when
a_i = 0 implies m_i >= 1, a_i = C_i implies m_i <= 1, a_i in between implies m_i = 1, and the
coefficients of both sides sum to the same; then primal and dual objective are equal.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.prepare import require_whole
from separatrix.solvers.decomposition import pairs
from separatrix.solvers.svm.problem import SvmFit

HEAD = (
    "boundary",
    "a=0",
    "free",
    "a=C",
    "m<1 at 0",
    "m!=1 free",
    "m>1 at C",
    "sum ay",
    "violation",
    "gap",
)


@dataclass(frozen=True)
class KktRow:
    """One boundary: how many rows are in each state, and how far the worst is from its condition."""

    boundary: str
    n_zero: int
    n_free: int
    n_bound: int
    worst_zero: float  # largest 1 - m of rows with a = 0
    worst_free: float  # largest |1 - m| of rows in between
    worst_bound: float  # largest m - 1 of rows at C
    balance: float  # sum of a y
    violation: float
    gap: float


@dataclass(frozen=True)
class KktReport:
    """All boundaries; prints as a table."""

    rows: tuple[KktRow, ...]

    def __str__(self) -> str:
        lines = [HEAD, *(tuple(map(_cell, astuple(row))) for row in self.rows)]
        widths = [max(len(line[c]) for line in lines) for c in range(len(HEAD))]
        return "\n".join(
            "  ".join(
                word.ljust(width) if c == 0 else word.rjust(width)
                for c, (word, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )


def _cell(value: str | int | float) -> str:
    return str(value) if isinstance(value, str | int) else f"{value:.1e}"


def kkt_report(model: Any) -> KktReport:
    """How well a fitted `SVC` (or the best of an `SVCCV`) meets the conditions of its optimum, by boundary.

    >>> from separatrix import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> report = kkt_report(SVC(C=10).fit(X, y))
    >>> [(row.boundary, row.n_zero, row.n_free, row.n_bound) for row in report.rows]
    [('0 | 1', 96, 4, 0), ('0 | 2', 96, 4, 0), ('1 | 2', 79, 3, 18)]
    """
    model = getattr(model, "best_estimator_", model)
    require_whole(model, "kkt_report")
    if not hasattr(model, "_fits"):
        check_is_fitted(model)
        raise ParameterError("kkt_report", "model", "a fitted SVC", model)
    names = _names(model.classes_, model.multi_class)
    return KktReport(tuple(_row(name, fit) for name, fit in zip(names, model._fits, strict=True)))


def _row(name: str, fit: SvmFit) -> KktRow:
    trained = fit.box > 0
    alpha, box, margins = fit.alpha[trained], fit.box[trained], (fit.y * fit.scores)[trained]
    zero, bound = alpha == 0, alpha == box
    free = ~(zero | bound)
    return KktRow(
        name,
        int(zero.sum()),
        int(free.sum()),
        int(bound.sum()),
        float((1.0 - margins[zero]).max(initial=0.0)),
        float(np.abs(1.0 - margins[free]).max(initial=0.0)),
        float((margins[bound] - 1.0).max(initial=0.0)),
        float(abs(fit.alpha @ fit.y)),
        fit.violation,
        fit.gap,
    )


def _names(classes: Any, scheme: str) -> list[str]:
    k = len(classes)
    if k == 2:
        return [f"{classes[0]} | {classes[1]}"]
    if scheme == "ovo":
        return [f"{classes[a]} | {classes[b]}" for a, b in pairs(k)]
    return [f"{label} | rest" for label in classes]
