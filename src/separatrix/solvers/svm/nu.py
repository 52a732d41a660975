"""Support vector problems whose coefficients have a given sum: nu-SVC and the one-class machine.

The rounds are those of `smo.py`; a step moves two rows of the same side, so that the sum over each side
stays (`nu_working_set.py`). The errors have no linear term here: any constant may be added on a side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm.batch import ProblemBatch
from separatrix.solvers.svm.nu_working_set import align_sides, solve_nu_tile
from separatrix.solvers.svm.problem import (
    NOT_SEPARABLE,
    ROUNDING,
    StoppingRule,
    SvmFit,
    SvmProblem,
)
from separatrix.solvers.svm.smo import (
    WorkingSet,
    begin,
    fetch_computed,
    fetch_held,
    run_together,
    worthwhile_threads,
)
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BIAS,
    BOX,
    DUAL,
    ERRORS,
    GAP,
    LARGEST_GAP,
    LAST_VIOLATION,
    PRIMAL,
    REACHED,
    SQUARE,
    STATUS,
    STEPS,
    TOL,
    VIOLATION,
    Y,
)
from separatrix.types import Codes, Flags, Gram, HeldMatrix, RowMatrix, Vector

MOST_EXTRA_STEPS = 2_000_000  # for the division by r, once the tolerance is reached without it
MOST_AT_ONCE = 16.0  # times smaller is the next violation asked for while r is not known well
MOST_STEPS_A_ROW = 100  # on problems of more rows, until some margin is certain
NO_MARGIN = 1e-7  # |w|^2 as a share of that of the first rows' means
LARGEST_FINITE = float(np.finfo(np.float64).max)
TINY = np.finfo(np.float64).tiny


def solve_nu_svms(
    gram: Gram,  # shape: (n, n)
    problems: Sequence[SvmProblem],
    *,
    nu: float,
    tol: float = 1e-3,
    stop: str = "kkt",
    max_iter: int = -1,
    monitor: FitMonitor | None = None,
    threads: int = 1,
) -> Sequence[SvmFit]:
    """Solve nu-SVCs, or one-class machines, over one Gram matrix.

    Problem
        min over a   1/2 sum_ij a_i a_j y_i y_j K_ij
        subject to   0 <= a_i <= box_i  and, on each of the two sides, or on the only one,
                     sum_i a_i = nu sum_i box_i / (number of sides)

        Two sides: with r, the margin of free rows, a / r solves the problem of `solve_svms` for the upper
        bounds box / r. That is what is returned. One side: f(x) = sum_i a_i K(x_i, x) - r.

    Given
        gram       K, held in memory or computed by rows
        problems   sides y and upper bounds box (weights, 1 by default), and initial coefficients up to a
                   factor; with +1 only, the problem is a one-class machine
        nu         the sum, as a share; where it exceeds what a side can hold, that much
        tol, stop, max_iter, monitor, threads
                   as in `solve_svms`; the violation is at most tol before and after a is divided by r

    Returns a fit for each problem. `stop` is "no margin" where the optimum is w = 0.

    Reference: Schölkopf, Smola, Williamson and Bartlett, New Support Vector Algorithms, Neural Computation
    12 (2000); Chang and Lin, Training nu-Support Vector Classifiers, Neural Computation 13 (2001);
    Schölkopf et al., Estimating the Support of a High-Dimensional Distribution, Neural Computation 13
    (2001).
    """
    rule, monitor = StoppingRule.of(tol, stop, max_iter), monitor or FitMonitor()
    batch = NuBatch(gram, problems, rule, monitor, nu)
    threads = worthwhile_threads(batch, threads)
    if isinstance(gram, HeldMatrix):
        fetch, capacity = fetch_held(gram), gram.shape[0]
    elif isinstance(gram, RowMatrix):
        fetch, capacity = fetch_computed(gram), gram.capacity
    else:
        raise TypeError(f"a Gram matrix must be held or by rows; got {gram!r}")
    with blas_on_one_thread():
        begin(batch, fetch, capacity, batch.warm_starts())
        batch.measure()
        run_together(gram, fetch, batch, capacity, threads, NuWorkingSet)
    return batch.results()


class NuWorkingSet(WorkingSet):
    """A working set of a problem with a given sum on each side."""

    batch: NuBatch

    def choose(self) -> float:
        """Choose the next working set; return the violation over all rows."""
        self.batch.align(self.p)
        return super().choose()

    def solve(self, tol: float, most_steps: int) -> int:
        """Make steps on the working set; return their number."""
        if self.batch.one_sided[self.p]:
            return super().solve(tol, most_steps)
        return int(solve_nu_tile(self.tile, self.state, self.count, tol, most_steps))


class Levels(NamedTuple):
    """The optimality conditions of one side: y f(x) = level on its free rows."""

    level: float
    violation: float

    @classmethod
    def of(cls, margins: Vector, alpha: Vector, box: Vector) -> Levels:
        """The mean over free rows, or the middle of the feasible range.

        For the level, a coefficient within rounding of a bound counts as being at it.
        """
        off = ROUNDING * box
        free = (alpha > off) & (alpha < box - off)
        if free.any():
            level = float(margins[free].mean())
        else:
            ends = _ends(margins, alpha > off, alpha < box - off)
            finite = [end for end in ends if np.isfinite(end)]
            level = float(np.mean(finite)) if finite else 0.0
        highest, lowest = _ends(margins, alpha > 0.0, alpha < box)
        return cls(level, max(highest - lowest, 0.0))


def _ends(margins: Vector, may_shrink: Flags, may_grow: Flags) -> tuple[float, float]:
    """The largest margin of rows that may shrink and the smallest of rows that may grow."""
    highest = margins.max(initial=-np.inf, where=may_shrink)
    return float(highest), float(margins.min(initial=np.inf, where=may_grow))


class NuBatch(ProblemBatch):
    """Problems with a given sum on each side. Certificates are of a, before it is divided by r."""

    def __init__(
        self,
        gram: Gram,
        problems: Sequence[SvmProblem],
        rule: StoppingRule,
        monitor: FitMonitor,
        nu: float,
    ) -> None:
        super().__init__(gram, problems, rule, monitor)
        self.gaps = np.minimum(self.gaps, LARGEST_FINITE)  # an infinite one has no certain r yet
        self.arrays.real[LARGEST_GAP] = self.gaps
        p = len(problems)
        self.one_sided = np.array([not (problem.sides < 0).any() for problem in problems])
        self.shifts = np.zeros(p)  # of the errors of side -1
        self.margins = np.zeros(p)  # r
        self._within_tol = np.full(
            p, -1
        )  # steps at which the tolerance was reached before division by r
        self.squares = np.zeros(p)  # |w|^2 of the first rows' means, as far as it is known
        state = self.arrays.state
        self.sums = np.empty(p)  # of the coefficients of a side
        for number in range(p):
            y, box = state[Y, self.span(number)], state[BOX, self.span(number)]
            sides = [box[y > 0].sum()] + ([] if self.one_sided[number] else [box[y < 0].sum()])
            self.sums[number] = min(nu * box.sum() / len(sides), *sides)

    def warm_starts(self) -> Codes:
        """Set feasible initial coefficients of every problem; return all of them."""
        state = self.arrays.state
        for p, problem in enumerate(self.problems):
            span = self.span(p)
            y, box, start = state[Y, span], state[BOX, span], problem.start
            for side in (1.0,) if self.one_sided[p] else (1.0, -1.0):
                own = y == side
                near = np.zeros(np.count_nonzero(own)) if start is None else start[own]
                state[ALPHA, span][own] = with_sum(near, box[own], float(self.sums[p]))
        return np.arange(len(self.problems))

    def measure(self) -> None:
        """Keep |w|^2 of problems that start from their first rows: the size of the classes' distances."""
        for p, problem in enumerate(self.problems):
            if problem.start is None:
                y, _, alpha, scores = self._rows(p)
                self.squares[p] = (alpha * y) @ scores

    def align(self, p: int) -> None:
        """Make the errors of both sides of a problem comparable."""
        if not self.one_sided[p]:
            span = self.span(p)
            self.shifts[p] += align_sides(self.arrays.state, span.start, span.stop - span.start)

    def certify(self, chosen: Codes) -> None:
        """Write the certificates of some problems; stop those whose optimum is w = 0."""
        for p in chosen.tolist():
            self._certify(p)

    def _certify(self, p: int) -> None:
        y, box, alpha, scores = self._rows(p)
        trained = box > 0
        sides = (1.0,) if self.one_sided[p] else (1.0, -1.0)
        found, loss = [], 0.0
        for side in sides:
            own = trained & (y == side)
            margins = side * scores[own]
            levels = Levels.of(margins, alpha[own], box[own])
            loss += float(box[own] @ np.maximum(levels.level - margins, 0.0))
            found.append(levels)
        square = float((alpha * y) @ scores)
        total = float(self.sums[p] * sum(levels.level for levels in found))
        primal, dual = 0.5 * square + loss - total, -0.5 * square
        r = sum(levels.level for levels in found) / len(found)
        bias = -r if self.one_sided[p] else 0.5 * (found[1].level - found[0].level)
        size = max(0.5 * square + loss, r * r, TINY)
        self.margins[p] = r
        own_certificate = self.certificates[:, p]
        own_certificate[BIAS], own_certificate[SQUARE] = bias, square
        own_certificate[PRIMAL], own_certificate[DUAL] = primal, dual
        violation = max(levels.violation for levels in found)
        own_certificate[LAST_VIOLATION] = violation
        own_certificate[GAP] = (primal - dual) / size
        if not self.one_sided[p] and 0 < r < 1 and violation > self.tol * r:
            own_certificate[GAP] = np.inf  # scores are divided by r, and their errors too
        if not self.one_sided[p]:
            self._limit_steps(p, violation, certain=primal < -0.25 * square)
        size = NOT_SEPARABLE * self.scales[p] * self.sums[p] ** 2
        if square <= max(size, NO_MARGIN * self.squares[p]):
            self.stop[p] = "no margin"

    def review(self, chosen: Codes) -> Codes:
        """Decide which of some problems are done; those that go on for the division by r know how far."""
        left = super().review(chosen)
        real, r = self.arrays.real, self.margins[left]
        scaled = ~self.one_sided[left] & (r > 0.0) & (r < 1.0)
        scaled &= self.arrays.whole[STATUS, left] == REACHED
        near, r = left[scaled], r[scaled]
        violation = real[VIOLATION, near]
        known = violation < 0.25 * r  # r is wrong by no more than that
        goal = np.maximum(0.5 * self.tol * r, np.where(known, 0.0, violation / MOST_AT_ONCE))
        real[TOL, near] = np.minimum(real[TOL, near], goal)
        return left

    def _limit_steps(self, p: int, violation: float, *, certain: bool) -> None:
        """Stop a problem that after many steps has no margin to speak of.

        Either the violation is not small beside r, by which scores are divided; or it is not `certain`
        that the optimum has half of |w|^2: the primal objective bounds that from below.
        """
        steps, r = int(self.arrays.whole[STEPS, p]), self.margins[p]
        span = self.span(p)
        most = max(MOST_EXTRA_STEPS, MOST_STEPS_A_ROW * (span.stop - span.start))
        if violation > self.tol:
            endless = steps > most and not certain
        elif self._within_tol[p] < 0:
            self._within_tol[p], endless = steps, False
        else:
            endless = steps - self._within_tol[p] > MOST_EXTRA_STEPS and violation > self.tol * r
        if endless:
            self.stop[p] = "no margin"

    def results(self) -> Sequence[SvmFit]:
        """The fits; those of nu-SVCs are divided by r."""
        fits = []
        for p, fit in enumerate(super().results()):
            _, _, _, scores = self._rows(p)
            stop = "no margin" if self.stop[p] == "no margin" else fit.stop
            r = float(self.margins[p])
            fit = fit._replace(errors=scores - fit.y, stop=stop)
            if not self.one_sided[p] and r > 0:
                fit = _divide(fit, r)
            fits.append(fit._replace(gap=relative_gap(fit.primal, fit.dual)))
        return fits

    def _rows(self, p: int) -> tuple[Vector, Vector, Vector, Vector]:
        """Sides, upper bounds and coefficients of a problem, and scores of its rows without bias."""
        span, state = self.span(p), self.arrays.state
        y = state[Y, span]
        scores = state[ERRORS, span] + y - np.where(y < 0, self.shifts[p], 0.0)
        return y, state[BOX, span], state[ALPHA, span], scores


def with_sum(start: Vector, box: Vector, total: float) -> Vector:
    """Coefficients in the box with a given sum near a multiple of the given ones, else on the first rows.

    >>> with_sum(np.array([0.0, 2.0, 1.0]), np.ones(3), 1.5).tolist()
    [0.0, 1.0, 0.5]
    >>> with_sum(np.zeros(3), np.ones(3), 1.5).tolist()
    [1.0, 0.5, 0.0]
    """
    given = float(start.sum())
    alpha = np.minimum(start * (total / given), box) if given > 0 else np.zeros(len(box))
    left = total - float(alpha.sum())
    room = box - alpha
    rest = left - (np.cumsum(room) - room)  # after the rows before
    rest[rest <= ROUNDING * total] = 0.0
    return np.asarray(alpha + np.clip(rest, 0.0, room))


def _divide(fit: SvmFit, r: float) -> SvmFit:
    """The C-SVC with upper bounds box / r that has the same boundary; its violation is divided too."""
    alpha, square = fit.alpha / r, fit.square / r / r  # r**2 can overflow
    total = float(alpha.sum())
    scores = (fit.errors + fit.y) / r
    return fit._replace(
        alpha=alpha,
        box=fit.box / r,
        errors=scores - fit.y,
        intercept=fit.intercept / r,
        violation=max(fit.violation, fit.violation / r),
        primal=fit.primal / r / r + total,
        dual=fit.dual / r / r + total,
        square=square,
    )
