"""Crammer and Singer's support vector machine: one weight vector for each class, learned together.

Symbols: W weights (d, k), b biases (k,), A dual variables (n, k).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.linear_svm.dual_descent import TINY, LinearFit, LinearSamples
from separatrix.solvers.linear_svm.shrinking import DescentState, draw_next, leave_out
from separatrix.solvers.rows import CompiledRows, add_outer, add_scores
from separatrix.types import Codes, Matrix, Vector

ROUNDING = 1e-14
FEW_CLASSES = 16  # up to which insertion sorts faster


def solve_crammer_singer(
    samples: LinearSamples,
    y: Codes,  # shape: (n,)
    price: Vector,  # shape: (n,)
    *,
    n_classes: int,
    bias_step: float,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: FitMonitor | None = None,
) -> LinearFit:
    """Dual coordinate descent over all variables of one sample at a time, with shrinking.

    Problem
        min_(W, b)  (|W|^2 + |b|^2 / bias_step) / 2
                    + sum_i price_i max(0, 1 + max_(c != y_i) f_c(x_i) - f_(y_i)(x_i))
        dual: A_ic <= price_i [c = y_i],  sum_c A_ic = 0,  W = sum_i x_i A_i

    Given
        price      C times the weight of each sample, above 0
        bias_step  square of the constant feature; 0: no biases
        tol        largest violation of a sample over one full pass: the spread of the gradient
                   over the classes whose dual variables may rise
        max_iter   passes at most
        seed       draws the orders

    Returns the weights with their certificate.

    Reference: Crammer and Singer, On the Algorithmic Implementation of Multiclass Kernel-based
    Vector Machines, JMLR 2 (2001). Keerthi, Sundararajan, Chang, Hsieh and Lin, A Sequential Dual
    Method for Large Scale Multi-Class Linear SVMs, KDD 2008.
    """
    monitor = monitor or FitMonitor()
    n, d = samples.X.shape
    W, b, A = np.zeros((d, n_classes)), np.zeros(n_classes), np.zeros((n, n_classes))
    curvature = samples.squares + bias_step
    zero = np.flatnonzero(curvature <= 0.0)  # zero samples: no weights can separate them
    A[zero, y[zero]] = price[zero]
    A[zero, (y[zero] + 1) % n_classes] = -price[zero]
    state = DescentState.start(np.flatnonzero(curvature > 0.0), [np.inf, 0.0], seed)
    budget = rows_that_fit((samples.rows.values_per_row + 10) * n_classes, CHUNK)
    some_rows = partial(
        _passes, samples.rows, y, price, curvature, bias_step, tol, W, b, A, state, max_iter, budget
    )
    stop = state.run(some_rows, max_iter, monitor)
    W = np.asarray(samples.X.T @ A)  # without the rounding of all the steps
    b = bias_step * A.sum(axis=0)
    everyone = np.arange(n)
    own = np.zeros(A.shape, dtype=np.bool_)
    own[everyone, y] = True
    G = np.asarray(samples.X @ W) + b + ~own
    losses = G.max(axis=1) - G[everyone, y]
    square = float((W**2).sum()) + (float(b @ b) / bias_step if bias_step else 0.0)
    below = -0.5 * square - float(A[~own].sum())
    rising = own * price[:, None] > A
    least = np.where(rising, G, np.inf).min(axis=1)
    reached = float((G.max(axis=1) - least).max(initial=0.0))
    objective = 0.5 * square + float(price @ losses)
    return LinearFit(W, b, A, objective, below, reached, state.passes, stop)


@njit(cache=True, nogil=True)
def _passes(
    rows: CompiledRows,
    y: Codes,
    price: Vector,
    curvature: Vector,
    bias_step: float,
    tol: float,
    W: Matrix,
    b: Vector,
    A: Matrix,
    state: DescentState,
    max_iter: int,
    budget: int,
) -> bool:
    """Meet at most `budget` rows; returns whether a pass over all of them met tol.

    bounds: lead beyond which a row is left out that has one variable below its cap, whose class leads
    all others, and the largest violation of this pass.
    """
    active, progress, bounds = state.active, state.progress, state.bounds
    n, k, random = len(active), W.shape[1], state.random[0]
    met, size, passes = progress
    lead, largest = bounds
    G, new, change, ranked = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    met_tol = False
    while budget > 0 and passes < max_iter and not met_tol:
        while met < size and budget > 0:
            budget -= 1
            random, i = draw_next(active, met, size, random)
            own = y[i]
            for c in range(k):
                G[c] = b[c] + (c != own)
            add_scores(rows, i, W, G)
            highest, capped, least, free = -np.inf, -np.inf, np.inf, 0
            for c in range(k):
                highest = max(highest, G[c])
                if A[i, c] < (price[i] if c == own else 0.0):
                    least = min(least, G[c])
                    free += 1
                else:
                    capped = max(capped, G[c])
            if free == 1 and least - capped > lead:
                size = leave_out(active, met, size)
                continue
            met += 1
            largest = max(largest, highest - least)
            if highest - least <= TINY:
                continue
            _solve_one(G, A[i], own, price[i], curvature[i], new, ranked)
            moved = False
            for c in range(k):
                change[c] = new[c] - A[i, c]
                moved = moved or change[c] != 0.0
                A[i, c] = new[c]
                b[c] += bias_step * change[c]
            if moved:
                add_outer(rows, i, change, W)
        if met < size:
            break
        passes += 1
        met = 0
        lead = max(largest, tol)
        if largest <= tol:
            met_tol = size == n
            size, lead = n, np.inf
        largest = 0.0
    progress[:] = met, size, passes
    bounds[:] = lead, largest
    state.random[0] = random
    return met_tol


@njit(cache=True, nogil=True)
def _solve_one(
    G: Vector, a: Vector, own: int, price: float, square: float, new: Vector, ranked: Vector
) -> None:
    """Optimal dual variables of one sample: a cut at one level beta, found by sorting."""
    k = len(G)
    for c in range(k):
        value = G[c] - square * a[c] + (square * price if c == own else 0.0)
        if k > FEW_CLASSES:
            ranked[c] = value
            continue
        slot = c
        while slot > 0 and ranked[slot - 1] > value:
            ranked[slot] = ranked[slot - 1]
            slot -= 1
        ranked[slot] = value
    if k > FEW_CLASSES:
        ranked.sort()
    beta, count = ranked[k - 1] - square * price, 1
    while count < k and beta < count * ranked[k - 1 - count]:
        beta += ranked[k - 1 - count]
        count += 1
    beta /= count
    for c in range(k):
        cap = price if c == own else 0.0
        new[c] = min(cap, (beta - G[c]) / square + a[c])
        if new[c] > cap - ROUNDING * price:
            new[c] = cap  # else rounding would look like a variable below its cap
