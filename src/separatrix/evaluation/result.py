"""What an evaluation found: errors, choices, confusions, the hardest samples, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Codes, Matrix, Vector
from separatrix.data.splits import Split


@dataclass(frozen=True)
class Evaluation:
    """What repeated splits said about a model under each of c candidate kernels.

    Errors are shares, not per cent; a candidate that was not trained on a split holds NaN there.
    """

    name: str
    kernels: list[str]  # shape: (c,); how each candidate is called
    classes: Any  # shape: (k,)
    y: Any  # shape: (n,)
    train_error: Matrix  # shape: (c, repeats)
    test_error: Matrix  # shape: (c, repeats)
    n_iter: Matrix  # shape: (c, repeats)
    splits: list[Split]  # rows of X and y, in the order they were met
    predicted: dict[tuple[int, int], Codes]  # class codes of the test rows, by candidate and split
    lead: dict[tuple[int, int], Vector]  # how far ahead of their own class the best other was
    fold_error: Matrix | None  # shape: (c, repeats); mean over the folds inside each training part
    seconds: float

    @property
    def chosen(self) -> Codes:
        """The candidate of each split, (repeats,): the first with the lowest error on the folds.

        Without folds it is the one with the lowest mean test error, for all splits: fit to look at,
        not to report.
        """
        if self.fold_error is not None:
            return np.asarray(self.fold_error.argmin(axis=0))
        return np.full(len(self.splits), self.test_error.mean(axis=1).argmin())

    @property
    def chosen_test_error(self) -> Vector:
        """Test error of the chosen candidate in each split, (repeats,)."""
        return self.test_error[self.chosen, np.arange(len(self.splits))]

    def confusion(self) -> tuple[Matrix, Matrix]:
        """Mean and sd over splits of: share of class a in the test part that was taken for b, (k, k).

        The diagonal is 0: only mistakes are counted.
        """
        k = len(self.classes)
        tables = np.zeros((len(self.splits), k, k))
        codes = np.searchsorted(self.classes, self.y)
        for number, (split, candidate) in enumerate(zip(self.splits, self.chosen, strict=True)):
            true, guess = codes[split.test], self.predicted[int(candidate), number]
            np.add.at(tables[number], (true, guess), 1.0)
            tables[number] /= np.maximum(1, np.bincount(true, minlength=k))[:, None]
            np.fill_diagonal(tables[number], 0.0)
        return tables.mean(axis=0), tables.std(axis=0)

    def hardest(self, count: int = 5) -> list[tuple[int, float, Any]]:
        """Rows mistaken most often when tested: (row, share of the predictions wrong, usual guess).

        All trainings count. Equal shares go to the row whose own class was further behind, in
        spreads of the scores where the model has scores, and then to the first.
        """
        codes = np.searchsorted(self.classes, self.y)
        tally = np.zeros((len(codes), len(self.classes)), dtype=np.intp)
        behind = np.zeros(len(codes))
        for cell, guess in self.predicted.items():
            test = self.splits[cell[1]].test
            tally[test, guess] += 1
            behind[test] += self.lead.get(cell, 0.0)
        tested = np.maximum(1, tally.sum(axis=1))
        tally[np.arange(len(codes)), codes] = 0
        share = tally.sum(axis=1) / tested
        order = np.lexsort((np.arange(len(codes)), -behind / tested, -share))[:count]
        return [(int(row), float(share[row]), self.classes[tally[row].argmax()]) for row in order]

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain values, one dict for each candidate; errors in per cent."""
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
        return row

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {len(self.splits)} random splits, {len(self.splits[0].train)} rows to train "
            f"and {len(self.splits[0].test)} to test, {self.seconds:.1f} s",
            f"{'kernel':<44}{'fold error %':>14}{'splits':>8}{'train error %':>16}{'test error %':>16}",
        ]
        for row in self.rows():
            folds = f"{row['fold_error']:>14.2f}" if "fold_error" in row else f"{'-':>14}"
            lines.append(
                f"{row['kernel']:<44}{folds}{row['splits']:>8}"
                + _mean_and_sd(row["train_error"], row["train_sd"])
                + _mean_and_sd(row["test_error"], row["test_sd"])
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
