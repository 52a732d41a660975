"""From inner products to kernel values, in place: one compiled pass over cached strips of a row.

The exponential is a polynomial without branches, which compilers vectorize. `kernel_block` computes
products and values of a block in one compiled call, which does not hold the interpreter lock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from separatrix.jit import njit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.device import is_tensor
from separatrix.runtime.exponential import LEAST, exp_below_0
from separatrix.types import Matrix, Vector

STRIP = 1024  # values that stay in the first-level cache between steps
PRODUCTS, POWERS, EXPONENTIALS = range(3)  # codes of an epilogue


class Epilogue(NamedTuple):
    """What compiled loops do to inner products: nothing, powers, or exponentials of distances."""

    code: int = PRODUCTS
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1


def power(P: Matrix, gamma: float, coef0: float, degree: int) -> None:
    """P becomes (gamma P + coef0)^degree."""
    if is_tensor(P):
        from separatrix.kernels.gram import device_epilogues

        return device_epilogues.power(P, gamma, coef0, degree)
    _power(P, float(gamma), float(coef0), degree)
    return None


def exp_of_distances(P: Matrix, sx: Vector, sz: Vector, gamma: float) -> None:
    """P becomes exp(-gamma (sx + sz - 2P)), distances below 0 taken as 0."""
    if is_tensor(P):
        from separatrix.kernels.gram import device_epilogues

        return device_epilogues.exp_of_distances(P, sx, sz, gamma)
    _exponentials(P, sx.astype(P.dtype), sz.astype(P.dtype), float(gamma))
    return None


def tanh(P: Matrix, gamma: float, coef0: float) -> None:
    """P becomes tanh(gamma P + coef0)."""
    P *= gamma
    P += coef0
    if is_tensor(P):
        P.tanh_()  # type: ignore[attr-defined]
    else:
        np.tanh(P, out=P)


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _power(P: Matrix, gamma: float, coef0: float, degree: int) -> None:
    n, m = P.shape
    base = np.empty(STRIP, P.dtype)
    factor, constant = P.dtype.type(gamma), P.dtype.type(coef0)
    for i in range(n):
        for start in range(0, m, STRIP):
            stop = min(start + STRIP, m)
            row = P[i, start:stop]
            for j in range(len(row)):
                row[j] = factor * row[j] + constant
                base[j] = row[j]
            # left-to-right binary powers: row holds base^(leading bits of degree)
            bit = 1
            while bit * 2 <= degree:
                bit *= 2
            bit //= 2
            while bit > 0:
                if degree & bit:
                    for j in range(len(row)):
                        row[j] = row[j] * row[j] * base[j]
                else:
                    for j in range(len(row)):
                        row[j] = row[j] * row[j]
                bit //= 2


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _exponentials_single(P: Matrix, sx: Vector, sz: Vector, gamma: float) -> None:
    """exp(x) = 2^whole * 2^part: the whole through the exponent bits, the part by a polynomial."""
    n, m = P.shape
    bits = np.empty(STRIP, np.int32)
    whole_power = bits.view(np.float32)
    zero, half, floor = np.float32(0.0), np.float32(0.5), np.float32(-126.0)
    scale = np.float32(-np.float32(gamma) * np.float32(1.4426950408889634))
    two = np.float32(2.0)
    c1 = np.float32(0.6931471805599453)
    c2 = np.float32(0.2402265069591007)
    c3 = np.float32(0.05550410866482158)
    c4 = np.float32(0.009618129107628477)
    c5 = np.float32(0.0013333558146428443)
    c6 = np.float32(0.00015403530393381608)
    one = np.float32(1.0)
    for i in range(n):
        for start in range(0, m, STRIP):
            stop = min(start + STRIP, m)
            row = P[i, start:stop]
            other = sz[start:stop]
            for j in range(len(row)):
                distance = max(sx[i] + other[j] - two * row[j], zero)
                t = max(scale * distance, floor)
                whole = np.floor(t + half)
                part = t - whole
                row[j] = one + part * (
                    c1 + part * (c2 + part * (c3 + part * (c4 + part * (c5 + part * c6))))
                )
                bits[j] = (np.int32(whole) + np.int32(127)) << np.int32(23)
            for j in range(len(row)):
                row[j] *= whole_power[j]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _exponentials_double(P: Matrix, sx: Vector, sz: Vector, gamma: float) -> None:
    """The same in float64, exact to a unit in the last place."""
    n, m = P.shape
    for i in range(n):
        row = P[i]
        for j in range(m):
            x = -gamma * max((sx[i] - 2.0 * row[j]) + sz[j], 0.0)
            value = exp_below_0(x)
            row[j] = value if x > LEAST else 0.0


def _exponentials_of(P: Matrix, sx: Vector, sz: Vector, gamma: float) -> None:
    """`_exponentials_single` or `_exponentials_double` in compiled code; NumPy without the compiler."""
    P[:] = np.exp(-gamma * np.maximum(sx[:, None] - 2.0 * P + sz, 0.0))


@overload(_exponentials_of)
def _choose_precision(P: Any, sx: Any, sz: Any, gamma: Any) -> Any:  # noqa: ARG001
    chosen = _exponentials_single if P.dtype == types.float32 else _exponentials_double

    def compute(P: Any, sx: Any, sz: Any, gamma: Any) -> Any:
        chosen(P, sx, sz, gamma)

    return compute


@njit(cache=True, nogil=True)
def _exponentials(P: Matrix, sx: Vector, sz: Vector, gamma: float) -> None:
    _exponentials_of(P, sx, sz, gamma)


@njit(cache=True, nogil=True)
def kernel_block(
    A: Matrix, sa: Vector, Z: Matrix, sz: Vector, epilogue: Epilogue, K: Matrix
) -> None:
    """Write kernel values of all rows of A with all of Z into K, (n, m); all are contiguous."""
    np.dot(A, Z.T, K)
    code, gamma, coef0, degree = epilogue
    if code == POWERS:
        _power(K, gamma, coef0, degree)
    elif code == EXPONENTIALS:
        _exponentials_of(K, sa, sz, gamma)
