import numpy as np
import pytest
from tests.solvers.linear_svm.test_dual_descent import made, problem_of

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.block_newton import hinge_sums, solve_newton_over_blocks
from separatrix.solvers.linear_svm.primal_newton import solve_newton
from separatrix.types import Block


class Blocks(list):
    n_features = 5


def blocks(X, y, weights, cuts):
    codes = (y > 0).astype(np.intp)
    parts = zip(np.split(X, cuts), np.split(codes, cuts), np.split(weights, cuts), strict=True)
    return Blocks(Block(*part) for part in parts)


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_blocks_end_where_the_whole_does(constant):
    X, y = made(4)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    price = np.array([0.7, 1.6])
    given = blocks(X, y, weights, [13, 14, 40])
    problem = problem_of(X, y, loss="squared_hinge", bias_step=constant**2)
    problem = problem._replace(price=price[(y > 0).astype(int)] * weights)
    whole = solve_newton(problem, tol=1e-10, max_iter=50)

    found = solve_newton_over_blocks(given, 1, price, constant=constant, tol=1e-10, max_iter=50)

    np.testing.assert_allclose(found.w, whole.w, rtol=1e-7)
    assert found.b == pytest.approx(whole.b, rel=1e-7)
    assert (found.stop, found.objective) == ("tol", pytest.approx(whole.objective))
    d = 5 + bool(constant)
    assert found.dual_objective == found.objective - 0.5 * d * found.violation**2
    other = solve_newton_over_blocks(given, 0, price, constant=constant, tol=1e-10, max_iter=50)
    np.testing.assert_allclose(other.w, -found.w, rtol=1e-7)
    cut = solve_newton_over_blocks(given, 1, price, constant=constant, tol=1e-10, max_iter=1)
    assert (cut.n_iter, cut.stop) == (1, "max_iter")
    monitor = FitMonitor()
    monitor.should_stop = lambda: True
    stopped = solve_newton_over_blocks(
        given, 1, price, constant=constant, tol=1e-10, max_iter=50, monitor=monitor
    )
    assert stopped.stop == "stopped"


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_sums_over_a_block_are_those_of_the_formula(constant):
    X, y = made(4)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60) * (np.arange(60) % 7 > 0)
    (block,) = blocks(X, y, weights, [])
    theta = np.random.default_rng(1).normal(size=(1, 5 + bool(constant)))
    price = np.array([0.7, 1.6])
    found = hinge_sums(block, theta, own=1, price=price, constant=constant, hessian=True)
    Z = np.c_[X, np.full(60, constant)] if constant else X
    scale = price[block.y] * weights
    slack = np.maximum(0, 1 - y * (Z @ theta[0]))
    assert found.loss == pytest.approx(scale @ slack**2)
    np.testing.assert_allclose(found.gradient[0], -2 * Z.T @ (scale * slack * y))
    bent = slack > 0
    np.testing.assert_allclose(found.hessian, 2 * (Z * (scale * bent)[:, None]).T @ Z)
    plain = hinge_sums(block, theta, own=1, price=price, constant=constant, hessian=False)
    assert plain.hessian is None
    np.testing.assert_array_equal(plain.gradient, found.gradient)
