"""What tests of the switch share."""

import pytest

from separatrix import accel
from separatrix.accel import counters


@pytest.fixture
def all_served(monkeypatch):
    """Calls are served however small they are; counted from 0; the switch is off again afterwards."""
    monkeypatch.setattr("separatrix.accel.dispatch.is_worth_it", lambda seconds, worth: True)
    monkeypatch.setattr("separatrix.accel.dispatch.LOADING", 0.0)
    counters.reset()
    yield
    accel.unpatch()
    counters.reset()
