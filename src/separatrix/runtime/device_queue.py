"""How far Python runs ahead of a GPU: far enough to keep it busy, and not so far that it cannot be stopped.

Work on a GPU is queued, and Python waits only where it needs a result. Neither Ctrl-C nor a time limit
takes work out of the queue, so that a loop which queues seconds of work could not be stopped.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

AHEAD = 4  # pieces of work that are queued behind the one that runs
LONG = 0.03  # seconds of a piece from which on one is enough


class BoundedQueue:
    """The pieces of work that a loop queues on a device; one of the CPU, or None, is never waited for."""

    def __init__(self, device: Any, *, ahead: int = AHEAD) -> None:
        self._on_gpu = device is not None and device.type == "cuda"
        # one at first: it is not known yet how long a piece takes
        self._most, self._ahead, self._marks = ahead, min(ahead, 1), deque[Any]()

    def wait(self) -> None:
        """Call this behind each piece: wait until few are left. Ctrl-C takes effect here."""
        if not self._on_gpu:
            return
        import torch  # optional

        mark = torch.cuda.Event()
        mark.record()
        self._marks.append(mark)
        while len(self._marks) > self._ahead:
            began = time.monotonic()
            self._marks.popleft().synchronize()
            if time.monotonic() - began > LONG:
                self._most = min(self._most, 1)
            self._ahead = self._most

    def clear(self) -> None:
        """Forget what is queued: the caller has waited for it."""
        self._marks.clear()
