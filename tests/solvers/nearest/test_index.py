"""Every search method finds what an exhaustive search finds, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.errors import ParameterError
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest.index import build_index
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, metric_of

METHODS = {
    "euclidean": ("projections", "products", "boxes", "sparse"),
    "manhattan": ("manhattan", "boxes", "sparse"),
    "chebyshev": ("boxes",),
}


def waves(rng, n, d):
    """Rows that lie near a few directions, as pictures do."""
    return rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + 0.1 * rng.standard_normal(
        (n, d)
    )


DATA = {
    "noise": lambda rng: rng.standard_normal((3000, 40)),
    "waves": lambda rng: waves(rng, 3000, 40),
    "pixels": lambda rng: np.clip(80 * waves(rng, 2500, 60), 0, 255).astype(np.uint8),
    "whole": lambda rng: rng.integers(-2, 3, (2500, 24)).astype(np.float64),
    "float32": lambda rng: waves(rng, 2200, 20).astype(np.float32),
    "far out": lambda rng: 1e6 + waves(rng, 2200, 33),
    "two places": lambda rng: waves(rng, 2200, 33) * 1e-3 + 1e3 * (np.arange(2200)[:, None] % 2),
    "tiny": lambda rng: 1e-60 * waves(rng, 2200, 9),
    "huge": lambda rng: 1e60 * waves(rng, 2200, 9),
    "few": lambda rng: rng.standard_normal((7, 3)),
    "one far out": lambda rng: np.vstack([waves(rng, 2200, 14), np.full((1, 14), 1e25)]),
    "heavy tails": lambda rng: rng.standard_cauchy((2600, 11)) ** 3,
    "all sizes": lambda rng: (
        rng.standard_normal((2300, 13)) * 10 ** rng.uniform(-30, 30, (2300, 1))
    ),
    "one feature": lambda rng: rng.standard_normal((2100, 1)),
    "equal": lambda rng: np.full((2100, 12), 3.7),
    "repeated": lambda rng: np.repeat(waves(rng, 300, 30), 8, axis=0),
}


def index_of(X, metric, method):
    rows = csr_array(X.astype(np.float64)) if method == "sparse" else X
    index = build_index(rows, metric_of(metric), method=method)
    assert index.method == method
    return index


def queries_of(X, rng):
    some = X[rng.integers(0, len(X), 60)].astype(np.float64)
    spread = X.astype(np.float64).std() or 1.0
    return np.vstack([some[:30], some[30:] + 0.3 * spread * rng.standard_normal(some[30:].shape)])


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", METHODS)
def test_all_methods_agree(name, metric):
    rng = np.random.default_rng(0)
    X = DATA[name](rng)
    Q, k = queries_of(X, rng), min(7, len(X))
    for method in METHODS[metric]:
        if method == "projections" and (len(X) < 32 or X.shape[1] < 11):
            continue
        rtol = 1e-12 if method == "sparse" else None  # sums in another order
        found = assert_exhaustive(
            index_of(X, metric, method), X, Q, k, metric, threads=2, rtol=rtol
        )
        if method == "sparse":
            apart = X.astype(np.float64)[found.rows] - Q[:, None]
            measured = (apart**2 if metric == "euclidean" else abs(apart)).sum(axis=2)
            np.testing.assert_allclose(measured, found.distances, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", METHODS)
def test_a_row_that_is_skipped_is_not_found(metric):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (2300, 12)).astype(np.float64)
    skip = np.arange(2300)
    for method in METHODS[metric]:
        index = index_of(X, metric, method)
        found = assert_exhaustive(index, X, X, 4, metric, skip=skip, threads=2)
        assert not (found.rows == skip[:, None]).any()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS["euclidean"])
def test_all_rows_can_be_neighbours(method):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (2100, 12)).astype(np.float64)
    found = index_of(X, "l2", method).nearest(X[:3], 2100, np.full(3, -1), threads=1)
    D = cdist(X[:3], X, "sqeuclidean")
    order = np.argsort(D, axis=1, kind="stable")
    np.testing.assert_array_equal(found.rows, order)
    np.testing.assert_array_equal(found.distances, np.take_along_axis(D, order, axis=1))


@pytest.mark.parametrize("method", METHODS["euclidean"])
def test_queries_far_from_all_rows(method):
    rng = np.random.default_rng(3)
    X = waves(rng, 2100, 16)
    far = np.array([1.0, 1e4, 1e8, 1e20, 1e40, 1e160])[:, None] * rng.standard_normal((6, 16))
    rtol = 1e-14 if method == "sparse" else None  # from that far, rows are as near as rounding says
    assert_exhaustive(index_of(X, "l2", method), X, far, 5, rtol=rtol)


def test_rows_close_together_and_far_from_their_middle():
    """Where float32 cannot tell rows apart, all of them are measured."""
    rng = np.random.default_rng(4)
    X = np.vstack([rng.standard_normal((1500, 12)) * 1e-6 + 5 * sign for sign in (-1, 1)])
    for method in ("projections", "products", "boxes"):
        assert_exhaustive(index_of(X, "l2", method), X, X[::300] + 1e-7, 5)


@pytest.mark.parametrize("method", ["projections", "products", "boxes", "exhaustive"])
def test_threads_and_the_order_of_queries_change_nothing(method):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (3000, 12)).astype(np.float64)
    Q = rng.integers(0, 5, (700, 12)).astype(np.float64)
    index = build_index(X, metric_of("l2"), method=method)
    none = np.full(700, -1)
    one = index.nearest(Q, 6, none, threads=1)
    order = rng.permutation(700)
    three = index.nearest(Q[order], 6, none, threads=3)
    np.testing.assert_array_equal(one.rows[order], three.rows)
    alone = index.nearest(Q[:1], 6, none[:1], threads=1)
    np.testing.assert_array_equal(one.rows[:1], alone.rows)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 400),
    d=st.integers(1, 12),
    top=st.integers(1, 5),
    code=st.sampled_from([EUCLIDEAN, MANHATTAN, CHEBYSHEV]),
)
def test_whatever_is_chosen_agrees_with_scipy(seed, n, d, top, code):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, top + 1, (n, d)).astype(rng.choice([np.uint8, np.float32, np.float64]))
    Q = rng.integers(0, top + 1, (20, d)).astype(np.float64)
    name = ("sqeuclidean", "cityblock", "chebyshev")[code]
    D = cdist(Q, X.astype(np.float64), name)
    k = int(rng.integers(1, n + 1))
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    metric = metric_of(("l2", "l1", "chebyshev")[code])
    for rows in (X, csr_array(X.astype(np.float64))):
        found = build_index(rows, metric).nearest(Q, k, np.full(20, -1), threads=1)
        np.testing.assert_array_equal(found.rows, order)
        np.testing.assert_array_equal(found.distances, np.take_along_axis(D, order, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["projections", "products", "boxes", "manhattan"])
@pytest.mark.parametrize("spread", [1e-155, 1e-160, 1e-310])
def test_a_tiny_spread_about_a_constant(method, spread):
    X = np.c_[np.ones(2100), spread * np.random.default_rng(8).standard_normal((2100, 11))]
    metric = "l1" if method == "manhattan" else "l2"
    assert_exhaustive(index_of(X, metric, method), X, X[:5], 3, metric)


@pytest.mark.parametrize("method", ["projections", "products"])
def test_a_huge_row_that_a_sample_does_not_show(method):
    X = 1e-60 * np.random.default_rng(9).standard_normal((9000, 20))
    X[5001], X[5003] = 1e98, 1.0001e98
    assert_exhaustive(index_of(X, "l2", method), X, X[[0, 5001, 5003]], 9000, threads=2)


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [1e160, 1e-160, 1e-310, 1e300])
def test_sparse_rows_of_any_size(metric, size):
    rng = np.random.default_rng(10)
    X = np.where(rng.random((300, 60)) < 0.05, size * rng.standard_normal((300, 60)), 0.0)
    X[7] = 0.0
    found = assert_exhaustive(index_of(X, metric, "sparse"), X, X[:9], 300, metric, rtol=1e-12)
    assert (np.sort(found.rows, axis=1) == np.arange(300)).all()


@pytest.mark.parametrize(
    "method", ["exhaustive", "boxes", "products", "manhattan", "bits", "sparse"]
)
def test_a_cancelled_search_finds_nothing(method, cancelled):
    X = np.random.default_rng(8).integers(0, 2 if method == "bits" else 9, (5000, 20)) * 1.0
    index = index_of(X, "l1" if method == "manhattan" else "l2", method)
    found = index.nearest(X[:4], 600, np.full(4, -1), threads=2, monitor=cancelled)
    assert np.isinf(found.distances).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exhaustive", "boxes", "products"])
def test_an_interrupted_search_stops_its_threads(method):
    """Ctrl-C comes where results are waited for; groups that are under way end at their next check."""
    X = np.random.default_rng(11).standard_normal((2000, 10))
    index = build_index(X, metric_of("l2"), method=method)
    groups = 0

    def on_step(_number):
        nonlocal groups
        groups += 1
        raise KeyboardInterrupt

    Q, skip, monitor = np.tile(X, (20, 1)), np.full(40_000, -1), FitMonitor(None, on_step)
    with pytest.raises(KeyboardInterrupt):
        index.nearest(Q, 3, skip, threads=2, monitor=monitor)
    assert groups == 1


@pytest.mark.slow
def test_the_choice():
    rng = np.random.default_rng(6)
    l2 = metric_of("l2")
    assert build_index(rng.standard_normal((5000, 4)), l2).built().method == "boxes"
    assert build_index(rng.standard_normal((500, 2)), l2).built().method == "boxes"
    assert build_index(rng.standard_normal((50, 2)), l2).built().method == "exhaustive"
    assert build_index(waves(rng, 5000, 60), l2).built().method == "projections"
    assert build_index(rng.standard_normal((5000, 60)), l2).built().method == "products"
    assert build_index(rng.integers(0, 2, (5000, 60)).astype(np.uint8), l2).built().method == "bits"
    assert build_index(waves(rng, 5000, 60), metric_of("l1")).method == "manhattan"
    assert build_index(waves(rng, 500, 60), metric_of("minkowski", 3)).method == "exhaustive"
    words = csr_array((np.arange(1.0, 101), (np.arange(100), 7 * np.arange(100))), shape=(100, 999))
    assert build_index(words, l2).method == "sparse"
    with pytest.raises(ParameterError, match="'sparse'"):
        build_index(rng.standard_normal((50, 4)), l2, method="sparse")


def test_an_index_holds_little_besides_the_rows():
    rng = np.random.default_rng(7)
    X = waves(rng, 20_000, 200)
    in_float32 = X.nbytes / 2
    assert build_index(X, metric_of("l2"), method="projections").nbytes < 0.7 * in_float32
    assert build_index(X, metric_of("l2"), method="products").nbytes < 1.1 * in_float32
    for d in (4, 6, 10):
        few = rng.standard_normal((128 * 300 + 1, d))
        assert build_index(few, metric_of("l2"), method="boxes").nbytes < 1.5 * few.nbytes / 2
    some = rng.standard_normal((5000, 11))
    assert build_index(some, metric_of("l2"), method="products").nbytes < 1.5 * some.nbytes / 2
