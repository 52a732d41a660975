"""State of the switch."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class SwitchState:
    """State of the switch, of this process."""

    active: bool = False
    fallback: bool = True
    """Whether scikit-learn computes what separatrix does not serve."""
    attempts: int = 0
    """Calls that separatrix tried to serve: tests count what they touch."""
    variable_before: str | None = None
    """Of the environment, before the switch was turned on."""


SETTINGS = SwitchState()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector of cycles: imports make none, and it would look through all that they make.

    With it, a sixth of the time that scikit-learn takes to be imported is the collector's.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
