"""What tests of the switch share."""

import pytest

from separatrix import accel
from separatrix.accel import counters


@pytest.fixture(autouse=True)
def _off_again():
    counters.reset()
    yield
    accel.unpatch()
    counters.reset()
