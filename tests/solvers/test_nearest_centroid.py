import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from separatrix.solvers.nearest_centroid import class_medians, squared_distances


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
