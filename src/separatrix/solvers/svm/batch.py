"""Many binary support vector problems during optimisation: their state, stops, progress and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import (
    NOT_SEPARABLE,
    STEPS_PER_CHECK,
    StoppingRule,
    SvmFit,
    SvmProblem,
    make_feasible,
    ticks_due,
    ticks_of,
)
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BOX,
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
from separatrix.types import Codes, Flags, Gram, Vector

NEARLY_HARD = 1e14  # C times the largest k(x, x): more is a hard margin, as far as float64 can tell
STEPS_AT_ONCE = 50_000  # of a problem, between two checks that it still advances


class ProblemBatch:
    """State of all problems during optimisation."""

    def __init__(
        self, gram: Gram, problems: Sequence[SvmProblem], rule: StoppingRule, monitor: FitMonitor
    ) -> None:
        self.problems, self.monitor = problems, monitor
        starts, rows, y, run_starts, runs, self._segments = _lay_out(gram.segments, problems)
        state = np.zeros((5, len(rows)))
        state[Y], state[DIAGONAL] = y, gram.diagonal()[rows]
        self._write_box(state[BOX], starts, rows)
        np.negative(y, out=state[ERRORS])
        boxes, self.scales = (np.maximum.reduceat(state[r], starts[:-1]) for r in (BOX, DIAGONAL))
        self.gaps, self.tol = rule.gaps_for(boxes * self.scales), rule.tol
        self.max_iter = rule.max_iter
        self.hard, self.nearly_hard = np.isinf(boxes), boxes * self.scales > NEARLY_HARD
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
        self._checked, self._dual = np.zeros(p, np.int64), np.full(p, -np.inf)
        self._ticks, self._ticks_of_each = np.zeros(p, np.int64), ticks_of(p)

    def _write_box(self, out: Vector, starts: Codes, rows: Codes) -> None:
        """Write the upper bounds of all problems' rows; pairs of classes share theirs."""
        first = self.problems[0].box
        if all(problem.box is first for problem in self.problems):
            out[:] = first[rows]
            return
        for p, problem in enumerate(self.problems):
            own = slice(starts[p], starts[p + 1])
            out[own] = problem.box[rows[own]]

    def segments(self, p: int) -> list[tuple[int, int, int]]:
        """The segments of a problem: number, start and stop among its rows."""
        own = slice(self.arrays.run_starts[p], self.arrays.run_starts[p + 1])
        cuts = self.arrays.runs[own, :2].tolist()
        return [(s, *cut) for s, cut in zip(self._segments[own].tolist(), cuts, strict=True)]

    def span(self, p: int) -> slice:
        """Where a problem's rows are."""
        return slice(self.arrays.starts[p], self.arrays.starts[p + 1])

    def warm_starts(self) -> Iterator[int]:
        """Set the initial coefficients of problems that have some; yield those without errors."""
        state = self.arrays.state
        for p, problem in enumerate(self.problems):
            if problem.start is None:
                continue
            span = self.span(p)
            if problem.start_errors is not None:
                state[ALPHA, span], state[ERRORS, span] = problem.start, problem.start_errors
                continue
            state[ALPHA, span] = make_feasible(problem.start, state[Y, span], state[BOX, span])
            yield p

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
        self.stop[chosen[done]], self.stop[chosen[status == STUCK]] = "tol", "stalled"
        paused = (status == PAUSED) | (whole[STEPS, chosen] >= whole[LIMIT, chosen])
        for p in chosen[paused & ~reached & (status != STUCK)].tolist():
            self._review_steps(p)
        if self.monitor.should_stop():
            self.stop[chosen[self.stop[chosen] == ""]] = "stopped"
        stopped = self.stop[chosen] != ""
        self._report_progress(chosen, stopped)
        left: Codes = chosen[~stopped]
        return left

    def results(self) -> list[SvmFit]:
        """The fits, with their certificates computed afresh."""
        starts, rows, state = self.arrays.starts.tolist(), self.arrays.rows, self.arrays.state
        self.certify(np.arange(len(self.problems)))
        violations, gaps = self.certificates[LAST_VIOLATION], self.certificates[GAP]
        solved = (violations <= self.tol) & (gaps <= self.gaps)
        y, box, alpha, errors = state[Y], state[BOX], state[ALPHA], state[ERRORS]
        fits = []
        for p, certificate in enumerate(self.certificates.T.tolist()):
            bias, primal, dual, square, violation, _ = certificate
            own, stop = slice(starts[p], starts[p + 1]), "tol" if solved[p] else str(self.stop[p])
            fits.append(
                SvmFit(
                    rows[own],
                    y[own],
                    box[own],
                    alpha[own],
                    errors[own],
                    bias,
                    violation,
                    primal,
                    dual,
                    square,
                    int(self.arrays.whole[STEPS, p]),
                    stop,
                )
            )
        return fits

    def _review_steps(self, p: int) -> None:
        """A problem has made as many steps as it may at once: does it still advance?"""
        whole, steps = self.arrays.whole, int(self.arrays.whole[STEPS, p])
        self.certify(np.array([p]))
        dual, square = self.certificates[DUAL, p], self.certificates[SQUARE, p]
        whole[LIMIT, p] = min(self.max_iter, steps // STEPS_AT_ONCE * STEPS_AT_ONCE + STEPS_AT_ONCE)
        if self.nearly_hard[p] and 4.0 * square <= (
            NOT_SEPARABLE * self.scales[p] * self.arrays.state[ALPHA, self.span(p)].sum() ** 2
        ):
            self.stop[p] = "not separable" if self.hard[p] else "stalled"
        elif steps >= self.max_iter:
            self.stop[p] = "max_iter"
        elif steps - self._checked[p] >= STEPS_PER_CHECK:
            if dual - self._dual[p] <= 1e-13 * abs(dual):  # rounding prevents the tolerance
                self.stop[p] = "stalled"
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


def _lay_out(
    segments: tuple[slice, ...], problems: Sequence[SvmProblem]
) -> tuple[Codes, Codes, Vector, Codes, Codes, Codes]:
    """Starts, rows and sides of the problems one after another; their runs, and each run's segment."""
    sides = np.stack([problem.sides for problem in problems])
    owner, segment = np.nonzero(sides)
    first = np.array([part.start for part in segments])
    widths = np.array([part.stop for part in segments]) - first
    width = widths[segment]
    ends = np.cumsum(width)
    starts = np.append(0, ends)[np.searchsorted(owner, np.arange(len(problems) + 1))]
    begin = ends - width  # of each run among all rows
    rows = np.arange(ends[-1]) + np.repeat(first[segment] - begin, width)
    y = np.repeat(sides[owner, segment].astype(np.float64), width)
    inside = begin - starts[owner]
    runs = np.stack([inside, inside + width, first[segment] - inside], axis=1)
    return starts, rows, y, np.searchsorted(owner, np.arange(len(problems) + 1)), runs, segment
