"""Subgradient descent with a fixed step on a linear machine: one pass over the samples for each step.

Symbols: an iterate is Z = (w0, w), bias first, (p, d + 1); b and W are its two parts; f the objective,
G its subgradient; t = y (w0 + <w, x>) the margin of a sample.
Rows are read as they are stored, uint8 pixels too; every sum is float64. Sums are made in parts that
depend on the samples only and are added in order, so the number of threads changes no bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.jit import njit
from separatrix.runtime.blocks import MEBIBYTE, default_budget, row_blocks, rows_that_fit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.sums import total
from separatrix.runtime.threads import in_threads
from separatrix.solvers.rows import CompiledRows, add_row, score_row
from separatrix.types import Block, Codes, Matrix, Vector

LOSSES = ("hinge", "squared_hinge", "logistic", "sigmoid")  # compiled code knows them by number

TILE = 32  # rows, an even number, read twice while they are in the nearest cache
PARTS = 16  # sums made side by side, at most
PART_VALUES = 2**20  # stored values below which a part is not worth a thread
PART_BYTES = 256 * MEBIBYTE  # memory of all such sums together

Iterate = tuple[
    Matrix, Vector, Codes
]  # W (p, d), b (p,), code of each boundary's positive class (p,)
Labels = tuple[Codes, Vector, int]  # codes and weights of the samples, (n,), and number of the loss
LossSums = tuple[Vector, Vector, Matrix]  # of f (p,), its slope by b (p,) and by W (p, d)


class ObjectiveValue(NamedTuple):
    """The objective and a subgradient at one iterate."""

    f: Vector  # shape: (p,)
    G: Matrix  # shape: (p, d + 1)


@dataclass(frozen=True)
class Objective:
    """f(w0, w) = mu |w|^2 + sum_i v_i loss(t_i) / total, for one boundary or for many at once."""

    X: Any  # shape: (n, d); dense C-ordered uint8, float32 or float64, or CSR
    codes: Codes  # shape: (n,); what each sample is
    weights: Vector  # shape: (n,); v, at least 0; a sample of weight 0 adds nothing
    total: float  # n, or the sum of the sample weights
    loss: str
    mu: float
    threads: int = 1

    def at(self, Z: Matrix, own: Codes, monitor: FitMonitor | None = None) -> ObjectiveValue | None:
        """Value and subgradient at Z = (w0, w), (p, d + 1), or None if cancelled.

        Boundary c has the samples whose code is own[c] on its positive side, all others on the other.
        """
        monitor = monitor or FitMonitor()
        W, p = Z[:, 1:].copy(), len(Z)
        iterate = W, Z[:, 0].copy(), own
        labels = self.codes, self.weights, LOSSES.index(self.loss)
        add_rows, rows = _add_dense_rows, self.X
        if issparse(self.X):
            rows = CompiledRows(self.X.data, self.X.indices, self.X.indptr)
            add_rows = _add_sparse_rows
        chunk = rows_that_fit(2 * p * self._values_in_a_row, CHUNK)

        def part(block: slice) -> LossSums | None:
            sums = np.zeros(p), np.zeros(p), np.zeros_like(W)
            for piece in row_blocks(block.stop - block.start, chunk):
                if monitor.should_stop():
                    return None
                first, last = block.start + piece.start, block.start + piece.stop
                add_rows(iterate, rows, labels, first, last, sums)
            return sums

        found = in_threads(part, self._parts(p), threads=self.threads, monitor=monitor)
        done = [sums for sums in found if sums is not None]
        if len(done) < len(found):
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # a step too large is seen by its f
            parts = zip(*done, strict=True)
            f, g, G = (sum(sums[1:], start=sums[0]) / self.total for sums in parts)
            f += self.mu * np.einsum("cj,cj->c", W, W)
            G += 2.0 * self.mu * W
        return ObjectiveValue(f, np.column_stack([g, G]))

    @property
    def _values_in_a_row(self) -> int:
        n, d = self.X.shape
        return max(1, int(self.X.nnz) // n) if issparse(self.X) else int(d)

    def _parts(self, p: int) -> list[slice]:
        n, d = self.X.shape
        most = rows_that_fit(8 * p * d, PART_BYTES, most=PARTS)
        parts = rows_that_fit(PART_VALUES, n * self._values_in_a_row, most=most)
        return list(row_blocks(n, -(-n // parts)))


class BlockObjective:
    """The same as a sum over blocks that `total` sums; their weights v sum to `weight`."""

    def __init__(self, blocks: Any, weight: float, *, total: float, loss: str, mu: float) -> None:
        self.blocks, self.loss, self.mu, self.total = blocks, loss, mu, total
        self.X, self.weights = np.empty((0, blocks.n_features)), np.array([weight])

    def at(self, Z: Matrix, own: Codes, monitor: FitMonitor | None = None) -> ObjectiveValue:
        """Value and subgradient at Z, as `Objective.at`."""
        f, G = total(partial(_loss_sums, Z=Z, own=own, loss=self.loss), self.blocks, _add_sums)
        W = Z[:, 1:]
        with np.errstate(over="ignore", invalid="ignore"):
            f, G = f / self.total + self.mu * np.einsum("cj,cj->c", W, W), G / self.total
            G[:, 1:] += 2.0 * self.mu * W
        return ObjectiveValue(f, G)


def _loss_sums(block: Block, *, Z: Matrix, own: Codes, loss: str) -> ObjectiveValue:
    X = block.X if issparse(block.X) else np.ascontiguousarray(block.X)
    found = Objective(X, block.y, block.weights, 1.0, loss, 0.0).at(Z, own)
    assert found is not None  # without a monitor
    return found


def _add_sums(a: ObjectiveValue, b: ObjectiveValue) -> ObjectiveValue:
    return ObjectiveValue(a.f + b.f, a.G + b.G)


class SubgradientFit(NamedTuple):
    """Where subgradient descent went and why it stopped. An iterate is (w0, w), the bias first."""

    last: Matrix  # shape: (p, d + 1)
    average: Matrix  # shape: (p, d + 1); mean of all iterates of each problem, the start among them
    iterates: Matrix  # shape: (j, p, d + 1); those that were kept, the last always
    kept: Codes  # shape: (j,); steps made before each of them
    keep_every: int  # as asked, or more where memory ran out
    losses: Matrix  # shape: (steps + 1, p); f at every iterate; a finished problem repeats its last
    steps: Codes  # shape: (p,)
    stops: Any  # shape: (p,); "eps", "max_iter", "stopped" or "diverged"


def solve_subgradient(
    objective: Objective | BlockObjective,
    own: Codes,
    *,
    alpha: float,
    eps: float,
    max_iter: int,
    keep_every: int = 1,
    monitor: FitMonitor | None = None,
) -> SubgradientFit:
    """Go down along subgradients from zero, with a fixed step, until f hardly changes.

    Problem
        min  mu |w|^2 + mean_i loss(y_i (w0 + <w, x_i>)),   for every boundary by itself

        hinge          max(0, 1 - t)      slope -1 where 1 - t >= 0, at equality too
        squared_hinge  max(0, 1 - t)^2
        logistic       -log sigma(t)
        sigmoid        -sigma(t), which is not convex: where it ends depends on where it starts

    Given
        own         code of the positive class of each boundary, (p,)
        alpha       the step: z_1 = 0, z_(k+1) = z_k - alpha g_k for z = (w0, w)
        eps         go on while k <= 1 or |f_k - f_(k-1)| > eps
        max_iter    steps at most: a fixed step may never meet eps
        keep_every  keep the iterates after 0, m, 2m, ... steps and the last; 0: only the last.
                    When they fill half the memory budget, m doubles
        monitor     may cancel between chunks

    Returns the last iterate, the average, the iterates, f at all of them and why each boundary
    stopped. Where f overflows, the boundary stays at its last finite iterate and has "diverged".

    Reference: Shor, Minimization Methods for Non-Differentiable Functions (1985), chapter 2.
    """
    monitor = monitor or FitMonitor()
    p = len(own)
    Z = np.zeros((p, objective.X.shape[1] + 1))
    average, steps = np.zeros_like(Z), np.zeros(p, dtype=np.intp)
    at_zero, _ = _loss_and_slope(LOSSES.index(objective.loss), 0.0)
    losses = [np.full(p, at_zero * objective.weights.sum() / objective.total)]
    trail = _Trail(keep_every, default_budget() // 2)
    trail.add(0, Z)
    going, stops = np.arange(p), np.full(p, "stopped", dtype="<U8")
    now = objective.at(Z, own, monitor)
    for step in range(1, max_iter + 1):
        if now is None:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            moved = Z[going] - alpha * now.G
        then = objective.at(moved, own[going], monitor)
        if then is None:
            break
        good = np.isfinite(then.f) & np.isfinite(moved).all(axis=1)
        near = np.abs(then.f - losses[-1][going]) <= eps
        stops[going[near]] = "eps"
        stops[going[~good]] = "diverged"
        made = going[good]
        if len(made):
            Z[made], steps[made] = moved[good], step
            average[made] += (Z[made] - average[made]) / (step + 1)
            losses.append(losses[-1].copy())
            losses[-1][made] = then.f[good]
            trail.add(step, Z)
        left = good & ~near
        going, now = going[left], ObjectiveValue(then.f[left], then.G[left])
        monitor.step()
        if not len(going) or monitor.should_stop():
            break
    else:
        stops[going] = "max_iter"
    kept = trail.all(len(losses) - 1, Z)
    return SubgradientFit(Z, average, *kept, trail.every, np.array(losses), steps, stops)


class _Trail:
    """The iterates after 0, m, 2m, ... steps; m doubles when memory runs out."""

    def __init__(self, every: int, budget: int) -> None:
        self.every, self._budget = every, budget
        self._steps: list[int] = []
        self._iterates: list[Matrix] = []

    def add(self, step: int, Z: Matrix) -> None:
        if not self.every or step % self.every:
            return
        self._append(step, Z)
        if len(self._steps) > 2 and len(self._steps) * Z.nbytes > self._budget:
            del self._steps[1::2], self._iterates[1::2]
            self.every *= 2

    def all(self, step: int, Z: Matrix) -> tuple[Matrix, Codes]:
        """Iterates with the last, (j, p, d + 1), and the steps made before each, (j,)."""
        if step not in self._steps[-1:]:
            self._append(step, Z)
        return np.stack(self._iterates), np.array(self._steps, dtype=np.intp)

    def _append(self, step: int, Z: Matrix) -> None:
        self._steps.append(step)
        self._iterates.append(Z.copy())


@njit(cache=True, nogil=True)
def _loss_and_slope(kind: int, t: float) -> tuple[float, float]:
    """Loss number `kind` of the margin t and its slope. The loss of NaN is NaN."""
    if kind <= 1:
        gap = 1.0 - t
        if gap < 0.0:
            return 0.0, 0.0
        return (gap, -1.0) if kind == 0 else (gap * gap, -2.0 * gap)
    small = math.exp(-abs(t))  # never overflows
    low, high = small / (1.0 + small), 1.0 / (1.0 + small)
    sigma, rest = (high, low) if t >= 0.0 else (low, high)
    if kind == 2:
        return math.log1p(small) + (0.0 if t >= 0.0 else -t), -rest
    return -sigma, -sigma * rest


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _dots(w: Vector, row: Any, other: Any) -> tuple[float, float]:
    """Products of w with two rows: w is read once."""
    first = second = 0.0
    for j in range(len(w)):
        first += w[j] * row[j]
        second += w[j] * other[j]
    return first, second


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _add(G: Vector, row: Any, other: Any, pull: float, other_pull: float) -> None:
    """Add two rows times their pulls: G is written once."""
    for j in range(len(G)):
        G[j] += pull * row[j] + other_pull * other[j]


@njit(cache=True, nogil=True)
def _tile(
    iterate: Iterate,
    rows: Any,
    at: int,
    count: int,
    labels: Labels,
    start: int,
    sums: LossSums,
    scratch: tuple[Vector, Vector, Codes],
) -> None:
    """Samples start..start+count, which lie in rows[at : at + count]: their part of f, g and G."""
    W, b, own = iterate
    codes, weights, kind = labels
    f, g, G = sums
    scores, pulls, positions = scratch
    for c in range(len(b)):
        for k in range(0, count, 2):  # of an odd last row both are the same
            i, j = at + k, at + min(k + 1, count - 1)
            scores[k], scores[k + 1] = _dots(W[c], rows[i], rows[j])
        pulling = 0
        for k in range(count):
            i = start + k
            if weights[i] == 0.0:
                continue
            side = 1.0 if codes[i] == own[c] else -1.0
            loss, slope = _loss_and_slope(kind, side * (scores[k] + b[c]))
            f[c] += weights[i] * loss
            pull = weights[i] * side * slope
            if pull != 0.0:
                g[c] += pull
                positions[pulling], pulls[pulling] = at + k, pull
                pulling += 1
        positions[pulling], pulls[pulling] = at, 0.0  # the partner of an odd last row
        for k in range(0, pulling, 2):
            _add(G[c], rows[positions[k]], rows[positions[k + 1]], pulls[k], pulls[k + 1])


@njit(cache=True, nogil=True)
def _add_dense_rows(
    iterate: Iterate, X: Any, labels: Labels, first: int, last: int, sums: LossSums
) -> None:
    """Add what samples first..last give to f, g and G, a tile at a time.

    One boundary reads the samples where they are; many share a float64 copy of the tile.
    """
    alone = len(iterate[1]) == 1
    copied = np.empty((0 if alone else TILE, X.shape[1]))
    scratch = np.empty(TILE), np.empty(TILE + 1), np.empty(TILE + 1, dtype=np.intp)
    for start in range(first, last, TILE):
        count = min(TILE, last - start)
        if alone:
            _tile(iterate, X, start, count, labels, start, sums, scratch)
            continue
        for k in range(count):
            for j in range(X.shape[1]):
                copied[k, j] = X[start + k, j]
        _tile(iterate, copied, 0, count, labels, start, sums, scratch)


@njit(cache=True, nogil=True)
def _add_sparse_rows(
    iterate: Iterate,
    rows: CompiledRows,
    labels: Labels,
    first: int,
    last: int,
    sums: LossSums,
) -> None:
    """As `_add_dense_rows` for CSR rows. Sums go in order: gathers would be slower."""
    W, b, own = iterate
    codes, weights, kind = labels
    f, g, G = sums[0], sums[1], sums[2]
    for i in range(first, last):
        if weights[i] == 0.0:
            continue
        for c in range(len(b)):
            side = 1.0 if codes[i] == own[c] else -1.0
            loss, slope = _loss_and_slope(kind, side * score_row(rows, i, W[c], b[c]))
            f[c] += weights[i] * loss
            pull = weights[i] * side * slope
            if pull != 0.0:
                g[c] += pull
                add_row(rows, i, pull, G[c])
