"""Alignment of kernels with labels, and kernels to be combined."""

import numpy as np
import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import Combination, Gaussian, Linear, kernel_alignment
from separatrix.kernels.combination import weighted_sum


def definition(K, y, centered):
    """<K, T> / (|K| |T|) with the ideal kernel T made in full."""
    k, n = len(np.unique(y)), len(y)
    T = np.where(y[:, None] == y, 1.0, -1.0 / (k - 1))
    if centered:
        H = np.eye(n) - 1.0 / n
        K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / (np.linalg.norm(K) * np.linalg.norm(T))


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_alignment_matches_its_definition(k, centered):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(60, 4)), np.r_[np.arange(k), rng.integers(0, k, size=60 - k)]
    for kernel in (Linear(), Gaussian(0.3)):
        K = kernel.block(X, X)
        found = kernel_alignment(K, np.array(list("abcdefg"))[y], centered=centered)
        assert found == pytest.approx(definition(K, y, centered), rel=1e-10)


def test_of_two_classes_it_is_that_of_cristianini():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.choice([-1, 1], size=30)
    K = Gaussian(1.0).block(X, X)
    assert kernel_alignment(K, y) == pytest.approx(y @ K @ y / (30 * np.linalg.norm(K)))


def test_the_ideal_kernel_has_alignment_1():
    y = np.array([0, 0, 1, 2, 2, 2])
    T = np.where(y[:, None] == y, 1.0, -0.5)
    assert kernel_alignment(T, y) == pytest.approx(1.0)
    assert kernel_alignment(T + 5.0, y, centered=True) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("K", "y", "sentence"),
    [
        (np.eye(3)[:2], [0, 1], "square kernel matrix"),
        (np.eye(3), [0, 1], r"a label for each of the 3 rows of K; got \(2,\)"),
        (np.eye(3), [0, 0, 0], "at least 2 classes; got one"),
        (np.zeros((2, 2)), [0, 1], "K is 0 for all pairs"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), [0, 1], "must be symmetric"),
    ],
)
def test_bad_input_is_refused(K, y, sentence):
    with pytest.raises(DataError, match=sentence):
        kernel_alignment(K, y)


def test_a_weighted_sum_leaves_out_factors_of_0():
    kernels = [Linear(), Gaussian(1.0), Gaussian(2.0)]
    X = np.random.default_rng(0).normal(size=(5, 2))
    kernel = weighted_sum(kernels, np.array([0.5, 0.0, 2.0]))
    expected = 0.5 * X @ X.T + 2.0 * Gaussian(2.0).block(X, X)
    np.testing.assert_allclose(kernel.block(X, X), expected)
    assert "gamma=1.0" not in repr(kernel)


@pytest.mark.parametrize("kernels", [[], "rbf", Linear(), 3])
def test_a_combination_is_of_a_list(kernels):
    with pytest.raises(ParameterError, match="`kernels` of Combination must be a list of at least"):
        Combination(kernels)
