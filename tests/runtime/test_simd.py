import numpy as np
import pytest
from numba import njit

from separatrix.runtime.simd import LANES, at_least_mask, first_bit


@njit
def mask_of(array, row, start, least):
    return at_least_mask(array, row, start, least)


@njit
def bits_of(mask):
    found = []
    while mask:
        found.append(first_bit(mask))
        mask &= mask - np.uint64(1)
    return found


@pytest.mark.parametrize("start", [0, 1, 64, 70])
def test_bits_say_which_values_reach_the_least(start):
    rng = np.random.default_rng(start)
    values = rng.standard_normal((3, 134)).astype(np.float32)
    values[1, start] = np.nan
    values[1, start + LANES - 1] = np.inf
    least = np.float32(0.3)
    found = bits_of(mask_of(values, 1, start, least))
    assert found == np.flatnonzero(values[1, start : start + LANES] >= least).tolist()
    assert LANES - 1 in found
    assert 0 not in found


def test_no_bits_and_all_bits():
    values = np.ones((1, LANES), np.float32)
    assert mask_of(values, 0, 0, np.float32(2)) == 0
    assert bits_of(mask_of(values, 0, 0, np.float32(1))) == list(range(LANES))
