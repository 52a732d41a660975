"""Compiled sequential minimal optimisation: rounds on small working sets of many problems.

A problem is min over a of 1/2 a'Qa - sum a, 0 <= a <= box, y'a = 0, with Q_ij = y_i y_j K_ij. The
errors F_i = sum_j a_j y_j K_ij - y_i are kept up to date. A row is in I_up if a_i y_i can grow and in
I_down if it can shrink; the largest -F over I_up minus the smallest -F over I_down is the violation
of the optimality conditions, LIBSVM's stopping rule. A row with an upper bound of 0 is never trained
on, but its F is kept: so held-out rows are scored at no cost.

A round chooses a working set so small that its kernel values stay in the first caches, makes many steps
on it, and adds the kernel rows whose coefficients changed to the errors of all rows.

A problem of a nu machine (`nu.py`) has a given sum of a on its only side, or on each of two, in place of
y'a = 0, and no linear term. Both rows of a step then have the same side, and the errors of a side may be
shifted by any constant.

Maxima are taken over the bits of a float with the index in the lowest bits: an integer maximum is
vector code, an argmax over floats is not. Scratch arrays come from Python: allocating them in compiled
code takes long to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.simd import bits_of, float_of
from separatrix.solvers.svm.problem import ROUNDING
from separatrix.types import Codes, Matrix, Vector

SMALLEST_CURVATURE = 1e-12
INDEX_BITS = 4095  # of a row in a working set
BARRED = 1e300
Y, BOX, ALPHA, ERRORS, DIAGONAL, BEFORE, UP, DOWN = range(8)  # rows of a state, and of a tile's
COUNT, STEPS, LIMIT, STATUS = range(4)  # whole numbers of each problem
TOL, VIOLATION, LARGEST_GAP = range(3)  # real numbers of each problem
SUM, N_SIDES, SHIFT, MARGIN, GOAL, LEAST_SQUARE = range(3, 9)  # and of each nu machine
BIAS, PRIMAL, DUAL, SQUARE, LAST_VIOLATION, GAP = range(6)  # rows of the certificates
RUNNING, REACHED, STUCK, PAUSED = range(4)  # values of STATUS
MOST_AT_ONCE = 16.0  # times smaller is the next violation asked for while r is not known well
TINY = float(np.finfo(np.float64).tiny)
SMALL_SET, MEDIUM_SET, LARGE_SET = 64, 128, 256
SMALL_PROBLEM, MEDIUM_PROBLEM = 1536, 4096  # rows: larger sets take fewer passes over more of them


class Batch(NamedTuple):
    """Problems over rows of one matrix, one after another."""

    starts: Codes  # shape: (p + 1,); where each problem starts
    rows: Codes  # shape: (r,); rows of the matrix
    state: Matrix  # shape: (5, r): Y, BOX, ALPHA, ERRORS, DIAGONAL
    run_starts: Codes  # shape: (p + 1,); the first run of each problem
    runs: Codes  # shape: (runs, 3): contiguous rows: start and end in the problem, offset in the matrix
    whole: Codes  # shape: (4, p): COUNT, STEPS, LIMIT, STATUS
    real: Matrix  # shape: (3, p): TOL, VIOLATION, LARGEST_GAP; of nu machines (9, p): the sum of a side,
    # number of sides, shift of the errors of side -1, r, the violation wanted at last, and |w|^2 of none
    work: Codes  # shape: (p, size); rows of the working sets, in their problem
    certificates: Matrix  # shape: (6, p); intercept, objectives, |w|^2, violation and relative gap


class Scratch(NamedTuple):
    """Arrays of one thread."""

    tile: Matrix  # shape: (size, size + 8); kernel values of the working set
    sets: Matrix  # shape: (8, size + 4); its state
    keys: Vector  # shape: (size + 4,)
    found: Codes  # shape: (size + 4,)
    taken: Codes  # shape: (rows of the largest problem,); 1 for rows of the working set, else 0

    @classmethod
    def of(cls, size: int, n: int) -> Scratch:
        """Scratch arrays for working sets of a size in problems of up to n rows."""
        return cls(
            np.empty((size, size + 8)),
            np.empty((8, size + 4)),
            np.empty(size + 4),
            np.empty(size + 4, np.int64),
            np.zeros(n, np.int8),
        )


def set_size(n: int) -> int:
    """Size of the working set of a problem of n rows."""
    if n <= SMALL_PROBLEM:
        return SMALL_SET
    return MEDIUM_SET if n <= MEDIUM_PROBLEM else LARGE_SET


@njit(cache=True, nogil=True)
def find_extremes(state: Matrix, first: int, n: int) -> tuple[float, float]:
    """The largest -F over I_up and the smallest over I_down; rows with a box of 0 are in neither."""
    last = np.int64(0x7FFFFFFFFFFFFFFF)
    own = slice(first, first + n)
    y, box, alpha, errors = state[Y, own], state[BOX, own], state[ALPHA, own], state[ERRORS, own]
    up = down = -np.int64(0x7FF0000000000001)  # -inf, ordered as below
    for i in range(n):
        may_grow, may_shrink, plus = alpha[i] < box[i], alpha[i] > 0.0, y[i] > 0.0
        high = bits_of(-errors[i] if (may_grow if plus else may_shrink) else -np.inf)
        low = bits_of(errors[i] if (may_shrink if plus else may_grow) else -np.inf)
        up = max(up, high ^ ((high >> 63) & last))  # orders negative floats too
        down = max(down, low ^ ((low >> 63) & last))
    return float_of(up ^ ((up >> 63) & last)), -float_of(down ^ ((down >> 63) & last))


@njit(cache=True, nogil=True)
def choose_rows(
    state: Matrix, first: int, n: int, work: Codes, count: int, size: int,
    taken: Codes, found: Codes, keys: Vector,
) -> tuple[int, float, float]:  # fmt: skip
    """Write the next working set of the problem of n rows at `first` into `work`.

    It is the newer half of the last one, then the worst violators, half of them in I_up and half in
    I_down; or all rows if they are no more than its size. Returns its size, the largest -F over I_up
    and the smallest over I_down.
    """
    for k in range(count):
        taken[work[k]] = 0
    top, bottom = find_extremes(state, first, n)
    if n <= size:
        for i in range(n):
            work[i] = i
        return n, top, bottom
    kept = min(count, size // 2)
    for k in range(kept):
        work[k] = work[count - kept + k]
        taken[work[k]] = 1
    count = kept
    for side in range(2):
        sign, limit = (-1.0, bottom) if side == 0 else (1.0, -top)
        wanted = (size - count) // 2 if side == 0 else size - count
        heap = 0  # of the worst `wanted` rows, the least bad on top
        for i in range(n):
            at = first + i
            key = sign * state[ERRORS, at]
            if key <= limit or taken[i] == 1:
                continue
            grows = (state[Y, at] > 0.0) == (side == 0)
            a, box = state[ALPHA, at], state[BOX, at]
            if (grows and a >= box) or (not grows and a <= 0.0):
                continue
            if heap < wanted:
                slot = heap
                heap += 1
                while slot > 0 and keys[(slot - 1) // 2] > key:
                    parent = (slot - 1) // 2
                    keys[slot], found[slot] = keys[parent], found[parent]
                    slot = parent
            else:
                slot = 0
                while 2 * slot + 1 < heap:
                    below = 2 * slot + 1
                    if below + 1 < heap and keys[below + 1] < keys[below]:
                        below += 1
                    if keys[below] >= key:
                        break
                    keys[slot], found[slot] = keys[below], found[below]
                    slot = below
            keys[slot], found[slot] = key, i
            if heap == wanted:
                limit = keys[0]
        for k in range(heap):
            work[count] = found[k]
            taken[found[k]] = 1
            count += 1
    return count, top, bottom


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


@njit(cache=True, nogil=True)
def align_problem(batch: Batch, p: int) -> bool:
    """Align the sides of a problem with a given sum on each; return whether it is one."""
    starts, real = batch.starts, batch.real
    if len(real) <= SUM or real[N_SIDES, p] != 2.0:
        return False
    real[SHIFT, p] += align_sides(batch.state, starts[p], starts[p + 1] - starts[p])
    return True


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def bar_directions(sets: Matrix, k: int) -> None:
    """Write in which directions a y of a row can move: 0, or -BARRED where a bound is reached."""
    may_grow, may_shrink = sets[ALPHA, k] < sets[BOX, k], sets[ALPHA, k] > 0.0
    if sets[Y, k] < 0.0:
        may_grow, may_shrink = may_shrink, may_grow
    sets[UP, k] = 0.0 if may_grow else -BARRED
    sets[DOWN, k] = 0.0 if may_shrink else -BARRED


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def move_pair(sets: Matrix, i: int, j: int, t: float) -> float:
    """Add t to a y of row i and take it from row j, or as much as their bounds allow; return that."""
    bound_i = sets[BOX, i] - sets[ALPHA, i] if sets[Y, i] > 0.0 else sets[ALPHA, i]
    bound_j = sets[ALPHA, j] if sets[Y, j] > 0.0 else sets[BOX, j] - sets[ALPHA, j]
    if bound_i < t:
        t = bound_i
    if bound_j < t:
        t = bound_j
    sets[ALPHA, i] += sets[Y, i] * t
    sets[ALPHA, j] -= sets[Y, j] * t
    if t == bound_i:
        sets[ALPHA, i] = sets[BOX, i] if sets[Y, i] > 0.0 else 0.0
    if t == bound_j:
        sets[ALPHA, j] = 0.0 if sets[Y, j] > 0.0 else sets[BOX, j]
    bar_directions(sets, i)
    bar_directions(sets, j)
    return t


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def solve_tile(K: Matrix, sets: Matrix, q: int, tol: float, max_steps: int) -> int:
    """Make second-order steps on two of q rows until the violation is at most tol; return their number.

    K holds their kernel values, (q, q) or more. `sets`, (8, q) or more, begins with their state, (5, q).
    The first row is the worst violator in I_up, the second the one with which the objective falls
    most (Fan, Chen and Lin 2005).
    """
    last, index = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(INDEX_BITS)
    for k in range(q):
        bar_directions(sets, k)
    i, j, t = np.int64(0), np.int64(0), 0.0
    for step in range(max_steps):
        best = -last
        K_i, K_j = K[i], K[j]
        for k in range(q):
            F = sets[ERRORS, k] + t * (K_i[k] - K_j[k])
            sets[ERRORS, k] = F
            bits = bits_of(sets[UP, k] - F)
            bits ^= (bits >> 63) & last  # orders negative floats too
            best = max(best, (bits & ~index) | k)
        i = best & index
        top = sets[UP, i] - sets[ERRORS, i]
        if top < -BARRED / 2:
            return step
        K_i, own = K[i], sets[DIAGONAL, i]
        steepest, worst = np.int64(0), np.int64(0)
        for k in range(q):
            gain = max(top + sets[ERRORS, k] + sets[DOWN, k], 0.0)
            curvature = max(own + sets[DIAGONAL, k] - 2.0 * K_i[k], SMALLEST_CURVATURE)
            steepest = max(steepest, (bits_of(gain * gain / curvature) & ~index) | k)
            worst = max(worst, bits_of(gain))
        j = steepest & index
        gain = top + sets[ERRORS, j] + sets[DOWN, j]
        if float_of(worst) <= tol or gain <= 0.0:
            return step
        t = gain / max(own + sets[DIAGONAL, j] - 2.0 * K_i[j], SMALLEST_CURVATURE)
        t = move_pair(sets, i, j, t)
    return max_steps


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


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def add_rows(
    out: Vector, K: Matrix, rows: Codes, steps: Vector, count: int, start: int, stop: int
) -> None:
    """Add multiples of rows of K, from column `start` to `stop`, four rows at a time.

    Three more entries of `rows` are rows of K, and those of `steps` are 0.
    """
    for left in range(start, stop, 1024):
        right = min(left + 1024, stop)
        part = out[left - start : right - start]
        for u in range(0, count, 4):
            k0, k1 = K[rows[u], left:right], K[rows[u + 1], left:right]
            k2, k3 = K[rows[u + 2], left:right], K[rows[u + 3], left:right]
            s0, s1, s2, s3 = steps[u], steps[u + 1], steps[u + 2], steps[u + 3]
            for j in range(len(part)):
                part[j] += s0 * k0[j] + s1 * k1[j] + s2 * k2[j] + s3 * k3[j]


@njit(cache=True, nogil=True)
def begin_problems(K: Matrix, batch: Batch, chosen: Codes, found: Codes, steps: Vector) -> None:
    """Add the kernel rows of the initial coefficients of some problems to their errors.

    The scratch arrays hold three more entries than the largest problem has rows.
    """
    starts, rows, state, run_starts, runs = (
        batch.starts, batch.rows, batch.state, batch.run_starts, batch.runs,
    )  # fmt: skip
    for p in chosen:
        count = 0
        for i in range(starts[p], starts[p + 1]):
            if state[ALPHA, i] != 0.0:
                found[count] = rows[i]
                steps[count] = state[ALPHA, i] * state[Y, i]
                count += 1
        for u in range(count, count + 3):
            found[u], steps[u] = found[0], 0.0
        for r in range(run_starts[p], run_starts[p + 1]):
            lo, hi, shift = runs[r, 0], runs[r, 1], runs[r, 2]
            out = state[ERRORS, starts[p] + lo : starts[p] + hi]
            add_rows(out, K, found, steps, count, lo + shift, hi + shift)


@njit(cache=True, nogil=True)
def level_of(state: Matrix, first: int, n: int, side: float) -> float:
    """The mean of -F over free rows of a side, both sides if that is 0, or the middle of its range.

    A coefficient within rounding of a bound counts as being at it.
    """
    total, free, top, bottom = 0.0, 0, -np.inf, np.inf
    for i in range(first, first + n):
        y, box, a, F = state[Y, i], state[BOX, i], state[ALPHA, i], state[ERRORS, i]
        if y * side < 0.0:
            continue
        off = ROUNDING * box if box < np.inf else 0.0
        may_grow, may_shrink = a < box - off, a > off
        if may_grow and may_shrink:
            total -= F
            free += 1
        if y < 0.0:
            may_grow, may_shrink = may_shrink, may_grow
        if may_grow and top < -F:
            top = -F
        if may_shrink and bottom > -F:
            bottom = -F
    if free > 0:
        return total / free
    if top == -np.inf:
        return bottom if bottom < np.inf else 0.0  # 0: no row has an upper bound above 0
    return top if bottom == np.inf else 0.5 * (top + bottom)


@njit(cache=True, nogil=True)
def certify_problem(batch: Batch, p: int) -> None:
    """Write the certificate of a problem; of a nu machine that of a, before it is divided by r.

    The intercept is the level of both sides. Without a box (hard margin) the primal is that of w scaled
    until no margin is below 1. A nu machine has a level of each side, and the gap is relative to the
    larger one of |w|^2 / 2 with the loss, and r^2. It is infinite until the violation is small beside an r
    below 1: scores are divided by r, and their errors too.
    """
    starts, state, real, results = batch.starts, batch.state, batch.real, batch.certificates
    first, n = starts[p], starts[p + 1] - starts[p]
    two_sums = align_problem(batch, p)
    shift = real[SHIFT, p] if two_sums else 0.0
    plus = level_of(state, first, n, 1.0 if two_sums else 0.0)
    minus = level_of(state, first, n, -1.0) if two_sums else plus
    square, total, loss, least = 0.0, 0.0, 0.0, 1.0
    for i in range(first, first + n):
        y, box, a, F = state[Y, i], state[BOX, i], state[ALPHA, i], state[ERRORS, i]
        if box > 0.0:
            square += a * y * (F + y - (shift if y < 0.0 else 0.0))
            total += a
            slack = -y * (F + (plus if y > 0.0 else minus))
            if box == np.inf:
                if 1.0 - slack < least:
                    least = 1.0 - slack
            elif slack > 0.0:
                loss += box * slack
    top, bottom = find_extremes(state, first, n)
    bias, dual = plus, total - 0.5 * square
    primal = np.inf if least <= 0.0 else 0.5 * square / (least * least) + loss
    size, violation = max(abs(primal), 1.0), max(top - bottom, 0.0)
    if len(real) > SUM:
        r = 0.5 * (2.0 + shift + minus - plus) if two_sums else 1.0 - plus
        bias = 0.5 * (plus + minus + shift) if two_sums else -r
        real[MARGIN, p], size, dual = r, max(primal, r * r, TINY), -0.5 * square
        primal -= real[SUM, p] * real[N_SIDES, p] * r
        if two_sums and 0.0 < r < 1.0 and violation > real[GOAL, p] * r:
            size = np.inf
    results[BIAS, p], results[PRIMAL, p], results[DUAL, p] = bias, primal, dual
    results[SQUARE, p], results[LAST_VIOLATION, p] = square, violation
    results[GAP, p] = (primal - dual) / size if size < np.inf else np.inf


@njit(cache=True, nogil=True)
def certify(batch: Batch, chosen: Codes) -> None:
    """Write the certificates of some problems."""
    for p in chosen:
        certify_problem(batch, p)


@njit(cache=True, nogil=True)
def lower_tolerance(batch: Batch, p: int) -> None:
    """Ask for half of the violation, or for what the division by r needs as far as r is known."""
    real = batch.real
    violation = real[VIOLATION, p]
    real[TOL, p] = 0.5 * violation
    if len(real) > SUM and real[N_SIDES, p] == 2.0 and 0.0 < real[MARGIN, p] < 1.0:
        known = violation < 0.25 * real[MARGIN, p]  # r is wrong by no more than that
        goal = max(
            0.5 * real[GOAL, p] * real[MARGIN, p], 0.0 if known else violation / MOST_AT_ONCE
        )
        real[TOL, p] = min(real[TOL, p], goal)


@njit(cache=True, nogil=True)
def fill_tile(tile: Matrix, K: Matrix, found: Codes, count: int, kept: int, shift: int) -> None:
    """Kernel values of the rows `found`; the first `kept` are in the tile, behind `shift` other rows."""
    if shift > 0:
        for u in range(kept):
            for v in range(kept):
                tile[u, v] = tile[u + shift, v + shift]
    for u in range(kept, count):
        row = K[found[u]]
        for v in range(u + 1):
            value = row[found[v]]
            tile[u, v] = value
            tile[v, u] = value


@njit(cache=True, nogil=True)
def solve_problems(
    K: Matrix, batch: Batch, chosen: Codes, scratch: Scratch, most_work: int,
    sums: Any = None,
) -> None:  # fmt: skip
    """Run rounds of some problems until they are solved, or made LIMIT steps.

    A problem is solved if its violation is at most TOL and its gap at most LARGEST_GAP; if only the gap
    is too large, TOL shrinks. A nu machine is left to its review if its |w|^2 is LEAST_SQUARE; only with
    `sums` does the loop know of two sums. Returns when `most_work` multiply-adds are spent; a later call
    goes on as if there had been no break.
    """
    starts, rows, state, run_starts, runs, whole, real, works, certificates = batch
    tile, sets, keys, found, taken = scratch
    spent = 0
    for p in chosen:
        first, n, work = starts[p], starts[p + 1] - starts[p], works[p]
        count = whole[COUNT, p]
        in_tile = 0  # rows of the working set whose kernel values the tile has
        whole[STATUS, p] = RUNNING
        while whole[STATUS, p] == RUNNING and spent < most_work:
            two_sums = False
            if sums is not None:
                two_sums = align_problem(batch, p)
            count, top, bottom = choose_rows(
                state, first, n, work, count, works.shape[1], taken, found, keys
            )
            violation = max(top - bottom, 0.0)
            real[VIOLATION, p] = violation
            if violation <= real[TOL, p]:
                certify_problem(batch, p)
                small = certificates[GAP, p] <= real[LARGEST_GAP, p] or violation == 0.0
                if len(real) > SUM:
                    small = small or certificates[SQUARE, p] <= real[LEAST_SQUARE, p]
                if small:
                    whole[STATUS, p] = REACHED
                    break
                lower_tolerance(batch, p)
            if whole[STEPS, p] >= whole[LIMIT, p]:
                whole[STATUS, p] = PAUSED
                break
            kept = in_tile if count == n else min(in_tile, works.shape[1] // 2)
            for u in range(count):
                i = first + work[u]
                found[u] = rows[i]
                for what in range(5):
                    sets[what, u] = state[what, i]
                sets[BEFORE, u] = state[ALPHA, i]
            fill_tile(tile, K, found, count, kept, in_tile - kept)
            in_tile = count
            inner = max(0.1 * violation, 0.5 * real[TOL, p])
            if count == n:  # the whole problem
                inner = 0.9 * real[TOL, p]
            left = whole[LIMIT, p] - whole[STEPS, p]
            if sums is not None and two_sums:
                made = solve_nu_tile(tile, sets, count, inner, left)
            else:
                made = solve_tile(tile, sets, count, inner, left)
            whole[STEPS, p] += made
            if made == 0:
                whole[STATUS, p] = STUCK
            changed = 0
            for u in range(count):
                if sets[ALPHA, u] != sets[BEFORE, u]:
                    i = first + work[u]
                    state[ALPHA, i] = sets[ALPHA, u]
                    found[changed] = rows[i]
                    keys[changed] = (sets[ALPHA, u] - sets[BEFORE, u]) * sets[Y, u]
                    changed += 1
            for u in range(changed, changed + 3):
                found[u], keys[u] = found[0], 0.0
            for r in range(run_starts[p], run_starts[p + 1]):
                lo, hi, shift = runs[r, 0], runs[r, 1], runs[r, 2]
                out = state[ERRORS, first + lo : first + hi]
                add_rows(out, K, found, keys, changed, lo + shift, hi + shift)
            spent += 4 * made * count + (changed + 8) * n
        for k in range(count):
            taken[work[k]] = 0
        whole[COUNT, p] = count
