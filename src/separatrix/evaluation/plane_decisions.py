"""What a classifier decides at positions of the plane, and where nothing but rounding decides.

The class is always that of `predict`. A position is undecided where another class is as good: votes tie,
or the score that decides is at most what rounding can make of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.evaluation.lattice import (
    EPS,
    OPERATIONS,
    POINTS_AT_ONCE,
    VALUES_AT_ONCE,
    BoundedScores,
    Lattice,
    in_blocks,
    kernel_machine,
    kernel_scores,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.solvers.decomposition import coding
from separatrix.types import Codes, Flags, Matrix, Vector

SCORES = ("predict_joint_log_proba", "decision_function", "predict_proba")
TIED = 8  # neighbours beyond those that vote: which of them are as near?
PRECISE = 1e-9  # of the largest score: where predictions and scores may disagree
SHIFTS = (1.0 + 4.0 * EPS, 1.0 - 4.0 * EPS)  # of positions: the least that a number can be off


class Decisions(NamedTuple):
    """The predicted class at positions, and how clearly it is the one."""

    codes: Codes  # shape: (m,); index of the predicted label
    scores: Vector  # shape: (m,); of two classes the score of the second, else the winner's lead
    bounds: Vector  # shape: (m,); what rounding may have made of the scores

    @property
    def undecided(self) -> Flags:
        """Positions where rounding, or the rule for ties, decides, (m,)."""
        return np.asarray(~(np.abs(self.scores) > self.bounds))


def decide(
    model: Any,  # fitted
    labels: Any,  # shape: (k,); sorted, of the codes
    where: Lattice | Matrix,  # positions, (m, 2)
) -> Decisions:
    """Classify positions of the plane and bound the rounding errors of the scores that decide.

    Kernel machines and linear models have a bound from their terms. Of other scores it is their
    precision, and what a change of a position in its last digits makes of them.
    """
    machine = kernel_machine(model)
    if machine is None or not np.array_equal(machine.classes_, labels):
        positions = where.positions if isinstance(where, Lattice) else where
        return _decide_by_scores(model, labels, positions)
    parts = [_decide_by_kernel(model, machine, part) for part in _parts(machine, where)]
    codes, scores, bounds = (np.concatenate(part) for part in zip(*parts, strict=True))
    positions = where.positions if isinstance(where, Lattice) else where
    size = max(1, VALUES_AT_ONCE // max(1, len(machine.support_vectors_)))
    return _with_predictions(Decisions(codes, scores, bounds), model, labels, positions, size)


def _parts(machine: Any, where: Lattice | Matrix) -> Iterator[Lattice | Matrix]:
    """Parts of a lattice or of positions, so that scores of all boundaries fit in memory."""
    size = max(1, POINTS_AT_ONCE * 32 // len(machine.intercept_))
    if isinstance(where, Lattice):
        for rows in row_blocks(len(where.second), max(1, size // len(where.first))):
            yield Lattice(where.first, where.second[rows])
        return
    for rows in row_blocks(len(where), size):
        yield where[rows]


def _decide_by_kernel(model: Any, machine: Any, where: Lattice | Matrix) -> Decisions:
    S, k = kernel_scores(model, where), len(machine.classes_)
    if k > 2 and getattr(machine, "multi_class", "") == "ovo":
        margins = getattr(machine, "break_ties", False) or getattr(machine, "ties", "") == "margin"
        return _by_votes_and_margins(S, k) if margins else _by_votes(S, k)
    return _by_largest(S)


def _by_largest(S: BoundedScores) -> Decisions:
    """The class of the largest score, or of two classes with one score, of its sign."""
    values, bounds = _open_if_not_finite(S)
    if values.shape[1] == 2:
        values = values[:, 1:] - values[:, :1]
        bounds = bounds.sum(axis=1, keepdims=True)
    if values.shape[1] == 1:
        return Decisions((values[:, 0] > 0).astype(np.intp), values[:, 0], bounds[:, 0])
    m = np.arange(len(values))
    best = values.argmax(axis=1)
    leads = values[m, best][:, None] - values
    apart = bounds[m, best][:, None] + bounds
    spare = leads - apart
    spare[m, best] = np.inf
    next_ = np.nan_to_num(spare, nan=-np.inf).argmin(axis=1)
    return Decisions(best, leads[m, next_], apart[m, next_])


def _open_if_not_finite(S: BoundedScores) -> BoundedScores:
    """Scores of 0 with infinite bounds where scores or their bounds overflow."""
    finite = np.isfinite(S.values) & np.isfinite(S.bounds)
    if finite.all():
        return S
    return BoundedScores(np.where(finite, S.values, 0.0), np.where(finite, S.bounds, np.inf))


def _by_votes(S: BoundedScores, k: int) -> Decisions:
    """The class with the most votes of pairs, if no pair that rounding decides can change that."""
    S = _open_if_not_finite(S)
    sides = coding(k, "ovo").astype(np.float64)  # (k, p)
    won, lost = S.values > S.bounds, S.values < -S.bounds
    open_ = ~(won | lost)
    least = won @ (sides > 0).T.astype(np.float64) + lost @ (sides < 0).T.astype(np.float64)
    most = least + open_ @ np.abs(sides).T
    m, best = np.arange(len(least)), least.argmax(axis=1)
    votes = least[m, best]
    most[m, best] = -1.0
    clear = votes > most.max(axis=1)
    own = sides[best]  # (m, p)
    lead = np.where(own != 0, own * S.values, np.inf).min(
        axis=1
    )  # < 0: it wins by votes all the same
    bounds = np.where(open_, S.bounds, 0.0).max(axis=1)
    scores = np.where(clear, np.maximum(lead, EPS), 0.0)
    return Decisions(best, scores, np.where(clear, 0.0, bounds))


def _by_votes_and_margins(S: BoundedScores, k: int) -> Decisions:
    """The class with the most votes, of equal ones that with the largest sum of scores.

    A pair that rounding decides moves a whole vote, so each class's score has a least and a most.
    """
    S = _open_if_not_finite(S)
    sides = coding(k, "ovo").T.astype(np.float64)  # (p, k)
    signs = np.sign(np.where(np.abs(S.values) > S.bounds, S.values, 0.0))
    votes = 0.5 * (signs @ sides + k - 1)
    open_ = 0.5 * ((signs == 0) @ np.abs(sides))
    sums = S.values @ sides
    errors = (S.bounds + k * EPS * np.abs(S.values)) @ np.abs(sides)
    least = votes - open_ + _fraction(sums - errors) - OPERATIONS * k * EPS
    most = votes + open_ + _fraction(sums + errors) + OPERATIONS * k * EPS
    m, best = np.arange(len(least)), least.argmax(axis=1)
    others = most.copy()
    others[m, best] = -np.inf
    lead = least[m, best] - others.max(axis=1)
    return Decisions(best, np.maximum(lead, 0.0), np.zeros(len(lead)))


def _fraction(sums: Matrix) -> Matrix:
    """What sums of scores add to votes, below a third of one; of an unknown sum -1/3 or 1/3."""
    with np.errstate(invalid="ignore"):
        fractions = sums / (3.0 * (np.abs(sums) + 1.0))
    return np.where(np.isinf(sums), np.sign(sums) / 3.0, fractions)


def _decide_by_scores(model: Any, labels: Any, positions: Matrix) -> Decisions:
    """The decisions of any model: its predictions, and its scores if they agree with them."""
    name = next((name for name in SCORES if hasattr(model, name)), None)
    found = None
    if name is not None and np.array_equal(getattr(model, "classes_", ()), labels):
        values = _columns(model, name, positions)
        if values.shape[1] in (len(labels), 3 - len(labels)):  # two classes may have one score
            found = _by_largest(BoundedScores(values, _bounds(model, name, positions, values)))
    last = model[-1] if hasattr(model, "steps") else model
    if found is not None and type(last) is KNeighborsClassifier:  # each search costs as much
        open_ = np.abs(found.scores) <= found.bounds + _ties_of_distances(model, last, positions)
        votes = Decisions(found.codes, np.where(open_, 0.0, found.scores), 0.0 * found.bounds)
        return _with_predictions(votes, model, labels, positions, POINTS_AT_ONCE)
    codes = np.searchsorted(labels, in_blocks(model.predict, positions))
    if found is not None and np.isfinite(found.scores).all():
        size = np.abs(found.scores)
        other = ~found.undecided & (found.codes != codes)  # predict has roundings of its own
        if (size[other] <= PRECISE * size.max(initial=0.0)).all():
            return found._replace(codes=codes, bounds=np.where(other, size, found.bounds))
    scores = np.where(codes == 1, 1.0, -1.0) if len(labels) == 2 else np.ones(len(codes))
    return Decisions(codes, scores, np.zeros(len(codes)))


def _ties_of_distances(model: Any, last: KNeighborsClassifier, positions: Matrix) -> Vector:
    """How far votes may shift because the last neighbours are as near as some that do not vote, (m,)."""
    k = int(last.n_neighbors)
    Z = positions if last is model else np.asarray(model[:-1].transform(positions))
    D, rows = last.kneighbors(Z, min(k + TIED, last.n_samples_fit_))
    digits = OPERATIONS * EPS * (D[:, [k - 1]] + np.abs(Z).sum(axis=1, keepdims=True))
    tied = np.abs(D - D[:, [k - 1]]) <= digits
    y = last._voters[0].y[rows]
    differ = np.where(tied, y, -1).max(axis=1) > np.where(tied, y, y.max() + 1).min(axis=1)
    moved = np.minimum(tied[:, :k].sum(axis=1), tied[:, k:].sum(axis=1))
    return np.where(differ, 2.0 * moved / k, 0.0)


def _with_predictions(
    found: Decisions, model: Any, labels: Any, positions: Matrix, size: int
) -> Decisions:
    """Decisions with the model's rules for ties and signs of 0 where nothing else decides."""
    open_ = np.flatnonzero(found.undecided)
    if len(open_):
        guesses = in_blocks(model.predict, positions[open_], size)
        found.codes[open_] = np.searchsorted(labels, guesses)
    return found


def _columns(model: Any, name: str, positions: Matrix) -> Matrix:
    """Scores by a method of a model, (m, k) or (m, 1)."""
    values = np.asarray(in_blocks(getattr(model, name), positions), dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def _bounds(model: Any, name: str, positions: Matrix, values: Matrix) -> Matrix:
    """What rounding may have made of scores, (m, p)."""
    bounds = OPERATIONS * EPS * np.abs(values)
    last = model[-1] if hasattr(model, "steps") else model
    coef: Any = getattr(last, "coef_", None)
    linear = isinstance(coef, np.ndarray) and coef.shape == (values.shape[1], positions.shape[1])
    if linear and name == "decision_function":
        Z = positions if last is model else np.asarray(model[:-1].transform(positions))
        terms: Matrix = np.abs(Z) @ np.abs(coef).T + np.abs(last.intercept_)
        return OPERATIONS * EPS * terms
    if name == "decision_function":
        shifted = [np.abs(_columns(model, name, shift * positions) - values) for shift in SHIFTS]
        bounds += 4.0 * np.maximum(*shifted)
    return bounds
