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


@pytest.mark.parametrize("d", [1, 15, 16, 17, 40])
def test_rows_are_packed_sixteen_features_to_a_word(d):
    rng = np.random.default_rng(d)
    X = rng.choice([0.0, 1.0, 2.0, 0.5, -1.0], (30, d), p=[0.5, 0.45, 0.02, 0.02, 0.01])
    X[:5] = X[:5] == 1
    powers = 2 ** (np.arange(d) % 16)
    expected = np.stack(
        [((X == 1) * powers)[:, w : w + 16].sum(axis=1) for w in range(0, d, 16)], axis=1
    )
    stored = csr_array(X)
    stored.data[::7] = 0.0  # stored zeros
    for made in (X, stored):
        words, binary = bits._pack_rows(made)
        values = made.toarray() if made is stored else made
        np.testing.assert_array_equal(binary, np.isin(values, (0, 1)).all(axis=1))
        if made is X:
            np.testing.assert_array_equal(words, expected)
        else:
            np.testing.assert_array_equal(words, bits._pack_rows(values)[0])


class PlainHits:
    """Rows nearer than the k-th so far, in order; forgotten when there is no slot left."""

    def __init__(self, k, slots, d):
        self.k, self.slots, self.d, self.hits, self.counts = k, slots, d, [], []

    def limit(self):
        """The smallest count that k rows do not exceed."""
        return sorted(self.counts)[self.k - 1] if len(self.counts) >= self.k else self.d + 1

    def add(self, row, count):
        limit = self.limit()
        if count >= limit:
            return
        if len(self.hits) == self.slots:
            ties = self.k - sum(own < limit for own in self.counts)
            tied = [one for one in self.hits if one[1] == limit][:ties]
            self.hits = [one for one in self.hits if one[1] < limit or one in tied]
        self.hits.append((row, count))
        self.counts.append(count)


@pytest.mark.parametrize(
    ("n", "d", "k", "slots"), [(1100, 20, 3, 5), (150, 3, 7, 8), (64, 9, 64, 65)]
)
def test_hits_are_collected_as_a_plain_loop_does(n, d, k, slots):
    rng = np.random.default_rng(n)
    X = binary(rng, n, d, 0.5)
    X[: n // 2] = np.sort(X[: n // 2], axis=0)[::-1]  # rows that come nearer and nearer
    Q, skip = np.vstack([np.zeros((2, d)), X[:2]]), np.array([-1, n - 1, 0, n // 3])
    D = (Q[:, None] != X).sum(axis=-1)
    blocks = bits.blocks_of(bits._pack_rows(X)[0])
    queries = bits._pack_rows(Q)[0] * bits.REPEAT_16_BITS
    hits = bits.Hits.none(4, slots, d)
    plain = [PlainHits(k, slots, d) for _ in Q]
    for start, stop in ((0, 1), (1, len(blocks))):
        bits._scan(blocks, start, stop, n, queries, skip, k, hits)
        for i, own in enumerate(plain):
            for row in range(64 * start, min(64 * stop, n)):
                if row != skip[i]:
                    own.add(row, int(D[i, row]))
            size = hits.sizes[i]
            assert hits.limits[i] == own.limit()
            found = zip(hits.rows[i, :size].tolist(), hits.counts[i, :size].tolist(), strict=True)
            assert list(found) == own.hits
            histogram = np.bincount(own.counts, minlength=d + 1)
            assert hits.histogram[i].tolist() == histogram.tolist()
    found = bits.Neighbors(np.full((4, k), np.inf), np.full((4, k), -1))
    bits._sort(hits, found)
    for i, own in enumerate(D):
        order = [row for row in np.argsort(own, kind="stable") if row != skip[i]][:k]
        assert found.rows[i, : len(order)].tolist() == order
        assert found.distances[i, : len(order)].tolist() == own[order].tolist()
        assert (found.rows[i, len(order) :] == -1).all()


@pytest.mark.parametrize("ties", [0, 1, 2, 9])
def test_the_first_hits_at_the_limit_are_kept(ties):
    rows = np.array([[9] * 7, [3, 4, 6, 7, 8, 11, 12]])
    counts = np.array([[0] * 7, [5, 2, 5, 6, 1, 5, 2]], np.uint16)
    kept = [(3, 5)] * (ties > 0) + [(4, 2)] + [(6, 5)] * (ties > 1) + [(8, 1)]
    kept += [(11, 5)] * (ties > 2) + [(12, 2)]
    size = bits._compact(rows, counts, 1, np.uint16(5), ties)
    assert list(zip(rows[1, :size].tolist(), counts[1, :size].tolist(), strict=True)) == kept
