"""Linear support vector machines with the squared hinge, by Newton's method in the primal.

A margin z_i has the force f_i = max(0, 2 price_i (1 - z_i)), the slope of its loss and a dual variable.
Only rows whose force is above 0 bend the objective.

Symbols: as in `linear_svm`; H the second derivative without the penalty, g the first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.threads import SMALL_WORK, blas_on_one_thread
from separatrix.solvers.linear_svm.dual_descent import (
    LinearFit,
    LinearProblem,
    certify,
    dot,
)
from separatrix.solvers.linear_svm.newton_products import approach_direction
from separatrix.solvers.rows import CompiledRows, value_at
from separatrix.types import Codes, Flags, Matrix, Vector

ONE_THREAD = 500  # features up to which more threads of BLAS factor H no faster
DIRECT = 2000  # features up to which H is held and factored; above, conjugate gradients
LINE = 0.1  # share of the slope along a line that may be left on it
SLOWER = 8  # times the seconds of a multiplication with a vector, over one in a product of matrices
CALLS = 400_000  # multiplications of matrices in the seconds that calling such a step takes
WASTE = 0.5  # share of the cost of H that conjugate gradients may spend before it is held after all
FEWEST = 8  # conjugate gradients that must be affordable to be tried
REFRESH = 40  # changes of H before it is summed anew
FLAT = 1e-7  # gradient, over the one at 0, below which rounding may be all that is left
WIDE = 2e-3  # relative duality gap, twice, that rounding may not leave
PATIENCE = 15  # steps without a smaller gradient or objective that show both to be rounding
PROGRESS = 1e-10  # share of the objective by which a step must promise to lower it, to count


class Point(NamedTuple):
    """Weights, bias, margins, forces and the gradient there."""

    w: Vector  # shape: (d,)
    b: float
    z: Vector  # shape: (n,)
    raw: Vector  # shape: (n,); forces before they are cut
    force: Vector  # shape: (n,)
    g: Vector  # shape: (d,)
    g_bias: float

    def square(self, problem: LinearProblem) -> float:
        """|g|^2 with the bias as the weight of its constant feature."""
        scale = problem.bias_step if np.isfinite(problem.bias_step) else 1.0
        return dot(self.g, self.g) + scale * self.g_bias**2


def solve_newton(
    problem: LinearProblem,
    *,
    tol: float,
    max_iter: int,
    start: LinearFit | None = None,
    monitor: FitMonitor | None = None,
) -> LinearFit:
    """Newton steps with exact line searches on the primal, whose curvature few rows carry.

    Problem
        min_(w, b)  |w|^2 / 2 + b^2 / (2 bias_step) + sum_i price_i max(0, 1 - z_i)^2

    Given
        tol        stop when |g| <= tol min(n+, n-) / n |g at 0|, as LIBLINEAR does, and the relative
                   duality gap is at most tol
        max_iter   Newton steps at most
        start      where to begin, with dual variables

    Returns the weights with their certificate.

    Reference: Keerthi and DeCoste, A Modified Finite Newton Method for Fast Solution of Large Scale
    Linear SVMs, JMLR 6 (2005).
    """
    monitor = monitor or FitMonitor()
    n, d = problem.samples.X.shape
    with blas_on_one_thread() if n * d * d <= SMALL_WORK else nullcontext():
        return _solve(problem, tol, max_iter, start, monitor)


def _solve(
    problem: LinearProblem, tol: float, max_iter: int, start: LinearFit | None, monitor: FitMonitor
) -> LinearFit:
    n, d = problem.samples.X.shape
    curve = SquaredHinge(problem)
    at_zero = curve.point(np.zeros(d), 0.0, np.zeros(n))
    above = int(np.count_nonzero(problem.y > 0))
    fewer = max(1, min(above, n - above))
    scale = fewer / n * np.sqrt(at_zero.square(problem)) or 1.0
    begin = curve.start(start) if start else at_zero

    def enough(point: Point) -> bool:
        square = point.square(problem)
        if np.sqrt(square) > tol * scale:
            return False
        # |g|^2 / 2 is the duality gap
        return 0.5 * square <= tol * max(1.0, problem.primal(point.w, point.b, point.z))

    point, steps, stop = _minimise(curve, begin, enough, max_iter, HingeCurvature(problem), monitor)
    reached = float(np.sqrt(point.square(problem))) / scale
    objective = problem.primal(point.w, point.b, point.z)
    if stop == "flat" and reached <= FLAT and (reached * scale) ** 2 <= WIDE * max(1.0, objective):
        stop = "tol"  # rounding is all that is left
    stop = "max_iter" if stop == "flat" else stop
    w, b, a = point.w, point.b, point.force
    return certify(problem, w, b, a, n_iter=steps, stop=stop, violation=reached)


@dataclass
class SquaredHinge:
    """The loss at points: its forces, and the gradient of the objective."""

    problem: LinearProblem
    slope: Vector = field(init=False)  # shape: (n,)

    def __post_init__(self) -> None:
        self.slope = 2.0 * self.problem.price

    def start(self, fit: LinearFit) -> Point:
        """The point an earlier fit stands for."""
        return self.point(fit.w, fit.b, self.problem.margins(fit.w, fit.b))

    def point(self, w: Vector, b: float, z: Vector) -> Point:
        """All that is known at w and b, whose margins are z."""
        raw = self.slope * (1.0 - z)
        force = np.maximum(raw, 0.0)
        g = w - self.problem.weights(force)
        g_bias = 0.0
        if self.problem.bias_step:
            g_bias = self.problem.bias_price * b - dot(force, self.problem.y)
        return Point(w, b, z, raw, force, g, g_bias)


def _minimise(
    curve: SquaredHinge,
    point: Point,
    enough: Callable[[Point], bool],
    max_iter: int,
    curvature: HingeCurvature,
    monitor: FitMonitor,
) -> tuple[Point, int, str]:
    """Newton steps until one point is good enough: it, the steps and why they ended."""
    problem = curve.problem
    smallest, since = np.inf, 0
    for steps in range(max_iter + 1):
        if enough(point):
            return point, steps, "tol"
        square = point.square(problem)
        since = 0 if square < 0.9 * smallest else since + 1
        smallest = min(smallest, square)
        if since > PATIENCE:
            return point, steps, "flat"
        if steps == max_iter:
            break
        bent = point.raw > 0.0
        v, v_bias = curvature.cheaper_direction(bent, curve.slope, point, monitor)
        if monitor.should_stop():
            return point, steps, "stopped"
        dz = problem.margins(v, v_bias)
        linear = dot(point.w, v) + problem.bias_price * point.b * v_bias
        quadratic = dot(v, v) + problem.bias_price * v_bias**2
        length = line_length(point.raw, curve.slope * dz, dz, curve.problem.cap, linear, quadratic)
        monitor.step()
        if length == 0.0:
            return point, steps, "flat"
        promised = -length * (dot(point.g, v) + point.g_bias * v_bias)
        if promised > PROGRESS * problem.primal(point.w, point.b, point.z):
            since = 0
        point = curve.point(point.w + length * v, point.b + length * v_bias, point.z + length * dz)
    return point, max_iter, "max_iter"


@dataclass
class HingeCurvature:
    """H, kept up to date: rows that began or ceased to bend are added or taken off."""

    problem: LinearProblem
    H: Matrix = field(init=False)  # shape: (d, d), in columns; the upper triangle
    border: Vector = field(init=False)  # shape: (d + 1,); the column of the bias
    bent: Flags = field(init=False)  # shape: (n,); rows in it
    slope: Vector | None = None  # shape: (n,); theirs
    changes: int = 0
    allowance: float = 0.0  # multiplications that conjugate gradients may still spend

    def cheaper_direction(
        self, bent: Flags, slope: Vector, point: Point, monitor: FitMonitor
    ) -> tuple[Vector, float]:
        """Newton's direction: by conjugate gradients until H would have cost about as much."""
        samples, d = self.problem.samples, len(point.g)
        gradient = np.append(point.g, point.g_bias)
        if d > DIRECT:
            return approach_direction(self.problem, bent, slope, gradient, monitor, d + 1).direction
        if self.slope is None:  # H is not held
            values = 1 + (samples.rows.values_per_row if issparse(samples.X) else d)
            count = np.count_nonzero(bent) + 1
            sums = count * values * (SLOWER * values if issparse(samples.X) else d)
            self.allowance += WASTE * (d**3 / 3 + (0 if self.allowance else sums))
            product = SLOWER * 4 * count * values + CALLS
            most = min(d + 1, int(self.allowance / product))
            if most >= FEWEST:
                found = approach_direction(self.problem, bent, slope, gradient, monitor, most)
                self.allowance -= found.steps * product
                if found.solved:
                    return found.direction
        return self.direction(bent, slope, point, monitor)

    def direction(
        self, bent: Flags, slope: Vector, point: Point, monitor: FitMonitor
    ) -> tuple[Vector, float]:
        """Newton's direction, from H: weights and bias."""
        problem = self.problem
        self.follow(bent, slope, monitor)
        if monitor.should_stop():
            return point.g, 0.0
        d = len(point.g)
        size = d + 1 if problem.bias_step else d
        M = np.empty((size, size), order="F")
        M[:d, :d] = self.H
        M[:d, d:] = self.border[:d, None]
        M[d:, d:] = self.border[d] + problem.bias_price
        M.T.flat[: d * (size + 1) : size + 1] += 1.0
        v = -solve_definite(M, np.append(point.g, point.g_bias)[:size])
        return v[:d], float(v[d]) if problem.bias_step else 0.0

    def follow(self, bent: Flags, slope: Vector, monitor: FitMonitor) -> None:
        """Make H that of the rows that bend now."""
        known = self.slope is slope and self.changes < REFRESH
        if not known or np.count_nonzero(bent != self.bent) > np.count_nonzero(bent):
            d = self.problem.samples.X.shape[1]
            self.H, self.border = np.zeros((d, d), order="F"), np.zeros(d + 1)
            self.bent, self.slope, self.changes = np.zeros(len(bent), np.bool_), slope, 0
        self._add(np.flatnonzero(bent & ~self.bent), 1.0, slope, monitor)
        self._add(np.flatnonzero(self.bent & ~bent), -1.0, slope, monitor)
        self.bent = bent
        self.changes += 1

    def rows_to_add(self, bent: Flags) -> int:
        """How many rows `follow` would add or take off."""
        count = np.count_nonzero(bent)
        return int(count if self.slope is None else min(count, np.count_nonzero(bent != self.bent)))

    def copy(self, other: HingeCurvature, slope: Vector) -> None:
        """Begin where another one is, whose rows have the same slopes."""
        self.H, self.border = other.H.copy(order="F"), other.border.copy()
        self.bent, self.slope, self.changes = other.bent, slope, other.changes

    def _add(self, rows: Codes, sign: float, slope: Vector, monitor: FitMonitor) -> None:
        """Add sign slope_i (x_i, 1) (x_i, 1)' of these rows."""
        samples = self.problem.samples
        d = samples.X.shape[1]
        sparse = issparse(samples.X)
        cost = samples.rows.values_per_row**2 if sparse else d * d // 16  # by which BLAS is faster
        for block in row_blocks(len(rows), rows_that_fit(cost, CHUNK)):
            part = rows[block]
            scale = slope[part]
            if sparse:
                _add_squares(samples.rows, part, sign * scale, self.H, self.border)
            else:
                taken = samples.X[part]
                rooted = (taken * np.sqrt(scale)[:, None]).T
                self.H = dsyrk(sign, rooted, beta=1.0, c=self.H, overwrite_c=True)
                self.border[:d] += sign * (taken.T @ scale)
            self.border[d] += sign * scale.sum()
            if monitor.should_stop():
                return


def solve_definite(M: Matrix, g: Vector) -> Vector:
    """M^-1 g; where rounding left M not positive, a little is added to its diagonal."""
    little = 1e-13 * float(np.diag(M).max())
    with blas_on_one_thread(len(g) ** 3 // 3) if len(g) <= ONE_THREAD else nullcontext():
        while True:
            factor, failed = dpotrf(M, clean=0)
            if not failed:
                return np.asarray(dpotrs(factor, g)[0])
            M[np.diag_indices_from(M)] += little
            little *= 10.0


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def line_length(
    raw: Vector, rate: Vector, dz: Vector, cap: Vector, linear: float, quadratic: float
) -> float:
    """How far to go: where the slope along the line has all but gone; 0 if it does not fall.

    The slope at s is linear + s quadratic - sum_i force_i(s) dz_i; it only ever rises.
    """
    low, high, s = 0.0, np.inf, 0.0
    first = 0.0
    for trial in range(100):
        value, bend = linear + s * quadratic, quadratic
        pull = more = 0.0
        for i in range(len(raw)):  # without branches
            force = raw[i] - s * rate[i]
            cut = min(max(force, 0.0), cap[i])
            pull += cut * dz[i]
            more += rate[i] * dz[i] if cut == force else 0.0
        value, bend = value - pull, bend + more
        if trial == 0:
            if not value < 0.0:
                return 0.0
            first, s = -value, 1.0
            continue
        if abs(value) <= LINE * first:
            return s
        if value > 0.0:
            high = s
        else:
            low = s
        s -= value / bend if bend > 0.0 else 0.0
        if not low < s < high:
            s = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low


@njit(cache=True, nogil=True)
def _add_squares(
    samples: CompiledRows, rows: Codes, scale: Vector, H: Matrix, border: Vector
) -> None:
    """Add scale_i x_i x_i' of sparse rows, columns sorted, to the upper triangle of H, scale_i x_i too."""
    data, indices, indptr = samples
    for position in range(len(rows)):
        i = rows[position]
        for second in range(indptr[i], indptr[i + 1]):
            value = scale[position] * value_at(data, second)
            column = indices[second]
            border[column] += value
            for first in range(indptr[i], second + 1):
                H[indices[first], column] += value * value_at(data, first)
