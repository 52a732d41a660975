"""The interior point method of hard margins: its steps, its end, and the problems that it is for."""

import numpy as np
from tests.solvers.svm.test_rules import sizes_to_gram

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm import hard_margin
from separatrix.solvers.svm.problem import SvmProblem
from separatrix.solvers.svm.stacked import StackedProblems


def test_an_interior_point_needs_few_steps_and_meets_the_conditions(monkeypatch):
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(-2, 0.5, (6, 2)), rng.normal(2, 0.5, (9, 2))]
    y = np.repeat([-1.0, 1.0], [6, 9])
    steps, step = [], hard_margin._step
    monkeypatch.setattr(hard_margin, "_step", lambda *given: steps.append(0) or step(*given))

    a = hard_margin.solve_interior_point(X @ X.T, y)

    f = X @ X.T @ (a * y)
    free = a > 0
    b = np.mean(y[free] - f[free])
    assert len(steps) <= 16
    np.testing.assert_allclose(a @ y, 0.0, atol=1e-12)
    np.testing.assert_allclose(y[free] * (f[free] + b), 1.0, atol=1e-10)
    assert (y * (f + b) >= 1.0 - 1e-10).all()
    assert 2 <= np.count_nonzero(a) <= 3


def test_the_newton_system_is_solved():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(5, 5))
    Q, y = A @ A.T, np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    a, z, b, complement = (
        rng.uniform(0.5, 1, 5),
        rng.uniform(0.5, 1, 5),
        0.3,
        rng.uniform(0.1, 1, 5),
    )

    da, dz, db = hard_margin._Newton.at(Q, y, a, z, b).direction(complement)

    np.testing.assert_allclose(Q @ (a + da) - 1.0 + (b + db) * y - (z + dz), 0.0, atol=1e-9)
    np.testing.assert_allclose(y @ (a + da), 0.0, atol=1e-9)
    np.testing.assert_allclose(a * dz + z * da, -complement, rtol=1e-9)


def test_only_hard_problems_without_a_start_get_one():
    gram = sizes_to_gram(3, 3)
    sides, hard = np.array([-1, 1], np.int8), np.full(6, np.inf)
    mixed = np.array([np.inf] + [1.0] * 5)
    problems = [
        SvmProblem(sides, box, start)
        for box, start in ((hard, None), (hard, np.zeros(6)), (mixed, None))
    ]
    stacked = StackedProblems.of(gram.segments, problems)
    found = hard_margin.start_hard_margins(gram, stacked, FitMonitor())
    assert [one.start is None for one in found] == [False, False, True]
    assert not found[1].start.any()
    soft = StackedProblems.of(gram.segments, [SvmProblem(sides, np.ones(6))])
    assert hard_margin.start_hard_margins(gram, soft, FitMonitor()) is soft
