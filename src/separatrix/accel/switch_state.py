"""State of the switch."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST = 1.0  # estimated seconds of scikit-learn: from here on the first call pays for loading


@dataclass
class SwitchState:
    """State of the switch, of this process."""

    active: bool = False
    smallest: float = SMALLEST
    """Estimated seconds of scikit-learn from which on a call is served."""
    attempts: int = 0
    """Calls that separatrix tried to serve: tests count what they touch."""


SETTINGS = SwitchState()
