"""The hinge by an interior-point method, however samples are stored, scaled and priced."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from tests.solvers.linear_svm.test_dual_descent import certificate, made, problem_of

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.dual_descent import LinearProblem, LinearSamples
from separatrix.solvers.linear_svm.hinge import solve_hinge

X, T = load_breast_cancer(return_X_y=True)  # columns of ranges from 0.03 to 4000, as they are
Y = np.where(T == 1, 1.0, -1.0)
BIASES = [0.0, 1.0, np.inf]
STEPS = 40


def solved(problem, *, gap=1e-9, max_iter=100, monitor=None):
    return solve_hinge(problem, gap=gap, max_iter=max_iter, monitor=monitor or FitMonitor())


def raw(C, bias_step, samples=X):
    """Breast cancer at prices C, one for all rows or one each."""
    prices = np.broadcast_to(C, len(Y)).astype(float)
    return LinearProblem(LinearSamples.of(samples), Y, prices, "hinge", bias_step)


def check(problem, fit, gap=1e-8):
    """Both objectives, recomputed, meet."""
    primal, dual = certificate(problem, fit)
    assert fit.objective == pytest.approx(primal, rel=1e-12)
    assert fit.dual_objective == pytest.approx(dual, rel=1e-8)
    assert -1e-12 <= (primal - dual) / max(1.0, primal) <= gap
    assert fit.stop == "tol"


@pytest.mark.parametrize("bias_step", BIASES)
@pytest.mark.parametrize("C", 10.0 ** np.arange(-2, 7))
def test_raw_columns_take_few_steps_at_every_price(C, bias_step):
    problem = raw(C, bias_step)
    fit = solved(problem)
    check(problem, fit)
    assert 0 < fit.n_iter <= STEPS
    assert (fit.b == 0.0) == (bias_step == 0.0)


@pytest.mark.parametrize("bias_step", BIASES)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
def test_sparse_samples_have_the_machine_of_dense_ones(C, bias_step):
    dense, stored = raw(C, bias_step), raw(C, bias_step, csr_array(X))
    expected, found = solved(dense), solved(stored)
    check(stored, found)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.n_iter <= STEPS
    distance = np.linalg.norm(X @ (found.w - expected.w) + found.b - expected.b)
    assert distance <= 1e-3 * np.linalg.norm(X @ expected.w + expected.b)


@pytest.mark.parametrize("bias_step", BIASES)
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_any_unit_have_a_machine(seed, bias_step):
    units = 10.0 ** np.random.default_rng(seed).integers(-2, 3, X.shape[1])
    problem = raw(100.0, bias_step, X * units)
    fit = solved(problem, gap=1e-7)
    check(problem, fit, 1e-7)
    assert fit.n_iter <= 60


@pytest.mark.parametrize("bias_step", BIASES)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e4])
def test_rows_of_prices_far_apart(C, bias_step):
    prices = C * 10.0 ** np.random.default_rng(0).integers(-3, 4, len(Y))
    problem = raw(prices, bias_step)
    fit = solved(problem)
    check(problem, fit)
    assert (fit.a <= prices).all()
    assert fit.n_iter <= 60


@pytest.mark.parametrize("bias_step", [0.0, 1.0, 9.0])
def test_a_bias_is_the_weight_of_a_constant_column(bias_step):
    samples, y = made(3)
    constant = np.sqrt(bias_step)
    fit = solved(problem_of(samples, y, bias_step=bias_step))
    wider = solved(problem_of(np.c_[samples, np.full(60, constant)], y, bias_step=0.0))
    assert fit.objective == pytest.approx(wider.objective, rel=1e-9)
    np.testing.assert_allclose(fit.w, wider.w[:-1], atol=1e-6)
    assert fit.b == pytest.approx(constant * wider.w[-1], abs=1e-6)


@pytest.mark.parametrize("stored", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_a_free_bias_gives_the_machine_of_svc(C, stored):
    samples, y = made(2)
    problem = problem_of(stored(samples), y, bias_step=np.inf)._replace(price=np.full(60, C))
    fit = solved(problem)
    check(problem, fit)
    peer = SVC(kernel="linear", C=C, tol=1e-10).fit(samples, y)
    np.testing.assert_allclose(fit.w, peer.coef_[0], atol=1e-4)
    theirs = fit._replace(w=peer.coef_[0], b=peer.intercept_[0])
    assert fit.objective <= certificate(problem, theirs)[0] * (1 + 1e-9)


@pytest.mark.parametrize("stored", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_a_free_bias_takes_up_a_shift_of_the_samples(stored):
    samples, y = made(4)
    shift = np.array([100.0, -30.0, 0.0, 5.0, 1.0])
    near = solved(problem_of(samples, y, bias_step=np.inf))
    far = solved(problem_of(stored(samples + shift), y, bias_step=np.inf), gap=1e-7)
    assert far.stop == "tol"
    np.testing.assert_allclose(far.w, near.w, atol=1e-4)
    assert far.b + shift @ far.w == pytest.approx(near.b, abs=1e-4)


@pytest.mark.parametrize("bias_step", BIASES)
def test_few_steps_and_cancellation_are_reported_with_a_certificate(bias_step, cancelled):
    problem = raw(1.0, bias_step)
    few = solved(problem, max_iter=1)
    assert few.stop == "max_iter"
    assert few.n_iter <= 1
    stopped = solved(problem, monitor=cancelled)
    assert stopped.stop == "stopped"
    assert stopped.n_iter == 0
    whole = solved(problem)
    for fit in (few, stopped):
        primal, dual = certificate(problem, fit)
        assert primal >= whole.dual_objective
        assert dual <= whole.objective
        assert fit.gap > 1e-3


def test_the_gap_that_is_asked_for_decides_what_is_solved():
    problem = raw(1.0, 1.0)
    assert solved(problem, gap=1e-9).stop == "tol"
    missed = solved(problem, gap=1e-15)
    assert missed.stop == "max_iter"
    assert missed.gap <= 1e-9


@pytest.mark.parametrize("stored", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("bias_step", BIASES)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_samples_of_one_class_lie_on_its_side(side, bias_step, stored):
    samples, _ = made(8)
    problem = problem_of(stored(samples), np.full(60, side), bias_step=bias_step)
    fit = solved(problem)
    check(problem, fit)
    if np.isinf(bias_step):
        assert fit.objective == pytest.approx(0.0, abs=1e-8)
        assert fit.b == pytest.approx(side, abs=1e-6)
