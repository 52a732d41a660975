"""Perceptrons: primal, dual, with a budget, and in the feature space of a kernel on CPU and GPU."""

from __future__ import annotations

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron.kernel_perceptron import (
    Combine,
    HeldScores,
    KernelPerceptronFit,
    PassRule,
    Scan,
    TiledScores,
    run_passes,
)
from separatrix.types import DeviceMatrix, Gram, HeldMatrix, Matrix, RowMatrix


def solve_kernel_perceptron(
    gram: Gram,  # shape: (n, n)
    problems: Problems,
    *,
    rule: str,
    rates: Matrix,  # shape: (2, r)
    max_iter: int,
    min_iter: int = 1,
    min_gain: float | None = None,
    shuffle: bool = False,
    combine: Combine | None = None,
    square: float = 0.0,
    rng: np.random.Generator,
    start: Matrix | None = None,  # shape: (p, n)
    keep_scores: bool = True,
    threads: int = 1,
    monitor: FitMonitor | None = None,
) -> KernelPerceptronFit:
    """Pass over the examples until one pass makes no mistake.

    Problem
        signs:   find coef such that  t_ic sum_j K_ij coef_jc > 0     for every row i, problem c
        argmax:  find coef such that  sum_j K_ij coef_jc is largest at the row's own class

    Given
        gram       K, held in memory, computed by rows, or on a device (`cuda.py`)
        problems   the rows that train and their targets t; one-vs-rest targets for argmax
        rule       "signs": every problem is corrected on its own mistakes, a score of 0 is one;
                   "argmax": on a mistake the own class gains the row, the guessed class (lowest
                   index among equals) loses it
        rates      size of the correction on each row, added and subtracted: learning rate times
                   weight
        max_iter   passes at most
        min_gain   from pass min_iter on, stop when online accuracy rises by less than this
        shuffle    draw a new order for each pass from rng
        combine    classes of examples from their scores, (m, p), by which online accuracy counts; without
                   it an example is right when no problem errs
        square     R^2: a correction moves the bias of its problem by R^2 times its size; 0: no bias
        start      initial scores, from rows seen earlier
        threads    CPU threads if the Gram is not held
        monitor    progress, time limit and cancellation

    Returns every mistake in order, and how it stopped.

    Reference: Freund and Schapire, Large Margin Classification Using the Perceptron Algorithm,
    Machine Learning 37 (1999).
    """
    passes = PassRule(rule, max_iter, min_iter, min_gain, shuffle, combine, square)
    monitor = monitor or FitMonitor()
    if isinstance(gram, DeviceMatrix):
        from separatrix.solvers.perceptron.cuda import solve_on_device  # torch is optional

        return solve_on_device(
            gram, problems, passes, rates, rng, monitor, start=start, keep_scores=keep_scores
        )
    scan = Scan(problems, passes, rates)
    S = np.zeros((scan.n_problems, gram.shape[0])) if start is None else np.array(start, float)
    scores: HeldScores | TiledScores
    if isinstance(gram, HeldMatrix):
        scores = HeldScores(gram.matrix, S, scan)
    elif isinstance(gram, RowMatrix):
        scores = TiledScores(gram, S, scan, threads)
    else:
        raise TypeError(f"a Gram matrix must be held, by rows or on a device; got {gram!r}")
    return run_passes(scores, problems, passes, rng, monitor, keep_scores=keep_scores)
