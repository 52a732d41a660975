"""Many problems, and their fits, as arrays: the rows of one problem after those of another.

Both are sequences as well, whose items are views that are made when they are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from separatrix.solvers.decomposition import ClassSides
from separatrix.solvers.svm.problem import SvmFit, SvmProblem
from separatrix.types import Codes, Flags, Matrix, Vector


class BatchLayout(NamedTuple):
    """Where the rows of problems are, one problem after another."""

    starts: Codes  # shape: (p + 1,); where each problem starts
    rows: Codes  # shape: (r,); rows of the Gram
    y: Vector  # shape: (r,); +1 or -1
    run_starts: Codes  # shape: (p + 1,); the first run of each problem
    runs: Codes  # shape: (runs, 3): start and end in the problem, offset in the Gram
    segments: Codes  # shape: (runs,); the segment of each run

    @property
    def sizes(self) -> Codes:
        """Number of rows of each problem, (p,)."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, segments: tuple[slice, ...], sides: ClassSides) -> BatchLayout:
        """The rows of problems whose classes have these segments."""
        run_starts, segment = sides.starts, sides.classes
        first = np.array([part.start for part in segments])
        widths = np.array([part.stop for part in segments]) - first
        width = widths[segment]
        ends = np.cumsum(width)
        starts = np.append(0, ends)[run_starts]
        begin = ends - width  # of each run among all rows
        rows = np.arange(ends[-1]) + np.repeat(first[segment] - begin, width)
        y = np.repeat(sides.sides.astype(np.float64), width)
        inside = begin - np.repeat(starts[:-1], np.diff(run_starts))
        runs = np.stack([inside, inside + width, first[segment] - inside], axis=1)
        return cls(starts, rows, y, run_starts, runs, segment)


class StackedProblems(Sequence[SvmProblem]):
    """Problems with their initial coefficients; those without any begin at 0."""

    def __init__(
        self,
        segments: tuple[slice, ...],
        sides: ClassSides,
        boxes: Sequence[Vector],  # distinct upper bounds, each (n,)
        box_of: Codes,  # shape: (p,); numbers of theirs
        start: Vector | None = None,  # shape: (r,)
        start_errors: Vector | None = None,  # shape: (r,)
    ) -> None:
        self.segments, self.sides, self.boxes, self.box_of = segments, sides, list(boxes), box_of
        self.start, self.start_errors = start, start_errors
        self.given: Flags = np.full(len(box_of), start is not None)  # with initial coefficients
        self.known: Flags = np.full(len(box_of), start_errors is not None)  # and their errors

    @cached_property
    def layout(self) -> BatchLayout:
        """Where the rows of each problem are."""
        return BatchLayout.of(self.segments, self.sides)

    @classmethod
    def of(cls, segments: tuple[slice, ...], problems: Sequence[SvmProblem]) -> StackedProblems:
        """The same problems, stacked if they are not yet."""
        if isinstance(problems, StackedProblems):
            return problems
        boxes = {id(problem.box): problem.box for problem in problems}
        numbers = {key: number for number, key in enumerate(boxes)}
        sides = ClassSides.of(np.stack([problem.sides for problem in problems], axis=1))
        box_of = np.array([numbers[id(problem.box)] for problem in problems])
        found = cls(segments, sides, list(boxes.values()), box_of)
        found.given[:] = [problem.start is not None for problem in problems]
        found.known[:] = found.given & [problem.knows_errors for problem in problems]
        if found.given.any():
            layout = found.layout
            found.start, found.start_errors = np.zeros(len(layout.rows)), -layout.y
            for p in np.flatnonzero(found.given).tolist():
                own, problem = slice(layout.starts[p], layout.starts[p + 1]), problems[p]
                found.start[own] = problem.start
                if problem.knows_errors:
                    found.start_errors[own] = problem.start_errors
        return found

    @classmethod
    def for_each(
        cls, segments: tuple[slice, ...], sides: ClassSides, boxes: Sequence[Vector]
    ) -> StackedProblems:
        """All boundaries for the first upper bounds, then for the next."""
        box_of = np.repeat(np.arange(len(boxes)), len(sides.starts) - 1)
        return cls(segments, sides.repeat(len(boxes)), boxes, box_of)

    def again(
        self, boxes: Sequence[Vector], start: Vector | None, start_errors: Vector | None
    ) -> StackedProblems:
        """The same boundaries with other upper bounds and initial coefficients."""
        found = StackedProblems(self.segments, self.sides, boxes, self.box_of, start, start_errors)
        found.__dict__["layout"] = self.layout
        return found

    def box_of_rows(self) -> Vector:
        """The upper bounds of the rows of all problems, (r,)."""
        if len(self.boxes) == 1:
            return np.asarray(self.boxes[0][self.layout.rows])
        owner = np.repeat(self.box_of, self.layout.sizes)
        return np.asarray(np.stack(self.boxes)[owner, self.layout.rows])

    def __len__(self) -> int:
        return len(self.box_of)

    @overload
    def __getitem__(self, index: int) -> SvmProblem: ...
    @overload
    def __getitem__(self, index: slice) -> list[SvmProblem]: ...
    def __getitem__(self, index: int | slice) -> SvmProblem | list[SvmProblem]:
        if isinstance(index, slice):
            return [self[p] for p in range(*index.indices(len(self)))]
        p = range(len(self))[index]
        found = SvmProblem(self.sides.codes(p), self.boxes[self.box_of[p]])
        if self.start is None or not self.given[p]:
            return found
        own = slice(self.layout.starts[p], self.layout.starts[p + 1])
        known = self.start_errors is not None and self.known[p]
        errors = self.start_errors[own] if self.start_errors is not None and known else None
        return found._replace(start=self.start[own], start_errors=errors)


class FitNumbers(NamedTuple):
    """The certificates of all fits, each an array (p,)."""

    intercepts: Vector
    primal: Vector
    dual: Vector
    squares: Vector
    violations: Vector
    gaps: Vector
    steps: Codes
    stops: Any  # texts

    @classmethod
    def of(cls, fits: Sequence[SvmFit]) -> FitNumbers:
        """Those of fits that are stacked or not."""
        if isinstance(fits, StackedFits):
            bias, primal, dual, square, violation, gaps = fits.certificates
            return cls(bias, primal, dual, square, violation, gaps, fits.steps, fits.stops)
        numbers = [
            (fit.intercept, fit.primal, fit.dual, fit.square, fit.violation, fit.gap)
            for fit in fits
        ]
        bias, primal, dual, square, violation, gaps = np.array(numbers).T
        steps, stops = np.array([fit.n_iter for fit in fits]), np.array([fit.stop for fit in fits])
        return cls(bias, primal, dual, square, violation, gaps, steps, stops)

    @property
    def margin_widths(self) -> Vector:
        """2 / |w| of each: the distance between the two margins."""
        positive = self.squares > 0
        return np.where(positive, 2.0 / np.sqrt(np.where(positive, self.squares, 1.0)), np.inf)


class StackedFits(Sequence[SvmFit]):
    """Solved problems."""

    def __init__(
        self,
        starts: Codes,  # shape: (p + 1,)
        by_row: tuple[Any, ...],  # rows, y, box, alpha and errors, each (r,)
        certificates: Matrix,  # shape: (6, p); as those of a batch
        steps: Codes,  # shape: (p,)
        stops: Any,  # shape: (p,); texts
        weights: dict[int, Vector] | None = None,  # (d,) of those problems whose solver found them
    ) -> None:
        self.starts, self.certificates, self.steps, self.stops = starts, certificates, steps, stops
        self.weights = weights or {}
        self.rows, self.y, self.box, self.alpha, self.errors = self._by_row = by_row

    @classmethod
    def of(cls, fits: Sequence[SvmFit]) -> StackedFits:
        """The same fits, stacked if they are not yet."""
        if isinstance(fits, StackedFits):
            return fits
        starts = np.cumsum([0, *(len(fit.rows) for fit in fits)])
        by_row = tuple(
            np.concatenate(part) for part in zip(*(fit[:5] for fit in fits), strict=True)
        )
        *numbers, steps, stops = FitNumbers.of(fits)
        return cls(starts, by_row, np.array(numbers), steps, stops)

    @property
    def intercepts(self) -> Vector:
        """The intercept of each, (p,)."""
        return np.asarray(self.certificates[0])

    @property
    def scores(self) -> Vector:
        """Decision values of the rows of all problems, (r,)."""
        return np.asarray(self.errors + self.y + self.of_rows(self.intercepts))

    def of_rows(self, values: Any) -> Any:
        """A value of each problem, (p,), for each of its rows, (r,)."""
        return np.repeat(values, np.diff(self.starts))

    def _with(self, **changes: Any) -> StackedFits:
        names = ("starts", "certificates", "steps", "stops", "weights")
        same = {name: getattr(self, name) for name in names}
        return StackedFits(**{**same, "by_row": self._by_row, **changes})

    def with_rows(self, rows: Codes) -> StackedFits:
        """The same fits with other numbers of their rows, (r,)."""
        by_row = rows, *self._by_row[1:]
        return self._with(by_row=by_row)

    def with_steps(self, steps: Codes) -> StackedFits:
        """The same fits with other numbers of steps, (p,)."""
        return self._with(steps=steps)

    def with_errors(self, errors: Vector) -> StackedFits:
        """The same fits with other errors of their rows, (r,)."""
        by_row = *self._by_row[:4], errors
        return self._with(by_row=by_row)

    def with_certificates(self, violations: Vector, gaps: Vector, stops: Any) -> StackedFits:
        """The same fits with other violations, gaps and stops, each (p,)."""
        numbers = np.array([*self.certificates[:4], violations, gaps])
        return self._with(certificates=numbers, stops=stops)

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> SvmFit: ...
    @overload
    def __getitem__(self, index: slice) -> StackedFits: ...
    def __getitem__(self, index: int | slice) -> SvmFit | StackedFits:
        if isinstance(index, slice):
            chosen = range(len(self))[index]
            own = slice(self.starts[chosen.start], self.starts[chosen.stop])
            return StackedFits(
                self.starts[chosen.start : chosen.stop + 1] - own.start,
                tuple(part[own] for part in self._by_row),
                self.certificates[:, index],
                self.steps[index],
                self.stops[index],
                {p - chosen.start: w for p, w in self.weights.items() if p in chosen},
            )
        p = range(len(self))[index]
        own = slice(self.starts[p], self.starts[p + 1])
        rows, y, box, alpha, errors = (part[own] for part in self._by_row)
        bias, primal, dual, square, violation, gap = self.certificates[:, p].tolist()
        steps, stop = int(self.steps[p]), str(self.stops[p])
        return SvmFit(
            rows, y, box, alpha, errors, bias, violation, primal, dual, square, steps, stop, gap
        )
