"""Work that is repeated on the same memory of a GPU, recorded as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from separatrix.runtime.uninterrupted import uninterrupted

EAGER_CALLS = 2  # before work is recorded: repeated less often, it is not worth the recording


class RepeatedWork:
    """A function whose tensors keep their memory from call to call.

    On a GPU it is recorded, and the record is launched instead: the function must not depend on values
    that Python reads. Elsewhere it is called every time.
    """

    def __init__(self, device: Any) -> None:
        self._device, self._calls, self._graph = device, 0, None
        self._recordable = device.type == "cuda"

    def run(self, work: Callable[[], None], *, record: bool) -> None:
        """Do the work: the same function each time."""
        if self._recordable and record and self._calls >= EAGER_CALLS:
            self._graph, self._recordable = _record(work, self._device), False
        self._calls += 1
        if self._graph is None:
            work()
        else:
            self._graph.replay()


def _record(work: Callable[[], None], device: Any) -> Any:
    """The CUDA graph of some work, which is not done; None if there is no memory for one.

    A recording that is not ended would leave the GPU unusable; it takes milliseconds, and Ctrl-C waits.
    """
    graph, stream, enough = torch.cuda.CUDAGraph(), torch.cuda.Stream(device), True
    stream.wait_stream(torch.cuda.current_stream(device))
    with uninterrupted(), torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        except torch.OutOfMemoryError:
            enough = False
        finally:
            graph.capture_end()
    torch.cuda.current_stream(device).wait_stream(stream)
    return graph if enough else None
