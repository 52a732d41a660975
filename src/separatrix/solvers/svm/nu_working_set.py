"""Compiled steps of problems whose coefficients have a given sum on each side (`nu.py`).

Both rows of a step have the same side y, so that neither sum changes. The errors of a side may be shifted
by any constant: only differences within a side count.
"""

from __future__ import annotations

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.simd import bits_of, float_of
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BARRED,
    BOX,
    DIAGONAL,
    DOWN,
    ERRORS,
    INDEX_BITS,
    SMALLEST_CURVATURE,
    UP,
    Y,
    bar_directions,
    move_pair,
)
from separatrix.types import Matrix


@njit(cache=True, nogil=True)
def align_sides(state: Matrix, first: int, n: int) -> float:
    """Shift the errors of side -1 so that both sides have their optimum at the same error.

    Then the worst violators of both sides can be chosen together (`choose_rows`), and the violation of
    the two is that of the worse side. Returns the shift.
    """
    middle = np.zeros(2)
    for side in range(2):
        top, bottom = -np.inf, np.inf
        for i in range(first, first + n):
            if state[BOX, i] > 0.0 and (state[Y, i] > 0.0) == (side == 0):
                F = state[ERRORS, i]
                may_grow, may_shrink = state[ALPHA, i] < state[BOX, i], state[ALPHA, i] > 0.0
                if side == 1:
                    may_grow, may_shrink = may_shrink, may_grow
                if may_grow and top < -F:
                    top = -F
                if may_shrink and bottom > -F:
                    bottom = -F
        if top == -np.inf and bottom == np.inf:  # no rows
            return 0.0
        if top == -np.inf:
            top = bottom
        if bottom == np.inf:
            bottom = top
        middle[side] = 0.5 * (top + bottom)
    shift = middle[1] - middle[0]
    for i in range(first, first + n):
        if state[Y, i] < 0.0:
            state[ERRORS, i] += shift
    return float(shift)


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def solve_nu_tile(K: Matrix, sets: Matrix, q: int, tol: float, max_steps: int) -> int:
    """Make second-order steps on two of q rows of one side until the violation is at most tol.

    As `solve_tile`, but each side has its own worst violator in I_up; the second row, of either side, is
    the one with which the objective falls most (Chang and Lin 2001; LIBSVM's `Solver_NU`). Returns the
    number of steps.
    """
    last, index = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(INDEX_BITS)
    for k in range(q):
        bar_directions(sets, k)
    i, j, t = np.int64(0), np.int64(0), 0.0
    for step in range(max_steps):
        best, best_minus = -last, -last
        K_i, K_j = K[i], K[j]
        for k in range(q):
            F = sets[ERRORS, k] + t * (K_i[k] - K_j[k])
            sets[ERRORS, k] = F
            bits = bits_of(sets[UP, k] - F)
            bits ^= (bits >> 63) & last  # orders negative floats too
            bits = (bits & ~index) | k
            positive = sets[Y, k] > 0.0
            best = max(best, bits if positive else -last)
            best_minus = max(best_minus, -last if positive else bits)
        i, i_minus = best & index, best_minus & index
        top = sets[UP, i] - sets[ERRORS, i] if best > -last else -BARRED
        top_minus = sets[UP, i_minus] - sets[ERRORS, i_minus] if best_minus > -last else -BARRED
        K_i, K_minus = K[i], K[i_minus]
        own, own_minus = sets[DIAGONAL, i], sets[DIAGONAL, i_minus]
        steepest, worst = np.int64(0), np.int64(0)
        for k in range(q):
            positive = sets[Y, k] > 0.0
            value = K_i[k] if positive else K_minus[k]
            gain = (top if positive else top_minus) + sets[ERRORS, k] + sets[DOWN, k]
            gain = max(gain, 0.0)
            curvature = (own if positive else own_minus) + sets[DIAGONAL, k] - 2.0 * value
            curvature = max(curvature, SMALLEST_CURVATURE)
            steepest = max(steepest, (bits_of(gain * gain / curvature) & ~index) | k)
            worst = max(worst, bits_of(gain))
        j = steepest & index
        if sets[Y, j] < 0.0:
            i, top, own = i_minus, top_minus, own_minus
        gain = top + sets[ERRORS, j] + sets[DOWN, j]
        if float_of(worst) <= tol or gain <= 0.0:
            return step
        t = gain / max(own + sets[DIAGONAL, j] - 2.0 * K[i, j], SMALLEST_CURVATURE)
        t = move_pair(sets, i, j, t)
    return max_steps
