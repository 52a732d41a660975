"""Kernel support vector machines: working-set decomposition on the CPU and the GPU."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.problem import StoppingRule, SvmFit, SvmProblem
from separatrix.solvers.svm.smo import solve_on_held, solve_on_rows
from separatrix.solvers.svm.stacked import StackedProblems
from separatrix.types import DeviceMatrix, Gram, HeldMatrix, RowMatrix


def solve_svms(
    gram: Gram,  # shape: (n, n)
    problems: Sequence[SvmProblem],
    *,
    tol: float = 1e-3,
    stop: str = "kkt",
    max_iter: int = -1,
    monitor: FitMonitor | None = None,
    threads: int = 1,
) -> Sequence[SvmFit]:
    """Solve many binary support vector problems over one Gram matrix.

    Problem
        min over a   1/2 sum_ij a_i a_j y_i y_j K_ij - sum_i a_i
        subject to   0 <= a_i <= box_i  and  sum_i a_i y_i = 0

    Given
        gram       K, held in memory, computed by rows, or on a device
        problems   sides y and upper bounds box of each problem, and initial coefficients
        tol, stop  "kkt": stop at a violation of the optimality conditions of at most tol, and a small gap;
                   "gap": stop at a relative duality gap of at most tol; "violation": as LIBSVM, at a
                   violation of at most tol, however large the gap
        max_iter   steps on two rows for each problem; -1 for no limit
        monitor    progress, time limit and cancellation
        threads    CPU threads

    Returns the coefficients a of every problem with its intercept, violation and objectives.

    Reference: Platt 1998; Fan, Chen and Lin, Working Set Selection Using Second Order Information,
    JMLR 6 (2005); Wen et al., ThunderSVM, JMLR 19 (2018).
    """
    rule, monitor = StoppingRule.of(tol, stop, max_iter), monitor or FitMonitor()
    if isinstance(gram, HeldMatrix):
        stacked = StackedProblems.of(gram.segments, problems)
        return solve_on_held(gram, stacked, rule, monitor, threads)
    if isinstance(gram, RowMatrix):
        return solve_on_rows(gram, problems, rule, monitor, threads)
    if isinstance(gram, DeviceMatrix):
        from separatrix.solvers.svm.cuda_chunks import solve_on_device  # torch is optional

        return solve_on_device(gram, problems, rule, monitor)
    raise TypeError(f"a Gram matrix must be held, by rows or on a device; got {gram!r}")
