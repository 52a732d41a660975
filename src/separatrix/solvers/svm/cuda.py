"""Support vector machines on a GPU: every pair, fold and value of C in one batch.

All problems over one kernel matrix are padded to the same number of rows. A round advances all of
them: a working set of half of the last rows and the worst violators, the kernel values among those, a
few thousand second-order steps inside each tile down to a tenth of its violation, and an update of
the errors of all rows. Solved problems leave the batch. Once a round the violations come back to
Python for progress, time limit and cancellation.

Termination: a working set always holds the worst violators of I_up and I_down, so a problem that is
not solved has a step to make. The second row of a step is chosen by its gain over a curvature that
is bounded from both sides, so the violation of each step's two rows is at least a fixed share of the
tolerance, and the number of such steps is finite. Rounding may break this: a problem that made no
step, or whose objective has stopped rising, stops as stalled; if its tile was float32, it first
continues in float64.

References: Keerthi and Gilbert, Machine Learning 46 (2002); Chen, Fan and Lin, IEEE Transactions on
Neural Networks 17 (2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import triton

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, free_bytes
from separatrix.runtime.device_graph import RepeatedWork
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm.cuda_rows import BatchRows, ViolationKeys, choose_rows, objectives
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
    ticks_of,
)
from separatrix.solvers.svm.triton import add_rows, gather_tiles, solve_tiles
from separatrix.types import Codes, Flags, Matrix, Vector

Tensor = Any
WORKING_SET = 2048
SMALLEST_SET = 16
SINGLE = 3e-5  # tolerance of a tile, for errors of size 1, down to which it is solved in float32
STEPS_AT_ONCE, LEAST_STEPS = 20_000, 2000  # of a tile: some 50 ms on a GPU
TILES_AT_ONCE = 256  # solved at the same time: of more, each takes fewer steps in a round
STEPS_FOR_GAP = 50_000  # of a large-scale problem, after which the violation alone decides
STATE_ARRAYS = 16  # of float64, for each row of each problem
TILE_BYTES = 2**33  # of tiles at a time


class DeviceLayouts:
    """Row layouts of the problems on the device: pairs share them over folds and values of C."""

    def __init__(self, gram: Any, problems: Sequence[SvmProblem]) -> None:
        distinct = distinct_layouts(gram, problems, as_numpy(gram.diagonal()))
        self.index = {sides: number for number, sides in enumerate(distinct)}
        self.all = list(distinct.values())
        self.width = max(len(layout.rows) for layout in self.all)
        columns = np.zeros((len(self.all), self.width + 1), dtype=np.int32)
        y = np.zeros(columns.shape)
        for number, layout in enumerate(self.all):
            columns[number, : len(layout.rows)] = layout.rows
            y[number, : len(layout.rows)] = layout.y
        self.columns = torch.as_tensor(columns, device=gram.device)
        self.y = torch.as_tensor(y, device=gram.device)

    def number(self, problem: SvmProblem) -> int:
        return self.index[problem.sides.tobytes()]

    def of(self, problem: SvmProblem) -> RowLayout:
        return self.all[self.number(problem)]


class DeviceBatch:
    """State of a batch of problems during optimisation."""

    rough = False  # whether errors are those of an earlier fit, for want of time

    def __init__(
        self,
        gram: Any,
        layouts: DeviceLayouts,
        problems: Sequence[SvmProblem],
        rule: StoppingRule,
        monitor: FitMonitor,
    ) -> None:
        self.gram, self.layouts, self.rule, self.monitor = gram, layouts, rule, monitor
        self.problems = problems
        numbers = [layouts.number(problem) for problem in problems]
        self.layout = torch.tensor(numbers, device=gram.device)
        self.tile_bytes = min(TILE_BYTES, free_bytes(gram.device) // 4)  # half is for the state
        self.all = self._initial_rows(problems)
        box = self.all.high - self.all.low
        boxes = as_numpy(torch.stack([box.amax(dim=1), (box > 0).sum(dim=1).double()]))
        largest = np.array([layouts.of(problem).largest for problem in problems])
        self.gaps = np.full(len(problems), rule.gap)
        self.may_miss_gap = rule.gaps_for(boxes[0] * largest) > rule.gap
        # |w|^2 below which two convex hulls meet, for each squared sum of coefficients
        self.least = np.where(np.isinf(boxes[0]), NOT_SEPARABLE * largest, -np.inf)
        trained = int(boxes[1].max())
        self.w = min(triton.next_power_of_2(max(trained, SMALLEST_SET)), _largest_set(gram))
        self.one_tile = trained <= self.w
        p = len(problems)
        self.n_iter, self.checked = np.zeros(p, np.int64), np.zeros(p, np.int64)
        self.met_at = np.full(p, -1)  # steps at which the violation was met first
        self.dual, self.ticks = np.full(p, -np.inf), np.zeros(p, np.int64)
        self.stop, self.rounds = np.full(p, "", dtype="<U13"), 0
        self.single, self.double = False, np.zeros(p, bool)  # last tiles' type; problems in float64
        self.work = torch.full((p, self.w), layouts.width, device=gram.device)
        if self.one_tile:
            trains = torch.topk((box > 0).float(), min(self.w, box.shape[1]), dim=1, sorted=False)
            rows = torch.where(trains.values > 0, trains.indices, layouts.width)
            self.work[:, : rows.shape[1]] = rows
        if any(problem.start is not None for problem in problems):
            self._set_start(problems, self.all)

    def run(self) -> list[SvmFit]:
        """Rounds until every problem has stopped."""
        if self.rough:
            return self._fits()
        active = np.arange(len(self.stop))
        now = _Round(self, active)
        while True:
            top, bottom, steps = as_numpy(now.found)
            self.n_iter[active] += steps.astype(np.int64)
            violation = np.maximum(top - bottom, 0.0)
            inner = self._decide(active, violation, steps if self.rounds else None)
            coarse = inner >= SINGLE * np.maximum(np.maximum(np.abs(top), np.abs(bottom)), 1.0)
            going = np.flatnonzero(self.stop[active] == "")
            if not len(going):
                return self._fits()
            if len(going) < len(active):
                active, inner, coarse = active[going], inner[going], coarse[going]
                now = _Round(self, active)
            self.single = self.gram.dtype == np.float32 and bool(
                (coarse & ~self.double[active]).all()
            )
            left = np.minimum(self.rule.max_iter - self.n_iter[active], _most_steps(len(active)))
            now.advance(np.stack([inner, left]), self.single)
            self.rounds += 1

    def _on(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.gram.device)

    def _rows_of(self, active: Codes) -> BatchRows:
        return self.all.of(self._on(active))

    def _initial_rows(self, problems: Sequence[SvmProblem]) -> BatchRows:
        """Bounds of all problems, coefficients of 0 and their errors."""
        columns = self.layouts.columns[self.layout].long()
        boxes = {id(problem.box): problem.box for problem in problems}  # folds share them
        index = {key: number for number, key in enumerate(boxes)}
        which = self._on([index[id(problem.box)] for problem in problems])
        box = self._on(np.stack(list(boxes.values())))[which[:, None], columns]
        y = self.layouts.y[self.layout]
        low, high = torch.where(y < 0, -box, 0.0), torch.where(y > 0, box, 0.0)
        return BatchRows(torch.zeros_like(y), low, high, -y, y)

    def _set_start(self, problems: Sequence[SvmProblem], rows: BatchRows) -> None:
        """Start from coefficients of an earlier fit; errors that are not known are computed."""
        b, F = np.zeros(rows.b.shape), as_numpy(rows.F).copy()
        unknown, rough = np.zeros((2, len(problems)), dtype=bool)
        for number, problem in enumerate(problems):
            if problem.start is None:
                continue
            own = self.layouts.of(problem)
            r = len(own.rows)
            start, unknown[number] = problem.start, not problem.knows_errors
            if unknown[number]:
                start = make_feasible(start, own.y, problem.box[own.rows])
            b[number, :r] = own.y * start
            if problem.start_errors is not None:
                F[number, :r], rough[number] = problem.start_errors, problem.rough
        rows.b.copy_(torch.as_tensor(b))
        rows.F.copy_(torch.as_tensor(F))
        if unknown.any():
            fresh, some = -rows.y, self._on(unknown)[:, None]
            monitor = self.monitor if rough.all() else None
            self.rough = not self._add_steps(fresh, rows.b * some, monitor)
            if self.rough:
                self.stop[:] = "stopped"
            else:
                torch.where(some, fresh, rows.F, out=rows.F)

    def _add_steps(self, F: Tensor, steps: Tensor, monitor: FitMonitor | None) -> bool:
        """Add the kernel rows of changed coefficients to the errors of all rows; steps (p, r + 1).

        Returns whether that was done: not if the monitor stopped first.
        """
        order = torch.argsort((steps == 0).to(torch.int8), dim=1, stable=True)
        everyone = torch.arange(len(steps), device=self.gram.device)
        for first in range(0, int((steps != 0).sum(dim=1).max()), self.w):
            if monitor is not None and monitor.should_stop():
                return False
            work = order[:, first : first + self.w]
            of_matrix = self.layouts.columns[self.layout].gather(1, work)
            for part in self.that_fit(of_matrix):
                storage, slots = self.gram.load_rows(self.distinct(of_matrix[part]))
                add_rows(
                    F, storage, slots, self.layouts.columns, self.layout,
                    everyone[part], of_matrix[part], steps[part].gather(1, work[part]),
                )  # fmt: skip
        return True

    def _decide(self, active: Codes, violation: Vector, steps: Vector | None) -> Vector:
        """Record which problems stop; return the tolerance of each tile."""
        tol = self.rule.tol
        met = violation <= tol
        inner = np.full(len(active), 0.9 * tol)
        if not self.one_tile or tol == np.inf:
            inner = np.maximum(0.1 * violation, 0.5 * tol if tol < np.inf else 0.0)
        close = self._wants_gap(active, met) & (violation > 0)
        far = np.zeros(len(active), dtype=bool)
        if close.any():
            _, primal, dual, _ = (as_numpy(part) for part in objectives(self._rows_of(active)))
            far = close & (_relative_gaps(primal, dual) > self.gaps[active])
            inner = np.where(far, 0.2 * violation, inner)
        flat, meeting = self._unpromising(active, steps)
        stopped = self.monitor.should_stop()  # then a problem without a step may have had no turn
        reasons = {
            "tol": met & ~far,
            "stalled": flat & (not stopped),
            "not separable": meeting,
            "max_iter": self.n_iter[active] >= self.rule.max_iter,
            "stopped": np.full(len(active), stopped),
        }
        self.stop[active] = np.select(list(reasons.values()), list(reasons), "")
        self._report_progress(active, violation)
        return inner

    def _wants_gap(self, chosen: Codes, met: Flags) -> Flags:
        """Which of those that met the violation are asked for a gap: of large scale for some steps only."""
        first = chosen[met & (self.met_at[chosen] < 0)]
        self.met_at[first] = self.n_iter[first]
        late = self.n_iter[chosen] - self.met_at[chosen] >= STEPS_FOR_GAP
        given_up = self.may_miss_gap[chosen] & late
        return np.asarray(met & np.isfinite(self.gaps[chosen]) & ~given_up)

    def _unpromising(self, active: Codes, steps: Vector | None) -> tuple[Flags, Flags]:
        """Problems whose objective has stopped rising, and those whose convex hulls meet."""
        if steps is None:
            return np.zeros(len(active), bool), np.zeros(len(active), bool)
        flat = steps == 0
        due = self.n_iter[active] - self.checked[active] >= STEPS_PER_CHECK
        if due.any():
            dual = as_numpy(objectives(self._rows_of(active))[2])
            flat |= due & (dual - self.dual[active] <= 1e-13 * np.abs(dual))
            self.checked[active[due]] = self.n_iter[active[due]]
            self.dual[active[due]] = dual[due]
        if self.single:
            self.double[active[flat]] = True
            flat = np.zeros_like(flat)
        if not np.isfinite(self.least).any():
            return flat, np.zeros(len(active), bool)
        rows = self._rows_of(active)
        square = as_numpy((rows.b * (rows.F + rows.y)).sum(dim=1))
        total = as_numpy(rows.b.abs().sum(dim=1))
        return flat, 4.0 * square <= self.least[active] * np.maximum(total, 1e-150) ** 2

    def repeatable(self, count: int) -> bool:
        """Whether rounds of so many problems do the same work on the same memory."""
        return bool(self.gram.complete and count <= self._tiles_that_fit(self.w))

    def that_fit(self, of_matrix: Tensor) -> Iterator[slice]:
        """Problems whose working rows and tiles fit in memory together."""
        size = self._tiles_that_fit(of_matrix.shape[1])
        if not self.gram.complete:
            self.gram.reserve()
            size = min(size, max(1, self.gram.capacity // of_matrix.shape[1]))
        return row_blocks(len(of_matrix), size)

    def _tiles_that_fit(self, w: int) -> int:
        return rows_that_fit(w**2 * self.gram.dtype.itemsize, self.tile_bytes)

    def distinct(self, of_matrix: Tensor) -> Tensor:
        return None if self.gram.complete else torch.unique(of_matrix).long()

    def _report_progress(self, active: Codes, violation: Vector) -> None:
        """Step the monitor in proportion to the violations reached."""
        tol = np.minimum(self.rule.tol, self.gaps[active])
        due = ticks_due(violation, tol, self.stop[active] != "", ticks_of(len(self.problems)))
        due = np.maximum(due, self.ticks[active])
        for _ in range(int((due - self.ticks[active]).sum())):
            self.monitor.step()
        self.ticks[active] = due

    def _fits(self) -> list[SvmFit]:
        """The solved problems, with certificates computed afresh."""
        bias, primal, dual, square = objectives(self.all)
        violation = ViolationKeys.of(self.all).violation
        measured = as_numpy(torch.stack([bias, violation, primal, dual, square]))
        small = _relative_gaps(*measured[2:4]) <= self.gaps
        small |= self.may_miss_gap & (self.stop == "stalled")  # on the way to the gap
        met = (measured[1] <= self.rule.tol) & small
        if not self.rough:
            self.stop[met] = "tol"
        alpha, errors = as_numpy(self.all.b.abs()), as_numpy(self.all.F)
        fits = []
        for number, problem in enumerate(self.problems):
            layout = self.layouts.of(problem)
            rows, r = layout.rows, len(layout.rows)
            box = np.concatenate([problem.box[self.gram.segments[s]] for s in layout.segments])
            state = box, alpha[number, :r], errors[number, :r]
            how = int(self.n_iter[number]), str(self.stop[number])
            numbers = measured[:, number].tolist()
            gap = relative_gap(*numbers[2:4])
            fits.append(SvmFit._make((rows, layout.y, *state, *numbers, *how, gap)))
        return fits


class _Round:
    """Rounds of the problems that go on, each an update of the same memory.

    Over a complete kernel matrix they are recorded as a CUDA graph: a round is then one launch instead of
    two hundred.
    """

    def __init__(self, batch: DeviceBatch, active: Codes) -> None:
        self.batch, self.numbers = batch, batch._on(active)
        self.keys = ViolationKeys.of(batch.all.of(self.numbers))
        self.limits = torch.zeros((2, len(active)), dtype=torch.float64, device=batch.gram.device)
        # largest and smallest violation, and the steps of the last round
        self.found = torch.stack([self.keys.top, self.keys.bottom, self.limits[0]])
        self.single, self.repeated = False, RepeatedWork(batch.gram.device)

    def advance(self, limits: Matrix, single: bool) -> None:
        """Solve every problem on its next working set; limits are tolerances and numbers of steps."""
        self.limits.copy_(torch.from_numpy(limits))
        if single != self.single:
            self.single, self.repeated = single, RepeatedWork(self.batch.gram.device)
        self.repeated.run(self._run, record=self.batch.repeatable(len(self.numbers)))

    def _run(self) -> None:
        batch, numbers = self.batch, self.numbers
        rows, work = batch.all.of(numbers), batch.work[numbers]
        if not batch.one_tile:
            kept = batch.w // 2 if batch.rounds else 0
            work = choose_rows(work[:, batch.w - kept :], self.keys, batch.w, batch.layouts.width)
        of_matrix = batch.layouts.columns[batch.layout[numbers]].gather(1, work)
        b, low, high, F = (part.gather(1, work) for part in rows[:4])
        before, tols, left = b.clone(), self.limits[0], self.limits[1].long()
        diagonal = batch.gram.diagonal()[of_matrix.long()]
        for part in batch.that_fit(of_matrix):
            if part.start and batch.monitor.should_stop():  # the others stay as they were
                self.found[2, part.start :] = 0.0
                break
            storage, slots = batch.gram.load_rows(batch.distinct(of_matrix[part]))
            self.found[2, part] = solve_tiles(
                gather_tiles(storage, slots, of_matrix[part]), diagonal[part],
                b[part], low[part], high[part], F[part], tols[part], left[part],
                single=self.single,
            ).double()  # fmt: skip
            add_rows(
                batch.all.F, storage, slots, batch.layouts.columns, batch.layout,
                numbers[part], of_matrix[part], (b - before)[part],
            )  # fmt: skip
        batch.all.b[numbers[:, None], work] = b
        batch.work[numbers] = work
        for kept_key, key in zip(self.keys, ViolationKeys.of(batch.all.of(numbers)), strict=True):
            kept_key.copy_(key)
        torch.stack([self.keys.top, self.keys.bottom], out=self.found[:2])


def solve_in_groups(
    gram: Any,
    problems: Sequence[SvmProblem],
    rule: StoppingRule,
    monitor: FitMonitor,
    batch: type[DeviceBatch] = DeviceBatch,
) -> list[SvmFit]:
    """Solve every problem over a `DeviceGram`, as many at a time as fit in memory."""
    layouts = DeviceLayouts(gram, problems)
    state = 8 * STATE_ARRAYS * (layouts.width + 1)
    size = rows_that_fit(state, free_bytes(gram.device) // 2)
    groups = (problems[part] for part in row_blocks(len(problems), size))
    return [fit for group in groups for fit in batch(gram, layouts, group, rule, monitor).run()]


def _most_steps(problems: int) -> int:
    """Steps of each of so many problems in a round, which takes a few tenths of a second at most."""
    return max(LEAST_STEPS, min(STEPS_AT_ONCE, STEPS_AT_ONCE * TILES_AT_ONCE // problems))


def _largest_set(gram: Any) -> int:
    """Largest working set whose kernel rows fit in memory."""
    size = WORKING_SET
    while size > gram.capacity and size > SMALLEST_SET:
        size //= 2
    return size


def _relative_gaps(primal: Vector, dual: Vector) -> Vector:
    return np.array([relative_gap(*both) for both in zip(primal, dual, strict=True)])
