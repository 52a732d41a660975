"""Binary support vector problems over one Gram matrix: problem, fit, stopping rule, row layout.

The CPU solver (`smo.py`) and the GPU solver (`cuda.py`) both work on these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes, Gram, Signs, Vector

ROUNDING = 1e-12  # of a bound, or of the two sides of y'a = 0
STEPS_PER_CHECK = 100_000  # between two checks that the dual objective still rises
LIBSVM = "violation"  # value of `stop`: the violation alone decides, as in LIBSVM
GAP_SHARE = 0.99  # of the gap that is promised, for the solver to reach: the rest is for rounding
GAP = 1e-3  # relative gap that stop="kkt" asks for beside the violation
LARGE_SCALE = 1e3  # C k(x, x) up to which it does; beyond, it gives up after some steps
TICKS = 10  # progress steps of each of a few problems
NOT_SEPARABLE = 1e-12  # squared distance of two convex hulls, as a share of the largest k(x, x)


class SvmProblem(NamedTuple):
    """One binary problem: the side of each segment of the Gram, and the upper bound of each row."""

    sides: Signs  # shape: (segments,); +1, -1, or 0 for rows that take no part
    box: Vector  # shape: (n,); upper bounds; 0: only scored, infinite: a hard margin
    start: Vector | None = None  # shape: (r,); initial coefficients
    start_errors: Vector | None = None  # shape: (r,); their errors if known; start is feasible then
    rough: bool = False  # errors of other kernel values, kept only where time is short

    @property
    def knows_errors(self) -> bool:
        """Whether the errors of the initial coefficients are known."""
        return self.start_errors is not None and not self.rough


class SvmFit(NamedTuple):
    """A solved problem over its r rows, with its certificate."""

    rows: Codes  # shape: (r,); rows of the Gram
    y: Vector  # shape: (r,); +1 or -1
    box: Vector  # shape: (r,)
    alpha: Vector  # shape: (r,)
    errors: Vector  # shape: (r,); sum_j alpha_j y_j K_ij - y_i
    intercept: float
    violation: float  # of the optimality conditions, as LIBSVM's tolerance measures it
    primal: float
    dual: float
    square: float  # |w|^2
    n_iter: int  # steps on two rows
    stop: str  # "tol", "gap", "rounding", "max_iter", "stalled", "stopped" or "not separable"
    gap: float = math.nan  # relative duality gap; NaN without one

    @property
    def margin_width(self) -> float:
        """2 / |w|: the distance between the two margins."""
        return 2.0 / math.sqrt(self.square) if self.square > 0 else math.inf

    @property
    def scores(self) -> Vector:
        """Decision value of each of its rows, those with an upper bound of 0 included, (r,)."""
        return self.errors + self.y + self.intercept

    def with_coefficient(self) -> SvmFit:
        """The same fit with only those of its rows that have a coefficient."""
        some = np.flatnonzero(self.alpha)
        return self._replace(**{name: getattr(self, name)[some] for name in self._fields[:5]})


class StoppingRule(NamedTuple):
    """Tolerances at which a problem counts as solved, and the limit of its steps."""

    tol: float  # of the violation
    gap: float  # relative
    max_iter: int

    @classmethod
    def of(cls, tol: float, stop: str, max_iter: int) -> StoppingRule:
        """The rule of an estimator's `tol`, `stop` and `max_iter`."""
        limit = np.iinfo(np.int64).max if max_iter < 0 else max_iter
        if stop == "gap":
            return cls(np.inf, GAP_SHARE * tol, limit)
        return cls(tol, np.inf if stop == LIBSVM else GAP_SHARE * max(tol, GAP), limit)

    def gaps_for(self, scales: Vector) -> Vector:
        """The largest gap of problems whose C times their largest k(x, x) is a scale."""
        return np.where((scales <= LARGE_SCALE) | (self.tol == np.inf), self.gap, np.inf)


class RowLayout(NamedTuple):
    """The rows of a problem in the Gram, with their sides and diagonal values."""

    segments: list[int]
    rows: Codes  # shape: (r,); rows of the Gram
    cuts: Codes  # start of each segment among them, and the end
    shifts: Codes  # offset of each segment: its start in the Gram minus its start here
    y: Vector  # shape: (r,); +1 or -1
    diagonal: Vector  # shape: (r,)
    largest: float  # of the diagonal

    @classmethod
    def of(cls, gram: Gram, sides: Signs, diagonal: Vector) -> RowLayout:
        """The rows of all segments that take part."""
        segments = np.flatnonzero(sides).tolist()
        runs = [gram.segments[s] for s in segments]
        rows = np.concatenate([np.arange(run.start, run.stop) for run in runs])
        cuts = np.cumsum([0, *(run.stop - run.start for run in runs)])
        shifts = np.array([run.start for run in runs]) - cuts[:-1]
        y = np.repeat(sides[segments].astype(np.float64), np.diff(cuts))
        own = np.concatenate([diagonal[run] for run in runs])
        return cls(segments, rows, cuts, shifts, y, own, float(own.max()))


def distinct_layouts(
    gram: Gram, problems: Sequence[SvmProblem], diagonal: Vector
) -> dict[bytes, RowLayout]:
    """The layout of each distinct `sides`, by its bytes; folds and values of C share them."""
    sides = {problem.sides.tobytes(): problem.sides for problem in problems}
    return {key: RowLayout.of(gram, own, diagonal) for key, own in sides.items()}


@njit(cache=True, nogil=True)
def make_feasible(start: Vector, y: Vector, box: Vector) -> Vector:
    """Coefficients in the box with y'a = 0 near the given ones: the heavier side is scaled down.

    >>> make_feasible(np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, -1.0]), np.full(3, 2.0)).tolist()
    [0.6666666666666666, 1.3333333333333333, 2.0]
    """
    alpha = np.empty(len(start))
    plus = minus = 0.0
    for i in range(len(start)):
        alpha[i] = min(max(start[i], 0.0), box[i])
        if y[i] > 0.0:
            plus += alpha[i]
        else:
            minus += alpha[i]
    if abs(plus - minus) <= ROUNDING * plus:  # scaling would only take rows off their bounds
        return alpha
    for i in range(len(start)):
        if y[i] > 0.0 and plus > minus:
            alpha[i] *= minus / plus
        elif y[i] <= 0.0 and minus > plus:
            alpha[i] *= plus / minus
    return alpha


@njit(cache=True, nogil=True)
def make_all_feasible(starts: Codes, chosen: Codes, y: Vector, box: Vector, alpha: Vector) -> None:
    """`make_feasible` for some problems, whose rows begin at `starts`, in place."""
    for p in chosen:
        own = slice(starts[p], starts[p + 1])
        alpha[own] = make_feasible(alpha[own], y[own], box[own])


def ticks_of(n_problems: int) -> int:
    """Progress steps of each of many problems."""
    return TICKS if n_problems <= TICKS else 1


def ticks_due(violation: Any, tol: Any, stopped: Any, ticks: int) -> Any:
    """A share of the ticks by the logarithmic distance to the tolerance; all for a problem that stopped."""
    way = np.log(2.0 / np.clip(violation, 1e-300, 1e300)) / np.log(np.maximum(2.0 / tol, 1.1))
    due = np.minimum(ticks - 1, (ticks * np.maximum(0.0, way)).astype(np.int64))
    return np.where(stopped, ticks, due)
