import numpy as np
import pytest

from separatrix.solvers.selection import select

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_the_selected_key_has_its_rank_and_parts_the_others(n):
    for keys in (RNG.normal(size=n), RNG.integers(0, 3, size=n).astype(float)):
        for rank in range(n):
            order = np.arange(n)

            select(keys, order, 0, n - 1, rank)

            assert keys[order[rank]] == np.sort(keys)[rank]
            assert (keys[order[:rank]] <= keys[order[rank]]).all()
            assert (keys[order[rank:]] >= keys[order[rank]]).all()
            assert sorted(order) == list(range(n))
