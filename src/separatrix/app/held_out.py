"""The error of a model on rows that it was not fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, stratified_folds, stratified_splits
from separatrix.errors import ParameterError
from separatrix.estimators.decision import BayesDecision


class HeldOut(NamedTuple):
    """Error on held-out rows, by models that were fitted to the other rows."""

    how: str
    rows: int
    error: float  # share of wrong predictions among the rows that were not rejected
    rejected: int = 0
    mean_cost: float | None = None  # with a loss matrix or rejection

    def __str__(self) -> str:
        words = f"held-out error {100 * self.error:.2f} % ({self.rows} rows, {self.how})"
        if self.rejected:
            words += f", {self.rejected} rejected"
        return words + ("" if self.mean_cost is None else f", mean cost {self.mean_cost:.4g}")


def measure_held_out(
    model: Any, data: Dataset, *, test_share: float | None, folds: int | None, seed: int
) -> HeldOut | None:
    """Fit copies of a model to parts of the data, test each on the other rows; None unless asked for."""
    if test_share is None and folds is None:
        return None
    if test_share is not None and folds is not None:
        raise ParameterError(
            "fit", "test_share", "None with folds: each row is held out", test_share
        )
    splits, how = _draw(np.asarray(data.y), test_share, folds, seed)
    wrong = rejected = rows = 0
    costs: list[float] = []
    for train, test in splits:
        part, held = data.at(train), data.at(test)
        fitted = clone(model).fit(part.X, part.y)
        guess, true = np.asarray(fitted.predict(held.X)), np.asarray(held.y)
        decided = np.isin(guess, fitted.classes_)
        wrong += int((guess[decided] != true[decided]).sum())
        rejected += int((~decided).sum())
        rows += len(test)
        if isinstance(fitted, BayesDecision):
            costs += [fitted.mean_cost(held.X, true)] * len(test)
    mean_cost = float(np.mean(costs)) if costs else None
    return HeldOut(how, rows, wrong / max(1, rows - rejected), rejected, mean_cost)


def _draw(
    y: Any, test_share: float | None, folds: int | None, seed: int
) -> tuple[list[Split], str]:
    if folds is not None:
        return stratified_folds(y, folds=folds, seed=seed), f"{folds} folds"
    share = float(test_share or 0.0)
    if not 0.0 < share < 1.0:
        raise ParameterError("fit", "test_share", "above 0 and below 1", test_share)
    return stratified_splits(y, repeats=1, test_size=share, seed=seed), f"a share of {share:g}"
