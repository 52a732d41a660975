"""First coefficients of small problems with a hard margin, by an interior-point method.

Without an upper bound the coefficients can be very large, and steps on two rows take very long to get
there. A Newton step on all rows at once costs r^3, but some 30 to 60 of them suffice. The coefficients are
only a start: the working-set solver continues from them, and its certificate decides; it also finds that
classes cannot be separated, by the distance of their convex hulls.

Reference: Mehrotra, On the Implementation of a Primal-Dual Interior Point Method, SIAM J. Optim. 2 (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import NOT_SEPARABLE, SvmProblem
from separatrix.solvers.svm.stacked import StackedProblems
from separatrix.types import Codes, HeldMatrix, Matrix, Vector

MAX_ROWS = 1000  # of a problem
MAX_STEPS = 120
INSIDE = 0.99  # share of the way to the nearest bound
NUGGET = 1e-14  # added to the diagonal, relative to its mean: rounding must not make it indefinite
CONVERGED = 1e-24  # mean of a_i z_i, relative to the objective
NEGLIGIBLE = 1e-15  # of the largest coefficient


def start_hard_margins(
    gram: HeldMatrix, problems: StackedProblems, monitor: FitMonitor
) -> Sequence[SvmProblem]:
    """The problems; small ones with a hard margin and no initial coefficients get some."""
    if not any(np.isinf(box).any() for box in problems.boxes):
        return problems
    return [
        problem._replace(start=_start(gram, problem, monitor))
        if _qualifies(gram, problem)
        else problem
        for problem in problems
    ]


def _qualifies(gram: HeldMatrix, problem: SvmProblem) -> bool:
    hard = problem.start is None and bool(np.isinf(problem.box).any())
    return hard and gram.matrix.dtype == np.float64 and len(_rows(gram, problem)[0]) <= MAX_ROWS


def _rows(gram: HeldMatrix, problem: SvmProblem) -> tuple[Codes, Vector]:
    """The rows of a problem in the Gram, and their sides."""
    chosen = np.flatnonzero(problem.sides).tolist()
    runs = [np.arange(gram.segments[s].start, gram.segments[s].stop) for s in chosen]
    sides = [
        np.full(len(run), float(problem.sides[s])) for s, run in zip(chosen, runs, strict=True)
    ]
    return np.concatenate(runs), np.concatenate(sides)


def _start(gram: HeldMatrix, problem: SvmProblem, monitor: FitMonitor) -> Vector | None:
    rows, y = _rows(gram, problem)
    if not np.isinf(problem.box[rows]).all():
        return None
    return solve_interior_point(gram.matrix[np.ix_(rows, rows)], y, monitor)


class _Newton(NamedTuple):
    """The linear system of a step: (Q + diag(z / a)) da + y db = -residual - complement / a."""

    a: Vector  # coefficients
    z: Vector  # slack of each margin
    y: Vector
    residual: Vector  # of the gradient
    factor: Any  # Cholesky factor of Q + diag(z / a)
    Hy: Vector

    @classmethod
    def at(cls, Q: Matrix, y: Vector, a: Vector, z: Vector, b: float) -> _Newton:
        """Factorise the system; raises LinAlgError if rounding has made it indefinite."""
        H = Q + np.diag(z / a)
        H[np.diag_indices_from(H)] += NUGGET * np.trace(H) / len(y)
        factor = cho_factor(H, lower=True, check_finite=False)
        Hy = cho_solve(factor, y, check_finite=False)
        return cls(a, z, y, Q @ a - 1.0 + b * y - z, factor, Hy)

    def direction(self, complement: Vector) -> tuple[Vector, Vector, float]:
        """The change of a, z and b that reduces a_i z_i by `complement`, to first order."""
        right = cho_solve(self.factor, -self.residual - complement / self.a, check_finite=False)
        db = float((self.y @ right + self.y @ self.a) / (self.y @ self.Hy))
        da = right - db * self.Hy
        return da, (-complement - self.z * da) / self.a, db


def solve_interior_point(
    K: Matrix,  # shape: (r, r)
    y: Vector,  # shape: (r,)
    monitor: FitMonitor | None = None,
) -> Vector | None:
    """Solve one problem without upper bounds.

    Problem
        min over a   1/2 sum_ij a_i a_j y_i y_j K_ij - sum_i a_i
        subject to   a_i >= 0  and  sum_i a_i y_i = 0

    Given
        K          kernel values, positive semidefinite
        y          +1 or -1
        monitor    time limit and cancellation

    Returns a, which is very large if no hyperplane separates the classes; None if time is up, or if
    rounding or an indefinite K ended the iteration early.

    >>> solve_interior_point(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])).round(6).tolist()
    [0.5, 0.5]
    """
    Q = K * np.outer(y, y)
    a: Vector = np.ones(len(y))
    z, b = a.copy(), 0.0
    for _ in range(MAX_STEPS):
        try:
            with np.errstate(all="ignore"):
                a, z, b = _step(_Newton.at(Q, y, a, z, b), b)
        except np.linalg.LinAlgError:
            return None
        if not (np.isfinite(a).all() and np.isfinite(z).all() and a.min() > 0 < z.min()):
            return None
        total = a.sum()
        square = a @ Q @ a
        if square < 0:
            return None  # indefinite
        inseparable = 4.0 * square <= NOT_SEPARABLE * Q.diagonal().max() * total**2
        if inseparable or a @ z <= CONVERGED * total * len(y):
            return np.where(a > NEGLIGIBLE * a.max(), a, 0.0)
        if monitor is not None and monitor.should_stop():
            return None
    return None


def _step(system: _Newton, b: float) -> tuple[Vector, Vector, float]:
    """A predictor step, which tells how much to centre, then a corrector step."""
    a, z = system.a, system.z
    da, dz, _ = system.direction(a * z)
    left = (a + _length(a, da) * da) @ (z + _length(z, dz) * dz) / (a @ z)
    da, dz, db = system.direction(a * z + da * dz - left**3 * (a @ z) / len(a))
    length = min(_length(a, da), _length(z, dz))
    return a + length * da, z + length * dz, b + length * db


def _length(value: Vector, change: Vector) -> float:
    """How far a positive vector may go."""
    falling = change < 0
    nearest = np.min(-value[falling] / change[falling], initial=np.inf)
    return float(min(1.0, INSIDE * nearest))
