"""Crammer and Singer's support vector machine: one weight vector for each class, learned together.

Symbols: W weights (d, k), b biases (k,), A dual variables (n, k).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from separatrix.runtime.blocks import rows_that_fit
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.solvers.linear_svm.dual_descent import TINY, Samples, draw
from separatrix.solvers.perceptron.primal import value_at
from separatrix.solvers.stopping import passes_until, relative_gap
from separatrix.types import Codes, Matrix, Vector

ROUNDING = 1e-14


class MulticlassFit(NamedTuple):
    """Where it stopped, and how far from the optimum that can be."""

    W: Matrix  # shape: (d, k)
    b: Vector  # shape: (k,)
    A: Matrix  # shape: (n, k); dual variables that certify it
    objective: float
    dual_objective: float  # no solution is below it
    violation: float  # what had to fall to tol
    n_iter: int
    stop: str  # "tol", "max_iter" or "stopped"

    @property
    def gap(self) -> float:
        """Relative duality gap, (P - D) / max(|P|, 1)."""
        return relative_gap(self.objective, self.dual_objective)


def solve_crammer_singer(
    samples: Samples,
    y: Codes,  # shape: (n,)
    price: Vector,  # shape: (n,)
    *,
    n_classes: int,
    bias_step: float,
    tol: float,
    max_iter: int,
    seed: int,
    monitor: FitMonitor | None = None,
) -> MulticlassFit:
    """Minimise over the dual variables of one sample after the other, in random order.

    Problem
        min_(W, b)  (|W|^2 + |b|^2 / bias_step) / 2
                    + sum_i price_i max(0, 1 + max_(c != y_i) f_c(x_i) - f_(y_i)(x_i))
        dual: A_ic <= price_i [c = y_i],  sum_c A_ic = 0,  W = sum_i x_i A_i

    Given
        price      C times the weight of each sample, above 0
        bias_step  square of the constant feature; 0: no biases
        tol        largest violation of a sample over one whole pass: the spread of the gradient
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
    still = np.flatnonzero(curvature <= 0.0)  # samples that no weights can tell apart
    A[still, y[still]] = price[still]
    A[still, (y[still] + 1) % n_classes] = -price[still]
    active = np.flatnonzero(curvature > 0.0)
    position, bounds = np.array([0, len(active), 0]), np.array([np.inf, 0.0])
    state = np.array([seed], dtype=np.uint64)
    rows = rows_that_fit((samples.values + 10) * n_classes, CHUNK)

    def some_rows() -> bool:
        return bool(
            _passes(
                *samples.rows,
                y,
                price,
                curvature,
                bias_step,
                tol,
                W,
                b,
                A,
                active,
                position,
                bounds,
                state,
                max_iter,
                rows,
            )
        )

    stop = passes_until(some_rows, position, max_iter, monitor)
    W = np.asarray(samples.X.T @ A)  # without the rounding of all the steps
    b = bias_step * A.sum(axis=0)
    return _certified(samples, y, price, bias_step, W, b, A, int(position[2]), stop)


def _certified(
    samples: Samples,
    y: Codes,
    price: Vector,
    bias_step: float,
    W: Matrix,
    b: Vector,
    A: Matrix,
    n_iter: int,
    stop: str,
) -> MulticlassFit:
    everyone = np.arange(len(y))
    own = np.zeros(A.shape, dtype=np.bool_)
    own[everyone, y] = True
    G = np.asarray(samples.X @ W) + b + ~own
    losses = G.max(axis=1) - G[everyone, y]
    square = float((W**2).sum()) + (float(b @ b) / bias_step if bias_step else 0.0)
    below = -0.5 * square - float(A[~own].sum())
    rising = own * price[:, None] > A
    least = np.where(rising, G, np.inf).min(axis=1)
    reached = float((G.max(axis=1) - least).max(initial=0.0))
    return MulticlassFit(
        W, b, A, 0.5 * square + float(price @ losses), below, reached, n_iter, stop
    )


@njit(cache=True, nogil=True)
def _passes(
    data: Any,
    indices: Any,
    indptr: Any,
    y: Codes,
    price: Vector,
    curvature: Vector,
    bias_step: float,
    tol: float,
    W: Matrix,
    b: Vector,
    A: Matrix,
    active: Codes,
    position: Codes,
    bounds: Vector,
    state: Any,
    max_iter: int,
    rows: int,
) -> bool:
    """Meet at most so many rows; whether a pass over all of them met tol.

    place: rows met in this pass, rows still active, passes made. bounds: lead beyond which a row
    without dual variables is left out, and the largest violation of this pass.
    """
    n, k, random = len(active), W.shape[1], state[0]
    met, size, passes = position
    lead, largest = bounds
    G, new, change, ranked = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    met_tol = False
    while rows > 0 and passes < max_iter and not met_tol:
        while met < size and rows > 0:
            rows -= 1
            random, drawn = draw(random, size - met)
            chosen = met + drawn
            i = active[chosen]
            active[chosen] = active[met]
            active[met] = i
            own = y[i]
            for c in range(k):
                G[c] = b[c] + (c != own)
            _add_scores(data, indices, indptr, i, W, G)
            highest, rival, least, empty = -np.inf, -np.inf, np.inf, True
            for c in range(k):
                highest = max(highest, G[c])
                if c != own:
                    rival = max(rival, G[c])
                if A[i, c] < (price[i] if c == own else 0.0):
                    least = min(least, G[c])
                empty = empty and A[i, c] == 0.0
            if empty and G[own] - rival > lead:
                size -= 1
                active[met] = active[size]
                active[size] = i
                continue
            met += 1
            largest = max(largest, highest - least)
            if highest - least <= TINY:
                continue
            _best(G, A[i], own, price[i], curvature[i], new, ranked)
            moved = False
            for c in range(k):
                change[c] = new[c] - A[i, c]
                moved = moved or change[c] != 0.0
                A[i, c] = new[c]
                b[c] += bias_step * change[c]
            if moved:
                _add_row(data, indices, indptr, i, change, W)
        if met < size:
            break
        passes += 1
        met = 0
        lead = max(largest, tol)
        if largest <= tol:
            met_tol = size == n
            size, lead = n, np.inf
        largest = 0.0
    position[:] = met, size, passes
    bounds[:] = lead, largest
    state[0] = random
    return met_tol


@njit(cache=True, nogil=True)
def _best(
    G: Vector, a: Vector, own: int, price: float, square: float, new: Vector, ranked: Vector
) -> None:
    """The best dual variables of one sample: a cut at one level beta, found from the ranking."""
    for c in range(len(G)):
        ranked[c] = G[c] - square * a[c]
    ranked[own] += square * price
    ranked.sort()
    k = len(G)
    beta, count = ranked[k - 1] - square * price, 1
    while count < k and beta < count * ranked[k - 1 - count]:
        beta += ranked[k - 1 - count]
        count += 1
    beta /= count
    for c in range(k):
        cap = price if c == own else 0.0
        new[c] = min(cap, (beta - G[c]) / square + a[c])
        if new[c] > cap - ROUNDING * price:
            new[c] = cap  # or rounding would look like room to rise


def _add_scores(data: Any, indices: Any, indptr: Any, i: int, W: Matrix, out: Vector) -> None:
    """Add <w_c, x_i> to out_c, for every class c."""
    raise NotImplementedError


def _add_row(data: Any, indices: Any, indptr: Any, i: int, step: Vector, W: Matrix) -> None:
    """Add step_c x_i to w_c, for every class c."""
    raise NotImplementedError


# Chosen when compiling: a matrix, stored values, or none where all of them are 1.
@overload(_add_scores, strict=False)
def _compiled_scores(data: Any, *_: Any) -> Any:
    if isinstance(data, types.Array) and data.ndim == 2:

        def dense(data: Any, indices: Any, indptr: Any, i: int, W: Matrix, out: Vector) -> None:  # noqa: ARG001
            for j in range(data.shape[1]):
                for c in range(len(out)):
                    out[c] += data[i, j] * W[j, c]

        return dense

    def sparse(data: Any, indices: Any, indptr: Any, i: int, W: Matrix, out: Vector) -> None:
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(len(out)):
                out[c] += value_at(data, j) * W[indices[j], c]

    return sparse


@overload(_add_row, strict=False)
def _compiled_row(data: Any, *_: Any) -> Any:
    if isinstance(data, types.Array) and data.ndim == 2:

        def dense(data: Any, indices: Any, indptr: Any, i: int, step: Vector, W: Matrix) -> None:  # noqa: ARG001
            for j in range(data.shape[1]):
                for c in range(len(step)):
                    W[j, c] += data[i, j] * step[c]

        return dense

    def sparse(data: Any, indices: Any, indptr: Any, i: int, step: Vector, W: Matrix) -> None:
        for j in range(indptr[i], indptr[i + 1]):
            for c in range(len(step)):
                W[indices[j], c] += value_at(data, j) * step[c]

    return sparse
