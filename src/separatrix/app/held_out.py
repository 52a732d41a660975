"""The error of a model on rows that it was not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, grouped_folds, stratified_folds, stratified_splits
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.decision import BayesDecision
from separatrix.evaluation.metrics import average_precision
from separatrix.evaluation.ordered_splits import ordered_splits
from separatrix.evaluation.trial import by_class
from separatrix.runtime.threads import blas_for_samples

FOLDS, SHARE = 5, 0.2
MOST_FIT, MOST_TUNED = 10_000, 4_000  # rows up to which each is held out once; then a share of them
RARE = 0.25  # share of an even share of the rows, below which a class is rare
MOST_SHOWN = 12  # classes of a table of counts


@dataclass(frozen=True)
class HeldOutRows:
    """Which rows to measure the error on."""

    test_share: float | None = None
    folds: int | None = None
    groups: Any = None  # shape: (n,); rows of a group stay together
    times: Any = None  # shape: (n,); test rows are later than training rows
    asked: bool = True  # an embedding has no error: refused, if it was asked for

    @classmethod
    def usual(cls, n: int, *, tuned: bool) -> HeldOutRows:
        """All rows in five folds; of many rows a fifth."""
        if n <= (MOST_TUNED if tuned else MOST_FIT):
            return cls(folds=FOLDS, asked=False)
        return cls(test_share=SHARE, asked=False)

    def draw(self, y: Any, seed: int) -> tuple[list[Split], str]:
        """The splits, and their description."""
        if self.test_share is not None and self.folds is not None:
            must_be = "None with folds: each row is held out"
            raise ParameterError("fit", "test_share", must_be, self.test_share)
        folds = self.folds or (1 if self.test_share is not None else FOLDS)
        if self.times is not None:
            if self.test_share is not None:
                folds = max(1, round(1 / self.test_share) - 1)
                return ordered_splits(self.times, folds=folds)[-1:], "the latest"
            found = ordered_splits(self.times, folds=folds)
            later = [split for split in found if len(np.unique(y[split.train])) > 1] or found
            return later, f"{len(later)} later periods"
        if self.groups is not None:
            folds = folds if self.test_share is None else max(2, round(1 / self.test_share))
            splits = grouped_folds(self.groups, folds=folds, seed=seed)
            if self.test_share is not None:
                return splits[:1], f"whole groups, a share of about {self.test_share:g}"
            return splits, f"{folds} folds of whole groups"
        if self.test_share is not None and not 0.0 < self.test_share < 1.0:
            raise ParameterError("fit", "test_share", "above 0 and below 1", self.test_share)
        rows, alone = _of_more_than_one(y)
        if not len(rows):
            raise DataError("every class has a single row, which cannot be both learned and tested")
        if self.test_share is None:
            found, how = stratified_folds(y[rows], folds=folds, seed=seed), f"{folds} folds"
        else:
            share = float(self.test_share)
            found = stratified_splits(y[rows], repeats=1, test_size=share, seed=seed)
            how = f"a share of {share:g}"
        return [Split(np.append(rows[a], alone), rows[b]) for a, b in found], how


def _of_more_than_one(y: Any) -> tuple[Any, Any]:
    """Rows of classes with several rows, and the others: those cannot be both learned and tested."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    single = counts[codes] < 2
    return np.flatnonzero(~single), np.flatnonzero(single)


class HeldOut(NamedTuple):
    """Error on held-out rows, by models that were fitted to the other rows."""

    how: str
    rows: int
    error: float  # share of wrong predictions among the rows that were not rejected
    rejected: int = 0
    mean_cost: float | None = None  # with a loss matrix or rejection
    majority: Any = None  # the most frequent class
    majority_error: float = float("nan")  # of predicting it always
    balanced_accuracy: float = float("nan")
    average_precision: float | None = None  # area under the precision-recall curve
    classes: Sequence[Any] = ()
    confusion: Any = None  # shape: (k, k); rows are true classes, columns predicted ones
    converged: bool = True

    def __str__(self) -> str:
        words = f"held-out error {100 * self.error:.2f} % ({self.rows} rows, {self.how})"
        if self.rejected:
            words += f", {self.rejected} rejected"
        return words + ("" if self.mean_cost is None else f", mean cost {self.mean_cost:.4g}")

    @property
    def rare(self) -> list[Any]:
        """Classes with less than a quarter of an even share of the rows."""
        if self.confusion is None:
            return []
        counts = np.sum(self.confusion, axis=1)
        least = RARE * counts.sum() / max(1, len(counts))
        return [c for c, count in zip(self.classes, counts, strict=True) if count < least]

    def details(self) -> list[str]:
        """What an error rate hides where classes are rare: lines of text, none otherwise."""
        if not self.rare:
            return []
        names = ", ".join(map(str, self.rare[:5]))
        area = self.average_precision
        precision = "" if area is None else f", average precision {area:.3f}"
        lines = [
            f"rare: {names}; balanced accuracy {100 * self.balanced_accuracy:.1f} %{precision}"
        ]
        if len(self.classes) > MOST_SHOWN:
            return lines
        width = max(8, *(len(str(label)) + 2 for label in self.classes))
        lines.append("true, predicted" + "".join(f"{label!s:>{width}}" for label in self.classes))
        for label, row in zip(self.classes, self.confusion, strict=True):
            lines.append(f"{label!s:<15}" + "".join(f"{count:>{width}d}" for count in row))
        return lines


class FoldGuess(NamedTuple):
    """Predictions of the test rows of one split."""

    guess: Any
    area: float | None  # average precision
    costs: list[float]  # mean cost, once for each row
    converged: bool


def measure_held_out(
    model: Any, data: Dataset, *, rows: HeldOutRows, seed: int, client: Any = None
) -> HeldOut:
    """Fit copies of a model to parts of the data, and test each on the other rows.

    With a `client` of a Dask cluster, each part is a task.
    """
    y = np.asarray(data.y)
    splits, how = rows.draw(y, seed)
    if client is None:
        parts = [guess_held_out(model, data, split) for split in splits]
    else:
        from separatrix.cluster.connection import results_of_calls, submit_calls

        sent = client.scatter(data, broadcast=True, hash=False)
        names = [f"held-out-{number}" for number in range(len(splits))]
        calls = [(model, sent, split) for split in splits]
        futures = submit_calls(client, names, guess_held_out, calls)
        parts = results_of_calls(client, futures)
    labels = np.concatenate([y[test] for _, test in splits])
    guesses = np.concatenate([part.guess for part in parts])
    areas = [(part.area, len(part.guess)) for part in parts]
    costs = [cost for part in parts for cost in part.costs]
    found = _summarise(how, np.unique(y), labels, guesses, areas, costs)
    return found._replace(converged=all(part.converged for part in parts))


def guess_held_out(model: Any, data: Dataset, split: Split) -> FoldGuess:
    """Fit a copy of a model to one part, and predict the other."""
    y, (train, test) = np.asarray(data.y), split
    classes, part, held = np.unique(y), data.at(train), data.at(test)
    with warnings.catch_warnings(record=True) as caught, blas_for_samples(data.X):
        warnings.simplefilter("always")  # the fit to all rows has the same, which are shown
        fitted = clone(model).fit(part.X, part.y)
        guess = np.asarray(fitted.predict(held.X))
        area = _area(fitted, held.X, np.searchsorted(classes, y[test]), classes)
        cost = fitted.mean_cost(held.X, y[test]) if isinstance(fitted, BayesDecision) else None
    converged = not any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return FoldGuess(guess, area, [] if cost is None else [cost] * len(test), converged)


def _summarise(
    how: str, classes: Any, true: Any, guess: Any, areas: list[Any], costs: list[float]
) -> HeldOut:
    decided = np.isin(guess, classes)
    table = np.zeros((len(classes), len(classes)), dtype=np.intp)
    codes = np.searchsorted(classes, true[decided])
    np.add.at(table, (codes, np.searchsorted(classes, guess[decided].astype(classes.dtype))), 1)
    counts = table.sum(axis=1)
    recalls = table.diagonal()[counts > 0] / counts[counts > 0]
    values, weights = zip(*areas, strict=True)
    known = all(value is not None for value in values)
    frequent = int(counts.argmax())
    return HeldOut(
        how=how,
        rows=len(true),
        error=float(1 - table.trace() / max(1, decided.sum())),
        rejected=int((~decided).sum()),
        mean_cost=float(np.mean(costs)) if costs else None,
        majority=classes.tolist()[frequent],
        majority_error=float(1 - counts[frequent] / max(1, counts.sum())),
        balanced_accuracy=float(recalls.mean()) if len(recalls) else float("nan"),
        average_precision=float(np.average(values, weights=weights)) if known else None,
        classes=classes.tolist(),
        confusion=table,
    )


def _area(fitted: Any, X: Any, codes: Any, classes: Any) -> float | None:
    """The average precision on one test part; None without probabilities or scores of all classes."""
    if not np.array_equal(getattr(fitted, "classes_", ()), classes):
        return None
    scores: Any = None
    if hasattr(fitted, "predict_proba"):
        scores = np.asarray(fitted.predict_proba(X))
    elif hasattr(fitted, "decision_function"):
        scores = by_class(np.asarray(fitted.decision_function(X)), len(classes))
    if scores is None:
        return None
    area = average_precision(codes, scores)
    return None if np.isnan(area) else area
