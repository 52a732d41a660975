"""Logistic regression: two ways down, Newton's method and L-BFGS.

A point is theta, (p, D), as in `passes.py`. With a prior of precision a on each parameter

    F(theta) = sum_i w_i (-log p(y_i | x_i)) + 1/2 sum a theta^2

is minus the log posterior: a = 1/C for weights, 0 for a free bias, all 0 for maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import minimize

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.passes import Sums
from separatrix.types import Matrix, Vector

ARMIJO = 1e-4  # share of the promised decrease that a step must bring
ROUNDING = 1e-14  # differences of the objective below this share of it decide nothing
GOOD = 0.2  # share of the gradient that a good step leaves at most
MEMORY = 20  # corrections that L-BFGS keeps


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


Evaluate = Callable[[Matrix, bool], Sums]


class Curvature(NamedTuple):
    """A guess of the Hessian of each row of theta: L L', or the square of a diagonal.

    The variables of a point theta are z = theta L.
    """

    L: Matrix | Vector  # shape: (D, D), lower triangular, or (D,)

    @classmethod
    def of(cls, guess: Matrix | Vector) -> Curvature:
        """The factor of a positive guess, (D, D), or of its diagonal, (D,)."""
        return cls(np.sqrt(guess) if guess.ndim == 1 else cholesky(guess, lower=True))

    def variables(self, theta: Matrix) -> Matrix:
        """Variables of a point, (p, D)."""
        return theta * self.L if self.L.ndim == 1 else theta @ self.L

    def point(self, z: Matrix) -> Matrix:
        """Point of some variables, (p, D)."""
        return z / self.L if self.L.ndim == 1 else self._solve(z, "T")

    def slope(self, gradient: Matrix) -> Matrix:
        """Gradient by the variables from that by the point, (p, D)."""
        return gradient / self.L if self.L.ndim == 1 else self._solve(gradient, "N")

    def _solve(self, rows: Matrix, trans: str) -> Matrix:
        found = solve_triangular(self.L, rows.T, trans=trans, lower=True, check_finite=False)
        return np.asarray(found.T)


def solve_newton(
    evaluate: Evaluate,
    theta: Matrix,  # shape: (p, D)
    *,
    precision: Vector,  # shape: (D,)
    weight: float,
    tol: float,
    max_iter: int,
    near: bool = False,
    monitor: FitMonitor | None = None,
) -> LogisticFit:
    """Newton's method: few steps, and a Hessian serves as long as steps with it are good ones.

    Problem
        min over theta of  F(theta) = sum_i w_i (-log p(y_i | x_i)) + 1/2 sum a theta^2

    Given
        evaluate   loss, gradient and Hessian of the first sum at a point
        theta      where to begin
        precision  a, of each column
        weight     W, of all samples
        tol        largest entry of the gradient over W at which to stop
        max_iter   steps at most
        near       whether the beginning is near the end: then one Hessian may do

    Returns the point with its certificate, and the Hessian if it is the one there. A step is H^-1 g by
    Cholesky's factorisation, or the shortest that solves H s = g where H is singular, halved until F
    falls enough. A Hessian costs D times what a gradient does. So where a step has left less than a
    fifth of the gradient the same H is taken again, and otherwise one at the new point. Softmax does
    not change when all classes' rows move alike: where no prior holds them, they are kept at mean 0.

    Reference: Shamanskii, A Modification of Newton's Method, Ukrainian Mathematical Journal 19 (1967);
    Nocedal and Wright, Numerical Optimization (2006), algorithm 3.2.
    """
    a = np.broadcast_to(precision, theta.shape)

    def at(point: Matrix, hessian: bool) -> Sums:
        return _with_prior(evaluate(point, hessian), point, a)

    now = at(theta, True)
    H, n_iter, stop = now.hessian, 0, ""
    while not (stop := _reason(now, n_iter, weight, tol, max_iter, monitor)):
        if H is None:
            H = at(theta, True).hessian
        assert H is not None
        step = -_solved(H, now.gradient, precision)
        slope = float(np.vdot(now.gradient, step))
        size = 1.0
        for _ in range(30):
            there = at(theta + size * step, not near)
            if there.loss <= now.loss + ARMIJO * size * slope + ROUNDING * abs(now.loss):
                break
            size /= 2.0
        else:
            stop = "rounding"
            break
        theta = theta + size * step
        n_iter += 1
        if monitor is not None:
            monitor.step()
        left = _largest(there, weight) / _largest(now, weight)
        stalled = -slope <= ROUNDING * abs(now.loss) and left > 0.5
        near = left < 0.5
        if there.hessian is not None or left > GOOD:
            H = there.hessian
        now = there
        if stalled and _largest(now, weight) > tol:
            stop = "rounding"
            break
    return _fit(theta, now, now.hessian, weight, n_iter, stop)


def solve_lbfgs(
    evaluate: Evaluate,
    theta: Matrix,  # shape: (p, D)
    *,
    precision: Vector,  # shape: (D,)
    curvature: Curvature,
    weight: float,
    tol: float,
    max_iter: int,
    monitor: FitMonitor | None = None,
) -> LogisticFit:
    """L-BFGS: no matrix at all, for many features, many classes, or sparse samples.

    Problem
        as `solve_newton`

    Given
        as `solve_newton`, and
        curvature  a guess of the Hessian of each row of theta: L-BFGS works in variables in which
                   the guess is the identity

    Returns the point with its certificate, without a Hessian.

    Reference: Liu and Nocedal, On the Limited Memory BFGS Method for Large Scale Optimization,
    Mathematical Programming 45 (1989). The implementation is SciPy's.
    """
    a = np.broadcast_to(precision, theta.shape)
    lowest: list[Any] = []

    def at(z: Vector) -> tuple[float, Vector]:
        point = curvature.point(z.reshape(theta.shape))
        sums = _with_prior(evaluate(point, False), point, a)
        if not lowest or sums.loss <= lowest[1].loss:
            lowest[:] = [point, sums]
        return sums.loss / weight, curvature.slope(sums.gradient).ravel() / weight

    steps = [0]
    reasons: list[str] = []

    def between(_z: Vector) -> None:
        steps[0] += 1
        if monitor is not None:
            monitor.step()
        reason = _reason(lowest[1], steps[0], weight, tol, max_iter, monitor)
        if reason:
            reasons.append(reason)
            raise StopIteration

    begin = curvature.variables(theta).ravel()
    at(begin)
    reason = _reason(lowest[1], 0, weight, tol, max_iter, monitor)
    if not reason:
        limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": MEMORY}
        options = {"ftol": 0.0, "gtol": 0.0} | limits
        minimize(at, begin, jac=True, method="L-BFGS-B", callback=between, options=options)
        reason = reasons[0] if reasons else "rounding"
    point, sums = lowest
    if reason == "rounding" and _largest(sums, weight) <= tol:
        reason = "tol"
    return _fit(point, sums, None, weight, steps[0], reason)


def _fit(
    theta: Matrix, now: Sums, hessian: Matrix | None, weight: float, n_iter: int, stop: str
) -> LogisticFit:
    certificate = _largest(now, weight)
    return LogisticFit(theta, now.loss, certificate, hessian, n_iter, stop, now.least, now.most)


def _reason(
    now: Sums, n_iter: int, weight: float, tol: float, max_iter: int, monitor: FitMonitor | None
) -> str:
    """Why to stop here; nothing where to go on."""
    if not (np.isfinite(now.loss) and np.isfinite(now.gradient).all()):
        return "overflow"
    if now.hessian is not None and not np.isfinite(now.hessian).all():
        return "overflow"
    if _largest(now, weight) <= tol:
        return "tol"
    if n_iter >= max_iter:
        return "max_iter"
    return "stopped" if monitor is not None and monitor.should_stop() else ""


def _largest(now: Sums, weight: float) -> float:
    return float(np.abs(now.gradient).max()) / weight


def _with_prior(sums: Sums, theta: Matrix, a: Matrix) -> Sums:
    """Loss, gradient and Hessian of F from those of the likelihood."""
    hessian = sums.hessian
    if hessian is not None:
        hessian.flat[:: len(hessian) + 1] += a.ravel()
    loss = sums.loss + 0.5 * float(np.vdot(a * theta, theta))
    return sums._replace(loss=loss, gradient=sums.gradient + a * theta, hessian=hessian)


def _solved(H: Matrix, g: Matrix, precision: Vector) -> Matrix:
    """H^-1 g, shortest where H is singular."""
    p, D = g.shape
    H = pinned(H, precision, p)
    try:
        factor = cho_factor(H, lower=True, check_finite=False)
        pivots = np.diag(factor[0]) ** 2
        if (pivots > len(H) * 1e-15 * np.diag(H)).all():
            return np.asarray(cho_solve(factor, g.ravel(), check_finite=False).reshape(p, D))
    except LinAlgError:
        pass
    s, V = eigh(H, check_finite=False)
    kept = s > len(s) * 1e-15 * s[-1]
    return np.asarray((V[:, kept] @ ((V[:, kept].T @ g.ravel()) / s[kept])).reshape(p, D))


def pinned(H: Matrix, precision: Vector, p: int) -> Matrix:
    """H with the directions in which softmax does not change, and no prior holds, made steep."""
    free = np.flatnonzero(precision == 0)
    if p == 1 or not len(free):
        return H
    D = len(precision)
    H = H.copy()
    steep = max(float(np.diag(H).mean()), np.finfo(float).tiny)
    for j in free:
        rows = np.arange(p) * D + j
        H[np.ix_(rows, rows)] += steep / p
    return H
