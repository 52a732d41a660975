import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC as Peer

from separatrix.solvers.linear_svm import crammer_singer
from separatrix.solvers.linear_svm.crammer_singer import solve_crammer_singer
from separatrix.solvers.linear_svm.dual_descent import LinearProblem, LinearSamples, solve_dual

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def solved(samples=X, y=Y, *, C=0.3, **more):
    more = {"n_classes": 3, "bias_step": 1.0, "tol": 1e-6, "max_iter": 20_000, "seed": 3} | more
    return solve_crammer_singer(LinearSamples.of(samples), y, np.full(len(y), C), **more)


@pytest.mark.parametrize("bias_step", [0.0, 1.0, 4.0])
def test_both_objectives_meet_and_are_what_the_formulas_say(bias_step):
    fit = solved(bias_step=bias_step)
    own = np.eye(3, dtype=bool)[Y]
    S = X @ fit.w + fit.b
    losses = np.max(S + ~own, axis=1) - S[own]
    square = np.sum(fit.w**2) + (fit.b @ fit.b / bias_step if bias_step else 0.0)
    assert fit.objective == pytest.approx(square / 2 + 0.3 * losses.sum())
    np.testing.assert_allclose(fit.a.sum(axis=1), 0.0, atol=1e-12)
    assert (0.3 * own + 1e-12 >= fit.a).all()
    np.testing.assert_allclose(X.T @ fit.a, fit.w, atol=1e-10)
    assert fit.dual_objective == pytest.approx(-square / 2 - fit.a[~own].sum())
    assert fit.stop == "tol"
    assert -1e-12 <= fit.gap < 1e-5
    # no class whose dual variable may rise is further below the highest score than the violation
    G = S + ~own
    below = np.where(0.3 * own - fit.a > 1e-12, G.max(axis=1, keepdims=True) - G, 0.0)
    assert fit.violation == pytest.approx(below.max(), abs=1e-9)
    assert fit.violation < 1e-4


@pytest.mark.parametrize("samples", [X, csr_array(X)], ids=["dense", "sparse"])
def test_weights_are_liblinears(samples):
    fit = solved(samples)
    peer = Peer(multi_class="crammer_singer", C=0.3, tol=1e-9, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(fit.w.T, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(fit.b, peer.intercept_, atol=1e-5)


def test_two_classes_make_the_usual_machine_with_half_the_weights():
    two = Y < 2
    together = solved(X[two], Y[two], n_classes=2, C=0.1)
    sides = np.where(Y[two] > 0, 1.0, -1.0)
    # w_1 = -w_0 = v / 2, so the penalty is |v|^2 / 4: twice the price in the usual form
    problem = LinearProblem(LinearSamples.of(X[two]), sides, np.full(100, 0.2), "hinge", 1.0)
    usual = solve_dual(problem, tol=1e-7, max_iter=20_000, seed=3)
    np.testing.assert_allclose(together.w[:, 1] - together.w[:, 0], usual.w, atol=1e-5)


def test_rows_of_zeros_without_a_bias_change_nothing():
    samples, labels = np.vstack([X, np.zeros((3, 4))]), np.append(Y, [0, 1, 2])
    fit = solved(samples, labels, bias_step=0.0)
    assert fit.stop == "tol"
    assert fit.gap < 1e-5
    np.testing.assert_allclose(fit.w, solved(bias_step=0.0).w, atol=1e-5)


def test_values_that_are_all_one_are_read_without_being_stored():
    samples = (X > 0).astype(float)
    ones, dense = solved(csr_array(samples)), solved(samples)
    np.testing.assert_allclose(ones.w, dense.w, atol=1e-4)


@pytest.mark.parametrize("n_classes", [crammer_singer.FEW_CLASSES, crammer_singer.FEW_CLASSES + 1])
def test_both_ways_to_sort_the_scores_of_many_classes_end_at_the_solution(n_classes):
    rng = np.random.default_rng(0)
    labels = np.arange(3 * n_classes) % n_classes
    samples = rng.normal(size=(n_classes, 6))[labels] + 0.5 * rng.normal(size=(len(labels), 6))
    fit = solved(samples, labels, n_classes=n_classes)
    assert fit.stop == "tol"
    assert -1e-12 <= fit.gap < 1e-5


def test_a_pass_in_parts_is_the_same_pass(monkeypatch):
    whole = solved(tol=0.1)
    monkeypatch.setattr(crammer_singer, "CHUNK", 3 * (4 + 10) * 37)  # 37 of 150 rows
    in_parts = solved(tol=0.1)
    np.testing.assert_array_equal(in_parts.w, whole.w)
    assert in_parts.n_iter == whole.n_iter
