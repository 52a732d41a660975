"""Loops over bits against plain ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.nearest import bits


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
    X = rng.integers(0, 2, (n, d)).astype(np.float64)
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
