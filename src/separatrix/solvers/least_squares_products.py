"""Least squares for wide sparse samples: conjugate gradients, whose only cost is products with them.

No matrix of the samples' or the features' inner products is made. The number of iterations grows with
the square root of the condition, so a ridge decides whether this is cheaper than a factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.types import Matrix, Vector

TOLERANCE = 1e-10  # norm of the gradient of each target, over that at 0
MOST_ITERATIONS = 2000
SLOWER = 30  # time of an operation on sparse values, over that in a product of matrices
PRODUCTS = 30  # that estimate the largest eigenvalue


class ProductsFit(NamedTuple):
    """Weights of samples about their mean."""

    W: Matrix  # shape: (d, p)
    n_iter: int
    gradient: float  # Frobenius norm of A'(T - AW) - ridge W, over that at W = 0


def solve_products(
    T: Matrix,  # shape: (n, p)
    *,
    ridge: float,
    multiply: Callable[[Matrix], Matrix],
    combine: Callable[[Matrix], Matrix],
    max_iter: int,
    monitor: FitMonitor,
    tol: float = TOLERANCE,
) -> ProductsFit:
    """Least squares by conjugate gradients, for all targets together.

    Problem
        min over W of  |T - AW|^2 + ridge |W|^2;  of several the one with the least |W|

    Given
        T          targets about their mean, times the root of each weight
        multiply   AW for W, (d, p) -> (n, p)
        combine    A'V for V, (n, p) -> (d, p)
        max_iter   iterations at most
        tol        norm of a target's gradient, over that at 0, at which it is solved

    Returns the last W. It starts at 0 and moves along rows of A only, so without a ridge it tends to the
    shortest solution. Each target has its own steps; they share the passes over the samples. The
    gradient is computed anew from W at the end, not taken from the recurrence.

    Reference: Björck, Numerical Methods for Least Squares Problems (1996), section 7.4 (CGLS).
    """
    rest, S = T.copy(), combine(T)
    W, P = np.zeros_like(S), S.copy()
    squares = np.einsum("ij,ij->j", S, S)
    start = squares
    n_iter = 0
    while n_iter < max_iter and np.any(squares > tol**2 * start) and not monitor.should_stop():
        AP = multiply(P)
        curvature = np.einsum("ij,ij->j", AP, AP) + ridge * np.einsum("ij,ij->j", P, P)
        step = _ratio(squares, curvature)
        W += step * P
        rest -= step * AP
        S = combine(rest) - ridge * W
        before, squares = squares, np.einsum("ij,ij->j", S, S)
        P *= _ratio(squares, before)
        P += S
        n_iter += 1
        monitor.step()
    gradient = np.linalg.norm(combine(T - multiply(W)) - ridge * W)
    return ProductsFit(W, n_iter, float(gradient / (np.sqrt(start.sum()) or 1.0)))


def _ratio(a: Vector, b: Vector) -> Vector:
    """a / b, and 0 where b is 0: that target is solved."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def largest_eigenvalue(
    n: int, multiply: Callable[[Matrix], Matrix], combine: Callable[[Matrix], Matrix]
) -> float:
    """About the largest eigenvalue of AA', (n, n), from below, by some products.

    >>> A = np.diag([3.0, 1.0, 1.0])
    >>> round(largest_eigenvalue(3, lambda W: A @ W, lambda V: A.T @ V), 3)
    9.0
    """
    V: Matrix = np.random.default_rng(0).normal(size=(n, 1))
    value = 0.0
    for _ in range(PRODUCTS):
        V = multiply(combine(V / (np.linalg.norm(V) or 1.0)))
        value = float(np.linalg.norm(V))
    return value


def iterations_needed(ridge: float, largest: float) -> int:
    """Iterations that give conjugate gradients the tolerance, by the theorem; at most MOST_ITERATIONS.

    >>> iterations_needed(1.0, 400.0), iterations_needed(0.0, 1.0)
    (238, 2000)
    """
    if ridge <= largest / MOST_ITERATIONS**2:
        return MOST_ITERATIONS
    bound = 0.5 * np.sqrt(1.0 + largest / ridge) * np.log(2.0 / TOLERANCE)
    return min(int(np.ceil(bound)), MOST_ITERATIONS)


def products_are_cheaper(n: int, d: int, p: int, stored: int, n_iter: int) -> bool:
    """Whether that many iterations take fewer operations than a factorisation of the (n, n) products.

    >>> products_are_cheaper(5485, 19956, 8, 320_397, 238)
    True
    >>> products_are_cheaper(40, 100, 1, 4000, 100)
    False
    """
    return SLOWER * n_iter * p * (4 * stored + 10 * (n + d)) < 2 * n**3
