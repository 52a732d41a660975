"""Support vector machines: many binary problems over one Gram matrix, advanced together.

A round of a problem takes 256 rows or more (half of the last ones, half new violators),
solves the problem on those alone, and adds the kernel rows whose coefficients changed to the error
of every row. Over a matrix in memory each problem runs by itself, one on each core. Otherwise all
problems move in step: the kernel rows that their working sets need are computed by one product for
each segment of columns, and a row that one problem brought in is there for all others.

References: Platt 1998; Fan, Chen and Lin, JMLR 6 (2005); Wen et al., ThunderSVM, JMLR 19 (2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.solvers.svm.working_set import (
    PADDING,
    ROUNDING,
    add,
    begin_round,
    intercept,
    measure,
    objectives,
    relative_gap,
    rounds_on_held,
    work_on,
)
from separatrix.types import Codes, Gram, Matrix, Signs, Vector

WORKING_SET, LARGEST_SET = 256, 1024
ROWS_PER_PLACE = 20  # problems with more rows than this for each place get a larger working set
SINGLE_TILE_ROWS = 512  # problems of up to this many rows are one tile
STEPS_AT_ONCE = 50_000  # of a tile, between two looks at the clock
WORTH_THREADS = 2**20  # kernel values of all problems that take longer than starting threads
COLUMNS_AT_ONCE = 8192  # of an update that is shared between cores
STEPS_PER_CHECK = 100_000  # between two looks at whether the objective still rises
GAP = 1e-3  # relative gap that stop="kkt" asks for beside the violation
LARGE = 1e3  # C k(x, x) up to which it does; beyond, small violations cost much
TICKS = 10  # of progress for each problem
NOT_SEPARABLE = 1e-12  # squared distance of two convex hulls, as a share of the largest k(x, x)


class SvmProblem(NamedTuple):
    """One binary problem: on which side each segment's rows lie, and how far each may go."""

    sides: Signs  # shape: (segments,); +1, -1, or 0 for rows that take no part
    box: Vector  # shape: (n,); upper bounds; 0: only scored, infinite: a hard margin
    start: Vector | None = None  # shape: (r,); coefficients to begin from
    start_errors: Vector | None = (
        None  # shape: (r,); their errors, where known; then start is feasible
    )


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
    stop: str  # "tol", "max_iter", "stalled", "stopped" or "not separable"

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return float(relative_gap(self.primal, self.dual))

    @property
    def margin_width(self) -> float:
        """2 / |w|: how far apart the two margins are."""
        return float(2.0 / np.sqrt(self.square)) if self.square > 0 else np.inf

    @property
    def scores(self) -> Vector:
        """Decision value of each of its rows, those with a box of 0 too, (r,)."""
        return self.errors + self.y + self.intercept


def solve_svms(
    gram: Gram,
    problems: Sequence[SvmProblem],
    *,
    tol: float = 1e-3,
    stop: str = "kkt",
    max_iter: int = -1,
    monitor: FitMonitor | None = None,
    threads: int = 1,
) -> list[SvmFit]:
    """Solve every problem to a violation ("kkt") or relative gap ("gap") of at most tol."""
    monitor = monitor or FitMonitor()
    most = np.iinfo(np.int64).max if max_iter < 0 else max_iter
    rule = (
        StoppingRule(np.inf, tol, most) if stop == "gap" else StoppingRule(tol, max(tol, GAP), most)
    )
    if gram.device is not None:
        from separatrix.solvers.svm.cuda import solve_in_lockstep

        return solve_in_lockstep(gram, problems, rule, monitor)
    diagonal = gram.diagonal()
    layouts: dict[bytes, Layout] = {}  # folds and values of C share them
    running = []
    for problem in problems:
        sides = problem.sides.tobytes()
        if sides not in layouts:
            layouts[sides] = Layout.of(gram, problem.sides, diagonal)
        running.append(Subproblem(gram, problem, layouts[sides], rule, monitor))
    if sum(len(problem.rows) ** 2 for problem in running) <= WORTH_THREADS:
        threads = 1
    if gram.held is not None and (len(running) >= threads or len(diagonal) <= COLUMNS_AT_ONCE):
        K = gram.held
        in_threads(
            lambda problem: problem.run_on(gram, K), running, threads=threads, monitor=monitor
        )
    else:
        for one in running:
            one.begin(gram)
        for group in _groups(running, gram.room):
            _run_in_step(gram, group, threads, monitor)
    return [problem.result() for problem in running]


class StoppingRule(NamedTuple):
    """When a problem is solved."""

    tol: float  # of the violation
    gap: float  # relative
    max_iter: int

    def for_box(self, scale: float) -> StoppingRule:
        """The rule for a problem whose C times its largest k(x, x) is `scale`."""
        return self if scale <= LARGE or self.tol == np.inf else self._replace(gap=np.inf)


class Layout(NamedTuple):
    """Where the rows of a problem lie in the Gram, and what they are."""

    segments: list[int]
    rows: Codes  # shape: (r,); rows of the Gram
    cuts: Codes  # where each segment begins among them, and the end
    shifts: Codes  # how much further on each segment lies in the Gram
    y: Vector  # shape: (r,); +1 or -1
    diagonal: Vector  # shape: (r,)
    largest: float  # of the diagonal

    @classmethod
    def of(cls, gram: Gram, sides: Signs, diagonal: Vector) -> Layout:
        """The rows of all segments on some side."""
        segments = np.flatnonzero(sides).tolist()
        runs = [gram.segments[s] for s in segments]
        rows = np.concatenate([np.arange(run.start, run.stop) for run in runs])
        cuts = np.cumsum([0, *(run.stop - run.start for run in runs)])
        shifts = np.array([run.start for run in runs]) - cuts[:-1]
        y = np.repeat(sides[segments].astype(np.float64), np.diff(cuts))
        own = diagonal[rows]
        return cls(segments, rows, cuts, shifts, y, own, float(own.max()))


class Subproblem:
    """One problem on its way."""

    def __init__(
        self,
        gram: Gram,
        problem: SvmProblem,
        layout: Layout,
        rule: StoppingRule,
        monitor: FitMonitor,
    ) -> None:
        self.segments, self.rows, self.cuts, self.shifts, self.y, self.diagonal, largest = layout
        self.problem, self.largest = problem, largest
        self.box = problem.box[self.rows]
        self.alpha: Vector = np.zeros(len(self.rows))
        self.errors: Vector = -self.y
        trained = np.flatnonzero(self.box)
        self.whole = len(trained) <= SINGLE_TILE_ROWS and gram.held is not None
        self.size = len(trained) if self.whole else min(_set_size(len(trained)), gram.room)
        self.work, self.count = np.empty(self.size, dtype=np.int64), 0
        if self.whole:
            self.work[:], self.count = trained, self.size
        self.steps, self.kept = np.empty(self.size), 0
        self.tile = np.empty((0, 0), gram.dtype)  # kernel values among the working rows
        scale = float(self.box.max()) * self.largest
        self.rule = rule.for_box(scale)
        self.monitor, self.ticks = monitor, 0
        self.n_iter, self.violation, self.inner, self.stop = 0, np.inf, 0.0, ""
        self._checked, self._dual = 0, -np.inf

    def begin(self, gram: Gram) -> None:
        """The coefficients to begin from, and their errors."""
        start, errors = self.problem.start, self.problem.start_errors
        if start is None:
            return
        if errors is not None:
            self.alpha, self.errors = start.copy(), errors.copy()
            return
        self.alpha = feasible(start, self.y, self.box)
        support = np.flatnonzero(self.alpha)
        for part in row_blocks(len(support), gram.room):
            some = support[part]
            self.changes = AlphaStep(self.rows[some], self.alpha[some] * self.y[some])
            stored = _rows_for(gram, [self])
            for s, lo, hi in self.pieces():
                self.update(stored[self.segments[s]], s, lo, hi)

    def run_on(self, gram: Gram, K: Matrix) -> None:
        """To the end, over a matrix in memory."""
        self.begin(gram)
        while not self.stop:
            self.count, made, self.violation, stuck = rounds_on_held(
                K, self.rows, self.cuts, self.shifts, self.diagonal,
                self.errors, self.y, self.alpha, self.box,
                self.work, self.count, self.size, self.whole,
                self.rule.tol, self.rule.gap, self._steps_left(), CHUNK,
            )  # fmt: skip
            self.after_round(made, stuck=stuck)

    def choose(self) -> None:
        """The rows to work on next; kernel values among those that stay move to the tile's beginning."""
        before = self.count
        self.count, self.violation, self.inner = begin_round(
            self.errors, self.y, self.alpha, self.box, self.work, self.count,
            self.size, self.whole, self.rule.tol, self.rule.gap,
        )  # fmt: skip
        if not len(self.tile):
            self.tile = np.empty((self.size, self.size + PADDING), self.tile.dtype)
        self.kept = 0 if self.whole else min(before, self.size // 2)
        stay = slice(before - self.kept, before)
        self.tile[: self.kept, : self.kept] = self.tile[stay, stay].copy()

    def fill_tile(self, gram: Gram) -> None:
        """Kernel values of the new rows with all working rows."""
        index = self.rows[self.work[: self.count]]
        new, old = slice(self.kept, self.count), slice(0, self.kept)
        values = gram.tile(index[new], index)
        self.tile[new, : self.count] = values
        self.tile[old, new] = values[:, old].T

    def solve(self) -> int:
        """Work on the chosen rows; the number of steps made."""
        made: int = work_on(
            self.tile, self.diagonal, self.errors, self.y, self.alpha, self.box,
            self.work, self.count, self.steps, self.inner, self._steps_left(),
        )  # fmt: skip
        moved = np.flatnonzero(self.steps[: self.count])
        self.changes = AlphaStep(self.rows[self.work[moved]], self.steps[moved])
        return made

    def pieces(self) -> Iterator[tuple[int, int, int]]:
        """Runs of columns that cores can update side by side: number of the segment, from, to."""
        for s in range(len(self.segments)):
            for part in row_blocks(self.cuts[s + 1] - self.cuts[s], COLUMNS_AT_ONCE):
                yield s, self.cuts[s] + part.start, self.cuts[s] + part.stop

    def update(self, there: KernelRows, s: int, lo: int, hi: int) -> None:
        """Add the changes to the errors of some columns."""
        rows, steps = self.changes
        shift = there.first_column - self.cuts[s]
        add(self.errors, there.K, there.place[rows], steps, len(rows), lo, hi, shift)

    def after_round(self, made: int, *, stuck: bool = False) -> None:
        """Count, tell of progress, and decide whether this was the last round."""
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
        self._tell()

    def result(self) -> SvmFit:
        """What was found, measured once more."""
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
        """Whether the dual objective has stopped rising: numbers are too coarse for the tolerance."""
        if self.n_iter - self._checked < STEPS_PER_CHECK:
            return False
        before, self._checked = self._dual, self.n_iter
        self._dual = float(self.alpha.sum()) - 0.5 * self._square()
        return self._dual - before <= 1e-13 * abs(self._dual)

    def _not_separable(self) -> bool:
        """Whether the classes' convex hulls meet, as far as numbers can tell (hard margin only)."""
        if not np.isinf(self.box).any():
            return False
        least = NOT_SEPARABLE * self.largest * float(self.alpha.sum()) ** 2
        return 4.0 * self._square() <= least

    def _tell(self) -> None:
        """Steps of the watch as far as the problem has come."""
        due = ticks_due(self.violation, min(self.rule.tol, self.rule.gap), bool(self.stop))
        while self.ticks < due:
            self.monitor.step()
            self.ticks += 1


class AlphaStep(NamedTuple):
    """What a round changed."""

    rows: Codes  # rows of the Gram
    steps: Vector  # by how much alpha times y of each grew


class KernelRows(NamedTuple):
    """Kernel rows over one segment of columns."""

    K: Matrix
    place: (
        Codes  # shape: (n,); where each row of the Gram lies; good for the rows that were asked for
    )
    first_column: int  # the column of K that the segment begins at


def ticks_due(violation: Any, tol: Any, stopped: Any) -> Any:
    """Tenths of the way, in the logarithm, to the tolerance; all of them for a problem that stopped."""
    way = np.log(2.0 / np.clip(violation, 1e-300, 1e300)) / np.log(np.maximum(2.0 / tol, 1.1))
    due = np.minimum(TICKS - 1, (TICKS * np.maximum(0.0, way)).astype(np.int64))
    return np.where(stopped, TICKS, due)


def _set_size(n: int) -> int:
    """Rows to work on at a time: more where a round over all n rows costs more."""
    size = WORKING_SET
    while 2 * size <= min(LARGEST_SET, n // ROWS_PER_PLACE):
        size *= 2
    return size


def feasible(start: Vector, y: Vector, box: Vector) -> Vector:
    """Coefficients in the box with y'a = 0 that are near the given ones: the heavier side is scaled.

    >>> feasible(np.array([1.0, 3.0, 5.0]), np.array([1.0, 1.0, -1.0]), np.full(3, 2.0)).tolist()
    [0.6666666666666666, 1.3333333333333333, 2.0]
    """
    alpha = np.clip(start, 0.0, box)
    plus, minus = alpha[y > 0].sum(), alpha[y < 0].sum()
    if abs(plus - minus) <= ROUNDING * plus:  # scaling would take rows off their bounds for nothing
        return alpha
    if plus > minus:
        alpha[y > 0] *= minus / plus
    elif minus > plus:
        alpha[y < 0] *= plus / minus
    return alpha


def _groups(running: Sequence[Subproblem], room: int) -> Iterator[list[Subproblem]]:
    """Problems whose working sets can be at hand together."""
    group: list[Subproblem] = []
    for problem in running:
        if group and sum(other.size for other in group) + problem.size > room:
            yield group
            group = []
        group.append(problem)
    yield group


def _run_in_step(gram: Gram, active: list[Subproblem], threads: int, monitor: FitMonitor) -> None:
    """Problems a round at a time."""
    while active:
        in_threads(Subproblem.choose, active, threads=threads, monitor=monitor)
        for problem in active:
            if problem.count == 0:
                problem.after_round(0)
        active = [problem for problem in active if problem.count]
        for problem in active:
            problem.fill_tile(gram)
        made = in_threads(Subproblem.solve, active, threads=threads, monitor=monitor)
        _update_errors(_rows_for(gram, active), active, threads, monitor)
        for problem, steps in zip(active, made, strict=True):
            problem.after_round(steps, stuck=steps == 0)
        active = [problem for problem in active if not problem.stop]


def _update_errors(
    stored: dict[int, KernelRows], active: list[Subproblem], threads: int, monitor: FitMonitor
) -> None:
    """Bring all errors up to date with the changes of a round."""

    def update(item: tuple[Subproblem, tuple[int, int, int]]) -> None:
        problem, (s, lo, hi) = item
        problem.update(stored[problem.segments[s]], s, lo, hi)

    pieces = [(problem, piece) for problem in active for piece in problem.pieces()]
    in_threads(update, pieces, threads=threads, monitor=monitor)


def _rows_for(gram: Gram, active: Sequence[Subproblem]) -> dict[int, KernelRows]:
    """The kernel rows whose coefficients changed, over the segments that need them."""
    needed: dict[int, list[Codes]] = {}
    for problem in active:
        for segment in problem.segments:
            needed.setdefault(segment, []).append(problem.changes.rows)
    return _fetch(gram, {s: np.unique(np.concatenate(parts)) for s, parts in needed.items()})


def _fetch(gram: Gram, needed: dict[int, Codes]) -> dict[int, KernelRows]:
    n = gram.shape[0]
    if gram.held is not None:
        everywhere = np.arange(n)
        return {s: KernelRows(gram.held, everywhere, gram.segments[s].start) for s in needed}
    stored = {}
    for segment, rows in needed.items():
        K, slots = gram.fetch(rows, segment)
        place = np.empty(n, dtype=np.int64)
        place[rows] = slots
        stored[segment] = KernelRows(K, place, 0)
    return stored
