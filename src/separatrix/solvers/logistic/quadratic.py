"""The quadratic model of a proximal Newton step under an l1 penalty, minimised.

Coordinate descent on the second derivatives finds which weights are zero; where it converges slowly, a
linear system of the others ends it.

Symbols: H second derivatives, (m, m); v the gradient of the smooth part, kept up to date, (m,).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from separatrix.jit import njit
from separatrix.types import Matrix, Vector

EPOCHS = 5  # of coordinate descent between two linear systems, at least
EPOCHS_PER_WEIGHT = 1 / 16  # so that the epochs take about as long as a system
ROUNDS = 40  # of both, at most
SYSTEMS = 10  # in a row, at most
RIDGE = 1e-11  # share of the diagonal of H that is added to it


def violations(w: Matrix, v: Matrix, penalty: Matrix) -> Matrix:
    """Distance of each -v from the subgradients of penalty |w|; 0 at a minimum."""
    at_zero = np.maximum(np.abs(v) - penalty, 0.0)
    return np.asarray(np.where(w == 0.0, at_zero, np.abs(v + penalty * np.sign(w))))


def minimise_quadratic(
    H: Matrix,  # shape: (m, m)
    gradient: Vector,  # shape: (m,)
    w: Vector,  # shape: (m,)
    penalty: Vector,  # shape: (m,)
    *,
    share: float,
) -> Vector:
    """Coordinate descent, with a Cholesky factor of the nonzero weights where it is slow.

    Problem
        min_u  <gradient, u - w> + (u - w)' H (u - w) / 2 + sum_j penalty_j |u_j|

    Given
        share      stop when the largest violation is at most this share of the one at w

    Returns u, (m,).

    Reference: Friedman, Hastie and Tibshirani, Regularization Paths for Generalized Linear Models via
    Coordinate Descent, J. of Statistical Software 33 (2010).
    """
    u, v = w.copy(), gradient.copy()
    wanted = share * float(violations(w, gradient, penalty).max(initial=0.0))
    epochs = max(EPOCHS, int(EPOCHS_PER_WEIGHT * len(w)))
    for _ in range(ROUNDS):
        if descend(H, u, v, penalty, epochs, wanted) <= wanted:
            break
        _solve_support(H, u, v, penalty)
    return u


@njit(cache=True, nogil=True)
def descend(H: Matrix, u: Vector, v: Vector, penalty: Vector, epochs: int, wanted: float) -> float:
    """Coordinate descent until no weight of an epoch is off by more than `wanted`; the last largest one."""
    m = len(u)
    worst = 0.0
    for _ in range(epochs):
        worst = 0.0
        for j in range(m):
            bend, old = H[j, j], u[j]
            if bend > 0.0:
                goal, cut = old - v[j] / bend, penalty[j] / bend
                new = goal - cut if goal > cut else goal + cut if goal < -cut else 0.0
            else:
                new = 0.0  # a feature without values
            step = new - old
            if step != 0.0:
                u[j] = new
                for i in range(m):
                    v[i] += step * H[j, i]
                worst = max(worst, abs(step) * bend)
        if worst <= wanted:
            break
    return worst


def _solve_support(H: Matrix, u: Vector, v: Vector, penalty: Vector) -> None:
    """Move the nonzero weights to their minimum, and make zero those whose sign would change.

    Where H is singular, as of features that sum to another, the ridge makes the step long in the
    directions that only the penalty holds, and the first change of sign ends it.
    """
    for _ in range(SYSTEMS):
        kept = np.flatnonzero((u != 0.0) | (penalty == 0.0))
        if not len(kept):
            return
        own = H[np.ix_(kept, kept)]
        own.flat[:: len(kept) + 1] *= 1.0 + RIDGE
        factor, failed = dpotrf(own.T, lower=0, overwrite_a=1, clean=0)
        if failed:
            return
        slope = v[kept] + penalty[kept] * np.sign(u[kept])
        step = -dpotrs(factor, slope, lower=0)[0]
        crosses = (penalty[kept] > 0.0) & (u[kept] * (u[kept] + step) < 0.0)
        first = -1
        if crosses.any():
            reach = np.where(crosses, -u[kept] / np.where(crosses, step, 1.0), np.inf)
            first = int(np.argmin(reach))
            step *= reach[first]
            step[first] = -u[kept[first]]
        change = step @ H[kept]
        if not slope @ step + 0.5 * (change[kept] @ step) < 0.0:
            return  # rounding
        u[kept] += step
        v += change
        if first < 0:
            return
        u[kept[first]] = 0.0
