"""Rounds on working sets of several problems, their start and their certificate, against plain loops."""

import numpy as np
import pytest
from tests.solvers.svm.test_working_set import drawn_state, extremes

from separatrix.solvers.svm import working_set
from separatrix.solvers.svm.problem import make_all_feasible, make_feasible
from separatrix.solvers.svm.working_set import (
    ALPHA,
    BOX,
    COUNT,
    DIAGONAL,
    ERRORS,
    LARGEST_GAP,
    LIMIT,
    PAUSED,
    REACHED,
    RUNNING,
    STATUS,
    STEPS,
    STUCK,
    TOL,
    VIOLATION,
    Batch,
    Scratch,
    Y,
)


def batch_of(states, K, rows, size, *, tol=0.25, gap=np.inf, limit=100):
    """Problems over some rows of K, in runs of neighbours."""
    cuts = np.cumsum([0, *(len(one) for one in rows)])
    run_starts, runs = [0], []
    for one in rows:
        begin = 0
        for end in range(1, len(one) + 1):
            if end == len(one) or one[end] != one[end - 1] + 1:
                runs.append((begin, end, one[begin] - begin))
                begin = end
        run_starts.append(len(runs))
    p = len(rows)
    whole, real = np.zeros((4, p), np.int64), np.empty((3, p))
    whole[LIMIT], whole[STATUS] = limit, -1
    real[TOL], real[VIOLATION], real[LARGEST_GAP] = tol, np.inf, gap
    return Batch(cuts, np.concatenate(rows), np.hstack(states), np.array(run_starts), np.array(runs),
                 whole, real, np.full((p, size), -1), np.full((6, p), np.nan))  # fmt: skip


def test_the_errors_of_initial_coefficients_are_those_of_their_rows():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 4))
    K = A @ A.T
    rows = [np.array([0, 1, 4, 5, 6]), np.array([2, 3, 8]), np.array([1, 2, 3, 4, 5, 6, 7])]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        batch = batch_of([drawn_state(rng, len(one)) for one in rows], K, rows, 4)
        wanted = batch.state[ERRORS].copy()
        for p in (0, 2):
            own = slice(batch.starts[p], batch.starts[p + 1])
            coef = batch.state[ALPHA, own] * batch.state[Y, own]
            wanted[own] += K[np.ix_(rows[p], rows[p])] @ coef
        found, steps = np.zeros(10, np.int64), np.full(10, np.nan)
        working_set.begin_problems(K, batch, np.array([0, 2]), found, steps)
        np.testing.assert_allclose(batch.state[ERRORS], wanted, atol=1e-12)


def plain_certificate(state):
    """Intercept, primal, dual, |w|^2, violation and relative gap from their formulas."""
    y, box, alpha, F = state[Y], state[BOX], state[ALPHA], state[ERRORS]
    near = np.where(np.isinf(box), 0.0, 1e-12 * box)
    grow, shrink = alpha < box - near, alpha > near
    up, down = np.where(y > 0, grow, shrink), np.where(y > 0, shrink, grow)
    ends = (-F)[up].max(initial=-np.inf), (-F)[down].min(initial=np.inf)
    finite = [end for end in ends if np.isfinite(end)]
    free = grow & shrink
    bias = -F[free].mean() if free.any() else np.mean(finite) if finite else np.nan
    used = box > 0
    square = ((alpha * y) * (F + y))[used].sum()
    slack = -y * (F + bias)
    soft, hard = used & ~np.isinf(box), np.isinf(box)
    loss = (box[soft] * np.maximum(slack[soft], 0.0)).sum()
    least = (1.0 - slack[hard]).min(initial=1.0)
    primal = 0.5 * square / least**2 + loss if least > 0 else np.inf
    dual = alpha[used].sum() - 0.5 * square
    gap = (primal - dual) / max(abs(primal), 1.0) if primal < np.inf else np.inf
    top, bottom = extremes(state)
    return [bias, primal, dual, square, max(top - bottom, 0.0), gap]


@pytest.mark.parametrize("hard", [False, True])
def test_a_certificate_is_that_of_its_formulas(hard):
    kinds = set()
    for seed in range(80):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, 6, 3)
        rows = [np.arange(size) for size in sizes]
        states = [drawn_state(rng, size) for size in sizes]
        for state in states:
            state[BOX] = np.where(hard & (state[BOX] > 0), np.inf, state[BOX])
            if seed % 2:  # at bounds only, or nearly so
                state[ALPHA] = np.where(rng.random(state.shape[1]) < 0.5, 0.0, state[BOX])
                if hard:
                    state[ALPHA] = 0.0
                state[ALPHA] *= 1 - 1e-13
            if seed % 5 == 0:
                state[Y] = rng.choice([-1.0, 1.0])
            if seed % 3:
                state[ERRORS] *= 0.125
        batch = batch_of(states, np.eye(9), rows, 4)
        working_set.certify(batch, np.array([1]))
        wanted = plain_certificate(states[1])
        if not np.isnan(wanted[0]):
            np.testing.assert_allclose(batch.certificates[:, 1], wanted, rtol=1e-12, atol=1e-13)
        assert np.isnan(batch.certificates[:, [0, 2]]).all()
        kinds.add(np.isinf(wanted[1]))
    assert kinds == ({False, True} if hard else {False})


def plain_rounds(K, batch, p, most_work, spent):
    """Rounds of one problem by the rules, kernel values taken afresh; what is spent at the end."""
    own = slice(batch.starts[p], batch.starts[p + 1])
    state, rows, work = batch.state[:, own], batch.rows[own], batch.work[p]
    n, size, whole, real = len(rows), len(work), batch.whole, batch.real
    count = whole[COUNT, p]
    whole[STATUS, p] = RUNNING
    while whole[STATUS, p] == RUNNING and spent < most_work:
        scratch = Scratch.of(size, n)
        scratch.taken[work[:count]] = 1
        count, top, bottom = working_set.choose_rows(
            np.ascontiguousarray(state), 0, n, work, count, size, scratch.taken,
            scratch.found, scratch.keys,
        )  # fmt: skip
        chosen = work[:count]
        violation = real[VIOLATION, p] = max(top - bottom, 0.0)
        if violation <= real[TOL, p]:
            gap = plain_certificate(state)[5]
            if gap <= real[LARGEST_GAP, p] or violation == 0.0:
                whole[STATUS, p] = REACHED
                break
            real[TOL, p] = violation / 2
        if whole[STEPS, p] >= whole[LIMIT, p]:
            whole[STATUS, p] = PAUSED
            break
        inner = max(violation / 10, real[TOL, p] / 2) if count < n else 0.9 * real[TOL, p]
        sets = np.zeros((8, count))
        sets[:5], before = state[:, chosen], state[ALPHA, chosen]
        tile = np.ascontiguousarray(K[np.ix_(rows[chosen], rows[chosen])])
        left = whole[LIMIT, p] - whole[STEPS, p]
        made = working_set.solve_tile(tile, sets, count, inner, left)
        whole[STEPS, p] += made
        if made == 0:
            whole[STATUS, p] = STUCK
        change = sets[ALPHA] - before
        state[ALPHA, chosen] = sets[ALPHA]
        state[ERRORS] += K[np.ix_(rows, rows[chosen])] @ (change * sets[Y])
        spent += 4 * made * count + (np.count_nonzero(change) + 8) * n
    whole[COUNT, p] = count
    return spent


def rounds_of(seed, size):
    """Two problems from a start without coefficients, over rows that are not all neighbours.

    The curvature of each pair is 1, 2 or 4: steps are exact, and ties are no matter of rounding.
    """
    rng = np.random.default_rng(seed)
    half = np.triu(rng.choice([1.0, 0.5, -0.5], (12, 12)), 1)
    K = half + half.T + 1.5 * np.eye(12)
    rows = [np.array([0, 1, 2, 5, 6, 7, 9]), np.array([3, 4, 5, 8, 9, 10, 11])]
    states = []
    for one in rows:
        state = np.zeros((5, len(one)))
        state[Y] = rng.permutation(np.where(np.arange(len(one)) < 3, -1.0, 1.0))
        state[BOX] = rng.choice([0.0, 1.0, 2.0], len(one), p=[0.1, 0.6, 0.3])
        state[ERRORS], state[DIAGONAL] = -state[Y], K[one, one]
        states.append(state)
    given = {"tol": rng.choice([0.5, 0.1]), "gap": rng.choice([np.inf, 0.1])}
    return K, batch_of(states, K, rows, size, limit=int(rng.choice([3, 12, 1000])), **given)


def compare_batches(batch, plain):
    np.testing.assert_array_equal(batch.whole, plain.whole)
    np.testing.assert_array_equal(batch.real, plain.real)
    np.testing.assert_array_equal(batch.state, plain.state)
    for p, count in enumerate(batch.whole[COUNT]):
        np.testing.assert_array_equal(batch.work[p, :count], plain.work[p, :count])


@pytest.mark.parametrize("size", [4, 5, 7, 9])
def test_rounds_of_problems_are_those_of_a_plain_loop(size):
    ends = set()
    for seed in range(20):
        K, batch = rounds_of(seed, size)
        plain = Batch(*(part.copy() for part in batch))
        scratch = Scratch.of(size, 7)
        working_set.solve_problems(K, batch, np.array([1, 0]), scratch, 10**9)
        spent = 0
        for p in (1, 0):
            spent = plain_rounds(K, plain, p, 10**9, spent)
        compare_batches(batch, plain)
        assert not scratch.taken.any()
        ends |= set(batch.whole[STATUS].tolist())
    assert {REACHED, PAUSED} <= ends


@pytest.mark.parametrize("size", [4, 9])
def test_rounds_end_when_their_work_is_spent_and_go_on_as_if_there_had_been_no_break(size):
    for seed in (1, 3):
        K, first = rounds_of(seed, size)
        measured = Batch(*(part.copy() for part in first))
        limits, spent = {0}, 0
        while measured.whole[STATUS, 0] != REACHED and len(limits) < 6:  # one round after another
            now = plain_rounds(K, measured, 0, spent + 1, spent)
            if now == spent:
                break
            spent = now
            limits |= {spent - 1, spent, spent + 1}
        for most in sorted(limits):
            batch, plain = (Batch(*(part.copy() for part in first)) for _ in range(2))
            scratch = Scratch.of(size, 7)
            for _ in range(2):
                working_set.solve_problems(K, batch, np.array([0, 1]), scratch, most)
                rest = plain_rounds(K, plain, 0, most, 0)
                plain_rounds(K, plain, 1, most, rest)
                compare_batches(batch, plain)


def test_a_start_is_cut_to_the_box_and_the_heavier_side_scaled_down():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        starts = np.cumsum([0, *rng.integers(1, 6, 3)])
        n = starts[-1]
        y, box = rng.choice([-1.0, 1.0], n), rng.choice([0.5, 1.0, 2.0], n)
        start = rng.choice([-1.0, 0.0, 0.25, 1.0, 3.0], n)
        alpha, wanted = start.copy(), start.copy()
        for p in (0, 2):
            own = slice(starts[p], starts[p + 1])
            cut = np.clip(start[own], 0.0, box[own])
            plus, minus = cut[y[own] > 0].sum(), cut[y[own] < 0].sum()
            scale = np.where(y[own] > 0, min(1.0, minus / max(plus, 1e-300)),
                             min(1.0, plus / max(minus, 1e-300)))  # fmt: skip
            wanted[own] = cut * scale
            np.testing.assert_allclose(make_feasible(start[own], y[own], box[own]), wanted[own])
        make_all_feasible(starts, np.array([0, 2]), y, box, alpha)
        np.testing.assert_allclose(alpha, wanted, rtol=1e-14)


@pytest.mark.parametrize(("excess", "scaled"), [(1e-13, False), (4e-12, True)])
def test_sides_that_differ_by_rounding_are_not_scaled(excess, scaled):
    y, box = np.array([1.0, -1.0]), np.full(2, 9.0)
    for start in (np.array([4.0, 4.0 * (1 + excess)]), np.array([4.0 * (1 + excess), 4.0])):
        assert (make_feasible(start, y, box).tolist() != start.tolist()) == scaled


def one_round(errors, y, *, tol, gap):
    """The status of three free rows of those errors after a call."""
    state = np.array([y, [9.0] * 3, [4.0] * 3, errors, [1.0] * 3])
    batch = batch_of([state], np.eye(3), [np.arange(3)], 8, tol=tol, gap=gap)
    working_set.solve_problems(np.eye(3), batch, np.array([0]), Scratch.of(8, 3), 10**9)
    return batch.whole[STATUS, 0], batch.whole[STEPS, 0], batch.real[VIOLATION, 0]


def test_a_problem_without_a_step_is_stuck_and_one_without_a_violation_is_solved():
    plus = [1.0] * 3
    stuck = one_round([-1e-170, 1e-170, -1e-170], plus, tol=0.0, gap=np.inf)
    assert stuck == (STUCK, 0, 2e-170)
    assert one_round([0.5] * 3, plus, tol=0.0, gap=-1.0) == (REACHED, 0, 0.0)
    assert one_round([0.0, 0.0, 0.25], plus, tol=0.25, gap=np.inf) == (REACHED, 0, 0.25)
