"""Linear online learners, with one weight vector for each class or boundary.

Symbols: W weights (p, d), b biases (p,), U / T the difference of W and the average of all past W.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.rows import CompiledRows, add_row, score_row
from separatrix.types import Codes, Flags, Matrix, Signs, Vector


class OnlineState(NamedTuple):
    """Weights of an online learner and what their average needs; a pass changes it in place."""

    W: Matrix  # shape: (p, d)
    b: Vector  # shape: (p,)
    U: Matrix  # shape: (p, d); sum of step * change of W
    u: Vector  # shape: (p,); the same for b

    @classmethod
    def zero(cls, p: int, d: int) -> OnlineState:
        """The state before the first example."""
        return cls(np.zeros((p, d)), np.zeros(p), np.zeros((p, d)), np.zeros(p))

    def copy(self, *, averages: bool) -> OnlineState:
        """A state that a pass may change; without averages, it must not keep any."""
        U, u = (self.U.copy(), self.u.copy()) if averages else (self.U, self.u)
        return OnlineState(self.W.copy(), self.b.copy(), U, u)

    def average(self, n_steps: int) -> tuple[Matrix, Vector]:
        """Mean of all hypotheses over n_steps examples: weights and biases."""
        steps = max(1, n_steps)
        return self.W - self.U / steps, self.b - self.u / steps


class StepSize(NamedTuple):
    """When a boundary is corrected, and by how much of an example times its rate.

    The perceptron corrects t s < 0 by all of it, and a score s of 0 too; with `negative_at_zero` that
    score predicts t = -1, and is corrected where t = +1. A passive-aggressive learner corrects t s < 1 by
    min(cap, loss / (|x|^2 + slack)): just enough for a loss of 0, if neither binds.
    """

    margin: float = 0.0
    cap: float = np.inf
    slack: float = 0.0
    norms: Vector = np.empty(0)  # shape: (n,); |x|^2, or empty for the perceptron
    negative_at_zero: bool = False
    predicts_at_zero: int = -1  # the side of a score of 0 where predictions are counted


PERCEPTRON = StepSize()


class Pass(NamedTuple):
    """Losses and mistakes of one pass over the examples."""

    losses: (
        Vector  # shape: (p,); sum of max(0, margin - t score) (signs), in [0] of the lead (argmax)
    )
    mistakes: Mistakes  # all corrections of the pass, in order
    wrong: int  # examples corrected
    misclassified: int  # examples whose combined prediction was wrong when they were met
    met: int  # examples met: fewer than given if cancelled


def pass_over(
    state: OnlineState,
    rows: CompiledRows,
    sides: Signs,  # shape: (n, p)
    order: Codes,
    *,
    rule: str,
    rates: Matrix,  # shape: (2, n)
    bias_step: float,
    active: Flags,
    step: StepSize = PERCEPTRON,
    met: int = 0,
    average: bool = False,
    keep_mistakes: bool = True,
    monitor: FitMonitor | None = None,
) -> Pass:
    """Meet the examples in order once, correcting at every mistake.

    Problem
        signs:   t_ic (<w_c, x_i> + b_c) > margin for every example i and boundary c; with
                 `step.negative_at_zero` equality will do where t_ic = -1
        argmax:  <w_c, x_i> + b_c is largest at the class of i, for every example i

    Given
        state      changed in place
        rows       the samples, from `rows_of`
        rule       "signs" or "argmax", as in `solve_kernel_perceptron`
        rates      learning rate times weight of each row, when added and when subtracted
        bias_step  square of the constant feature: 1, or R^2, or 0 for no bias
        active     boundaries that still learn, (p,)
        step       size of a correction by signs
        met        examples met before this pass; if negative, those before the average starts
        average    whether to update U and u
        keep_mistakes  whether mistakes are listed or only counted
        monitor    may cancel between chunks

    Returns the losses, the mistakes and how many examples were met.

    Reference: Rosenblatt, The Perceptron, Psychological Review 65 (1958); Crammer and Singer,
    Ultraconservative Online Algorithms for Multiclass Problems, JMLR 3 (2003); Crammer, Dekel, Keshet,
    Shalev-Shwartz and Singer, Online Passive-Aggressive Algorithms, JMLR 7 (2006).
    """
    monitor = monitor or FitMonitor()
    by_argmax = rule == "argmax"
    owners = sides.argmax(axis=1) if by_argmax else np.empty(0, dtype=np.intp)
    p = len(state.b)
    losses = np.zeros(p)
    log: list[Mistakes] = []
    wrong = misclassified = seen = 0
    for block in row_blocks(len(order), rows_that_fit(p * rows.values_per_row, CHUNK)):
        part = order[block]
        size = len(part) * (2 if by_argmax else p) if keep_mistakes else 0
        found = (np.empty(size, dtype=np.intp), np.empty(size, dtype=np.intp), np.empty(size))
        count, corrected, missed = _pass(
            state, rows, sides, owners, part, rates, bias_step, step, met + seen, average, active,
            losses, found,
        )  # fmt: skip
        if keep_mistakes:
            at = found[0][:count].copy()
            steps = met + seen + at
            log.append(Mistakes(part[at], found[1][:count].copy(), found[2][:count].copy(), steps))
        wrong += corrected
        misclassified += missed
        seen += len(part)
        if monitor.should_stop():
            break
    return Pass(losses, Mistakes.concatenate(log), wrong, misclassified, seen)


@njit(cache=True, nogil=True)
def _pass(
    state: OnlineState,
    rows: CompiledRows,
    sides: Signs,
    owners: Codes,
    order: Codes,
    rates: Matrix,
    bias_step: float,
    step: StepSize,
    met: int,
    average: bool,
    active: Flags,
    losses: Vector,
    log: tuple[Codes, Codes, Vector],
) -> tuple[int, int, int]:
    """Meet the examples once; returns how many corrections were logged, examples corrected, misclassified.

    By signs each boundary is corrected at once: to keep its score for later costs more than a short row.
    """
    margin, norms = step.margin, step.norms
    W, b = state.W, state.b
    U, u = state.U, state.u
    log_positions, log_columns, log_deltas = log[0], log[1], log[2]
    count = wrong = misclassified = 0
    by_argmax, logged = len(owners) > 0, len(log_columns) > 0
    scores = np.zeros(len(b))
    for position in range(len(order)):
        i = order[position]
        mistaken, best, leader = False, 0.0, 0
        before = max(0, met + position)
        for c in range(len(b)):
            score = score_row(rows, i, W[c], b[c])
            if c == 0 or score > best:
                best, leader = score, c
            loss = margin - sides[i, c] * score
            zero_is_mistake = sides[i, c] > 0 or not step.negative_at_zero
            if by_argmax:
                scores[c] = score
            elif (
                (loss > 0 or (loss == 0 and margin == 0 and zero_is_mistake))
                and active[c]
                and sides[i, c] != 0
            ):
                mistaken = True
                losses[c] += loss
                delta = rates[0, i] if sides[i, c] > 0 else -rates[1, i]
                if len(norms):
                    size = norms[i] + step.slack
                    delta *= min(step.cap, loss / size) if size > 0 else 0.0
                add_row(rows, i, delta, W[c])
                b[c] += delta * bias_step
                if average:
                    add_row(rows, i, delta * before, U[c])
                    u[c] += delta * before * bias_step
                if logged and delta != 0.0:
                    log_positions[count], log_columns[count], log_deltas[count] = position, c, delta
                    count += 1
        if by_argmax:
            guess, own = leader, owners[i]
            mistaken = guess != own
            misclassified += mistaken
            if mistaken:
                losses[0] += scores[guess] - scores[own]
                for c in (min(guess, own), max(guess, own)):
                    delta = rates[0, i] if c == own else -rates[1, i]
                    add_row(rows, i, delta, W[c])
                    b[c] += delta * bias_step
                    if average:
                        add_row(rows, i, delta * before, U[c])
                        u[c] += delta * before * bias_step
                    if logged and delta != 0.0:
                        log_positions[count], log_columns[count] = position, c
                        log_deltas[count] = delta
                        count += 1
        elif len(b) == 1:
            above = best > 0 or (best == 0 and step.predicts_at_zero > 0)
            misclassified += above != (sides[i, 0] > 0)
        else:
            misclassified += sides[i, leader] <= 0
        wrong += mistaken
    return count, wrong, misclassified
