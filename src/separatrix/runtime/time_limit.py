"""A time limit on any Python code, by an alarm of the operating system."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.02  # seconds until the alarm rings again
_COMPILERS = ("numba", "llvmlite", "importlib")


class OutOfTime(BaseException):
    """The time is up; like Ctrl-C not an `Exception`, so that no search takes it for a failed fit."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the block after so many seconds; None: never.

    Only the main thread can be interrupted, and not on Windows: elsewhere there is no limit. Imports and
    compilations are finished first: half a compilation leaves numba unable to compile anything else.

    >>> try:
    ...     with time_limit(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("stopped")
    stopped
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    entered = sys._getframe(2)  # of the with statement

    def ring(_number: int, frame: FrameType | None) -> None:
        if _is_compiling(frame, entered):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_compiling(frame: FrameType | None, last: FrameType) -> bool:
    """Whether a frame, or one that called it up to the last, belongs to a compilation or an import."""
    while frame is not None and frame is not last:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _COMPILERS:
            return True
        frame = frame.f_back
    return False
