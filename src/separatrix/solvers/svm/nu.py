"""Support vector problems whose coefficients have a given sum: nu-SVC and the one-class machine.

The rounds are those of `smo.py` and `working_set.py`; a step moves two rows of the same side, so that the
sum over each side stays. The errors have no linear term here: any constant may be added on a side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.batch import NEVER, GivenSums, ProblemBatch
from separatrix.solvers.svm.problem import (
    NOT_SEPARABLE,
    ROUNDING,
    StoppingRule,
    SvmFit,
    SvmProblem,
)
from separatrix.solvers.svm.smo import solve_on_held, solve_on_rows
from separatrix.solvers.svm.stacked import StackedFits
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BOX,
    ERRORS,
    GOAL,
    LARGEST_GAP,
    LAST_VIOLATION,
    LEAST_SQUARE,
    MARGIN,
    N_SIDES,
    PRIMAL,
    REACHED,
    SHIFT,
    SQUARE,
    STATUS,
    STEPS,
    SUM,
    Y,
    lower_tolerance,
)
from separatrix.types import Codes, Gram, HeldMatrix, RowMatrix, Vector

MOST_EXTRA_STEPS = 2_000_000  # for the division by r, once the tolerance is reached without it
MOST_STEPS_A_ROW = 100  # on problems of more rows, until some margin is certain
NO_MARGIN = 1e-7  # |w|^2 as a share of that of the first rows' means
LARGEST_FINITE = float(np.finfo(np.float64).max)


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
    make = partial(NuBatch, nu=nu)
    if isinstance(gram, HeldMatrix):
        return solve_on_held(gram, problems, rule, monitor, threads, make)
    if isinstance(gram, RowMatrix):
        return solve_on_rows(gram, problems, rule, monitor, threads, make)
    raise TypeError(f"a Gram matrix must be held or by rows; got {gram!r}")


class NuBatch(ProblemBatch):
    """Problems with a given sum on each side. Certificates are of a, before it is divided by r."""

    gives_sums = True
    fewest_steps = 5_000

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
        starts, state, p = self.arrays.starts, self.arrays.state, len(problems)
        real = np.concatenate([self.arrays.real, np.zeros((6, p))])
        self.sums, self.shifts, self.margins = real[SUM], real[SHIFT], real[MARGIN]
        real[LARGEST_GAP], real[GOAL] = self.gaps, self.tol
        self.arrays = self.arrays._replace(real=real)
        sides = self.problems.sides
        self.one_sided = np.minimum.reduceat(sides.sides, sides.starts[:-1]) > 0
        real[N_SIDES] = np.where(self.one_sided, 1.0, 2.0)
        plus, minus = (
            np.add.reduceat(np.where(state[Y] == side, state[BOX], 0.0), starts[:-1])
            for side in (1.0, -1.0)
        )
        most = np.where(self.one_sided, plus, np.minimum(plus, minus))
        np.minimum(nu * (plus + minus) / real[N_SIDES], most, out=self.sums)
        real[LEAST_SQUARE] = NOT_SEPARABLE * self.scales * self.sums**2
        self._within_tol = np.full(p, NEVER)  # steps until the tolerance, before division by r

    def warm_starts(self) -> Codes:
        """Set feasible initial coefficients of every problem; return all of them."""
        state, start = self.arrays.state, self.problems.start
        if start is not None:
            state[ALPHA] = start
        set_sums(self.arrays.starts, self.sums, state[Y], state[BOX], state[ALPHA])
        return np.arange(len(self.sums))

    def hand_over_after(self, steps: Codes) -> None:
        """As other problems; all have their initial errors by now."""
        self.measure()
        super().hand_over_after(steps)

    def given_sums(self, p: int, y: Vector) -> GivenSums:
        """The sum of each side."""
        sides = np.stack(
            [y == side for side in ((1.0,) if self.one_sided[p] else (1.0, -1.0))], axis=1
        )
        return GivenSums(sides.astype(np.float64), np.full(sides.shape[1], self.sums[p]), 0.0)

    def forget_errors(self, p: int) -> None:
        """As of other problems; the errors of a side are not shifted."""
        super().forget_errors(p)
        self.shifts[p] = 0.0

    def measure(self) -> None:
        """Call w = 0 what is nothing beside the first rows' means: the size of the classes' distances."""
        state, least = self.arrays.state, self.arrays.real[LEAST_SQUARE]
        products = state[ALPHA] * state[Y] * self._scores()
        squares = NO_MARGIN * np.add.reduceat(products, self.arrays.starts[:-1])
        np.maximum(least, squares, out=least, where=~self.problems.given)

    def certify(self, chosen: Codes) -> None:
        """Write the certificates of some problems; stop those whose optimum is w = 0."""
        super().certify(chosen)
        none = self.certificates[SQUARE, chosen] <= self.arrays.real[LEAST_SQUARE, chosen]
        self.stop[chosen[none]] = "no margin"

    def review(self, chosen: Codes) -> Codes:
        """Decide which of some problems are done; those that go on for the division by r know how far."""
        self.certify(chosen[self.arrays.whole[STATUS, chosen] == REACHED])
        left = super().review(chosen)
        for p in left[self.arrays.whole[STATUS, left] == REACHED]:
            lower_tolerance(self.arrays, p)
        return left

    def _review_steps(self, p: int) -> None:
        super()._review_steps(p)
        if not self.one_sided[p]:
            self._limit_margin(p)

    def _limit_margin(self, p: int) -> None:
        """Stop a problem that after many steps has no margin to speak of.

        Either the violation is not small beside r, by which scores are divided; or it is not certain that
        the optimum has half of |w|^2: the primal objective bounds that from below.
        """
        steps, numbers = int(self.arrays.whole[STEPS, p]), self.certificates[:, p]
        violation = numbers[LAST_VIOLATION]
        if violation > self.tol:
            rows = int(np.diff(self.arrays.starts)[p])
            certain = numbers[PRIMAL] < -0.25 * numbers[SQUARE]
            endless = steps > max(MOST_EXTRA_STEPS, MOST_STEPS_A_ROW * rows) and not certain
        else:
            self._within_tol[p] = min(self._within_tol[p], steps)
            late = steps - self._within_tol[p] > MOST_EXTRA_STEPS
            endless = late and violation > self.tol * self.margins[p]
        if endless:
            self.stop[p] = "no margin"

    def results(self) -> Sequence[SvmFit]:
        """The fits; those of nu-SVCs are divided by r."""
        fits = StackedFits.of(super().results())
        scaled = ~self.one_sided & (self.margins > 0.0)
        r = np.where(scaled, self.margins, 1.0)
        scores, each = self._scores(), fits.of_rows(r)
        alpha = fits.alpha / each
        by_row = fits.rows, fits.y, fits.box / each, alpha, scores / each - fits.y
        total = np.where(scaled, np.add.reduceat(alpha, fits.starts[:-1]), 0.0)
        bias, primal, dual, square, violation, _ = fits.certificates
        with np.errstate(over="ignore", invalid="ignore"):
            primal, dual = primal / r / r + total, dual / r / r + total  # r^2 can overflow
            gaps = (primal - dual) / np.maximum(np.abs(primal), 1.0)
        gaps[np.isnan(gaps)] = np.inf
        worse = np.maximum(violation, violation / r)
        numbers = np.array([bias / r, primal, dual, square / r / r, worse, gaps])
        stops = np.where(self.stop == "no margin", self.stop, fits.stops)
        return StackedFits(fits.starts, by_row, numbers, fits.steps, stops)

    def _scores(self) -> Vector:
        """Scores of the rows of all problems without bias."""
        state = self.arrays.state
        shifts = np.repeat(self.shifts, np.diff(self.arrays.starts))
        return np.asarray(state[ERRORS] + state[Y] - np.where(state[Y] < 0.0, shifts, 0.0))


@njit(cache=True, nogil=True)
def set_sums(starts: Codes, sums: Vector, y: Vector, box: Vector, alpha: Vector) -> None:
    """Give the coefficients of each side of problems, whose rows begin at `starts`, their sum.

    They become a multiple of what they are, in the box; what is left goes to the first rows with room.

    >>> box, alpha = np.ones(6), np.array([0.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    >>> set_sums(np.array([0, 6]), np.array([1.5]), np.array([1.0] * 3 + [-1.0] * 3), box, alpha)
    >>> alpha.tolist()
    [0.0, 1.0, 0.5, 1.0, 0.5, 0.0]
    """
    for p in range(len(sums)):
        for side in (-1.0, 1.0):
            given, left = 0.0, sums[p]
            for i in range(starts[p], starts[p + 1]):
                given += alpha[i] if y[i] == side else 0.0
            for i in range(starts[p], starts[p + 1]):
                if y[i] == side and given > 0.0:
                    alpha[i] = min(alpha[i] * (sums[p] / given), box[i])
                    left -= alpha[i]
            for i in range(starts[p], starts[p + 1]):
                if y[i] == side and left > ROUNDING * sums[p]:
                    step = min(left, box[i] - alpha[i])
                    alpha[i] += step
                    left -= step
