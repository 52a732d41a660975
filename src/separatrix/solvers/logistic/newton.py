"""Logistic regression by Newton's method.

A point is theta, (p, D), as in `passes.py`. With a prior of precision a on each parameter

    F(theta) = sum_i w_i (-log p(y_i | x_i)) + 1/2 sum a theta^2

is minus the log posterior: a = 1/C for weights, 0 for a free bias, all 0 for maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.passes import Sums
from separatrix.types import Matrix, Vector

ARMIJO = 1e-4  # share of the promised decrease that a step must bring
ROUNDING = 1e-14  # differences of the objective below this share of it decide nothing
GAP = 1e-7  # of the objective, that is left at most by default
USUAL_TOL = 1e-4  # up to which that holds; a larger one leaves more in proportion
GOOD = 0.2  # share of the gradient that a good step leaves at most
BOLDEST = 5.0  # length of a damped step, at most
HALVINGS = 30


class LogisticFit(NamedTuple):
    """Where a descent stopped."""

    theta: Matrix  # shape: (p, D)
    objective: float  # F
    gradient: float  # largest entry of the gradient of F, over the weight of all samples
    hessian: Matrix | None  # of F
    n_iter: int
    stop: str  # "tol", "max_iter", "stopped", "overflow", "rounding": no lower value can be told apart
    least: float  # margin of the worst sample
    most: float  # and of the surest
    gap: float = np.nan  # relative duality gap under an l1 penalty
    rounding: float = 0.0  # the part of the gradient or gap that stands for rounding


Evaluate = Callable[[Matrix, bool], Sums]


def solve_newton(
    evaluate: Evaluate,
    theta: Matrix,  # shape: (p, D)
    *,
    precision: Vector,  # shape: (D,)
    weight: float,
    tol: float,
    max_iter: int,
    near: bool = False,
    gap: float = np.inf,
    monitor: FitMonitor | None = None,
) -> LogisticFit:
    """Newton's method: few steps, and a Hessian serves as long as steps with it are good ones.

    Problem
        min over theta of  F(theta) = sum_i w_i (-log p(y_i | x_i)) + 1/2 sum a theta^2

    Given
        evaluate   loss, gradient and Hessian of the first sum at a point; no Hessian if it must stop
        theta      where to begin
        precision  a, of each column
        weight     W, of all samples
        tol        largest entry of the gradient over W at which to stop
        max_iter   steps at most
        near       whether the beginning is near the end: then one Hessian may do
        gap        share of F that the next step may promise at most, to stop

    Returns the point with its certificate, and the Hessian if it is the one there. A step is H^-1 g by
    Cholesky's factorisation, or the shortest that solves H s = g where H is singular, halved until F
    falls enough. A Hessian costs D times what a gradient does. So where a step has left less than a
    fifth of the gradient the same H is taken again, and otherwise one at the new point. Where no share of
    a step lowers F, a multiple of the identity is added to H (Levenberg). Softmax does not change when
    all classes' rows move alike, and a prior is highest where their mean is 0: there they are kept.

    Reference: Shamanskii, A Modification of Newton's Method, Ukrainian Mathematical Journal 19 (1967);
    Nocedal and Wright, Numerical Optimization (2006), algorithm 3.2.
    """
    a = np.broadcast_to(precision, theta.shape)
    if len(theta) > 1:
        theta = theta - theta.mean(axis=0)

    def at(point: Matrix, hessian: bool) -> Sums:
        return add_prior(evaluate(point, hessian), point, a)

    now = at(theta, True)
    H, n_iter, stop = now.hessian, 0, ""
    while True:
        stop = stopping_reason(now, n_iter, weight, tol, max_iter, monitor)
        small = stop == "tol" and np.isfinite(gap) and n_iter < max_iter
        if stop and not small:
            break
        if H is None:
            H = at(theta, True).hessian
        if H is None:  # the monitor stopped in the middle of a pass
            stop = stop or "stopped"
            break
        step = -_solved(H, now.gradient)
        slope = float(np.vdot(now.gradient, step))
        if small and -0.5 * slope <= gap * abs(now.loss):
            break
        near = near or small
        found = _search_line(at, theta, now, step, slope, not near)
        if found is None and largest_entry(now, weight) > tol:
            # where H is nearly 0, far beyond a peak, Newton's step is too long by many powers of 10
            step = -_solved(H, now.gradient, float(np.linalg.norm(now.gradient)) / BOLDEST)
            slope = float(np.vdot(now.gradient, step))
            found = _search_line(at, theta, now, step, slope, True)
        if found is None:
            stop = "rounding"
            break
        theta, there = found
        n_iter += 1
        if monitor is not None:
            monitor.step()
        left = largest_entry(there, weight) / largest_entry(now, weight)
        stalled = -slope <= ROUNDING * abs(now.loss) and left > 0.5
        near = left < 0.5
        if there.hessian is not None or left > GOOD:
            H = there.hessian
        now = there
        if stalled and largest_entry(now, weight) > tol:
            stop = "rounding"
            break
    return summarise(theta, now, now.hessian, weight, n_iter, stop)


def _search_line(
    at: Evaluate, theta: Matrix, now: Sums, step: Matrix, slope: float, hessian: bool
) -> tuple[Matrix, Sums] | None:
    """The end of the step, or of its half, quarter, ..., at which F has fallen enough; None: nowhere."""
    size = 1.0
    for _ in range(HALVINGS):
        there = at(theta + size * step, hessian)
        if there.loss <= now.loss + ARMIJO * size * slope + ROUNDING * abs(now.loss):
            return theta + size * step, there
        size /= 2.0
    return None


def summarise(
    theta: Matrix, now: Sums, hessian: Matrix | None, weight: float, n_iter: int, stop: str
) -> LogisticFit:
    """The result of a descent that stopped at theta."""
    certificate = largest_entry(now, weight)
    return LogisticFit(theta, now.loss, certificate, hessian, n_iter, stop, now.least, now.most)


def stopping_reason(
    now: Sums, n_iter: int, weight: float, tol: float, max_iter: int, monitor: FitMonitor | None
) -> str:
    """Why to stop here; nothing where to go on."""
    if not (np.isfinite(now.loss) and np.isfinite(now.gradient).all()):
        return "overflow"
    if now.hessian is not None and not np.isfinite(now.hessian).all():
        return "overflow"
    if largest_entry(now, weight) <= tol:
        return "tol"
    if n_iter >= max_iter:
        return "max_iter"
    return "stopped" if monitor is not None and monitor.should_stop() else ""


def largest_entry(now: Sums, weight: float) -> float:
    """Largest entry of the gradient, over the weight of all samples."""
    return float(np.abs(now.gradient).max()) / weight


def add_prior(sums: Sums, theta: Matrix, a: Matrix) -> Sums:
    """Loss, gradient and Hessian of F from those of the likelihood."""
    hessian = sums.hessian
    if hessian is not None:
        hessian.flat[:: len(hessian) + 1] += a.ravel()
    slope = a * theta
    loss = sums.loss + 0.5 * float(np.vdot(slope.ravel("K"), theta.ravel("K")))
    return sums._replace(loss=loss, gradient=sums.gradient + slope, hessian=hessian)


def _solved(H: Matrix, g: Matrix, damping: float = 0.0) -> Matrix:
    """(H + damping I)^-1 g, shortest where that matrix is singular; the rows of g have the mean 0.

    Directions in which softmax does not change are made steep even where a prior holds them: with a weak
    one the factorisation would fail by rounding, and g has no part in them.
    """
    p, D = g.shape
    H = pinned(H, np.zeros(D), p)
    if damping:
        H = H + damping * np.eye(len(H))
    factor, failed = dpotrf(H, lower=1)
    if not failed and (np.diag(factor) ** 2 > len(H) * 1e-15 * np.diag(H)).all():
        return np.asarray(dpotrs(factor, g.ravel(), lower=1)[0].reshape(p, D))
    s, V = eigh(H, check_finite=False)
    kept = s > len(s) * 1e-15 * s[-1]
    return np.asarray((V[:, kept] @ ((V[:, kept].T @ g.ravel()) / s[kept])).reshape(p, D))


def pinned(H: Matrix, precision: Vector, p: int) -> Matrix:
    """H with the directions in which softmax does not change, and no prior holds, made steep."""
    steep = pinned_steepness(H, precision, p)
    if not len(steep):
        return H
    H = H.copy()
    for j, added in zip(np.flatnonzero(precision == 0), steep, strict=True):
        rows = np.arange(p) * len(precision) + j
        H[np.ix_(rows, rows)] += added / p
    return H


def pinned_steepness(H: Matrix, precision: Vector, p: int) -> Vector:
    """How steep `pinned` makes each of these directions: as their column is, or rounding would hide it."""
    free = np.flatnonzero(precision == 0)
    if p == 1 or not len(free):
        return np.zeros(0)
    of_columns = np.diag(H).reshape(p, -1).mean(axis=0)[free]
    return np.asarray(np.maximum(of_columns, np.finfo(float).tiny))
