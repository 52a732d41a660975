import numpy as np
import pytest
from scipy.spatial.distance import cdist

from separatrix.solvers.nearest.metrics import (
    CHEBYSHEV,
    EUCLIDEAN,
    MANHATTAN,
    MINKOWSKI,
    metric_of,
    raw_distance,
)

NAMES = {"euclidean": {}, "manhattan": {}, "chebyshev": {}, "minkowski": {"p": 3}}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 5, 16, 127, 128, 129, 400])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_distances_are_scipys(name, d, dtype):
    rng = np.random.default_rng(d)
    X = (255 * rng.random((4, d))).astype(dtype)
    Q = 255 * rng.random((3, d))
    metric = metric_of(name, NAMES[name].get("p", 2))
    raw = [
        [raw_distance(X, row, Q, i, metric.code, metric.p, np.inf) for row in range(4)]
        for i in range(3)
    ]
    theirs = {"manhattan": "cityblock"}.get(name, name)
    D = cdist(Q, X.astype(np.float64), theirs, **NAMES[name])
    np.testing.assert_allclose(metric.distances(np.array(raw)), D, rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_a_distance_above_the_limit_may_stop_early_but_is_above_it(name):
    rng = np.random.default_rng(0)
    X, Q = rng.random((50, 700)), rng.random((1, 700))
    metric = metric_of(name, NAMES[name].get("p", 2))
    whole = np.array(
        [raw_distance(X, row, Q, 0, metric.code, metric.p, np.inf) for row in range(50)]
    )
    limit = float(np.median(whole))
    for row in range(50):
        cut = raw_distance(X, row, Q, 0, metric.code, metric.p, limit)
        assert cut == whole[row] or (cut > limit and whole[row] > limit)


def test_the_order_of_two_features_makes_no_difference():
    """0.1^2 + 0.3^2 is 0.3^2 + 0.1^2: no multiply-add that rounds once tells them apart."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.integers(1, 80, 2) / 10
        X, Q = np.array([[a, b], [b, a]]), np.zeros((1, 2))
        first, second = (raw_distance(X, row, Q, 0, EUCLIDEAN, 2.0, np.inf) for row in (0, 1))
        assert first == second


def test_names():
    assert metric_of("l2") == metric_of("minkowski", 2) == metric_of("euclidean")
    assert metric_of("l1") == metric_of("minkowski", 1) == metric_of("cityblock")
    assert metric_of("chebyshev") == metric_of("minkowski", np.inf)
    assert metric_of("minkowski", 3) == (MINKOWSKI, 3.0)


def test_sums_end_at_the_first_feature_beyond_the_limit():
    X, Q = np.array([[9.0] * 4, [1.0, -2.0, 0.5, 1.0]]), np.array([[0.0] * 4, [0.0, 0.0, 1.0, 0.0]])
    for limit, expected in (
        (0.5, 1.0),
        (1.0, 9.0),
        (9.0, 9.125),
        (9.125, 10.125),
        (np.inf, 10.125),
    ):
        assert raw_distance(X, 1, Q, 1, MINKOWSKI, 3.0, limit) == expected
    small = np.array([[0.25, -0.5, 0.0]])
    assert raw_distance(small, 0, np.zeros((1, 3)), 0, CHEBYSHEV, 2.0, np.inf) == 0.5
    assert raw_distance(small, 0, small, 0, CHEBYSHEV, 2.0, np.inf) == 0.0
    assert raw_distance(small, 0, np.zeros((1, 3)), 0, EUCLIDEAN, 2.0, np.inf) == 0.3125
    assert raw_distance(small, 0, np.zeros((1, 3)), 0, MANHATTAN, 2.0, np.inf) == 0.75
