"""Samples set aside for testing, drawn by a seed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.arrays import Codes, require_integer, require_real
from separatrix.errors import DataError


class Split(NamedTuple):
    """Rows to train on and rows to test on, each in the order they are met."""

    train: Codes
    test: Codes


def random_splits(n: int, *, repeats: int, test_size: float, seed: int) -> list[Split]:
    """Splits of n rows, each with a random `test_size` share held out.

    Rows stay in the order given: shuffle the data first where that order means something.

    >>> [split.test.tolist() for split in random_splits(5, repeats=2, test_size=0.4, seed=0)]
    [[2, 4], [1, 4]]
    """
    require_integer("random_splits", "repeats", repeats, least=1)
    require_real("random_splits", "test_size", test_size, above=0, below=1)
    held_out = round(test_size * n)
    if not 0 < held_out < n:
        raise DataError(
            f"test_size={test_size} of {n} samples leaves {held_out} to test; need 1 to {n - 1}"
        )
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(repeats):
        test = np.zeros(n, dtype=bool)
        test[rng.permutation(n)[:held_out]] = True
        splits.append(Split(np.flatnonzero(~test), np.flatnonzero(test)))
    return splits


def fold_splits(rows: Codes, *, folds: int, seed: int) -> list[Split]:
    """Each row held out once: `folds` parts of nearly equal size, drawn at random.

    >>> [split.test.tolist() for split in fold_splits(np.array([3, 5, 8, 9]), folds=2, seed=0)]
    [[3, 5], [8, 9]]
    """
    require_integer("fold_splits", "folds", folds, least=2)
    if folds > len(rows):
        raise DataError(f"{folds} folds need at least {folds} samples; got {len(rows)}")
    part = np.random.default_rng(seed).permutation(len(rows)) % folds
    return [Split(rows[part != fold], rows[part == fold]) for fold in range(folds)]
