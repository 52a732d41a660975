"""Calls of replaced methods: sizes and parameters say whether separatrix or scikit-learn serves them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from importlib import import_module
from typing import Any

from separatrix.accel import costs
from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.replacements import Target
from separatrix.accel.switch_state import SETTINGS


class NotServed(Exception):
    """Why a call is left to scikit-learn."""


def require_large(seconds: float) -> None:
    """Leave calls to scikit-learn that take it less time than loading compiled code."""
    if seconds < SETTINGS.smallest:
        raise NotServed("too small")


@cache
def load(path: str) -> Callable[..., Any]:
    """A function of this package, by "module:name"."""
    home, function = path.split(":")
    adapter: Callable[..., Any] = getattr(import_module(f"separatrix.accel.{home}"), function)
    return adapter


def replace(original: Callable[..., Any], owner: type, target: Target) -> Callable[..., Any]:
    """What replaces a method of scikit-learn; it has the same signature."""
    inherited = target.name not in vars(owner)
    if original.__code__.co_filename == __file__:  # a program has put it back after `unpatch`
        inherited, original = vars(original)["inherited"], vars(original)["__wrapped__"]

    def ask(model: Any, *given: Any, **more: Any) -> Any:
        """Call scikit-learn's method: that of a base as it is now, which a program may have replaced."""
        method = (
            getattr(super(owner, model), target.name) if inherited else partial(original, model)
        )
        return method(*given, **more)

    @wraps(original)
    def replaced(*args: Any, **more: Any) -> Any:
        if not SETTINGS.active:
            return ask(*args, **more)
        try:
            answer = _serve(original, owner, target, args, more)
        except Exception as error:
            reason = reason_of(error)
        else:
            count_served(target.label)
            return answer
        count_fallback(target.label, reason)
        return ask(*args, **more)

    vars(replaced)["inherited"] = inherited
    return replaced


def _serve(original: Callable[..., Any], owner: type, target: Target, args: Any, more: Any) -> Any:
    """The answer of separatrix."""
    require_large(getattr(costs, target.cost)(*args, **more))
    load("originals:require_original")(args[0], owner)
    SETTINGS.attempts += 1
    return load(target.adapter)(original, *args, **more)


def reason_of(error: Exception) -> str:
    """Why a call was left to scikit-learn, for the report."""
    return str(error) if isinstance(error, NotServed) else type(error).__name__
