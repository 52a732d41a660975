"""Support vector machines on a GPU whose kernel matrix does not fit: solved on chunks of the rows.

A chunk is the union of all support vectors and of the rows that violate the optimality conditions, of
all problems that are not solved yet. Its own kernel matrix is small enough to be held, or nearly, and the
problems on it are solved as `cuda.py` does. Then the errors of the other rows are brought up to date: tiles
of kernel values of changed rows with all others, each used once and never stored. Three things keep these
tiles few:

levels      the first chunks come from an even sample of each class, then from four times as many rows,
            up to all: most support vectors are found where a look at all rows is cheap
shrinking   once all rows of a level were looked at, those far from violating are left out, until no other
            row violates; then their errors are brought up to date and they are looked at again
pairs       only rows that changed in a problem are multiplied with the rows of that problem's segments

Termination: a chunk holds every row with a coefficient and the worst violators, so its solution raises
the dual objective, as in `cuda.py`; the result is that of all rows, to the same tolerance.

References: Vapnik, Estimation of Dependences Based on Empirical Data (1982), chunking; Joachims, Making
Large-Scale SVM Learning Practical (1999), shrinking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from separatrix.runtime.device import as_numpy, free_bytes, release_unused, wait_for
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.cuda import DeviceBatch, _relative_gaps, solve_in_groups
from separatrix.solvers.svm.cuda_rows import BatchRows, ViolationKeys, objectives
from separatrix.solvers.svm.problem import StoppingRule, SvmFit, SvmProblem
from separatrix.types import Codes, Flags, Vector

Tensor = Any
LEAST_CACHED = (
    8  # one kernel row in so many must fit for a cache of rows: fewer are computed too often
)
FIRST_LEVEL = 32_768  # rows of the first level, at least
GROWTH = 4  # of the rows from level to level
SHARE = 0.03  # of the violation, to which a chunk is solved: 1,000,000 rows take a fifth longer with 0.1
LEVEL_TOL = 0.05  # violation at which the next level is looked at
MOST_RECOMPUTED = 16  # a chunk's matrix may take so many times the memory: its rows are then cached
TEMPORARY_ARRAYS = 12  # of float64, for each row of each problem, while rows are looked at
NEAR = 0.25  # errors by which a row may miss a violation and is still looked at
MOST_UNUSED = 0.25  # of the device's memory, kept for the matrices of later chunks
COPIED_ARRAYS = 3  # of float64, for each row of each problem, that a solution consists of
BYTES_PER_SECOND = 2**30  # at which they are copied to new memory: 1.2 times that beside an H200
UNLIMITED = np.iinfo(np.int64).max


def solve_on_device(
    gram: Any, problems: Sequence[SvmProblem], rule: StoppingRule, monitor: FitMonitor
) -> list[SvmFit]:
    """Solve every problem over a `DeviceGram`: at once if the matrix nearly fits, else in chunks.

    A limit on the number of steps, a gap as the only tolerance and hard margins need the order of steps
    over all rows: then kernel rows are cached instead.
    """
    plain = (
        gram.complete
        or gram.capacity * LEAST_CACHED >= gram.shape[0]
        or rule.tol == np.inf
        or rule.max_iter < UNLIMITED
        or any(np.isinf(problem.box).any() for problem in problems)
    )
    return solve_in_groups(gram, problems, rule, monitor, DeviceBatch if plain else ChunkedBatch)


class ChunkedBatch(DeviceBatch):
    """State of a batch of problems that are solved in chunks of rows."""

    near: Tensor  # shape: (n,); rows whose errors are up to date
    level: Tensor  # shape: (n,); rows of the levels so far
    left_at: Tensor  # shape: (p, r + 1); coefficients in the errors of rows of the level that are not near
    _pairs_per_second = 0.0  # kernel values of tiles, the most so far
    _least_seconds = np.inf  # for which errors were brought up to date, so far
    _late = False

    def run(self) -> list[SvmFit]:
        """Chunks until every problem has stopped."""
        started = any(problem.start is not None for problem in self.problems)
        self.stride = 1 if started else _first_stride(self.gram.shape[0])
        self.level = self._rows_of_level()
        self.near, self.left_at = self.level.clone(), self.all.b
        while True:
            keys = self._keys()
            violation = as_numpy(keys.violation)
            going = self._going(violation)
            if self._is_late() or not going.any():
                if self._widen():
                    continue
                self.stop[self.stop == ""] = "tol"
                self.stop[going] = "stopped"
                self._report_progress(np.arange(len(going)), violation)
                return self._fits()
            if self.stride == 1:
                self._report_progress(np.arange(len(going)), violation)
            groups = self._groups(keys, np.flatnonzero(going))
            if groups is None:  # support vectors alone do not fit
                while self._widen():
                    pass
                return super().run()
            self._solve_chunks(groups, violation)

    def _is_late(self) -> bool:
        """Whether the time left is only enough to bring the errors of all rows up to date."""
        left = self.monitor.seconds_left()
        self._late |= self.monitor.should_stop()
        if left < np.inf:
            support = torch.zeros_like(self.near)
            support[self.layouts.columns[self.layout].long()[self.all.b != 0]] = True
            out = self.gram.shape[0] - int(self.near.sum())
            self._late |= left <= self._seconds_to_finish(int(support.sum()) * out)
        return self._late

    def _seconds_to_finish(self, pairs: int) -> float:
        """Seconds for so many kernel values, which bring errors up to date, and to copy the result."""
        copies = COPIED_ARRAYS * 8 * int(self.all.b.numel()) / BYTES_PER_SECOND
        if not self._pairs_per_second:
            return copies
        return copies + pairs / self._pairs_per_second + 2 * self._least_seconds

    def _rows_of_level(self) -> Tensor:
        """One row in `stride` of each segment, (n,)."""
        rows = torch.zeros(self.gram.shape[0], dtype=torch.bool, device=self.gram.device)
        for segment in self.gram.segments:
            rows[segment.start : segment.stop : self.stride] = True
        return rows

    def _own(self, rows: Tensor) -> Tensor:
        """Flags of rows of the matrix as flags of the rows of each problem, (p, r + 1)."""
        return rows[self.layouts.columns[self.layout].long()]

    def _keys(self) -> ViolationKeys:
        """Violations of the rows that are near."""
        keys, known = ViolationKeys.of(self.all), self._own(self.near)
        up, down = (torch.where(known, key, -torch.inf) for key in (keys.up, keys.down))
        return ViolationKeys(up, down, up.amax(dim=1), -down.amax(dim=1))

    def _above(self, keys: ViolationKeys) -> Tensor:
        """By how much each row is inside its margin, (p, r + 1), with the intercept of free rows.

        The intercept lies between the violations of the worst rows, so that one of them is above 0 or free.
        """
        b, low, high, F, _ = self.all
        free = (b > low) & (b < high)
        mean = -torch.where(free, F, 0.0).sum(dim=1) / free.sum(dim=1).clamp_min(1)
        bias = torch.where(free.any(dim=1), mean, 0.5 * (keys.top + keys.bottom))[:, None]
        return torch.maximum(keys.up - bias, keys.down + bias)

    def _going(self, violation: Vector) -> Flags:
        """Problems that are not solved yet on the rows that are near; gaps are of all rows."""
        going = violation > (self.rule.tol if self.stride == 1 else max(self.rule.tol, LEVEL_TOL))
        if bool(self.near.all()):
            close = self._wants_gap(np.arange(len(going)), ~going) & (violation > 0)
            if close.any():
                _, primal, dual, _ = (as_numpy(part) for part in objectives(self.all))
                going |= close & (_relative_gaps(primal, dual) > self.gaps)
        found: Flags = going & (self.stop == "")
        return found

    def _widen(self) -> bool:
        """Look at rows that were left out, or at those of the next level; False if there are none."""
        if self._catch_up():
            return True
        if self.stride == 1:
            return False
        self.stride = 1 if self._late else max(1, self.stride // GROWTH)
        level = self._rows_of_level() | self.level
        self._advance(self.all.F, level & ~self.level, self.all.b)
        self.level, self.near = level, level.clone()
        return True

    def _catch_up(self) -> bool:
        """Bring the errors of rows that were left out up to date; whether there were any."""
        out = self.level & ~self.near
        if not bool(out.any()):
            return False
        self._advance(self.all.F, out, self.all.b - self.left_at)
        self.near = self.level.clone()
        return True

    def _groups(self, keys: ViolationKeys, going: Codes) -> list[tuple[Codes, Tensor]] | None:
        """Problems that are solved together, and the rows of their chunk, (n,); None if one does not fit.

        A group has all problems, or as many as leave room for a complete kernel matrix: in a cache of rows
        one problem's rows would evict those of the others, over and over.
        """
        above, fitting = self._above(keys), self.gram.largest_part(self._memory(), 1)
        chunk = self._choose_chunk(keys, above, going)
        if chunk is not None and (len(going) == 1 or int(chunk.sum()) <= fitting):
            return [(going, chunk)]
        groups: list[tuple[Codes, Tensor]] = []
        for number in going[:, None]:
            chunk = self._choose_chunk(keys, above, number)
            if chunk is None:
                return None
            if groups and int((together := groups[-1][1] | chunk).sum()) <= fitting:
                groups[-1] = np.append(groups[-1][0], number), together
            else:
                groups.append((number, chunk))
        return groups

    def _choose_chunk(self, keys: ViolationKeys, above: Tensor, going: Codes) -> Tensor | None:
        """Rows with coefficients, and violators, of some problems, (n,); None if they do not fit."""
        some = self._on(going)
        columns = self.layouts.columns[self.layout[some]].long()
        chunk = torch.zeros(self.gram.shape[0], dtype=torch.bool, device=self.gram.device)
        chunk[columns[self.all.b[some] != 0]] = True
        room = self.gram.largest_part(self._memory(), MOST_RECOMPUTED) - int(chunk.sum())
        if room < min(2 * self.w, self.gram.shape[0]):
            return None
        above = above[some]
        violators = chunk.clone()
        violators[columns[above > 0]] = True
        if int(violators.sum()) - int(chunk.sum()) <= room:
            return violators
        each = max(1, room // (2 * len(going)))  # of both sides: each problem has a step to make
        for key in (keys.up[some], keys.down[some]):
            key = torch.where(above > 0, key, -torch.inf)
            worst = torch.topk(key, min(each, key.shape[1]), dim=1, sorted=False)
            chunk[columns.gather(1, worst.indices)[worst.values > -torch.inf]] = True
        return chunk

    def _memory(self) -> int:
        """Bytes for the kernel values of a chunk; tiles and temporary state need the rest."""
        state = 8 * TEMPORARY_ARRAYS * int(self.all.b.numel())
        return min(int(self.gram.budget), max(0, free_bytes(self.gram.device) - state) * 4 // 5)

    def _solve_chunks(self, groups: list[tuple[Codes, Tensor]], violation: Vector) -> None:
        """Solve problems on the rows of their chunks, and bring the errors of near rows up to date."""
        going = np.concatenate([problems for problems, _ in groups])
        rule, before = _chunk_rule(self.rule, violation[going]), self.all.b.clone()
        for problems, chunk in groups:
            rows = torch.nonzero(chunk)[:, 0]
            for number, fit in zip(problems, self._fits_of(rows, problems, rule), strict=True):
                at = rows[self._on(fit.rows)]
                self.all.b[number, self._positions(number, at)] = self._on(fit.y * fit.alpha)
                self.n_iter[number] += fit.n_iter
                self._late |= fit.stop == "stopped"
                idle = not fit.n_iter and violation[number] > rule.tol and not self._late
                if fit.stop == "stalled" or idle:
                    self.stop[number] = "stalled"
        self._advance(self.all.F, self.near, self.all.b - before)
        if bool((self.near == self.level).all()):
            self._shrink(max(int(chunk.sum()) for _, chunk in groups))

    def _fits_of(self, rows: Tensor, going: Codes, rule: StoppingRule) -> list[SvmFit]:
        """The solutions of some problems on the rows of a chunk."""
        here = as_numpy(rows)
        cuts = [np.searchsorted(here, (s.start, s.stop)).tolist() for s in self.gram.segments]
        all_pairs = len(rows) * self.gram.shape[0]
        limit = self.monitor.seconds_left() - self._seconds_to_finish(all_pairs)
        monitor = self.monitor.inner(max(limit, 0.0) if limit < np.inf else None)
        segments = tuple(slice(*cut) for cut in cuts)
        gram = self.gram.part(rows, segments, self._memory(), monitor)
        problems: list[SvmProblem] = []
        boxes: dict[int, Vector] = {}
        for number in going:
            problem = self.problems[number]
            box = boxes.setdefault(id(problem.box), problem.box[here])
            own = rows[self._on(self._takes[number][self._segment_of(here)])]
            at = self._positions(number, own)
            start, errors = (as_numpy(part[number, at]) for part in (self.all.b, self.all.F))
            problems.append(SvmProblem(problem.sides, box, np.abs(start), errors))
        fits = solve_in_groups(gram, problems, rule, monitor)
        del gram
        # the next chunk's matrix has another size
        release_unused(self.gram.device, beyond=MOST_UNUSED)
        return fits

    def _shrink(self, chunk: int) -> None:
        """Leave out rows far from violating, if there are many beside those of a chunk of so many."""
        above = self._above(self._keys())
        close = ((above > -NEAR) | (self.all.b != 0)) & self._own(self.level)
        near = torch.zeros_like(self.near)
        near[self.layouts.columns[self.layout].long()[close]] = True
        if int(self.level.sum()) > 2 * max(int(near.sum()), chunk):
            self.near, self.left_at = near, self.all.b.clone()

    def _advance(
        self, F: Tensor, rows: Tensor, steps: Tensor, monitor: FitMonitor | None = None
    ) -> bool:
        """Add the kernel rows of changed coefficients, (p, r + 1), to the errors of some rows, (n,).

        Returns whether that was done: not if the monitor stopped first.
        """
        began, pairs = time.monotonic(), 0
        targets = torch.nonzero(rows)[:, 0]
        cuts = np.searchsorted(as_numpy(targets), [(s.start, s.stop) for s in self.gram.segments])
        for a, c, problems in self._pairs_of_segments():
            source, (first, stop) = self.gram.segments[a], cuts[c].tolist()
            size = source.stop - source.start
            starts = zip(problems, source.start - self._shifts[problems, a], strict=True)
            own = torch.stack([steps[problem, start : start + size] for problem, start in starts])
            changed = torch.nonzero((own != 0).any(dim=0))[:, 0]
            if not len(changed) or first == stop:
                continue
            if monitor is not None and monitor.should_stop():
                return False
            own, changed = own[:, changed], changed + source.start
            numbers, shifts = self._on(problems), self._on(self._shifts[problems, c])
            columns = targets[first:stop]
            sums = self.gram.weighted_sums(changed, columns, own)
            F[numbers[:, None], columns - shifts[:, None]] += sums
            pairs += len(changed) * len(columns)
        wait_for(self.gram.device)
        seconds = max(time.monotonic() - began, 1e-9)
        self._pairs_per_second = max(self._pairs_per_second, pairs / seconds)
        self._least_seconds = min(self._least_seconds, seconds)
        return True

    def _pairs_of_segments(self) -> Iterator[tuple[int, int, Codes]]:
        """Each two segments, with the problems that both take part in."""
        for a in range(len(self.gram.segments)):
            for c in range(len(self.gram.segments)):
                problems = np.flatnonzero(self._takes[:, a] & self._takes[:, c])
                if len(problems):
                    yield a, c, problems

    def _segment_of(self, rows: Codes) -> Codes:
        starts = [segment.start for segment in self.gram.segments]
        found: Codes = np.searchsorted(starts, rows, side="right") - 1
        return found

    def _positions(self, problem: int, rows: Tensor) -> Tensor:
        """Positions of rows of the matrix among those of a problem."""
        return rows - self._on(self._shifts[problem][self._segment_of(as_numpy(rows))])

    def _initial_rows(self, problems: Sequence[SvmProblem]) -> BatchRows:
        shape = len(problems), len(self.gram.segments)
        self._takes, self._shifts = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for number, problem in enumerate(problems):
            layout = self.layouts.of(problem)
            self._takes[number, layout.segments] = True
            self._shifts[number, layout.segments] = layout.shifts
        return super()._initial_rows(problems)

    def _add_steps(self, F: Tensor, steps: Tensor, monitor: FitMonitor | None) -> bool:
        everyone = torch.ones(self.gram.shape[0], dtype=torch.bool, device=self.gram.device)
        return self._advance(F, everyone, steps, monitor)


def _first_stride(n: int) -> int:
    """The power of the growth that leaves at least the rows of the first level."""
    stride = 1
    while n // (stride * GROWTH) >= FIRST_LEVEL:
        stride *= GROWTH
    return stride


def _chunk_rule(rule: StoppingRule, violation: Vector) -> StoppingRule:
    """Tolerance of a chunk: a share of the violation, and less than asked for at the end.

    Where the violation is small enough and the gap is not, a fifth of it, as in `cuda.py`.
    """
    worst = float(violation.max())
    tol = max(SHARE * worst, 0.5 * rule.tol) if worst > rule.tol else 0.2 * worst
    return StoppingRule(tol, np.inf, rule.max_iter)
