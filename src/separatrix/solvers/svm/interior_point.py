"""Support vector problems by an interior-point method: some 10 to 60 Newton steps, however scaled.

Working sets need a number of steps that grows with C and with the spread of the columns' scales, without
a useful limit. A Newton step on all rows at once costs n d^2 over d columns, or n^3 / 3 over a kernel
matrix, but the number of steps hardly depends on either. Weights are variables of their own: computed from
large coefficients they would lose all digits. Columns, and the matrix of a step, get a unit diagonal.

References: Mehrotra, On the Implementation of a Primal-Dual Interior Point Method, SIAM J. Optim. 2 (1992);
Fine and Scheinberg, Efficient SVM Training Using Low-Rank Kernel Representations, JMLR 2 (2001); Ferris and
Munson, Interior-Point Methods for Massive Support Vector Machines, SIAM J. Optim. 13 (2002); Woodsend and
Gondzio, Exploiting Separability in Large-Scale Linear SVM Training, Comput. Optim. Appl. 49 (2011).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array, hstack, issparse

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import NOT_SEPARABLE
from separatrix.types import Flags, Matrix, Vector

MAX_STEPS = 100
GAP = 1e-10  # relative, at which a problem is solved
CLOSE, PATIENCE = 1e-3, 8  # from this gap on, so many steps without a smaller one are the end
STUCK = 25  # steps without a smaller gap, once there is one
NO_LEVEL = 1e-7  # |V'a|^2 as a share of that at the start: without a margin, the optimum is w = 0
LARGEST_NUGGET = 1e-6
LOST = 1e6  # times the smallest gap: rounding has taken over
FEASIBLE = (
    1e-6  # of the sum of coefficients: with sums farther from the given ones there is no dual value
)
INSIDE = 0.9  # share of the way to the nearest bound
START = (
    0.25  # share of an upper bound, and at least of the way to either bound: the first coefficients
)
NUGGET = 1e-15  # first addition to the unit diagonal of a matrix that rounding has made indefinite
TINY = float(np.finfo(np.float64).tiny)


class BoxProblem(NamedTuple):
    """A support vector problem over r rows, all with an upper bound above 0."""

    box: Vector  # shape: (r,); may be infinite
    sides: Matrix  # shape: (r, m); E, a column of signs for each sum of coefficients that is given
    totals: Vector  # shape: (m,); those sums
    margin: float  # wanted: 1, or 0 where the levels are part of the objective, as in nu machines


class BoxFit(NamedTuple):
    """The best point that the interior-point method met."""

    alpha: Vector  # shape: (r,); strictly between the bounds
    levels: Vector  # shape: (m,); multipliers of the given sums, as the intercept
    weights: Vector  # shape: (d,); of the scaled columns; empty over a kernel matrix
    margins: Vector  # shape: (r,); V w + E levels
    gap: float  # relative; infinite if no point had a dual value
    n_iter: int
    bounded: (
        bool  # False: no hyperplane separates the classes, which upper bounds of infinity ask for
    )


class NewtonSystem(Protocol):
    """The linear system of a step, factorised."""

    def solve(self, rows: Vector, residual: Vector, sums: Vector) -> tuple[Vector, Vector, Vector]:
        """Changes of coefficients, weights and levels.

        `rows` are what coefficients and margins miss of each row, `residual` and `sums` what weights and
        given sums miss.
        """
        ...


class QuadraticTerm(Protocol):
    """The quadratic term 1/2 |w|^2 with w = V'a."""

    largest: float  # of the diagonal of V V'

    def weights(self, alpha: Vector) -> Vector:
        """w = V'a, in the scale of the weights."""
        ...

    def scores(self, weights: Vector, alpha: Vector) -> Vector:
        """V w, (r,)."""
        ...

    def residual(self, weights: Vector, alpha: Vector) -> Vector:
        """What w = V'a misses."""
        ...

    def squares(self, weights: Vector, alpha: Vector, scores: Vector) -> tuple[float, float]:
        """|w|^2 and |V'a|^2."""
        ...

    def newton(self, precisions: Vector) -> NewtonSystem:
        """The system of a step with these weights of the rows."""
        ...


class Columns:
    """V as columns, dense or sparse, each divided by its root mean square."""

    def __init__(self, V: Any, sides: Matrix) -> None:
        squares = V.multiply(V) if issparse(V) else V * V
        self.largest = float(squares.sum(axis=1).max())
        scale = np.sqrt(np.asarray(squares.sum(axis=0)).ravel() / V.shape[0])
        self.scale: Vector = np.where(scale > 0.0, scale, 1.0)
        self.ridge = self.scale**-2.0
        if issparse(V):
            self.with_sides: Any = hstack([V * (1.0 / self.scale), csr_array(sides)]).tocsr()
        else:
            self.with_sides = np.concatenate([V / self.scale, sides], axis=1)
        self.V = self.with_sides[:, : V.shape[1]]

    def weights(self, alpha: Vector) -> Vector:
        return np.asarray((self.V.T @ alpha) / self.ridge)

    def scores(self, weights: Vector, alpha: Vector) -> Vector:
        return np.asarray(self.V @ weights)

    def residual(self, weights: Vector, alpha: Vector) -> Vector:
        return np.asarray(self.V.T @ alpha - self.ridge * weights)

    def squares(self, weights: Vector, alpha: Vector, scores: Vector) -> tuple[float, float]:
        own = self.V.T @ alpha
        return float((self.ridge * weights) @ weights), float((own / self.ridge) @ own)

    def newton(self, precisions: Vector) -> NewtonSystem:
        """That of the weights and levels, of order d + m."""
        A = self.with_sides
        if issparse(A):
            K: Matrix = (A.T @ A.multiply(precisions[:, None]).tocsr()).toarray()
        else:
            K = A.T @ (A * precisions[:, None])
        ridge = np.append(self.ridge, np.zeros(A.shape[1] - len(self.ridge)))
        return _ColumnsSystem(self, precisions, ScaledFactor.of(K, ridge))


class KernelMatrix:
    """V V' as a matrix of kernel values, Q_ij = y_i y_j K_ij."""

    def __init__(self, Q: Matrix, sides: Matrix) -> None:
        self.Q, self.sides, self.largest = Q, sides, float(Q.diagonal().max())

    def weights(self, alpha: Vector) -> Vector:
        return np.empty(0)

    def scores(self, weights: Vector, alpha: Vector) -> Vector:
        return np.asarray(self.Q @ alpha)

    def residual(self, weights: Vector, alpha: Vector) -> Vector:
        return weights

    def squares(self, weights: Vector, alpha: Vector, scores: Vector) -> tuple[float, float]:
        square = float(alpha @ scores)
        return square, square

    def newton(self, precisions: Vector) -> NewtonSystem:
        """That of the coefficients, of order r."""
        factor = ScaledFactor.of(self.Q, 1.0 / precisions)
        return _KernelSystem(self, factor, factor.solve(self.sides))


def low_rank(K: Matrix) -> Matrix | None:
    """G with G G' = K up to rounding, (r, rank); None if its rank is above half of its rows.

    >>> low_rank(np.ones((4, 4))).tolist()
    [[1.0], [1.0], [1.0], [1.0]]
    """
    L, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    if 2 * rank > len(K):
        return None
    G = np.empty((len(K), rank))
    G[pivots - 1] = np.tril(L[:, :rank])
    return G


class ScaledFactor(NamedTuple):
    """A matrix plus a diagonal, the scale that gives the sum a unit diagonal, and its Cholesky factor."""

    K: Matrix
    diagonal: Vector
    scale: Vector
    factor: Any

    @classmethod
    def of(cls, K: Matrix, diagonal: Vector) -> ScaledFactor:
        """Factorise; a matrix that rounding has made indefinite gets a nugget, as small as works."""
        scale = 1.0 / np.sqrt(np.maximum(K.diagonal() + diagonal, TINY))
        nugget = 0.0
        while True:
            scaled = K * scale[:, None]
            scaled *= scale
            scaled[np.diag_indices_from(scaled)] = 1.0 + nugget
            factor, failed = lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                return cls(K, diagonal, scale, factor)
            nugget = max(100.0 * nugget, NUGGET)
            if nugget > LARGEST_NUGGET:
                raise np.linalg.LinAlgError("the matrix of a step is not positive definite")

    def solve(self, right: Any) -> Any:
        """Solve with one step of refinement."""
        z = self._solve(right)
        return z + self._solve(right - self.K @ z - (self.diagonal * z.T).T)

    def _solve(self, right: Any) -> Any:
        solved, _ = lapack.dpotrs(self.factor, (self.scale * right.T).T, lower=1)
        return (self.scale * solved.T).T


class _ColumnsSystem(NamedTuple):
    columns: Columns
    precisions: Vector
    factor: ScaledFactor

    def solve(self, rows: Vector, residual: Vector, sums: Vector) -> tuple[Vector, Vector, Vector]:
        A, d = self.columns.with_sides, len(residual)
        right = A.T @ (self.precisions * rows)
        right[:d] += residual
        right[d:] -= sums
        change = self.factor.solve(right)
        return self.precisions * (rows - A @ change), change[:d], change[d:]


class _KernelSystem(NamedTuple):
    matrix: KernelMatrix
    factor: ScaledFactor
    solved_sides: Matrix  # shape: (r, m)

    def solve(self, rows: Vector, residual: Vector, sums: Vector) -> tuple[Vector, Vector, Vector]:
        z, E = self.factor.solve(rows), self.matrix.sides
        levels = np.linalg.solve(E.T @ self.solved_sides, E.T @ z - sums)
        return z - self.solved_sides @ levels, residual, levels


class _Point(NamedTuple):
    """An iterate; slack variables and coefficients are above 0."""

    a: Vector  # coefficients
    s: Vector  # box - a
    t: Vector  # how far margins are above what is wanted
    x: Vector  # how far they are below: the losses
    w: Vector
    levels: Vector

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(old + length * new for old, new in zip(self, step, strict=True)))


def solve_interior_point(
    quadratic: QuadraticTerm,
    problem: BoxProblem,
    monitor: FitMonitor | None = None,
    max_iter: int = MAX_STEPS,
) -> BoxFit:
    """Solve a support vector problem.

    Problem
        min over w, b, xi   1/2 |w|^2 + sum_i box_i xi_i + totals'b
        subject to          V w + E b >= margin - xi  and  xi >= 0
        with the dual       max over a   margin sum_i a_i - 1/2 |V'a|^2
        subject to          0 <= a <= box  and  E'a = totals

    Given
        quadratic  V, y_i x_i of each row, as columns, or V V' as a matrix
        problem    upper bounds, given sums and margin
        monitor    time limit and cancellation
        max_iter   steps at most

    Returns the point with the smallest gap (P - D) / max(|P|, 1); without a margin, relative to
    1/2 |w|^2 plus the losses.

    Reference: Mehrotra 1992, with one step length for all variables.

    >>> V, y = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0]])
    >>> problem = BoxProblem(np.full(2, np.inf), y, np.zeros(1), 1.0)
    >>> solve_interior_point(Columns(V, y), problem).alpha.round(6).tolist()
    [0.5, 0.5]
    """
    hard = np.isinf(problem.box)
    point = _first_point(quadratic, problem, hard)
    best: BoxFit | None = None
    waiting, first = 0, 0.0
    for step in range(min(max_iter, MAX_STEPS) + 1):
        scores = quadratic.scores(point.w, point.a)
        margins = scores + problem.sides @ point.levels
        gap = _gap(quadratic, problem, point, hard, scores)
        off = float(np.abs(problem.sides.T @ point.a - problem.totals).max(initial=0.0))
        if not off <= FEASIBLE * point.a.sum():
            gap = np.inf
        elif not problem.margin:
            square = quadratic.squares(point.w, point.a, scores)[1]
            first = first or square
            if square <= NO_LEVEL * first:
                margins = scores + problem.sides @ point.levels
                return BoxFit(point.a, point.levels, point.w, margins, gap, step, True)
        waiting += 1
        if best is None or gap < best.gap:
            best = BoxFit(point.a, point.levels, point.w, margins, gap, step, True)
            waiting = 0
        if best.gap <= GAP or gap > LOST * best.gap:
            break
        if waiting > (PATIENCE if best.gap < CLOSE else STUCK) and best.gap < np.inf:
            break
        if hard.any() and _has_no_margin(quadratic, point, scores):
            return best._replace(alpha=point.a, bounded=False)
        if monitor is not None and monitor.should_stop():
            break
        try:
            point = _step(quadratic, problem, point, hard, margins)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(np.concatenate(point)).all():
            break
    assert best is not None
    return best


def _first_point(quadratic: QuadraticTerm, problem: BoxProblem, hard: Flags) -> _Point:
    """A quarter of each upper bound; with given sums the share that makes them, and its margins."""
    box = np.where(hard, 1.0, problem.box)
    share = np.full(len(box), START)
    for side, total in zip(problem.sides.T, problem.totals, strict=True):
        if total:
            share[side != 0] = total / box[side != 0].sum()
    a = np.where(hard, 1.0, np.clip(share, 0.5 * START, 1.0 - 0.5 * START) * box)
    levels = np.zeros(len(problem.totals))
    if problem.margin:
        w, size = np.zeros_like(quadratic.weights(a)), problem.margin
    else:
        w = quadratic.weights(a)
        size = float(np.abs(quadratic.scores(w, a)).mean()) or 1.0
    slack = np.full(len(a), size)
    return _Point(
        a, np.where(hard, 1.0, problem.box - a), slack, np.where(hard, 0.0, slack), w, levels
    )


def _gap(
    quadratic: QuadraticTerm, problem: BoxProblem, point: _Point, hard: Flags, scores: Vector
) -> float:
    short = np.maximum(0.0, problem.margin - scores - problem.sides @ point.levels)
    square, dual_square = quadratic.squares(point.w, point.a, scores)
    loss = float(problem.box[~hard] @ short[~hard])
    if hard.any():  # w is scaled until no margin is below 1
        least = 1.0 - float(short[hard].max())
        square = square / least**2 if least > 0.0 else np.inf
    primal = 0.5 * square + loss + float(problem.totals @ point.levels)
    dual = problem.margin * float(point.a.sum()) - 0.5 * dual_square
    off = np.abs(problem.sides.T @ point.a - problem.totals)  # what the sums still miss counts too
    gap = primal - dual + float(np.abs(point.levels) @ off)
    size = max(abs(primal), 1.0) if problem.margin else max(0.5 * square + loss, TINY)
    return gap / size if size < np.inf else np.inf


def _has_no_margin(quadratic: QuadraticTerm, point: _Point, scores: Vector) -> bool:
    """Whether coefficients grow along a direction with weights of 0: the convex hulls meet."""
    _, square = quadratic.squares(point.w, point.a, scores)
    return bool(4.0 * square <= NOT_SEPARABLE * quadratic.largest * point.a.sum() ** 2)


def _step(
    quadratic: QuadraticTerm, problem: BoxProblem, point: _Point, hard: Flags, margins: Vector
) -> _Point:
    """A predictor step, which tells how much to centre, then a corrector step."""
    a, s, t, x, w, _ = point
    box_residual = np.where(hard, 0.0, problem.box - a - s)
    margin_residual = problem.margin - margins - x + t
    sums = problem.totals - problem.sides.T @ a
    residual = quadratic.residual(w, a)
    system = quadratic.newton(1.0 / (x / s + t / a))

    def direction(at: Vector, sx: Vector) -> _Point:
        """To where a t and s x change by these amounts, to first order."""
        rows = margin_residual - (sx - x * box_residual) / s + at / a
        da, dw, levels = system.solve(rows, residual, sums)
        ds = np.where(hard, 0.0, box_residual - da)
        dx = np.where(hard, 0.0, (sx - x * ds) / s)
        return _Point(da, ds, (at - t * da) / a, dx, dw, levels)

    mean = (a @ t + s @ x) / (2 * len(a) - np.count_nonzero(hard))
    first = direction(-a * t, -s * x)
    dual = min(_reach(a, first.a, 1.0), _reach(s, first.s, 1.0))
    primal = min(_reach(t, first.t, 1.0), _reach(x, first.x, 1.0))
    left = (a + dual * first.a) @ (t + primal * first.t)
    left += (s + dual * first.s) @ (x + primal * first.x)
    centre = (left / (a @ t + s @ x)) ** 3 * mean
    second = direction(
        centre - a * t - first.a * first.t,
        np.where(hard, 0.0, centre - s * x - first.s * first.x),
    )
    pairs = zip(point[:4], second[:4], strict=True)
    return point.moved(second, min(_reach(value, change, INSIDE) for value, change in pairs))


def _reach(values: Vector, change: Vector, share: float) -> float:
    """How far positive values may go: a share of the way to 0, at most 1."""
    rates = np.divide(change, values, out=np.zeros_like(values), where=values > 0.0)
    steepest = float(rates.min(initial=0.0))
    return min(1.0, -share / steepest) if steepest < 0.0 else 1.0
