"""Support vector machines for growing C over one Gram matrix, each from the last one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from separatrix.estimators.base.support import Support
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import coding
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import LIBSVM, SvmFit, SvmProblem
from separatrix.types import Gram, Matrix, Vector


class SvcPath(NamedTuple):
    """The machines of several sets of weights, for the values of C that were reached."""

    supports: list[list[Support]]  # of each set of weights, for each C reached
    reached: list[int]  # numbers of the values of C
    unfinished: int  # boundaries that missed their tolerance


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
    sides = coding(n_classes, model.multi_class)
    p = sides.shape[1]
    path = SvcPath([[] for _ in weights], [], 0)
    unfinished = 0
    fits: list[SvmFit] = []
    last = 0.0
    for c in np.argsort(Cs, kind="stable").tolist():
        if fits and model.stop == LIBSVM and not any(_is_bounded(fit) for fit in fits):
            path.reached.append(c)  # no bound matters any more
            for done in path.supports:
                done.append(done[-1])
            continue
        problems = [SvmProblem(side, box) for box in Cs[c] * weights for side in sides.T]
        if begun and not fits:
            problems = [p._replace(start=a) for p, a in zip(problems, begun, strict=True)]
        if fits:
            problems = _start_from(problems, fits, Cs[c] / last)
        fits = solve_svms(
            gram,
            problems,
            tol=model.tol,
            stop=model.stop,
            max_iter=model.max_iter,
            monitor=monitor.inner(model.time_limit),
            threads=model._threads,
        )
        if monitor.should_stop():
            break
        if not path.reached:
            begun[:] = [fit.alpha for fit in fits]
        last = Cs[c]
        path.reached.append(c)
        unfinished += sum(fit.stop != "tol" for fit in fits)
        for number, done in enumerate(path.supports):
            own = fits[number * p : (number + 1) * p]
            done.append(Support.of(own, n_classes, model.multi_class, segments=gram.segments))
            monitor.step()
    return path._replace(unfinished=unfinished)


def _is_bounded(fit: SvmFit) -> bool:
    """Whether an upper bound keeps a coefficient from growing."""
    return bool(np.any((fit.alpha >= fit.box) & (fit.box > 0)))


def _start_from(
    problems: Sequence[SvmProblem], fits: Sequence[SvmFit], ratio: float
) -> list[SvmProblem]:
    """Start from the fits at the last C.

    If most coefficients of a problem are at their upper bound they will be again, so all are scaled with
    it; otherwise they hardly change.
    """
    alpha, old_box, errors, y = (
        np.concatenate([getattr(fit, name) for fit in fits])
        for name in ("alpha", "box", "errors", "y")
    )
    box = np.concatenate([p.box[fit.rows] for p, fit in zip(problems, fits, strict=True)])
    sizes = [len(fit.rows) for fit in fits]
    begin = np.cumsum([0, *sizes[:-1]])
    bounded = alpha == old_box
    n_bounded, n_support = (
        np.add.reduceat(part.astype(np.int64), begin) for part in (bounded & (alpha > 0), alpha > 0)
    )
    scales = np.repeat(2 * n_bounded >= n_support, sizes)
    scaled = np.where(bounded, box, np.minimum(alpha * ratio, box))
    start = np.where(scales, scaled, alpha)
    start_errors = np.where(scales, ratio * (errors + y) - y, errors)
    cuts = pairwise([*begin.tolist(), len(alpha)])
    return [
        SvmProblem(problem.sides, problem.box, start[a:b], start_errors[a:b])
        for problem, (a, b) in zip(problems, cuts, strict=True)
    ]
