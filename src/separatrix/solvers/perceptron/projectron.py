"""The projectron: a kernel perceptron whose support set stays within a budget.

A mistaken row that is (nearly) a combination of the support rows, or that comes when the budget is
spent, is not added: its projection onto them is, the best update without a new support vector.

Symbols: s support rows so far, `inverse` of their kernel matrix, B rows of a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron.kernel_perceptron import Combine
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Gram, Matrix, Signs, Vector

BLOCK = 128
INDEPENDENT = 1e-3  # share of |phi(x)|^2 that must lie outside the span for a row to be added


class ProjectronFit(NamedTuple):
    """The hypotheses of a projectron, and the reason it stopped."""

    support: Codes  # shape: (s,); rows of the Gram
    coef: Matrix  # shape: (s, p); of the last hypothesis
    lag: Matrix  # shape: (s, p); sum of step * change: n_steps times the last minus the mean
    n_iter: int
    n_steps: int  # examples scanned, those before the start included
    mistakes_by_epoch: Codes  # shape: (n_iter,)
    stop: str  # "clean pass", "min_gain", "max_iter" or "stopped"
    misclassified_by_epoch: Codes | None = None  # shape: (n_iter,); by the combined prediction

    def average(self) -> Matrix:
        """Coefficients of the mean of all hypotheses, (s, p)."""
        return self.coef - self.lag / max(1, self.n_steps)


def solve_projectron(
    gram: Gram,  # shape: (n, n)
    problems: Problems,
    *,
    rule: str,
    rates: Matrix,  # shape: (2, r)
    budget: int,
    max_iter: int,
    min_iter: int = 1,
    min_gain: float | None = None,
    shuffle: bool = False,
    combine: Combine | None = None,
    rng: np.random.Generator,
    start: ProjectronFit | None = None,
    monitor: FitMonitor | None = None,
) -> ProjectronFit:
    """Pass over the examples; at most `budget` rows ever carry the hypothesis.

    Problem and Given are those of `solve_kernel_perceptron`; `start` is an earlier fit to go on from,
    its support being rows of this Gram.

    Returns the support rows and the coefficients of the last and the mean hypothesis.

    Reference: Orabona, Keshet and Caputo, Bounded Kernel-Based Online Learning, Journal of Machine
    Learning Research 10 (2009), figure 1, with a fixed budget in place of the threshold.
    """
    monitor = monitor or FitMonitor()
    n_rows, p = problems.targets.shape
    budget = min(budget, n_rows + (len(start.support) if start is not None else 0))
    owners = problems.classes if rule == "argmax" else np.empty(0, dtype=np.intp)
    support: list[int] = []
    coef, lag = np.zeros((p, budget)), np.zeros((p, budget))
    inverse = np.zeros((budget, budget))
    met, stop = 0, None
    if start is not None:
        support, met, s = start.support.tolist(), start.n_steps, len(start.support)
        coef[:, :s], lag[:, :s] = start.coef.T, start.lag.T
        inverse[:s, :s] = np.linalg.inv(gram.tile(start.support, start.support).astype(np.float64))
    by_epoch: tuple[list[int], list[int]] = ([], [])  # corrected and misclassified examples
    in_order = np.arange(n_rows)
    for _ in range(max_iter):
        order = shuffled(in_order, rng) if shuffle else in_order
        wrong, misclassified, whole = 0, 0, False
        for block in row_blocks(n_rows, BLOCK):
            examples = order[block]
            rows = problems.rows[examples]
            known = np.zeros((len(rows), budget))
            known[:, : len(support)] = gram.tile(rows, np.array(support, dtype=np.intp))
            added = np.empty(len(rows), dtype=np.intp)
            tile = gram.tile(rows, rows).astype(np.float64)
            own = owners[examples] if len(owners) else owners
            given = problems.targets[examples], own, rates[:, examples]
            state = coef, lag, inverse
            missed = np.empty(len(rows), dtype=np.intp), np.empty((len(rows), p))
            mistakes, size = _scan_block(
                tile, known, len(support), given, state, met, added, missed
            )
            misclassified += _count_misclassified(
                combine, missed[1][:mistakes], problems.classes[examples[missed[0][:mistakes]]]
            )
            support.extend(int(rows[at]) for at in added[: size - len(support)])
            wrong += mistakes
            met += len(rows)
            whole = block.stop == n_rows
            if monitor.should_stop():
                break
        by_epoch[0].append(wrong)
        by_epoch[1].append(misclassified)
        monitor.step()
        stop = reason_to_stop(
            *by_epoch, n_rows, whole=whole, min_iter=min_iter, min_gain=min_gain, monitor=monitor
        )
        if stop:
            break

    rows, s = np.array(support, dtype=np.intp), len(support)
    corrected, missed_by_epoch = (np.array(counted, dtype=np.intp) for counted in by_epoch)
    last, lagging = coef[:, :s].T.copy(), lag[:, :s].T.copy()
    ended = len(corrected), met, corrected, stop or "max_iter", missed_by_epoch
    return ProjectronFit(rows, last, lagging, *ended)


def _count_misclassified(combine: Combine | None, S: Matrix, own: Codes) -> int:
    """Corrected examples whose combined prediction, from their scores S, is not their own class."""
    return len(own) if combine is None else int(np.count_nonzero(combine(S) != own))


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def _dot(u: Vector, v: Vector, size: int) -> float:
    total = 0.0
    for a in range(size):
        total += u[a] * v[a]
    return total


@njit(cache=True, nogil=True)
def _scan_block(
    tile: Matrix,  # shape: (B, B)
    known: Matrix,  # shape: (B, budget); kernel values of the block's rows with the support
    s: int,
    given: tuple[Signs, Codes, Matrix],  # targets, classes and rates of the block's rows
    state: tuple[Matrix, Matrix, Matrix],  # coef, lag and inverse
    met: int,
    added: Codes,
    missed: tuple[Codes, Matrix],  # positions of the corrected rows, and their scores when met
) -> tuple[int, int]:
    """Scan the block's rows in order; return the number of mistakes and the size of the support."""
    targets, owners, rates = given
    coef, lag, inverse = state
    missed_at, missed_scores = missed
    p, budget = coef.shape
    first, mistakes = s, 0
    deltas, scores, shares = np.zeros(p), np.zeros(p), np.zeros(budget)
    for i in range(len(tile)):
        for c in range(p):
            scores[c] = _dot(coef[c], known[i], s)
        deltas[:] = 0.0
        if len(owners):
            guess = np.argmax(scores)
            if guess != owners[i]:
                deltas[owners[i]] = rates[0, i]
                deltas[guess] = -rates[1, i]
        else:
            for c in range(p):
                if targets[i, c] != 0 and targets[i, c] * scores[c] <= 0:
                    deltas[c] = rates[0, i] if targets[i, c] > 0 else -rates[1, i]
        if not np.any(deltas != 0.0):
            continue
        missed_at[mistakes] = i
        for c in range(p):
            missed_scores[mistakes, c] = scores[c]
        mistakes += 1
        for a in range(s):
            shares[a] = _dot(inverse[a], known[i], s)
        outside = tile[i, i] - _dot(shares, known[i], s)
        if outside > INDEPENDENT * tile[i, i] and s < budget:
            for a in range(s):
                for b in range(s):
                    inverse[a, b] += shares[a] * shares[b] / outside
                inverse[a, s] = -shares[a] / outside
                inverse[s, a] = inverse[a, s]
            inverse[s, s] = 1.0 / outside
            known[:, s] = tile[:, i]
            coef[:, s] = deltas
            lag[:, s] = deltas * (met + i)
            added[s - first] = i
            s += 1
        else:
            for c in range(p):
                if deltas[c] != 0.0:
                    for a in range(s):
                        coef[c, a] += deltas[c] * shares[a]
                        lag[c, a] += deltas[c] * (met + i) * shares[a]
    return mistakes, s
