"""Searches whose first fold decides which cells of a grid run on the other folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.types import Flags, Matrix, Vector

CLEARLY = 3.0  # standard errors by which a cell is behind, on the rows of the first fold

# whether each test row is right, for each of some cells and each of some folds
RightRows = Callable[[list[Any], slice], Sequence[Sequence[Flags]]]


class FoldRace:
    """Accuracies of cells; those that are clearly behind the best on the first fold skip the others.

    On a skipped fold, a cell is taken to be as far behind the best one as on the first fold.
    """

    def __init__(self, n_folds: int, *, skips: bool) -> None:
        self.n_folds, self.skips = n_folds, skips
        self._right: Flags | None = None  # rows of the first fold, by the cell that is best there
        self._others: Vector = np.zeros(n_folds - 1)  # accuracies of that cell on the other folds

    def accuracies(self, cells: list[Any], right_rows: RightRows) -> Matrix:
        """Accuracy of each cell on each fold, (cells, folds)."""
        if not self.skips:
            return _means(right_rows(cells, slice(None)))
        first = [flags for (flags,) in right_rows(cells, slice(0, 1))]
        table = np.empty((len(cells), self.n_folds))
        table[:, 0] = [flags.mean() for flags in first]
        leader = int(np.argmax(table[:, 0]))
        leads = self._right is None or table[leader, 0] > self._right.mean()
        right = first[leader] if leads or self._right is None else self._right
        gaps = np.array([clear_gap(right, flags) for flags in first])
        kept = np.flatnonzero(gaps == 0)
        if self.n_folds > 1 and len(kept):
            rest = right_rows([cells[number] for number in kept], slice(1, None))
            table[kept, 1:] = _means(rest)
        if leads:
            self._right, self._others = right, table[leader, 1:].copy()
        behind = gaps > 0
        table[behind, 1:] = np.maximum(self._others - gaps[behind, None], 0.0)
        return table


def clear_gap(right: Flags, other: Flags) -> float:
    """Share of the rows by which one cell is clearly better than another on the same rows, or 0.

    >>> clear_gap(np.ones(100, bool), np.arange(100) % 2 == 0)
    0.5
    >>> clear_gap(np.ones(100, bool), np.arange(100) > 0)
    0.0
    """
    lost = int(np.count_nonzero(right & ~other))
    won = int(np.count_nonzero(other & ~right))
    clear = lost - won > CLEARLY * np.sqrt(lost + won)
    return (lost - won) / len(right) if clear else 0.0


def _means(rows: Sequence[Sequence[Flags]]) -> Matrix:
    return np.array([[float(flags.mean()) for flags in folds] for folds in rows])
