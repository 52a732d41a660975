import numpy as np
import pytest

from separatrix.solvers.logistic.lbfgs import LbfgsMemory, _search_line, solve_lbfgs
from separatrix.solvers.logistic.passes import Sums, sums_of
from separatrix.solvers.logistic.preconditioner import Diagonal, Factored, Partial
from separatrix.types import Block


def inverse_hessian(pairs, size):
    """BFGS, one update after the other, from a multiple of the identity."""
    s, y = pairs[-1]
    H = np.eye(size) * (s @ y) / (y @ y)
    for s, y in pairs:
        V = np.eye(size) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize("steps", [1, 3, 4, 9])
def test_the_memory_is_bfgs_over_the_last_steps(steps):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    A = A @ A.T + np.eye(12)
    memory, pairs = LbfgsMemory(12, 4), []
    g = rng.normal(size=12)
    for _ in range(steps):
        s = rng.normal(size=12)
        memory.add(s, g, g + A @ s)
        pairs.append((s, A @ s))
        g = g + A @ s
        H = inverse_hessian(pairs[-4:], 12)
        np.testing.assert_allclose(memory.times(g), H @ g, rtol=1e-9)
    other = rng.normal(size=12)
    np.testing.assert_allclose(memory.times(other), H @ other, rtol=1e-9)


def test_a_step_without_curvature_is_not_kept():
    memory, g = LbfgsMemory(2), np.array([1.0, 2.0])
    memory.add(np.array([1.0, 0.0]), g, g + np.array([0.0, 1.0]))
    np.testing.assert_array_equal(memory.times(g), g)


def positive(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + np.eye(size)


def guesses(kind, rng):
    """A change of variables of points (2, 3), and the matrix, (6, 6), that it makes the identity."""
    if kind == "all rows":
        guess = positive(rng, 6)
        return Factored.of(guess), guess
    guess = positive(rng, 3)
    if kind == "each row":
        return Factored.of(guess), np.kron(np.eye(2), guess)
    diagonal = Diagonal.of(np.diag(guess))
    if kind == "diagonal":
        return diagonal, np.kron(np.eye(2), np.diag(np.diag(guess)))
    some = np.array([0, 2])
    own = np.diag(np.diag(guess))
    own[np.ix_(some, some)] = guess[np.ix_(some, some)]
    part = Partial(some, Factored.of(guess[np.ix_(some, some)]), diagonal)
    return part, np.kron(np.eye(2), own)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["all rows", "each row", "diagonal", "some columns"])
def test_in_its_variables_the_guess_is_the_identity(kind, order):
    rng = np.random.default_rng(0)
    variables, guess = guesses(kind, rng)
    theta, gradient = (rng.normal(size=(2, 3)).copy(order) for _ in range(2))
    z = variables.variables(theta)
    np.testing.assert_allclose(variables.point(z), theta)
    assert np.sum(z**2) == pytest.approx(theta.ravel() @ guess @ theta.ravel())
    assert np.sum(z * variables.slope(gradient)) == pytest.approx(np.sum(theta * gradient))


def test_with_the_true_hessian_a_parabola_takes_one_step():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    A, lowest = root @ root.T + np.eye(5), rng.normal(size=(1, 5))

    def parabola(theta, hessian):
        away = theta - lowest
        return Sums(100.0 + 0.5 * float(np.sum(away @ A * away)), away @ A, None, 0.0, 0.0)

    options = {"precision": np.zeros(5), "weight": 1.0, "tol": 1e-9, "max_iter": 50, "gap": 1e-7}
    found = solve_lbfgs(parabola, np.zeros((1, 5)), preconditioner=Factored.of(A), **options)
    assert (found.stop, found.n_iter) == ("tol", 1)
    np.testing.assert_allclose(found.theta, lowest, rtol=1e-9)


def test_a_gap_asks_for_more_than_the_gradient_does():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 8)), rng.integers(0, 3, size=200)
    block = Block(X, y, np.ones(200))

    def at(theta, hessian):
        return sums_of(block, theta, intercept=True, hessian=hessian)

    options = {"precision": np.full(9, 1e-3), "weight": 200.0, "max_iter": 500}
    options["preconditioner"] = Diagonal.of(np.ones(9))
    begin = np.zeros((3, 9))
    lowest = solve_lbfgs(at, begin, tol=1e-10, **options).objective
    loose = solve_lbfgs(at, begin, tol=0.01, **options)
    tight = solve_lbfgs(at, begin, tol=0.01, gap=0.0, **options)
    assert loose.stop == tight.stop == "tol"
    assert tight.objective - lowest < 1e-6 * lowest < loose.objective - lowest


@pytest.mark.parametrize("slope", [0.0, 1.0, np.nan])
def test_a_direction_that_does_not_fall_is_not_searched(slope):
    def at(_z):
        raise AssertionError("the objective must not be computed")

    assert _search_line(at, np.zeros(2), Sums(1.0, None, None, 0.0, 0.0), np.ones(2), slope) is None
