"""Sequential minimal optimisation on the CPU: many binary problems over one Gram matrix.

A round of a problem takes a working set of 256 rows or more (half of the last one, half new
violators), solves the problem on those rows alone, and adds the kernel rows whose coefficients
changed to the errors of all rows. Over a held matrix each problem runs by itself, one per thread.
Otherwise all problems advance together: one product per segment computes the kernel rows that their
working sets need, and all problems use a row that one of them fetched.

References: Platt 1998; Fan, Chen and Lin, JMLR 6 (2005); Wen et al., ThunderSVM, JMLR 19 (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.svm.problem import (
    NOT_SEPARABLE,
    STEPS_PER_CHECK,
    RowLayout,
    StoppingRule,
    SvmFit,
    SvmProblem,
    distinct_layouts,
    make_feasible,
    ticks_due,
)
from separatrix.solvers.svm.working_set import (
    PADDING,
    add,
    begin_round,
    intercept,
    measure,
    objectives,
    rounds_on_held,
    solve_working_set,
)
from separatrix.types import Codes, Gram, HeldMatrix, Matrix, RowMatrix, Vector

WORKING_SET, LARGEST_SET = 256, 1024
ROWS_PER_SLOT = 20  # a problem with more rows than this for each slot gets a larger working set
SINGLE_TILE_ROWS = 512  # problems of up to this many rows are one tile
STEPS_AT_ONCE = 50_000  # of a tile, between two checks of the time limit
WORTH_THREADS = 2**20  # kernel values of all problems that take longer than starting threads
COLUMNS_AT_ONCE = 8192  # of an update that threads share


class AlphaStep(NamedTuple):
    """The coefficients that a round changed."""

    rows: Codes  # rows of the Gram
    steps: Vector  # change of alpha times y of each


class KernelRows(NamedTuple):
    """Kernel rows over one segment of columns."""

    K: Matrix
    slots: Codes  # shape: (n,); slot of each row of the Gram; valid for the rows that were fetched
    first_column: int  # the column of K that the segment begins at


FetchRows = Callable[[dict[int, Codes]], dict[int, KernelRows]]  # rows wanted of each segment


def solve_on_held(
    gram: HeldMatrix,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    threads: int,
) -> list[SvmFit]:
    """Solve every problem over a matrix in memory."""
    n = gram.shape[0]
    everything = np.arange(n)

    def fetch(wanted: dict[int, Codes]) -> dict[int, KernelRows]:
        return {s: KernelRows(gram.matrix, everything, gram.segments[s].start) for s in wanted}

    running = _subproblems(gram, problems, rule, monitor, n, SINGLE_TILE_ROWS)
    threads = _worthwhile_threads(running, threads)
    if len(running) >= threads or n <= COLUMNS_AT_ONCE:
        in_threads(
            lambda one: one.run(gram.matrix, fetch), running, threads=threads, monitor=monitor
        )
    else:
        _run_together(gram, fetch, running, n, threads, monitor)
    return [problem.result() for problem in running]


def solve_on_rows(
    gram: RowMatrix,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    threads: int,
) -> list[SvmFit]:
    """Solve every problem over a matrix that computes its rows when they are fetched."""

    def fetch(wanted: dict[int, Codes]) -> dict[int, KernelRows]:
        stored = {}
        for segment, rows in wanted.items():
            K, found = gram.fetch(rows, segment)
            slots = np.empty(gram.shape[0], dtype=np.int64)
            slots[rows] = found
            stored[segment] = KernelRows(K, slots, 0)
        return stored

    running = _subproblems(gram, problems, rule, monitor, gram.capacity, 0)
    threads = _worthwhile_threads(running, threads)
    _run_together(gram, fetch, running, gram.capacity, threads, monitor)
    return [problem.result() for problem in running]


def _subproblems(
    gram: Gram,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    capacity: int,
    single_tile: int,
) -> list[Subproblem]:
    layouts = distinct_layouts(gram, problems, gram.diagonal())
    return [
        Subproblem(
            problem,
            layouts[problem.sides.tobytes()],
            rule,
            monitor,
            capacity=capacity,
            single_tile=single_tile,
            dtype=gram.dtype,
        )
        for problem in problems
    ]


def _worthwhile_threads(running: Sequence[Subproblem], threads: int) -> int:
    values = sum(len(problem.rows) ** 2 for problem in running)
    return threads if values > WORTH_THREADS else 1


class Subproblem:
    """State of one problem during optimisation."""

    def __init__(
        self,
        problem: SvmProblem,
        layout: RowLayout,
        rule: StoppingRule,
        monitor: FitMonitor,
        *,
        capacity: int,  # rows that can be in memory together
        single_tile: int,  # problems of up to this many rows are one tile
        dtype: np.dtype[Any],
    ) -> None:
        self.segments, self.rows, self.cuts, self.shifts, self.y, self.diagonal, largest = layout
        self.problem, self.largest = problem, largest
        self.box = problem.box[self.rows]
        self.alpha: Vector = np.zeros(len(self.rows))
        self.errors: Vector = -self.y
        trained = np.flatnonzero(self.box)
        self.one_tile = len(trained) <= single_tile
        self.size = len(trained) if self.one_tile else min(_set_size(len(trained)), capacity)
        self.work, self.count = np.empty(self.size, dtype=np.int64), 0
        if self.one_tile:
            self.work[:], self.count = trained, self.size
        self.steps, self.kept = np.empty(self.size), 0
        self.tile = np.empty((0, 0), dtype)  # kernel values among the working rows
        scale = float(self.box.max()) * self.largest
        self.rule = rule.for_scale(scale)
        self.monitor, self.ticks = monitor, 0
        self.n_iter, self.violation, self.inner, self.stop = 0, np.inf, 0.0, ""
        self._checked, self._dual = 0, -np.inf

    def begin(self, fetch: FetchRows, capacity: int) -> None:
        """Set the initial coefficients and their errors."""
        start, errors = self.problem.start, self.problem.start_errors
        if start is None:
            return
        if errors is not None:
            self.alpha, self.errors = start.copy(), errors.copy()
            return
        self.alpha = make_feasible(start, self.y, self.box)
        support = np.flatnonzero(self.alpha)
        for part in row_blocks(len(support), capacity):
            some = support[part]
            self.changes = AlphaStep(self.rows[some], self.alpha[some] * self.y[some])
            stored = fetch(dict.fromkeys(self.segments, self.changes.rows))
            for s, lo, hi in self.pieces():
                self.update(stored[self.segments[s]], s, lo, hi)

    def run(self, K: Matrix, fetch: FetchRows) -> None:
        """Solve the problem over a matrix in memory."""
        self.begin(fetch, len(K))
        while not self.stop:
            self.count, made, self.violation, stuck = rounds_on_held(
                K, self.rows, self.cuts, self.shifts, self.diagonal,
                self.errors, self.y, self.alpha, self.box,
                self.work, self.count, self.size, self.one_tile,
                self.rule.tol, self.rule.gap, self._steps_left(), CHUNK,
            )  # fmt: skip
            self.after_round(made, stuck=stuck)

    def advance(self, gram: Gram) -> int:
        """Choose a working set and solve the problem on it; return the number of steps."""
        self.choose_rows()
        if self.count == 0:  # solved
            self.changes = AlphaStep(self.rows[:0], self.steps[:0])
            return 0
        self.fill_tile(gram)
        return self.solve()

    def choose_rows(self) -> None:
        """Choose the next working set; kernel values among rows that stay move to the tile's start."""
        before = self.count
        self.count, self.violation, self.inner = begin_round(
            self.errors, self.y, self.alpha, self.box, self.work, self.count,
            self.size, self.one_tile, self.rule.tol, self.rule.gap,
        )  # fmt: skip
        if not len(self.tile):
            self.tile = np.empty((self.size, self.size + PADDING), self.tile.dtype)
        self.kept = 0 if self.one_tile else min(before, self.size // 2)
        stay = slice(before - self.kept, before)
        self.tile[: self.kept, : self.kept] = self.tile[stay, stay].copy()

    def fill_tile(self, gram: Gram) -> None:
        """Compute the kernel values of the new rows with all working rows."""
        index = self.rows[self.work[: self.count]]
        new, old = slice(self.kept, self.count), slice(0, self.kept)
        values = gram.tile(index[new], index)
        self.tile[new, : self.count] = values
        self.tile[old, new] = values[:, old].T

    def solve(self) -> int:
        """Solve the problem on the working set; return the number of steps."""
        made: int = solve_working_set(
            self.tile, self.diagonal, self.errors, self.y, self.alpha, self.box,
            self.work, self.count, self.steps, self.inner, self._steps_left(),
        )  # fmt: skip
        moved = np.flatnonzero(self.steps[: self.count])
        self.changes = AlphaStep(self.rows[self.work[moved]], self.steps[moved])
        return made

    def pieces(self) -> Iterator[tuple[int, int, int]]:
        """Column ranges that threads can update independently: number of the segment, start, stop."""
        for s in range(len(self.segments)):
            for part in row_blocks(self.cuts[s + 1] - self.cuts[s], COLUMNS_AT_ONCE):
                yield s, self.cuts[s] + part.start, self.cuts[s] + part.stop

    def update(self, stored: KernelRows, s: int, lo: int, hi: int) -> None:
        """Add the changes to the errors of some columns."""
        rows, steps = self.changes
        shift = stored.first_column - self.cuts[s]
        add(self.errors, stored.K, stored.slots[rows], steps, len(rows), lo, hi, shift)

    def after_round(self, made: int, *, stuck: bool = False) -> None:
        """Count the steps, report progress, and decide whether this was the last round."""
        self.n_iter += made
        if self.count == 0 and self.violation < np.inf:  # else no round was begun
            self.stop = "tol"
        elif stuck or self._gains_nothing():
            self.stop = "stalled"
        elif self._not_separable():
            self.stop = "not separable"
        elif self.n_iter >= self.rule.max_iter:
            self.stop = "max_iter"
        elif self.monitor.should_stop():
            self.stop = "stopped"
        if self.stop:
            self.tile = np.empty((0, 0), self.tile.dtype)
        self._report_progress()

    def result(self) -> SvmFit:
        """The fit, with its certificate computed afresh."""
        state = (self.errors, self.y, self.alpha, self.box)
        bias = intercept(*state)
        primal, dual, square = objectives(*state, bias)
        violation, gap = measure(*state)
        if violation <= self.rule.tol and gap <= self.rule.gap:
            self.stop = "tol"
        return SvmFit(
            self.rows, self.y, self.box, self.alpha, self.errors,
            bias, violation, primal, dual, square, self.n_iter, self.stop,
        )  # fmt: skip

    def _steps_left(self) -> int:
        return min(self.rule.max_iter - self.n_iter, STEPS_AT_ONCE)

    def _square(self) -> float:
        return float(self.alpha @ (self.y * (self.errors + self.y)))

    def _gains_nothing(self) -> bool:
        """Whether the dual objective has stopped rising: rounding prevents the tolerance."""
        if self.n_iter - self._checked < STEPS_PER_CHECK:
            return False
        before, self._checked = self._dual, self.n_iter
        self._dual = float(self.alpha.sum()) - 0.5 * self._square()
        return self._dual - before <= 1e-13 * abs(self._dual)

    def _not_separable(self) -> bool:
        """Whether the convex hulls of the classes meet, up to rounding (hard margin only)."""
        if not np.isinf(self.box).any():
            return False
        least = NOT_SEPARABLE * self.largest * float(self.alpha.sum()) ** 2
        return 4.0 * self._square() <= least

    def _report_progress(self) -> None:
        """Step the monitor in proportion to the violation reached."""
        due = ticks_due(self.violation, min(self.rule.tol, self.rule.gap), bool(self.stop))
        while self.ticks < due:
            self.monitor.step()
            self.ticks += 1


def _set_size(n: int) -> int:
    """Size of the working set: larger if a round over all n rows costs more."""
    size = WORKING_SET
    while 2 * size <= min(LARGEST_SET, n // ROWS_PER_SLOT):
        size *= 2
    return size


def _groups(running: Sequence[Subproblem], capacity: int) -> Iterator[list[Subproblem]]:
    """Problems whose working sets fit in memory together."""
    group: list[Subproblem] = []
    for problem in running:
        if group and sum(other.size for other in group) + problem.size > capacity:
            yield group
            group = []
        group.append(problem)
    yield group


def _run_together(
    gram: Gram,
    fetch: FetchRows,
    running: Sequence[Subproblem],
    capacity: int,
    threads: int,
    monitor: FitMonitor,
) -> None:
    """Advance all problems round by round, as many at a time as fit in memory."""
    for problem in running:
        problem.begin(fetch, capacity)
    for active in _groups(running, capacity):
        while active:
            with blas_on_one_thread() if len(active) > 1 else nullcontext():
                made = in_threads(
                    lambda problem: problem.advance(gram), active, threads=threads, monitor=monitor
                )
            _update_errors(fetch, active, threads, monitor)
            for problem, steps in zip(active, made, strict=True):
                problem.after_round(steps, stuck=steps == 0 and problem.count > 0)
            active = [problem for problem in active if not problem.stop]


def _update_errors(
    fetch: FetchRows, active: list[Subproblem], threads: int, monitor: FitMonitor
) -> None:
    """Add the kernel rows whose coefficients changed to the errors of all problems."""
    wanted: dict[int, list[Codes]] = {}
    for problem in active:
        for segment in problem.segments:
            wanted.setdefault(segment, []).append(problem.changes.rows)
    stored = fetch({s: np.unique(np.concatenate(parts)) for s, parts in wanted.items()})

    def update(item: tuple[Subproblem, tuple[int, int, int]]) -> None:
        problem, (s, lo, hi) = item
        problem.update(stored[problem.segments[s]], s, lo, hi)

    pieces = [(problem, piece) for problem in active for piece in problem.pieces()]
    in_threads(update, pieces, threads=threads, monitor=monitor)
