"""joblib: batches that patch the process they are sent to, and searches that are served together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from separatrix.accel.switch_state import SETTINGS

STARTING = 1.0  # seconds
SCORES, PREDICTS = "_fit_and_score", "_fit_and_predict"  # functions of scikit-learn


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
            if first is None or not _is_served(first):
                return super().__call__(calls if first is None else chain([first], calls))
            if _function_of(first) == PREDICTS:
                from separatrix.accel.predictions import serve_predictions

                gathered = [first, *calls]
                answers = serve_predictions(gathered, _starting(self), not _starts_processes(self))
                return _fill_with_sklearn(gathered, answers, super().__call__)
            from separatrix.accel.searches import find_candidates, may_be_served, serve

            if not may_be_served(first):
                return super().__call__(chain([first], calls))
            gathered = [first, *calls]
            candidates = find_candidates(gathered)
            answers = serve(
                gathered, candidates, _starting(self), in_process=not _starts_processes(self)
            )
            if self._effective_n_jobs() == 1 and None in answers:
                from separatrix.accel.shared_steps import share_steps

                answers = share_steps(gathered, candidates, answers)
            return _fill_with_sklearn(gathered, answers, super().__call__)

    Parallel.__qualname__, Parallel.__module__ = original.__qualname__, original.__module__
    return Parallel


def _starting(parallel: Any) -> float:
    """Seconds that worker processes will take to start and to import scikit-learn."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    started = getattr(getattr(loky, "_executor", None), "_processes", None)
    loky_is_used = "Loky" in type(parallel._backend).__name__
    return STARTING if loky_is_used and _starts_processes(parallel) and not started else 0.0


def _starts_processes(parallel: Any) -> bool:
    """Whether calls run in other processes, or on other machines."""
    here = ("SequentialBackend", "ThreadingBackend")
    return parallel._effective_n_jobs() > 1 and type(parallel._backend).__name__ not in here


def _fill_with_sklearn(
    calls: list[Any], answers: list[Any], run: Callable[[list[Any]], Any]
) -> Any:
    """The answers of all calls, those that are None by scikit-learn."""
    left = [call for call, own in zip(calls, answers, strict=True) if own is None]
    computed = iter(run(left) if left else ())
    return [next(computed) if own is None else own for own in answers]


def _is_served(call: Any) -> bool:
    return SETTINGS.active and _function_of(call) in (SCORES, PREDICTS)


def _function_of(call: Any) -> str:
    """The name of the function of scikit-learn that a call is of."""
    return str(getattr(getattr(call[0], "function", None), "__name__", ""))
