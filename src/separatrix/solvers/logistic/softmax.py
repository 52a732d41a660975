"""Softmax, its loss and its residuals in one compiled pass over cached strips of the scores.

The exponential is a polynomial without branches, which compilers vectorize.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.runtime.compiled import FAST_SUMS
from separatrix.types import Codes, Matrix, Vector

STRIP = 1024  # values that stay in the first-level cache between steps
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # their sum is ln 2


@njit(cache=True, nogil=True, fastmath={"contract"})
def exp_strip(values: Vector, bits: Codes, powers: Vector) -> None:
    """Replace each value of at most 0 by its exponential; `powers` is a view of `bits` as floats.

    exp(x) = 2^whole exp(part) with |part| <= ln(2) / 2: a Taylor polynomial, and the bits of an exponent.
    """
    for j in range(len(values)):
        x = max(values[j], -708.0)
        whole = np.floor(x * 1.4426950408889634 + 0.5)
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
        values[j] = p * t + 1.0
        bits[j] = (np.int64(np.int32(whole)) + 1023) << 52
    for j in range(len(values)):
        values[j] *= powers[j]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def softmax_residuals(F: Matrix, y: Codes, weights: Vector, margins: Vector) -> float:
    """Scores F, (n, k), become w (softmax(f) - 1 at the class); returns the sum of w (-log p of the class).

    `margins`, unless it is empty, becomes the score of each class less the largest of the others.
    """
    n, k = F.shape
    rows = max(1, STRIP // k)
    bits = np.empty(rows * k, np.int64)
    powers = bits.view(np.float64)
    loss = 0.0
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        part = F[start:stop]
        own = np.empty(stop - start)
        for i in range(stop - start):
            row, label = part[i], y[start + i]
            most, check = row[0], row[0]
            for c in range(1, k):
                most = max(most, row[c])
                check += row[c]
            if not np.isfinite(check):  # comparisons would pass over NaN
                loss = np.nan
            own[i] = row[label] - most
            if len(margins):
                others = -np.inf
                for c in range(k):
                    if c != label:
                        others = max(others, row[c])
                margins[start + i] = row[label] - others
            for c in range(k):
                row[c] -= most
        flat = part.reshape(part.size)
        exp_strip(flat, bits[: len(flat)], powers[: len(flat)])
        for i in range(stop - start):
            row, w = part[i], weights[start + i]
            total = 0.0
            for c in range(k):
                total += row[c]
            loss += w * (np.log(total) - own[i])
            share = w / total
            for c in range(k):
                row[c] *= share
            row[y[start + i]] -= w
    return loss
