"""How long something takes and how much memory it needs, by the clock and by the system's count."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Self

from separatrix.runtime.blocks import MEBIBYTE

EVERY = 0.02  # seconds between two looks


class ResourceUsage:
    """Seconds and the growth of this process's memory, in MiB, while the block runs.

    Memory is that of the whole process, looked at fifty times a second; NaN where the system does not
    tell it.

    >>> with ResourceUsage() as meter:
    ...     pass
    >>> meter.seconds < 1
    True
    """

    seconds: float = float("nan")
    mebibytes: float = float("nan")

    def __enter__(self) -> Self:
        self._before = self._highest = _resident()
        self._over = threading.Event()
        self._looker = threading.Thread(target=self._look, daemon=True)
        self._looker.start()
        self._begun = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._begun
        self._over.set()
        self._looker.join()
        self.mebibytes = (max(self._highest, _resident()) - self._before) / MEBIBYTE

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            self._highest = max(self._highest, _resident())


def _resident() -> float:
    """Bytes of this process that are in memory."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return float("nan")
