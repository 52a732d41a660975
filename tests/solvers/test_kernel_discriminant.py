"""The kernel discriminant is Fisher's discriminant in the feature space."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_iris

from separatrix.kernels import Gaussian, eigen_embedding
from separatrix.solvers.discriminant import solve_fisher
from separatrix.solvers.kernel_discriminant import solve_kernel_fisher
from separatrix.solvers.moments import moments_of
from separatrix.types import Block

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, size=len(X))


def positions(K, found):
    return K @ found.coef.T - found.origin


@pytest.mark.parametrize("ridge", [0.01, 1.0, 100.0])
def test_a_linear_kernel_gives_fishers_discriminant(ridge):
    moments = moments_of(Block(X, Y, WEIGHTS), n_classes=3, form="pooled")
    linear = solve_fisher(moments, ridge)
    found = solve_kernel_fisher(X @ X.T, Y, WEIGHTS, n_classes=3, ridge=ridge)
    expected = (X - moments.grand_mean) @ linear.axes
    np.testing.assert_allclose(positions(X @ X.T, found), expected, atol=1e-8)
    np.testing.assert_allclose(found.ratio, linear.ratio, rtol=1e-8)
    means = (moments.mean - moments.grand_mean) @ linear.axes
    np.testing.assert_allclose(found.means, means, atol=1e-8)


def test_a_gaussian_kernel_gives_the_generalised_eigenvectors_of_its_embedding():
    K, ridge = Gaussian(0.3).block(X, X), 0.5
    F = eigen_embedding(K, tol=1e-14)
    total = WEIGHTS.sum()
    means = np.array([np.average(F[c == Y], 0, WEIGHTS[c == Y]) for c in range(3)])
    middle = np.average(F, 0, WEIGHTS)
    of_class = np.bincount(Y, WEIGHTS)
    within = (F - means[Y]).T @ (WEIGHTS[:, None] * (F - means[Y]))
    between = (means - middle).T @ (of_class[:, None] * (means - middle))
    shrunk = within + ridge * np.eye(len(within))
    _, axes = eigh(between, shrunk)
    axes = axes[:, :-3:-1] * np.sqrt(total)  # the two largest; a'(S_w + ridge) a = n
    found = solve_kernel_fisher(K.copy(), Y, WEIGHTS, n_classes=3, ridge=ridge)
    Z, expected = positions(K, found), (F - middle) @ axes
    expected *= np.sign((Z * expected).sum(axis=0))
    np.testing.assert_allclose(Z, expected, atol=1e-7)
    ratio = np.diag(axes.T @ between @ axes) / np.diag(axes.T @ within @ axes)
    np.testing.assert_allclose(found.ratio, ratio, rtol=1e-7)
    assert (found.means[2] > found.means[0]).all()


def test_a_weight_is_a_number_of_copies_and_zero_none():
    K = Gaussian(0.3).block(X, X)
    copies = np.random.default_rng(1).integers(0, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), copies)
    weighted = solve_kernel_fisher(K.copy(), Y, copies.astype(float), n_classes=3, ridge=1.0)
    repeated = solve_kernel_fisher(
        K[np.ix_(rows, rows)], Y[rows], np.ones(len(rows)), n_classes=3, ridge=1.0
    )
    np.testing.assert_allclose(
        positions(K, weighted), K[:, rows] @ repeated.coef.T - repeated.origin, atol=1e-8
    )
    assert not weighted.coef[:, copies == 0].any()


def test_a_class_without_weight_takes_no_part():
    K, two = Gaussian(0.3).block(X, X), Y < 2
    found = solve_kernel_fisher(K.copy(), Y, two.astype(float), n_classes=3, ridge=1.0)
    alone = solve_kernel_fisher(K[np.ix_(two, two)], Y[two], np.ones(100), n_classes=2, ridge=1.0)
    np.testing.assert_allclose(found.coef[:1, two], alone.coef, atol=1e-8)
    assert len(found.ratio) == 1
