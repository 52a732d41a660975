"""Short work that must not end in its middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGALRM") if hasattr(signal, name))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put Ctrl-C, and the alarm of a time limit, off until the end of the block.

    >>> with uninterrupted():
    ...     print("done")
    done
    """
    if threading.current_thread() is not threading.main_thread():  # only that one is interrupted
        yield
        return
    put_off: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _frame: put_off.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in put_off:
            handler = handlers[number]
            if callable(handler):
                handler(number, None)
