"""joblib's batches of calls, which patch the process that they are sent to."""

from __future__ import annotations

from typing import Any

from separatrix.accel.settings import SETTINGS


def batched_calls(original: type) -> type:
    """joblib's `BatchedCalls`, whose pickle turns the switch on where it is loaded."""

    class BatchedCalls(original):
        def __reduce__(self) -> Any:
            _, parts = super().__reduce__()
            return restore_calls, (SETTINGS.active, SETTINGS.fallback, *parts)

    BatchedCalls.__qualname__, BatchedCalls.__module__ = original.__qualname__, original.__module__
    return BatchedCalls


def restore_calls(active: bool, fallback: bool, *parts: Any) -> Any:
    """A batch of calls in a worker, as patched as the process that sent it."""
    from separatrix.accel.switch import patch, unpatch

    if active:
        patch(fallback=fallback)
    else:
        unpatch()
    from joblib.parallel import BatchedCalls

    return BatchedCalls(*parts)
