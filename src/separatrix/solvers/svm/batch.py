"""Many binary support vector problems during optimisation: their state, stops, progress and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import (
    NOT_SEPARABLE,
    STEPS_PER_CHECK,
    StoppingRule,
    SvmFit,
    SvmProblem,
    make_all_feasible,
    ticks_due,
    ticks_of,
)
from separatrix.solvers.svm.stacked import StackedFits, StackedProblems
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BOX,
    COUNT,
    DIAGONAL,
    DUAL,
    ERRORS,
    GAP,
    LARGEST_GAP,
    LAST_VIOLATION,
    LIMIT,
    PAUSED,
    REACHED,
    SQUARE,
    STATUS,
    STEPS,
    STUCK,
    TOL,
    VIOLATION,
    Batch,
    Y,
    certify,
    set_size,
)
from separatrix.types import Codes, Flags, Gram, Matrix, Vector

NEARLY_HARD = 1e14  # C times the largest k(x, x): more is a hard margin, as far as float64 can tell
STEPS_AT_ONCE = 50_000  # of a problem, between two checks that it still advances
MOST_STEPS, MOST_STEPS_A_ROW = 10_000_000, 100  # of a problem: LIBSVM warns beyond those
POLISHING = 10  # steps for each row after another solver has solved a problem
HANDED_OVER = "handed over"  # value of `stop`: to the interior-point method
NEVER = int(np.iinfo(np.int64).max)


class GivenSums(NamedTuple):
    """Sums of coefficients that are given, and the margin that is wanted."""

    sides: Matrix  # shape: (r, m); signs of the coefficients in each sum
    totals: Vector  # shape: (m,)
    margin: float  # 1, or 0 where the sums decide it


class ProblemBatch:
    """State of all problems during optimisation."""

    gives_sums = False  # whether it is of nu machines
    fewest_steps = 50_000  # before a problem is handed over: they take a few milliseconds

    def __init__(
        self, gram: Gram, problems: Sequence[SvmProblem], rule: StoppingRule, monitor: FitMonitor
    ) -> None:
        self.problems, self.monitor = StackedProblems.of(gram.segments, problems), monitor
        starts, rows, y, run_starts, runs, self._segments = self.problems.layout
        state = np.zeros((5, len(rows)))
        state[Y], state[DIAGONAL], state[BOX] = (
            y,
            gram.diagonal()[rows],
            self.problems.box_of_rows(),
        )
        np.negative(y, out=state[ERRORS])
        boxes, self.scales = (np.maximum.reduceat(state[r], starts[:-1]) for r in (BOX, DIAGONAL))
        self.tol, self.gaps = rule.tol, np.full(len(boxes), rule.gap)
        self.hard = np.isinf(boxes)
        with np.errstate(over="ignore"):
            sizes = boxes * np.maximum(self.scales, np.finfo(float).tiny)
        self.max_iter, self.nearly_hard = rule.max_iter, sizes > NEARLY_HARD
        self.largest = int(np.diff(starts).max())
        p = len(problems)
        whole, real = np.zeros((4, p), np.int64), np.empty((3, p))
        whole[LIMIT] = min(rule.max_iter, STEPS_AT_ONCE)
        real[TOL], real[VIOLATION], real[LARGEST_GAP] = rule.tol, np.inf, self.gaps
        work = np.empty((p, set_size(self.largest)), np.int64)
        self.certificates = np.zeros((6, p))
        self.arrays = Batch(
            starts, rows, state, run_starts, runs, whole, real, work, self.certificates
        )
        self.stop = np.full(p, "", dtype="U16")
        self.ends = np.full(p, NEVER)  # steps after which a problem is handed over, or given up
        self.may_hand_over = np.zeros(p, np.bool_)
        self.weights: dict[int, Vector] = {}  # of problems whose solver found them
        self._checked, self._dual = np.zeros(p, np.int64), np.full(p, -np.inf)
        self._ticks, self._ticks_of_each = np.zeros(p, np.int64), ticks_of(p)

    def segments(self, p: int) -> list[tuple[int, int, int]]:
        """The segments of a problem: number, start and stop among its rows."""
        own = slice(self.arrays.run_starts[p], self.arrays.run_starts[p + 1])
        cuts = self.arrays.runs[own, :2].tolist()
        return [(s, *cut) for s, cut in zip(self._segments[own].tolist(), cuts, strict=True)]

    def span(self, p: int) -> slice:
        """Where a problem's rows are."""
        return slice(self.arrays.starts[p], self.arrays.starts[p + 1])

    def warm_starts(self) -> Codes:
        """Set the initial coefficients of problems that have some; return those without errors."""
        state, start, errors = self.arrays.state, self.problems.start, self.problems.start_errors
        unknown: Codes = np.flatnonzero(self.problems.given & ~self.problems.known)
        if start is None:
            return unknown
        state[ALPHA] = start
        if errors is not None:
            state[ERRORS] = errors
        make_all_feasible(self.arrays.starts, unknown, state[Y], state[BOX], state[ALPHA])
        return unknown

    def hand_over_after(self, steps: Codes) -> None:
        """Let each problem make so many steps; one with NEVER makes LIBSVM's number, and gives up."""
        most = np.maximum(MOST_STEPS, MOST_STEPS_A_ROW * np.diff(self.arrays.starts))
        self.may_hand_over = steps != NEVER
        self.ends = np.where(self.may_hand_over, steps, most)
        limits = self.arrays.whole[LIMIT]
        np.minimum(limits, np.maximum(self.ends, 1), out=limits)
        self.stop[steps == 0] = HANDED_OVER

    def given_sums(self, p: int, y: Vector) -> GivenSums:
        """The sums of coefficients that a problem is given, of rows on these sides."""
        return GivenSums(y[:, None], np.zeros(1), 1.0)

    def forget_errors(self, p: int) -> None:
        """Set the errors of a problem to those without coefficients."""
        own = self.span(p)
        np.negative(self.arrays.state[Y, own], out=self.arrays.state[ERRORS, own])

    def open(self) -> Codes:
        """Problems that go on."""
        return np.flatnonzero(self.stop == "")

    def resume(self, p: int) -> None:
        """Go on with a problem that was handed over, as if no other solver could take it."""
        self.stop[p], self.may_hand_over[p] = "", False
        rows = int(np.diff(self.arrays.starts)[p])
        self.ends[p] = int(self.arrays.whole[STEPS, p]) + max(MOST_STEPS, MOST_STEPS_A_ROW * rows)
        self._limit(p)

    def polish(self, p: int) -> None:
        """Allow a problem that is solved but for rounding a few steps."""
        rows = int(np.diff(self.arrays.starts)[p])
        self.ends[p] = int(self.arrays.whole[STEPS, p]) + POLISHING * rows
        self.arrays.whole[COUNT, p] = 0
        self.arrays.real[TOL, p] = self.tol
        self._limit(p)

    def _limit(self, p: int) -> None:
        steps = int(self.arrays.whole[STEPS, p])
        at_once = steps // STEPS_AT_ONCE * STEPS_AT_ONCE + STEPS_AT_ONCE
        self.arrays.whole[LIMIT, p] = min(self.max_iter, at_once, int(self.ends[p]))

    def certify(self, chosen: Codes) -> None:
        """Write the certificates of some problems."""
        certify(self.arrays, chosen)

    def review(self, chosen: Codes) -> Codes:
        """Decide which of some problems are done and report progress; return those that go on."""
        whole, real = self.arrays.whole, self.arrays.real
        status = whole[STATUS, chosen]
        self.certify(chosen[(status == STUCK) | (status == PAUSED)])
        small = self.certificates[GAP, chosen] <= self.gaps[chosen]
        reached = status == REACHED
        done = reached & (small | (real[VIOLATION, chosen] == 0.0))
        early = chosen[reached & ~done]  # the gap asks for a smaller violation
        real[TOL, early] = 0.5 * real[VIOLATION, early]
        self.stop[chosen[done]] = "tol"
        stuck = chosen[status == STUCK]
        self.stop[stuck] = np.where(self.may_hand_over[stuck], HANDED_OVER, "stalled")
        paused = (status == PAUSED) | (whole[STEPS, chosen] >= whole[LIMIT, chosen])
        for p in chosen[paused & ~reached & (status != STUCK)].tolist():
            self._review_steps(p)
        if self.monitor.should_stop():
            self.stop[chosen[self.stop[chosen] == ""]] = "stopped"
        stopped = self.stop[chosen] != ""
        self._report_progress(chosen, stopped)
        left: Codes = chosen[~stopped]
        return left

    def results(self) -> Sequence[SvmFit]:
        """The fits, with their certificates computed afresh."""
        self.certify(np.arange(len(self.problems)))
        violations, gaps = self.certificates[LAST_VIOLATION], self.certificates[GAP]
        solved = (violations <= self.tol) & (gaps <= self.gaps)
        apart = violations < 2.0  # each sample is on its side; false of NaN, an overflow
        lost = self.hard & (self.stop == "stalled") & ~apart
        state = self.arrays.state
        return StackedFits(
            self.arrays.starts,
            (self.arrays.rows, state[Y], state[BOX], state[ALPHA], state[ERRORS]),
            self.certificates,
            self.arrays.whole[STEPS],
            np.where(solved, "tol", np.where(lost, "not separable", self.stop)),
            self.weights,
        )

    def _review_steps(self, p: int) -> None:
        """A problem has made as many steps as it may at once: does it still advance?"""
        steps = int(self.arrays.whole[STEPS, p])
        self.certify(np.array([p]))
        dual, square = self.certificates[DUAL, p], self.certificates[SQUARE, p]
        self._limit(p)
        total = self.arrays.state[ALPHA, self.span(p)].sum()
        with np.errstate(over="ignore", invalid="ignore"):
            # false of NaN, an overflow
            apart = 4.0 * square > NOT_SEPARABLE * self.scales[p] * total**2
        if self.nearly_hard[p] and not self.may_hand_over[p] and total != 0.0 and not apart:
            self.stop[p] = "not separable" if self.hard[p] else "stalled"
        elif steps >= self.max_iter:
            self.stop[p] = "max_iter"
        elif steps >= self.ends[p]:
            self.stop[p] = HANDED_OVER if self.may_hand_over[p] else "stalled"
        elif steps - self._checked[p] >= STEPS_PER_CHECK:
            if dual - self._dual[p] <= 1e-13 * abs(dual):  # rounding prevents the tolerance
                self.stop[p] = HANDED_OVER if self.may_hand_over[p] else "stalled"
            self._checked[p], self._dual[p] = steps, dual

    def _report_progress(self, chosen: Codes, stopped: Flags) -> None:
        due = stopped * self._ticks_of_each
        if self._ticks_of_each > 1:
            goals = np.minimum(self.tol, self.gaps[chosen])
            due = ticks_due(
                self.arrays.real[VIOLATION, chosen], goals, stopped, self._ticks_of_each
            )
        new = np.maximum(due - self._ticks[chosen], 0)
        self._ticks[chosen] += new
        self.monitor.step(int(new.sum()))
