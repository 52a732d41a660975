"""Rosenblatt's perceptron in its primal and dual forms, which make the same mistakes.

Both start from zero, meet rows in order, and treat y f(x) <= 0 as a mistake. The bias moves by R^2.
Predictions use sgn(0) = +1 (see `docs/ties.md` for the conventions of each text).

Symbols: w weights, b bias, eta learning rate, R radius, alpha mistakes on each row, k mistakes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes, Matrix, Signs, Vector


class PrimalFit(NamedTuple):
    """Where the primal form stopped."""

    w: Vector  # shape: (d,)
    b: float
    mistakes: Codes  # shape: (k,); the row of each mistake, in order
    clean: bool  # whether the last pass made none


class DualFit(NamedTuple):
    """Where the dual form stopped."""

    alpha: Vector  # shape: (n,); mistakes on each row
    b: float
    mistakes: Codes  # shape: (k,)
    clean: bool


def solve_primal(X: Matrix, y: Signs, *, eta: float = 1.0, max_iter: int = 1000) -> PrimalFit:
    """Rosenblatt's algorithm.

    Problem
        find w, b with  y_i (<w, x_i> + b) > 0  for all i

    Given
        X          samples, (n, d)
        y          +1 or -1, (n,)
        eta        learning rate: w += eta y x, b += eta y R^2, with R = max |x_i|
        max_iter   passes at most

    Returns w, b and every mistake in order; at most (2R / margin)^2 of them on separable data.

    Reference: Novikoff, On Convergence Proofs on Perceptrons, Symposium on the Mathematical Theory
    of Automata 12 (1962).

    >>> solve_primal(np.array([[1.0], [2.0]]), np.array([-1, 1], dtype=np.int8)).mistakes.tolist()
    [0, 1, 0, 1, 0, 1, 0, 1, 0]
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    R2 = float(np.einsum("ij,ij->i", X, X).max(initial=0.0))
    return PrimalFit(*_learn(X, y, np.zeros(X.shape[1]), R2, eta, False, max_iter))


def solve_dual(K: Matrix, y: Signs, *, max_iter: int = 1000) -> DualFit:
    """The same algorithm from inner products alone; K may be any kernel matrix, (n, n).

    Problem
        find alpha, b with  y_i (sum_j alpha_j y_j K_ij + b) > 0  for all i

    Given
        K          kernel matrix, (n, n); R^2 = max K_ii
        y          +1 or -1, (n,)
        max_iter   passes at most

    Returns alpha, b and every mistake in order. With the linear kernel they are the primal's with
    eta = 1, and w = sum_j alpha_j y_j x_j.
    """
    K = np.ascontiguousarray(K, dtype=np.float64)
    R2 = float(np.diagonal(K).max(initial=0.0))
    w, b, mistakes, clean = _learn(K, y, np.zeros(len(y)), R2, 1.0, True, max_iter)
    return DualFit(w * y, b, mistakes, clean)


def _learn(
    F: Matrix, y: Signs, w: Vector, R2: float, eta: float, dual: bool, max_iter: int
) -> tuple[Vector, float, Codes, bool]:
    """Pass over the rows of F until one pass makes no mistake: w, b, the mistakes, and whether it did."""
    b, mistakes, wrong = 0.0, [], 1
    for _ in range(max_iter):
        found = np.empty(len(y), dtype=np.intp)
        b, wrong = _pass(F, y, w, b, eta, R2, dual, found)
        mistakes.append(found[:wrong])
        if not wrong:
            break
    return w, b, np.concatenate(mistakes), wrong == 0


def sgn(scores: Vector) -> Signs:
    """+1 where the score is at least 0, else -1.

    >>> sgn(np.array([-0.5, 0.0, 2.0])).tolist()
    [-1, 1, 1]
    """
    return np.where(np.asarray(scores) >= 0, 1, -1).astype(np.int8)


def mistake_bound(X: Matrix, y: Signs, w: Vector, b: float) -> float:
    """(2R / margin)^2 with the margin that (w, b) has on the data; infinite if it does not separate."""
    norm = float(np.linalg.norm(w))
    margin = float((y * (X @ w + b)).min()) / norm if norm > 0 else 0.0
    if margin <= 0:
        return float("inf")
    radius = float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))
    return (2.0 * radius / margin) ** 2


@njit(cache=True, nogil=True)
def _pass(
    F: Matrix, y: Signs, w: Vector, b: float, eta: float, R2: float, dual: bool, found: Codes
) -> tuple[float, int]:
    """One pass. Primal: F = X. Dual: F = K, w = alpha y, and a mistake on i changes only w_i."""
    wrong = 0
    for i in range(len(y)):
        score = b
        for j in range(len(w)):
            score += w[j] * F[i, j]
        if y[i] * score <= 0:
            if dual:
                w[i] += y[i]
            else:
                w += eta * y[i] * F[i]
            b += eta * y[i] * R2
            found[wrong] = i
            wrong += 1
    return b, wrong
