"""The choice of a solver for `LinearSVC`, from its parameters and the size of the samples."""

from __future__ import annotations

from typing import Any, NamedTuple

from separatrix.solvers.linear_svm.primal_newton import DIRECT

# passes of coordinate descent before Newton's method, with more rows than features, at least
PASSES_FIRST = 10
FIRST_WORK = 2**22  # multiply-adds of all these passes: half the time of calls in Newton's method
ROW_WORK = 10  # multiply-adds in the time that a row takes in a pass, beside those with its values
PASSES_LONG = 200  # with fewer rows, when coordinate descent probably converges


class SolverPlan(NamedTuple):
    """The algorithm of each boundary, and the reason for it."""

    passes: int  # of coordinate descent, at most
    newton: bool  # whether Newton's method follows, or runs alone
    words: str
    gpu_obstacle: str | None = None  # why it does not run on a GPU


def plan_solver(model: Any, n: int, d: int) -> SolverPlan:
    """How a `LinearSVC` solves its problem on n samples of d features."""
    plan = _plan(model, n, d)
    if model.multi_class == "crammer_singer":
        obstacle: str | None = "multi_class='crammer_singer'"
    elif model.penalty == "l1" or model.loss == "hinge":
        obstacle = f"penalty={model.penalty!r} and loss={model.loss!r}"
    elif not plan.newton or plan.passes:
        obstacle = "dual coordinate descent; set dual=False"
    else:
        obstacle = None if d <= DIRECT else f"more than {DIRECT} features"
    return plan._replace(gpu_obstacle=obstacle)


def _plan(model: Any, n: int, d: int) -> SolverPlan:
    if model.multi_class == "crammer_singer":
        return SolverPlan(model.max_iter, False, "dual, all classes together: multi_class")
    if model.penalty == "l1":
        return SolverPlan(model.max_iter, False, "primal coordinate descent: penalty='l1'")
    sizes = f"n={n} {'<' if n < d else '>='} d={d}"
    if model.dual != "auto":
        if model.dual:
            return SolverPlan(model.max_iter, False, "dual coordinate descent: dual=True")
        return SolverPlan(0, True, "primal Newton: dual=False")
    if d > DIRECT:
        words = sizes if n < d else f"d={d} > {DIRECT}"
        return SolverPlan(model.max_iter, False, f"dual coordinate descent: {words}")
    if n < d:
        return SolverPlan(PASSES_LONG, True, f"dual coordinate descent: {sizes}")
    if model.loss == "hinge":
        affordable = min(FIRST_WORK // (n * (d + ROW_WORK)), model.max_iter // 2)
        return SolverPlan(
            max(PASSES_FIRST, affordable), True, f"dual, then interior point: {sizes}"
        )
    return SolverPlan(0, True, f"primal Newton: {sizes}")
