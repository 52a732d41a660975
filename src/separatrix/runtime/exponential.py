"""The exponential as a polynomial without branches, which compilers vectorize."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from separatrix.jit import njit

LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is ln 2
LEAST = -690.0  # whose exponential, times usual weights, is a normal number: others are slow
LAST_BITS = 1.5 * 2.0**52  # a float64 plus this holds its whole part in the last bits


@intrinsic
def power_of_2(typing_context: Any, whole: Any) -> Any:  # noqa: ARG001
    """2^whole of a whole float64 from -1022 to 1023, by its bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        bits, value = ir.IntType(64), ir.DoubleType()
        biased = builder.fadd(args[0], ir.Constant(value, LAST_BITS + 1023.0))
        exponent = builder.shl(builder.bitcast(biased, bits), ir.Constant(bits, 52))
        return builder.bitcast(exponent, value)

    return types.float64(types.float64), generate


@njit(cache=True, nogil=True, inline="always")
def exp_below_0(x: float) -> float:
    """Exponential of a number of at most 0.

    exp(x) = 2^whole exp(part) with |part| <= ln(2) / 2: a Taylor polynomial, and the bits of an exponent.
    """
    x = x if x > LEAST else LEAST
    whole = (x * 1.4426950408889634 + LAST_BITS) - LAST_BITS  # rounded
    t = (x - whole * LN2_HIGH) - whole * LN2_LOW
    p = 1.0 / 479001600.0
    p = p * t + 1.0 / 39916800.0
    p = p * t + 1.0 / 3628800.0
    p = p * t + 1.0 / 362880.0
    p = p * t + 1.0 / 40320.0
    p = p * t + 1.0 / 5040.0
    p = p * t + 1.0 / 720.0
    p = p * t + 1.0 / 120.0
    p = p * t + 1.0 / 24.0
    p = p * t + 1.0 / 6.0
    p = p * t + 0.5
    p = p * t + 1.0
    value: float = (p * t + 1.0) * power_of_2(whole)
    return value
