"""Sparse logistic regression: certificates, scikit-learn's minimum, and SciPy's."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression as Peer

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic import elastic_net
from separatrix.solvers.logistic.elastic_net import ElasticNetProblem, solve_elastic_net
from separatrix.solvers.logistic.quadratic import minimise_quadratic, violations


def samples(k, d=60, seed=0):
    X, y = make_classification(
        300, d, n_informative=10, n_classes=k, n_clusters_per_class=1, random_state=seed
    )
    return X + 0.5, y


def objective(theta, X, y, weights, l1, l2):
    S = X @ theta[:, :-1].T + theta[:, -1]
    if len(theta) == 1:
        S = np.column_stack([np.zeros(len(y)), S])
    loss = weights @ (logsumexp(S, axis=1) - S[np.arange(len(y)), y])
    W = theta[:, :-1]
    return loss + l1 * np.abs(W).sum() + 0.5 * l2 * (W**2).sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("k", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_the_minimum_is_that_of_saga_and_certified(k, ratio, sparse):
    X, y = samples(k)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    l1, l2 = 3.0 * ratio, 3.0 * (1 - ratio)
    problem = ElasticNetProblem.of(
        csr_array(X) if sparse else X, y, weights, n_classes=k, intercept=True
    ).with_penalty(l1, l2)

    found = solve_elastic_net(problem, tol=1e-9, max_iter=200)
    peer = Peer(C=1 / 3.0, l1_ratio=ratio, solver="saga", tol=1e-6, max_iter=5000)
    peer.fit(X, y, sample_weight=weights)
    theirs = np.column_stack([peer.coef_, peer.intercept_])

    assert found.stop == "tol"
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(objective(found.theta, X, y, weights, l1, l2))
    assert found.objective <= objective(theirs, X, y, weights, l1, l2) + 1e-7


@pytest.mark.slow
def test_few_samples_agree_with_a_smooth_program_of_scipy():
    X, y = samples(2, d=20)
    X, y = X[:40], y[:40]
    n, d = X.shape
    problem = ElasticNetProblem.of(X, y, np.ones(n), n_classes=2, intercept=True)
    found = solve_elastic_net(problem.with_penalty(2.0, 0.5), tol=1e-10, max_iter=200)

    def split(z):  # w = u - v with u, v >= 0
        theta = np.append(z[:d] - z[d : 2 * d], z[-1])[None]
        smooth = objective(theta, X, y, np.ones(n), 0.0, 0.5)
        return smooth + 2.0 * z[: 2 * d].sum()

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"maxiter": 2000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    theirs = minimize(split, np.zeros(2 * d + 1), bounds=bounds, method="L-BFGS-B", options=options)
    assert found.objective == pytest.approx(theirs.fun, rel=1e-6)
    assert found.objective <= theirs.fun + 1e-9


@pytest.mark.slow
def test_working_sets_do_not_change_the_minimum(monkeypatch):
    X, y = samples(3, d=80)
    problem = ElasticNetProblem.of(X, y, np.ones(len(y)), n_classes=3, intercept=True)
    problem = problem.with_penalty(2.0, 0.0)
    whole = solve_elastic_net(problem, tol=1e-9, max_iter=500)
    for name, value in {"ALL_WEIGHTS": 5, "FEWEST": 7, "MOST_WEIGHTS": 40}.items():
        monkeypatch.setattr(elastic_net, name, value)
    parts = solve_elastic_net(problem, tol=1e-6, max_iter=5000)
    assert parts.stop == whole.stop == "tol"
    assert parts.objective == pytest.approx(whole.objective, rel=1e-6)


def test_a_strong_penalty_leaves_only_the_bias():
    X, y = samples(4)
    problem = ElasticNetProblem.of(X, y, np.ones(len(y)), n_classes=4, intercept=True)
    found = solve_elastic_net(problem.with_penalty(1e4, 0.0), tol=1e-9, max_iter=10)
    assert not found.theta[:, :-1].any()
    assert found.n_iter == 1
    assert found.gap <= 1e-9
    shares = np.exp(found.theta[:, -1])
    np.testing.assert_allclose(shares / shares.sum(), np.bincount(y) / len(y))


def test_the_quadratic_model_is_minimised_though_features_repeat():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 8))
    A = np.column_stack([A, A[:, :3], A.sum(axis=1)])
    H, g = A.T @ A, 4.0 * (A.T @ rng.normal(size=50))
    penalty = np.full(12, 3.0)
    u = minimise_quadratic(H, g, np.zeros(12), penalty, share=1e-9)
    assert violations(u, g + H @ u, penalty).max() <= 1e-6


@pytest.mark.parametrize("k", [2, 4])
def test_residuals_of_a_balanced_bias_sum_to_zero(k):
    """So they are feasible in the dual, whatever the other weights are."""
    X, y = samples(k)
    problem = ElasticNetProblem.of(X, y, np.ones(len(y)), n_classes=k, intercept=True)
    start = np.random.default_rng(k).normal(size=(1 if k == 2 else k, 61)) / 10
    descent = elastic_net._Descent(problem.with_penalty(1.0, 0.0), start, FitMonitor())
    before = descent._objective()
    assert np.abs(descent.point.R.sum(axis=1)).max() > 1.0
    descent._balance()
    assert np.abs(descent.point.R.sum(axis=1)).max() <= 1e-8 * len(y)
    assert descent._objective() < before


@pytest.mark.parametrize("k", [2, 4])
def test_rows_of_weight_0_change_neither_the_minimum_nor_its_certificate(k):
    X, y = samples(k)
    weights = np.random.default_rng(1).integers(0, 3, len(y)) * 0.5
    used = weights > 0

    def solve(X, y, weights):
        problem = ElasticNetProblem.of(X, y, weights, n_classes=k, intercept=True)
        return solve_elastic_net(problem.with_penalty(2.0, 0.5), tol=1e-9, max_iter=200)

    whole, part = solve(X, y, weights), solve(X[used], y[used], weights[used])
    assert whole.stop == part.stop == "tol"
    assert 0.0 <= whole.gap <= 1e-9
    assert whole.objective == pytest.approx(part.objective, rel=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_curvatures_are_weights_times_probabilities(k):
    X, y = samples(k)
    weights = np.random.default_rng(2).uniform(0.1, 3.0, len(y))
    problem = ElasticNetProblem.of(X, y, weights, n_classes=k, intercept=True)
    F = 0.1 * np.random.default_rng(3).normal(size=(1 if k == 2 else k, len(y)))
    P = 1.0 / (1.0 + np.exp(-F)) if k == 2 else np.exp(F - logsumexp(F, axis=0))
    own, inverse = elastic_net._Point(problem, F.copy()).curvatures()
    missing = np.abs(P[0] - y) if k == 2 else 1.0 - P[y, np.arange(len(y))]
    near = missing <= 0.5
    expected = weights * P * (1.0 - P) if k == 2 else weights * P
    np.testing.assert_allclose(own[:, near], expected[:, near], rtol=1e-9)
    assert (own[:, ~near] >= 0.0).all()
    np.testing.assert_allclose(inverse, 1.0 / weights)


def plain_dual(problem, R, theta, scale):
    """Entropy of the scaled residuals less the conjugate of the penalty, sample by sample."""
    y, weights = problem.y, problem.weights
    p = len(R)
    value = 0.0
    for i in range(len(y)):
        q = scale * R[:, i] / weights[i]
        hot = np.array([float(y[i] == 1)]) if p == 1 else np.eye(p)[y[i]]
        q = q + hot
        q = np.append(1.0 - q, q) if p == 1 else q
        value -= weights[i] * sum(t * np.log(t) for t in q if t > 0)
    Z = np.c_[problem.samples.X, np.ones(len(y))]
    pull = np.abs(scale * R @ Z)
    for j in range(Z.shape[1]):
        if (
            problem.l2[j] == 0
            and problem.l1[j] > 0
            and (pull[:, j] > (1 + 1e-9) * problem.l1[j]).any()
        ):
            return -np.inf
        if problem.l2[j] > 0:
            value -= (np.maximum(pull[:, j] - problem.l1[j], 0) ** 2).sum() / (2 * problem.l2[j])
    return value


@pytest.mark.parametrize(("l2", "precision"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.5)])
@pytest.mark.parametrize("k", [2, 3])
def test_the_gap_is_that_of_both_objectives_wherever_it_is_asked_for(k, l2, precision):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(20, 4)), np.arange(20) % k
    weights = rng.uniform(0.5, 2.0, 20)
    problem = ElasticNetProblem.of(X, y, weights, n_classes=k, intercept=True)
    problem = problem.with_penalty(0.9, l2, precision)
    assert problem.l1.tolist() == [0.9] * 4 + [0.0]
    assert problem.l2.tolist() == [l2] * 4 + [precision]
    start = 0.3 * rng.normal(size=(1 if k == 2 else k, 5))
    descent = elastic_net._Descent(problem, start, FitMonitor())
    descent._balance()
    theta, R = descent.theta, descent.point.R
    F = theta[:, :-1] @ X.T + theta[:, -1:]
    np.testing.assert_allclose(descent.point.F, F, atol=1e-9)
    S = np.vstack([np.zeros(20), F]) if k == 2 else F
    loss = weights @ (logsumexp(S, axis=0) - S[y, np.arange(20)])
    objective = loss + 0.9 * np.abs(theta[:, :-1]).sum() + 0.5 * (theta**2 @ problem.l2).sum()
    assert descent._objective() == pytest.approx(objective)
    G = R @ np.c_[X, np.ones(20)]
    largest = np.abs(G[:, :-1]).max() / 0.9
    scales = [min(1.0, 1.0 / largest), 1.0]
    assert largest > 1.0
    below = max(plain_dual(problem, R, theta, scale) for scale in scales)
    found = descent._gap(G + problem.l2 * theta)
    assert found == pytest.approx((objective - below) / max(1.0, objective), rel=1e-6)
    assert found > 0


def test_a_start_is_the_shares_of_the_classes_or_what_was_given():
    X, y = np.ones((6, 2)), np.array([0, 0, 0, 1, 1, 2])
    three = ElasticNetProblem.of(X, y, np.ones(6), n_classes=3, intercept=True)
    logs = np.log([0.5, 1 / 3, 1 / 6])
    descent = elastic_net._Descent(three, None, FitMonitor())
    np.testing.assert_allclose(descent.theta[:, -1], logs - logs.mean())
    assert not descent.theta[:, :-1].any()
    np.testing.assert_allclose(descent.point.F, np.repeat(descent.theta[:, -1:], 6, axis=1))
    two = ElasticNetProblem.of(X, y % 2, np.ones(6), n_classes=2, intercept=True)
    np.testing.assert_allclose(
        elastic_net._Descent(two, None, FitMonitor()).theta, [[0.0, 0.0, np.log(2 / 4)]]
    )
    none = ElasticNetProblem.of(X, y % 2, np.ones(6), n_classes=2, intercept=False)
    assert not elastic_net._Descent(none, None, FitMonitor()).point.F.any()
    never = ElasticNetProblem.of(X, y * 0, np.ones(6), n_classes=2, intercept=True)
    found = elastic_net._Descent(never, None, FitMonitor()).theta[0, -1]
    assert found == pytest.approx(np.log(elastic_net.RAREST))


def test_a_working_set_has_the_weights_that_are_not_zero_and_the_worst_others(monkeypatch):
    monkeypatch.setattr(elastic_net, "ALL_WEIGHTS", 5)
    monkeypatch.setattr(elastic_net, "FEWEST", 3)
    X, y = np.random.default_rng(0).normal(size=(20, 7)), np.arange(20) % 2
    problem = ElasticNetProblem.of(X, y, np.ones(20), n_classes=2, intercept=True).with_penalty(
        1, 0
    )
    theta = np.zeros((1, 8))

    def chosen(off, theta):
        descent = elastic_net._Descent(problem, theta, FitMonitor())
        descent._choose(np.array([off]))
        return descent.weight_set.features.tolist()

    off = [0.1, 0.5, 0.0, 0.4, 0.3, 0.2, 0.0, 0.0]
    assert chosen(off, theta) == [1, 3, 7]  # the bias has no price
    theta[0, [2, 6]] = 1.0
    assert chosen(off, theta) == [1, 2, 3, 4, 6, 7]  # twice those that are not zero
    assert chosen([0.0] * 8, theta) == [2, 6, 7]
    monkeypatch.setattr(elastic_net, "MOST_WEIGHTS", 4)
    assert chosen(off, theta) == [1, 3, 4, 5]  # too many to be kept: the worst alone
    monkeypatch.setattr(elastic_net, "ALL_WEIGHTS", 8)
    assert chosen(off, theta) == list(range(8))


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_newton_steps_of_all_rounds_are_counted(max_iter):
    X, y = samples(2)
    problem = ElasticNetProblem.of(X, y, np.ones(len(y)), n_classes=2, intercept=True)
    told = []
    fit = solve_elastic_net(
        problem.with_penalty(0.5, 0.1),
        tol=1e-12,
        max_iter=max_iter,
        monitor=FitMonitor(None, told.append),
    )
    assert (fit.n_iter, fit.stop, len(told)) == (max(1, max_iter), "max_iter", max_iter)
    whole = solve_elastic_net(problem.with_penalty(0.5, 0.1), tol=1e-8, max_iter=100)
    assert whole.n_iter <= 22
    assert whole.stop == "tol"
    assert max(whole.gap, whole.violation) <= 1e-8


def test_second_derivatives_of_another_point_that_lead_nowhere_are_computed_again():
    X, y = samples(3, d=12)
    problem = ElasticNetProblem.of(X, y, np.ones(len(y)), n_classes=3, intercept=True)
    descent = elastic_net._Descent(problem.with_penalty(1e-3, 0.0), None, FitMonitor())
    descent._choose(np.ones(descent.theta.shape))
    descent.H = 1e-12 * np.eye(descent.theta.size)  # steps that no halving makes short enough
    assert descent.run(1e-6, 100).stop == "tol"


@pytest.mark.parametrize("reason", ["stopped", "overflow"])
def test_a_descent_that_cannot_go_on_says_why(reason):
    X, y = samples(2, d=20)
    problem = ElasticNetProblem.of(X, y, np.ones(300), n_classes=2, intercept=False)
    start = np.full((1, 20), np.nan if reason == "overflow" else 0.5)
    monitor = FitMonitor()
    monitor.should_stop = lambda: True
    found = solve_elastic_net(
        problem.with_penalty(2.0, 0.5), tol=1e-9, max_iter=9, start=start, monitor=monitor
    )
    np.testing.assert_array_equal(found.theta, start)
    assert (found.stop, found.n_iter) == (reason, 1)
