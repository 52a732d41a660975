"""Wall time and memory growth of a block of code."""

from __future__ import annotations

import os
import threading
import time
from typing import Self

from separatrix.runtime.blocks import MEBIBYTE

INTERVAL = 0.02  # seconds between two samples


class ResourceUsage:
    """Seconds, and growth of the resident memory of this process in MiB, while the block runs.

    Memory is sampled fifty times a second; NaN if the system does not report it.

    >>> with ResourceUsage() as meter:
    ...     pass
    >>> meter.seconds < 1
    True
    """

    seconds: float = float("nan")
    mebibytes: float = float("nan")

    def __enter__(self) -> Self:
        self._before = self._peak = _resident()
        self._finished = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self._finished.set()
        self._sampler.join()
        self.mebibytes = (max(self._peak, _resident()) - self._before) / MEBIBYTE

    def _sample(self) -> None:
        while not self._finished.wait(INTERVAL):
            self._peak = max(self._peak, _resident())


def _resident() -> float:
    """Resident bytes of this process."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return float("nan")
