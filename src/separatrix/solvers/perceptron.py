"""The linear perceptron, one weight vector for each class or boundary, dense and sparse rows alike.

A row is a slice of `data`: all features in order where `indices` is empty, or the stored ones.

Symbols: W weights (p, d), b biases (p,), U the part of the sum of all past W that the last lacks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import issparse

from separatrix.arrays import Codes, Flags, Matrix, Signs, Vector
from separatrix.compute.blocks import row_blocks, rows_that_fit
from separatrix.compute.watch import CHUNK, Watch
from separatrix.solvers.online_to_batch import Mistakes

FAST = {
    "contract",
    "reassoc",
    "nsz",
    "arcp",
}  # sums may be reordered; NaN and inf stay what they are


class Rows(NamedTuple):
    """Samples as compiled loops read them."""

    data: Vector
    indices: Codes  # empty: data holds all d features of each row
    indptr: Codes  # shape: (n + 1,)

    @classmethod
    def of(cls, X: Any) -> Rows:
        """A view of a dense or CSR matrix."""
        if issparse(X):
            return cls(X.data, X.indices, X.indptr)
        n, d = X.shape
        return cls(
            np.ascontiguousarray(X).reshape(-1),
            np.empty(0, dtype=np.int32),
            np.arange(0, (n + 1) * d, d, dtype=np.int64)[: n + 1]
            if d
            else np.zeros(n + 1, dtype=np.int64),
        )


class State(NamedTuple):
    """What the perceptron knows after some examples; a pass changes it in place."""

    W: Matrix  # shape: (p, d)
    b: Vector  # shape: (p,)
    U: Matrix  # shape: (p, d); sum of step * change of W
    u: Vector  # shape: (p,); the same for b

    @classmethod
    def zero(cls, p: int, d: int) -> State:
        """Nothing seen yet."""
        return cls(np.zeros((p, d)), np.zeros(p), np.zeros((p, d)), np.zeros(p))

    def average(self, n_steps: int) -> tuple[Matrix, Vector]:
        """Mean of all hypotheses over n_steps examples: weights and biases."""
        steps = max(1, n_steps)
        return self.W - self.U / steps, self.b - self.u / steps


class Pass(NamedTuple):
    """What one pass over the examples saw."""

    losses: Vector  # shape: (p,); sum of max(0, -t score) (signs), or in [0] of the lead (argmax)
    mistakes: Mistakes  # all corrections of the pass, in order
    wrong: int  # examples with at least one
    met: int  # examples met: fewer than given when told to stop


def pass_over(
    state: State,
    rows: Rows,
    sides: Signs,  # shape: (n, p)
    order: Codes,
    *,
    rule: str,
    rates: Matrix,  # shape: (2, n)
    bias_step: float,
    active: Flags,
    met: int = 0,
    average: bool = False,
    watch: Watch | None = None,
) -> Pass:
    """Meet the examples in order once, correcting at every mistake.

    Problem
        signs:   t_ic (<w_c, x_i> + b_c) > 0 for every example i and boundary c
        argmax:  <w_c, x_i> + b_c largest at the own class, for every example i

    Given
        state      changed in place
        rule       "signs" or "argmax", as in `solve_kernel_perceptron`
        rates      size of the correction on each row, where it is added and where it is taken off:
                   learning rate times weight
        bias_step  what the constant feature is worth: 1, or R^2, or 0 for no bias
        active     boundaries that still learn, (p,)
        met        examples met before this pass
        average    whether U and u are kept
        watch      asked between chunks whether to go on

    Returns the loss, every mistake and how far it got.

    Reference: Rosenblatt, The Perceptron, Psychological Review 65 (1958); Crammer and Singer,
    Ultraconservative Online Algorithms for Multiclass Problems, JMLR 3 (2003).
    """
    watch = watch or Watch()
    by_argmax = rule == "argmax"
    owners = sides.argmax(axis=1) if by_argmax else np.empty(0, dtype=np.intp)
    p = len(state.b)
    losses = np.zeros(p)
    log: list[Mistakes] = []
    wrong = seen = 0
    size = rows_that_fit(max(1, p * max(1, len(rows.data) // max(1, len(rows.indptr) - 1))), CHUNK)
    for block in row_blocks(len(order), size):
        part = order[block]
        room = len(part) * (2 if by_argmax else p)
        found = (np.empty(room, dtype=np.intp), np.empty(room, dtype=np.intp), np.empty(room))
        if by_argmax:
            count, errors = _argmax_pass(
                *state, *rows, owners, part, rates, bias_step, met + seen, average, losses, *found
            )
        else:
            count, errors = _signs_pass(
                *state,
                *rows,
                sides,
                part,
                rates,
                bias_step,
                met + seen,
                average,
                active,
                losses,
                *found,
            )
        at = found[0][:count].copy()
        log.append(
            Mistakes(part[at], found[1][:count].copy(), found[2][:count].copy(), met + seen + at)
        )
        wrong += errors
        seen += len(part)
        if watch.over():
            break
    return Pass(losses, Mistakes.joined(log), wrong, seen)


@njit(cache=True, nogil=True, fastmath=FAST)
def _dot(w: Vector, data: Vector, indices: Codes, start: int, stop: int) -> float:
    total = 0.0
    if len(indices) == 0:
        row = data[start:stop]
        for j in range(len(row)):
            total += w[j] * row[j]
    else:
        for j in range(start, stop):
            total += w[indices[j]] * data[j]
    return total


@njit(cache=True, nogil=True)
def _add(w: Vector, data: Vector, indices: Codes, start: int, stop: int, delta: float) -> None:
    if len(indices) == 0:
        row = data[start:stop]
        for j in range(len(row)):
            w[j] += delta * row[j]
    else:
        for j in range(start, stop):
            w[indices[j]] += delta * data[j]


@njit(cache=True, nogil=True)
def _signs_pass(
    W: Matrix,
    b: Vector,
    U: Matrix,
    u: Vector,
    data: Vector,
    indices: Codes,
    indptr: Codes,
    sides: Signs,
    order: Codes,
    rates: Matrix,
    bias_step: float,
    met: int,
    average: bool,
    active: Flags,
    losses: Vector,
    log_positions: Codes,
    log_columns: Codes,
    log_deltas: Vector,
) -> tuple[int, int]:
    count = wrong = 0
    for position in range(len(order)):
        i = order[position]
        start, stop = indptr[i], indptr[i + 1]
        before = count
        for c in range(len(b)):
            side = sides[i, c]
            if side == 0 or not active[c]:
                continue
            score = _dot(W[c], data, indices, start, stop) + b[c]
            if side * score <= 0:
                losses[c] -= side * score
                delta = rates[0, i] if side > 0 else -rates[1, i]
                _add(W[c], data, indices, start, stop, delta)
                b[c] += delta * bias_step
                if average:
                    _add(U[c], data, indices, start, stop, delta * (met + position))
                    u[c] += delta * bias_step * (met + position)
                log_positions[count] = position
                log_columns[count] = c
                log_deltas[count] = delta
                count += 1
        if count > before:
            wrong += 1
    return count, wrong


@njit(cache=True, nogil=True)
def _argmax_pass(
    W: Matrix,
    b: Vector,
    U: Matrix,
    u: Vector,
    data: Vector,
    indices: Codes,
    indptr: Codes,
    owners: Codes,
    order: Codes,
    rates: Matrix,
    bias_step: float,
    met: int,
    average: bool,
    losses: Vector,
    log_positions: Codes,
    log_columns: Codes,
    log_deltas: Vector,
) -> tuple[int, int]:
    count = wrong = 0
    scores = np.empty(len(b))
    for position in range(len(order)):
        i = order[position]
        start, stop = indptr[i], indptr[i + 1]
        for c in range(len(b)):
            scores[c] = _dot(W[c], data, indices, start, stop) + b[c]
        guess, own = int(np.argmax(scores)), owners[i]
        if guess == own:
            continue
        wrong += 1
        losses[0] += scores[guess] - scores[own]
        for c, delta in ((own, rates[0, i]), (guess, -rates[1, i])):
            _add(W[c], data, indices, start, stop, delta)
            b[c] += delta * bias_step
            if average:
                _add(U[c], data, indices, start, stop, delta * (met + position))
                u[c] += delta * bias_step * (met + position)
            log_positions[count] = position
            log_columns[count] = c
            log_deltas[count] = delta
            count += 1
    return count, wrong
