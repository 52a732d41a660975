"""Compiled steps of sequential minimal optimisation, each against its formula or a plain loop."""

import numpy as np
import pytest

from separatrix.solvers.svm import working_set
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BARRED,
    BOX,
    DIAGONAL,
    DOWN,
    ERRORS,
    UP,
    Y,
)


def drawn_state(rng, n, K=None):
    """A state of n rows: bounds of 0 and 1 and coefficients at and between them are common."""
    state = np.zeros((5, n))
    state[Y] = rng.choice([-1.0, 1.0], n)
    state[BOX] = rng.choice([0.0, 1.0, 2.0], n, p=[0.1, 0.6, 0.3])
    state[ALPHA] = np.minimum(rng.choice([0.0, 0.5, 1.0, 2.0], n), state[BOX])
    state[ERRORS] = rng.integers(-6, 7, n) / 4.0
    state[DIAGONAL] = 2.0 if K is None else np.diag(K)
    return state


def directions(state):
    """Which rows may raise a y, and which may lower it."""
    y, box, alpha = state[Y], state[BOX], state[ALPHA]
    grow, shrink = alpha < box, alpha > 0
    return np.where(y > 0, grow, shrink), np.where(y > 0, shrink, grow)


def extremes(state):
    up, down = directions(state)
    highest = (-state[ERRORS])[up].max(initial=-np.inf)
    return highest, (-state[ERRORS])[down].min(initial=np.inf)


def test_extremes_are_those_of_the_rows_that_may_move():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first, n = int(rng.integers(3)), int(rng.integers(1, 5))
        state = drawn_state(rng, first + n + 2)
        if seed % 3 == 0:
            state[ERRORS] += rng.choice([-10.0, 10.0, 1e-3])
        own = state[:, first : first + n]
        assert working_set.find_extremes(state, first, n) == extremes(own)


def chosen_plainly(state, work, size):
    """The rows that stay, and keys of the rows that may come: violators in I_up, then in I_down."""
    top, bottom = extremes(state)
    up, down = directions(state)
    kept = list(work[len(work) - min(len(work), size // 2) :])
    parts = []
    for side, (may, key, limit) in enumerate(
        [(up, -state[ERRORS], bottom), (down, state[ERRORS], -top)]
    ):
        free = np.ones(len(key), bool)
        free[kept + [row for part in parts for row in part]] = False
        rows = np.flatnonzero(may & free & (key > limit))
        rows = rows[np.argsort(-key[rows], kind="stable")]
        room = size - len(kept) - sum(map(len, parts))
        parts.append(rows[: room // 2 if side == 0 else room].tolist())
    return kept, parts, (top, bottom)


@pytest.mark.parametrize("size", [2, 5, 8, 16])
def test_a_working_set_keeps_its_newer_half_and_takes_the_worst_violators(size):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first, n = int(rng.integers(3)), int(rng.integers(size + 1, 4 * size))
        state = drawn_state(rng, first + n + 1)
        state[ERRORS] = rng.normal(size=first + n + 1)
        if seed % 4 == 0:  # in order: each row is worse than all before it, or better
            state[ERRORS] = np.sort(state[ERRORS])
        own = state[:, first : first + n]
        before = rng.permutation(n)[: rng.integers(0, size + 1)]
        work, taken = np.full(size, -1), np.zeros(n + 3, np.int8)
        work[: len(before)] = before
        taken[before] = 1
        found, keys = np.empty(size + 4, np.int64), np.empty(size + 4)
        count, top, bottom = working_set.choose_rows(
            state, first, n, work, len(before), size, taken, found, keys
        )
        kept, parts, limits = chosen_plainly(own, before, size)
        assert (top, bottom) == limits
        assert work[: len(kept)].tolist() == kept
        ends = np.cumsum([len(kept), *map(len, parts)])
        assert count == ends[2]
        for sign, part, start in zip((-1.0, 1.0), parts, ends[:2], strict=True):
            rows = work[start : start + len(part)]
            assert sorted(rows) == sorted(part)
            badness = sign * own[ERRORS, rows]
            for slot in range(1, len(rows)):  # a heap: no row is worse than those below it
                assert badness[(slot - 1) // 2] <= badness[slot]
        wanted = np.zeros(n + 3)
        wanted[work[:count]] = 1
        np.testing.assert_array_equal(taken, wanted)


def test_of_equal_violators_the_first_are_taken_and_a_small_problem_is_taken_whole():
    state = np.ones((5, 9))
    state[ALPHA], state[BOX], state[Y, 4:] = 0.0, 1.0, -1.0
    state[ERRORS] = -state[Y]
    found, keys, work = np.empty(8, np.int64), np.empty(8), np.zeros(4, np.int64)
    taken = np.zeros(9, np.int8)
    assert working_set.choose_rows(state, 0, 9, work, 0, 4, taken, found, keys)[0] == 4
    assert work.tolist() == [0, 1, 4, 5]
    taken[:] = [1, 0, 0, 1, 0, 0, 0, 0, 0]
    work[:2] = [0, 3]
    answer = working_set.choose_rows(state, 2, 4, work, 2, 4, taken, found, keys)
    assert (answer, work.tolist()) == ((4, 1.0, -1.0), [0, 1, 2, 3])
    assert not taken.any()


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_directions_of_a_row_at_a_bound_are_barred(y, alpha):
    sets = np.full((8, 2), 7.0)
    sets[Y, 1], sets[BOX, 1], sets[ALPHA, 1] = y, 1.0, alpha
    working_set.bar_directions(sets, 1)
    up, down = alpha < 1.0, alpha > 0.0
    if y < 0:
        up, down = down, up
    assert sets[[UP, DOWN], 1].tolist() == [0.0 if up else -BARRED, 0.0 if down else -BARRED]
    assert (sets[:, 0] == 7.0).all()


@pytest.mark.parametrize("y_i", [-1.0, 1.0])
@pytest.mark.parametrize("y_j", [-1.0, 1.0])
def test_a_pair_moves_until_a_bound(y_i, y_j):
    for room_i in (0.0, 0.25, 0.75, 2.0):
        for room_j in (0.0, 0.25, 0.5, 2.0):
            for t in (0.25, 0.375, 1.0, 3.0):
                sets = np.zeros((8, 3))
                sets[Y], sets[BOX] = [y_i, 9.0, y_j], [2.5, 9.0, 2.0]
                sets[ALPHA, 0] = 2.5 - room_i if y_i > 0 else room_i
                sets[ALPHA, 2] = room_j if y_j > 0 else 2.0 - room_j
                before = sets[ALPHA].copy()
                made = min(t, room_i, room_j)
                assert working_set.move_pair(sets, 0, 2, t) == made
                assert sets[ALPHA, 0] == before[0] + y_i * made
                assert sets[ALPHA, 2] == before[2] - y_j * made
                assert sets[UP, 0] == (-BARRED if made == room_i else 0.0)
                assert sets[DOWN, 2] == (-BARRED if made == room_j else 0.0)
                assert sets[[UP, DOWN], 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_a_row_that_reaches_its_bound_is_at_it_whatever_rounding_says(y):
    low, high = 0.2, 0.9
    assert low + (high - low) != high
    sets = np.zeros((8, 2))
    sets[BOX], sets[Y] = [high, 9.0], [1.0, y]
    sets[ALPHA] = [low, 5.0]
    working_set.move_pair(sets, 0, 1, 5.0)
    assert sets[ALPHA, 0] == high
    sets[BOX], sets[Y] = [9.0, high], [y, -1.0]
    sets[ALPHA] = [5.0, low]
    working_set.move_pair(sets, 0, 1, 5.0)
    assert sets[ALPHA, 1] == high


def last_of_highest(values):
    """The last of the highest values; differences in the last digits do not count."""
    highest = values.max()
    return int(np.flatnonzero(values >= highest - 1e-13 * abs(highest))[-1])


def plain_steps(K, state, tol, max_steps, of_one_side=False):
    """Second-order steps (Fan, Chen and Lin 2005) on a state, in place; their number.

    of_one_side: both rows of a step have the same y.
    """
    for step in range(max_steps):
        up, down = directions(state)
        F, y, diagonal = state[ERRORS], state[Y], np.diag(K)
        rises = np.where(up, -F, -np.inf)
        sides = [(y > 0), (y < 0)] if of_one_side else [np.ones(len(y), bool)]
        first, gains = np.zeros(len(y), np.int64), np.full(len(y), -np.inf)
        for side in sides:
            if up[side].any():
                i = last_of_highest(np.where(side, rises, -np.inf))
                first[side], gains[side] = i, (rises[i] + F)[side]
        gains = np.maximum(np.where(down, gains, 0.0), 0.0)
        if gains.max() <= tol:
            return step
        curvature = np.maximum(
            diagonal[first] + diagonal - 2.0 * K[first, np.arange(len(y))], 1e-12
        )
        j = last_of_highest(gains**2 / curvature)
        i = first[j]
        t = min(
            gains[j] / curvature[j],
            state[BOX, i] - state[ALPHA, i] if y[i] > 0 else state[ALPHA, i],
            state[ALPHA, j] if y[j] > 0 else state[BOX, j] - state[ALPHA, j],
        )
        state[ALPHA, i] += y[i] * t
        state[ALPHA, j] -= y[j] * t
        state[ERRORS] += t * (K[i] - K[j])
    return max_steps


def drawn_matrix(rng, q, kind):
    """Kernel values: exact in few digits, real numbers, or with a row twice."""
    if kind == "exact":  # the curvature of each pair is 2
        return np.full((q, q), 0.5) + np.eye(q)
    A = rng.normal(size=(q, 3))
    if kind == "twice":
        A[-1] = A[0]
    return A @ A.T + (0.0 if kind == "twice" else 0.1) * np.eye(q)


@pytest.mark.parametrize("kind", ["exact", "real", "twice"])
def test_steps_on_a_tile_are_those_of_the_second_order_rule(kind):
    counts = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q = int(rng.integers(2, 7))
        K = drawn_matrix(rng, q, kind)
        state = drawn_state(rng, q, K)
        tile, sets = np.full((q + 1, q + 8), np.nan), np.full((8, q + 4), np.nan)
        tile[:q, :q], sets[:5, :q] = K, state
        tol, most = rng.choice([0.25, 0.5, 1e-3]), int(rng.integers(0, 9))
        made = working_set.solve_tile(tile, sets, q, tol, most)
        assert made == plain_steps(K, state, tol, most)
        np.testing.assert_allclose(sets[ALPHA, :q], state[ALPHA], atol=1e-10)
        if made < most:  # else the errors are those before the last step
            np.testing.assert_allclose(sets[ERRORS, :q], state[ERRORS], atol=1e-10)
        counts.append(made)
    assert {0, 1, 2} <= set(counts)


def two_rows_that_violate(q=2):
    """Errors -1 and 1 of free rows on the side +1: the violation is 2, one step of 1 solves it."""
    sets = np.zeros((8, q + 4))
    sets[Y], sets[BOX], sets[ALPHA], sets[DIAGONAL] = 1.0, 9.0, 4.0, 1.0
    sets[ERRORS, :2] = [-1.0, 1.0]
    return np.eye(q), sets


@pytest.mark.parametrize(("tol", "made"), [(2.0, 0), (1.99, 1), (0.0, 1)])
def test_a_violation_of_the_tolerance_is_small_enough(tol, made):
    K, sets = two_rows_that_violate()
    assert working_set.solve_tile(K, sets, 2, tol, 50) == made
    assert sets[ALPHA, :2].tolist() == [4.0 + made, 4.0 - made]


def test_violations_too_small_to_square_end_a_tile():
    K, sets = two_rows_that_violate(3)
    sets[ERRORS, :3] = [-1e-170, 1e-170, -1e-170]
    assert working_set.solve_tile(K, sets, 3, 0.0, 50) == 0
    sets[ALPHA, 2] = 0.0  # may not shrink
    assert working_set.solve_tile(K, sets, 3, 0.0, 50) == 0
    assert sets[ALPHA, :3].tolist() == [4.0, 4.0, 0.0]


def test_a_tile_of_one_row_has_nothing_to_move():
    sets = np.array([[1.0], [2.0], [1.0], [-1.0], [1.0], [0.0], [0.0], [0.0]])
    assert working_set.solve_tile(np.ones((1, 1)), sets, 1, 0.0, 50) == 0
    assert sets[:5, 0].tolist() == [1.0, 2.0, 1.0, -1.0, 1.0]


def test_rows_that_may_not_move_end_a_tile():
    K, sets = two_rows_that_violate()
    sets[ALPHA] = sets[BOX]  # none may rise
    assert working_set.solve_tile(K, sets, 2, 0.0, 50) == 0


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6])
@pytest.mark.parametrize(("start", "stop"), [(0, 5), (2, 7), (3, 1103)])
def test_rows_are_added_four_at_a_time(count, start, stop):
    rng = np.random.default_rng(count)
    K = rng.normal(size=(5, 1110))
    rows, steps = rng.integers(0, 5, count + 3), rng.normal(size=count + 3)
    steps[count:] = 0.0
    out = rng.normal(size=stop - start)
    wanted = out + steps @ K[rows, start:stop]
    working_set.add_rows(out, K, rows, steps, count, start, stop)
    np.testing.assert_allclose(out, wanted, atol=1e-12)


def test_a_tile_has_the_kernel_values_of_its_rows():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 9))
    K = A + A.T
    found = np.array([4, 8, 0, 3, 3, 7])
    for kept, shift in ((0, 0), (2, 0), (2, 1), (3, 2), (5, 0), (0, 3)):
        tile = np.full((6, 9), np.nan)
        tile[shift : shift + kept, shift : shift + kept] = K[np.ix_(found[:kept], found[:kept])]
        working_set.fill_tile(tile, K, found, 5, kept, shift)
        np.testing.assert_array_equal(tile[:5, :5], K[np.ix_(found[:5], found[:5])])
