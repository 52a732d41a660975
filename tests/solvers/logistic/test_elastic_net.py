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
