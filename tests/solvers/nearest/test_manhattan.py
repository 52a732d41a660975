import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest import columns, manhattan
from separatrix.solvers.nearest.manhattan import Manhattan


def together(rng, n, d, factors=4):
    """Samples whose columns move together, up to a little noise."""
    return rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d)) + 0.1 * rng.normal(
        size=(n, d)
    )


def assert_same(X, Q, k, index=None, **more):
    assert_exhaustive(index or Manhattan(X), X, Q, k, "l1", **more)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 300),
    d=st.integers(1, 60),
    m=st.integers(1, 40),
    kind=st.sampled_from(["normal", "together", "integers", "bytes", "offset", "equal", "copies"]),
)
def test_neighbors_are_those_of_the_exhaustive_search(seed, n, d, m, kind):
    rng = np.random.default_rng(seed)
    both = {
        "normal": lambda: rng.normal(size=(n + m, d)),
        "together": lambda: together(rng, n + m, d).astype(np.float32),
        "integers": lambda: rng.integers(-2, 3, (n + m, d)).astype(np.float64),
        "bytes": lambda: rng.integers(0, 256, (n + m, d)).astype(np.uint8),
        "offset": lambda: 1e6 + 1e-3 * together(rng, n + m, d),
        "equal": lambda: np.full((n + m, d), 0.1),
        "copies": lambda: together(rng, 5, d)[rng.integers(0, 5, n + m)],
    }[kind]()
    X, Q = both[:n].copy(), both[n:].astype(np.float64)

    index = Manhattan(X)

    for k in {1, min(5, n), n}:
        assert_same(X, Q, k, threads=2, index=index)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_columns_that_move_together_are_bounded_in_little_memory(dtype):
    rng = np.random.default_rng(0)
    X = (128 + 15 * together(rng, 5000, 100)).clip(0, 255).astype(dtype)
    Q = X[::100].astype(np.float64)
    index = Manhattan(X)

    assert index._coding.levels
    assert index.nbytes <= X.size * 4 / 2
    assert_same(X, Q, 5, skip=np.arange(0, 5000, 100), threads=2, index=index)
    assert_same(X, Q + 0.3, 101, index=index)


def test_independent_columns_are_searched_too():
    rng = np.random.default_rng(1)

    assert_same(rng.random((3000, 40)), rng.random((40, 40)), 3, threads=2)
    assert_same(
        rng.integers(0, 256, (3000, 40)).astype(np.uint8), rng.integers(0, 256, (9, 40)) * 1.0, 3
    )


def test_a_bound_that_rounding_made_too_large_rules_nothing_out(monkeypatch):
    """Group sums one unit apart may belong to rows that are next to nothing apart."""
    unit = 2.0**-4
    plan = manhattan.GroupCoding(
        np.zeros(8), unit, [columns.Groups(np.arange(8), np.ones(8, np.int8), 8)]
    )
    monkeypatch.setattr(manhattan, "_choose_coding", lambda X: plan)
    edge = np.full((1, 8), 5 * unit)
    X = np.repeat(edge, 700, axis=0)
    X[:, 0] += 1.5 * unit
    X[613] = edge - 1e-9  # all eight codes are one less than the query's

    codes, _ = manhattan._codes(np.vstack([edge, X[613:614]]), plan)
    assert (codes[0] - codes[1] == 1).all()
    assert_same(X, edge, 1)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e-30, 1e30, 1e150, 1e300])
def test_numbers_may_be_of_any_size(scale):
    rng = np.random.default_rng(2)
    X = scale * together(rng, 400, 40)

    assert_same(X, X[:20] + scale / 8, 4)


@pytest.mark.slow
def test_one_query_may_be_out_of_all_proportion():
    rng = np.random.default_rng(3)
    X = together(rng, 3000, 40)
    Q = X[:6].copy()
    Q[1] *= 1e9
    Q[2, 0] = 1e300
    Q[3] = 1.5e308 * np.sign(Q[3])

    assert_same(X, Q, 4, threads=2)


def test_a_query_too_far_to_have_codes_still_finds_the_nearest():
    rng = np.random.default_rng(9)
    X = 1e196 * together(rng, 3000, 40)
    Q = X[:3] + 1e201 * np.eye(3, 40)

    index = Manhattan(X)

    assert index._coding.levels
    assert_same(X, Q, 4, index=index)


def test_rows_next_to_each_other_and_one_far_away():
    rng = np.random.default_rng(10)
    X = 1e-150 * together(rng, 500, 12)
    X[400] = 1e-10

    assert_same(X, X[:20].copy(), 4)


@pytest.mark.slow
def test_one_row_may_be_out_of_all_proportion():
    rng = np.random.default_rng(4)
    X = together(rng, 3000, 40)
    X[17], X[18, 3], X[2001] = 1e12, -1e15, 0.0

    assert_same(X, X[10:30].copy(), 4, skip=np.arange(10, 30))
    X[19, 0] = 1.7e308
    assert_same(X, X[10:30].copy(), 4, skip=np.arange(10, 30))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 999, 5999])
def test_rows_beyond_the_seeds_are_found_as_well(k):
    rng = np.random.default_rng(5)
    X = together(rng, 6000, 33).astype(np.float32)

    assert_same(X, X[:3].astype(np.float64), k, skip=np.arange(3), threads=3)


def test_more_columns_than_are_merged_at_once(monkeypatch):
    monkeypatch.setattr(columns, "MAX_COLUMNS", 32)
    monkeypatch.setattr(columns, "ADJACENT", 10)
    rng = np.random.default_rng(6)
    X = together(rng, 800, 75)

    assert_same(X, X[:30] + 0.01, 5)


def test_merged_columns_are_those_that_move_together():
    rng = np.random.default_rng(7)
    factors = rng.normal(size=(500, 3))
    S = np.hstack([factors, -factors, factors]) + 0.01 * rng.normal(size=(500, 9))

    groups = columns.merge_columns(S - S.mean(axis=0)).groups(9, 3)

    np.testing.assert_array_equal(groups.labels, [0, 1, 2] * 3)
    np.testing.assert_array_equal(groups.signs[3:6], -groups.signs[:3])
    np.testing.assert_array_equal(groups.signs[6:], groups.signs[:3])
