"""Linear support vector machines with the hinge, by the interior-point method of kernel machines."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import SMALL_WORK, blas_on_one_thread
from separatrix.solvers.linear_svm.dual_descent import LinearFit, LinearProblem, certify
from separatrix.solvers.svm.interior_point import BoxProblem, Columns, solve_interior_point


def solve_hinge(
    problem: LinearProblem, *, gap: float, max_iter: int, monitor: FitMonitor
) -> LinearFit:
    """Solve a linear support vector machine with the hinge in a bounded number of Newton steps.

    Problem
        min_(w, b)  |w|^2 / 2 + b^2 / (2 bias_step) + sum_i price_i max(0, 1 - z_i)

    Given
        gap        relative duality gap at which it counts as solved
        max_iter   Newton steps at most
        monitor    time limit and cancellation

    Returns the weights with their certificate. A penalised bias is the weight of a constant column.

    Reference: as `solve_interior_point`.
    """
    X, y, constant = problem.samples.X, problem.y, float(np.sqrt(problem.bias_step))
    n, d = X.shape
    if problem.free and (y == y[0]).all():  # the bias alone has no loss
        return certify(problem, np.zeros(d), float(y[0]), np.zeros(n), n_iter=0, stop="tol")
    sides = y[:, None] if problem.free else np.empty((n, 0))
    extra = constant * y[:, None] if 0.0 < problem.bias_step < np.inf else np.empty((n, 0))
    mean = X.mean(axis=0) if problem.free and not issparse(X) else np.zeros(d)
    V = X.multiply(y[:, None]).tocsr() if issparse(X) else (X - mean) * y[:, None]
    V = hstack([V, csr_array(extra)]).tocsr() if issparse(X) else np.concatenate([V, extra], axis=1)
    columns = Columns(V, sides)
    box = BoxProblem(problem.price, sides, np.zeros(sides.shape[1]), 1.0)
    with blas_on_one_thread() if n * d * d <= SMALL_WORK else nullcontext():
        found = solve_interior_point(columns, box, monitor, max_iter)
    weights = found.weights / columns.scale
    w = weights[:d]
    b = float(found.levels[0] - mean @ w) if problem.free else constant * float(weights[d:].sum())
    monitor.step(found.n_iter)
    fit = certify(problem, w, b, found.alpha, n_iter=found.n_iter, stop="", violation=0.0)
    stop = "stopped" if monitor.should_stop() else "max_iter"
    return fit._replace(stop="tol" if fit.gap <= gap else stop, violation=fit.gap)
