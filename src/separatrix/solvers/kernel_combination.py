"""Support vector machines on a non-negative combination of kernels, whose weights are learned with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, linprog, minimize

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import SvmFit, SvmProblem
from separatrix.types import Gram, Matrix, Vector

LEVEL = 0.5  # of the next weights, between the bounds of the objective
INNER = 0.1  # relative gap of each SVM, as a share of the tolerance
LEAST_WEIGHT = 1e-6  # smaller ones become 0


class CombinationFit(NamedTuple):
    """Weights of kernels and the machines on their combination, with the certificate."""

    weights: Vector  # shape: (kernels,); at least 0, of sum 1
    fits: Sequence[SvmFit]  # one for each problem, on the combined kernel
    primal: float  # objective of weights and machines: an upper bound of the optimum
    dual: float  # a lower bound of the optimum
    n_iter: int  # combinations whose machines were trained
    stop: str  # "tol", "max_iter", "stalled" or "stopped"

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual)


class Planes(NamedTuple):
    """Linear lower bounds of the objective: constants[t] - squares[t] d / 2 for weights d."""

    constants: list[float]  # sum of all coefficients
    squares: list[Vector]  # sum over the problems of |w|^2 in the feature space of each kernel

    def lower_bound(self) -> tuple[float, Vector]:
        """The minimum over all weights of the highest plane, and where it is."""
        m = len(self.squares[0])
        rows = np.column_stack([-0.5 * np.array(self.squares), -np.ones(len(self.squares))])
        found = linprog(
            np.append(np.zeros(m), 1.0),
            A_ub=rows,
            b_ub=-np.array(self.constants),
            A_eq=np.append(np.ones(m), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * m + [(None, None)],
        )
        if not found.success:
            return -np.inf, np.full(m, 1.0 / m)
        weights = _as_weights(found.x[:m])
        return float(found.fun), weights

    def project(self, weights: Vector, level: float, fallback: Vector) -> Vector:
        """The weights nearest to some at which no plane is above the level."""
        m = len(weights)
        slack = level - np.array(self.constants)
        scale = max(1.0, float(np.abs(self.squares).max()))
        found = minimize(
            lambda d: 0.5 * float(np.sum((d - weights) ** 2)),
            fallback,
            jac=lambda d: d - weights,
            method="SLSQP",
            bounds=[(0, 1)] * m,
            constraints=[
                LinearConstraint(np.ones((1, m)), 1.0, 1.0),
                LinearConstraint(-0.5 * np.array(self.squares) / scale, -np.inf, slack / scale),
            ],
        )
        return _as_weights(found.x) if found.success else 0.5 * (weights + fallback)


def solve_kernel_combination(
    matrices: Sequence[Matrix],  # each of shape (n, n)
    problems: Sequence[SvmProblem],
    *,
    hold: Callable[[Matrix], Gram],
    tol: float = 1e-3,
    max_iter: int = 100,
    start: Vector | None = None,
    monitor: FitMonitor | None = None,
    threads: int = 1,
) -> CombinationFit:
    """Learn the weights of kernels together with support vector machines on their combination.

    Problem
        min over d, w, b, xi   sum_p [ 1/2 sum_m |w_pm|^2 / d_m + sum_i box_pi xi_pi ]
        subject to             y_pi (sum_m <w_pm, phi_m(x_i)> + b_p) >= 1 - xi_pi,  xi >= 0,
                               d >= 0,  sum_m d_m = 1

        In d alone this is the convex function J(d) = sum_p (optimum of the SVM with sum_m d_m K_m).

    Given
        matrices   the kernel matrices K_m, of comparable scale: their weights share one unit
        problems   sides and finite upper bounds of each machine
        hold       makes the Gram of a combined matrix
        tol        relative duality gap of the whole problem at which to stop
        max_iter   combinations to train, at most
        start      initial weights
        monitor    time limit and cancellation
        threads    CPU threads

    Returns weights, machines and the certificate: the primal objective of what is returned, and a lower
    bound of the optimum. Coefficients a of the machines at any weights give one, linear in d:
    J(d) >= sum_i a_i - 1/2 sum_m d_m a'Y K_m Y a; the bound is the minimum of the highest of these planes.
    The next weights are the nearest at which no plane is above a level between the bounds.

    Reference: problem, Rakotomamonjy, Bach, Canu and Grandvalet, SimpleMKL, JMLR 9 (2008); algorithm, Xu,
    Jin, King and Lyu, An Extended Level Method for Efficient Multiple Kernel Learning, NIPS 2008.
    """
    monitor = monitor or FitMonitor()
    m = len(matrices)
    weights = np.full(m, 1.0 / m) if start is None else _as_weights(start)
    planes, problems = Planes([], []), list(problems)
    best: tuple[float, Vector, Sequence[SvmFit]] | None = None
    dual, stop, n_iter = -np.inf, "max_iter", 0
    while n_iter < max_iter:
        fits = solve_svms(
            hold(combine_matrices(matrices, weights)),
            problems,
            tol=INNER * tol,
            stop="gap",
            monitor=monitor.inner(),
            threads=threads,
        )
        n_iter += 1
        primal = sum(fit.primal for fit in fits)
        if best is None or primal < best[0]:
            best = (primal, weights, fits)
        planes.constants.append(float(sum(fit.alpha.sum() for fit in fits)))
        planes.squares.append(np.array([_square(K, fits) for K in matrices]))
        bound, lowest = planes.lower_bound()
        dual = max(dual, bound)
        if relative_gap(best[0], dual) <= tol:
            stop = "tol"
            break
        if monitor.should_stop():
            stop = "stopped"
            break
        following = planes.project(weights, dual + LEVEL * (best[0] - dual), lowest)
        if np.abs(following - weights).max() < 1e-12:
            following = 0.5 * (weights + lowest)
            if np.abs(following - weights).max() < 1e-12:
                stop = "stalled"
                break
        weights = following
        problems = [p._replace(start=fit.alpha) for p, fit in zip(problems, fits, strict=True)]
    assert best is not None
    return CombinationFit(best[1], best[2], best[0], dual, n_iter, stop)


def combine_matrices(matrices: Sequence[Matrix], weights: Vector) -> Matrix:
    """The weighted sum of matrices, (n, n)."""
    K = np.zeros_like(matrices[0])
    for weight, one in zip(weights, matrices, strict=True):
        if weight:
            K += K.dtype.type(weight) * one
    return K


def _square(K: Matrix, fits: Sequence[SvmFit]) -> float:
    """The sum over the machines of |w|^2 in the feature space of one kernel."""
    total = 0.0
    for fit in fits:
        support = np.flatnonzero(fit.alpha)
        rows, coef = fit.rows[support], (fit.alpha * fit.y)[support]
        total += float(coef @ (K[np.ix_(rows, rows)].astype(np.float64) @ coef))
    return total


def _as_weights(d: Vector) -> Vector:
    """Weights of at least 0 and of sum 1; negligible ones are 0."""
    d = np.where(d < LEAST_WEIGHT * d.max(), 0.0, d)
    return np.asarray(d / d.sum())
