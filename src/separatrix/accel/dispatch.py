"""A call of a replaced method: by separatrix where it serves it and saves time, else by scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from time import perf_counter
from typing import Any

from separatrix.accel import costs
from separatrix.accel.counters import count_ours, count_theirs, seconds_of_theirs
from separatrix.accel.replacements import Target
from separatrix.accel.switch_state import SETTINGS

LOADING = 0.6  # seconds to load the compiled code, once
FIRST_LOAD = 0.5  # seconds of scikit-learn in one call, or in all so far, that are worth loading it
SMALLEST = 0.02  # seconds of a call that is worth the way through separatrix, once it is loaded


class NotServed(Exception):
    """Why a call is left to scikit-learn, or refused without the fallback."""


class TheirsPreferred(NotServed):
    """Why a call that could be served is left to scikit-learn: the answer could differ."""


def prefer_theirs(reason: str) -> None:
    """Leave a call to scikit-learn if the fallback is on: separatrix would give another answer."""
    if SETTINGS.fallback:
        raise TheirsPreferred(reason)


class LeftToThem(NotServed):
    """A call that is none of separatrix's business, or that scikit-learn refuses in its own words."""


class _Loaded:
    ours = False  # whether compiled code has been used in this process


def is_worth_it(seconds: float) -> bool:
    """Whether a call that scikit-learn serves in so many seconds is worth serving."""
    if not SETTINGS.fallback:
        return True
    if (
        _Loaded.ours or seconds_of_theirs() >= LOADING
    ):  # what such calls took would have paid for it
        return seconds >= SMALLEST
    return seconds >= FIRST_LOAD


def require_worth(seconds: float) -> None:
    """Leave small problems to scikit-learn, before anything is loaded."""
    if not is_worth_it(seconds):
        raise NotServed("too small")
    _Loaded.ours = True


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
        except LeftToThem:  # not counted
            return original(*args, **more)
        except Exception as error:
            if not SETTINGS.fallback:
                raise
            reason = str(error) if isinstance(error, NotServed) else type(error).__name__
        else:
            count_ours(target.label, perf_counter() - start, expected)
            return answer
        start = perf_counter()
        try:
            return original(*args, **more)
        finally:
            count_theirs(target.label, perf_counter() - start, reason)

    return replaced


def _serve(target: Target, expected: float, args: Any, more: Any) -> Any:
    """The answer of separatrix."""
    require_worth(expected)
    SETTINGS.attempts += 1
    try:
        return load(target.adapter)(*args, **more)
    except LeftToThem:
        SETTINGS.attempts -= 1
        raise


def _expected_seconds(target: Target, args: Any, more: Any) -> float:
    """Estimated seconds of scikit-learn; infinite if the arguments have no sizes."""
    try:
        return float(getattr(costs, target.cost)(*args, **more))
    except (AttributeError, TypeError, IndexError):
        return math.inf
