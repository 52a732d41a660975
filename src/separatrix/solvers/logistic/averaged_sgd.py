"""Logistic regression on a stream: stochastic gradient descent with a weighted average of its weights.

Symbols: t samples met, W weights (p, d), b biases (p,). The average of W_1, ..., W_t has weights 1, ..., t;
W minus it is U over their sum t (t + 1) / 2, so that a sample changes U and W in its own columns only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.perceptron.primal import OnlineState
from separatrix.solvers.rows import CompiledRows, add_row, score_row
from separatrix.types import Codes, Matrix, Vector

STEP = 2.0  # over the mean |x|^2
WARM = 10.0  # samples for each feature after which steps shrink, as 1 / sqrt(t)
LARGEST = 2.0  # over |x|^2 of the sample itself: a score moves by no more than this
DENSE = 32  # columns that the penalty shrinks per sample, about


class StreamState(NamedTuple):
    """Weights after some samples of a stream, and what the next step needs; a pass changes the arrays."""

    online: OnlineState
    met: int  # samples of positive weight
    begin: int  # those of them that were met before the stream began, in a fit
    squares: float  # sum of the others' |x|^2, with the constant feature, times their weight

    @classmethod
    def after(cls, met: int, W: Matrix, b: Vector) -> StreamState:
        """The state after a fit to some samples, or none."""
        online = OnlineState(W.copy(order="C"), b.copy(), np.zeros(W.shape), np.zeros(len(b)))
        return cls(online, met, met, 0.0)

    def average(self) -> tuple[Matrix, Vector]:
        """Weights and biases, averaged."""
        return self.online.average(self.met * (self.met + 1) // 2)


def learn_from_stream(
    state: StreamState,
    rows: CompiledRows,
    y: Codes,  # shape: (n,)
    weights: Vector,  # shape: (n,)
    squares: Vector,  # shape: (n,)
    *,
    C: float,
    intercept: bool,
    monitor: FitMonitor | None = None,
) -> StreamState:
    """Meet the samples once, in order, with one gradient step on each.

    Problem
        min  sum_i v_i log(1 + sum_(c != y_i) exp(s_ic - s_iy)) + |W|^2 / (2 C),   s_i = W x_i + b,
        over all t samples of the stream; two classes have one score, that of the second

    Given
        state      changed in place and returned
        rows       the samples, from `rows_of`; y their class codes, weights v at least 0
        squares    |x|^2 of each sample, plus 1 with a bias
        C          variance of the prior; infinite: none
        intercept  whether scores have a bias

    Returns the state: W_t = W_(t-1) - r_t g_t with the step
    r_t = STEP / (mean v |x|^2 sqrt(1 + t / (WARM d))), at most LARGEST / (v |x|^2), and the penalty's
    gradient W / (C t), of several samples at once. Nothing depends on where a stream is cut. The excess of
    the average's mean loss falls as 1 / t.

    Reference: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, SIAM J. Control
    Optim. 30 (1992); Lacoste-Julien, Schmidt and Bach, A Simpler Approach to Obtaining an O(1/t)
    Convergence Rate for the Projected Stochastic Subgradient Method (2012).
    """
    monitor = monitor or FitMonitor()
    p, d = state.online.W.shape
    every = max(1, d // DENSE) if np.isfinite(C) else 0
    step = state.met, state.begin, state.squares
    for block in row_blocks(len(y), rows_that_fit(p * rows.values_per_row, CHUNK)):
        step = _pass(
            state.online,
            rows,
            y,
            weights,
            squares,
            block.start,
            block.stop,
            step,
            C,
            intercept,
            every,
        )
        if monitor.should_stop():
            break
    return StreamState(state.online, *step)


@njit(cache=True, nogil=True)
def _pass(
    state: OnlineState,
    rows: CompiledRows,
    y: Codes,
    weights: Vector,
    squares: Vector,
    first: int,
    last: int,
    step: tuple[int, int, float],
    C: float,
    intercept: bool,
    every: int,
) -> tuple[int, int, float]:
    """Samples first..last; returns how many were met in all and before, and the sum of squares."""
    p, d = state.W.shape
    met, begin, total = step
    slopes = np.empty(p)
    for i in range(first, last):
        v = weights[i]
        if v == 0.0:
            continue
        met += 1
        total += v * squares[i]
        before = 0.5 * met * (met - 1)
        rate = STEP / (max(total / (met - begin), 1e-300) * math.sqrt(1.0 + met / (WARM * d)))
        for c in range(p):
            slopes[c] = score_row(rows, i, state.W[c], state.b[c])
        _to_slopes(slopes, y[i])
        own = v * min(rate, LARGEST / max(v * squares[i], 1e-300))
        for c in range(p):
            delta = -own * slopes[c]
            add_row(rows, i, delta, state.W[c])
            add_row(rows, i, delta * before, state.U[c])
            if intercept:
                state.b[c] += delta
                state.u[c] += delta * before
        if every and met % every == 0:
            shrink = min(0.5, rate * every / (C * met))
            for c in range(p):
                for j in range(d):
                    change = -shrink * state.W[c, j]
                    state.W[c, j] += change
                    state.U[c, j] += change * before
    return met, begin, total


@njit(cache=True, nogil=True)
def _to_slopes(scores: Vector, own: int) -> None:
    """Turn the scores of a sample of class `own` into the gradient of its loss by them."""
    if len(scores) == 1:
        side = 1.0 if own == 1 else -1.0
        t = side * scores[0]
        small = math.exp(-abs(t))
        scores[0] = -side * (small if t >= 0.0 else 1.0) / (1.0 + small)
        return
    most, total = scores.max(), 0.0
    for c in range(len(scores)):
        scores[c] = math.exp(scores[c] - most)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] = scores[c] / total - (1.0 if c == own else 0.0)
