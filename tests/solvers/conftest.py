"""What the tests of solvers share."""

import pytest

from separatrix.runtime.monitor import FitMonitor


@pytest.fixture
def cancelled():
    """A monitor that stops every loop at its first check."""
    monitor = FitMonitor()
    monitor.cancel()
    return monitor
