"""Sequential minimal optimisation on the CPU: many binary problems over one Gram matrix.

Over a matrix in memory each thread runs compiled rounds of its share of the problems (`working_set.py`).
Otherwise, and for a few large problems, all problems advance together: each one takes a larger working
set (half of the last one, half new violators), computes the kernel values among those rows, and solves
the problem on them; then one parallel product computes the kernel rows whose coefficients changed, and
threads share the update of the errors by columns. All problems use a row that one of them fetched.
Results do not depend on the number of threads.

References: Platt 1998; Fan, Chen and Lin, JMLR 6 (2005); Wen et al., ThunderSVM, JMLR 19 (2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.svm.batch import ProblemBatch
from separatrix.solvers.svm.problem import StoppingRule, SvmFit, SvmProblem
from separatrix.solvers.svm.takeover import steps_before, take_over
from separatrix.solvers.svm.working_set import (
    ALPHA,
    ERRORS,
    LIMIT,
    REACHED,
    RUNNING,
    STATUS,
    STEPS,
    STUCK,
    TOL,
    VIOLATION,
    Scratch,
    Y,
    add_rows,
    align_problem,
    begin_problems,
    choose_rows,
    solve_nu_tile,
    solve_problems,
    solve_tile,
)
from separatrix.types import Codes, Flags, Gram, HeldMatrix, Matrix, RowMatrix, Vector

WORKING_SET, LARGEST_SET = 256, 2048
ROUNDS = 12  # after which the working set of a hard problem doubles
ROWS_PER_SLOT = 20  # a problem with more rows than this for each slot gets a larger working set
PADDING = 16  # unused columns of a tile: its rows must not all map to the same cache lines
WORTH_THREADS = 2**18  # multiply-adds, or kernel values, that are worth another thread
SHORT = 2**25  # kernel values of problems that take no time to speak of
SHARES = 3  # of the problems, for each thread: the last ones even out
FEW_ACTIVE, TILE_ROWS = 4, 128  # fewer problems have threads left for the rows of their tiles
FEW_PROBLEMS, LARGE_PROBLEM = 16, 4096  # fewer problems of more rows are shared by all threads
COLUMNS_AT_ONCE, PIECES = (
    1024,
    64,
)  # least columns of a piece of an update; pieces that threads share


class AlphaStep(NamedTuple):
    """The coefficients that a round changed; the arrays end with three unused entries."""

    rows: Codes  # rows of the Gram
    steps: Vector  # change of alpha times y of each

    @classmethod
    def of(cls, rows: Codes, steps: Vector) -> AlphaStep:
        """The changes other than 0."""
        moved = np.flatnonzero(steps)
        return cls(
            np.append(rows[moved], rows[moved[:1]].repeat(3)), np.append(steps[moved], [0.0] * 3)
        )

    @property
    def size(self) -> int:
        """Number of changes."""
        return max(0, len(self.rows) - 3)


NO_CHANGE = AlphaStep.of(np.empty(0, np.int64), np.empty(0))


class KernelRows(NamedTuple):
    """Kernel rows over one segment of columns."""

    K: Matrix
    slots: Codes  # shape: (n,); slot of each row of the Gram; valid for the rows that were fetched
    first_column: int  # the column of K that the segment begins at


MakeBatch = Callable[[Gram, Sequence[SvmProblem], StoppingRule, FitMonitor], ProblemBatch]
FetchRows = Callable[[dict[int, Codes]], dict[int, KernelRows]]  # rows wanted of each segment


def solve_on_held(
    gram: HeldMatrix,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    threads: int,
    make: MakeBatch = ProblemBatch,
) -> Sequence[SvmFit]:
    """Solve every problem over a matrix in memory."""
    n, fetch = gram.shape[0], fetch_held(gram)
    batch = make(gram, problems, rule, monitor)
    threads = worthwhile_threads(batch, threads)
    _begin_on_held(gram, batch, threads, batch.warm_starts())
    short = _values(batch) <= SHORT

    def solve() -> None:
        if len(problems) < FEW_PROBLEMS and batch.largest >= LARGE_PROBLEM:
            run_together(gram, fetch, batch, n, threads)
        while len(batch.open()):
            shares = _shares(batch, SHARES * threads if threads > 1 else 1)
            in_threads(run, shares, threads=threads, monitor=monitor)
            if short:
                batch.review(batch.open())

    def run(chosen: Codes) -> None:
        scratch = Scratch.of(batch.arrays.work.shape[1], batch.largest)
        while len(chosen):
            sums = True if batch.gives_sums else None  # None compiles to a loop without them
            solve_problems(gram.matrix, batch.arrays, chosen, scratch, CHUNK, sums)
            if short and np.all(batch.arrays.whole[STATUS, chosen] == REACHED):
                return  # all problems are reviewed at once
            chosen = batch.review(chosen)

    rescore = partial(_begin_on_held, gram, batch, threads)
    _finish(gram, batch, solve, rescore, threads, batch.arrays.work.shape[1])
    return batch.results()


def solve_on_rows(
    gram: RowMatrix,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    threads: int,
    make: MakeBatch = ProblemBatch,
) -> Sequence[SvmFit]:
    """Solve every problem over a matrix that computes its rows when they are fetched."""
    batch, fetch = make(gram, problems, rule, monitor), fetch_computed(gram)
    with blas_on_one_thread():
        begin(batch, fetch, gram.capacity, batch.warm_starts())
        threads_of_rounds = worthwhile_threads(batch, threads)
        _finish(
            gram,
            batch,
            lambda: run_together(gram, fetch, batch, gram.capacity, threads_of_rounds),
            partial(begin, batch, fetch, gram.capacity),
            threads,
            LARGEST_SET,
        )
    return batch.results()


def fetch_held(gram: HeldMatrix) -> FetchRows:
    """Fetch rows of a matrix in memory: all of them are there."""
    everything = np.arange(gram.shape[0])

    def fetch(wanted: dict[int, Codes]) -> dict[int, KernelRows]:
        return {s: KernelRows(gram.matrix, everything, gram.segments[s].start) for s in wanted}

    return fetch


def fetch_computed(gram: RowMatrix) -> FetchRows:
    """Fetch rows of a matrix that computes them."""

    def fetch(wanted: dict[int, Codes]) -> dict[int, KernelRows]:
        stored = {}
        for segment, (K, found) in gram.fetch_many(wanted).items():
            slots = np.empty(gram.shape[0], dtype=np.int64)
            slots[wanted[segment]] = found
            stored[segment] = KernelRows(K, slots, 0)
        return stored

    return fetch


def _finish(
    gram: Gram,
    batch: ProblemBatch,
    solve: Callable[[], None],
    rescore: Callable[[Codes], None],
    threads: int,
    set_size: int,
) -> None:
    """Solve all problems: those of too many steps by the interior-point method."""
    sizes = np.diff(batch.arrays.starts)
    batch.hand_over_after(steps_before(gram, sizes, set_size, batch.fewest_steps, batch.hard))
    solve()
    if take_over(gram, batch, rescore, threads):
        solve()


def begin(batch: ProblemBatch, fetch: FetchRows, capacity: int, chosen: Codes) -> None:
    """Compute the errors of some problems from their coefficients."""
    for p in chosen.tolist():
        first, alpha = batch.arrays.starts[p], batch.arrays.state[ALPHA, batch.span(p)]
        support = np.flatnonzero(alpha)
        for part in row_blocks(len(support), capacity):
            some = support[part] + first
            steps = batch.arrays.state[ALPHA, some] * batch.arrays.state[Y, some]
            change = AlphaStep.of(batch.arrays.rows[some], steps)
            own = [s for s, _, _ in batch.segments(p)]
            stored = fetch(dict.fromkeys(own, change.rows[: change.size]))
            for piece in _pieces(batch, p, COLUMNS_AT_ONCE):
                _update(batch, p, change, stored, *piece)


def _begin_on_held(gram: HeldMatrix, batch: ProblemBatch, threads: int, chosen: Codes) -> None:
    """`begin` over a matrix in memory."""

    def run(chosen: Codes) -> None:
        size = batch.largest + 3
        begin_problems(gram.matrix, batch.arrays, chosen, np.zeros(size, np.int64), np.zeros(size))

    in_threads(run, np.array_split(chosen, threads) if len(chosen) else (), threads=threads)


def _values(batch: ProblemBatch) -> int:
    """Kernel values of all problems."""
    return int(np.sum(np.square(np.diff(batch.arrays.starts), dtype=np.float64)))


def worthwhile_threads(batch: ProblemBatch, threads: int) -> int:
    """Threads that the problems are large enough for."""
    return max(1, min(threads, _values(batch) // max(1, WORTH_THREADS)))


def _shares(batch: ProblemBatch, count: int) -> Iterator[Codes]:
    """The problems in shares of about equal work, at most `count`.

    Problems on the same rows, as those of several folds, follow each other: the rows are in cache then.
    """
    first, last = batch.arrays.run_starts[:-1], batch.arrays.run_starts[1:] - 1
    begin, end = (batch.arrays.runs[at].sum(axis=1) for at in (first, last))
    order = np.lexsort((end, begin))
    work = np.cumsum(np.square(np.diff(batch.arrays.starts), dtype=np.float64)[order])
    edges = np.searchsorted(work, work[-1] * np.arange(1, count) / count) + 1
    for part in np.split(order, edges):
        part = part[batch.stop[part] == ""]
        if len(part):
            yield part


class WorkingSet:
    """The working set of a problem that advances together with others, and its kernel values."""

    def __init__(
        self, batch: ProblemBatch, p: int, capacity: int, most: int, dtype: np.dtype[Any]
    ) -> None:
        self.batch, self.p = batch, p
        self.first, n = int(batch.arrays.starts[p]), int(np.diff(batch.arrays.starts)[p])
        self.taken = np.zeros(n, np.int8)
        self.count, self.rounds, self.changes = 0, 0, NO_CHANGE
        self.largest = min(LARGEST_SET, n, most)
        self._allocate(min(_set_size(n), n, capacity), dtype)

    def _allocate(self, size: int, dtype: np.dtype[Any]) -> None:
        self.size = size
        self.work = np.empty(size, np.int64)
        self.keys, self.found = np.empty(size), np.empty(size, np.int64)
        self.tile = np.empty((size, size + PADDING), dtype)
        self.state = np.empty((8, size))

    def _grow(self) -> None:
        """Double the working set."""
        work, tile, count = self.work, self.tile, self.count
        self._allocate(min(2 * self.size, self.largest), tile.dtype)
        self.work[:count], self.tile[:count, :count] = work[:count], tile[:count, :count]

    def advance(self, gram: Gram, alone: int) -> None:
        """Choose the next working set and solve the problem on it, unless it is solved already."""
        (_, rows, state, _, _, whole, real, *_), p = self.batch.arrays, self.p
        self.rounds += 1
        if self.rounds % ROUNDS == 0 and self.size < self.largest:
            self._grow()
        before = self.count
        real[VIOLATION, p] = violation = self.choose()
        self.changes = NO_CHANGE
        if violation <= real[TOL, p]:
            self.batch.certify(np.array([p]))
            whole[STATUS, p] = REACHED
            self.taken[:], self.count = 0, 0  # the tile has no values of these rows
            return
        at = self.first + self.work[: self.count]
        kept = min(before, self.size // 2)
        tol = max(0.1 * violation, 0.5 * real[TOL, p])
        if self.count == len(self.taken):  # all rows, in their own order
            kept = before if before == self.count else 0
            tol = 0.9 * real[TOL, p]
        self._fill_tile(gram, rows[at], kept, before, alone=alone)
        inner = self.state
        inner[: len(state), : self.count] = state[:, at]
        made = self.solve(tol, whole[LIMIT, p] - whole[STEPS, p])
        whole[STEPS, p] += made
        whole[STATUS, p] = RUNNING if made else STUCK
        alpha = inner[ALPHA, : self.count]
        self.changes = AlphaStep.of(rows[at], (alpha - state[ALPHA, at]) * state[Y, at])
        state[ALPHA, at] = alpha

    def choose(self) -> float:
        """Choose the next working set; return the violation over all rows."""
        self.two_sums = self.batch.gives_sums and align_problem(self.batch.arrays, self.p)
        self.count, top, bottom = choose_rows(
            self.batch.arrays.state, self.first, len(self.taken), self.work, self.count, self.size,
            self.taken, self.found, self.keys,
        )  # fmt: skip
        return float(max(top - bottom, 0.0))

    def solve(self, tol: float, most_steps: int) -> int:
        """Make steps on the working set; return their number."""
        solve = solve_nu_tile if self.two_sums else solve_tile
        return int(solve(self.tile, self.state, self.count, tol, most_steps))

    def _fill_tile(self, gram: Gram, index: Codes, kept: int, before: int, *, alone: int) -> None:
        """Compute kernel values of the new rows with all; those among rows that stay move to the start.

        With `alone` threads for itself, it computes some rows in each.
        """
        stay = slice(before - kept, before)
        self.tile[:kept, :kept] = self.tile[stay, stay].copy()

        def fill(part: slice) -> None:
            rows = slice(kept + part.start, kept + part.stop)
            values = gram.tile(index[rows], index)
            self.tile[rows, : self.count] = values
            self.tile[:kept, rows] = values[:, :kept].T

        new = self.count - kept
        in_threads(
            fill, row_blocks(new, TILE_ROWS if alone else max(1, new)), threads=max(1, alone)
        )


def _set_size(n: int) -> int:
    """Size of the working set: larger if a round over all n rows costs more."""
    size = WORKING_SET
    while 2 * size <= min(LARGEST_SET // 2, n // ROWS_PER_SLOT):
        size *= 2
    return size


def _groups(
    batch: ProblemBatch, sets: Sequence[WorkingSet], capacity: int
) -> Iterator[list[WorkingSet]]:
    """Problems whose working sets fit in memory together: `capacity` rows of each segment."""
    group: list[WorkingSet] = []
    rows: Counter[int] = Counter()
    for one in sets:
        own = [segment for segment, _, _ in batch.segments(one.p)]
        if group and max(rows[segment] for segment in own) + one.size > capacity:
            yield group
            group, rows = [], Counter()
        group.append(one)
        rows.update(dict.fromkeys(own, one.size))
    yield group


def run_together(
    gram: Gram,
    fetch: FetchRows,
    batch: ProblemBatch,
    capacity: int,
    threads: int,
) -> None:
    """Advance all problems round by round, as many at a time as fit in memory."""
    everything = batch.open().tolist()
    if not everything:
        return
    uses = Counter(segment for p in everything for segment, _, _ in batch.segments(p))
    most = capacity // max(uses.values())
    sets = [WorkingSet(batch, p, capacity, most, gram.dtype) for p in everything]
    for active in _groups(batch, sets, capacity):
        while active:
            alone = threads if len(active) < FEW_ACTIVE else 0
            in_threads(
                lambda one, alone=alone: one.advance(gram, alone),  # type: ignore[misc]
                active,
                threads=threads,
                monitor=batch.monitor,
            )
            _update_errors(fetch, batch, active, gram.shape[0], threads)
            left = set(batch.review(np.array([one.p for one in active])).tolist())
            active = [one for one in active if one.p in left]


def _update_errors(
    fetch: FetchRows, batch: ProblemBatch, active: list[WorkingSet], n: int, threads: int
) -> None:
    """Add the kernel rows whose coefficients changed to the errors of all problems."""
    active = [one for one in active if one.changes.size]
    wanted: dict[int, Flags] = {}
    for one in active:
        for segment, _, _ in batch.segments(one.p):
            rows = wanted.setdefault(segment, np.zeros(n, np.bool_))
            rows[one.changes.rows] = True
    stored = fetch({segment: np.flatnonzero(rows) for segment, rows in wanted.items()})
    columns = sum(len(one.taken) for one in active)
    at_once = max(COLUMNS_AT_ONCE, columns // PIECES)
    pieces = [(one, piece) for one in active for piece in _pieces(batch, one.p, at_once)]
    work = sum(one.changes.size * len(one.taken) for one in active)
    in_threads(
        lambda item: _update(batch, item[0].p, item[0].changes, stored, *item[1]),
        pieces,
        threads=max(1, min(threads, work // max(1, WORTH_THREADS))),
        monitor=batch.monitor,
    )


def _pieces(batch: ProblemBatch, p: int, at_once: int) -> Iterator[tuple[int, int, int, int]]:
    """Column ranges that threads can update independently: segment, its start in the problem, range."""
    for segment, start, stop in batch.segments(p):
        for part in row_blocks(stop - start, at_once):
            yield segment, start, start + part.start, start + part.stop


def _update(
    batch: ProblemBatch,
    p: int,
    changes: AlphaStep,
    stored: dict[int, KernelRows],
    segment: int,
    start: int,
    lo: int,
    hi: int,
) -> None:
    """Add the changes to the errors of some columns of a problem."""
    first = batch.arrays.starts[p]
    K, slots, first_column = stored[segment]
    out = batch.arrays.state[ERRORS, first + lo : first + hi]
    shift = first_column - start
    add_rows(out, K, slots[changes.rows], changes.steps, changes.size, lo + shift, hi + shift)
