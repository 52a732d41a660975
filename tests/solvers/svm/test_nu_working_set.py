"""Compiled steps of problems with a given sum on each side, against plain loops."""

import numpy as np
import pytest
from tests.solvers.svm.test_working_set import (
    directions,
    drawn_matrix,
    drawn_state,
    plain_steps,
    two_rows_that_violate,
)

from separatrix.solvers.svm.working_set import (
    ALPHA,
    BOX,
    ERRORS,
    Y,
    align_sides,
    level_of,
    solve_nu_tile,
)


def middle_of(state, side):
    """Between the highest -F of the rows that may rise and the lowest of those that may fall."""
    own = (np.sign(state[Y]) == side) & (state[BOX] > 0)
    up, down = (may & own for may in directions(state))
    ends = [(-state[ERRORS])[up].max(initial=-np.inf), (-state[ERRORS])[down].min(initial=np.inf)]
    finite = [end for end in ends if np.isfinite(end)]
    return np.mean(finite) if finite else None


def test_both_sides_are_shifted_to_the_same_middle():
    shifts = set()
    for seed in range(80):
        rng = np.random.default_rng(seed)
        first, n = int(rng.integers(3)), int(rng.integers(2, 6))
        state = drawn_state(rng, first + n + 2)
        if seed % 3 == 0:  # rows at one of their bounds only
            state[ALPHA] = np.where(rng.random() < 0.5, 0.0, state[BOX])
        own = slice(first, first + n)
        middles = middle_of(state[:, own], 1.0), middle_of(state[:, own], -1.0)
        shift = 0.0 if None in middles else middles[1] - middles[0]
        wanted = state.copy()
        wanted[ERRORS, own] += np.where(state[Y, own] < 0, shift, 0.0)
        assert align_sides(state, first, n) == shift
        np.testing.assert_array_equal(state, wanted)
        shifts.add(bool(shift))
        if shift:
            assert middle_of(state[:, own], 1.0) == middle_of(state[:, own], -1.0)
    assert shifts == {True, False}


@pytest.mark.parametrize("kind", ["exact", "real", "twice"])
def test_steps_on_two_rows_of_one_side_are_those_of_the_second_order_rule(kind):
    counts = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q = int(rng.integers(2, 8))
        K = drawn_matrix(rng, q, kind)
        state = drawn_state(rng, q, K)
        if seed % 8 == 0:
            state[Y] = rng.choice([-1.0, 1.0])
        tile, sets = np.full((q + 1, q + 8), np.nan), np.full((8, q + 4), np.nan)
        tile[:q, :q], sets[:5, :q] = K, state
        tol, most = rng.choice([0.25, 0.5, 1e-3]), int(rng.integers(0, 9))
        sums = [state[ALPHA, state[Y] == side].sum() for side in (-1.0, 1.0)]
        made = solve_nu_tile(tile, sets, q, tol, most)
        assert made == plain_steps(K, state, tol, most, of_one_side=True)
        np.testing.assert_allclose(sets[ALPHA, :q], state[ALPHA], atol=1e-10)
        if made < most:  # else the errors are those before the last step
            np.testing.assert_allclose(sets[ERRORS, :q], state[ERRORS], atol=1e-10)
        kept = [sets[ALPHA, :q][state[Y] == side].sum() for side in (-1.0, 1.0)]
        np.testing.assert_allclose(kept, sums, atol=1e-10)
        counts.append(made)
    assert {0, 1, 2} <= set(counts)


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize(("tol", "made"), [(2.0, 0), (1.99, 1), (0.0, 1)])
def test_a_violation_of_the_tolerance_is_small_enough(y, tol, made):
    K, sets = two_rows_that_violate()
    sets[Y] = y
    assert solve_nu_tile(K, sets, 2, tol, 50) == made
    assert sets[ALPHA, :2].tolist() == [4.0 + y * made, 4.0 - y * made]


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_a_tile_of_one_row_has_nothing_to_move(y):
    sets = np.zeros((8, 5))
    sets[:5, 0] = y, 2.0, 1.0, -1.0, 1.0
    assert solve_nu_tile(np.array([[1.0, np.nan], [np.nan, np.nan]]), sets, 1, 0.0, 50) == 0
    assert sets[:5, 0].tolist() == [y, 2.0, 1.0, -1.0, 1.0]


def test_rows_of_different_sides_make_no_pair():
    K, sets = two_rows_that_violate()
    sets[Y, 1] = -1.0
    assert solve_nu_tile(K, sets, 2, 0.0, 50) == 0


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_violations_too_small_to_square_end_a_tile(y):
    K, sets = two_rows_that_violate(3)
    sets[Y] = y
    sets[ERRORS, :3] = [-1e-170, 1e-170, -1e-170]
    assert solve_nu_tile(K, sets, 3, 0.0, 50) == 0
    sets[ALPHA, 2] = 0.0 if y > 0 else sets[BOX, 2]  # a y may not fall
    before = sets[ALPHA].copy()
    assert solve_nu_tile(K, sets, 3, 0.0, 50) == 0
    np.testing.assert_array_equal(sets[ALPHA], before)


def level_of_rows(y, margins, alpha, box):
    """The level of rows of side y among others that have none, as a margin y f."""
    y, margins, alpha, box = (np.atleast_1d(np.array(v, float)) for v in (y, margins, alpha, box))
    state = np.zeros((5, len(margins) + 3))
    state[Y], state[BOX], state[ALPHA] = -y, 1.0, 0.5  # of the other side, and other problems
    state[ERRORS] = 7.0
    own = slice(2, 2 + len(margins))
    state[Y, own], state[BOX, own], state[ALPHA, own] = y, box, alpha
    state[ERRORS, own] = y * margins
    return -y[0] * level_of(state, 1, len(margins) + 2, y[0])


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("alpha", "margins", "level"),
    [
        ([0.0, 1.0, 0.5, 0.25], [9.0, -9.0, 2.0, 4.0], 3.0),  # the mean of the free rows
        ([0.0, 1.0], [5.0, 3.0], 4.0),  # none is free: the middle
        ([0.0, 0.0], [5.0, 3.0], 3.0),  # only an upper end
        ([1.0, 1.0], [5.0, 3.0], 5.0),  # only a lower end
        ([], [], 0.0),
    ],
)
def test_levels_of_one_side(y, alpha, margins, level):
    assert level_of_rows(y, margins, alpha, 1.0) == level


def test_rounding_of_a_bound_does_not_move_a_level_that_is_not_unique():
    margins = [0.1, 0.4, 0.8, 0.9]
    exact = level_of_rows(1.0, margins, [1.0, 1.0, 0.0, 0.0], 1.0)
    near = level_of_rows(1.0, margins, [1.0, 1.0 - 2e-16, 0.0, 0.0], 1.0)
    assert exact == near == pytest.approx(0.6)
