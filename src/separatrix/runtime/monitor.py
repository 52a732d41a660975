"""What happens between the chunks of a long loop: the clock, progress, and being told to stop.

A chunk is at most some 0.2 s of compiled code; between two chunks the loop is in Python, where
Ctrl-C arrives by itself and where a `FitMonitor` is asked whether to go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

CHUNK = 50_000_000  # multiply-adds between two looks at the clock


class FitMonitor:
    """Keeps a time limit and reports progress; shared by all threads of one fit.

    >>> monitor = FitMonitor(time_limit=None)
    >>> monitor.over()
    False
    """

    def __init__(
        self,
        time_limit: float | None = None,
        on_step: Callable[[int], bool] | None = None,
    ) -> None:
        self._deadline = None if time_limit is None else time.monotonic() + time_limit
        self._on_step = on_step
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._steps = 0
        self._outer: FitMonitor | None = None

    def should_stop(self) -> bool:
        """Whether the loop should stop where it is."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._stopped.set()
        return self._stopped.is_set() or (self._outer is not None and self._outer.should_stop())

    def step(self) -> None:
        """Say that one more step is done; whoever listens may ask to stop."""
        with self._lock:
            if self._on_step is not None and self._on_step(self._steps):
                self._stopped.set()
            self._steps += 1

    def cancel(self) -> None:
        """Tell every loop that shares this watch to stop."""
        self._stopped.set()

    def inner(self, time_limit: float | None = None) -> FitMonitor:
        """A watch for one of many loops: stops when this one does, or when its own time is over."""
        monitor = FitMonitor(time_limit)
        monitor._outer = self
        return monitor
