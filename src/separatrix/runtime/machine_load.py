"""How busy the machine is."""

from __future__ import annotations

import os

MOST_WAITING = 8.0  # times as long at most that work is expected to take on a busy machine


def expected_slowdown() -> float:
    """Times as long as on an idle machine that work on one thread may take, by the load average.

    >>> 1.0 <= expected_slowdown() <= 8.0
    True
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0  # not on Windows
    return min(MOST_WAITING, max(1.0, (1.0 + load / (os.cpu_count() or 1)) / 2))
