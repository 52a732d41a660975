import numpy as np
import pytest
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest import index as module
from separatrix.solvers.nearest import scan as scan_module
from separatrix.solvers.nearest.index import build_index
from separatrix.solvers.nearest.metrics import metric_of
from separatrix.solvers.nearest.scan import ProductScan


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("d", [1, 5, 16, 130])
def test_a_scan_finds_what_an_exhaustive_search_finds(dtype, d):
    rng = np.random.default_rng(d)
    X = rng.integers(0, 9, size=(700, d)).astype(dtype)  # with many ties
    Q = rng.integers(0, 9, size=(70, d)).astype(np.float64)
    assert_exhaustive(ProductScan(X), X, Q, 4)
    skip = np.arange(70)
    assert_exhaustive(ProductScan(X), X, X[:70].astype(np.float64), 4, skip=skip, threads=3)


@pytest.mark.parametrize(("offset", "scale"), [(1e9, 1.0), (0.0, 1e170), (0.0, 1e-170)])
def test_products_that_overflow_or_cancel_do_not_hide_neighbours(offset, scale):
    rng = np.random.default_rng(1)
    X = offset + scale * rng.standard_normal((300, 3))
    Q = offset + scale * rng.standard_normal((9, 3))
    assert_exhaustive(ProductScan(X), X, Q, 5)


def test_an_index_is_built_only_when_many_queries_have_come():
    rng = np.random.default_rng(2)
    X, Q = rng.standard_normal((3000, 6)), rng.standard_normal((module.FEW_QUERIES, 6))
    index = build_index(X, metric_of("l2"))
    first = assert_exhaustive(index, X, Q, 3)
    assert index.nbytes == 0
    again = assert_exhaustive(index, X, Q, 3)
    assert index.nbytes > 0
    np.testing.assert_array_equal(first.rows, again.rows)


def test_products_serve_until_axes_pay(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3000, 5)) @ rng.standard_normal((5, 40))
    index, skip = build_index(X, metric_of("l2")), np.full(200, -1)
    monkeypatch.setattr(module, "axes_pay", lambda n, d, *, queries, threads: queries > 300)
    first = index.nearest(X[:200], 3, skip, threads=1)
    assert index._index.method == "products"
    again = index.nearest(X[:200], 3, skip, threads=1)
    assert index._index.method == index.built().method == "projections"
    np.testing.assert_array_equal(first.rows, again.rows)


def test_threads_scan_parts_of_the_rows(monkeypatch):
    monkeypatch.setattr(scan_module, "WORTH_A_THREAD", 1)
    rng = np.random.default_rng(4)
    X = rng.integers(0, 4, size=(900, 6)).astype(np.float64)  # with many ties
    assert_exhaustive(ProductScan(X), X, X[:50], 7, skip=np.arange(50), threads=4)
