"""What all solvers of linear machines share: passes in pieces, limits and cancellation."""

import numpy as np
import pytest
from tests.solvers.linear_svm import test_crammer_singer, test_l1_penalty
from tests.solvers.linear_svm.test_dual_descent import made, problem_of

import separatrix.solvers.linear_svm.crammer_singer as crammer_singer
import separatrix.solvers.linear_svm.dual_descent as dual_descent
import separatrix.solvers.linear_svm.l1_penalty as l1_penalty
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.hinge import solve_hinge
from separatrix.solvers.linear_svm.primal_newton import solve_newton


def dual(**terms):
    return dual_descent.solve_dual(problem_of(*made(6)), **{"max_iter": 10**9, "seed": 3} | terms)


def l1(**terms):
    return test_l1_penalty.solved(*made(5), **terms)


def newton(**terms):
    problem = problem_of(*made(6), loss="squared_hinge")
    return solve_newton(problem, **{"max_iter": 100} | terms)


def hinge(*, tol, max_iter=100, monitor=None):
    monitor = monitor or FitMonitor()
    return solve_hinge(problem_of(*made(6)), gap=tol, max_iter=max_iter, monitor=monitor)


SOLVERS = {
    "dual": dual,
    "l1": l1,
    "crammer_singer": test_crammer_singer.solved,
    "newton": newton,
    "hinge": hinge,
}


@pytest.mark.parametrize(
    ("name", "module", "chunk"),
    [
        ("dual", dual_descent, 7 * (5 + 10)),
        ("l1", l1_penalty, 4 * 60 * 4),
        ("crammer_singer", crammer_singer, 7 * 14 * 3),
    ],
)
def test_passes_can_be_cut_short_anywhere_without_changing_the_result(
    name, module, chunk, monkeypatch
):
    whole = SOLVERS[name](tol=1e-5)
    monkeypatch.setattr(module, "CHUNK", chunk)
    parts = SOLVERS[name](tol=1e-5)
    np.testing.assert_array_equal(parts.w, whole.w)
    np.testing.assert_array_equal(parts.a, whole.a)
    assert parts.n_iter == whole.n_iter


@pytest.mark.parametrize("name", SOLVERS)
def test_too_few_passes_and_cancellation_are_reported(name, cancelled, monkeypatch):
    few = SOLVERS[name](tol=1e-12, max_iter=1)
    assert (few.stop, few.n_iter) == ("max_iter", 1)
    assert few.violation > 1e-12
    for module in (crammer_singer, dual_descent, l1_penalty):
        monkeypatch.setattr(module, "CHUNK", 1)
    stopped = SOLVERS[name](tol=1e-30, monitor=cancelled)
    assert stopped.stop == "stopped"
    assert stopped.gap >= 0
