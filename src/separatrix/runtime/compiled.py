"""What compiled functions share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event

FAST_SUMS = {"contract", "reassoc", "nsz", "arcp"}
"""Flags that let sums be reordered into vector code; no nnan, no ninf: NaN and inf stay what they are."""

COMPILES = "numba:compile"  # the event, which loading from a cache does not cause


@contextmanager
def timing_compilation() -> Iterator[list[float]]:
    """Append the seconds that numba compiles in the block; loading from its cache does not count.

    >>> with timing_compilation() as spent:
    ...     pass
    >>> spent
    [0.0]
    """
    seconds: list[float] = []
    timer = event.TimingListener()
    event.register(COMPILES, timer)
    try:
        yield seconds
    finally:
        event.unregister(COMPILES, timer)
        seconds.append(float(timer.duration) if timer.done else 0.0)
