"""joblib: batches that patch the process they are sent to, and searches that are served together."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from numbers import Integral
from typing import Any

from separatrix.accel.switch_state import SETTINGS

SEARCH, VALIDATION = "sklearn.model_selection._search", "sklearn.model_selection._validation"
SCORES, PREDICTS = "_fit_and_score", "_fit_and_predict"  # functions of scikit-learn
DRAWN: tuple[type, ...] = type(iter([])), type(iter(()))  # iterators over splits that exist already
SERIAL, THREADS = "SequentialBackend", "ThreadingBackend"


def batched_calls(original: type) -> type:
    """joblib's `BatchedCalls`, whose pickle turns the switch on where it is loaded."""

    class BatchedCalls(original):
        def __reduce__(self) -> Any:
            _, parts = super().__reduce__()
            return restore_calls, (SETTINGS.active, SETTINGS.smallest, *parts)

    BatchedCalls.__qualname__, BatchedCalls.__module__ = original.__qualname__, original.__module__
    return BatchedCalls


def restore_calls(active: bool, smallest: float, *parts: Any) -> Any:
    """A batch of calls in a worker, as patched as the process that sent it."""
    from separatrix.accel.switch import patch, unpatch

    if active:
        patch(smallest=smallest)
    else:
        unpatch()
    from joblib.parallel import BatchedCalls

    return BatchedCalls(*parts)


def parallel(original: type) -> type:
    """scikit-learn's `Parallel`, which serves the calls of a cross-validation together if it can."""

    class Parallel(original):
        def __call__(self, iterable: Iterable[Any]) -> Any:
            if not SETTINGS.active or self.verbose or _draws_lazily(iterable):
                return super().__call__(iterable)
            calls = iter(iterable)
            first = next(calls, None)
            if first is None or not _may_be_served(first):
                return super().__call__(calls if first is None else chain([first], calls))
            gathered = [first, *calls]
            compute = super().__call__

            def workers(numbers: list[int]) -> Any:
                return compute([gathered[number] for number in numbers])

            serial = self._effective_n_jobs() == 1
            answers = _serve(gathered, serial=serial, workers=None if _is_here(self) else workers)
            return compute(gathered) if answers is None else answers

    Parallel.__qualname__, Parallel.__module__ = original.__qualname__, original.__module__
    return Parallel


def _serve(calls: list[Any], *, serial: bool, workers: Any) -> list[Any] | None:
    """The results of all calls, or None if scikit-learn is to compute them."""
    if _function_of(calls[0]) == PREDICTS:
        from separatrix.accel.predictions import serve_predictions

        return serve_predictions(calls, workers=workers)
    from separatrix.accel.searches import serve

    answers = serve(calls, workers=workers)
    if answers is None and serial and hasattr(calls[0][1][0], "steps"):
        from separatrix.accel.shared_steps import share_steps

        answers = share_steps(calls)
    return answers


def _may_be_served(call: Any) -> bool:
    """Whether a call is one of scikit-learn's own of a search over a pipeline or a model that is served."""
    if _function_of(call) == SCORES and len(call[1]) != 3:
        return False
    name = type(call[1][0]).__name__ if _function_of(call) in (SCORES, PREDICTS) else ""
    return name in ("Pipeline", "SVC", "KNeighborsClassifier")


def _function_of(call: Any) -> str:
    """The name of the function that a call is of, if it is scikit-learn's."""
    function = getattr(call[0], "function", None)
    code = getattr(function, "__code__", None)
    is_original = code is not None and code.co_filename == sys.modules[VALIDATION].__file__
    return str(getattr(function, "__name__", "")) if is_original else ""


def _is_here(parallel: Any) -> bool:
    """Whether calls run in this process."""
    name = type(parallel._backend).__name__
    return parallel._effective_n_jobs() == 1 or name in (SERIAL, THREADS)


def _draws_lazily(iterable: Any) -> bool:
    """Whether splits may be drawn from the global generator while the fits draw from it too.

    Then all of them at once would be other splits. The iterable is a generator of scikit-learn's, over
    splits that exist already or over those of a splitter.
    """
    frame = getattr(iterable, "gi_frame", None)
    splits = frame.f_locals.get(".0") if frame is not None else None
    if type(splits) in DRAWN or (type(splits) is zip and _is_search(frame)):
        return False
    inner = getattr(splits, "gi_frame", None)
    if inner is None:
        return True
    splitter = inner.f_locals.get("self")
    if not type(splitter).__module__.startswith("sklearn.model_selection."):
        return True
    draws_first = hasattr(splitter, "shuffle")  # once, before the first fit
    return not draws_first and not isinstance(getattr(splitter, "random_state", 0), Integral)


def _is_search(frame: Any) -> bool:
    """Whether a frame is of scikit-learn's searches, which list all pairs of candidates and splits."""
    return bool(frame.f_code.co_filename == sys.modules[SEARCH].__file__)
