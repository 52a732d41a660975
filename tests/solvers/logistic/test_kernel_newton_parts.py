"""The parts of kernel logistic regression, each against dense algebra."""

import numpy as np
import pytest

from separatrix.kernels.gram.held import HeldGram
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic import kernel_newton


def test_kernel_products_are_counted_and_tiles_cover_all_rows(monkeypatch):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(9, 9))
    K = (A @ A.T).astype(np.float32)
    V = rng.normal(size=(2, 9))
    monkeypatch.setattr(kernel_newton, "CONVERTED", 4)
    products = kernel_newton.KernelProducts(HeldGram(K))
    np.testing.assert_allclose(products.exact(V), V @ K.astype(float), rtol=1e-12)
    np.testing.assert_allclose(products(V), V @ K, rtol=1e-4)
    assert products.count == 2
    double = kernel_newton.KernelProducts(HeldGram(K.astype(float)))
    double.exact(V)
    assert double.count == 1
    double.matrix = None
    monkeypatch.setattr(kernel_newton, "TILE_BYTES", 8 * 9 * 2)
    np.testing.assert_allclose(double(V), V @ K.astype(float), rtol=1e-12)


def test_values_of_C_grow_by_tens_from_where_newton_is_safe():
    assert kernel_newton._stages(2.0, largest=5.0) == [2.0]  # safe up to 10 / 5
    assert kernel_newton._stages(0.5, largest=5.0) == [0.5]
    np.testing.assert_allclose(kernel_newton._stages(150.0, largest=5.0), [1.5, 15.0, 150.0])


def test_the_largest_kernel_value_of_a_sample_is_known():
    assert kernel_newton.KernelProducts(HeldGram(np.diag([2.0, 5.0]))).largest == 5.0


def test_rounding_of_a_form_is_bounded_by_its_terms():
    products = kernel_newton.KernelProducts(HeldGram(np.diag([2.0, 5.0])))
    U, V = np.array([[1.0, -2.0], [3.0, 0.0]]), np.array([[4.0, 1.0], [0.0, -1.0]])
    bound = products.rounding(U, V, np.dtype(np.float64))
    assert bound == pytest.approx(2.0**-52 * 5.0 * (3.0 * 5.0 + 3.0 * 1.0), rel=1e-12)


@pytest.mark.parametrize(("rounding", "stop"), [(1e-18, ""), (1.0, "indefinite")])
def test_a_curvature_below_0_by_rounding_is_no_indefinite_kernel(rounding, stop):
    """The matrix of ones minus a little: the bias takes all of it but the little."""
    n = 6
    gram = HeldGram(np.ones((n, n)) - rounding * np.eye(n))
    hessian = kernel_newton._Hessian.of(
        np.full((1, n), 0.5) * np.array([1, -1, 1, -1, 1, -1]),
        np.array([0, 1, 0, 1, 0, 1]),
        np.ones(n),
    )
    KE = np.arange(n, dtype=float)[None]
    L = np.ones((n, 1))
    _, found = kernel_newton._conjugate_gradients(
        kernel_newton.KernelProducts(gram), hessian, KE, 1e-30, L, 1e-9, FitMonitor()
    )
    assert found == stop


@pytest.mark.parametrize("k", [1, 3])
def test_the_hessian_of_scores_with_the_best_bias(k):
    """D = diag(w P) - w P P', less what the bias makes up for, as a dense matrix."""
    rng = np.random.default_rng(k)
    n, y = 6, np.array([0, 1, 2, 0, 1, 2]) % max(2, k)
    weights = np.array([1.0, 2.0, 0.5, 0.0, 1.5, 1.0])
    F = rng.normal(size=(k, n))
    P = np.exp(F) / np.exp(F).sum(axis=0) if k > 1 else 1.0 / (1.0 + np.exp(-F))
    Y = np.eye(k)[y].T if k > 1 else (y == 1)[None].astype(float)
    hessian = kernel_newton._Hessian.of(weights * (P - Y), y, weights)
    D = np.zeros((k * n, k * n))
    for i in range(n):
        own = np.diag(P[:, i]) - np.outer(P[:, i], P[:, i]) if k > 1 else (P * (1 - P))[:, [i]]
        D[i::n, i::n] = weights[i] * own
    ones = np.kron(np.eye(k), np.ones((n, 1)))
    D -= D @ ones @ np.linalg.pinv(ones.T @ D @ ones, rcond=1e-10) @ ones.T @ D
    S = np.column_stack([hessian.root(one.reshape(k, n)).ravel() for one in np.eye(k * n)])
    St = np.column_stack([hessian.root_t(one.reshape(k, n)).ravel() for one in np.eye(k * n)])
    np.testing.assert_allclose(S @ St, D, atol=1e-9)
    np.testing.assert_allclose(S.T, St, atol=1e-9)
    L = rng.normal(size=(n, 2))
    apply = hessian.preconditioner(L, 0.7)
    S0 = np.column_stack([hessian._root(one.reshape(k, n)).ravel() for one in np.eye(k * n)])
    inner = 0.7 * np.eye(k * n) + S0.T @ np.kron(np.eye(k), L @ L.T) @ S0
    v = rng.normal(size=(k, n))
    expected = hessian.project(np.linalg.solve(inner, v.ravel()).reshape(k, n))
    np.testing.assert_allclose(apply(v), expected, atol=1e-9)


def test_a_step_of_kernel_newton_solves_its_system():
    rng = np.random.default_rng(5)
    A, n = rng.normal(size=(8, 8)), 8
    K, y = A @ A.T, np.arange(8) % 2
    loss = kernel_newton._Loss(y, np.ones(8), 3.0)
    start = rng.normal(size=(1, 8))
    now = loss.at(start, start @ K, np.zeros(1))
    assert abs(now.residuals.sum()) <= 1e-12 * 8
    f = (start @ K + now.bias)[0]
    plain = (
        np.log1p(np.exp(-np.where(y == 1, f, -f))).sum() + 0.5 / 3.0 * (start @ K @ start.T)[0, 0]
    )
    assert now.objective == pytest.approx(plain)
    hessian = kernel_newton._Hessian.of(now.residuals, y, np.ones(8))
    gram = HeldGram(K)
    L = kernel_newton._nystroem(gram, np.arange(8), 3)
    np.testing.assert_allclose(
        (L @ L.T)[np.ix_([0, 3, 7], [0, 3, 7])], K[np.ix_([0, 3, 7], [0, 3, 7])]
    )
    KE = rng.normal(size=(1, n))
    products = kernel_newton.KernelProducts(gram)
    v, stop = kernel_newton._conjugate_gradients(
        products, hessian, KE, 1 / 3.0, L, 1e-9, FitMonitor()
    )
    S = np.column_stack([hessian.root(one[None]).ravel() for one in np.eye(n)])
    left = v[0] / 3.0 + S.T @ K @ S @ v[0] - S.T @ KE[0]
    assert stop == ""
    assert np.abs(left).max() < 1e-6
    assert products.count <= 10
    negative = kernel_newton.KernelProducts(HeldGram(-100.0 * np.eye(8)))
    assert (
        kernel_newton._conjugate_gradients(negative, hessian, KE, 1 / 3.0, L, 1e-9, FitMonitor())[1]
        == "indefinite"
    )


def loss_of_six(seed):
    """A loss of six samples, their kernel matrix, and coefficients."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    return kernel_newton._Loss(np.arange(6) % 2, np.ones(6), 3.0), A @ A.T, rng.normal(size=(1, 6))


def test_steps_of_the_bias_are_halved_until_they_lead_down():
    loss, K, A = loss_of_six(1)
    F, bias = A @ K, np.array([2.0])
    value, R = loss._residuals(F, bias)
    size = float(np.abs(R.sum()))
    step = np.array([32.0]) * np.sign(R.sum())  # minus the step leads down, but much too far
    expected = bias - step
    while loss._residuals(F, expected)[0] >= value:
        step, expected = step / 2.0, bias - step / 2.0
    assert abs(step[0]) < 32.0
    there, lower, _ = loss._step_of_bias(F, bias, 32.0 * np.sign(R.sum(axis=1)), value, size)
    assert there.tolist() == expected.tolist()
    assert lower < value
    assert loss._step_of_bias(F, bias, -np.sign(R.sum(axis=1)), value, 0.0) is None


def test_a_search_halves_steps_and_finds_none_that_leads_up():
    loss, K, A = loss_of_six(2)
    now = loss.at(A, A @ K, np.zeros(1))
    down = -(now.A + 3.0 * now.residuals)
    assert loss.search(now, A - down, (A - down) @ K) is None
    far = A + 64.0 * down
    there = loss.search(now, far, far @ K)
    assert there.objective < now.objective
    share = (there.A - A)[0] / (far - A)[0]
    np.testing.assert_allclose(share, share[0])
    assert np.log2(share[0]) == pytest.approx(round(np.log2(share[0])))
    assert share[0] < 1.0


def test_conjugate_gradients_end_where_the_monitor_stops():
    loss, K, A = loss_of_six(3)
    hessian = kernel_newton._Hessian.of(
        loss.at(A, A @ K, np.zeros(1)).residuals, loss.y, np.ones(6)
    )
    monitor = FitMonitor()
    monitor.should_stop = lambda: True
    products = kernel_newton.KernelProducts(HeldGram(K))
    v, stop = kernel_newton._conjugate_gradients(
        products, hessian, A @ K, 0.3, np.ones((6, 1)), 1e-9, monitor
    )
    assert (v.tolist(), stop, products.count) == ([[0.0] * 6], "stopped", 0)
