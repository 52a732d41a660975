"""Votes of pairs of classes."""

import tracemalloc

import numpy as np

from separatrix.estimators.base.multiclass import decision_values
from separatrix.solvers.decomposition import coding


def test_votes_of_many_classes_take_no_matrix_of_classes_by_pairs():
    rng = np.random.default_rng(0)
    for k in (3, 64, 65, 90):
        S = rng.integers(-2, 3, size=(7, k * (k - 1) // 2)).astype(float)
        sides = coding(k, "ovo").T.astype(float)
        expected = 1.0 * (S > 0) @ (sides > 0) + 1.0 * (S <= 0) @ (sides < 0)
        np.testing.assert_array_equal(decision_values(S, k, "ovo"), expected)
        summed = S @ sides
        margin = expected + summed / (3.0 * (np.abs(summed) + 1.0))
        np.testing.assert_allclose(decision_values(S, k, "ovo", "margin"), margin, rtol=1e-12)
    S = np.ones((1, 300 * 299 // 2))
    tracemalloc.start()
    votes = decision_values(S, 300, "ovo")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(votes[0], np.arange(299, -1, -1))  # the first of each pair wins
    assert peak < S.size * 300  # not one byte for each class and pair; 1500 classes took 25 GB
