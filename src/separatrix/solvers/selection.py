"""Hoare's selection: the row of a given rank without sorting."""

from __future__ import annotations

from numba import njit

from separatrix.types import Codes, Vector


@njit(cache=True, nogil=True)
def select(keys: Vector, order: Codes, low: int, high: int, rank: int) -> None:
    """Reorder `order[low:high + 1]`: keys before position `rank` are no larger, after it no smaller."""
    while low < high:
        a, b, c = keys[order[low]], keys[order[(low + high) // 2]], keys[order[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[order[i]] < pivot:
                i += 1
            while keys[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return
