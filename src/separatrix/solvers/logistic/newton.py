"""Logistic regression: the sums over samples, and two ways down: Newton's method and L-BFGS.

Two classes have one row of weights and a score f = <w, x> + b, p(second class) = 1 / (1 + exp(-f)).
Several have a row each and p = softmax(f). A point is theta, (p, D): weights, then, where there is
one, the bias; X means samples with a 1 at the end of each. With a prior of precision a on each number

    F(theta) = sum_i w_i (-log p(y_i | x_i)) + 1/2 sum a theta^2

is minus the log posterior: a = 1/C for weights, 0 for a free bias, all 0 for maximum likelihood.
Every sum is a part for each block and a merge, so a pass runs over arrays, memory maps and streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import issparse

from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import dense
from separatrix.solvers.logistic.softmax import softmax_residuals
from separatrix.types import Block, Codes, Matrix, Vector

ARMIJO = 1e-4  # share of the promised decrease that a step must bring
ROUNDING = 1e-14  # differences of the objective below this share of it decide nothing
GOOD = 0.2  # share of the gradient that a good step leaves at most
MEMORY = 20  # corrections that L-BFGS keeps


class Sums(NamedTuple):
    """What one pass finds at one point."""

    loss: float
    gradient: Matrix  # shape: (p, D)
    hessian: Matrix | None  # shape: (p D, p D)
    least: float  # margin of the worst sample: above 0 where all are on their right side
    most: float  # margin of the sample that is surest


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
# own and shared, (n, p): the second derivative at each sample is diag(own) - shared shared'
Curve = tuple[Matrix, Matrix | None]


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


@np.errstate(over="ignore", invalid="ignore")  # the caller checks the sums
def sums_of(
    block: Block,
    theta: Matrix,  # shape: (p, D)
    *,
    intercept: bool,
    hessian: bool,
    margin: bool = True,
    dtype: Any = np.float64,
) -> Sums:
    """Loss, gradient and, if wanted, Hessian over the samples of one block, the prior left out.

    Products are in `dtype`, sums over samples in float64. Without `margin`, margins are not looked at.
    """
    d = theta.shape[1] - intercept
    if issparse(block.X) and not hessian:
        X = block.X.astype(np.float64, copy=False)
    else:
        X = dense(block.X, dtype)
    W = theta[:, :d].T.astype(X.dtype, copy=False)
    F = np.asarray(X @ W, dtype=np.float64)
    if intercept:
        F += theta[:, d]
    of_scores = _two_classes if len(theta) == 1 else _several_classes
    loss, R, curve, margins = of_scores(F, block.y, block.weights, hessian, margin)
    gradient = np.empty(theta.shape)
    gradient[:, :d] = (X.T @ R.astype(X.dtype, copy=False)).T
    if intercept:
        gradient[:, d] = R.sum(axis=0)
    H = None if curve is None else _hessian(X, curve, intercept)
    if margins is None:
        return Sums(loss, gradient, H, -np.inf, np.inf)
    margins = margins[block.weights > 0]
    least, most = margins.min(initial=np.inf), margins.max(initial=-np.inf)
    return Sums(loss, gradient, H, float(least), float(most))


def merge(a: Sums, b: Sums) -> Sums:
    """Sums over two sets of samples together."""
    both = None if a.hessian is None or b.hessian is None else a.hessian + b.hessian
    margins = min(a.least, b.least), max(a.most, b.most)
    return Sums(a.loss + b.loss, a.gradient + b.gradient, both, *margins)


def _two_classes(
    F: Matrix, y: Codes, weights: Vector, bend: bool, margin: bool
) -> tuple[float, Matrix, Curve | None, Vector | None]:
    side = np.where(y == 1, 1.0, -1.0)
    margins = side * F[:, 0]
    small = np.exp(-np.abs(margins))
    loss = weights @ (np.log1p(small) + np.maximum(-margins, 0.0))
    small_share = 1.0 / (1.0 + small)
    wrong = np.where(margins > 0, small, 1.0) * small_share
    R = (-side * weights * wrong)[:, None]
    curve = ((weights * small * small_share**2)[:, None], None) if bend else None
    return float(loss), R, curve, margins if margin else None


def _several_classes(
    F: Matrix, y: Codes, weights: Vector, bend: bool, margin: bool
) -> tuple[float, Matrix, Curve | None, Vector | None]:
    margins = np.empty(len(y) if margin else 0)
    loss = softmax_residuals(F, y, weights, margins)
    curve = None
    if bend:
        own = F.copy()  # weights times probabilities
        own[np.arange(len(y)), y] += weights
        root = np.sqrt(np.where(weights > 0, weights, 1.0))
        curve = (own, own / root[:, None])
    return float(loss), F, curve, margins if margin else None


def _hessian(X: Matrix, curve: Curve, intercept: bool) -> Matrix:
    """Sum over samples of (second derivative) x (x x'), (p D, p D)."""
    own, shared = curve
    p = own.shape[1]
    D = X.shape[1] + intercept
    H = np.zeros((p, D, p, D))
    for c in range(p):
        root = np.sqrt(own[:, c])
        rooted = X * root[:, None]
        H[c, : X.shape[1], c, : X.shape[1]] = rooted.T @ rooted
        if intercept:
            H[c, -1, c, :-1] = H[c, :-1, c, -1] = root @ rooted
            H[c, -1, c, -1] = root @ root
    H = H.reshape(p * D, p * D)
    if shared is not None:
        Z = np.empty((len(X), p, D))
        np.multiply(shared[:, :, None], X[:, None, :], out=Z[:, :, : X.shape[1]])
        if intercept:
            Z[:, :, -1] = shared
        Z = Z.reshape(len(X), p * D)
        H -= Z.T @ Z
    return H


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
