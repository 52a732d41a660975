"""The result of an evaluation: errors, chosen kernels, confusion matrix, probabilities, hardest samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.data.counts import count_of
from separatrix.data.splits import Split
from separatrix.errors import DataError
from separatrix.evaluation.metrics import (
    brier,
    compute_metrics,
    log_loss,
    require_metrics,
    score_classes,
)
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer


@dataclass(frozen=True)
class Reliability:
    """A reliability table: predicted probabilities against observed frequencies.

    For two classes, the probability of the second class and its frequency; for more, the probability of
    the predicted class and its accuracy. Empty bins hold NaN.

    >>> p, hit = np.array([0.1, 0.3, 0.9, 0.7]), np.array([False, False, True, False])
    >>> found = Reliability.of(p, hit, bins=2)
    >>> found.count.tolist(), found.confidence.round(2).tolist(), found.share.tolist()
    ([2, 2], [0.2, 0.8], [0.0, 0.5])
    >>> round(found.expected_calibration_error, 3)
    0.25
    """

    edges: Vector  # shape: (bins + 1,); a bin holds its lower edge, the last one also 1
    count: Codes  # shape: (bins,); rows
    confidence: Vector  # shape: (bins,); mean probability
    share: Vector  # shape: (bins,); observed frequency

    @classmethod
    def of(cls, p: Vector, hit: Any, *, bins: int) -> Reliability:
        """Bin the probability of each row, (n,), and whether it came true."""
        require_integer("reliability", "bins", bins, least=1)
        edges = np.arange(bins + 1) / bins
        position = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, bins - 1)
        count = np.bincount(position, minlength=bins)
        rows = np.where(count > 0, count, np.nan)
        confidence = np.bincount(position, weights=p, minlength=bins) / rows
        share = np.bincount(position, weights=hit, minlength=bins) / rows
        return cls(edges, count, confidence, share)

    @property
    def expected_calibration_error(self) -> float:
        """Mean over all rows of the gap between confidence and frequency of their bin."""
        filled = self.count > 0
        gap = np.abs(self.confidence - self.share)[filled]
        return float(np.average(gap, weights=self.count[filled]))

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain values, one dict per bin; None for empty bins."""
        return [
            {
                "from": float(self.edges[b]),
                "to": float(self.edges[b + 1]),
                "count": int(count),
                "confidence": float(self.confidence[b]) if count else None,
                "share": float(self.share[b]) if count else None,
            }
            for b, count in enumerate(self.count)
        ]

    def __str__(self) -> str:
        lines = [
            f"{self.count.sum()} predictions, expected calibration error "
            f"{self.expected_calibration_error:.3f}",
            f"{'probability':<14}{'rows':>8}{'confidence':>12}{'came true':>13}",
        ]
        for row in self.rows():
            bounds = f"{row['from']:.2f} to {row['to']:.2f}"
            values = (
                f"{row['confidence']:>12.3f}{row['share']:>13.3f}"
                if row["count"]
                else f"{'-':>12}{'-':>13}"
            )
            lines.append(f"{bounds:<14}{row['count']:>8}{values}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Evaluation:
    """Results of a model with each of c candidate kernels on repeated splits.

    Errors are fractions, not per cent; NaN if a candidate was not trained on a split.
    """

    name: str
    kernels: list[str]  # shape: (c,); names of the candidates
    classes: Any  # shape: (k,)
    y: Any  # shape: (n,)
    train_error: Matrix  # shape: (c, repeats)
    test_error: Matrix  # shape: (c, repeats)
    n_iter: Matrix  # shape: (c, repeats)
    splits: list[Split]  # rows of X and y, in training order
    # class codes of the test rows, by candidate and split; -1 for rejected rows
    predicted: dict[tuple[int, int], Codes]
    lead: dict[tuple[int, int], Vector]  # lead of the best other class over the true class
    fold_error: Matrix | None  # shape: (c, repeats); mean over the folds inside each training part
    seconds: float
    # (test rows, k), by candidate and split; empty if the model has none
    probabilities: dict[tuple[int, int], Matrix] = field(default_factory=dict)
    # the same, of the decision function, of a model without probabilities
    scores: dict[tuple[int, int], Matrix] = field(default_factory=dict)
    # (repeats,); None if kernels shared their work
    fit_seconds: Vector | None = None
    predict_seconds: Vector | None = None  # for the test rows
    settings: list[dict[str, Any]] = field(default_factory=list)  # chosen parameters of each split
    edges: list[dict[str, str]] = field(default_factory=list)  # those at the end of what was tried

    @property
    def chosen(self) -> Codes:
        """The candidate of each split, (repeats,): the first with the lowest fold error.

        Without folds, the candidate with the lowest mean test error: optimistic, not to be reported.
        """
        if self.fold_error is not None:
            return np.asarray(self.fold_error.argmin(axis=0))
        return np.full(len(self.splits), self.test_error.mean(axis=1).argmin())

    @property
    def chosen_test_error(self) -> Vector:
        """Test error of the chosen candidate in each split, (repeats,)."""
        return self.test_error[self.chosen, np.arange(len(self.splits))]

    @property
    def log_loss(self) -> Matrix:
        """Mean over the test rows of -log p(true class), (c, repeats); NaN without probabilities.

        Without clipping: infinite if a true class has probability 0.
        """
        return self._by_split(log_loss)

    @property
    def brier(self) -> Matrix:
        """Mean over the test rows of sum_k (p_k - 1[y = k])^2, (c, repeats); NaN without probabilities.

        From 0 to 2; for two classes twice the mean squared error of one probability.
        """
        return self._by_split(brier)

    def metric(self, name: str) -> Matrix:
        """Any metric of `separatrix.evaluation.metrics.NAMES` by split, (c, repeats).

        NaN where the model has neither the probabilities nor the scores that the metric needs.
        """
        require_metrics([name])
        values = np.full(self.test_error.shape, np.nan)
        for cell, guess in self.predicted.items():
            P, S = self.probabilities.get(cell), self.scores.get(cell)
            found = compute_metrics([name], self._true(cell[1]), guess, P, S)
            values[cell] = found.get(name, np.nan)
        return values

    def per_class(self) -> list[dict[str, Any]]:
        """Precision, recall and F1 of each class: means over splits of the chosen candidate."""
        tables = [
            score_classes(self._true(number), self.predicted[int(c), number], len(self.classes))
            for number, c in enumerate(self.chosen)
        ]
        means = {name: np.mean([table[name] for table in tables], axis=0) for name in tables[0]}
        return [
            {"class": label, **{name: float(values[k]) for name, values in means.items()}}
            for k, label in enumerate(self.classes.tolist())
        ]

    def reliability(self, bins: int = 10) -> Reliability:
        """Compute the reliability table over the test rows of all splits, in bins of equal width."""
        if not self.probabilities:
            raise DataError(
                f"this evaluation of {self.name} has no probabilities; use a model with predict_proba, "
                "and neither kernels nor folds"
            )
        P = np.concatenate(list(self.probabilities.values()))
        y = np.concatenate([self._true(number) for _, number in self.probabilities])
        if len(self.classes) == 2:
            return Reliability.of(P[:, 1], y == 1, bins=bins)
        return Reliability.of(P.max(axis=1), P.argmax(axis=1) == y, bins=bins)

    def _by_split(self, loss: Callable[[Codes, Matrix], float]) -> Matrix:
        values = np.full(self.test_error.shape, np.nan)
        for (candidate, number), P in self.probabilities.items():
            values[candidate, number] = loss(self._true(number), P)
        return values

    def _true(self, number: int) -> Codes:
        """Return the class codes of the test rows of a split."""
        return np.asarray(np.searchsorted(self.classes, self.y[self.splits[number].test]))

    def confusion(self) -> tuple[Matrix, Matrix]:
        """Mean and sd over splits of the fraction of class a in the test part predicted as b, (k, k).

        The diagonal is 0; rejected rows are not counted.
        """
        k = len(self.classes)
        tables = np.zeros((len(self.splits), k, k))
        for number, candidate in enumerate(self.chosen):
            true, guess = self._true(number), self.predicted[int(candidate), number]
            decided = guess >= 0
            np.add.at(tables[number], (true[decided], guess[decided]), 1.0)
            tables[number] /= np.maximum(1, np.bincount(true, minlength=k))[:, None]
            np.fill_diagonal(tables[number], 0.0)
        return tables.mean(axis=0), tables.std(axis=0)

    def counts(self) -> Codes:
        """Test rows of class a predicted as b over all splits, (k, k); rejected rows are not counted."""
        k = len(self.classes)
        table = np.zeros((k, k), dtype=np.intp)
        for number, candidate in enumerate(self.chosen):
            true, guess = self._true(number), self.predicted[int(candidate), number]
            np.add.at(table, (true[guess >= 0], guess[guess >= 0]), 1)
        return table

    def hardest(self, count: int = 5) -> list[tuple[int, float, Any]]:
        """Rows with the most errors: (row, fraction of wrong predictions, most frequent wrong class).

        Ties are ordered by the lead of the best other class, in standard deviations of the scores, and
        then by row. The class is None if a row was mostly rejected.
        """
        codes = np.searchsorted(self.classes, self.y)
        labels = [*self.classes, None]
        tally = np.zeros((len(codes), len(labels)), dtype=np.intp)  # -1, rejected, is the last
        behind = np.zeros(len(codes))
        for cell, guess in self.predicted.items():
            test = self.splits[cell[1]].test
            tally[test, guess] += 1
            behind[test] += self.lead.get(cell, 0.0)
        tested = np.maximum(1, tally.sum(axis=1))
        tally[np.arange(len(codes)), codes] = 0
        share = tally.sum(axis=1) / tested
        order = np.lexsort((np.arange(len(codes)), -behind / tested, -share))[:count]
        return [(int(row), float(share[row]), labels[tally[row].argmax()]) for row in order]

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain values, one dict per candidate; errors in per cent."""
        return [self._row(candidate) for candidate in range(len(self.kernels))]

    def _row(self, c: int) -> dict[str, Any]:
        row: dict[str, Any] = {"kernel": self.kernels[c]}
        for name, errors in (("train", self.train_error[c]), ("test", self.test_error[c])):
            run = 100 * errors[~np.isnan(errors)]
            row[f"{name}_error"] = float(run.mean()) if len(run) else None
            row[f"{name}_sd"] = float(run.std()) if len(run) else None
        row["splits"] = int((~np.isnan(self.test_error[c])).sum())
        if self.fold_error is not None:
            row["fold_error"] = 100 * float(self.fold_error[c].mean())
        if self.probabilities:
            for name, losses in (("log_loss", self.log_loss[c]), ("brier", self.brier[c])):
                row[name] = float(losses[~np.isnan(losses)].mean())
        return row

    def __str__(self) -> str:
        more = f"{'log loss':>11}{'Brier':>9}" if self.probabilities else ""
        lines = [
            f"{self.name}: {count_of(len(self.splits), 'random split')}, "
            f"{len(self.splits[0].train)} rows to train and {len(self.splits[0].test)} to test, "
            f"{self.seconds:.1f} s",
            f"{'kernel':<44}{'fold error %':>14}{'splits':>8}{'train error %':>16}{'test error %':>16}"
            + more,
        ]
        for row in self.rows():
            folds = f"{row['fold_error']:>14.2f}" if "fold_error" in row else f"{'-':>14}"
            lines.append(
                f"{shorten(row['kernel'], 43):<44}{folds}{row['splits']:>8}"
                + _mean_and_sd(row["train_error"], row["train_sd"])
                + _mean_and_sd(row["test_error"], row["test_sd"])
                + (f"{row['log_loss']:>11.4f}{row['brier']:>9.4f}" if more else "")
            )
        if self.fold_error is not None:
            error = 100 * self.chosen_test_error
            lines.append(
                f"{'as chosen by the folds':<66}"
                + f"{'':>16}"
                + _mean_and_sd(error.mean(), error.std())
            )
        return "\n".join(lines)


def _mean_and_sd(mean: float | None, sd: float | None) -> str:
    return f"{'-':>16}" if mean is None or sd is None else f"{mean:>9.2f} ± {sd:4.2f}"


def shorten(name: str, most: int) -> str:
    """The name, or its beginning and dots if it is longer than `most` characters."""
    return name if len(name) <= most else name[: most - 3] + "..."
