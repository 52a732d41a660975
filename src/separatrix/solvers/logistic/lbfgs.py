"""L-BFGS for logistic regression, in variables in which a guess of the Hessian is the identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.linalg.lapack import dtrtrs

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.newton import (
    ARMIJO,
    ROUNDING,
    Evaluate,
    LogisticFit,
    add_prior,
    largest_entry,
    stopping_reason,
    summarise,
)
from separatrix.solvers.logistic.passes import Sums
from separatrix.solvers.logistic.preconditioner import Preconditioner
from separatrix.types import Matrix, Vector

Trial = tuple[Matrix, Sums, Vector]  # a point, sums there, and the gradient by its variables

MEMORY = 20  # steps kept
TOO_SHORT = 0.9  # share of the slope that a step leaves if it was too short
TRIALS = 30  # of the length of one step
PATIENCE = 5  # steps without a smaller gradient once differences of the objective are rounding


class LbfgsMemory:
    """The last steps and the changes of the gradient along them, which imply an inverse Hessian.

    Reference: Byrd, Nocedal and Schnabel, Representations of Quasi-Newton Matrices and Their Use in
    Limited Memory Methods, Mathematical Programming 63 (1994), theorem 2.2.
    """

    def __init__(self, size: int, most: int = MEMORY) -> None:
        self._kept = np.empty((2, most, size))  # steps, and changes of the gradient
        self._SY, self._YY = np.zeros((2, most, most))  # SY is upper triangular in the order
        self._order: list[int] = []  # rows, the oldest first
        self._gradient: Vector | None = None  # the last one, and what is kept times it
        self._products = np.zeros((2, most))

    def add(self, s: Vector, before: Vector, g: Vector) -> None:
        """Keep a step and the gradients before and after it; drop the oldest where there is no room."""
        earlier = self._times_kept(before).copy()
        y = g - before
        sy, yy = float(s @ y), float(y @ y)
        if not sy > 1e-10 * yy**0.5 * float(s @ s) ** 0.5:
            return
        full = len(self._order) == self._kept.shape[1]
        row = self._order.pop(0) if full else len(self._order)
        self._order.append(row)
        self._kept[0, row], self._kept[1, row] = s, y
        self._gradient = None
        rows = slice(0, len(self._order))
        # products with y are differences of those with gradients, which `times` needs anyway
        self._SY[rows, row], self._YY[rows, row] = (self._times_kept(g) - earlier)[:, rows]
        self._SY[row, row], self._YY[row, row] = sy, yy
        self._YY[row, rows] = self._YY[rows, row]

    def _times_kept(self, g: Vector) -> Matrix:
        """Products of all that is kept with a gradient, (2, most); it must not change afterwards."""
        if g is not self._gradient:
            rows = slice(0, len(self._order))
            self._products[:, rows] = self._kept[:, rows] @ g
            self._gradient = g
        return self._products

    def times(self, g: Vector) -> Vector:
        """The inverse Hessian times a gradient."""
        if not self._order:
            return g
        order = np.array(self._order)
        kept = self._kept[:, : len(order)]
        SY, YY = self._SY[order[:, None], order], self._YY[order[:, None], order]
        scale = SY[-1, -1] / YY[-1, -1]
        Sg, Yg = self._times_kept(g)[:, order]
        u = dtrtrs(SY, Sg)[0]
        inner = np.diag(SY) * u + scale * (YY @ u - Yg)
        along = np.empty((2, len(order)))
        along[0, order], along[1, order] = dtrtrs(SY, inner, trans=1)[0], -scale * u
        return np.asarray(scale * g + along[0] @ kept[0] + along[1] @ kept[1])


def solve_lbfgs(
    evaluate: Evaluate,
    theta: Matrix,  # shape: (p, D)
    *,
    precision: Vector,  # shape: (D,)
    preconditioner: Preconditioner,
    weight: float,
    tol: float,
    max_iter: int,
    gap: float = np.inf,
    memory: LbfgsMemory | None = None,
    monitor: FitMonitor | None = None,
) -> LogisticFit:
    """L-BFGS: no matrix at all, for many features, many classes, or sparse samples.

    Problem
        as `solve_newton`

    Given
        as `solve_newton`, and
        preconditioner  a guess of the Hessian: L-BFGS works in variables in which it is the identity
        memory          of an earlier descent with this preconditioner; changed

    Returns the point with its certificate, without a Hessian. Variables lie in memory as theta does.

    Reference: Liu and Nocedal, On the Limited Memory BFGS Method for Large Scale Optimization,
    Mathematical Programming 45 (1989).
    """
    a = np.broadcast_to(precision, theta.shape)
    if memory is None:
        memory = LbfgsMemory(theta.size)

    order: Literal["C", "F"] = "C" if theta.flags.c_contiguous else "F"

    def at(z: Vector) -> Trial:
        point = preconditioner.point(z.reshape(theta.shape, order=order))
        sums = add_prior(evaluate(point, False), point, a)
        return point, sums, preconditioner.slope(sums.gradient).ravel(order)

    z = preconditioner.variables(theta).ravel(order)
    point, now, g = at(z)
    n_iter, best, waited = 0, largest_entry(now, weight), 0
    while True:
        step = -memory.times(g)
        slope = float(g @ step)
        near = -0.5 * slope <= gap * abs(now.loss)
        stop = stopping_reason(now, n_iter, weight, tol if near else 0.0, max_iter, monitor)
        if stop:
            break
        found = _search_line(at, z, now, step, slope)
        if found is None:
            stop = "rounding"
            break
        size, (point, there, g_there) = found
        moved = size * step
        memory.add(moved, g, g_there)
        z, g = z + moved, g_there
        n_iter += 1
        if monitor is not None:
            monitor.step()
        left = largest_entry(there, weight)
        stalled = now.loss - there.loss <= ROUNDING * abs(now.loss) and left > 0.9 * best
        waited = waited + 1 if stalled else 0
        now, best = there, min(best, left)
        if waited > PATIENCE:
            stop = "rounding"
            break
    if stop == "rounding" and largest_entry(now, weight) <= tol:
        stop = "tol"
    return summarise(point, now, None, weight, n_iter, stop)


def _search_line(
    at: Callable[[Vector], Trial], z: Vector, now: Sums, step: Vector, slope: float
) -> tuple[float, Trial] | None:
    """A length of the step for which the objective falls enough, and what was found there."""
    if not slope < 0:
        return None
    size, low, high = min(1.0, now.loss / -slope), 0.0, np.inf  # F is at least 0
    for _ in range(TRIALS):
        trial = at(z + size * step)
        change = trial[1].loss - now.loss
        if not change <= ARMIJO * size * slope + ROUNDING * abs(now.loss):
            high = size
            bend = 2.0 * (change - size * slope) / size**2  # of the parabola through both ends
            best = -slope / bend if np.isfinite(bend) and bend > 0 else 0.0
            size = min(max(best, low + 0.1 * (high - low)), low + 0.5 * (high - low))
        elif float(trial[2] @ step) < TOO_SHORT * slope and high > 2.0 * size:
            low, size = size, min(4.0 * size, 0.5 * (size + high))
        else:
            return size, trial
    return None
