"""Cost-sensitive decisions of a model: loss matrices from files and words, rejection, thresholds."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from separatrix.app.estimate import last_step
from separatrix.app.preprocessing import undecided
from separatrix.data.regular_files import read_regular
from separatrix.errors import DataError, DataFileError, ParameterError, UnsupportedError
from separatrix.estimators.decision import BayesDecision
from separatrix.types import Matrix

MOST_BYTES = 64 * 2**20  # of a file of costs
WITH_PROBABILITIES = "logistic, lda, qda, knn or naive Bayes"


@dataclass(frozen=True)
class DecisionOptions:
    """Costs of errors and of rejection, and a threshold; none of them: the most probable class."""

    costs: Path | None = None
    """CSV file with a row for each true class and a column for each decision."""
    entries: tuple[str, ...] = ()
    """Costs such as "tumour,harmless=10", the true class first; other errors cost 1."""
    reject_cost: float | None = None
    threshold: str | None = None
    """A probability of the second of two classes, or "tune"."""

    def __bool__(self) -> bool:
        given = (self.costs, self.reject_cost, self.threshold)
        return bool(self.entries) or any(value is not None for value in given)

    def loss_matrix(self, classes: Any) -> Matrix | None:
        """The loss matrix in the order of the classes, (k, k); None if no costs are given."""
        labels = [str(label) for label in np.asarray(classes).tolist()]
        L: Matrix = np.asarray(1.0 - np.eye(len(labels)), dtype=np.float64)
        if self.costs is not None:
            L = read_costs(self.costs, labels)
        for entry in self.entries:
            true, decided, cost = _parse_cost(entry, labels)
            L[true, decided] = cost
        return L if self.costs is not None or self.entries else None

    def wrap(self, model: Any, classes: Any) -> Any:
        """Put the decision around a model, which is fitted with it; the model itself without options."""
        if not self:
            return model
        _require_probabilities(model)
        labels = np.asarray(classes).tolist()
        return BayesDecision(
            model,
            self.loss_matrix(classes),
            reject_cost=self.reject_cost,
            reject_label="reject" if -1 in labels else None,
            threshold=self._threshold(),
        )

    def decide(self, model: Any) -> Any:
        """Put the decision around a fitted model, in place of the one that it has."""
        if not self:
            return model
        inner = undecided(model)
        _require_probabilities(inner)
        if self._threshold() == "tune":
            must_be = "a probability; `fit --threshold tune` chooses one on held-out rows"
            raise ParameterError("predict", "threshold", must_be, "tune")
        made = self.wrap(FrozenEstimator(inner), inner.classes_)
        return made.fit(None, None)  # a frozen model reads no rows

    def _threshold(self) -> float | str | None:
        if self.threshold is None or self.threshold == "tune":
            return self.threshold
        try:
            return float(self.threshold)
        except ValueError:
            must_be = "a probability or tune"
            raise ParameterError("fit", "threshold", must_be, self.threshold) from None


def read_costs(path: Path, labels: list[str]) -> Matrix:
    """Read a loss matrix: k rows of k numbers, or the same with the names of the classes around it.

    Rows are true classes, columns decisions. Without names they are in the order of the classes; with
    names, a first line and a first column, in any order.
    """
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES} bytes, too many for a table of costs")
    text = read_regular(path).decode("utf-8-sig", errors="replace")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if any(line)]
    k = len(labels)
    sizes = {len(line) for line in lines}
    if (len(lines), sizes) == (k, {k}):
        return _numbers(path, lines, 0)
    if (len(lines), sizes) != (k + 1, {k + 1}):
        found = f"{len(lines)} lines of {' or '.join(map(str, sorted(sizes))) or 'no'} values"
        expected = f"{k} lines of {k} costs, or {k + 1} of {k + 1} with the names of the classes"
        raise DataFileError(path, found=found, expected=expected)
    columns = [word.strip() for word in lines[0][1:]]
    rows = [line[0].strip() for line in lines[1:]]
    for names in (columns, rows):
        if sorted(names) != sorted(labels):
            raise DataFileError(path, found=_listed(names), expected=f"classes {_listed(labels)}")
    L = _numbers(path, [line[1:] for line in lines[1:]], 1)
    order = [rows.index(label) for label in labels], [columns.index(label) for label in labels]
    return np.asarray(L[np.ix_(*order)])


def _numbers(path: Path, cells: list[list[str]], names: int) -> Matrix:
    L = np.empty((len(cells), len(cells[0])))
    for i, line in enumerate(cells):
        for j, cell in enumerate(line):
            try:
                L[i, j] = float(cell)
            except ValueError:
                L[i, j] = math.nan
            if not math.isfinite(L[i, j]):
                where = (i + names + 1, j + names + 1)
                raise DataFileError(path, *where, found=repr(cell), expected="a finite cost")
    return L


def _parse_cost(entry: str, labels: list[str]) -> tuple[int, int, float]:
    """Positions of the true and the decided class, and the cost."""
    names, _, number = entry.rpartition("=")
    parts = [part.strip() for part in names.split(",")]
    try:
        cost = float(number)
    except ValueError:
        cost = math.nan
    if len(parts) != 2 or not math.isfinite(cost):
        must_be = "TRUE,PREDICTED=COST, such as tumour,harmless=10"
        raise ParameterError("fit", "cost", must_be, entry)
    for part in parts:
        if part not in labels:
            raise ParameterError("fit", "cost", f"of the classes {_listed(labels)}", part)
    return labels.index(parts[0]), labels.index(parts[1]), cost


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _require_probabilities(model: Any) -> None:
    if hasattr(model, "predict_proba"):
        return
    name = type(last_step(model)).__name__
    error = UnsupportedError(f"costs, rejection and thresholds need probabilities; {name} has none")
    error.hint = f"use {WITH_PROBABILITIES}, or fit svm with --set calibration=sigmoid"
    raise error
