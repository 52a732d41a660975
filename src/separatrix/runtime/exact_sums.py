"""Sums and inner products of floats with one rounding, and the size of a rounding."""

from __future__ import annotations

from math import fsum

import numpy as np

from separatrix.types import Matrix, Vector

UNIT = float(np.finfo(np.float64).eps) / 2.0  # largest relative error of one operation
SPLIT = 134217729.0  # 2^27 + 1, which cuts a float into two halves


def exact_product(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """The rounded products and their errors, exactly, without overflow or underflow.

    Reference: Dekker, A Floating-point Technique for Extending the Available Precision, Numerische
    Mathematik 18 (1971).

    >>> exact_product(np.array([1.0 + 2.0**-30]), np.array([1.0 + 2.0**-30]))[1][0] == 2.0**-60
    np.True_
    """
    product = a * b
    a_high, b_high = SPLIT * a, SPLIT * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def exact_dots(W: Matrix, x: Vector, b: Vector) -> Vector:
    """<w, x> + b for each row w, (p,), with one rounding each.

    >>> exact_dots(np.array([[1e16, 1.0]]), np.array([1.0, 0.5]), np.array([-1e16])).tolist()
    [0.5]
    """
    product, error = exact_product(W, x)
    rows = zip(product.tolist(), error.tolist(), np.asarray(b).tolist(), strict=True)
    return np.array([fsum([*high, *low, c]) for high, low, c in rows])
