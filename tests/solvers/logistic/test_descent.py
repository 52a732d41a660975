"""The choice of a solver, the minimum that it finds, and where it begins."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.block_sums import moments_of
from separatrix.solvers.logistic.descent import LogisticSolver
from separatrix.solvers.logistic.elastic_net_path import ElasticNetSolver
from separatrix.types import Block


class Blocks:
    """A training set in one block."""

    def __init__(self, X, y, weights):
        self.block = Block(X, y, weights)
        self.n_features, self.n_classes = X.shape[1], int(y.max()) + 1

    def __iter__(self):
        return iter([self.block])

    def in_class_order(self):
        return np.arange(self.n_classes), np.arange(self.n_classes)

    def cut(self, rows, *, every=1, dtype=None):
        return [Block(*(part[::every] for part in self.block))]


def samples(classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 90) * (rng.random(90) < 0.7)
    X = rng.normal(size=(90, 4)) + 0.7 * np.eye(4)[y % 4]
    return X, y, rng.uniform(0.5, 2.0, 90)


def solver_of(X, y, weights, solver="newton-cholesky", intercept=True, tol=1e-9):
    return LogisticSolver(
        Blocks(X, y, weights),
        **{"solver": solver, "intercept": intercept, "intercept_precision": 0.0},
        **{"tol": tol, "max_iter": 500, "threads": 1, "monitor": FitMonitor()},
    )


def objective(theta, X, y, weights, C):
    S = X @ theta[:, :-1].T + theta[:, -1]
    S = np.column_stack([np.zeros(len(y)), S]) if S.shape[1] == 1 else S
    loss = weights @ (logsumexp(S, axis=1) - S[np.arange(len(y)), y])
    return loss + 0.5 / C * (theta[:, :-1] ** 2).sum()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["newton-cholesky", "lbfgs"])
def test_the_minimum_is_that_of_scipy(classes, name):
    X, y, weights = samples(classes)
    found = solver_of(X, y, weights, name).solve(2.0)
    shape = found.theta.shape
    peer = minimize(
        lambda t: objective(t.reshape(shape), X, y, weights, 2.0), np.zeros(found.theta.size)
    )
    assert found.stop == "tol"
    assert found.objective == pytest.approx(objective(found.theta, X, y, weights, 2.0))
    assert found.objective <= peer.fun + 1e-9
    np.testing.assert_allclose(found.theta[:, :-1], peer.x.reshape(shape)[:, :-1], atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_base_rates_give_every_sample_the_shares_of_the_classes(classes):
    X, y, weights = samples(classes)
    theta = solver_of(X, y, weights)._base_rates()
    assert not theta[:, :-1].any()
    scores = np.append(0.0, theta[:, -1]) if classes == 2 else theta[:, -1]
    shares = np.bincount(y, weights) / weights.sum()
    np.testing.assert_allclose(np.exp(scores - logsumexp(scores)), shares)
    assert not solver_of(X, y, weights, intercept=False)._base_rates().any()


def test_the_evidence_search_ends_inside_at_a_minimum():
    X, y, weights = samples(2)
    solver = solver_of(X, y, np.ones_like(weights))
    C, found = solver.most_evident()
    assert not solver.at_the_end
    assert found.objective == pytest.approx(objective(found.theta, X, y, np.ones(90), C))


@pytest.mark.parametrize("classes", [2, 3])
def test_biases_of_sparse_weights_sum_to_zero_and_the_objective_is_the_minimum(classes):
    X, y, weights = samples(classes)
    options = {"intercept": True, "intercept_precision": 0.0, "tol": 1e-10, "max_iter": 500}
    solver = ElasticNetSolver(
        *(X, y, weights), classes=np.arange(classes), l1_ratio=0.5, monitor=FitMonitor(), **options
    )
    found = solver.solve(0.5)
    l1 = np.abs(found.theta[:, :-1]).sum()
    assert found.objective == pytest.approx(objective(found.theta, X, y, weights, 1.0) + l1)
    if classes > 2:
        assert found.theta[:, -1].sum() == pytest.approx(0.0, abs=1e-12)
        assert np.abs(found.theta[:, -1]).max() > 0.01
    again = solver.solve(0.5, found.theta)
    assert again.objective == pytest.approx(found.objective)


@pytest.mark.slow
@pytest.mark.parametrize("correlated", [False, True])
def test_moments_of_many_features_are_computed_only_if_steps_without_them_do_not_suffice(
    correlated, monkeypatch
):
    rng = np.random.default_rng(0)
    n, d, k = 3000, 300, 4
    hidden = rng.normal(size=(n, d if not correlated else 10))
    X = hidden @ rng.normal(size=(10, d)) + 0.1 * rng.normal(size=(n, d)) if correlated else hidden
    y = (hidden[:, :k] + rng.normal(size=(n, k))).argmax(axis=1)
    solver = solver_of(X, y, np.ones(n), solver="lbfgs", tol=1e-4)
    assert solver._costs.trial_steps() > 0
    computed = []
    monkeypatch.setattr(
        "separatrix.solvers.logistic.descent.moments_of",
        lambda block, **options: computed.append(block) or moments_of(block, **options),
    )

    found = solver.solve(1.0)

    assert bool(computed) is correlated
    assert found.stop == "tol"
    exact = solver_of(X, y, np.ones(n), solver="newton-cholesky").solve(1.0)
    assert found.objective <= exact.objective * (1.0 + 1e-4)
