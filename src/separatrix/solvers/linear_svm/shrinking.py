"""Random order and shrinking of coordinate descent: variables of a pass, drawn one by one.

`active` lists the variables: first those met in this pass, then those still to come, up to `size`; behind
them those that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.monitor import FitMonitor
from separatrix.types import Codes, Vector


class DescentState(NamedTuple):
    """What survives between calls of a compiled descent, which changes it in place."""

    active: Codes  # shape: (variables,)
    progress: Codes  # shape: (3,); met, size, and complete passes
    bounds: Vector  # of the violations of the last pass and of this one
    random: Any  # shape: (1,); uint64

    @classmethod
    def start(cls, active: Codes, bounds: Sequence[float], seed: int) -> DescentState:
        """Before the first pass over the active variables."""
        progress = np.array([0, len(active), 0])
        return cls(active, progress, np.array(bounds), np.array([seed], dtype=np.uint64))

    @property
    def passes(self) -> int:
        """Complete passes so far."""
        return int(self.progress[2])

    def run(self, some_steps: Callable[[], bool], max_iter: int, monitor: FitMonitor) -> str:
        """Call `some_steps` until it reports that a pass met the tolerance; return why it stopped.

        One call works for at most one progress interval; each pass is one step of the monitor.
        """
        while (passes := self.passes) < max_iter:
            if some_steps():
                return "tol"
            if self.passes > passes:
                monitor.step()
            if monitor.should_stop():
                return "stopped"
        return "max_iter"


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
