"""From interior points to vertices: the same value with few coefficients between their bounds."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer

from separatrix.solvers.svm.crossover import find_vertex, move_to_bounds
from separatrix.solvers.svm.interior_point import (
    BoxProblem,
    Columns,
    KernelMatrix,
    low_rank,
    solve_interior_point,
)


def table(name):
    """Samples of two classes, columns about their mean, and y."""
    rng = np.random.default_rng(0)
    if name == "repeated rows":
        X = np.repeat(rng.normal(size=(20, 3)), 5, axis=0)
        y = np.where(X[:, 0] + rng.normal(size=100) > 0, 1.0, -1.0)
    elif name == "codes":
        X = rng.integers(0, 3, (150, 4)).astype(float)
        y = np.where(X.sum(axis=1) + rng.normal(size=150) > 4, 1.0, -1.0)
    elif name == "one code":
        X, y = rng.integers(0, 2, (60, 1)).astype(float), np.where(np.arange(60) % 3, 1.0, -1.0)
    elif name == "repeated columns":
        X = np.repeat(rng.normal(size=(80, 3)), 3, axis=1)
        y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)
    else:
        load = {"cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine}[name]
        X, labels = load(return_X_y=True)
        y, X = np.where(labels[labels < 2] == 1, 1.0, -1.0), X[labels < 2]
    return X - X.mean(axis=0), y


TABLES = ["repeated rows", "codes", "one code", "repeated columns", "cancer", "iris", "wine"]


def vertex_of(X, y, C, *, kernel=None):
    """Problem, interior point, vertex, and what gives |V'a|^2."""
    box = np.broadcast_to(np.asarray(C, float), y.shape).copy()
    problem = BoxProblem(box, y[:, None], np.zeros(1), 1.0)
    if kernel is None:
        quadratic, Q = Columns(X * y[:, None], problem.sides), None
        values = (X * y[:, None]) @ (X * y[:, None]).T
    else:
        Q = values = kernel * np.outer(y, y)
        G = low_rank(kernel)
        quadratic = (
            KernelMatrix(Q, problem.sides) if G is None else Columns(G * y[:, None], problem.sides)
        )
    fit = solve_interior_point(quadratic, problem)
    return problem, fit, find_vertex(quadratic, problem, fit, Q), values


def dual(values, a):
    return a.sum() - 0.5 * a @ values @ a


def check_vertex(problem, fit, a, values, rank):
    """Sums, bounds, number of free coefficients and value of a vertex."""
    y, box = problem.sides[:, 0], problem.box
    free = (a > 0.0) & (a < box)
    interior = dual(values, fit.alpha)
    assert ((a >= 0.0) & (a <= box)).all()
    assert np.count_nonzero(free) <= rank + 1
    assert abs(y @ a) <= 1e-12 * a.sum()
    assert dual(values, a) >= interior - 1e-6 * max(abs(interior), 1.0)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", TABLES)
def test_a_vertex_of_columns_has_the_value_and_few_free_coefficients(name, C):
    X, y = table(name)
    problem, fit, a, values = vertex_of(X, y, C)
    check_vertex(problem, fit, a, values, np.linalg.matrix_rank(X))


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", TABLES)
def test_a_vertex_of_a_kernel_matrix_has_the_value_and_few_free_coefficients(name, C):
    X, y = table(name)
    X, y = (X / X.std(axis=0))[:300], y[:300]
    K = np.exp(-0.1 * np.square(X[:, None] - X[None]).sum(axis=2))
    problem, fit, a, values = vertex_of(X, y, C, kernel=K)
    check_vertex(problem, fit, a, values, len(np.unique(X, axis=0)))


@pytest.mark.parametrize("name", ["codes", "cancer"])
def test_bounds_that_differ_by_row_are_met_exactly(name):
    X, y = table(name)
    C = np.random.default_rng(3).uniform(0.1, 10.0, len(y))
    problem, fit, a, values = vertex_of(X, y, C)
    check_vertex(problem, fit, a, values, np.linalg.matrix_rank(X))
    assert np.count_nonzero(a == C) > 0


def test_where_every_row_is_a_support_vector_few_are_free():
    X, y = table("cancer")
    X, y = np.r_[X[y > 0][:200], X[y < 0][:200]], np.repeat([1.0, -1.0], 200)
    X = X / X.std(axis=0)
    problem, fit, a, values = vertex_of(X, y, 1e-5)
    check_vertex(problem, fit, a, values, X.shape[1])
    assert np.count_nonzero(a == 1e-5) >= 400 - X.shape[1] - 1


def test_a_hard_margin_has_a_vertex_of_its_support_vectors():
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(-2, 0.5, (20, 2)), rng.normal(2, 0.5, (30, 2))]
    y = np.repeat([-1.0, 1.0], [20, 30])
    for kernel in (None, X @ X.T):
        problem, fit, a, values = vertex_of(X, y, np.inf, kernel=kernel)
        check_vertex(problem, fit, a, values, 2)
        assert 2 <= np.count_nonzero(a) <= 3


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("name", ["cancer", "wine", "digits"])
@pytest.mark.parametrize("gaussian", [False, True])
def test_support_vectors_are_as_few_as_scikit_learns(name, C, gaussian):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X, y = X[:, X.std(axis=0) > 0], np.where(y % 2, 1.0, -1.0)
    else:
        X, y = table(name)
    X, y = StandardScaler().fit_transform(X)[:300], y[:300]
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / X.shape[1]) if gaussian else X @ X.T
    _, _, a, values = vertex_of(X, y, C, kernel=K if gaussian else None)
    peer = Peer(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    theirs = np.zeros(len(y))
    theirs[peer.support_] = np.abs(peer.dual_coef_[0])
    np.testing.assert_allclose(dual(values, a), dual(values, theirs), rtol=1e-6)
    assert np.count_nonzero(a) <= 1.03 * len(peer.support_) + 1


@pytest.mark.parametrize("kind", ["nu", "one class"])
def test_nu_machines_have_vertices_too(kind):
    rng = np.random.default_rng(2)
    y = np.repeat([-1.0, 1.0], 30)
    X = rng.normal(size=(60, 3)) + np.maximum(y, 0.0)[:, None]
    K = np.exp(-0.3 * np.square(X[:, None] - X[None]).sum(axis=2))
    two = kind == "nu"
    sides = np.stack([y > 0, y < 0], axis=1).astype(float) if two else np.ones((60, 1))
    Q = K * np.outer(y, y) if two else K
    problem = BoxProblem(np.ones(60), sides, np.full(sides.shape[1], 18.0 / sides.shape[1]), 0.0)
    quadratic = KernelMatrix(Q, sides)
    fit = solve_interior_point(quadratic, problem)

    a = find_vertex(quadratic, problem, fit, Q)

    assert ((a >= 0.0) & (a <= 1.0)).all()
    np.testing.assert_allclose(sides.T @ a, problem.totals, rtol=1e-9)
    assert a @ Q @ a <= (1.0 + 1e-6) * (fit.alpha @ Q @ fit.alpha)
    assert np.count_nonzero((a > 0.0) & (a < 1.0)) < 30


# ---- dependent rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_moving_coefficients_to_bounds_keeps_the_sums_of_rows(seed):
    rng = np.random.default_rng(seed)
    rank, count = int(rng.integers(1, 6)), int(rng.integers(1, 30))
    B = rng.normal(size=(rank, rank)) + 3.0 * np.eye(rank)
    T = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], (rank, count))
    if seed % 2:
        T = rng.normal(size=(rank, count))
    rows = np.r_[B, T.T @ B]
    box = rng.choice([0.5, 1.0, 4.0, np.inf], rank + count)
    a = rng.uniform(0.01, 0.99, rank + count) * np.minimum(box, 5.0)
    sums, basis = rows.T @ a, np.arange(rank)

    move_to_bounds(np.ascontiguousarray(T), basis, a, box)

    outside = np.setdiff1d(np.arange(rank + count), basis)
    assert ((a >= 0.0) & (a <= box)).all()
    assert ((a[outside] == 0.0) | (a[outside] == box[outside])).all()
    assert (np.abs(rows.T @ a - sums) <= 1e-8 * (1.0 + np.abs(rows).T @ a)).all()
    assert np.linalg.matrix_rank(rows[basis]) == rank


def test_the_coefficients_of_equal_rows_become_one_and_the_rest_bounds():
    a, box, basis = np.array([0.4, 0.3, 0.8]), np.ones(3), np.array([0])
    move_to_bounds(np.ones((1, 2)), basis, a, box)
    assert a.sum() == pytest.approx(1.5)
    assert sorted(a.round(12)) == [0.0, 0.5, 1.0]
