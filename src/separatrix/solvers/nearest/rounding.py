"""What float32 holds: scales that bring rows into its range, and the ends of that range."""

from __future__ import annotations

import numpy as np

FAR = 1e15  # scaled lengths whose squares are still far from the end of float32
NEXT_TO_NOTHING = 1e-17  # scaled lengths at the other end
MOST = 500  # binary digits of a scale, whose square is a float64


def scale_of(largest: float) -> float:
    """The power of two that brings this to about 1, or as near as it may be.

    >>> scale_of(5.0), scale_of(0.0), scale_of(1e-320) == 2.0**500
    (0.125, 1.0, True)
    """
    return float(2.0 ** -int(np.clip(np.frexp(largest)[1], -MOST, MOST)))
