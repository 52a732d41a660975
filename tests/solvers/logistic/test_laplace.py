import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import expit, log_expit, softmax

from separatrix.solvers.logistic.laplace import laplace, mackay, mean_sigmoid, mean_softmax
from separatrix.solvers.logistic.newton import solve_newton
from separatrix.solvers.logistic.passes import sums_of
from separatrix.types import Block

VECTORS = [  # mean, variance, exact, MacKay's: the numbers of the reference
    (1, 1, 0.69673, 0.70001),
    (2, 4, 0.77520, 0.77684),
    (3, 4, 0.87041, 0.86658),
    (5, 9, 0.92380, 0.91278),
    (0.5, 0.25, 0.61598, 0.61707),
    (1, 25, 0.57470, 0.57543),
]


def integral(m, v):
    s = np.sqrt(v)
    edges = np.unique(np.clip([-60, -20, -5, 0, 5, 20, 60, m], m - 12 * s, m + 12 * s))
    edges = np.concatenate([[m - 12 * s], edges, [m + 12 * s]])
    density = lambda f: expit(f) * np.exp(-0.5 * ((f - m) / s) ** 2) / np.sqrt(2 * np.pi * v)  # noqa: E731
    return sum(
        quad(density, a, b, epsabs=1e-14, epsrel=1e-12, limit=200)[0]
        for a, b in itertools.pairwise(edges)
    )


@pytest.mark.parametrize(("m", "v", "exact", "formula"), VECTORS)
def test_mackays_numbers(m, v, exact, formula):
    assert round(float(mackay(np.array([m]), np.array([v]))[0]), 5) == formula
    assert round(float(mean_sigmoid(np.array([m]), np.array([v]))[0]), 5) == exact
    assert abs(mean_sigmoid(np.array([m]), np.array([v]))[0] - integral(m, v)) < 1e-8


def test_quadrature_holds_for_any_mean_and_variance():
    rng = np.random.default_rng(0)
    for _ in range(100):
        m, v = 10 * rng.normal(), 10.0 ** rng.uniform(-4, 5)
        assert abs(mean_sigmoid(np.array([m]), np.array([v]))[0] - integral(m, v)) < 1e-9
    assert mean_sigmoid(np.array([2.0]), np.array([0.0]))[0] == pytest.approx(expit(2.0))
    far = mean_sigmoid(np.array([-800.0, 800.0]), np.array([1.0, 1e4]))
    np.testing.assert_allclose(far, [0.0, 1.0], atol=1e-14)


def test_with_two_classes_the_softmax_mean_is_mackays():
    rng = np.random.default_rng(1)
    m, v = rng.normal(size=20) * 3, rng.random(20) * 5
    M = np.column_stack([-m / 2, m / 2])
    V = v[:, None, None] / 4 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(mean_softmax(M, V)[:, 1], mackay(m, v), rtol=1e-12)


def test_the_softmax_mean_is_near_a_sampled_one():
    rng = np.random.default_rng(2)
    M = 2 * rng.normal(size=(30, 4))
    roots = 0.7 * rng.normal(size=(30, 4, 4))
    V = roots @ roots.transpose(0, 2, 1)
    draws = M + np.einsum("iab,sib->sia", roots, rng.normal(size=(20_000, 30, 4)))
    sampled = softmax(draws, axis=2).mean(axis=0)
    plain = np.abs(softmax(M, axis=1) - sampled).mean()
    found = mean_softmax(M, V)
    assert np.abs(found - sampled).mean() < plain / 2  # it is an approximation, and says so
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def fitted(block, theta, precision):
    found = solve_newton(
        lambda at, hessian: sums_of(block, at, intercept=True, hessian=hessian),
        theta,
        precision=precision,
        weight=float(len(block.y)),
        tol=1e-12,
        max_iter=100,
    )
    H = sums_of(block, found.theta, intercept=True, hessian=True).hessian
    H += np.diag(np.tile(precision, len(theta)))
    found = found._replace(hessian=H)
    return found, laplace(found.theta, H, found.objective, precision)


def test_the_evidence_is_near_the_integral_over_all_weights():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    y = (rng.random(200) < expit(1.2 * x - 0.4)).astype(np.intp)
    side = np.where(y == 1, 1.0, -1.0)
    precision = np.array([0.5, 0.2])
    found, posterior = fitted(Block(x[:, None], y, np.ones(200)), np.zeros((1, 2)), precision)

    def density(b, w):
        log_prior = -0.25 * w**2 - 0.1 * b**2 + 0.5 * np.log(0.5 * 0.2 / (2 * np.pi) ** 2)
        return np.exp(log_expit(side * (w * x + b)).sum() + log_prior + found.objective)

    (w, b), (sw, sb) = found.theta[0], posterior.deviations()[0]
    exact, _ = dblquad(density, w - 7 * sw, w + 7 * sw, b - 7 * sb, b + 7 * sb, epsabs=1e-9)
    assert posterior.log_evidence == pytest.approx(np.log(exact) - found.objective, abs=0.02)


def test_deviations_and_score_variances_come_from_the_covariance():
    rng = np.random.default_rng(4)
    for k in (2, 3):
        block = Block(rng.normal(size=(50, 3)), rng.integers(0, k, 50), np.ones(50))
        p = 1 if k == 2 else k
        found, posterior = fitted(block, np.zeros((p, 4)), np.full(4, 0.3))
        S = posterior.covariance()
        np.testing.assert_allclose(S @ found.hessian, np.eye(4 * p), atol=1e-9)
        np.testing.assert_allclose(posterior.deviations().ravel() ** 2, np.diag(S), rtol=1e-9)
        X = np.column_stack([block.X, np.ones(50)])
        V = posterior.score_covariances(X)
        for i in (0, 17):
            J = np.kron(np.eye(p), X[i])
            np.testing.assert_allclose(V[i], J @ S @ J.T, atol=1e-9)


def test_a_class_renamed_changes_no_evidence_of_softmax():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 3, 80)
    precision = np.array([1.0, 1.0, 0.0])
    _, first = fitted(Block(X, y, np.ones(80)), np.zeros((3, 3)), precision)
    _, second = fitted(Block(X, (y + 1) % 3, np.ones(80)), np.zeros((3, 3)), precision)
    assert first.log_evidence == pytest.approx(second.log_evidence, abs=1e-8)


def test_there_is_no_gaussian_where_nothing_holds_a_weight():
    X = np.column_stack([np.zeros(20), np.linspace(-1, 1, 20)])
    y = np.arange(20) % 2
    found = sums_of(Block(X, y, np.ones(20)), np.zeros((1, 3)), intercept=True, hessian=True)
    assert laplace(np.zeros((1, 3)), found.hessian, found.loss, np.zeros(3)) is None


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_units_do_not_decide_whether_there_is_a_gaussian(size):
    H = size * np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    found = laplace(np.zeros((1, 3)), H, 1.0, np.full(3, 0.1 * size))
    assert np.isfinite(found.log_evidence)
    np.testing.assert_allclose(found.factor @ found.factor.T, H, rtol=1e-12)
    H[:, 2] = H[2] = H[1]  # a column twice
    H[2, 2] = H[1, 2] = H[1, 1]
    assert laplace(np.zeros((1, 3)), H, 1.0, np.zeros(3)) is None
