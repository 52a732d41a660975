"""Votes of neighbours: the weight of each, the winner, and the winner for every number of neighbours.

Neighbours come nearest first, and votes are added in that order. A vote is the weight of its row times
a factor of its distance. Equal sums go to the class met first, or to the lowest class code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.jit import njit
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_choice, require_integer

TIES = ("lowest", "nearest")
NO_VOTES = (
    "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case "
    "if you are using a user-defined function; rows whose sample or class weight is 0 do not vote"
)


class Voters(NamedTuple):
    """Labelled rows, each with the weight of its vote."""

    y: Codes  # shape: (n,)
    weights: Vector  # shape: (n,); at least 0
    n_classes: int

    def taken(self, rows: Codes) -> Voters:
        """Some of the rows."""
        return Voters(self.y[rows], self.weights[rows], self.n_classes)

    def shares(self, rows: Codes, factors: Matrix, ties: str) -> Matrix:
        """The share of the votes of each class, (m, k).

        In a tie the share of the winner is larger by the last bit, so that the argmax is the winner.
        """
        shares = np.zeros((len(rows), self.n_classes))
        _add(rows, factors, self.weights, self.y, shares)
        winners = self.winners(rows, factors, ties)
        shares /= shares.sum(axis=1, keepdims=True)
        tied = np.flatnonzero(shares.argmax(axis=1) != winners)
        shares[tied, winners[tied]] = np.nextafter(shares[tied, winners[tied]], 2.0)
        return shares

    def winners(self, rows: Codes, factors: Matrix, ties: str, *, each: bool = False) -> Codes:
        """The class with the most votes, (m,); with `each`, for 1, 2, ... neighbours, (m, neighbours)."""
        codes = np.empty((len(rows), rows.shape[1] if each else 1), dtype=np.intp)
        lowest = ties == "lowest"
        if not _win(rows, factors, self.weights, self.y, self.n_classes, lowest, codes):
            raise DataError(NO_VOTES)
        return codes if each else codes[:, 0]

    def winners_by_k(self, found: Neighbors, weights: Any, ties: str) -> Codes:
        """The winning class with 1, 2, ... neighbours, (m, neighbours)."""
        if not callable(weights):
            factors = factors_of(weights, found.distances)
            return self.winners(found.rows, factors, ties, each=True)
        by_k = []
        for k in range(1, found.rows.shape[1] + 1):  # the function may use all neighbours at once
            rows = np.ascontiguousarray(found.rows[:, :k])
            by_k.append(self.winners(rows, factors_of(weights, found.distances[:, :k]), ties))
        return np.stack(by_k, axis=1)


def require_votes(owner: str, n_neighbors: object, ties: object, weights: Any) -> None:
    """Check the parameters that may change after a fit."""
    require_integer(owner, "n_neighbors", n_neighbors, least=1)
    require_choice(owner, "ties", ties, TIES)
    if not callable(weights):
        require_choice(owner, "weights", weights, ("uniform", "distance", None))


def factors_of(weights: Any, distances: Matrix) -> Matrix:
    """Factors of the votes of neighbours at these distances, (m, neighbours); empty if all are 1.

    "distance" gives 1 / distance; if some are infinite, only those neighbours vote.

    >>> factors_of("distance", np.array([[0.5, 2.0], [0.0, 2.0]]))
    array([[2. , 0.5],
           [1. , 0. ]])
    """
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return np.empty((0, 0))
    if callable(weights):
        return factors_from_function(weights, weights(distances.copy()), distances)
    with np.errstate(divide="ignore", over="ignore"):
        return _infinite_alone(1.0 / distances)


def _infinite_alone(factors: Matrix) -> Matrix:
    """The factors; where some of a sample are infinite, 1 for those and 0 for the others."""
    infinite = np.isinf(factors)
    some_infinite = infinite.any(axis=-1)
    factors[some_infinite] = infinite[some_infinite]
    return factors


def factors_from_function(weights: Any, given: Any, distances: Matrix) -> Matrix:
    """What a function returned for distances, (m, neighbours) or (neighbours,), checked."""
    factors = np.array(given, dtype=np.float64, order="C")
    if factors.shape != distances.shape:
        raise DataError(
            f"`weights` must return an array of the shape of its argument, {distances.shape}; "
            f"{weights!r} returned {factors.shape}"
        )
    bad = factors[~(factors >= 0)]
    if len(bad):
        raise DataError(
            f"`weights` must return numbers of at least 0; {weights!r} returned {bad[0]}"
        )
    return _infinite_alone(factors)


@njit(cache=True, nogil=True)
def _add(rows: Codes, factors: Matrix, weights: Vector, y: Codes, sums: Matrix) -> None:
    plain = factors.shape[0] == 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            row = rows[i, j]
            sums[i, y[row]] += weights[row] if plain else weights[row] * factors[i, j]


@njit(cache=True, nogil=True)
def _win(
    rows: Codes,
    factors: Matrix,
    weights: Vector,
    y: Codes,
    n_classes: int,
    lowest: bool,
    codes: Codes,
) -> bool:
    """Fill in the winner after each of the last `codes.shape[1]` neighbours; False if no vote counts."""
    plain = factors.shape[0] == 0
    k = rows.shape[1]
    before = k - codes.shape[1]
    sums = np.zeros(n_classes)
    first_votes = np.zeros(n_classes, np.intp)  # positions
    for i in range(rows.shape[0]):
        best = -1
        for j in range(k):
            row = rows[i, j]
            vote = weights[row] if plain else weights[row] * factors[i, j]
            if vote > 0:
                code = y[row]
                if sums[code] == 0:
                    first_votes[code] = j
                sums[code] += vote
                # only this sum has grown, so only this class can overtake
                if best < 0 or sums[code] > sums[best]:
                    best = code
                elif sums[code] == sums[best]:
                    first = code < best if lowest else first_votes[code] < first_votes[best]
                    best = code if first else best
            if j >= before:
                if best < 0:
                    return False
                codes[i, j - before] = best
        for j in range(k):
            sums[y[rows[i, j]]] = 0.0
    return True
