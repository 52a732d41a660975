"""Linear machines whose steps are sums over kept blocks: the squared hinge, and subgradient descent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.cluster.partitions import partition
from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.linear_machine import margin_widths
from separatrix.estimators.base.monitoring import monitored
from separatrix.estimators.subgradient_svc import DTYPES
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import dense
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.logistic.newton import LogisticFit, largest_entry, solve_newton
from separatrix.solvers.logistic.passes import Sums, merge
from separatrix.solvers.subgradient import Objective, ObjectiveValue
from separatrix.types import Block, Codes, Matrix, Vector

GAP = 1e-9  # share of the objective that a last step may promise


def fit_linear_svc(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """The squared hinge by Newton's method in the primal; each step is one sum over the blocks."""
    model._check_parameters()
    _require_primal(model)
    parts = partition(X, y, sample_weight)
    blocks = ClusterBlocks(model, parts, keep=True, dtype=np.float64, weigh_classes=False)
    classes, _ = blocks.in_class_order()
    constant = float(model.intercept_scaling) * model.fit_intercept
    p, d = 1 if len(classes) == 2 else len(classes), blocks.n_features
    steps = max(1, model.max_iter) * p
    with monitored(model, None, None, steps=steps, task="iteration") as monitor:
        fits = [_solve_one(model, blocks, c, constant, monitor) for c in range(p)]
    theta = np.vstack([one.theta for one in fits])
    if not np.isfinite(theta).all():
        raise DataError("weights overflowed; scale the features, for example with StandardScaler")
    model.classes_, model.coef_ = classes, theta[:, :d].copy()
    model.intercept_ = constant * theta[:, d] if constant else np.zeros(p)
    model.objective_ = np.array([one.objective for one in fits])
    # the objective has curvature 1 at least, so |g|^2 / 2 bounds what is left of it
    squares = np.array([one.gradient for one in fits]) ** 2 * theta.shape[1]
    model.dual_gap_ = 0.5 * squares / np.maximum(1.0, model.objective_)
    model.margin_width_ = margin_widths(model.coef_)
    model.n_iter_ = max(one.n_iter for one in fits)
    model.solver_ = f"primal Newton: {len(parts.blocks)} blocks on a cluster"
    if any(one.stop in ("max_iter", "stopped") for one in fits):
        warn_user(
            f"LinearSVC stopped after {model.n_iter_} iterations at a relative duality gap of "
            f"{model.dual_gap_.max():.2g}: raise max_iter or tol, lower C, or scale the features",
            ConvergenceWarning,
        )
    return model


def _require_primal(model: Any) -> None:
    for wrong, what in (
        (model.loss != "squared_hinge", "loss='hinge'"),
        (model.penalty != "l2", "penalty='l1'"),
        (model.multi_class != "ovr", "multi_class='crammer_singer'"),
        (model.dual is True, "dual=True"),
        (model.fit_intercept and not model.regularize_intercept, "regularize_intercept=False"),
    ):
        if wrong:
            raise UnsupportedError(
                f"LinearSVC with {what} needs all samples in one memory; use the squared hinge with the l2 "
                "penalty, which is a sum over blocks, or pass X.compute()"
            )


def _solve_one(
    model: Any, blocks: ClusterBlocks, c: int, constant: float, monitor: FitMonitor
) -> LogisticFit:
    """One class against the rest; two classes have the second on the positive side."""
    own, binary = 1 if blocks.n_classes == 2 else c, blocks.n_classes == 2
    D = blocks.n_features + bool(constant)
    prices = np.full(blocks.n_classes, float(model.C))
    for code, weight in enumerate(blocks.class_weights):
        if (
            binary or code == own
        ):  # as in scikit-learn: a class weight counts for its own class only
            prices[code] *= weight

    def evaluate(theta: Matrix, hessian: bool) -> Sums:
        part = partial(
            hinge_sums, theta=theta, own=own, prices=prices, constant=constant, hessian=hessian
        )
        found: Sums = blocks.merge_parts(part, merge)
        return found

    at_zero = evaluate(np.zeros((1, D)), False)
    return solve_newton(
        evaluate,
        np.zeros((1, D)),
        precision=np.ones(D),
        weight=1.0,
        tol=float(model.tol) * min(1.0, largest_entry(at_zero, 1.0)),
        max_iter=model.max_iter,
        gap=GAP,
        monitor=monitor,
    )


def hinge_sums(
    block: Block, theta: Matrix, *, own: int, prices: Vector, constant: float, hessian: bool
) -> Sums:
    """Squared hinge over a block: loss, gradient, Hessian of sum_i price w_i max(0, 1 - z_i)^2."""
    side = np.where(block.y == own, 1.0, -1.0)
    d = block.X.shape[1]
    scores = np.asarray(block.X @ theta[0, :d]).ravel()
    if constant:
        scores += constant * theta[0, d]
    slack = np.maximum(0.0, 1.0 - side * scores)
    bent = np.flatnonzero((slack > 0) & (block.weights > 0))
    price = prices[block.y[bent]] * block.weights[bent]
    x = dense(block.X[bent])
    if constant:
        x = np.column_stack([x, np.full(len(x), constant)])
    loss = float(price @ slack[bent] ** 2)
    gradient = ((-2.0 * price * slack[bent] * side[bent]) @ x)[None, :]
    rooted = x * np.sqrt(2.0 * price)[:, None] if hessian else x[:0]
    H = rooted.T @ rooted if hessian else None
    return Sums(loss, gradient, H, -np.inf, np.inf)


class ClusterObjective:
    """`Objective` of subgradient descent as a sum over blocks."""

    def __init__(self, model: Any, blocks: ClusterBlocks) -> None:
        self.loss, self.mu, self._blocks = model.loss, float(model.mu), blocks
        self.total = blocks.total_weight
        self.weights = np.array([blocks.merge_parts(_weight_of, np.add)])
        self.X = np.empty((0, blocks.n_features))

    def at(self, Z: Matrix, own: Codes, monitor: FitMonitor | None = None) -> ObjectiveValue | None:
        """Value and subgradient at Z, as `Objective.at`."""
        part = partial(_objective_of, Z=Z, own=own, loss=self.loss)
        f, G = self._blocks.merge_parts(part, _add_values)
        with np.errstate(over="ignore", invalid="ignore"):
            W = Z[:, 1:]
            f = f / self.total + self.mu * np.einsum("cj,cj->c", W, W)
            G = G / self.total
            G[:, 1:] += 2.0 * self.mu * W
        return ObjectiveValue(f, G)


def _weight_of(block: Block) -> float:
    return float(block.weights.sum())


def _objective_of(block: Block, *, Z: Matrix, own: Codes, loss: str) -> tuple[Any, Matrix]:
    X = block.X if hasattr(block.X, "nnz") else np.ascontiguousarray(block.X)
    found = Objective(X, block.y, block.weights, 1.0, loss, 0.0).at(Z, own)
    assert found is not None  # nobody cancels on a worker
    return found.f, found.G


def _add_values(a: tuple[Any, Matrix], b: tuple[Any, Matrix]) -> tuple[Any, Matrix]:
    return a[0] + b[0], a[1] + b[1]


def fit_subgradient(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """Subgradient descent; each step is one sum over the blocks."""
    model._check_parameters()
    if model.class_weight == "balanced" and sample_weight is not None:
        raise UnsupportedError(
            "class_weight='balanced' of SubgradientSVC counts rows; on a cluster pass a dict of weights"
        )
    parts = partition(X, y, sample_weight)
    blocks = ClusterBlocks(model, parts, keep=True, dtype=DTYPES)
    model.classes_, _ = blocks.in_class_order()
    return model._minimise(ClusterObjective(model, blocks), None, None)
