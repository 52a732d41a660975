"""Multiple kernel learning against a general solver of its dual, and by its certificate."""

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels.gram import HeldGram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers import kernel_combination
from separatrix.solvers.decomposition import coding
from separatrix.solvers.kernel_combination import (
    Planes,
    combine_matrices,
    solve_kernel_combination,
)
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import SvmProblem

KERNELS = [Linear(), Polynomial(2, coef0=1.0), Gaussian(0.5), Gaussian(3.0)]


def problem_of(n, seed, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sort(rng.integers(0, k, size=n))
    X[:, 0] += 0.7 * y
    matrices = [kernel.block(X, X) for kernel in KERNELS]
    matrices = [K / np.diagonal(K).mean() for K in matrices]
    edges = np.searchsorted(y, np.arange(k + 1)).tolist()
    segments = tuple(slice(*edge) for edge in pairwise(edges))
    return matrices, y, segments


def solve(matrices, segments, C, k=2, scheme="ovo", **more):
    n = len(matrices[0])
    sides = coding(k, scheme)
    problems = [SvmProblem(side, np.full(n, C)) for side in sides.T]
    hold = partial(HeldGram, segments=segments)
    return solve_kernel_combination(matrices, problems, hold=hold, **more)


def dual_optimum(matrices, s, C):
    """max sum a - t  subject to  t >= a'Y K_m Y a / 2 for all m,  y'a = 0,  0 <= a <= C: by SLSQP."""
    n = len(s)

    def curved(z, K):
        return z[-1] - 0.5 * (z[:n] * s) @ K @ (z[:n] * s)

    def slope(z, K):
        return np.append(-s * (K @ (z[:n] * s)), 1.0)

    found = minimize(
        lambda z: z[-1] - z[:n].sum(),
        np.append(np.full(n, 0.01), 1.0),
        jac=lambda z: np.append(-np.ones(n), 1.0),
        method="SLSQP",
        bounds=[(0, C)] * n + [(None, None)],
        constraints=[{"type": "eq", "fun": lambda z: z[:n] @ s}]
        + [
            {"type": "ineq", "fun": partial(curved, K=K), "jac": partial(slope, K=K)}
            for K in matrices
        ],
        options={"maxiter": 2000, "ftol": 1e-12},
    )
    assert found.success
    return -found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_optimum_is_that_of_a_general_solver(C, seed):
    matrices, y, segments = problem_of(30, seed)
    found = solve(matrices, segments, C, tol=1e-6)
    optimum = dual_optimum(matrices, np.where(y == 0, 1.0, -1.0), C)

    assert found.stop == "tol"
    scale = 1e-6 * max(1.0, optimum)
    assert found.dual - scale <= optimum <= found.primal + scale
    assert found.gap <= 1e-6


def test_of_one_kernel_it_is_the_svm():
    matrices, _, segments = problem_of(40, 3)
    found = solve(matrices[:1], segments, 1.0, tol=1e-6)
    (fit,) = solve_svms(
        HeldGram(matrices[0], segments=segments),
        [SvmProblem(coding(2, "ovo").T[0], np.full(40, 1.0))],
        tol=1e-8,
    )
    assert found.weights.tolist() == [1.0]
    assert found.n_iter == 1
    assert found.primal == pytest.approx(fit.primal, rel=1e-5)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_several_classes_share_the_weights(scheme):
    matrices, _, segments = problem_of(45, 4, k=3)
    found = solve(matrices, segments, 1.0, k=3, scheme=scheme, tol=1e-4)
    assert len(found.fits) == 3
    assert found.stop == "tol"

    def objective(weights):
        gram = HeldGram(combine_matrices(matrices, weights), segments=segments)
        problems = [SvmProblem(side, np.full(45, 1.0)) for side in coding(3, scheme).T]
        return sum(fit.dual for fit in solve_svms(gram, problems, tol=1e-6, stop="gap"))

    rng = np.random.default_rng(0)
    assert objective(found.weights) == pytest.approx(found.primal, rel=1e-3)
    for weights in [*np.eye(4), *rng.dirichlet(np.ones(4), size=10)]:
        assert objective(weights) >= found.dual - 1e-4 * found.primal


def test_a_useless_kernel_has_no_weight():
    _, y, segments = problem_of(40, 5)
    target = np.where(y[:, None] == y, 1.0, -1.0)
    found = solve([target, np.eye(40)], segments, 1.0, tol=1e-6)
    np.testing.assert_allclose(found.weights, [1.0, 0.0], atol=1e-3)


def test_weights_do_not_depend_on_the_start():
    matrices, _, segments = problem_of(40, 6)
    first = solve(matrices, segments, 1.0, tol=1e-7)
    second = solve(matrices, segments, 1.0, tol=1e-7, start=np.array([0.0, 0.0, 0.0, 1.0]))
    np.testing.assert_allclose(first.weights, second.weights, atol=0.02)
    assert first.primal == pytest.approx(second.primal, rel=1e-6)


def test_limits_end_it_with_bounds_that_hold():
    matrices, y, segments = problem_of(30, 7)
    optimum = dual_optimum(matrices, np.where(y == 0, 1.0, -1.0), 1.0)
    cut = solve(matrices, segments, 1.0, tol=1e-9, max_iter=2)
    assert cut.stop == "max_iter"
    assert cut.dual <= optimum * (1 + 1e-6)
    assert cut.primal >= optimum * (1 - 1e-6)
    monitor = FitMonitor()
    monitor.cancel()
    assert solve(matrices, segments, 1.0, tol=1e-9, monitor=monitor).stop == "stopped"


def test_weights_are_projected_to_the_nearest_below_the_level():
    """Along the line of two weights of sum 1 the nearest ones are found by hand."""
    planes = Planes([3.0], [np.array([2.0, 6.0])])  # 3 - d_1 - 3 d_2 = 2 - 2 d_2
    some = np.array([0.7, 0.3])  # the plane is at 1.4
    np.testing.assert_allclose(planes.project(some, 2.0, np.array([0.0, 1.0])), some, atol=1e-6)
    found = planes.project(some, 1.0, np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [0.5, 0.5], atol=1e-6)


def test_without_a_lower_bound_all_kernels_weigh_the_same(monkeypatch):
    failed = SimpleNamespace(success=False)
    monkeypatch.setattr(kernel_combination, "linprog", lambda *_, **__: failed)
    planes = kernel_combination.Planes([1.0], [np.array([1.0, 2.0, 3.0, 4.0])])
    bound, weights = planes.lower_bound()
    assert bound == -np.inf
    assert weights.tolist() == [0.25] * 4
