"""Decimal text to float64 in compiled code, to the last bit what `float` gives.

A number is read as digits w and a power of ten q. Up to 19 digits w is exact, and w 10^q is rounded
correctly by one or two products with a 128-bit power of five; longer numbers are left to `float`.

Reference: Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51
(2021); Mushtak and Lemire, Fast Number Parsing Without Fallback, the same 53 (2023).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

READ, WRONG, LONG = 0, 1, 2
"""Outcome of a number: read, not a number, or too many digits for this algorithm."""

_LEAST, _MOST = -342, 308  # powers of ten that matter to a float64
_DIGITS = 19  # any number of so many digits fits 64 bits
_FAR = 100_000  # exponents from here on are not counted

_0, _1, _2, _3 = (np.uint64(value) for value in range(4))
_10, _12, _32, _52, _61, _63 = (np.uint64(value) for value in (10, 12, 32, 52, 61, 63))
_LOW = np.uint64(0xFFFFFFFF)
_CLOSE = np.uint64(0x1FF)  # bits of a product below which its rounding is not settled
_HIDDEN = np.uint64(1 << 52)
_INFINITE = np.uint64(0x7FF << 52)
_PLAIN = 15  # any number of so many digits is exact in float64, and so is 10^15
_TENS = 10.0 ** np.arange(_PLAIN + 1)


def _normalize_power(q: int) -> int:
    """5^q scaled by a power of two to 128 bits; rounded up below q = 0, cut off above."""
    power = 5 ** abs(q)
    if q >= 0:
        return int(power << 128 >> power.bit_length())
    size = (power - 1).bit_length()
    bits: int = 2 ** (size + 127 if q >= -27 else 2 * size + 128) // power + 1
    return bits >> max(bits.bit_length() - 128, 0)


def _powers_of_five() -> npt.NDArray[np.uint64]:
    """The first 128 bits of 5^q, high and low, for every q that matters; (651, 2)."""
    table = [_normalize_power(q) for q in range(_LEAST, _MOST + 1)]
    return np.array([(bits >> 64, bits & (2**64 - 1)) for bits in table], dtype=np.uint64)


_POWERS = _powers_of_five()


@njit(cache=True, nogil=True, forceinline=True)
def read_plain(text: Any, at: int, end: int) -> tuple[int, float]:
    """Where a number of at most 15 digits without an exponent ends, and its value; most are such.

    Where there is none, or it goes on in another way, the place is `at`: then `read_decimal` knows.
    """
    start, w, digits, after, stop = at, np.int64(0), 0, 0, at
    negative = at < end and text[at] == 45
    if negative:
        stop += 1
    while stop < end and 48 <= text[stop] <= 57 and digits <= _PLAIN:
        w = w * 10 + (np.int64(text[stop]) - 48)
        stop += 1
        digits += 1
    if stop < end and text[stop] == 46:
        stop += 1
        while stop < end and 48 <= text[stop] <= 57 and digits <= _PLAIN:
            w = w * 10 + (np.int64(text[stop]) - 48)
            stop += 1
            digits += 1
            after += 1
    if digits == 0 or digits > _PLAIN:
        return start, 0.0
    value = np.float64(w)
    if after:
        value = value / _TENS[after]  # both exact, so the quotient is rounded once
    return stop, -value if negative else value


@njit(cache=True, nogil=True, forceinline=True)
def read_decimal(text: Any, at: int, end: int) -> tuple[int, int, Any]:
    """What became of the number at text[at:end], bytes, where it ends, and its bits.

    What comes after the number is for the caller to look at.
    """
    sign = _0
    if at < end and (text[at] == 43 or text[at] == 45):
        sign = np.uint64(text[at] == 45) << _63
        at += 1
    w, q, exponent, found = _0, 0, 0, at
    while at < end and text[at] == 48:  # leading zeros are no digits that count
        at += 1
    first, point = at, 0
    while at < end and 48 <= text[at] <= 57:
        w = w * _10 + np.uint64(text[at] - 48)
        at += 1
    digits, found = at - first, at - found
    if at < end and text[at] == 46:
        at += 1
        point = at
        while digits == 0 and at < end and text[at] == 48:
            at += 1
        first = at
        while at < end and 48 <= text[at] <= 57:
            w = w * _10 + np.uint64(text[at] - 48)
            at += 1
        q = point - at
        digits += at - first
        found += at - point
    if found == 0:
        return WRONG, at, _0
    if at < end and (text[at] == 101 or text[at] == 69):
        at, exponent = _read_exponent(text, at + 1, end)
        if exponent > _FAR:
            return WRONG, at, _0
        q += exponent
    if digits > _DIGITS or abs(exponent) == _FAR:
        return LONG, at, _0
    return READ, at, sign | round_decimal(w, q)


@njit(cache=True, nogil=True, forceinline=True)
def _read_exponent(text: Any, at: int, end: int) -> tuple[int, int]:
    """Where the exponent ends, and its value; beyond `_FAR` + 1 where there is none."""
    negative = at < end and text[at] == 45
    if at < end and (text[at] == 43 or text[at] == 45):
        at += 1
    if at == end or text[at] < 48 or text[at] > 57:
        return at, _FAR + 1
    value: Any = 0
    while at < end and 48 <= text[at] <= 57:
        value = min(value * 10 + np.int64(text[at]) - 48, _FAR)
        at += 1
    return at, -value if negative else value


@njit(cache=True, nogil=True, forceinline=True)
def round_decimal(w: Any, q: int) -> Any:
    """The bits of the float64 nearest to w 10^q, ties to even."""
    if w == _0 or q < _LEAST:
        return _0
    if q > _MOST:
        return _INFINITE
    zeros = _leading_zeros(w)
    w = w << np.uint64(zeros)
    high, low = _product(w, _POWERS[q - _LEAST, 0])
    if high & _CLOSE == _CLOSE:
        more, _ = _product(w, _POWERS[q - _LEAST, 1])
        low = low + more
        if more > low:
            high = high + _1
    upper = np.int64(high >> _63)
    shift = np.uint64(upper + 9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + upper - zeros + 1023
    if exponent <= 0:
        return _subnormal(mantissa, 1 - exponent)
    halfway = low <= _1 and -4 <= q <= 23 and mantissa & _3 == _1
    if halfway and mantissa << shift == high:
        mantissa = mantissa & ~_1
    mantissa = (mantissa + (mantissa & _1)) >> _1
    if mantissa >= _HIDDEN << _1:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 0x7FF:
        return _INFINITE
    return (np.uint64(exponent) << _52) | (mantissa & ~_HIDDEN)


@njit(cache=True, nogil=True, forceinline=True)
def _subnormal(mantissa: Any, lost: int) -> Any:
    """The bits of a number so small that `lost` bits of its mantissa fall away."""
    if lost >= 64:
        return _0
    mantissa = mantissa >> np.uint64(lost)
    return (mantissa + (mantissa & _1)) >> _1  # the hidden bit, if reached, is the exponent 1


@njit(cache=True, nogil=True, forceinline=True)
def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """The high and the low half of a b, 128 bits."""
    a1, a0, b1, b0 = a >> _32, a & _LOW, b >> _32, b & _LOW
    low, middle = a0 * b0, a1 * b0
    middle = middle + (low >> _32)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _32) + (other >> _32), a * b


@njit(cache=True, nogil=True, forceinline=True)
def _leading_zeros(w: Any) -> int:
    """Of the 64 bits of w, which is not 0, those above its highest."""
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _0:
            w = w << np.uint64(step)
            zeros += step
    return zeros
