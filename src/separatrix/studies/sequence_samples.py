"""Sequences, which of them belong together, and ways to hold some out and learn from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, grouped_folds, stratified_folds, subsampled
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Spectrum
from separatrix.types import Codes


class Sequences(NamedTuple):
    """What is classified."""

    X: Any  # shape: (n,) of str
    y: Any  # shape: (n,)
    groups: Codes  # shape: (n,); rows of one group belong together


class Way(NamedTuple):
    """Parts that are held out in turn, every row in one of them, and folds inside each training part."""

    splits: list[Split]
    inner: list[list[Split]]  # rows are counted within the training part


def sequences_of(data: Dataset, groups: Callable[[Any], Codes]) -> Sequences:
    """The samples of a data set, refused where they are no sequences with labels."""
    if data.kind != "sequences" or data.y is None:
        raise ExperimentError(
            f"sequences with labels are needed; {data.name} holds "
            f"{data.kind if data.y is not None else 'no labels'}"
        )
    X = np.empty(len(data.X), dtype=object)
    X[:] = data.X
    return Sequences(X, np.asarray(data.y), groups(X))


def drawn_from(
    workshop: RunContext,
    data: str,
    subsample: int | None,
    seed: int,
    groups: Callable[[Any], Codes],
) -> Sequences:
    """Some sequences of a data set, or all, and which of them belong together; made once."""
    made: Sequences = workshop.once(
        "sequences", lambda: sequences_of(subsampled(workshop.data(data), subsample, seed), groups)
    )
    return made


def identical(X: Any) -> Codes:
    """The same number for the same sequence.

    >>> identical(np.array(["GAT", "ACA", "GAT"], dtype=object)).tolist()
    [1, 0, 1]
    """
    return np.unique(X.astype(str), return_inverse=True)[1]


def related(X: Any, letters: int) -> Codes:
    """The same number for sequences that share so many letters in a row, and for those between them.

    >>> related(np.array(["AACGT", "ACGTT", "CGTTC", "GGGGG"], dtype=object), 4).tolist()
    [0, 0, 0, 1]
    """
    shares = Spectrum(letters).block(X, X) > 0
    return np.asarray(connected_components(shares, directed=False)[1], dtype=np.intp)


def stratified_way(data: Sequences, *, folds: int, inner: int, seed: int) -> Way:
    """Folds that look at classes alone, outside and inside."""
    splits = stratified_folds(data.y, folds=folds, seed=seed)
    return Way(splits, _stratified_inside(data, splits, inner, seed))


def grouped_way(data: Sequences, *, folds: int, inner: int, seed: int) -> Way:
    """Folds that keep groups whole, outside and inside."""
    splits = grouped_folds(data.groups, folds=folds, seed=seed)
    return Way(splits, _grouped_inside(data, splits, inner, seed))


def one_out_way(data: Sequences, *, inner: int, seed: int) -> Way:
    """Every row by itself; stratified folds inside."""
    rows = np.arange(len(data.y))
    splits = [Split(np.delete(rows, row), rows[row : row + 1]) for row in rows]
    return Way(splits, _stratified_inside(data, splits, inner, seed))


def group_out_way(data: Sequences, *, inner: int, seed: int) -> Way:
    """Every group by itself; folds inside keep groups whole."""
    splits = [
        Split(np.flatnonzero(data.groups != group), np.flatnonzero(data.groups == group))
        for group in np.unique(data.groups)
    ]
    return Way(splits, _grouped_inside(data, splits, inner, seed))


def _stratified_inside(
    data: Sequences, splits: Sequence[Split], folds: int, seed: int
) -> list[list[Split]]:
    return [
        stratified_folds(data.y[train], folds=folds, seed=seed + number)
        for number, (train, _) in enumerate(splits)
    ]


def _grouped_inside(
    data: Sequences, splits: Sequence[Split], folds: int, seed: int
) -> list[list[Split]]:
    return [
        grouped_folds(data.groups[train], folds=folds, seed=seed + number)
        for number, (train, _) in enumerate(splits)
    ]
