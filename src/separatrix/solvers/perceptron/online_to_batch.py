"""From the list of mistakes to one predictor: last, averaged, voted, or drawn at random.

An online learner holds a new hypothesis after each mistake. All of them are in the list: the one
after example s is the sum of the corrections made up to s. Hypotheses are counted by the examples
they survived, so T examples make T hypotheses, many of them equal.

Reference: Freund and Schapire, Large Margin Classification Using the Perceptron Algorithm,
Machine Learning 37 (1999), sections 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes, Matrix, Vector

PREDICTORS = ("last", "average", "vote", "random")


class Mistakes(NamedTuple):
    """Corrections in the order they were made."""

    rows: Codes  # shape: (e,); the training row that was added
    columns: Codes  # shape: (e,); to which problem or class
    deltas: Vector  # shape: (e,); how much of it
    steps: Codes  # shape: (e,); examples met before

    @classmethod
    def concatenate(cls, parts: Sequence[Mistakes]) -> Mistakes:
        """One list from its parts."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            nothing = np.empty(0, dtype=np.intp)
            return cls(nothing, nothing, np.empty(0), nothing)
        return cls(*(np.concatenate(field) for field in zip(*parts, strict=True)))

    def on_support(self) -> tuple[Codes, Mistakes]:
        """The rows that were ever added, in increasing order, and the list with their numbers there."""
        added = np.zeros(int(self.rows.max(initial=-1)) + 1, dtype=bool)
        added[self.rows] = True
        return np.flatnonzero(added), self._replace(rows=(np.cumsum(added) - 1)[self.rows])

    def coefficients(self, n: int, p: int, *, share: Vector | None = None) -> Matrix:
        """Sum of the corrections of each row in each problem, (n, p), weighted by `share`."""
        deltas = self.deltas if share is None else self.deltas * share
        sums = np.bincount(self.rows * p + self.columns, deltas, minlength=n * p)
        return np.asarray(sums, dtype=np.float64).reshape(n, p)


def last(mistakes: Mistakes, n: int, p: int) -> Matrix:
    """Coefficients of the last hypothesis, (n, p)."""
    return mistakes.coefficients(n, p)


def averaged(mistakes: Mistakes, n: int, p: int, n_steps: int) -> Matrix:
    """Coefficients of the mean of all hypotheses, (n, p).

    A correction at step s is part of the T - s hypotheses that follow it.
    """
    return mistakes.coefficients(n, p, share=1.0 - mistakes.steps / max(1, n_steps))


def votes(
    K: Matrix,
    mistakes: Mistakes,
    p: int,
    n_steps: int,
    *,
    by_argmax: bool,
    at_zero: str = "first",
) -> Matrix:  # K (m, s): new samples with the rows that mistakes count in
    """Share of the hypotheses on each side, (m, p).

    Signs: the mean of sign(score), a score of 0 counting as -1, or at the boundary of two classes as
    `at_zero` says. Argmax: the share of hypotheses in which the class has the highest score.
    """
    tally = np.zeros((len(K), p))
    if by_argmax:
        _vote_argmax(K, mistakes, n_steps, tally)
    else:
        _vote_signs(K, mistakes, n_steps, p == 1 and at_zero == "second", tally)
    return tally / max(1, n_steps)


def at_steps(K: Matrix, mistakes: Mistakes, p: int, steps: Codes) -> Matrix:
    """Scores of each new sample under the hypothesis held after its own step, (m, p)."""
    scores = np.zeros((len(K), p))
    _scores_at(K, mistakes, steps, scores)
    return scores


@njit(cache=True, nogil=True)
def _vote_signs(
    K: Matrix, mistakes: Mistakes, n_steps: int, zero_is_above: bool, tally: Matrix
) -> None:
    rows, columns, deltas, steps = mistakes
    score = np.zeros(tally.shape[1])
    since = np.zeros(tally.shape[1], dtype=np.intp)
    for i in range(len(K)):
        score[:] = 0.0
        since[:] = 0
        for event in range(len(rows)):
            c = columns[event]
            survived = steps[event] - since[c]
            above = score[c] > 0 or (zero_is_above and score[c] == 0)
            tally[i, c] += survived if above else -survived
            since[c] = steps[event]
            score[c] += deltas[event] * K[i, rows[event]]
        for c in range(len(score)):
            survived = n_steps - since[c]
            above = score[c] > 0 or (zero_is_above and score[c] == 0)
            tally[i, c] += survived if above else -survived


@njit(cache=True, nogil=True)
def _vote_argmax(K: Matrix, mistakes: Mistakes, n_steps: int, tally: Matrix) -> None:
    rows, columns, deltas, steps = mistakes
    score = np.zeros(tally.shape[1])
    for i in range(len(K)):
        score[:] = 0.0
        since = 0
        for event in range(len(rows)):
            if steps[event] > since:
                tally[i, np.argmax(score)] += steps[event] - since
                since = steps[event]
            score[columns[event]] += deltas[event] * K[i, rows[event]]
        tally[i, np.argmax(score)] += n_steps - since


@njit(cache=True, nogil=True)
def _scores_at(K: Matrix, mistakes: Mistakes, wanted: Codes, scores: Matrix) -> None:
    rows, columns, deltas, steps = mistakes
    for i in range(len(K)):
        for event in range(len(rows)):
            if steps[event] > wanted[i]:
                break
            scores[i, columns[event]] += deltas[event] * K[i, rows[event]]
