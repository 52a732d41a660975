"""Calls of replaced methods: served by separatrix if it can and saves time, else by scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from time import perf_counter, thread_time
from typing import Any

from separatrix.accel import costs
from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.replacements import Target, Worth
from separatrix.accel.switch_state import SETTINGS

LOADING = 0.6  # seconds to load the compiled code, once


class NotServed(Exception):
    """Why a call is left to scikit-learn, or refused without the fallback."""


class SklearnPreferred(NotServed):
    """Why a call that could be served is left to scikit-learn: the answer could differ."""


def prefer_sklearn(reason: str) -> None:
    """Leave a call to scikit-learn if the fallback is on: separatrix would give another answer."""
    if SETTINGS.fallback:
        raise SklearnPreferred(reason)


class NotReplaced(NotServed):
    """A call outside of what separatrix replaces, or that scikit-learn rejects with its own message."""


class NotYetLoaded(NotServed):
    """A call that is worth serving once the compiled code is loaded."""


class _Loaded:
    served = False  # whether compiled code has been used in this process
    missed = 0.0  # seconds that calls so far would have saved, had it been loaded


def is_worth_it(seconds: float, worth: Worth) -> bool:
    """Whether compiled code, once loaded, serves a call faster that takes scikit-learn so many seconds."""
    return not SETTINGS.fallback or seconds >= worth.smallest


def require_worth(seconds: float, worth: Worth) -> None:
    """Leave small calls to scikit-learn.

    Compiled code is loaded once the calls so far would have saved the time that this takes.
    """
    if not is_worth_it(seconds, worth):
        raise NotServed("too small")
    loads = not SETTINGS.fallback or _Loaded.missed + worth.saved(seconds) >= LOADING
    if not (_Loaded.served or loads):
        raise NotYetLoaded("too small")
    _Loaded.served = True


def note_missed(reason: Exception, seconds: float, worth: Worth) -> None:
    """Remember what a call would have saved that was not served for the time of loading alone."""
    if isinstance(reason, NotYetLoaded):
        _Loaded.missed += worth.saved(seconds)


@cache
def load(path: str) -> Callable[..., Any]:
    """A function of this package, by "module:name"."""
    home, function = path.split(":")
    adapter: Callable[..., Any] = getattr(import_module(f"separatrix.accel.{home}"), function)
    return adapter


def replace(original: Callable[..., Any], target: Target) -> Callable[..., Any]:
    """What replaces a function of scikit-learn; it has the same signature."""

    @wraps(original)
    def replaced(*args: Any, **more: Any) -> Any:
        if not SETTINGS.active:
            return original(*args, **more)
        expected = _expected_seconds(target, args, more)
        start = perf_counter()
        try:
            answer = _serve(target, expected, args, more)
        except NotReplaced:  # not counted
            return original(*args, **more)
        except Exception as error:
            if not SETTINGS.fallback:
                raise
            reason = error
        else:
            count_served(target.label, perf_counter() - start, expected)
            return answer
        start, used = perf_counter(), thread_time()
        try:
            return original(*args, **more)
        finally:
            count_fallback(target.label, perf_counter() - start, reason_of(reason))
            note_missed(reason, thread_time() - used, target.worth)  # other programs take no part

    return replaced


def reason_of(reason: Exception) -> str:
    """Why a call was left to scikit-learn, for the report."""
    return str(reason) if isinstance(reason, NotServed) else type(reason).__name__


def _serve(target: Target, expected: float, args: Any, more: Any) -> Any:
    """The answer of separatrix."""
    require_worth(expected, target.worth)
    SETTINGS.attempts += 1
    try:
        return load(target.adapter)(*args, **more)
    except NotReplaced:
        SETTINGS.attempts -= 1
        raise


def _expected_seconds(target: Target, args: Any, more: Any) -> float:
    """Estimated seconds of scikit-learn; infinite if the arguments have no sizes."""
    try:
        return float(getattr(costs, target.cost)(*args, **more))
    except (AttributeError, TypeError, IndexError):
        return math.inf
