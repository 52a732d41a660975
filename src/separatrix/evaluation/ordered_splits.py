"""Splits in which every test row is later than every training row."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.splits import Split
from separatrix.errors import DataError
from separatrix.validation import require_integer


def ordered_splits(times: Any, *, folds: int) -> list[Split]:
    """Test the rows of each later period by a model of all earlier ones; the first period only trains.

    Periods have nearly equal numbers of rows; rows of the same time are in one period.

    >>> [(s.train.tolist(), s.test.tolist()) for s in ordered_splits([3, 1, 2, 4, 2], folds=2)]
    [([1], [0, 2, 4]), ([0, 1, 2, 4], [3])]
    """
    require_integer("ordered_splits", "folds", folds, least=1)
    moments, position = np.unique(np.asarray(times), return_inverse=True)
    if len(moments) < folds + 1:
        raise DataError(
            f"{folds} test periods need at least {folds + 1} different times; got {len(moments)}"
        )
    before = np.cumsum(np.bincount(position)) - 1  # rows up to each moment, less one
    period = before * (folds + 1) // len(position)
    period = np.unique(period, return_inverse=True)[1][position]  # none is empty
    return [
        Split(np.flatnonzero(period < number), np.flatnonzero(period == number))
        for number in range(1, int(period.max()) + 1)
    ]
