"""The linear perceptron, one weight vector for each class or boundary, dense and sparse rows alike.

Symbols: W weights (p, d), b biases (p,), U the part of the sum of all past W that the last lacks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload
from scipy.sparse import issparse

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.types import Codes, Flags, Matrix, Signs, Vector

FAST = {
    "contract",
    "reassoc",
    "nsz",
    "arcp",
}  # sums may be reordered; NaN and inf stay what they are


class SparseRows(NamedTuple):
    """CSR samples in no more bytes than it takes, since rows are met at random."""

    data: Any  # stored values, or the number 1.0 where they all are
    indices: Codes
    indptr: Codes  # shape: (n + 1,)

    @classmethod
    def of(cls, X: Any) -> SparseRows:
        """The rows of a CSR matrix."""
        narrow = next(
            kind
            for kind in (np.uint8, np.uint16, np.uint32)
            if X.shape[1] - 1 <= np.iinfo(kind).max
        )
        data = 1.0 if (X.data == 1.0).all() else X.data
        return cls(data, X.indices.astype(narrow), X.indptr.astype(np.int64))


def rows_of(X: Any) -> tuple[Any, ...]:
    """Samples as compiled passes read them, dense or CSR."""
    return SparseRows.of(X) if issparse(X) else (np.ascontiguousarray(X),)


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
    rows: tuple[Any, ...],
    sides: Signs,  # shape: (n, p)
    order: Codes,
    *,
    rule: str,
    rates: Matrix,  # shape: (2, n)
    bias_step: float,
    active: Flags,
    met: int = 0,
    average: bool = False,
    keep_mistakes: bool = True,
    monitor: FitMonitor | None = None,
) -> Pass:
    """Meet the examples in order once, correcting at every mistake.

    Problem
        signs:   t_ic (<w_c, x_i> + b_c) > 0 for every example i and boundary c
        argmax:  <w_c, x_i> + b_c largest at the own class, for every example i

    Given
        state      changed in place
        rows       the samples, from `rows_of`
        rule       "signs" or "argmax", as in `solve_kernel_perceptron`
        rates      size of the correction on each row, where it is added and where it is taken off:
                   learning rate times weight
        bias_step  what the constant feature is worth: 1, or R^2, or 0 for no bias
        active     boundaries that still learn, (p,)
        met        examples met before this pass
        average    whether U and u are kept
        keep_mistakes  whether they are listed or only counted
        watch      asked between chunks whether to go on

    Returns the loss, every mistake and how far it got.

    Reference: Rosenblatt, The Perceptron, Psychological Review 65 (1958); Crammer and Singer,
    Ultraconservative Online Algorithms for Multiclass Problems, JMLR 3 (2003).
    """
    monitor = monitor or FitMonitor()
    sparse = isinstance(rows, SparseRows)
    values = len(rows[1]) // max(1, len(rows[2]) - 1) if sparse else rows[0].shape[1]
    one_pass = _sparse_pass if sparse else _dense_pass
    by_argmax = rule == "argmax"
    owners = np.nonzero(sides > 0)[1] if by_argmax else np.empty(0, dtype=np.intp)
    p = len(state.b)
    losses = np.zeros(p)
    log: list[Mistakes] = []
    wrong = seen = 0
    for block in row_blocks(len(order), rows_that_fit(p * values, CHUNK)):
        part = order[block]
        room = len(part) * (2 if by_argmax else p) if keep_mistakes else 0
        found = (np.empty(room, dtype=np.intp), np.empty(room, dtype=np.intp), np.empty(room))
        count, errors = one_pass(
            *state, *rows, sides, owners, part, rates, bias_step, met + seen, average, active,
            losses, *found,
        )  # fmt: skip
        if keep_mistakes:
            at = found[0][:count].copy()
            steps = met + seen + at
            log.append(Mistakes(part[at], found[1][:count].copy(), found[2][:count].copy(), steps))
        wrong += errors
        seen += len(part)
        if monitor.should_stop():
            break
    return Pass(losses, Mistakes.joined(log), wrong, seen)


@njit(cache=True, nogil=True)
def _corrections(
    i: int,
    scores: Vector,
    sides: Signs,
    owners: Codes,
    rates: Matrix,
    active: Flags,
    losses: Vector,
    deltas: Vector,
) -> bool:
    """Whether example i is mistaken, given its scores; deltas become what it adds to each boundary."""
    deltas[:] = 0.0
    if len(owners):
        guess, own = np.argmax(scores), owners[i]
        if guess != own:
            losses[0] += scores[guess] - scores[own]
            deltas[own], deltas[guess] = rates[0, i], -rates[1, i]
        return bool(guess != own)
    mistaken = False
    for c in range(len(scores)):
        if active[c] and sides[i, c] * scores[c] <= 0 and sides[i, c] != 0:
            losses[c] -= sides[i, c] * scores[c]
            deltas[c] = rates[0, i] if sides[i, c] > 0 else -rates[1, i]
            mistaken = True
    return mistaken


@njit(cache=True, nogil=True)
def _write_down(
    position: int,
    deltas: Vector,
    count: int,
    log_positions: Codes,
    log_columns: Codes,
    log_deltas: Vector,
) -> int:
    """Note the corrections that are not 0 behind the `count` noted so far; returns how many there are."""
    for c in range(len(deltas)):
        if deltas[c] != 0.0 and len(log_columns):
            log_positions[count], log_columns[count], log_deltas[count] = position, c, deltas[c]
            count += 1
    return count


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _dot(w: Vector, row: Vector) -> float:
    total = 0.0
    for j in range(len(row)):
        total += w[j] * row[j]
    return total


@njit(cache=True, nogil=True)
def _add(w: Vector, row: Vector, delta: float) -> None:
    for j in range(len(row)):
        w[j] += delta * row[j]


@njit(cache=True, nogil=True)
def _dense_pass(
    W: Matrix,
    b: Vector,
    U: Matrix,
    u: Vector,
    X: Matrix,
    sides: Signs,
    owners: Codes,
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
    scores, deltas = np.zeros(len(b)), np.zeros(len(b))
    for position in range(len(order)):
        i = order[position]
        for c in range(len(b)):
            scores[c] = _dot(W[c], X[i]) + b[c]
        if not _corrections(i, scores, sides, owners, rates, active, losses, deltas):
            continue
        for c in range(len(b)):
            if deltas[c] != 0.0:
                _add(W[c], X[i], deltas[c])
                b[c] += deltas[c] * bias_step
                if average:
                    _add(U[c], X[i], deltas[c] * (met + position))
                    u[c] += deltas[c] * bias_step * (met + position)
        count = _write_down(position, deltas, count, log_positions, log_columns, log_deltas)
        wrong += 1
    return count, wrong


def value_at(data: Any, j: int) -> float:
    """Stored value number j; 1 where all are."""
    return float(data[j]) if np.ndim(data) else 1.0


@overload(value_at, strict=False)  # not strict: annotations would have to be the same too
def _compiled_value(data: Any, j: Any) -> Any:  # noqa: ARG001
    """Chosen when compiling: without stored values nothing is read and nothing multiplied."""
    if isinstance(data, types.Array):
        return lambda data, j: data[j]
    return lambda data, j: 1.0  # noqa: ARG005


@njit(cache=True, nogil=True)
def _sparse_pass(
    W: Matrix,
    b: Vector,
    U: Matrix,
    u: Vector,
    data: Any,
    indices: Codes,
    indptr: Codes,
    sides: Signs,
    owners: Codes,
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
    """As `_dense_pass`, with the loops written out: a call costs more than a short row.

    Sums go in order: reordered ones become gather instructions, which are slow.
    """
    count = wrong = 0
    by_argmax = len(owners) > 0
    scores, deltas = np.zeros(len(b)), np.zeros(len(b))
    for position in range(len(order)):
        i = order[position]
        start, stop = indptr[i], indptr[i + 1]
        mistaken = False
        for c in range(len(b)):
            score = b[c]
            for j in range(start, stop):
                score += W[c, indices[j]] * value_at(data, j)
            if by_argmax:
                scores[c] = score
            elif sides[i, c] * score <= 0 and active[c]:
                mistaken = True
                losses[c] -= sides[i, c] * score
                delta = rates[0, i] if sides[i, c] > 0 else -rates[1, i]
                for j in range(start, stop):
                    W[c, indices[j]] += delta * value_at(data, j)
                b[c] += delta * bias_step
                if average:
                    later = delta * (met + position)
                    _add_sparse(U, u, c, data, indices, start, stop, later, bias_step)
                if len(log_columns):
                    log_positions[count], log_columns[count], log_deltas[count] = position, c, delta
                    count += 1
        if by_argmax and _corrections(i, scores, sides, owners, rates, active, losses, deltas):
            mistaken = True
            for c in range(len(b)):
                if deltas[c] != 0.0:
                    _add_sparse(W, b, c, data, indices, start, stop, deltas[c], bias_step)
                    if average:
                        later = deltas[c] * (met + position)
                        _add_sparse(U, u, c, data, indices, start, stop, later, bias_step)
            count = _write_down(position, deltas, count, log_positions, log_columns, log_deltas)
        wrong += mistaken
    return count, wrong


@njit(cache=True, nogil=True)
def _add_sparse(
    W: Matrix,
    b: Vector,
    c: int,
    data: Any,
    indices: Codes,
    start: int,
    stop: int,
    delta: float,
    bias_step: float,
) -> None:
    for j in range(start, stop):
        W[c, indices[j]] += delta * value_at(data, j)
    b[c] += delta * bias_step
