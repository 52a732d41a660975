"""Losses and residuals of scores, compiled: one function for two classes, one for several.

Scores are class by class, (p, n), so that every loop runs over neighbouring samples and becomes vector
code. The exponential is a polynomial without branches for the same reason; logarithms are NumPy's.
"""

from __future__ import annotations

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.exponential import exp_below_0
from separatrix.types import Codes, Matrix, Vector


# No sum runs over samples, and each loop over few arrays: so compilers can prove that vector code is right
@njit(cache=True, nogil=True, fastmath={"contract"})
def softmax_residuals(
    F: Matrix, bias: Vector, y: Codes, weights: Vector, behind: Vector, totals: Vector
) -> None:
    """Scores F + bias, (k, n), become w (softmax(f) - 1 at the class), the residuals.

    `behind` becomes largest f - f of the class, `totals` the sum of exp(f - largest f).
    """
    k, n = F.shape
    largest = np.empty(n)
    b = bias[0]
    for i in range(n):
        largest[i] = F[0, i] + b
    for c in range(1, k):
        b = bias[c]
        for i in range(n):
            f = F[c, i] + b
            largest[i] = largest[i] if largest[i] > f else f
    for i in range(n):
        behind[i] = largest[i] - (F[y[i], i] + bias[y[i]])
    totals[:] = 0.0
    for c in range(k):
        b = bias[c]
        for i in range(n):
            e = exp_below_0(F[c, i] + b - largest[i])
            F[c, i] = e
            totals[i] += e
    for i in range(n):
        largest[i] = weights[i] / totals[i]
    for c in range(k):
        for i in range(n):
            F[c, i] *= largest[i]
    for i in range(n):
        F[y[i], i] -= weights[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def sigmoid_residuals(
    f: Vector, bias: float, y: Codes, weights: Vector, behind: Vector, totals: Vector
) -> None:
    """Scores f + bias, (n,), of the second of two classes become w (p - y), the residuals.

    `behind` and `totals` as in `softmax_residuals`, with scores of 0 of the first class.
    """
    n = len(f)
    for i in range(n):
        side = 2.0 * y[i] - 1.0
        f[i] = side * (f[i] + bias)
    for i in range(n):
        totals[i] = exp_below_0(-abs(f[i]))
    for i in range(n):
        behind[i] = 0.0 if f[i] > 0.0 else -f[i]
    for i in range(n):
        share = totals[i] if f[i] > 0.0 else 1.0
        totals[i] += 1.0
        f[i] = share / totals[i]  # probability of the other class
    for i in range(n):
        side = 2.0 * y[i] - 1.0
        f[i] *= -side * weights[i]


def replace_scores(F: Matrix, bias: Vector, y: Codes, weights: Vector) -> float:
    """The sum of w (-log p of the class) over the samples; scores F, (p, n), become residuals."""
    behind, totals = np.empty((2, F.shape[1]))
    if len(F) == 1:
        sigmoid_residuals(F[0], bias[0], y, weights, behind, totals)
    else:
        softmax_residuals(F, bias, y, weights, behind, totals)
    behind += np.log(totals, out=totals)
    return float(weights @ behind)
