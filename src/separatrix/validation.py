"""Checks of parameters, run once where a value enters the library."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real

import numpy as np

from separatrix.errors import ParameterError


def require_real(
    owner: str,
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> None:
    """Refuse anything but a finite real number in range."""
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("above", above),
            ("at least", least),
            ("at most", most),
            ("below", below),
        )
        if bound is not None
    ]
    must_be = " and ".join(bounds) or "a finite number"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ParameterError(owner, name, must_be, value)
    number = float(value)
    if (
        not math.isfinite(number)
        or (above is not None and number <= above)
        or (least is not None and number < least)
        or (most is not None and number > most)
        or (below is not None and number >= below)
    ):
        raise ParameterError(owner, name, must_be, value)


def require_integer(owner: str, name: str, value: object, *, least: int) -> None:
    """Refuse anything but an integer of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or int(value) < least:
        raise ParameterError(owner, name, f"an integer of at least {least}", value)


def require_choice(owner: str, name: str, value: object, choices: Collection[object]) -> None:
    """Refuse anything but one of the choices."""
    if not any(
        value is choice or (type(value) is type(choice) and value == choice) for choice in choices
    ):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(owner, name, f"one of {listed}", value)


def require_flag(owner: str, name: str, value: object) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(owner, name, "True or False", value)


def require_threads(owner: str, n_jobs: object) -> None:
    """Refuse anything but a number of threads in scikit-learn's meaning."""
    if n_jobs is None:
        return
    if n_jobs == 0 or isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise ParameterError(owner, "n_jobs", "an integer other than 0, or None", n_jobs)
