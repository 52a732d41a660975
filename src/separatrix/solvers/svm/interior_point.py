"""Support vector problems by an interior-point method: some 10 to 60 Newton steps, however columns are scaled.

Working sets need a number of steps that grows with C and with the spread of the columns' scales, without a
useful limit. A Newton step on all rows at once costs n d^2 over d columns, or n^3 / 3 over a kernel matrix,
but the number of steps hardly depends on either.

References: Mehrotra, On the Implementation of a Primal-Dual Interior Point Method, SIAM J. Optim. 2 (1992);
Fine and Scheinberg, Efficient SVM Training Using Low-Rank Kernel Representations, JMLR 2 (2001); Ferris and
Munson, Interior-Point Methods for Massive Support Vector Machines, SIAM J. Optim. 13 (2002); Woodsend and
Gondzio, Exploiting Separability in Large-Scale Linear SVM Training, Comput. Optim. Appl. 49 (2011).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import NOT_SEPARABLE
from separatrix.types import Matrix, Vector

MAX_STEPS = 100
GAP = 1e-10  # relative; the solution is the best point on the way there
FEASIBLE = 1e-6  # of the sum of coefficients: more off their totals are no dual point
LOST = 1e6  # times the smallest gap: rounding has taken over
PATIENCE = 8  # steps without a smaller gap
INSIDE = 0.9  # share of the way to the nearest bound
NUGGET = 1e-15  # first addition to the scaled diagonal of a matrix that rounding has made indefinite
START = 0.25  # of an upper bound: the first coefficients


class BoxProblem(NamedTuple):
    """A support vector problem over r rows, all with an upper bound above 0."""

    box: Vector  # shape: (r,); may be infinite
    sides: Matrix  # shape: (r, m); E, a column for each sum of coefficients that is given
    totals: Vector  # shape: (m,); those sums
    margin: float  # wanted: 1, or 0 of nu machines


class BoxFit(NamedTuple):
    """Where the interior-point method stopped: the best point that it met."""

    alpha: Vector  # shape: (r,); strictly between the bounds
    levels: Vector  # shape: (m,); multipliers of the given sums: intercepts
    w: Vector  # shape: (d,); weights of the columns; empty over a kernel matrix
    margins: Vector  # shape: (r,); V w + E levels
    gap: float  # relative; infinite where no point was a dual one
    n_iter: int
    bounded: bool = True  # False: no hyperplane separates the classes as a hard margin asks for


class NewtonSystem(Protocol):
    """The linear system of a step, factorised for the weights of the rows."""

    def solve(self, rows: Vector, weights: Vector, totals: Vector) -> tuple[Vector, ...]:
        """Changes of coefficients, margins without levels, weights and levels for a right-hand side."""
        ...


class Quadratic(Protocol):
    """The quadratic term 1/2 |w|^2, w = V'a, of a problem."""

    def products(self, alpha: Vector) -> Vector:
        """V'a in the scale of the weights."""
        ...

    def square(self, w: Vector, alpha: Vector) -> tuple[float, float]:
        """|w|^2 at the weights and at the coefficients."""
        ...


class Columns:
    """V as columns, each divided by its root mean square: w = v / scale."""

    def __init__(self, V: Matrix, sides: Matrix) -> None:
        self.largest = float(np.einsum("ij,ij->i", V, V).max())
        self.scale = np.sqrt(np.einsum("ij,ij->j", V, V) / len(V))
        self.scale[self.scale == 0.0] = 1.0
        self.V, self.E, self.ridge = V / self.scale, sides, self.scale**-2.0
        self.A = np.concatenate([self.V, self.E], axis=1)

    def start(self) -> tuple[Vector, Vector]:
        """Weights and margins to begin with."""
        return np.zeros(self.V.shape[1]), np.zeros(len(self.V))

    def residual(self, v: Vector, alpha: Vector) -> Vector:
        """Of the condition w = V'a."""
        return np.asarray(self.V.T @ alpha - self.ridge * v)

    def scores(self, v: Vector, alpha: Vector) -> Vector:
        """V w."""
        return np.asarray(self.V @ v)

    def squares(self, v: Vector, f: Vector, alpha: Vector) -> tuple[float, float]:
        """|w|^2 and |V'a|^2."""
        Va = self.V.T @ alpha
        return float((self.ridge * v) @ v), float((Va / self.ridge) @ Va)

    def newton(self, weight: Vector) -> Any:
        """The system for weights of the rows: (V'WV + R) dv + V'WE db, E'WV dv + E'WE db."""
        d = self.V.shape[1]
        K = self.A.T @ (self.A * weight[:, None])
        K[range(d), range(d)] += self.ridge
        return _ColumnsNewton(self, weight, Factor.of(K))


class Factor(NamedTuple):
    """A Cholesky factor of a matrix scaled to a unit diagonal, and the matrix for refinement."""

    K: Matrix
    scale: Vector
    factor: Any

    @classmethod
    def of(cls, K: Matrix) -> Factor:
        """Factorise; a nugget is added where rounding has made the matrix indefinite."""
        scale = 1.0 / np.sqrt(np.maximum(K.diagonal(), np.finfo(float).tiny))
        scaled, nugget = K * scale[:, None] * scale, 0.0
        while True:
            try:
                return cls(K, scale, cho_factor(scaled, lower=True, check_finite=False))
            except np.linalg.LinAlgError:
                more = max(100.0 * nugget, NUGGET)
                scaled[np.diag_indices_from(scaled)] += more - nugget
                nugget = more
                if not nugget < 1.0:
                    raise

    def solve(self, right: Any) -> Any:
        """Solve with one step of refinement."""
        z = self._solve(right)
        return z + self._solve(right - self.K @ z)

    def _solve(self, right: Any) -> Any:
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return scale * cho_solve(self.factor, scale * right, check_finite=False)


class _ColumnsNewton(NamedTuple):
    columns: Columns
    weight: Vector
    factor: Factor

    def solve(self, rows: Vector, residual: Vector, totals: Vector) -> tuple[Vector, ...]:
        columns, d = self.columns, len(residual)
        right = columns.A.T @ (self.weight * rows)
        right[:d] += residual
        right[d:] -= totals
        z = self.factor.solve(right)
        dv, db = z[:d], z[d:]
        df = columns.V @ dv
        da = self.weight * (rows - df - columns.E @ db)
        return da, df, dv, db


class KernelMatrix:
    """V V' as a matrix, Q_ij = y_i y_j K_ij."""

    def __init__(self, Q: Matrix, sides: Matrix) -> None:
        self.Q, self.E, self.largest = Q, sides, float(Q.diagonal().max())

    def start(self) -> tuple[Vector, Vector]:
        return np.zeros(0), np.zeros(len(self.Q))

    def residual(self, v: Vector, alpha: Vector) -> Vector:
        return v

    def scores(self, v: Vector, alpha: Vector) -> Vector:
        return np.asarray(self.Q @ alpha)

    def squares(self, v: Vector, f: Vector, alpha: Vector) -> tuple[float, float]:
        square = float(alpha @ f)
        return square, square

    def newton(self, weight: Vector) -> Any:
        K = self.Q.copy()
        K[np.diag_indices_from(K)] += 1.0 / weight
        factor = Factor.of(K)
        Z = factor.solve(self.E)
        return _KernelNewton(self, factor, Z)


def low_rank(K: Matrix) -> Matrix | None:
    """G with G G' = K up to rounding, (r, rank); None if its rank is no smaller than half of its rows."""
    n = len(K)
    L, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    if 2 * rank > n:
        return None
    G = np.empty((n, rank))
    G[pivots - 1] = np.tril(L)[:, :rank]
    return G


class _KernelNewton(NamedTuple):
    matrix: KernelMatrix
    factor: Factor
    Z: Matrix

    def solve(self, rows: Vector, residual: Vector, totals: Vector) -> tuple[Vector, ...]:
        z, E = self.factor.solve(rows), self.matrix.E
        db = np.linalg.solve(E.T @ self.Z, E.T @ z - totals) if E.shape[1] else np.zeros(0)
        da = z - self.Z @ db
        return da, self.matrix.Q @ da, residual, db


class _Point(NamedTuple):
    """An iterate: t and x are the slacks of margins and losses, s that of the upper bounds."""

    a: Vector
    s: Vector
    t: Vector
    x: Vector
    f: Vector
    v: Vector
    b: Vector

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(old + length * new for old, new in zip(self, step, strict=True)))


def solve_interior_point(
    quadratic: Any,
    problem: BoxProblem,
    monitor: FitMonitor | None = None,
) -> BoxFit:
    """Solve one support vector problem.

    Problem
        min over w, b, xi   1/2 |w|^2 + sum_i box_i xi_i + totals'b
        subject to          V w + E b >= margin - xi  and  xi >= 0
        whose dual is       max over a   margin sum a - 1/2 |V'a|^2,  E'a = totals,  0 <= a <= box

    Given
        quadratic  V as columns, or V V' as a matrix
        problem    bounds, given sums and margin
        monitor    time limit and cancellation

    Returns the best point, with its relative gap (P - D) / max(|P|, 1).
    """
    hard = np.isinf(problem.box)
    point = _first_point(quadratic, problem, hard)
    best = BoxFit(point.a, point.b, point.v, point.f, np.inf, 0)
    waiting = 0
    for step in range(MAX_STEPS):
        gap, primal = _gap(quadratic, problem, point, hard)
        off = np.abs(problem.sides.T @ point.a - problem.totals).max(initial=0.0)
        waiting += 1
        if off <= FEASIBLE * point.a.sum() and gap < best.gap:
            margins = point.f + problem.sides @ point.b
            best = BoxFit(point.a, point.b, point.v, margins, gap, step)
            waiting = 0
        if best.gap <= GAP or gap > LOST * best.gap or (waiting > PATIENCE and best.gap < 1e-3):
            break
        if hard.any() and _is_ray(quadratic, problem, point):
            best = best._replace(alpha=point.a, bounded=False, n_iter=step)
            break
        if monitor is not None and monitor.should_stop():
            break
        try:
            with np.errstate(all="ignore"):
                point = _step(quadratic, problem, point, hard)
                point = point._replace(f=quadratic.scores(point.v, point.a))
        except np.linalg.LinAlgError:
            break
        if not all(np.isfinite(part).all() for part in point[:5]):
            break
    return best


def _first_point(quadratic: Any, problem: BoxProblem, hard: Any) -> _Point:
    n = len(problem.box)
    v, f = quadratic.start()
    a = np.where(hard, 1.0, START * np.where(hard, 1.0, problem.box))
    s = np.where(hard, 1.0, problem.box - a)
    x = np.where(hard, 0.0, 1.0)
    return _Point(a, s, np.ones(n), x, f, v, np.zeros(problem.sides.shape[1]))


def _gap(quadratic: Any, problem: BoxProblem, point: _Point, hard: Any) -> tuple[float, float]:
    margins = point.f + problem.sides @ point.b
    short = np.maximum(0.0, problem.margin - margins)
    square, dual_square = quadratic.squares(point.v, point.f, point.a)
    loss = float(problem.box[~hard] @ short[~hard])
    level = float(problem.totals @ point.b)
    primal = 0.5 * square + loss + level
    if hard.any():
        least = 1.0 - float(short[hard].max())
        primal = primal / least**2 if least > 0.0 else np.inf
    dual = problem.margin * float(point.a.sum()) - 0.5 * dual_square
    size = max(abs(primal), 1.0) if problem.margin else max(abs(0.5 * square + loss), 1e-300)
    return ((primal - dual) / size if size < np.inf else np.inf), primal


def _is_ray(quadratic: Any, problem: BoxProblem, point: _Point) -> bool:
    """Whether the coefficients grow along a direction whose weights are 0."""
    total = float(point.a.sum())
    _, square = quadratic.squares(point.v, point.f, point.a)
    return 4.0 * square <= NOT_SEPARABLE * quadratic.largest * total**2


def _step(quadratic: Any, problem: BoxProblem, point: _Point, hard: Any) -> _Point:
    a, s, t, x, f, v, b = point
    r_s = np.where(hard, 0.0, problem.box - a - s)
    r_c = problem.margin - f - problem.sides @ b - x + t
    r_e = problem.totals - problem.sides.T @ a
    residual = quadratic.residual(v, a)
    weight = 1.0 / (x / s + t / a)
    newton = quadratic.newton(weight)

    def direction(r_t: Vector, r_x: Vector) -> _Point:
        rows = r_c - (r_x - x * r_s) / s + r_t / a
        da, df, dv, db = newton.solve(rows, residual, r_e)
        ds = np.where(hard, 0.0, r_s - da)
        dx = np.where(hard, 0.0, (r_x - x * ds) / s)
        return _Point(da, ds, (r_t - t * da) / a, dx, df, dv, db)

    count = 2 * len(a) - int(np.count_nonzero(hard))
    mu = (a @ t + s @ x) / count
    first = direction(-a * t, -s * x)
    dual = min(_reach(a, first.a, 1.0), _reach(s, first.s, 1.0))
    primal = min(_reach(t, first.t, 1.0), _reach(x, first.x, 1.0))
    left = (a + dual * first.a) @ (t + primal * first.t)
    left += (s + dual * first.s) @ (x + primal * first.x)
    centre = (left / count / mu) ** 3 * mu
    corrected = direction(
        centre - a * t - first.a * first.t,
        np.where(hard, 0.0, centre - s * x - first.s * first.x),
    )
    length = min(_reach(old, new, INSIDE) for old, new in zip(point[:4], corrected[:4], strict=True))
    return point.moved(corrected, length)


def _reach(value: Vector, change: Vector, share: float) -> float:
    """How far a positive vector may go: a share of the way to 0, at most 1."""
    falling = change < 0
    return float(min(1.0, share * np.min(-value[falling] / change[falling], initial=np.inf)))
