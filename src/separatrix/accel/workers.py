"""joblib: batches that patch the process they are sent to, and searches that are served together."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any

from separatrix.accel.switch_state import SETTINGS

STARTING = 1.0  # seconds


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


def parallel(original: type) -> type:
    """scikit-learn's `Parallel`, which serves the calls of a cross-validation together if it can."""

    class Parallel(original):
        def __call__(self, iterable: Iterable[Any]) -> Any:
            calls = iter(iterable)
            first = next(calls, None)
            if first is None or not _fits_and_scores(first):
                return super().__call__(calls if first is None else chain([first], calls))
            from separatrix.accel.searches import (
                find_candidates,
                may_be_served,
                serve,
            )  # once needed

            if not may_be_served(first):
                return super().__call__(chain([first], calls))
            gathered = [first, *calls]
            candidates = find_candidates(gathered)
            answers = serve(gathered, candidates, _starting(self))
            if self._effective_n_jobs() == 1 and None in answers:
                from separatrix.accel.shared_steps import share_steps

                answers = share_steps(gathered, candidates, answers)
            left = [call for call, own in zip(gathered, answers, strict=True) if own is None]
            theirs = iter(super().__call__(left) if left else ())
            return [next(theirs) if own is None else own for own in answers]

    Parallel.__qualname__, Parallel.__module__ = original.__qualname__, original.__module__
    return Parallel


def _starting(parallel: Any) -> float:
    """Seconds that worker processes will take to start and to import scikit-learn."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    started = getattr(getattr(loky, "_executor", None), "_processes", None)
    processes = parallel._effective_n_jobs() > 1 and "Loky" in type(parallel._backend).__name__
    return STARTING if processes and not started else 0.0


def _fits_and_scores(call: Any) -> bool:
    function = getattr(call[0], "function", None)
    return SETTINGS.active and getattr(function, "__name__", "") == "_fit_and_score"
