"""The optimality conditions of a fitted support vector machine, as a table.

With margins m_i = y_i f(x_i) and coefficients a_i in [0, C_i], a boundary is optimal exactly when
a_i = 0 implies m_i >= 1, a_i = C_i implies m_i <= 1, a_i in between implies m_i = 1, and the
coefficients of both sides sum to the same; then primal and dual objective are equal. A linear machine
stores weights w, not coefficients: those of its training rows follow from the margins, up to the rows at
m_i = 1, whose coefficients are the bounded ones with sum_i a_i y_i x_i nearest to w.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.prepare import Training, prepare, require_whole
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.subgradient_svc import SubgradientSVC
from separatrix.solvers.decomposition import coding, pairs
from separatrix.solvers.linear_svm.dual_descent import (
    LinearProblem,
    LinearSamples,
    balance,
)
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm.problem import SvmFit
from separatrix.types import Matrix, Vector

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
    worst_free: float  # largest |1 - m| of rows in between; |1 - a / 2C - m| with the squared hinge
    worst_bound: float  # largest m - 1 of rows at C
    balance: float  # sum of a y, less what a penalised bias asks for
    violation: float  # of a linear machine, the largest of the three at the weights sum of a y x
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


def kkt_report(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, tol: float = 1e-3
) -> KktReport:
    """How well a fitted machine meets the conditions of its optimum, by boundary.

    `SVC`, `NuSVC` or the best of an `SVCCV` hold what that takes. `LinearSVC` with penalty="l2" and
    `SubgradientSVC` with a hinge keep no rows: pass the training set. With the hinge, rows whose margin
    is within tol of 1 may have any coefficient from 0 to C.

    Parameters
    ----------
    model
        A fitted `SVC`, `NuSVC`, `SVCCV`, `LinearSVC` or `SubgradientSVC`.
    X, y, sample_weight
        The training set, for `LinearSVC` and `SubgradientSVC` only.
    tol
        Violations up to this count as none.

    Examples
    --------
    >>> from separatrix import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> report = kkt_report(SVC(C=10).fit(X, y))
    >>> [(row.boundary, row.n_zero, row.n_free, row.n_bound) for row in report.rows]
    [('0 | 1', 96, 4, 0), ('0 | 2', 96, 4, 0), ('1 | 2', 79, 3, 18)]
    >>> linear = LinearSVC(C=10, loss="hinge").fit(X, y == 0)
    >>> [row] = kkt_report(linear, X, y == 0).rows
    >>> row.n_zero + row.n_free + row.n_bound, row.gap < 1e-3
    (150, True)
    """
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, LinearSVC | SubgradientSVC):
        check_is_fitted(model)
        names = _names(model.classes_, "ovr")
        problems = zip(names, _problems(model, X, y, sample_weight), strict=True)
        return KktReport(tuple(_linear_row(name, *one, tol) for name, one in problems))
    require_whole(model, "kkt_report")
    if not hasattr(model, "_fits"):
        check_is_fitted(model)
        must_be = "a fitted SVC, NuSVC, LinearSVC or SubgradientSVC"
        raise ParameterError("kkt_report", "model", must_be, model)
    if not (X is None and y is None and sample_weight is None):
        raise DataError(
            f"kkt_report takes X and y for linear machines only; {type(model).__name__} holds its rows: "
            "leave them out"
        )
    names = _names(model.classes_, model.multi_class)
    return KktReport(tuple(_row(name, fit) for name, fit in zip(names, model._fits, strict=True)))


def _problems(
    model: Any, X: Any, y: Any, sample_weight: Any
) -> Iterator[tuple[LinearProblem, Vector, float]]:
    """Each boundary as |w|^2 / 2 + sum of price times loss, with its weights and bias."""
    name = type(model).__name__
    if X is None or y is None:
        raise DataError(f"{name} keeps no rows; pass its training set: kkt_report(model, X, y)")
    _require_hinge(model, name)
    train = prepare(
        model,
        X,
        y,
        sample_weight,
        class_weight=model.class_weight,
        dtype=np.float64,
        classes=model.classes_,
        reset=False,
        balance="weights" if isinstance(model, LinearSVC) else "rows",
    )
    sides = coding(len(model.classes_), "ovr")[train.y].astype(np.float64)
    W = model.coef_.toarray() if issparse(model.coef_) else model.coef_
    for c, prices in enumerate(_prices(model, train, sides).T):
        rows = np.flatnonzero(prices)
        samples = LinearSamples.of(train.X[rows], seek_zeros=False)
        step = model._bias_step if isinstance(model, LinearSVC) else np.inf
        problem = LinearProblem(samples, sides[rows, c], prices[rows], model.loss, step)
        yield problem, W[c], float(model.intercept_[c])


def _prices(model: Any, train: Training, sides: Matrix) -> Matrix:
    """C of every row at every boundary, (n, p)."""
    if isinstance(model, LinearSVC):
        own, rest = train.rates(float(model.C))
        return np.asarray(np.where(sides > 0, own[:, None], rest[:, None]))
    shares = train.weights * train.class_weights / (2.0 * model.mu * train.weights.sum())
    return np.repeat(shares[:, None], sides.shape[1], axis=1)


def _require_hinge(model: Any, name: str) -> None:
    if model.loss not in ("hinge", "squared_hinge"):
        must_be = "'hinge' or 'squared_hinge' for kkt_report: other losses have no support vectors"
        raise ParameterError(name, "loss", must_be, model.loss)
    if isinstance(model, SubgradientSVC) and not model.mu:
        raise ParameterError(name, "mu", "above 0 for kkt_report: C is 1 / (2 n mu)", model.mu)
    if isinstance(model, LinearSVC) and (model.penalty, model.multi_class) != ("l2", "ovr"):
        must_be = "'l2', with multi_class='ovr', for kkt_report"
        got = (model.penalty, model.multi_class)
        raise ParameterError(name, "penalty", must_be, got)


def _linear_row(name: str, problem: LinearProblem, w: Vector, b: float, tol: float) -> KktRow:
    margins = problem.margins(w, b)
    if problem.loss == "hinge":
        alpha = _coefficients(problem, w, b, margins, tol)
    else:
        alpha = 2.0 * problem.price * np.maximum(0.0, 1.0 - margins)
    zero, bound = alpha == 0, alpha == problem.cap
    wanted = 0.0
    if problem.bias_step:  # without a bias both sides may differ
        wanted = float(alpha @ problem.y) - problem.bias_price * b
    bias = b if problem.free else problem.bias_step * float(alpha @ problem.y)
    at_dual = problem.margins(problem.weights(alpha), bias)
    violation = max(_worst(problem, alpha, at_dual, zero, bound))
    return KktRow(
        name,
        int(zero.sum()),
        int((~(zero | bound)).sum()),
        int(bound.sum()),
        *_worst(problem, alpha, margins, zero, bound),
        abs(wanted),
        violation,
        relative_gap(problem.primal(w, b, margins), _dual_objective(problem, alpha)),
    )


def _dual_objective(problem: LinearProblem, alpha: Vector) -> float:
    """The dual objective at the best feasible multiple of the coefficients, at least 0."""
    dual = balance(alpha, problem.y) if problem.free else alpha
    total = float(dual.sum())
    square = total - problem.dual(dual, problem.weights(dual))
    multiple = (
        min(total / (2.0 * square), 1.0 if problem.loss == "hinge" else np.inf) if square else 1.0
    )
    return multiple * total - multiple**2 * square


def _worst(
    problem: LinearProblem, alpha: Vector, margins: Vector, zero: Any, bound: Any
) -> tuple[float, float, float]:
    """How far the worst row with a = 0, in between and at C is from its condition."""
    short = 1.0 - margins - problem.ridge * alpha
    return (
        float(short[zero].max(initial=0.0)),
        float(np.abs(short[~(zero | bound)]).max(initial=0.0)),
        float((-short[bound]).max(initial=0.0)),
    )


def _coefficients(
    problem: LinearProblem, w: Vector, b: float, margins: Vector, tol: float
) -> Vector:
    """Coefficients of the hinge: C inside the margin, 0 beyond, and on it the nearest to w."""
    alpha = np.where(margins < 1.0, problem.price, 0.0)
    edge = np.flatnonzero(np.abs(margins - 1.0) <= tol)
    if not len(edge):
        return alpha
    alpha[edge] = 0.0
    y, rows = problem.y[edge], problem.samples.X[edge]
    A = (rows.toarray() if issparse(rows) else rows).T * y
    missing = w - problem.weights(alpha)
    if problem.bias_step:  # one more equation, for the bias
        constant = np.sqrt(problem.bias_step)
        if problem.free:
            constant = float(np.sqrt(problem.samples.squares.max())) or 1.0
        A = np.vstack([A, constant * y])
        side = constant * float(alpha @ problem.y)
        missing = np.append(missing, (0.0 if problem.free else b / constant) - side)
    price = problem.price[edge]
    found = lsq_linear(A * price, missing, (0.0, 1.0), method="bvls").x
    nearly = np.clip(np.where(np.abs(found - np.round(found)) < 1e-9, np.round(found), found), 0, 1)
    alpha[edge] = nearly * price
    return alpha


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
