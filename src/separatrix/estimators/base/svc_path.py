"""Support vector machines for growing C over one Gram matrix, each from the last one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.estimators.base.support import Support, coefficient_slots, scores_of_all
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import ClassSides, n_boundaries
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import LIBSVM
from separatrix.solvers.svm.stacked import StackedFits, StackedProblems
from separatrix.types import Codes, Gram, Matrix, Vector


class SvcPath(NamedTuple):
    """The machines of several sets of weights, for the values of C that were reached."""

    supports: list[list[Support]]  # of each set of weights, for each C reached
    reached: list[int]  # numbers of the values of C
    unfinished: int  # boundaries that missed their tolerance
    outputs: list[list[Vector]]  # the same, of two classes: the score of each row, (n,)


def solve_svc_path(
    model: Any,  # an SVC, for its parameters
    gram: Gram,  # shape: (n, n); rows in class order
    n_classes: int,
    weights: Matrix,  # shape: (sets, n); factors of C, 0 for rows held out
    Cs: Sequence[float],
    monitor: FitMonitor,
    begun: list[Vector],
) -> SvcPath:
    """Solve all boundaries of all sets of weights for each C.

    Each C starts from the last one, the first from that of the last kernel: `begun`, which is replaced.
    """
    scheme, segments = model.multi_class, gram.segments
    sides = ClassSides.for_scheme(n_classes, scheme)
    p = n_boundaries(n_classes, scheme)
    path = SvcPath([[] for _ in weights], [], 0, [[] for _ in weights])
    unfinished = 0
    problems = StackedProblems.for_each(segments, sides, list(weights))
    fits: StackedFits | None = None
    slots: Codes | None = None
    last = 0.0
    for c in np.argsort(Cs, kind="stable").tolist():
        if fits is not None and model.stop == LIBSVM and not _is_bounded(fits):
            path.reached.append(c)  # no bound matters any more
            for done, scores in zip(path.supports, path.outputs, strict=True):
                done.append(done[-1])
                scores.extend(scores[-1:])
            continue
        if fits is None:
            problems = problems.again(list(Cs[c] * weights), begun[0] if begun else None, None)
        else:
            problems = _start_from(problems, list(Cs[c] * weights), fits, Cs[c] / last)
        fits = StackedFits.of(
            solve_svms(
                gram,
                problems,
                tol=model.tol,
                stop=model.stop,
                max_iter=model.max_iter,
                monitor=monitor.inner(model.time_limit),
                threads=model._threads,
            )
        )
        if monitor.should_stop():
            break
        if not path.reached:
            begun[:] = [fits.alpha]
        last = Cs[c]
        path.reached.append(c)
        unfinished += int(np.count_nonzero(fits.stops != "tol"))
        if slots is None:
            slots = coefficient_slots(fits[:p], n_classes, scheme, segments)
        for number, done in enumerate(path.supports):
            own = fits[number * p : (number + 1) * p]
            done.append(Support.of(own, n_classes, scheme, segments=segments, slots=slots))
            if p == 1:  # all rows take part, those held out with a bound of 0
                path.outputs[number].append(own.scores)
            monitor.step()
    return path._replace(unfinished=unfinished)


def scores_of_rows(path: SvcPath, number: int, gram: Gram, rows: Codes) -> Any:
    """Scores of rows by the machines of one set of weights for each C reached, (rows, Cs, p)."""
    if path.outputs[number]:
        return np.stack([scores[rows] for scores in path.outputs[number]], axis=1)[:, :, None]
    return scores_of_all(path.supports[number], gram, rows)


def _is_bounded(fits: StackedFits) -> bool:
    """Whether an upper bound keeps a coefficient from growing."""
    return bool(np.any((fits.alpha >= fits.box) & (fits.box > 0)))


def _start_from(
    problems: StackedProblems, boxes: list[Vector], fits: StackedFits, ratio: float
) -> StackedProblems:
    """The problems with other upper bounds, started from the fits at the last C.

    If most coefficients of a problem are at their upper bound they will be again, so all are scaled with
    it; otherwise they hardly change.
    """
    again = problems.again(boxes, None, None)
    alpha, begin, sizes = fits.alpha, fits.starts[:-1], np.diff(fits.starts)
    bounded = alpha == fits.box
    n_bounded, n_support = (
        np.add.reduceat(part.astype(np.int64), begin) for part in (bounded & (alpha > 0), alpha > 0)
    )
    scales = np.repeat(2 * n_bounded >= n_support, sizes)
    box = again.box_of_rows()
    scaled = np.where(bounded, box, np.minimum(alpha * ratio, box))
    start = np.where(scales, scaled, alpha)
    start_errors = np.where(scales, ratio * (fits.errors + fits.y) - fits.y, fits.errors)
    return problems.again(boxes, start, start_errors)
