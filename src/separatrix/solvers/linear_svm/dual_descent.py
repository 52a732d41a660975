"""Linear support vector machines: the problem, its certificate, and coordinate descent in the dual.

Symbols: w weights (d,), b bias, a dual variables (n,), z margins y (<w, x> + b), (n,).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.linear_svm.shrinking import DescentState, draw_next, leave_out
from separatrix.solvers.rows import CompiledRows, add_row, dot_row, rows_of
from separatrix.solvers.stopping import relative_gap
from separatrix.types import Matrix, Vector

MAX_DENSITY = 0.35  # share of nonzero values up to which dense rows are read as sparse ones
TINY = 1e-12  # gradients up to this count as 0, as in LIBLINEAR
LARGEST_STEP = 1e6  # of the proximal loop, over the mean |x|^2


class LinearSamples(NamedTuple):
    """Samples for matrix products and for compiled loops."""

    X: Any  # shape: (n, d); float64, dense and C-contiguous, or CSR
    rows: CompiledRows
    squares: Vector  # shape: (n,); |x|^2

    @classmethod
    def of(cls, X: Any, *, seek_zeros: bool = True) -> LinearSamples:
        """Samples in both forms; compiled loops read mostly zero dense rows as sparse ones.

        seek_zeros: whether those loops will run, so that looking for zeros pays.
        """
        if issparse(X):
            owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            squares: Vector = np.zeros(X.shape[0])
            squares += np.bincount(owners, weights=X.data**2, minlength=X.shape[0])
        else:
            squares = np.einsum("ij,ij->i", X, X)
        few = seek_zeros and not issparse(X)
        few = few and np.count_nonzero(X) <= MAX_DENSITY * X.size
        return cls(X, rows_of(csr_array(X) if few else X), squares)

    def times(self, w: Vector) -> Vector:
        """X w, (n,)."""
        if not issparse(self.X):
            return np.asarray(self.X @ w)
        out = np.empty(self.X.shape[0])
        _times(self.rows, w, out)
        return out

    def combine(self, c: Vector) -> Vector:
        """X' c, (d,)."""
        if not issparse(self.X):
            return np.asarray(c @ self.X)
        out = np.zeros(self.X.shape[1])
        _combine(self.rows, c, out)
        return out


class LinearProblem(NamedTuple):
    """One boundary: min |w|^2 / 2 + b^2 / (2 bias_step) + sum_i price_i loss(z_i)."""

    samples: LinearSamples
    y: Vector  # shape: (n,); +1 or -1
    price: Vector  # shape: (n,); C times the weight of each sample, above 0
    loss: str  # "hinge" or "squared_hinge"
    bias_step: float  # square of the constant feature; 0: no bias, infinity: a free one

    @property
    def cap(self) -> Vector:
        """Largest value of each dual variable."""
        return self.price if self.loss == "hinge" else np.full(len(self.price), np.inf)

    @property
    def ridge(self) -> Vector:
        """Diagonal that the loss adds to the matrix of the dual."""
        return np.zeros(len(self.price)) if self.loss == "hinge" else 0.5 / self.price

    @property
    def bias_price(self) -> float:
        """Price of b^2 / 2."""
        return 1.0 / self.bias_step if 0 < self.bias_step < np.inf else 0.0

    @property
    def free(self) -> bool:
        """Whether the bias is not penalised."""
        return bool(np.isinf(self.bias_step))

    def margins(self, w: Vector, b: float) -> Vector:
        """z, (n,)."""
        return self.y * (self.samples.times(w) + b)

    def weights(self, a: Vector) -> Vector:
        """Weights of dual variables, sum_i a_i y_i x_i."""
        return self.samples.combine(a * self.y)

    def primal(self, w: Vector, b: float, z: Vector) -> float:
        """The primal objective at w and b, whose margins are z."""
        slack = np.maximum(0.0, 1.0 - z)
        losses = slack if self.loss == "hinge" else slack**2
        return 0.5 * (dot(w, w) + self.bias_price * b * b) + dot(self.price, losses)

    def dual(self, a: Vector, w: Vector) -> float:
        """The dual objective at a, whose weights are w; a must be feasible if the bias is free."""
        bias = 0.0 if self.free else self.bias_step * dot(a, self.y) ** 2
        return float(a.sum()) - 0.5 * (dot(w, w) + bias + dot(a**2, self.ridge))

    def violation(self, a: Vector, z: Vector) -> float:
        """Spread of the projected gradient of the dual: 0 at the optimum."""
        return spread(z - 1.0 + self.ridge * a, a, self.cap)


class LinearFit(NamedTuple):
    """Solution of a linear support vector machine, with its certificate.

    Classes that are learned together have a column each in w, b and a.
    """

    w: Any  # shape: (d,)
    b: Any
    a: Any  # shape: (n,); dual variables that certify it
    objective: float
    dual_objective: float  # no solution is below it
    violation: float  # what had to fall to tol
    n_iter: int
    stop: str  # "tol", "max_iter" or "stopped"

    @property
    def gap(self) -> float:
        """Relative duality gap, (P - D) / max(|P|, 1)."""
        return relative_gap(self.objective, self.dual_objective)


def dot(u: Vector, v: Vector) -> float:
    """<u, v> without BLAS, whose threads do not pay for one vector.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", u, v))


def spread(gradient: Vector, a: Vector, cap: Vector) -> float:
    """Largest minus smallest projected gradient, for 0 <= a <= cap.

    >>> spread(np.array([3.0, 0.5, -2.0]), np.array([0.0, 0.5, 1.0]), np.ones(3))
    0.5
    """
    inside = np.where(a <= 0.0, np.minimum(gradient, 0.0), gradient)
    inside = np.where(a >= cap, np.maximum(inside, 0.0), inside)
    return float(inside.max(initial=0.0) - inside.min(initial=0.0))


def certify(
    problem: LinearProblem,
    w: Vector,
    b: float,
    a: Vector,
    *,
    n_iter: int,
    stop: str,
    violation: float | None = None,
) -> LinearFit:
    """The fit at w and b, with both objectives recomputed.

    Without a violation, w must be the weights of a, and their violation is computed.
    """
    z = problem.margins(w, b)
    reached = problem.violation(a, z) if violation is None else violation
    if problem.free:
        a = balance(a, problem.y)
    own = problem.weights(a) if problem.free or violation is not None else w
    objective, below = problem.primal(w, b, z), problem.dual(a, own)
    return LinearFit(w, b, a, objective, below, reached, n_iter, stop)


def balance(a: Vector, y: Vector) -> Vector:
    """Dual variables with the heavier side scaled down, so that sum_i a_i y_i = 0.

    >>> balance(np.array([2.0, 1.0, 1.0]), np.array([1.0, 1.0, -1.0])).tolist()
    [0.6666666666666666, 0.3333333333333333, 1.0]
    """
    above, below = float(a[y > 0].sum()), float(a[y < 0].sum())
    heavier = 1.0 if above > below else -1.0
    return np.where(y == heavier, a * (min(above, below) / (max(above, below) or 1.0)), a)


def solve_dual(
    problem: LinearProblem,
    *,
    tol: float,
    max_iter: int,
    seed: int,
    start: Vector | None = None,
    monitor: FitMonitor | None = None,
) -> LinearFit:
    """Dual coordinate descent in random order, with shrinking.

    Problem
        min_a  |sum_i a_i y_i x_i|^2 / 2 + sum_i ridge_i a_i^2 / 2 - sum_i a_i,  0 <= a_i <= cap_i
        and sum_i a_i y_i = 0 where the bias is free

    Given
        tol        largest spread of the projected gradient over one full pass
        max_iter   passes at most
        seed       draws the orders
        start      dual variables to begin with, (n,)

    Returns the weights with their certificate. A free bias is found by the proximal point method:
    each round penalises its distance from the last value, by less and less.

    Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan, A Dual Coordinate Descent Method for
    Large-scale Linear SVM, ICML 2008. Rockafellar, SIAM J. Control and Optimization 14 (1976).
    """
    monitor = monitor or FitMonitor()
    a = np.zeros(len(problem.y)) if start is None else start.copy()
    if not problem.free:
        w, b, passes, stop = _descend(
            problem, a, 0.0, problem.bias_step, tol, max_iter, seed, monitor
        )
        return certify(problem, w, b, a, n_iter=passes, stop=stop)
    return _with_free_bias(problem, a, tol, max_iter, seed, monitor)


def _with_free_bias(
    problem: LinearProblem, a: Vector, tol: float, max_iter: int, seed: int, monitor: FitMonitor
) -> LinearFit:
    """Proximal point method for the bias; with one class only the weights are 0."""
    if (problem.y == problem.y[0]).all():
        return certify(problem, np.zeros(problem.samples.X.shape[1]), problem.y[0], 0.0 * a,
                         n_iter=0, stop="tol", violation=0.0)  # fmt: skip
    step = float(problem.samples.squares.mean()) or 1.0
    largest, centre, passes = LARGEST_STEP * step, 0.0, 0
    while True:
        left = max_iter - passes
        w, b, more, stop = _descend(problem, a, centre, step, tol, left, seed, monitor)
        passes += more
        moved, centre = abs(b - centre), b
        # what is left of the constraint, sum_i a_i y_i, is moved / step
        if stop != "tol" or moved <= tol * min(1.0, step):
            break
        step = min(largest, 4.0 * step)
    stop = stop if stop == "stopped" or passes < max_iter else "max_iter"
    return certify(problem, w, centre, a, n_iter=passes, stop=stop)


def _descend(
    problem: LinearProblem,
    a: Vector,
    centre: float,
    bias_step: float,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: FitMonitor,
) -> tuple[Vector, float, int, str]:
    """Pass over the dual variables, in place, until one pass meets tol: w, b, passes, stop."""
    samples, n = problem.samples, len(a)
    w = problem.weights(a) if a.any() else np.zeros(samples.X.shape[1])
    b = np.array([centre + bias_step * dot(a, problem.y)])
    ridge = problem.ridge
    curvature = np.maximum(samples.squares + bias_step + ridge, np.finfo(np.float64).tiny)
    facts = np.stack([problem.y, problem.cap, ridge, curvature], axis=1)
    state = DescentState.start(np.arange(n), [np.inf, -np.inf, -np.inf, np.inf], seed)
    budget = rows_that_fit(samples.rows.values_per_row + 10, CHUNK)
    some_rows = partial(
        _passes, samples.rows, facts, bias_step, tol, w, b, a, state, max_iter, budget
    )
    stop = state.run(some_rows, max_iter, monitor)
    w = problem.weights(a)  # without the rounding of all the steps
    return w, centre + bias_step * dot(a, problem.y), state.passes, stop


@njit(cache=True, nogil=True)
def _passes(
    rows: CompiledRows,
    facts: Matrix,
    bias_step: float,
    tol: float,
    w: Vector,
    b: Vector,
    a: Vector,
    state: DescentState,
    max_iter: int,
    budget: int,
) -> bool:
    """Meet at most `budget` rows; returns whether a pass over all of them met tol.

    facts: side, cap, ridge and curvature of each row, side by side since rows are met at random.
    bounds: largest and smallest gradient of the last pass, beyond which a row is left out, and of this
    one.
    """
    active, progress, bounds = state.active, state.progress, state.bounds
    n, bias, random = len(active), b[0], state.random[0]
    met, size, passes = progress
    high, low, largest, smallest = bounds
    met_tol = False
    while budget > 0 and passes < max_iter and not met_tol:
        while met < size and budget > 0:
            budget -= 1
            random, i = draw_next(active, met, size, random)
            old, side, cap = a[i], facts[i, 0], facts[i, 1]
            score = dot_row(rows, i, w) + bias
            gradient = side * score - 1.0 + facts[i, 2] * old
            projected = gradient
            if old == 0.0 or old == cap:
                if gradient > high if old == 0.0 else gradient < low:
                    size = leave_out(active, met, size)
                    continue
                projected = min(gradient, 0.0) if old == 0.0 else max(gradient, 0.0)
            largest, smallest = max(largest, projected), min(smallest, projected)
            met += 1
            if abs(projected) > TINY:
                a[i] = min(max(old - gradient / facts[i, 3], 0.0), cap)
                change = (a[i] - old) * side
                add_row(rows, i, change, w)
                bias += change * bias_step
        if met < size:
            break
        passes += 1
        met = 0
        high = largest if largest > 0.0 else np.inf
        low = smallest if smallest < 0.0 else -np.inf
        if size == 0 or largest - smallest <= tol:
            met_tol = size == n
            size, high, low = n, np.inf, -np.inf
        largest, smallest = -np.inf, np.inf
    progress[:] = met, size, passes
    bounds[:] = high, low, largest, smallest
    b[0], state.random[0] = bias, random
    return met_tol


@njit(cache=True, nogil=True)
def _times(rows: CompiledRows, w: Vector, out: Vector) -> None:
    for i in range(len(out)):
        out[i] = dot_row(rows, i, w)


@njit(cache=True, nogil=True)
def _combine(rows: CompiledRows, c: Vector, out: Vector) -> None:
    for i in range(len(c)):
        if c[i] != 0.0:
            add_row(rows, i, c[i], out)
