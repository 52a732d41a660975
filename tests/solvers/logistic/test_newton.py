import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic import newton, passes
from separatrix.solvers.logistic.lbfgs import solve_lbfgs
from separatrix.solvers.logistic.newton import _search_line, pinned, solve_newton
from separatrix.solvers.logistic.passes import Sums, merge, sums_of
from separatrix.solvers.logistic.preconditioner import Diagonal
from separatrix.types import Block


def problem(k, seed=0, n=60, d=4):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)) + 1.0, rng.integers(0, k, size=n)
    return Block(X, y, rng.random(n) + 0.1), rng.normal(size=(1 if k == 2 else k, d + 1))


def at(block, **options):
    return lambda theta, hessian: sums_of(block, theta, intercept=True, hessian=hessian, **options)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_gradient_and_the_hessian_are_those_of_the_loss(k):
    block, theta = problem(k)
    shape = theta.shape

    def loss(z):
        return sums_of(block, z.reshape(shape), intercept=True, hessian=False).loss

    def gradient(z):
        return sums_of(block, z.reshape(shape), intercept=True, hessian=False).gradient.ravel()

    error = check_grad(loss, gradient, theta.ravel())
    assert error < 1e-5 * np.linalg.norm(gradient(theta.ravel()))
    H = sums_of(block, theta, intercept=True, hessian=True).hessian
    for j in range(theta.size):
        step = np.zeros(theta.size)
        step[j] = 1e-5
        column = (gradient(theta.ravel() + step) - gradient(theta.ravel() - step)) / 2e-5
        np.testing.assert_allclose(H[:, j], column, atol=1e-6)


@pytest.mark.parametrize("k", [2, 4])
def test_blocks_merge_to_the_whole_and_sparse_is_dense(k):
    block, theta = problem(k)
    whole = sums_of(block, theta, intercept=True, hessian=True)
    parts = [Block(*(field[i::3] for field in block)) for i in range(3)]
    summed = None
    for part in parts:
        sums = sums_of(part, theta, intercept=True, hessian=True)
        summed = sums if summed is None else merge(summed, sums)
    sparse = sums_of(block._replace(X=csr_array(block.X)), theta, intercept=True, hessian=False)
    assert summed.loss == pytest.approx(whole.loss, rel=1e-13)
    np.testing.assert_allclose(summed.gradient, whole.gradient, atol=1e-12)
    np.testing.assert_allclose(summed.hessian, whole.hessian, atol=1e-12)
    assert (summed.least, summed.most) == (whole.least, whole.most)
    np.testing.assert_allclose(sparse.gradient, whole.gradient, atol=1e-12)


def test_scores_too_large_to_exponentiate_lose_nothing():
    block = Block(np.array([[1000.0], [-1000.0]]), np.array([1, 1]), np.ones(2))
    theta = np.array([[1.0, 0.0]])
    sums = sums_of(block, theta, intercept=True, hessian=True)
    assert (sums.loss, sums.least, sums.most) == (1000.0, -1000.0, 1000.0)
    assert np.isfinite(sums.hessian).all()
    softmax = sums_of(block, np.array([[0.0, 0], [1.0, 0], [0, 0]]), intercept=True, hessian=True)
    assert softmax.loss == pytest.approx(1000.0 + np.log(2))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("precision", [np.full(5, 0.1), np.append(np.full(4, 2.0), 0.0)])
def test_both_ways_down_end_at_the_same_point_with_no_gradient(k, precision):
    block, theta = problem(k)
    options = {"precision": precision, "weight": 60.0, "tol": 1e-7, "max_iter": 500}
    newton = solve_newton(at(block), 0 * theta, **options)
    lbfgs = solve_lbfgs(at(block), 0 * theta, preconditioner=Diagonal.of(np.ones(5)), **options)
    assert newton.stop == lbfgs.stop == "tol"
    assert max(newton.gradient, lbfgs.gradient) <= 1e-7
    np.testing.assert_allclose(newton.theta, lbfgs.theta, atol=1e-4)
    sums = sums_of(block, newton.theta, intercept=True, hessian=False)
    left = np.abs(sums.gradient + precision * newton.theta).max() / 60.0
    assert left == pytest.approx(newton.gradient, abs=1e-12)


def test_without_a_prior_the_rows_of_softmax_stay_at_mean_zero():
    block, theta = problem(3)
    found = solve_newton(
        at(block), 0 * theta, precision=np.zeros(5), weight=60.0, tol=1e-9, max_iter=50
    )
    assert found.stop == "tol"
    np.testing.assert_allclose(found.theta.sum(axis=0), 0.0, atol=1e-9)
    flat = sums_of(block, found.theta, intercept=True, hessian=True).hessian
    held = pinned(flat, np.zeros(5), 3)
    assert np.linalg.eigvalsh(flat)[:5].max() < 1e-9 < np.linalg.eigvalsh(held).min()


def test_a_repeated_feature_is_no_obstacle_without_a_prior():
    block, theta = problem(2)
    twice = block._replace(X=np.column_stack([block.X, block.X]))
    options = {"weight": 60.0, "tol": 1e-9, "max_iter": 50}
    once = solve_newton(at(block), 0 * theta, precision=np.zeros(5), **options)
    found = solve_newton(at(twice), np.zeros((1, 9)), precision=np.zeros(9), **options)
    assert found.objective == pytest.approx(once.objective, rel=1e-12)
    np.testing.assert_allclose(found.theta[0, :4], once.theta[0, :4] / 2, atol=1e-6)


def test_newtons_method_halves_a_step_that_leads_up():
    # from far out the full step overshoots: the loss must still never rise
    X = np.array([[1.0], [2.0], [-1.0], [0.5]])
    block = Block(X, np.array([1, 0, 0, 1]), np.ones(4))
    found = solve_newton(
        at(block),
        np.array([[8.0, 3.0]]),
        precision=np.full(2, 1e-6),
        weight=4.0,
        tol=1e-10,
        max_iter=100,
    )
    assert found.stop == "tol"


def test_newtons_method_comes_back_from_where_the_curvature_is_zero():
    block, theta = problem(2)
    rare = block._replace(y=(np.arange(60) == 7).astype(np.intp))
    far = np.zeros_like(theta)
    far[0, -1] = -70.0  # probabilities of e^-70: the Hessian is 1e-29
    options = {"precision": np.append(np.full(4, 100.0), 0.0), "weight": 60.0, "tol": 1e-9}
    near = solve_newton(at(rare), 0 * theta, max_iter=60, **options)
    found = solve_newton(at(rare), far, max_iter=60, **options)
    assert found.stop == "tol"
    np.testing.assert_allclose(found.theta, near.theta, atol=1e-6)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_columns_far_from_zero_leave_the_minimum_where_it_is(offset):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = (
        rng.normal(size=(90, 3))
        + np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [-3.0, 0.0, -2.0]])[y]
    )

    def minimum(X):
        block = Block(X, y, np.ones(90))
        return solve_newton(
            lambda theta, hessian: sums_of(block, theta, intercept=True, hessian=hessian),
            np.zeros((3, 4)),
            precision=np.array([1.0, 1.0, 1.0, 0.0]),
            weight=90.0,
            tol=1e-6,
            max_iter=100,
        ).objective

    assert minimum(X + offset) <= minimum(X) * (1.0 + 1e-5)


@pytest.mark.parametrize(("slope", "expected"), [(1.0, 1.0), (0.9, 1.0), (10.0, 0.125)])
def test_a_line_search_halves_the_step_until_the_loss_falls_enough(slope, expected):
    """Along f(t) = (1 - t)^2 / 2 whose slope at 0 is -1, with steps that are `slope` times too long."""

    def at(theta, hessian):
        t = theta[0, 0]
        return Sums(0.5 * (1.0 - t) ** 2, np.array([[t - 1.0]]), None, 0.0, 0.0)

    tried = []

    def evaluate(theta, hessian):
        tried.append(theta[0, 0])
        return at(theta, hessian)

    start = np.zeros((1, 1))
    step = np.array([[slope]])
    theta, there = _search_line(evaluate, start, at(start, False), step, -slope, False)
    assert theta[0, 0] == slope * expected
    assert there.loss < 0.5
    assert tried == [slope / 2.0**i for i in range(len(tried))]
    assert _search_line(evaluate, start, at(start, False), -step, -slope, False) is None


class StopsAtCheck(FitMonitor):
    """Stops at the n-th check, as a time limit would that passes there."""

    def __init__(self, checks):
        super().__init__()
        self.left = checks

    def should_stop(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("checks", [0, 1, 5])
def test_a_pass_that_is_stopped_gives_up_only_its_hessian(k, checks, monkeypatch):
    monkeypatch.setattr(passes, "HESSIAN_BYTES", 8 * 4 * 10 * (1 if k == 2 else k))  # 10 rows
    block, theta = problem(k)
    whole = sums_of(block, theta, intercept=True, hessian=True)
    monitor = StopsAtCheck(checks)
    found = sums_of(block, theta, intercept=True, hessian=True, monitor=monitor)
    assert found.hessian is None
    assert whole.hessian is not None
    assert found.loss == whole.loss
    np.testing.assert_array_equal(found.gradient, whole.gradient)
    assert merge(whole, found).hessian is None  # a part is not the Hessian of the whole


@pytest.mark.parametrize("checks", range(0, 20, 2))
def test_newtons_method_stopped_inside_a_pass_returns_a_point_with_its_gradient(
    checks, monkeypatch
):
    monkeypatch.setattr(passes, "HESSIAN_BYTES", 8 * 4 * 20 * 3)
    block, _ = problem(3)
    monitor, precision = StopsAtCheck(checks), np.full(5, 0.1)
    found = solve_newton(
        at(block, monitor=monitor),
        np.zeros((3, 5)),
        precision=precision,
        weight=float(block.weights.sum()),
        tol=1e-300,
        max_iter=10**6,
        monitor=monitor,
    )
    assert found.stop == "stopped"
    there = sums_of(block, found.theta, intercept=True, hessian=False)
    gradient = there.gradient + precision * found.theta
    np.testing.assert_allclose(found.gradient, np.abs(gradient).max() / block.weights.sum())
    begun = sums_of(block, np.zeros((3, 5)), intercept=True, hessian=False).loss
    assert found.objective <= begun * (1 + 1e-14)


@pytest.mark.parametrize("start", ["zero", "shifted"])
def test_a_weak_prior_on_several_classes_needs_no_eigenvalues(start, monkeypatch):
    """Alone it would hold the direction in which softmax does not change, and rounding hides it."""
    block, theta = problem(3)
    block = block._replace(weights=1e6 * block.weights)
    precision, weight = np.full(5, 1e-9), float(block.weights.sum())
    limits = {"precision": precision, "weight": weight, "tol": 1e-10, "max_iter": 50}
    begin = np.zeros((3, 5)) if start == "zero" else theta + 100.0
    monkeypatch.setattr(newton, "eigh", None)  # fails where it is called
    found = solve_newton(at(block), begin, **limits)
    assert found.stop == "tol"
    np.testing.assert_allclose(found.theta.mean(axis=0), 0.0, atol=1e-12)
    plain = solve_lbfgs(
        at(block), np.zeros((3, 5)), preconditioner=Diagonal.of(precision), **limits
    )
    np.testing.assert_allclose(found.theta, plain.theta, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("checks", [0, 2, 100])
def test_a_stopped_pass_on_a_device_is_that_of_the_cpu(k, checks, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    device_passes = pytest.importorskip("separatrix.solvers.logistic.device_passes")
    monkeypatch.setattr(device_passes, "HESSIAN_BYTES", 8 * 5 * 2 * 10 * (1 if k == 2 else k))
    block, theta = problem(k)
    whole = sums_of(block, theta, intercept=True, hessian=True)
    tensors = Block(*(torch.as_tensor(part) for part in block))
    monitor = StopsAtCheck(checks)
    found = sums_of(tensors, theta, intercept=True, hessian=True, monitor=monitor)
    assert (found.hessian is None) == (checks < 100)
    assert monitor.left == {0: -1, 2: -1, 100: 94}[checks]  # six blocks, or the rest at once
    np.testing.assert_allclose(found.loss, whole.loss, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, whole.gradient, rtol=1e-10)
    np.testing.assert_allclose([found.least, found.most], [whole.least, whole.most], rtol=1e-12)
    if checks == 100:
        np.testing.assert_allclose(found.hessian, whole.hessian, rtol=1e-9, atol=1e-12)
