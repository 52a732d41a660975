import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest import bits
from separatrix.solvers.nearest.bits import Bits, is_binary
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.metrics import metric_of


def binary(rng, n, d, share=0.3):
    return (rng.random((n, d)) < share).astype(np.float64)


def of(X, metric="l2", p=2.0, stored=None):
    """An index of binary rows, with the fallback for other queries."""
    return Bits(X if stored is None else stored, Exhaustive(X, metric_of(metric, p)))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 200),
    d=st.integers(1, 70),
    m=st.integers(1, 40),
    share=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
)
def test_neighbors_are_those_of_the_exhaustive_search(seed, n, d, m, share):
    rng = np.random.default_rng(seed)
    X, Q = binary(rng, n, d, share), binary(rng, m, d, share)

    index = of(X)

    for k in {1, min(5, n), n}:
        assert_exhaustive(index, X, Q, k, threads=2)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float32, np.float64])
def test_rows_may_be_of_any_type(dtype):
    rng = np.random.default_rng(0)
    X = binary(rng, 150, 20)

    index = of(X, "l1", stored=X.astype(dtype))

    assert_exhaustive(index, X, binary(rng, 9, 20), 4, "l1")


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_every_norm_counts_the_same_bits(p):
    rng = np.random.default_rng(1)
    X = binary(rng, 150, 33)

    index = of(X, "minkowski", p)

    assert_exhaustive(index, X, binary(rng, 20, 33), 7, "minkowski", p=p)


@pytest.mark.parametrize("k", [1, 101, 1000, 2999])
def test_a_row_does_not_find_itself_however_many_rows_are_alike(k):
    rng = np.random.default_rng(2)
    X = binary(rng, 3000, 9)  # of which at most 512 differ
    some = np.arange(0, 3000, 100)

    assert_exhaustive(of(X), X, X[some], k, skip=some, threads=3)


def test_rows_that_ever_come_nearer_are_forgotten_in_time():
    X = np.tri(1500, 1500, -1)[::-1].copy()  # row by row one bit nearer to the query

    assert_exhaustive(of(X), X, np.zeros((1, 1500)), 3)


def test_sparse_rows_and_queries_are_as_good():
    rng = np.random.default_rng(3)
    X, Q = binary(rng, 200, 300, 0.02), binary(rng, 15, 300, 0.02)

    index = of(X, stored=csr_array(X))

    assert_exhaustive(index, X, csr_array(Q), 5)
    assert_exhaustive(index, X, Q, 5)


def test_sparse_values_that_are_stored_in_parts_are_summed():
    twice = csr_array((np.array([0.5, 0.5, 1.0]), np.array([1, 1, 0]), np.array([0, 2, 3])))

    assert is_binary(twice)
    assert not is_binary(csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2]))))


def test_queries_with_other_values_are_answered_too():
    rng = np.random.default_rng(4)
    X, Q = binary(rng, 300, 12), binary(rng, 10, 12)
    Q[3, 5], Q[7, 0] = 0.25, -1.0

    index = of(X)

    assert_exhaustive(index, X, Q, 6, threads=2)
    assert_exhaustive(index, X, Q[[3, 7]], 6)


def test_only_zeros_and_ones_pack():
    assert is_binary(np.array([[0.0, 1.0]]))
    assert is_binary(np.array([[True], [False]]))
    assert not is_binary(np.array([[0, 2]], np.uint8))
    assert not is_binary(np.array([[0.0, 1.0 + 1e-15]]))
    assert not is_binary(csr_array((1, bits.MOST_FEATURES + 1)))


def test_an_index_takes_a_bit_for_each_feature():
    X = np.zeros((640, 128), np.uint8)

    assert of(X).nbytes == X.size // 8
