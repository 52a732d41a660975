"""Models under their grids on given splits: the folds inside each training part choose, a test decides.

Two ways to the same table. A family that *shares* trains each candidate on every split over one Gram
matrix, so a step is a candidate. Any other is fitted by itself, so a step is a split. Either way the
test part is looked at by what the folds chose, and no candidate sees it before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.splits import Split, fold_splits
from separatrix.evaluation.metrics import compute_metrics
from separatrix.evaluation.neighbor_study import SharedNeighbors
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.study import Products, evaluate
from separatrix.evaluation.trial import fit_and_score
from separatrix.experiments.steps import Row, RunContext, Step, StepResult, params_json


class Samples(NamedTuple):
    """What is split: samples and labels, with the rows of the splits."""

    X: Any  # shape: (n, d), or (n,) of texts
    y: Any  # shape: (n,)
    splits: list[Split]


class Candidate(NamedTuple):
    """A model that is not fitted yet, and what makes it different from the others."""

    parameters: Mapping[str, Any]
    model: Any


@dataclass(frozen=True)
class Family:
    """A model under several candidates, which folds choose from.

    `shares` is "gram" where all candidates train on one Gram matrix, "neighbors" where they are
    numbers of neighbours, 1, 2, ..., and all votes come from one search, and "" where each is fitted
    by itself.
    """

    name: str
    candidates: Sequence[Callable[[RunContext], Candidate]]
    shares: str = ""
    metric: str = "euclidean"  # of neighbours

    def every(self, position: int) -> str:
        """Name of the step that trains and tests one candidate on all splits."""
        return f"{self.name}: every split, candidate {position + 1}"

    def folds(self, position: int) -> str:
        """Name of the step that does so on the folds inside all training parts."""
        return f"{self.name}: folds, candidate {position + 1}"

    def split(self, number: int) -> str:
        """Name of the step that does all for one split."""
        return f"{self.name}: split {number + 1}"

    @property
    def choice(self) -> str:
        """Name of the step that lets the folds choose."""
        return f"{self.name}: choice"


@dataclass(frozen=True)
class Protocol:
    """Splits of one data set under one seed, and the steps of families on them."""

    data: str
    samples: Callable[[RunContext], Samples]
    repeats: int
    seed: int
    folds: int
    metrics: Sequence[str] = ("error",)

    def steps(self, family: Family) -> list[Step]:
        """What is to be done for a family."""
        positions = range(len(family.candidates))
        if family.shares == "gram":
            steps = [Step(family.every(i), partial(self.every, f=family, i=i)) for i in positions]
            if len(positions) > 1:
                steps += [
                    Step(family.folds(i), partial(self.held_out, f=family, i=i)) for i in positions
                ]
            return [*steps, Step(family.choice, partial(self.choice, f=family))]
        one = self.neighbors if family.shares == "neighbors" else self.one_split
        return [
            Step(family.split(number), partial(one, f=family, number=number))
            for number in range(self.repeats)
        ]

    def every(self, workshop: RunContext, f: Family, i: int) -> StepResult:
        """One candidate on all splits, over the Gram matrix that all share."""
        candidate = f.candidates[i](workshop)
        found = self._evaluate(workshop, candidate)
        rows = [
            self._row(f, candidate.parameters, number, metric, errors[0, number])
            for number in range(self.repeats)
            for metric, errors in (
                ("train_error", found.train_error),
                ("test_error", found.test_error),
                ("n_iter", found.n_iter),
            )
        ]
        cells = [(0, number) for number in range(self.repeats)]
        return StepResult(
            rows,
            {
                "predicted": np.concatenate([found.predicted[cell] for cell in cells]).astype(
                    np.int32
                ),
                "lead": np.concatenate([found.lead[cell] for cell in cells]),
            },
        )

    def held_out(self, workshop: RunContext, f: Family, i: int) -> StepResult:
        """One candidate on the folds inside all training parts, over the same Gram matrix."""
        candidate = f.candidates[i](workshop)
        found = self._evaluate(workshop, candidate, folds=self.folds, retrain=False)
        errors = np.asarray(found.fold_error)[0]
        return StepResult(
            [
                self._row(f, candidate.parameters, number, "fold_error", error)
                for number, error in enumerate(errors)
            ]
        )

    def choice(self, workshop: RunContext, f: Family) -> StepResult:
        """What the folds of each split choose: it was trained and tested already."""
        study = self.study(workshop, f)
        rows = []
        for number, position in enumerate(study.chosen):
            parameters = f.candidates[int(position)](workshop).parameters
            guess = study.predicted[int(position), number]
            rows += self._tested(workshop, f, parameters, number, guess, None)
        return StepResult(rows)

    def one_split(self, workshop: RunContext, f: Family, number: int) -> StepResult:
        """Any model on one split: folds in its training part choose, it is fitted to all, and tested."""
        X, y, splits = self.samples(workshop)
        train = splits[number].train
        candidates = [make(workshop) for make in f.candidates]
        rows = []
        position = 0
        if len(candidates) > 1:
            inner = fold_splits(train, folds=self.folds, seed=self.seed + number)
            errors = [
                float(np.mean([_error(c.model, X, y, fold) for fold in inner])) for c in candidates
            ]
            rows = [
                self._row(f, c.parameters, number, "fold_error", error)
                for c, error in zip(candidates, errors, strict=True)
            ]
            position = int(np.argmin(errors))
        chosen = candidates[position]
        classes, codes = np.unique(y, return_inverse=True)
        with _told_by_n_iter():
            trial = fit_and_score(chosen.model, X, codes, splits[number], classes)
        wrong = np.mean(trial.on_train != codes[train])
        guess, P, seconds = trial.on_test, trial.probabilities, trial.predict_seconds
        rows.append(
            self._row(f, chosen.parameters, number, "train_error", wrong, trial.fit_seconds)
        )
        rows += self._tested(workshop, f, chosen.parameters, number, guess, P, seconds)
        arrays = {"predicted": guess.astype(np.int32)}
        return StepResult(rows, arrays if P is None else {**arrays, "probabilities": P})

    def neighbors(self, workshop: RunContext, f: Family, number: int) -> StepResult:
        """Numbers of neighbours on one split and its folds; all splits share one search."""
        X, y, splits = self.samples(workshop)
        train, test = splits[number]
        candidates = [make(workshop) for make in f.candidates]
        ks = np.array([c.parameters["n_neighbors"] for c in candidates]) - 1
        shared: SharedNeighbors = workshop.once(
            ("neighbors", id(X), f.metric, int(ks.max())),  # they hold X, so no other gets its id
            lambda: SharedNeighbors.of(
                X, k=int(ks.max()) + 1, metric=f.metric, device=candidates[0].model.device
            ),
        )
        _, codes = np.unique(y, return_inverse=True)
        inner = fold_splits(train, folds=self.folds, seed=self.seed + number)
        errors = np.mean(
            [
                (shared.winners(codes, s.train, s.test) != codes[s.test][:, None]).mean(axis=0)
                for s in inner
            ],
            axis=0,
        )[ks]
        guesses = shared.winners(codes, train, test)[:, ks]
        rows = []
        for position, c in enumerate(candidates):
            wrong = float(np.mean(guesses[:, position] != codes[test]))
            rows.append(self._row(f, c.parameters, number, "fold_error", errors[position]))
            rows.append(self._row(f, c.parameters, number, "test_error", wrong))
        position = int(errors.argmin())
        guess = np.ascontiguousarray(guesses[:, position])
        rows += self._tested(workshop, f, candidates[position].parameters, number, guess, None)
        return StepResult(rows, {"predicted": guess.astype(np.int32)})

    def study(self, workshop: RunContext, f: Family) -> Evaluation:
        """What the steps of a sharing family found, as one evaluation with all its candidates."""
        _, y, splits = self.samples(workshop)
        positions = range(len(f.candidates))
        found = [workshop.found(f.every(i)) for i in positions]
        ends = np.cumsum([len(split.test) for split in splits])[:-1]
        guesses = [np.split(finding.arrays["predicted"], ends) for finding in found]
        leads = [np.split(finding.arrays["lead"], ends) for finding in found]

        def errors(metric: str) -> Any:
            return np.array([[r.value for r in one.rows if r.metric == metric] for one in found])

        held_out = None
        if len(positions) > 1:
            held_out = np.array(
                [[row.value for row in workshop.found(f.folds(i)).rows] for i in positions]
            )
        cells = [(i, number) for i in positions for number in range(self.repeats)]
        return Evaluation(
            name=f.name,
            kernels=[params_json(**f.candidates[i](workshop).parameters) for i in positions],
            classes=np.unique(y),
            y=y,
            train_error=errors("train_error"),
            test_error=errors("test_error"),
            n_iter=errors("n_iter"),
            splits=splits,
            predicted={(i, s): guesses[i][s].astype(np.intp) for i, s in cells},
            lead={(i, s): leads[i][s] for i, s in cells},
            fold_error=held_out,
            seconds=0.0,
        )

    def _tested(
        self,
        workshop: RunContext,
        f: Family,
        parameters: Mapping[str, Any],
        number: int,
        guess: Any,
        P: Any,
        seconds: float = float("nan"),
    ) -> list[Row]:
        """Rows for what was chosen: its parameters, its error, and every metric of its guesses."""
        _, y, splits = self.samples(workshop)
        classes = np.unique(y)
        true = np.searchsorted(classes, y[splits[number].test])
        metrics = ("error", *self.metrics)
        return [
            self._row(f, parameters, number, f"chosen_{metric}", value, seconds)
            for metric, value in compute_metrics(metrics, true, guess, P).items()
        ]

    def _evaluate(self, workshop: RunContext, candidate: Candidate, **how: Any) -> Evaluation:
        X, y, splits = self.samples(workshop)
        with _told_by_n_iter():
            return evaluate(
                candidate.model,
                X,
                y,
                kernels=[candidate.model.kernel],
                splits=splits,
                random_state=self.seed,
                products=workshop.once("products", Products),
                progress=False,
                **how,
            )

    def _row(
        self,
        f: Family,
        parameters: Mapping[str, Any],
        number: int,
        metric: str,
        value: Any,
        seconds: float = float("nan"),
    ) -> Row:
        return Row(
            f.name,
            self.data,
            f.name,
            params_json(**parameters),
            number,
            metric,
            float(value),
            seconds,
        )


def _error(model: Any, X: Any, y: Any, split: Split) -> float:
    with _told_by_n_iter():
        fitted = clone(model).fit(X[split.train], y[split.train])
    return float(np.mean(fitted.predict(X[split.test]) != y[split.test]))


@contextmanager
def _told_by_n_iter() -> Iterator[None]:
    """Fits that end at their limit of passes are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
