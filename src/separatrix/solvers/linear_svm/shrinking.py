"""Random order and shrinking of coordinate descent: variables of a pass, drawn one by one.

`active` lists the variables: first those met in this pass, then those still to come, up to `size`; behind
them those that were left out. A state of three numbers, (met, size, passes), survives between calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from separatrix.types import Codes


@njit(cache=True, nogil=True)
def draw_next(active: Codes, met: int, size: int, random: Any) -> tuple[Any, int]:
    """Draw one of active[met:size] and move it to active[met]; returns the random state and its number.

    Numbers come from Vigna's xorshift64* (ACM TOMS 42, 2016).
    """
    random ^= random >> np.uint64(12)
    random ^= random << np.uint64(25)
    random ^= random >> np.uint64(27)
    high = (random * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)
    chosen = met + np.int64((high * np.uint64(size - met)) >> np.uint64(32))
    drawn = active[chosen]
    active[chosen], active[met] = active[met], drawn
    return random, drawn


@njit(cache=True, nogil=True)
def leave_out(active: Codes, met: int, size: int) -> int:
    """Move active[met] behind the active variables; returns their new number."""
    active[met], active[size - 1] = active[size - 1], active[met]
    return size - 1
