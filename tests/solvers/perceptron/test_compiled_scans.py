"""Compiled scans against plain loops over whole numbers, where ties and scores of 0 are common."""

import numpy as np
import pytest

from separatrix.solvers.perceptron import kernel_perceptron, online_to_batch, primal, projectron
from separatrix.solvers.perceptron.kernel_perceptron import ScoredBlock
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.primal import OnlineState, StepSize
from separatrix.solvers.rows import rows_of

SEEDS = range(25)
STEPS = {
    "perceptron": StepSize(),
    "passive-aggressive": StepSize(margin=1.0, cap=np.inf, slack=0.0, norms=np.ones(1)),
    "capped": StepSize(margin=1.0, cap=0.25, slack=0.0, norms=np.ones(1)),
    "slack": StepSize(margin=1.0, cap=np.inf, slack=0.5, norms=np.ones(1)),
}


def drawn_sides(rng, n, p, rule):
    """Sides -1, 0 or 1 of each boundary, or the class of each example."""
    classes = rng.integers(0, p, n)
    if rule == "argmax":
        return np.where(np.arange(p) == classes[:, None], 1, -1).astype(np.int8), classes
    return rng.choice([-1, 0, 1], (n, p), p=[0.45, 0.1, 0.45]).astype(np.int8), None


def corrections(scores, sides, own, rates, step, square):
    """What each boundary adds of an example, (p,), what it lost, and whether it is corrected."""
    p = len(scores)
    deltas, losses, mistaken = np.zeros(p), np.zeros(p), np.zeros(p, bool)
    if own is not None:
        guess = int(scores.argmax())
        if guess != own:
            deltas[own], deltas[guess] = rates[0], -rates[1]
            losses[0] = scores[guess] - scores[own]
            mistaken[[guess, own]] = True
        return deltas, losses, mistaken
    loss = step.margin - sides * scores
    mistaken = (sides != 0) & (loss >= 0 if step.margin == 0 else loss > 0)
    deltas = np.where(sides > 0, rates[0], -rates[1])
    if len(step.norms):
        room = square + step.slack
        deltas = deltas * (np.minimum(step.cap, loss / room) if room > 0 else 0.0)
    return np.where(mistaken, deltas, 0.0), np.where(mistaken, loss, 0.0), mistaken


def is_misclassified(scores, sides, own):
    """Whether the highest score, or the sign of the only one, is on the wrong side."""
    if own is not None:
        return scores.argmax() != own
    if len(scores) == 1:
        return (scores[0] > 0) != (sides[0] > 0)
    return sides[scores.argmax()] <= 0


def plain_pass(state, X, sides, owners, order, rates, bias_step, step, met, average, active):
    """As `_pass`: the log as triples, losses, and how many were corrected and misclassified."""
    log, losses, wrong, misclassified = [], np.zeros(len(state.b)), 0, 0
    for position, i in enumerate(order):
        scores = state.W @ X[i] + state.b
        own = None if owners is None else owners[i]
        deltas, lost, mistaken = corrections(scores, sides[i], own, rates[:, i], step, X[i] @ X[i])
        misclassified += bool(is_misclassified(scores, sides[i], own))
        if owners is None:
            deltas, lost, mistaken = deltas * active, lost * active, mistaken & active
        losses += lost
        wrong += bool(mistaken.any())
        before = max(0, met + position)
        state.W[:] += deltas[:, None] * X[i]
        state.b[:] += deltas * bias_step
        if average:
            state.U[:] += before * deltas[:, None] * X[i]
            state.u[:] += before * deltas * bias_step
        log += [(position, c, deltas[c]) for c in np.flatnonzero(deltas)]
    return log, losses, wrong, misclassified


@pytest.mark.parametrize("keep", [True, False], ids=["logged", "counted"])
@pytest.mark.parametrize("rule", ["argmax", *STEPS])
def test_a_pass_corrects_and_counts_what_the_formulas_say(rule, keep):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, p = 9, int(rng.integers(2 if rule == "argmax" else 1, 4))
        X = rng.integers(-1, 2, (n, 2)).astype(float)
        sides, owners = drawn_sides(rng, n, p, rule)
        step = STEPS.get(rule, primal.PERCEPTRON)
        if len(step.norms):
            step = step._replace(norms=(X**2).sum(axis=1))
        rates = rng.choice([0.0, 0.5, 1.0, 2.0], (2, n))
        order, met = rng.integers(0, n, 12), int(rng.integers(-6, 4))
        rest = rates, rng.choice([0.0, 1.0, 4.0]), step, met, bool(rng.integers(2))
        active = rng.random(p) < 0.8
        state = OnlineState(rng.integers(-1, 2, (p, 2)) / 2.0, rng.integers(-1, 2, p) / 2.0,
                            np.ones((p, 2)), np.ones(p))  # fmt: skip
        plain = OnlineState(*(part.copy() for part in state))
        size = 12 * 3 if keep else 0
        log = np.empty(size, np.intp), np.empty(size, np.intp), np.empty(size)
        losses, none = np.zeros(p), np.empty(0, np.intp)
        found = primal._pass(
            state, rows_of(X), sides, none if owners is None else owners, order, *rest, active,
            losses, log,
        )  # fmt: skip
        events, lost, wrong, misclassified = plain_pass(
            plain, X, sides, owners, order, *rest, active
        )
        for mine, other in zip(state, plain, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(losses, lost, rtol=1e-12, atol=1e-13)
        assert found == (len(events) if keep else 0, wrong, misclassified)
        logged = list(zip(*(part[: found[0]].tolist() for part in log), strict=True))
        assert [event[:2] for event in logged] == [event[:2] for event in events if keep]
        np.testing.assert_allclose(
            [event[2] for event in logged], [event[2] for event in events if keep], rtol=1e-12
        )


def plain_scan(block, order, sides, rates, start, rule, room, kept):
    """Events and scores of a scan up to the first missing kernel row or full log."""
    K, slots, S, columns, b, square = block
    events, scores_of = [], []
    p = len(b)
    for position in range(start, len(order)):
        example = order[position]
        if rule == "signs" and (len(events) + p > room or (kept and len(scores_of) == kept)):
            return position, events, scores_of
        now = S[:, columns[example]] + b
        own = sides[example] if rule == "argmax" else None
        targets = None if rule == "argmax" else sides[example]
        deltas, _, wrong = corrections(now, targets, own, rates[:, example], StepSize(), 0.0)
        if not wrong.any():
            continue
        if slots[example] < 0 or (rule == "argmax" and len(events) + 2 > room):
            return position, events, scores_of
        if kept:
            scores_of.append(now)
        some = [own, now.argmax()] if rule == "argmax" else np.flatnonzero(wrong)
        events += [(position, int(c), deltas[c]) for c in some]
        S += deltas[:, None] * K[slots[example]]
        b += deltas * square
    return len(order), events, scores_of


@pytest.mark.parametrize("rule", ["signs", "argmax"])
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_scan_ends_where_a_row_is_missing_or_the_log_is_full(rule, kept):
    ends = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, p = 7, int(rng.integers(2 if rule == "argmax" else 1, 4))
        K = rng.integers(-1, 3, (5, n)).astype(float)
        slots = np.where(rng.random(n) < 0.1, -1, rng.integers(0, 5, n))
        targets, owners = drawn_sides(rng, n, p, rule)
        sides = targets if rule == "signs" else owners
        S, b = rng.integers(-1, 2, (p, n)) / 2.0, rng.integers(-1, 2, p) / 2.0
        rates = rng.choice([0.5, 1.0, 2.0], (2, n))
        square, start = rng.choice([0.0, 1.0, 3.0]), int(rng.integers(0, 3))
        columns, order = rng.permutation(n), rng.permutation(n)
        room = int(rng.integers(max(2, p), 12))
        log = (np.empty(room, np.intp), np.empty(room, np.intp), np.empty(room),
               np.empty((kept if rule == "signs" else 0, p)))  # fmt: skip
        block = ScoredBlock(K, slots, S, columns, b, square)
        other = block._replace(S=S.copy(), b=b.copy())
        scan = kernel_perceptron._scan_signs if rule == "signs" else kernel_perceptron._scan_argmax
        position, count, corrected = scan(block, order, sides, rates, start, log)
        ended, events, scores = plain_scan(
            other, order, sides, rates, start, rule, room, len(log[3])
        )
        assert (position, count, corrected) == (ended, len(events), len(scores))
        assert list(zip(*(part[:count].tolist() for part in log[:3]), strict=True)) == events
        np.testing.assert_array_equal(log[3][:corrected], np.reshape(scores, (-1, p)))
        np.testing.assert_array_equal(S, other.S)
        np.testing.assert_array_equal(b, other.b)
        ends.add("end" if ended == n else "row" if slots[order[ended]] < 0 else "log")
    assert ends == {"end", "row", "log"}


def test_rows_are_added_to_some_columns_of_their_scores():
    rng = np.random.default_rng(0)
    S, K = rng.normal(size=(2, 6)), rng.normal(size=(3, 6))
    wanted = S.copy()
    wanted[0, 1:4] += 2.0 * K[2, 1:4] - K[0, 1:4]
    wanted[1, 1:4] += 0.5 * K[2, 1:4]
    kernel_perceptron.add_rows(
        S, K, 1, 4, np.array([2, 0, 2]), np.array([0, 0, 1]), np.array([2.0, -1.0, 0.5])
    )
    np.testing.assert_allclose(S, wanted, rtol=1e-14)


def plain_projectron(K, targets, owners, rates, budget, support, coef, lag, met):
    """Rows that are added, and the projections of the others onto the support; coef is (p, n)."""
    added, missed = [], []
    for i in range(len(targets)):
        scores = coef @ K[:, i]
        own = None if owners is None else owners[i]
        deltas, _, _ = corrections(scores, targets[i], own, rates[:, i], StepSize(), 0.0)
        if not deltas.any():
            continue
        missed.append((i, scores))
        inside = K[np.ix_(support, support)]
        shares = np.linalg.solve(inside, K[support, i]) if support else np.zeros(0)
        outside = K[i, i] - K[i, support] @ shares
        if outside > 1e-3 * K[i, i] and len(support) < budget:
            support.append(i)
            added.append(i)
            coef[:, i] += deltas
            lag[:, i] += deltas * (met + i)
        else:
            coef[:, support] += np.outer(deltas, shares)
            lag[:, support] += (met + i) * np.outer(deltas, shares)
    return added, missed


@pytest.mark.parametrize("rule", ["signs", "argmax"])
@pytest.mark.parametrize("scale", [1.0, 1 / 64])
def test_a_block_of_a_projectron_adds_rows_or_their_projections(rule, scale):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, p, budget, met = 8, int(rng.integers(2, 4)), int(rng.integers(1, 5)), 5
        Z = rng.normal(size=(n, 3))  # real: after a projection rounding would decide about 0
        Z[4] = Z[1] + 0.01 * rng.normal(size=3)  # nearly the same row, within a thousandth
        Z[5] = Z[2] + 0.3 * rng.normal(size=3)
        K = scale * (Z @ Z.T) + scale * 1e-5 * np.eye(n)
        targets, owners = drawn_sides(rng, n, p, rule)
        rates = rng.choice([0.5, 1.0, 2.0], (2, n))
        coef, lag, inverse = np.zeros((p, budget)), np.zeros((p, budget)), np.zeros((budget,) * 2)
        known, added = np.zeros((n, budget)), np.empty(n, np.intp)
        missed = np.empty(n, np.intp), np.empty((n, p))
        own = np.empty(0, np.intp) if owners is None else owners
        mistakes, s = projectron._scan_block(
            K, known, 0, (targets, own, rates), (coef, lag, inverse), met, added, missed
        )
        support, plain, lagging = [], np.zeros((p, n)), np.zeros((p, n))
        chosen, wrong = plain_projectron(
            K, targets, owners, rates, budget, support, plain, lagging, met
        )
        assert (mistakes, s) == (len(wrong), len(support))
        assert added[:s].tolist() == chosen
        assert missed[0][:mistakes].tolist() == [i for i, _ in wrong]
        np.testing.assert_allclose(
            missed[1][:mistakes], np.reshape([now for _, now in wrong], (-1, p)), atol=1e-9
        )
        np.testing.assert_allclose(coef[:, :s], plain[:, support], atol=1e-8)
        np.testing.assert_allclose(lag[:, :s], lagging[:, support], atol=1e-7)
        np.testing.assert_allclose(
            inverse[:s, :s] @ K[np.ix_(support, support)], np.eye(s), atol=1e-8
        )
        np.testing.assert_array_equal(known[:, :s], K[:, support])


@pytest.mark.parametrize(("diagonal", "size"), [(1000.0, 1), (1000.5, 2), (999.5, 1)])
def test_a_row_is_added_if_more_than_a_thousandth_lies_outside_of_the_span(diagonal, size):
    """One support row with the value 1/999, so that 999 of the diagonal lie in its span."""
    coef, lag, inverse = -np.ones((1, 2)), np.zeros((1, 2)), np.zeros((2, 2))
    inverse[0, 0] = 999.0
    tile, known = np.array([[diagonal]]), np.array([[1.0, 0.0]])
    given = np.ones((1, 1), np.int8), np.empty(0, np.intp), np.ones((2, 1))
    missed = np.empty(1, np.intp), np.empty((1, 1))
    added = np.empty(1, np.intp)
    found = projectron._scan_block(tile, known, 1, given, (coef, lag, inverse), 3, added, missed)
    assert found == (1, size)
    if size == 2:
        assert (added[0], coef.tolist(), lag.tolist()) == (0, [[-1.0, 1.0]], [[0.0, 3.0]])
        wanted = np.linalg.inv(np.array([[1 / 999.0, 1.0], [1.0, diagonal]]))
        np.testing.assert_allclose(inverse, wanted, rtol=1e-9)
    else:
        assert (coef[0, 0], lag[0, 0]) == (998.0, 3 * 999.0)


@pytest.mark.parametrize("by_argmax", [False, True])
def test_votes_and_drawn_hypotheses_of_whole_numbers(by_argmax):
    """Scores of 0 and equal ones are common: 0 counts as -1, the first of the highest wins."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        p, n_steps, events = int(rng.integers(1, 4)), 9, 6
        K = rng.integers(-1, 2, (4, 3)).astype(float)
        steps = np.sort(rng.integers(0, n_steps, events))
        mistakes = Mistakes(
            rng.integers(0, 3, events), rng.integers(0, p, events),
            rng.choice([-1.0, 1.0, 2.0], events), steps,
        )  # fmt: skip
        held = np.zeros((n_steps, 4, p))
        for row, column, delta, step in zip(*mistakes, strict=True):
            held[step:, :, column] += delta * K[:, row]
        if by_argmax:
            wanted = np.eye(p)[held.argmax(axis=2)].mean(axis=0)
        else:
            wanted = np.where(held > 0, 1.0, -1.0).mean(axis=0)
        found = online_to_batch.votes(K, mistakes, p, n_steps, by_argmax=by_argmax)
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        asked = rng.integers(0, n_steps, 4)
        np.testing.assert_array_equal(
            online_to_batch.at_steps(K, mistakes, p, asked), held[asked, np.arange(4)]
        )
