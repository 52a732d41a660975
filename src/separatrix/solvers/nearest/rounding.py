"""The range of float32: its limits, and scales that bring rows into it."""

from __future__ import annotations

import numpy as np

FAR = 1e15  # scaled lengths whose squares are far below the overflow of float32
NEXT_TO_NOTHING = 1e-17  # scaled lengths near its underflow
MAX_EXPONENT = 500  # of a scale, whose square is a float64


def scale_of(largest: float) -> float:
    """The power of two that brings this to about 1, within limits.

    >>> scale_of(5.0), scale_of(0.0), scale_of(1e-320) == 2.0**500
    (0.125, 1.0, True)
    """
    return float(2.0 ** -int(np.clip(np.frexp(largest)[1], -MAX_EXPONENT, MAX_EXPONENT)))
