"""Splits of a comparison: folds, random splits, whole groups or later periods."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.splits import (
    Split,
    grouped_folds,
    grouped_splits,
    random_splits,
    stratified_folds,
)
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.comparison import SplitProtocol
from separatrix.evaluation.ordered_splits import ordered_splits
from separatrix.validation import require_integer

RANDOM_SPLITS = 20  # by default
PERIODS = 5  # by default
MIN_TEST_FOLDS = 10  # by default, k-fold splits are repeated until there are as many test folds


def plan_splits(
    y: Any,  # shape: (n,)
    cv: int | None = None,
    repeats: int | None = None,
    seed: int = 0,
    groups: Any = None,  # shape: (n,)
    times: Any = None,  # shape: (n,)
    **more: Any,
) -> tuple[SplitProtocol, list[Split]]:
    """The protocol of a comparison, parameters as for `compare`, and its splits."""
    protocol = replace(_protocol(cv, repeats, seed, groups, times), **more)
    return protocol, _splits(protocol, y, groups, times)


def _protocol(
    cv: int | None, repeats: int | None, seed: int, groups: Any, times: Any
) -> SplitProtocol:
    require_integer("compare", "random_state", seed, least=0)
    if times is not None:
        if groups is not None:
            raise ParameterError("compare", "groups", "None with times", groups)
        return SplitProtocol(cv or PERIODS, 1, seed, ordered=True)
    if cv is not None:
        require_integer("compare", "cv", cv, least=2)
    if repeats is None:
        repeats = RANDOM_SPLITS if cv is None else math.ceil(MIN_TEST_FOLDS / cv)
    require_integer("compare", "repeats", repeats, least=1)
    return SplitProtocol(cv, repeats, seed, grouped=groups is not None)


def _splits(protocol: SplitProtocol, y: Any, groups: Any, times: Any) -> list[Split]:
    """Split the rows in random order, so that the folds of a search inside see no drift."""
    cv, seed, n, test_size = protocol.cv, protocol.seed, len(y), protocol.test_size
    repeats = {"repeats": protocol.repeats, "seed": seed}
    for name, values in (("groups", groups), ("times", times)):
        if values is not None and len(values) != n:
            raise DataError(f"X has {n} samples, but {name} has {len(values)} values")
    if times is not None:
        rng = np.random.default_rng(seed)
        found = ordered_splits(times, folds=cv or PERIODS)
        return [Split(rng.permutation(train), rng.permutation(test)) for train, test in found]
    order = np.random.default_rng(seed).permutation(n)
    if groups is not None:
        groups = np.asarray(groups)[order]
        splits = (
            grouped_splits(groups, test_size=test_size, **repeats)
            if cv is None
            else grouped_folds(groups, folds=cv, **repeats)
        )
    elif cv is not None:
        splits = stratified_folds(y[order], folds=cv, **repeats)
    else:
        splits = random_splits(n, test_size=test_size, **repeats)
    return [Split(order[train], order[test]) for train, test in splits]
