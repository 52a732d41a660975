import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from separatrix.solvers import nearest_centroid as module
from separatrix.solvers.moments import Moments
from separatrix.solvers.nearest_centroid import (
    absolute_distances,
    class_medians,
    shrink_centroids,
    squared_distances,
)


def moments_of(X, y):
    k = y.max() + 1
    mean = np.array([X[y == c].mean(axis=0) for c in range(k)])
    scatter = np.array([((X[y == c] - mean[c]) ** 2).sum(axis=0) for c in range(k)])
    return Moments("features", np.bincount(y).astype(float), np.bincount(y), mean, scatter)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_distances_are_those_of_the_definition(sparse, scaled):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(30, 7)), rng.normal(size=(4, 7))
    scale = rng.uniform(0.5, 2.0, 7) if scaled else None
    found = squared_distances(csr_array(X) if sparse else X, C, scale)
    divisor = 1.0 if scale is None else scale
    np.testing.assert_allclose(found, cdist(X / divisor, C / divisor) ** 2, rtol=1e-10)


def test_nothing_is_lost_far_from_the_origin():
    rng = np.random.default_rng(1)
    X, C = rng.normal(size=(20, 3)), rng.normal(size=(3, 3))
    far = squared_distances(X + 2.0**30, C + 2.0**30)
    np.testing.assert_allclose(far, cdist(X, C) ** 2, rtol=1e-5)
    assert (squared_distances(C, C) >= 0.0).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_medians_of_classes(sparse):
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, (25, 4)).astype(float), np.arange(25) % 3
    expected = [np.median(X[y == c], axis=0) for c in range(3)]
    np.testing.assert_array_equal(class_medians(csr_array(X) if sparse else X, y, 3), expected)


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_centroids_shrink_as_the_formula_says(threshold):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [4, 6, 9])
    X = rng.normal(size=(19, 5)) + y[:, None] * [0.0, 1.0, 0.5, -1.0, 0.2]
    moments = moments_of(X, y)
    centers = class_medians(X, y, 3)
    found = shrink_centroids(moments, centers, threshold)

    s = np.sqrt(((X - centers[y]) ** 2).sum(axis=0) / (19 - 3))
    error = np.sqrt(1 / np.array([4, 6, 9]) - 1 / 19)[:, None] * (s + np.median(s))
    d = (centers - X.mean(axis=0)) / error
    np.testing.assert_allclose(found.deviation, s)
    if threshold:
        d = np.sign(d) * np.maximum(np.abs(d) - threshold, 0)
        centers = X.mean(axis=0) + error * d
    np.testing.assert_allclose(found.deviations, d)
    np.testing.assert_allclose(found.centroids, centers)
    assert not threshold or (d == 0).any()


def test_a_feature_without_spread_does_not_shrink_and_one_sample_a_class_is_enough():
    X, y = np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([0, 1])
    found = shrink_centroids(moments_of(X, y), X, 0.5)
    np.testing.assert_array_equal(found.centroids, X)
    np.testing.assert_array_equal(found.deviations, [[0.0, -np.inf], [0.0, np.inf]])


@pytest.mark.parametrize("scaled", [False, True])
def test_absolute_distances_are_those_of_the_definition(scaled, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 7 * 4)
    rng = np.random.default_rng(4)
    X, C = rng.normal(size=(30, 7)), rng.normal(size=(4, 7))
    scale = rng.uniform(0.5, 2.0, 7) if scaled else None
    divisor = np.ones(7) if scale is None else scale
    for samples in (X, csr_array(X)):
        found = absolute_distances(samples, C, scale)
        np.testing.assert_allclose(found, cdist(X / divisor, C / divisor, "cityblock"))
    np.testing.assert_allclose(
        squared_distances(X, C, scale), cdist(X / divisor, C / divisor) ** 2, rtol=1e-10
    )
