"""Time limits, progress and cancellation of a long loop.

A chunk of compiled code takes at most some 0.2 s; between two chunks the loop is in Python, where
Ctrl-C is handled and `FitMonitor.should_stop` is checked.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

CHUNK = 50_000_000  # multiply-adds between two checks of the time limit


class FitMonitor:
    """Keeps a time limit and reports progress; shared by all threads of one fit.

    >>> monitor = FitMonitor(time_limit=None)
    >>> monitor.should_stop()
    False
    """

    def __init__(
        self, time_limit: float | None = None, on_step: Callable[[int], bool] | None = None
    ) -> None:
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._on_step = on_step
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._steps = 0
        self._outer: FitMonitor | None = None

    def should_stop(self) -> bool:
        """Whether the time limit has passed or the fit was cancelled."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._stopped.set()
        return self._stopped.is_set() or (self._outer is not None and self._outer.should_stop())

    def seconds_left(self) -> float:
        """Seconds until the time limit; 0 of a fit that was cancelled, infinite without a limit."""
        left = math.inf if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        if self._stopped.is_set():
            left = 0.0
        return left if self._outer is None else min(left, self._outer.seconds_left())

    def step(self, count: int = 1) -> None:
        """Count steps; `on_step` may cancel by returning True."""
        if self._on_step is None:
            return
        with self._lock:
            for _ in range(count):
                if self._on_step(self._steps):
                    self._stopped.set()
                self._steps += 1

    def cancel(self) -> None:
        """Stop every loop that shares this monitor."""
        self._stopped.set()

    def inner(self, time_limit: float | None = None) -> FitMonitor:
        """A monitor for one of many loops: stops with this one, or at its own time limit."""
        monitor = FitMonitor(time_limit)
        monitor._outer = self
        return monitor
