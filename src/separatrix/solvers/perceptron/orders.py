"""The order in which examples are met: a new one for each pass, drawn by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes


def shuffled(rows: Codes, rng: np.random.Generator) -> Codes:
    """The rows in a random order.

    The generator gives one number, from which a compiled shuffle draws the rest: `rng.permutation`
    would take a good part of the time of a pass over short rows.

    >>> shuffled(np.arange(5), np.random.default_rng(0)).tolist()
    [4, 0, 3, 2, 1]
    """
    order = rows.copy()
    _shuffle(order, rng.integers(1, 2**64, dtype=np.uint64))
    return order


def some_of_all(numbers: Codes, n: int, rng: np.random.Generator | None) -> tuple[Codes, Codes]:
    """The order of some of n examples when all are met, and the positions at which they are.

    rng: draws the order of all; None: they are met as they are.

    >>> [part.tolist() for part in some_of_all(np.array([1, 3, 4]), 5, np.random.default_rng(0))]
    [[2, 1, 0], [0, 2, 4]]
    """
    slot = np.full(n, -1)
    slot[numbers] = np.arange(len(numbers))
    everyone = np.arange(n)
    met = slot[everyone if rng is None else shuffled(everyone, rng)]
    positions = np.flatnonzero(met >= 0)
    return met[positions], positions


@njit(cache=True, nogil=True)
def _shuffle(order: Codes, state: Any) -> None:
    """Fisher and Yates's shuffle with Vigna's xorshift64* (ACM TOMS 42, 2016)."""
    for last in range(len(order) - 1, 0, -1):
        state ^= state >> np.uint64(12)
        state ^= state << np.uint64(25)
        state ^= state >> np.uint64(27)
        draw = (state * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)
        chosen = np.int64((draw * np.uint64(last + 1)) >> np.uint64(32))
        order[last], order[chosen] = order[chosen], order[last]
