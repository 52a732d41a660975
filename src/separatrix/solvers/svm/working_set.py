"""Compiled steps of sequential minimal optimisation on a working set.

A problem is min over a of 1/2 a'Qa - sum a, 0 <= a <= box, y'a = 0, with Q_ij = y_i y_j K_ij. The
errors F_i = sum_j a_j y_j K_ij - y_i are kept up to date. A row is in I_up if a_i y_i can grow and in
I_down if it can shrink; the largest -F over I_up minus the smallest -F over I_down is the violation
of the optimality conditions, LIBSVM's stopping rule. A row with an upper bound of 0 is never trained
on, but its F is kept: so held-out rows are scored at no cost.

Maxima are taken over the bits of a float with the index in the lowest bits: an integer maximum is
vector code, an argmax over floats is not.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.runtime.compiled import FAST_SUMS
from separatrix.solvers.selection import select
from separatrix.solvers.stopping import relative_gap
from separatrix.solvers.svm.problem import ROUNDING
from separatrix.types import Codes, Matrix, Vector

SMALLEST_CURVATURE = 1e-12
INDEX_BITS = 4095  # a tile has at most 4096 rows
BARRED = 1e300
PADDING = 16  # unused columns of a tile: its rows must not all map to the same cache lines
compiled_gap = njit(cache=True, nogil=True)(relative_gap)


@njit(cache=True, nogil=True)
def bounds(F: Vector, y: Vector, alpha: Vector, box: Vector) -> tuple[float, float]:
    """Largest -F over I_up, smallest over I_down."""
    top, bottom = -np.inf, np.inf
    for i in range(len(F)):
        if box[i] > 0.0:
            may_grow, may_shrink = alpha[i] < box[i], alpha[i] > 0.0
            if y[i] < 0.0:
                may_grow, may_shrink = may_shrink, may_grow
            if may_grow and -F[i] > top:
                top = -F[i]
            if may_shrink and -F[i] < bottom:
                bottom = -F[i]
    return top, bottom


@njit(cache=True, nogil=True)
def choose_rows(
    F: Vector, y: Vector, alpha: Vector, box: Vector,
    work: Codes, count: int, size: int, top: float, bottom: float,
) -> int:  # fmt: skip
    """Write the next working set into `work`: the newer half of the last one, then violators.

    Returns its size. Half of the new rows are the worst violators in I_up, half those in I_down.
    """
    n = len(F)
    kept = min(count, size // 2)
    for k in range(kept):
        work[k] = work[count - kept + k]
    taken = np.zeros(n, np.bool_)
    for k in range(kept):
        taken[work[k]] = True
    rows, keys = np.empty(n, np.int64), np.empty(n)
    count = kept
    for side in range(2):
        found = 0
        for i in range(n):
            if box[i] > 0.0 and not taken[i]:
                may_grow, may_shrink = alpha[i] < box[i], alpha[i] > 0.0
                if y[i] < 0.0:
                    may_grow, may_shrink = may_shrink, may_grow
                if side == 0 and may_grow and -F[i] > bottom:
                    rows[found], keys[found] = i, -F[i]
                    found += 1
                elif side == 1 and may_shrink and -F[i] < top:
                    rows[found], keys[found] = i, F[i]
                    found += 1
        wanted = (size - count) // 2 if side == 0 else size - count
        if found > wanted:
            order = np.arange(found)
            select(keys, order, 0, found - 1, found - wanted)
            limit = keys[order[found - wanted]]
            equal = wanted
            for k in range(found):
                if keys[k] > limit:
                    equal -= 1
        else:
            limit, equal = -np.inf, 0
        for k in range(found):
            if keys[k] > limit or (keys[k] == limit and equal > 0):
                if keys[k] == limit:
                    equal -= 1
                work[count] = rows[k]
                taken[rows[k]] = True
                count += 1
    return count


@njit(cache=True, nogil=True)
def gather(
    tile: Matrix, K: Matrix, slots: Codes, work: Codes, count: int, lo: int, hi: int, shift: int
) -> None:
    """Copy kernel values among the working rows, for columns in lo..hi, into the tile.

    Only the lower half is read, and written to both: reading single values out of long rows is slow.
    """
    columns = np.empty(count, np.int64)
    inside = 0
    for v in range(count):
        if lo <= work[v] < hi:
            columns[inside] = v
            inside += 1
    for u in range(count):
        row = K[slots[u]]
        for k in range(inside):
            v = columns[k]
            if v > u:
                break
            tile[u, v] = row[work[v] + shift]
            tile[v, u] = tile[u, v]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def add(
    F: Vector, K: Matrix, slots: Codes, steps: Vector, count: int, lo: int, hi: int, shift: int
) -> None:
    """F[lo:hi] += sum over working rows of step times kernel row, four rows at a time."""
    used, sizes = np.empty(count + 3, np.int64), np.zeros(count + 3)
    n_used = 0
    for u in range(count):
        if steps[u] != 0.0:
            used[n_used], sizes[n_used] = slots[u], steps[u]
            n_used += 1
    if n_used == 0:
        return
    for u in range(n_used, n_used + 3):
        used[u] = used[0]
    for start in range(lo, hi, 1024):
        stop = min(start + 1024, hi)
        out = F[start:stop]
        for u in range(0, n_used, 4):
            k0 = K[used[u]][start + shift : stop + shift]
            k1 = K[used[u + 1]][start + shift : stop + shift]
            k2 = K[used[u + 2]][start + shift : stop + shift]
            k3 = K[used[u + 3]][start + shift : stop + shift]
            s0, s1, s2, s3 = sizes[u], sizes[u + 1], sizes[u + 2], sizes[u + 3]
            for j in range(len(out)):
                out[j] += s0 * k0[j] + s1 * k1[j] + s2 * k2[j] + s3 * k3[j]


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def solve_tile(
    K: Matrix, diagonal: Vector, y: Vector, box: Vector, alpha: Vector, F: Vector,
    tol: float, max_steps: int,
) -> int:  # fmt: skip
    """Make second-order steps on two rows until the violation is at most tol; return their number.

    The first row is the worst violator in I_up, the second the one with which the objective falls
    most (Fan, Chen and Lin 2005).
    """
    q = len(F)
    up, down = np.empty(q), np.empty(q)
    key, score = np.empty(q), np.empty(q)
    key_bits, score_bits = key.view(np.int64), score.view(np.int64)
    last, index = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(INDEX_BITS)
    for k in range(q):
        may_grow, may_shrink = alpha[k] < box[k], alpha[k] > 0.0
        if y[k] < 0.0:
            may_grow, may_shrink = may_shrink, may_grow
        up[k] = 0.0 if may_grow else -BARRED
        down[k] = 0.0 if may_shrink else -BARRED
        key[k] = up[k] - F[k]
    for step in range(max_steps):
        best = -last
        for k in range(q):
            bits = key_bits[k]
            bits ^= (bits >> 63) & last  # orders negative floats too
            best = max(best, (bits & ~index) | k)
        i = best & index
        top = key[i]
        if top < -BARRED / 2:
            return step
        K_i, own = K[i], diagonal[i]
        for k in range(q):
            gain = max(top + F[k] + down[k], 0.0)
            curvature = max(own + diagonal[k] - 2.0 * K_i[k], SMALLEST_CURVATURE)
            key[k] = gain
            score[k] = gain * gain / curvature
        steepest, worst = np.int64(0), np.int64(0)
        for k in range(q):
            steepest = max(steepest, (score_bits[k] & ~index) | k)
            worst = max(worst, key_bits[k])
        j = steepest & index
        key_bits[0] = worst
        if key[0] <= tol or top + F[j] + down[j] <= 0.0:
            return step
        K_j = K[j]
        curvature = max(own + diagonal[j] - 2.0 * K_i[j], SMALLEST_CURVATURE)
        t = (top + F[j]) / curvature
        bound_i = box[i] - alpha[i] if y[i] > 0.0 else alpha[i]
        bound_j = alpha[j] if y[j] > 0.0 else box[j] - alpha[j]
        t = min(t, bound_i, bound_j)
        alpha[i] += y[i] * t
        alpha[j] -= y[j] * t
        if t == bound_i:
            alpha[i] = box[i] if y[i] > 0.0 else 0.0
        if t == bound_j:
            alpha[j] = 0.0 if y[j] > 0.0 else box[j]
        for moved in (i, j):
            may_grow, may_shrink = alpha[moved] < box[moved], alpha[moved] > 0.0
            if y[moved] < 0.0:
                may_grow, may_shrink = may_shrink, may_grow
            up[moved] = 0.0 if may_grow else -BARRED
            down[moved] = 0.0 if may_shrink else -BARRED
        for k in range(q):
            F[k] += t * (K_i[k] - K_j[k])
            key[k] = up[k] - F[k]
    return max_steps


@njit(cache=True, nogil=True)
def intercept(F: Vector, y: Vector, alpha: Vector, box: Vector) -> float:
    """The intercept: the mean of -F over free support vectors, or the middle of its feasible range.

    A coefficient within rounding of a bound counts as being at it.
    """
    total, free = 0.0, 0
    for i in range(len(F)):
        off = ROUNDING * box[i] if box[i] < np.inf else 0.0
        if off < alpha[i] < box[i] - off:
            total -= F[i]
            free += 1
    if free > 0:
        return total / free
    top, bottom = bounds(F, y, alpha, box)
    middle: float = 0.5 * (top + bottom)
    if top == -np.inf:
        middle = bottom
    elif bottom == np.inf:
        middle = top
    return middle


@njit(cache=True, nogil=True)
def objectives(
    F: Vector, y: Vector, alpha: Vector, box: Vector, bias: float
) -> tuple[float, float, float]:
    """Primal and dual objective, and |w|^2.

    Without a box (hard margin) the primal is that of w scaled until no margin is below 1.
    """
    square, total, loss, least = 0.0, 0.0, 0.0, 1.0
    for i in range(len(F)):
        if box[i] > 0.0:
            square += alpha[i] * y[i] * (F[i] + y[i])
            total += alpha[i]
            slack = -y[i] * (F[i] + bias)
            if box[i] == np.inf:
                least = min(least, 1.0 - slack)
            elif slack > 0.0:
                loss += box[i] * slack
    primal = np.inf if least <= 0.0 else 0.5 * square / (least * least) + loss
    return primal, total - 0.5 * square, square


@njit(cache=True, nogil=True)
def measure(F: Vector, y: Vector, alpha: Vector, box: Vector) -> tuple[float, float]:
    """Violation and relative gap."""
    top, bottom = bounds(F, y, alpha, box)
    primal, dual, _ = objectives(F, y, alpha, box, intercept(F, y, alpha, box))
    return max(top - bottom, 0.0), compiled_gap(primal, dual)


@njit(cache=True, nogil=True)
def begin_round(
    F: Vector, y: Vector, alpha: Vector, box: Vector,
    work: Codes, count: int, size: int, one_tile: bool, tol: float, gap_tol: float,
) -> tuple[int, float, float]:  # fmt: skip
    """Choose the next working set: its size, 0 when solved; the violation; the tile's tolerance.

    A problem of `one_tile` has all its rows in `work`. Otherwise a tile is solved to a tenth of the
    violation, and to half the tolerance at the end.
    """
    top, bottom = bounds(F, y, alpha, box)
    violation = max(top - bottom, 0.0)
    if violation == 0.0:
        return 0, violation, 0.0
    if violation <= tol:
        if gap_tol == np.inf or measure(F, y, alpha, box)[1] <= gap_tol:
            return 0, violation, 0.0
        inner = 0.2 * violation
    elif one_tile:
        inner = 0.9 * tol
    else:
        inner = max(0.1 * violation, 0.5 * tol)
    if not one_tile:
        count = choose_rows(F, y, alpha, box, work, count, size, top, bottom)
    return count, violation, inner


@njit(cache=True, nogil=True)
def solve_working_set(
    tile: Matrix, diagonal: Vector, F: Vector, y: Vector, alpha: Vector, box: Vector,
    work: Codes, count: int, steps: Vector, tol: float, max_steps: int,
) -> int:  # fmt: skip
    """Solve the tile and write alpha back; `steps` becomes the change of a_i y_i of each row."""
    rows = work[:count]
    a, f = alpha[rows], F[rows]
    done: int = solve_tile(tile, diagonal[rows], y[rows], box[rows], a, f, tol, max_steps)
    for u in range(count):
        i = rows[u]
        steps[u] = (a[u] - alpha[i]) * y[i]
        alpha[i] = a[u]
    return done


@njit(cache=True, nogil=True)
def rounds_on_held(
    K: Matrix, rows: Codes, cuts: Codes, shifts: Codes, diagonal: Vector,
    F: Vector, y: Vector, alpha: Vector, box: Vector,
    work: Codes, count: int, size: int, one_tile: bool,
    tol: float, gap_tol: float, max_steps: int, most_work: int,
) -> tuple[int, int, float, bool]:  # fmt: skip
    """Run rounds over a matrix in memory until solved or `most_work` multiply-adds are spent.

    Rows cuts[s] to cuts[s + 1] of the problem are rows of the matrix at an offset of shifts[s].
    Returns the size of the working set (0 when solved), steps made, the violation, and whether no
    step was possible.
    """
    tile, changes = np.empty((size, size + PADDING), K.dtype), np.empty(size)
    made, spent, now = 0, 0, np.inf
    while spent < most_work and made < max_steps:
        count, now, inner = begin_round(F, y, alpha, box, work, count, size, one_tile, tol, gap_tol)
        if count == 0:
            break
        slots = rows[work[:count]]
        for s in range(len(shifts)):
            gather(tile, K, slots, work, count, cuts[s], cuts[s + 1], shifts[s])
        done = solve_working_set(
            tile, diagonal, F, y, alpha, box, work, count, changes, inner, max_steps - made
        )
        if done == 0:
            return count, made, now, True
        for s in range(len(shifts)):
            add(F, K, slots, changes, count, cuts[s], cuts[s + 1], shifts[s])
        made += done
        spent += 4 * done * count + count * len(F)
    return count, made, now, False
