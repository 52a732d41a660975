"""Train and test splits, drawn by a seed: the same seed draws the same rows.

`random_splits` and `fold_splits` use row numbers only. Stratified splits keep the proportions of the
classes, grouped splits keep each group on one side. Rows of a split are in ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.errors import DataError
from separatrix.types import Codes, Flags
from separatrix.validation import require_integer, require_real


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    train: Codes
    test: Codes


def check_splits(splits: Sequence[Split], n: int) -> list[Split]:
    """Splits of n rows as arrays; refused if a row is out of range or on both sides.

    >>> check_splits([([0, 1], [2])], 3)
    [Split(train=array([0, 1]), test=array([2]))]
    """
    checked = []
    for number, (train, test) in enumerate(splits):
        parts = Split(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp))
        for name, rows in parts._asdict().items():
            if rows.ndim != 1 or not len(rows) or rows.min() < 0 or rows.max() >= n:
                raise DataError(
                    f"the {name} rows of split {number} must be numbers from 0 to {n - 1}, at least one"
                )
        both = np.intersect1d(*parts)
        if len(both):
            raise DataError(f"row {both[0]} of split {number} is in both train and test")
        checked.append(parts)
    if not checked:
        raise DataError("there must be at least one split; got none")
    return checked


def random_splits(n: int, *, repeats: int, test_size: float, seed: int) -> list[Split]:
    """Splits of n rows, each with a random `test_size` share held out.

    >>> [split.test.tolist() for split in random_splits(5, repeats=2, test_size=0.4, seed=0)]
    [[2, 4], [1, 4]]
    """
    held_out = _held_out("random_splits", repeats, test_size, n, "samples")
    rng = np.random.default_rng(seed)
    return [_split_off(n, rng.permutation(n)[:held_out]) for _ in range(repeats)]


def fold_splits(rows: Codes, *, folds: int, seed: int) -> list[Split]:
    """Each row held out once: `folds` parts of nearly equal size, drawn at random.

    >>> [split.test.tolist() for split in fold_splits(np.array([3, 5, 8, 9]), folds=2, seed=0)]
    [[3, 5], [8, 9]]
    """
    _require_folds("fold_splits", folds, 1, len(rows), "samples")
    part = np.random.default_rng(seed).permutation(len(rows)) % folds
    return [Split(rows[part != fold], rows[part == fold]) for fold in range(folds)]


def stratified_splits(y: Any, *, repeats: int, test_size: float, seed: int) -> list[Split]:
    """Splits of the samples, each with a random `test_size` share of every class held out.

    round(test_size * n) samples are held out. The classes with the largest remainders give one sample
    more, ties broken at random. Every class keeps at least one sample to train on.

    >>> y = np.array(["a", "a", "a", "a", "b", "b"])
    >>> [split.test.tolist() for split in stratified_splits(y, repeats=2, test_size=0.5, seed=0)]
    [[0, 2, 5], [0, 3, 5]]
    """
    classes = _classes(y, "y", least=2)
    n = sum(map(len, classes))
    held_out = _held_out("stratified_splits", repeats, test_size, n, "samples")
    rng = np.random.default_rng(seed)
    return [_split_off(n, _draw_rows(classes, held_out, rng, spare=1)) for _ in range(repeats)]


def stratified_folds(y: Any, *, folds: int, seed: int, repeats: int = 1) -> list[Split]:
    """Each sample held out once in every repeat; the folds have nearly equal shares of every class.

    >>> y = np.array([0, 0, 1, 1, 1, 1])
    >>> [split.test.tolist() for split in stratified_folds(y, folds=2, seed=0)]
    [[0, 3, 4], [1, 2, 5]]
    """
    classes = _classes(y, "y", least=2)
    n = sum(map(len, classes))
    _require_folds("stratified_folds", folds, repeats, n, "samples")
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(repeats):
        part = np.empty(n, dtype=np.intp)
        # Dealing continues where the last class ended, so that folds differ by at most one sample.
        part[np.concatenate([rng.permutation(rows) for rows in classes])] = np.arange(n) % folds
        splits += [_split_by(part == fold) for fold in range(folds)]
    return splits


def grouped_splits(groups: Any, *, repeats: int, test_size: float, seed: int) -> list[Split]:
    """Splits that keep groups together, each with a random `test_size` share of the groups held out.

    Test sets differ in size if groups do.

    >>> patients = np.array([7, 7, 8, 8, 8, 9])
    >>> [split.test.tolist() for split in grouped_splits(patients, repeats=2, test_size=0.3, seed=0)]
    [[5], [2, 3, 4]]
    """
    from sklearn.model_selection import GroupShuffleSplit  # takes a second to import

    count = len(_classes(groups, "groups"))
    held_out = _held_out("grouped_splits", repeats, test_size, count, "groups")
    random_state = np.random.RandomState(np.random.MT19937(seed))
    splitter = GroupShuffleSplit(repeats, test_size=held_out, random_state=random_state)
    return [Split(*split) for split in splitter.split(groups, groups=groups)]


def grouped_folds(groups: Any, *, folds: int, seed: int, repeats: int = 1) -> list[Split]:
    """Each group held out once in every repeat; no fold is empty.

    Groups are dealt in random order, each to the fold with the fewest samples so far: the sizes of two
    folds differ by at most the largest group.

    >>> patients = np.array([7, 7, 8, 8, 8, 9])
    >>> [split.test.tolist() for split in grouped_folds(patients, folds=2, seed=0)]
    [[2, 3, 4, 5], [0, 1]]
    """
    members = _classes(groups, "groups")
    _require_folds("grouped_folds", folds, repeats, len(members), "groups")
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(repeats):
        dealt = np.zeros(folds, dtype=np.intp)
        fold_of = np.empty(sum(map(len, members)), dtype=np.intp)  # of each sample
        for group in rng.permutation(len(members)):
            fold = np.argmin(dealt)
            dealt[fold] += len(members[group])
            fold_of[members[group]] = fold
        splits += [_split_by(fold_of == fold) for fold in range(folds)]
    return splits


def subsample(y: Any, size: int | float, *, seed: int, stratified: bool = True) -> Codes:
    """Rows of a random subset of the samples, in ascending order.

    `size` is a number of samples, or a share between 0 and 1. A stratified subset keeps the proportions
    of the classes, with at least one sample of every class if `size` allows.

    >>> subsample(np.array([0, 0, 0, 0, 1, 1]), 3, seed=0).tolist()
    [0, 2, 5]
    """
    classes = _classes(y, "y")
    n = sum(map(len, classes))
    if isinstance(size, float | np.floating):
        require_real("subsample", "size", size, above=0, most=1)
        size = max(round(float(size) * n), 1)
    require_integer("subsample", "size", size, least=1)
    if size > n:
        raise DataError(f"a sub-sample of {size} needs at least {size} samples; got {n}")
    rng = np.random.default_rng(seed)
    if not stratified:
        return np.sort(rng.permutation(n)[:size])
    least = 1 if size >= len(classes) else 0
    return np.sort(_draw_rows(classes, int(size), rng, least=least))


def subsampled(data: Dataset, size: int | None, seed: int) -> Dataset:
    """The data set with a stratified subset of `size` rows, in their order.

    The test part stays complete. None, or more rows than there are: all rows.

    >>> subsampled(Dataset("a", np.arange(8.0)[:, None], np.array([0, 1] * 4)), 4, 0).y.tolist()
    [0, 0, 1, 1]
    """
    if size is None or data.y is None or size >= len(data.y):
        return data
    return data.at(np.sort(subsample(data.y, size, seed=seed, stratified=True)))


def _classes(values: Any, name: str, least: int = 1) -> list[Codes]:
    """The rows of each distinct value, values in ascending order."""
    found = np.asarray(values)
    if found.ndim != 1 or not len(found):
        raise DataError(f"{name} must be one value for each sample; got shape {found.shape}")
    try:
        labels, codes = np.unique(found, return_inverse=True)
    except TypeError:
        raise DataError(f"{name} must be all strings or all numbers") from None
    counts = np.bincount(codes)
    if counts.min() < least:
        rare = labels[np.argmin(counts)]
        raise DataError(
            f"class {rare} has {counts.min()} sample; stratified splits need at least {least} of "
            "each class: leave it out, or use random_splits"
        )
    return list(np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1]))


def _held_out(owner: str, repeats: int, test_size: float, n: int, what: str) -> int:
    """How many of n to hold out, after a check of the parameters."""
    require_integer(owner, "repeats", repeats, least=1)
    require_real(owner, "test_size", test_size, above=0, below=1)
    held_out = round(test_size * n)
    if not 0 < held_out < n:
        raise DataError(
            f"test_size={test_size} of {n} {what} leaves {held_out} to test; need 1 to {n - 1}"
        )
    return held_out


def _require_folds(owner: str, folds: int, repeats: int, n: int, what: str) -> None:
    require_integer(owner, "folds", folds, least=2)
    require_integer(owner, "repeats", repeats, least=1)
    if folds > n:
        raise DataError(f"{folds} folds need at least {folds} {what}; got {n}")


def _draw_rows(
    classes: list[Codes], size: int, rng: np.random.Generator, *, least: int = 0, spare: int = 0
) -> Codes:
    """`size` rows, each class in proportion: at least `least` of it, with `spare` of it left."""
    counts = np.array([len(rows) for rows in classes])
    most = counts - spare
    if size > most.sum():
        raise DataError(
            f"{size} of {counts.sum()} samples to test leave nothing to train on of some class; "
            f"hold out at most {most.sum()}"
        )
    exact = counts * (size / counts.sum())
    taken = np.clip(np.floor(exact).astype(np.intp), least, most)
    # Equal remainders are shuffled first: no class is favoured by its name.
    order = rng.permutation(len(classes))
    while (left := size - taken.sum()) != 0:
        step = 1 if left > 0 else -1
        open_ = taken < most if step > 0 else taken > least
        want = np.where(open_, step * (exact - taken), -np.inf)
        best = order[np.argsort(-want[order], kind="stable")][: min(abs(left), int(open_.sum()))]
        taken[best] += step
    return np.concatenate(
        [rng.permutation(rows)[:count] for rows, count in zip(classes, taken, strict=True)]
    )


def _split_off(n: int, test: Codes) -> Split:
    return _split_by(np.isin(np.arange(n), test))


def _split_by(held_out: Flags) -> Split:
    return Split(np.flatnonzero(~held_out), np.flatnonzero(held_out))
