"""State of the switch."""

from __future__ import annotations

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
