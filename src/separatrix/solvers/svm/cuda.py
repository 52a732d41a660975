"""Support vector machines in lockstep on a card: every pair, fold and value of C in one batch.

All problems over one kernel matrix are padded to the same number of rows. A round, for all of them
at once: half of the last working rows and the worst violators, the kernel values among those, a few
thousand second-order steps inside each tile down to a tenth of its violation, and the changed rows
added to the errors of all rows. Problems that are done leave the batch. Once a round the violations
come back to Python, where progress, the clock and Ctrl-C are looked at.

It ends: a working set always holds the row that asks most to go up and the one that asks most to go
down, so a problem that is not solved has a step to make. The second row of a step is chosen by its
gain over a curvature that is bounded from both sides, so each step is on two rows whose violation
is no less than a fixed share of the tolerance, and of such steps there are finitely many. Rounding
may spoil that: a problem that made no step, or whose objective has stopped rising, stops as stalled;
where its tile was float32, it goes on in float64 first.

References: Keerthi and Gilbert, Machine Learning 46 (2002); Chen, Fan and Lin, IEEE Transactions on
Neural Networks 17 (2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import triton

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, free_bytes
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.cuda_rows import Keys, Rows, choose, objectives, relative_gaps
from separatrix.solvers.svm.smo import (
    NOT_SEPARABLE,
    STEPS_PER_CHECK,
    Layout,
    StoppingRule,
    SvmFit,
    SvmProblem,
    feasible,
    ticks_due,
)
from separatrix.solvers.svm.triton import add_rows, gather_tiles, solve_tiles
from separatrix.types import Codes, Flags, Matrix, Vector

Tensor = Any
WORKING_SET = 2048
SMALLEST_SET = 16
SINGLE = 3e-5  # tolerance of a tile, for errors of size 1, down to which it is solved in float32
STEPS_AT_ONCE = 20_000  # of a tile: some 50 ms of a card
STATE_ARRAYS = 16  # of float64, for each row of each problem
TILE_BYTES = 2**33  # of tiles at a time


class Found(NamedTuple):
    """Problems where they stopped, and their certificates, one for each problem."""

    b: Matrix  # shape: (p, r + 1)
    F: Matrix
    intercept: Any  # shape: (p,), as all below
    violation: Any
    primal: Any
    dual: Any
    square: Any
    n_iter: Any
    stop: Any


def solve_in_lockstep(
    gram: Any, problems: Sequence[SvmProblem], rule: StoppingRule, monitor: FitMonitor
) -> list[SvmFit]:
    """Solve every problem over a `DeviceGram`, as many at a time as there is memory for."""
    layouts = _Layouts(gram, problems)
    fits: list[SvmFit] = []
    for group in _groups(gram, problems, layouts.width):
        found = _Batch(gram, layouts, group, rule, monitor).run()
        for number, problem in enumerate(group):
            layout = layouts.of(problem)
            r = len(layout.rows)
            fits.append(
                SvmFit(
                    rows=layout.rows,
                    y=layout.y,
                    box=problem.box[layout.rows],
                    alpha=np.abs(found.b[number, :r]),
                    errors=found.F[number, :r],
                    intercept=float(found.intercept[number]),
                    violation=float(found.violation[number]),
                    primal=float(found.primal[number]),
                    dual=float(found.dual[number]),
                    square=float(found.square[number]),
                    n_iter=int(found.n_iter[number]),
                    stop=str(found.stop[number]),
                )
            )
    return fits


class _Layouts:
    """Which rows of the matrix the rows of each kind of problem are: pairs share them over folds and C."""

    def __init__(self, gram: Any, problems: Sequence[SvmProblem]) -> None:
        diagonal = as_numpy(gram.diagonal())
        self.numbers: dict[bytes, int] = {}
        self.all: list[Layout] = []
        for problem in problems:
            if problem.sides.tobytes() not in self.numbers:
                self.numbers[problem.sides.tobytes()] = len(self.all)
                self.all.append(Layout.of(gram, problem.sides, diagonal))
        self.width = max(len(layout.rows) for layout in self.all)
        columns = np.zeros((len(self.all), self.width + 1), dtype=np.int32)
        y = np.zeros(columns.shape)
        for number, layout in enumerate(self.all):
            columns[number, : len(layout.rows)] = layout.rows
            y[number, : len(layout.rows)] = layout.y
        self.columns = torch.as_tensor(columns, device=gram.device)
        self.y = torch.as_tensor(y, device=gram.device)

    def number(self, problem: SvmProblem) -> int:
        return self.numbers[problem.sides.tobytes()]

    def of(self, problem: SvmProblem) -> Layout:
        return self.all[self.number(problem)]


class _Batch:
    """Problems on their way together."""

    def __init__(
        self,
        gram: Any,
        layouts: _Layouts,
        problems: Sequence[SvmProblem],
        rule: StoppingRule,
        monitor: FitMonitor,
    ) -> None:
        self.gram, self.layouts, self.rule, self.monitor = gram, layouts, rule, monitor
        own = [layouts.of(problem) for problem in problems]
        boxes = [problem.box[layout.rows] for problem, layout in zip(problems, own, strict=True)]
        largest = [layout.largest for layout in own]
        hard = [bool(np.isinf(box).any()) for box in boxes]
        self.gaps = np.array(
            [
                rule.for_box(float(box.max()) * size).gap
                for box, size in zip(boxes, largest, strict=True)
            ]
        )
        # |w|^2 below which two convex hulls meet, for each squared sum of coefficients
        self.least = np.where(hard, NOT_SEPARABLE * np.array(largest), -np.inf)
        trained = max(int(np.count_nonzero(box)) for box in boxes)
        self.w = min(triton.next_power_of_2(max(trained, SMALLEST_SET)), _largest_set(gram))
        self.whole = trained <= self.w
        p = len(problems)
        self.n_iter, self.checked = np.zeros(p, np.int64), np.zeros(p, np.int64)
        self.dual, self.ticks = np.full(p, -np.inf), np.zeros(p, np.int64)
        self.stop, self.rounds = np.full(p, "", dtype="<U13"), 0
        self.single, self.double = False, np.zeros(p, bool)  # last tiles' type; who needs float64
        numbers = [layouts.number(problem) for problem in problems]
        self.layout = torch.tensor(numbers, device=gram.device)
        self.tile_room = min(TILE_BYTES, free_bytes(gram.device) // 4)  # half is for the state
        self.all = self._begun(problems)
        self.work = torch.full((p, self.w), layouts.width, device=gram.device)
        if self.whole:
            box = self.all.high - self.all.low
            trains = torch.topk((box > 0).float(), min(self.w, box.shape[1]), dim=1, sorted=False)
            rows = torch.where(trains.values > 0, trains.indices, layouts.width)
            self.work[:, : rows.shape[1]] = rows

    def run(self) -> Found:
        """Rounds until every problem has stopped."""
        active = np.arange(len(self.stop))
        made = None
        while True:
            rows = self.all.of(self._on(active))
            keys = Keys.of(rows)
            steps = torch.zeros_like(keys.top) if made is None else made.double()
            top, bottom, steps = as_numpy(torch.stack([keys.top, keys.bottom, steps]))
            self.n_iter[active] += steps.astype(np.int64)
            violation = np.maximum(top - bottom, 0.0)
            inner = self._decide(active, rows, violation, None if made is None else steps)
            coarse = inner >= SINGLE * np.maximum(np.maximum(np.abs(top), np.abs(bottom)), 1.0)
            going = np.flatnonzero(self.stop[active] == "")
            if not len(going):
                return self._found()
            if len(going) < len(active):
                here = self._on(going)
                rows, keys = rows.of(here), Keys(*(part[here] for part in keys))
                active, inner, coarse = active[going], inner[going], coarse[going]
            self.single = self.gram.dtype == np.float32 and bool(
                (coarse & ~self.double[active]).all()
            )
            made = self._round(active, rows, keys, inner)

    def _on(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.gram.device)

    def _begun(self, problems: Sequence[SvmProblem]) -> Rows:
        """Bounds of all problems, coefficients to begin from, and their errors."""
        columns = self.layouts.columns[self.layout].long()
        boxes = {id(problem.box): problem.box for problem in problems}  # folds share them
        slots = {key: place for place, key in enumerate(boxes)}
        which = self._on([slots[id(problem.box)] for problem in problems])
        box = self._on(np.stack(list(boxes.values())))[which[:, None], columns]
        y = self.layouts.y[self.layout]
        low, high = torch.where(y < 0, -box, 0.0), torch.where(y > 0, box, 0.0)
        rows = Rows(torch.zeros_like(y), low, high, -y, y)
        if any(problem.start is not None for problem in problems):
            self._begin_from(problems, rows)
        return rows

    def _begin_from(self, problems: Sequence[SvmProblem], rows: Rows) -> None:
        """Begin from coefficients of an earlier fit; errors that are not known are summed up."""
        b, F = np.zeros(rows.b.shape), as_numpy(rows.F).copy()
        unknown = np.zeros(len(problems), dtype=bool)
        for number, problem in enumerate(problems):
            if problem.start is None:
                continue
            own = self.layouts.of(problem)
            r = len(own.rows)
            if problem.start_errors is None:
                b[number, :r] = own.y * feasible(problem.start, own.y, problem.box[own.rows])
                unknown[number] = True
            else:
                b[number, :r], F[number, :r] = own.y * problem.start, problem.start_errors
        rows.b.copy_(torch.as_tensor(b))
        rows.F.copy_(torch.as_tensor(F))
        steps = rows.b * self._on(unknown)[:, None]
        order = torch.argsort((steps == 0).to(torch.int8), dim=1, stable=True)
        everyone = torch.arange(len(problems), device=self.gram.device)
        for first in range(0, int((steps != 0).sum(dim=1).max()), self.w):
            work = order[:, first : first + self.w]
            of_matrix = self.layouts.columns[self.layout].gather(1, work)
            for part in self._that_fit(of_matrix):
                storage, where = self.gram.at_hand(self._distinct(of_matrix[part]))
                add_rows(
                    rows.F, storage, where, self.layouts.columns, self.layout,
                    everyone[part], of_matrix[part], steps[part].gather(1, work[part]),
                )  # fmt: skip

    def _decide(self, active: Codes, rows: Rows, violation: Vector, steps: Vector | None) -> Vector:
        """Note which problems stop here; the tolerance of each tile."""
        tol = self.rule.tol
        met = violation <= tol
        inner = np.full(len(active), 0.9 * tol)
        if not self.whole or tol == np.inf:
            inner = np.maximum(0.1 * violation, 0.5 * tol if tol < np.inf else 0.0)
        close = met & (violation > 0) & np.isfinite(self.gaps[active])
        far = np.zeros(len(active), dtype=bool)
        if close.any():
            _, primal, dual, _ = (as_numpy(part) for part in objectives(rows))
            far = close & (relative_gaps(primal, dual) > self.gaps[active])
            inner = np.where(far, 0.2 * violation, inner)
        flat, meeting = self._hopeless(active, rows, steps)
        reasons = {
            "tol": met & ~far,
            "stalled": flat,
            "not separable": meeting,
            "max_iter": self.n_iter[active] >= self.rule.max_iter,
            "stopped": np.full(len(active), self.monitor.should_stop()),
        }
        self.stop[active] = np.select(list(reasons.values()), list(reasons), "")
        self._tell(active, violation)
        return inner

    def _hopeless(self, active: Codes, rows: Rows, steps: Vector | None) -> tuple[Flags, Flags]:
        """Problems whose objective does not rise any more, and those of two hulls that meet."""
        if steps is None:
            return np.zeros(len(active), bool), np.zeros(len(active), bool)
        flat = steps == 0
        due = self.n_iter[active] - self.checked[active] >= STEPS_PER_CHECK
        if due.any():
            dual = as_numpy(objectives(rows)[2])
            flat |= due & (dual - self.dual[active] <= 1e-13 * np.abs(dual))
            self.checked[active[due]] = self.n_iter[active[due]]
            self.dual[active[due]] = dual[due]
        if self.single:
            self.double[active[flat]] = True
            flat = np.zeros_like(flat)
        if not np.isfinite(self.least).any():
            return flat, np.zeros(len(active), bool)
        square = as_numpy((rows.b * (rows.F + rows.y)).sum(dim=1))
        total = as_numpy(rows.b.abs().sum(dim=1))
        return flat, 4.0 * square <= self.least[active] * np.maximum(total, 1e-150) ** 2

    def _round(self, active: Codes, rows: Rows, keys: Keys, inner: Vector) -> Tensor:
        """Work on the worst rows of every problem; the steps made."""
        numbers = self._on(active)
        work = self.work[numbers]
        if not self.whole:
            kept = self.w // 2 if self.rounds else 0
            work = choose(work[:, self.w - kept :], keys, self.w, self.layouts.width)
        self.rounds += 1
        left = np.minimum(self.rule.max_iter - self.n_iter[active], STEPS_AT_ONCE)
        tols, left = self._on(inner), self._on(left)
        of_matrix = self.layouts.columns[self.layout[numbers]].gather(1, work)
        b, low, high, F = (part.gather(1, work) for part in rows[:4])
        before = b.clone()
        diagonal = self.gram.diagonal()[of_matrix.long()]
        made = torch.zeros_like(numbers)
        for part in self._that_fit(of_matrix):
            storage, where = self.gram.at_hand(self._distinct(of_matrix[part]))
            made[part] = solve_tiles(
                gather_tiles(storage, where, of_matrix[part]), diagonal[part],
                b[part], low[part], high[part], F[part], tols[part], left[part],
                single=self.single,
            )  # fmt: skip
            add_rows(
                self.all.F, storage, where, self.layouts.columns, self.layout,
                numbers[part], of_matrix[part], (b - before)[part],
            )  # fmt: skip
        self.all.b[numbers[:, None], work] = b
        self.work[numbers] = work
        return made

    def _that_fit(self, of_matrix: Tensor) -> Iterator[slice]:
        """Problems whose working rows and tiles can be at hand together."""
        tile = of_matrix.shape[1] ** 2 * self.gram.dtype.itemsize
        size = rows_that_fit(tile, self.tile_room)
        if not self.gram.whole:
            size = min(size, max(1, self.gram.room // of_matrix.shape[1]))
        return row_blocks(len(of_matrix), size)

    def _distinct(self, of_matrix: Tensor) -> Tensor:
        return None if self.gram.whole else torch.unique(of_matrix).long()

    def _tell(self, active: Codes, violation: Vector) -> None:
        """Steps of the watch as far as problems have come."""
        tol = np.minimum(self.rule.tol, self.gaps[active])
        due = np.maximum(ticks_due(violation, tol, self.stop[active] != ""), self.ticks[active])
        for _ in range(int((due - self.ticks[active]).sum())):
            self.monitor.step()
        self.ticks[active] = due

    def _found(self) -> Found:
        """What was found, measured once more."""
        measured = (*objectives(self.all), Keys.of(self.all).violation)
        bias, primal, dual, square, violation = as_numpy(torch.stack(measured))
        gap = relative_gaps(primal, dual)
        self.stop[(violation <= self.rule.tol) & (gap <= self.gaps)] = "tol"
        return Found(
            as_numpy(self.all.b), as_numpy(self.all.F),
            bias, violation, primal, dual, square, self.n_iter, self.stop,
        )  # fmt: skip


def _groups(
    gram: Any, problems: Sequence[SvmProblem], width: int
) -> Iterator[Sequence[SvmProblem]]:
    """Problems whose state fits the memory that is left."""
    size = rows_that_fit(8 * STATE_ARRAYS * (width + 1), free_bytes(gram.device) // 2)
    for part in row_blocks(len(problems), size):
        yield problems[part]


def _largest_set(gram: Any) -> int:
    """Rows to work on at a time, as far as their kernel rows can be at hand."""
    size = WORKING_SET
    while size > gram.room and size > SMALLEST_SET:
        size //= 2
    return size
