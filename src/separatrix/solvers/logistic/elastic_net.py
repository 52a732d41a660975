"""Logistic regression with sparse weights: proximal Newton steps on a working set.

Most weights of a minimum under an l1 penalty are zero. Every round reads all samples once for the
gradient, chooses the weights that violate the optimality conditions most beside those that are not
zero, and minimises over these alone; the last round certifies all of them.

Symbols: theta weights and, last in each row, bias, (p, D); F scores, (p, n); R residuals, (p, n), the
derivatives of the loss by the scores; G the gradient of the smooth part, (p, D).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.passes import class_shares, score_curvatures
from separatrix.solvers.logistic.quadratic import minimise_quadratic, violations
from separatrix.solvers.logistic.softmax import replace_scores
from separatrix.solvers.logistic.working_columns import (
    DenseSamples,
    SparseSamples,
    WeightSet,
    columns_of,
)
from separatrix.types import Codes, Flags, Matrix, Vector

ALL_WEIGHTS = 400  # so many weights are one working set
FEWEST, GROWTH = 100, 2  # weights of a working set; times the weights that are not zero
MOST_WEIGHTS = 3000  # of a working set, whose second derivatives are held
SHARE = 0.3  # of the largest violation that a working set may leave
MODEL_SHARE = 1e-2  # of the violation that the quadratic model may leave
STALE = 0.5  # share of the violation that a step with older second derivatives may leave
ENOUGH, HALVINGS = 1e-4, 40  # share of the promised decrease, and halvings, of the line search
NEWTON_STEPS = 20  # on one working set, at most
BIAS_STEPS = 30
BALANCED = 1e-14  # sum of residuals over the weight of all samples, that is rounding
FAR = 0.3  # share of the bound's curvature for samples on the wrong side
RAREST = 1e-12  # share of a class whose samples have no weight
PATIENCE = 20  # rounds without a smaller violation or objective that show both to be rounding
ROUNDING = 1e-14  # share of the objective that is rounding


class ElasticNetProblem(NamedTuple):
    """Samples, labels and penalties."""

    samples: DenseSamples | SparseSamples
    y: Codes  # shape: (n,)
    weights: Vector  # shape: (n,)
    n_classes: int
    l1: Vector  # shape: (D,); price of |theta| in each column, 0 for the bias
    l2: Vector  # shape: (D,); price of theta^2 / 2
    intercept: bool

    @classmethod
    def of(
        cls, X: Any, y: Codes, weights: Vector, *, n_classes: int, intercept: bool
    ) -> ElasticNetProblem:
        """Without a penalty; `with_penalty` adds one."""
        none = np.zeros(X.shape[1] + intercept)
        weights = np.ascontiguousarray(weights, np.float64)
        return cls(columns_of(X, intercept), y, weights, n_classes, none, none, intercept)

    def with_penalty(
        self, l1: float, l2: float, intercept_precision: float = 0.0
    ) -> ElasticNetProblem:
        """The same samples under penalties of all weights; the bias has a precision of its own."""
        prices = np.full((2, len(self.l1)), [[l1], [l2]], np.float64)
        if self.intercept:
            prices[:, -1] = 0.0, intercept_precision
        return self._replace(l1=prices[0], l2=prices[1])


class ElasticNetFit(NamedTuple):
    """Where the descent stopped."""

    theta: Matrix  # shape: (p, D)
    objective: float
    gap: float  # duality gap over max(1, objective)
    violation: float  # of the optimality conditions, the largest, over the weight of all samples
    n_iter: int
    stop: str  # "tol", "max_iter", "stopped", "rounding" or "overflow"


def solve_elastic_net(
    problem: ElasticNetProblem,
    *,
    tol: float,
    max_iter: int,
    start: Matrix | None = None,
    monitor: FitMonitor | None = None,
) -> ElasticNetFit:
    """Proximal Newton steps on growing working sets, until the duality gap is small.

    Problem
        min_theta  sum_i w_i (-log p(y_i | x_i)) + sum_cj l1_j |theta_cj| + l2_j theta_cj^2 / 2

    Given
        tol        stop when the largest violation, over the weight of all samples, and the duality
                   gap, over max(1, objective), are at most this
        max_iter   Newton steps at most
        start      theta to begin with

    Returns theta with its certificate. The lower bound comes from the residuals, scaled to be feasible
    in the dual.

    Reference: Lee, Sun and Saunders, Proximal Newton-type Methods for Minimizing Composite Functions,
    SIAM J. Optimization 24 (2014). Massias, Vaiter, Gramfort and Salmon, Dual Extrapolation for Sparse
    Generalized Linear Models, JMLR 21 (2020).
    """
    monitor = monitor or FitMonitor()
    with np.errstate(over="ignore", invalid="ignore"):
        return _Descent(problem, start, monitor).run(tol, max_iter)


class _Point:
    """Scores, loss and residuals at one theta."""

    def __init__(self, problem: ElasticNetProblem, F: Matrix) -> None:
        self.problem, self.F = problem, F
        self.R = F.copy()
        self.loss = replace_scores(self.R, np.zeros(len(F)), problem.y, problem.weights)

    def curvatures(self) -> tuple[Matrix, Vector]:
        """What second derivatives are made of: w P (1 - P) of one score, else w P; and 1 / w.

        They vanish where a sample is far on the wrong side, so that a step would go much too far; there
        they are at least a share of those of Jaakkola and Jordan's quadratic bound.
        """
        y, weights = self.problem.y, self.problem.weights
        inverse = 1.0 / np.where(weights > 0, weights, 1.0)
        binary = len(self.F) == 1
        rows = np.arange(len(y))
        missing = np.abs(self.R[0] if binary else self.R[y, rows]) * inverse  # 1 - p of the class
        far = np.flatnonzero(missing > 0.5)
        right = np.maximum(1.0 - missing[far], np.finfo(np.float64).eps)
        bound = FAR * (missing[far] - 0.5) / np.log((1.0 - right) / right)
        if binary:
            own = np.maximum(score_curvatures(self.R, y, weights), 0.0)
            own[0, far] = np.maximum(own[0, far], weights[far] * bound)
            return own, inverse
        own = np.maximum(class_shares(self.R, y, weights), 0.0)
        lacking = bound > right * (1.0 - right)
        far, bound = far[lacking], bound[lacking]
        own[:, far] *= 1.0 - bound
        own[y[far], far] += bound * weights[far]
        return own, inverse


class _Descent:
    """One minimisation on its way."""

    def __init__(
        self, problem: ElasticNetProblem, start: Matrix | None, monitor: FitMonitor
    ) -> None:
        self.problem, self.monitor = problem, monitor
        k, D = problem.n_classes, len(problem.l1)
        self.weight = float(problem.weights.sum())
        self.theta = np.zeros((1 if k == 2 else k, D)) if start is None else start.copy()
        if start is None and problem.intercept:
            shares = np.bincount(problem.y, problem.weights, minlength=k) / self.weight
            logs = np.log(np.maximum(shares, RAREST))
            self.theta[:, -1] = logs[1:] - logs[:1] if k == 2 else logs - logs.mean()
        n = len(problem.y)
        if start is None:
            F = np.repeat(self.theta[:, -1:] if problem.intercept else self.theta[:, :1], n, axis=1)
        else:
            F = problem.samples.scores(self.theta)
        self.point = _Point(problem, F)
        self.n_iter = 0
        self.weight_set: WeightSet | None = None
        self.columns: DenseSamples | SparseSamples = problem.samples
        self.H: Matrix | None = None

    def run(self, tol: float, max_iter: int) -> ElasticNetFit:
        """Rounds until a reason to stop."""
        smallest, lowest, since, gap = np.inf, np.inf, 0, np.inf
        while True:
            self._balance()
            G = self.problem.samples.gradient(self.point.R) + self.problem.l2 * self.theta
            off = violations(self.theta, G, self.problem.l1)
            worst = float(off.max())
            stop = ""
            objective = self._objective()
            fell = objective < (1.0 - ROUNDING) * lowest or worst < 0.9 * smallest
            since = 0 if fell else since + 1
            smallest, lowest = min(worst, smallest), min(objective, lowest)
            if not np.isfinite(worst):
                stop = "overflow"
            elif worst <= tol * self.weight:
                gap = self._gap(G)
                stop = "tol" if gap <= tol else ""
            if not stop and self.n_iter >= max_iter:
                stop = "max_iter"
            if not stop and self.monitor.should_stop():
                stop = "stopped"
            if not stop and since > PATIENCE:
                stop = "rounding"
            if stop:
                gap = self._gap(G)
                return ElasticNetFit(
                    self.theta,
                    self._objective(),
                    gap,
                    worst / self.weight,
                    max(1, self.n_iter),
                    stop,
                )
            self._choose(off)
            self._minimise(SHARE * worst, max_iter)

    def _objective(self) -> float:
        size = np.abs(self.theta)
        return (
            self.point.loss
            + float((size @ self.problem.l1).sum())
            + 0.5 * float((size**2 @ self.problem.l2).sum())
        )

    def _balance(self) -> None:
        """Newton steps on the bias alone, after which residuals sum to 0: so they are dual feasible."""
        if not self.problem.intercept:
            return
        precision = self.problem.l2[-1]
        for _ in range(BIAS_STEPS):
            slope = self.point.R.sum(axis=1) + precision * self.theta[:, -1]
            if np.abs(slope).max() <= BALANCED * self.weight:
                return
            own, inverse = self.point.curvatures()
            B = np.diag(own.sum(axis=1) + precision)
            if len(own) > 1:
                B -= (own * inverse) @ own.T
            step = np.linalg.lstsq(B, -slope, rcond=1e-14)[0]
            moved = _Point(self.problem, self.point.F + step[:, None])
            bias = self.theta[:, -1] + step
            after = np.abs(moved.R.sum(axis=1) + precision * bias).max()
            if not after < np.abs(slope).max():
                return
            self.theta[:, -1], self.point = bias, moved

    def _choose(self, off: Matrix) -> None:
        """Make the weights that are not zero, and those that violate most, the working set."""
        if off.size <= ALL_WEIGHTS:
            chosen: Flags = np.ones(off.shape, np.bool_)
        else:
            kept = (self.theta != 0.0) | (self.problem.l1 == 0.0)
            size = min(max(FEWEST, GROWTH * int(kept.sum())), off.size)
            if size > MOST_WEIGHTS:
                size = MOST_WEIGHTS
                kept &= kept.sum() <= MOST_WEIGHTS // GROWTH
            rank = np.where(kept, np.inf, off).ravel()
            top = np.argpartition(rank, -size)[-size:]
            chosen = np.zeros(off.size, np.bool_)
            chosen[top] = rank[top] > 0.0
            chosen = chosen.reshape(off.shape)
        weight_set = WeightSet.of(chosen)
        if self.weight_set is None or not weight_set.same(self.weight_set):
            self.weight_set, self.H = weight_set, None
            self.columns = self.problem.samples.take(weight_set.columns)

    def _minimise(self, wanted: float, max_iter: int) -> None:
        """Proximal Newton steps over the working set until no violation in it exceeds `wanted`."""
        at = self.weight_set
        assert at is not None
        index = at.classes, at.features
        l1, l2 = self.problem.l1[at.features], self.problem.l2[at.features]
        before = np.inf
        for _ in range(NEWTON_STEPS):
            w = self.theta[index]
            G = self.columns.gradient(self.point.R)
            slope = G[at.classes, at.position] + l2 * w
            worst = float(violations(w, slope, l1).max())
            if worst <= wanted or self.n_iter >= max_iter or self.monitor.should_stop():
                return
            fresh = self.H is None or not worst <= STALE * before
            if fresh:
                self.H = self.columns.hessian(at, *self.point.curvatures())
                self.H.flat[:: len(w) + 1] += l2
            assert self.H is not None
            before = worst
            step = minimise_quadratic(self.H, slope, w, l1, share=MODEL_SHARE) - w
            if not self._move(at, slope, step):
                if fresh:
                    return
                self.H = None  # those of an earlier point, which do not serve here
                continue
            self.n_iter += 1
            self.monitor.step()

    def _move(self, at: WeightSet, slope: Vector, step: Vector) -> bool:
        """Go along the step while the objective falls enough; returns whether it moved."""
        index = at.classes, at.features
        l1, l2, w = self.problem.l1[at.features], self.problem.l2[at.features], self.theta[index]
        V = np.zeros((len(self.theta), len(at.columns)), order="F")
        V[at.classes, at.position] = step
        changes = self.columns.scores(V)
        length = 1.0
        for _ in range(HALVINGS):
            u = w + length * step
            price = float(l1 @ (np.abs(u) - np.abs(w)))
            price_2 = 0.5 * float(l2 @ (u**2 - w**2))
            promised = length * float(slope @ step - (l2 * w) @ step) + price + price_2
            moved = _Point(self.problem, self.point.F + length * changes)
            rounding = ROUNDING * self.point.loss
            if moved.loss - self.point.loss + price + price_2 <= ENOUGH * promised + rounding:
                self.theta[index], self.point = u, moved
                return True
            length *= 0.5
        return False

    def _gap(self, G: Matrix) -> float:
        """Relative duality gap, for which the residuals are scaled until they are dual feasible."""
        problem, objective = self.problem, self._objective()
        pull = np.abs(G - problem.l2 * self.theta)
        priced = problem.l1 > 0.0
        # without l2, residuals that pull harder than l1 are not dual feasible as they are
        bound = self._lower_bound(pull, 1.0) if (problem.l2[priced] > 0.0).all() else -np.inf
        largest = float((pull[:, priced] / problem.l1[priced]).max(initial=0.0))
        bound = max(bound, self._lower_bound(pull, min(1.0, 1.0 / largest if largest else 1.0)))
        unbalanced = 0.0
        if problem.intercept and problem.l2[-1] == 0.0:  # rounding, after `_balance`
            unbalanced = float(pull[:, -1] @ np.abs(self.theta[:, -1]))
        return (objective - bound + unbalanced) / max(1.0, abs(objective))

    def _lower_bound(self, pull: Matrix, scale: float) -> float:
        """The dual objective at scaled residuals: their entropy, less the conjugate of the penalty."""
        y, weights = self.problem.y, self.problem.weights
        inverse = 1.0 / np.where(weights > 0, weights, 1.0)
        if len(self.theta) == 1:
            own = (y == 1).astype(np.float64)
            q = own + scale * self.point.R[0] * inverse
            entropy = -(xlogy(q, q) + xlogy(1.0 - q, 1.0 - q))
        else:
            Q = scale * self.point.R * inverse
            Q[y, np.arange(len(y))] += 1.0
            Q = np.maximum(Q, 0.0)
            entropy = -xlogy(Q, Q).sum(axis=0)
        excess = np.maximum(scale * pull - self.problem.l1, 0.0)
        held = self.problem.l2 > 0.0
        conjugate = float((excess[:, held] ** 2 / (2.0 * self.problem.l2[held])).sum())
        return float(weights @ entropy) - conjugate
