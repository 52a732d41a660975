"""Nested evaluation of grids on given splits: folds inside each training part choose, the test part tests.

A family that shares a Gram matrix trains one candidate on every split, so a step is a candidate. Any
other family is fitted split by split, so a step is a split. In both cases the test part is predicted
only by the candidate that the folds chose.
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
from separatrix.experiments.steps import Row, RunContext, Step, StepResult, metric_rows, params_json

NAN = float("nan")
EVERY_SPLIT, FOLDS, SPLIT = "every split, candidate", "folds, candidate", "split"  # kinds of steps


class SplitSamples(NamedTuple):
    """Samples and labels with the rows of the splits."""

    X: Any  # shape: (n, d), or (n,) of texts
    y: Any  # shape: (n,)
    splits: list[Split]


class GridCandidate(NamedTuple):
    """An unfitted model with the parameters that set it apart from the others of its family."""

    parameters: Mapping[str, Any]
    model: Any


@dataclass(frozen=True)
class CandidateFamily:
    """Candidates of one model from which folds choose.

    `shares` is "gram" if all candidates train on one Gram matrix, "neighbors" if they are numbers of
    neighbours that one search answers, and "" if each is fitted separately.
    """

    name: str
    candidates: Sequence[Callable[[RunContext], GridCandidate]]
    shares: str = ""
    metric: str = "euclidean"  # of neighbours

    def step(self, what: str, number: int) -> str:
        """Name of a step: of a candidate on all splits or on their folds, or of one split."""
        return f"{self.name}: {what} {number + 1}"


@dataclass(frozen=True)
class StudyProtocol:
    """Splits of one data set under one seed, and the steps of families on them."""

    data: str
    samples: Callable[[RunContext], SplitSamples]
    repeats: int
    seed: int
    folds: int
    metrics: Sequence[str] = ("error",)

    def steps(self, family: CandidateFamily) -> list[Step]:
        """The steps of a family."""
        positions = range(len(family.candidates))
        if family.shares == "gram":
            steps = [
                Step(family.step(EVERY_SPLIT, i), partial(self.train_on_splits, f=family, i=i))
                for i in positions
            ]
            if len(positions) > 1:
                steps += [
                    Step(family.step(FOLDS, i), partial(self.score_on_folds, f=family, i=i))
                    for i in positions
                ]
            return [*steps, Step(f"{family.name}: choice", partial(self.choose, f=family))]
        run = self.run_neighbor_split if family.shares == "neighbors" else self.run_split
        return [
            Step(family.step(SPLIT, number), partial(run, f=family, number=number))
            for number in range(self.repeats)
        ]

    def train_on_splits(self, context: RunContext, f: CandidateFamily, i: int) -> StepResult:
        """Train and test one candidate on all splits, on the shared Gram matrix."""
        candidate = f.candidates[i](context)
        found = self._evaluate(context, candidate)
        rows, predicted, lead = [], [], []
        for number in range(self.repeats):
            values = {
                "train_error": found.train_error[0, number],
                "test_error": found.test_error[0, number],
                "n_iter": found.n_iter[0, number],
            }
            rows += self._rows(f, candidate.parameters, number, values, part=found.splits[number])
            predicted.append(found.predicted[0, number])
            lead.append(found.lead[0, number])
        arrays = {"predicted": np.concatenate(predicted).astype(np.int32)}
        return StepResult(rows, {**arrays, "lead": np.concatenate(lead)})

    def score_on_folds(self, context: RunContext, f: CandidateFamily, i: int) -> StepResult:
        """Score one candidate on the folds of all training parts, on the same Gram matrix."""
        candidate = f.candidates[i](context)
        found = self._evaluate(context, candidate, folds=self.folds, retrain=False)
        rows = []
        for number, error in enumerate(np.asarray(found.fold_error)[0]):
            rows += self._rows(f, candidate.parameters, number, {"fold_error": error})
        return StepResult(rows)

    def choose(self, context: RunContext, f: CandidateFamily) -> StepResult:
        """Metrics of the candidate that the folds of each split choose; it has been tested already."""
        study = self.evaluation(context, f)
        rows = []
        for number, position in enumerate(study.chosen):
            parameters = f.candidates[int(position)](context).parameters
            guess = study.predicted[int(position), number]
            rows += self._chosen_rows(context, f, parameters, number, guess, None)
        return StepResult(rows)

    def run_split(self, context: RunContext, f: CandidateFamily, number: int) -> StepResult:
        """One split: folds choose, the chosen candidate is refitted on the training part and tested."""
        X, y, splits = self.samples(context)
        train = splits[number].train
        candidates = [make(context) for make in f.candidates]
        rows: list[Row] = []
        position = 0
        if len(candidates) > 1:
            inner = fold_splits(train, folds=self.folds, seed=self.seed + number)
            errors = [
                float(np.mean([_error(c.model, X, y, fold) for fold in inner])) for c in candidates
            ]
            for c, error in zip(candidates, errors, strict=True):
                rows += self._rows(f, c.parameters, number, {"fold_error": error})
            position = int(np.argmin(errors))
        chosen = candidates[position]
        classes, codes = np.unique(y, return_inverse=True)
        with _ignore_convergence():
            trial = fit_and_score(chosen.model, X, codes, splits[number], classes)
        train_error = {"train_error": np.mean(trial.on_train != codes[train])}
        rows += self._rows(f, chosen.parameters, number, train_error, trial.fit_seconds)
        guess, P, seconds = trial.on_test, trial.probabilities, trial.predict_seconds
        rows += self._chosen_rows(
            context, f, chosen.parameters, number, guess, P, seconds, trial.scores
        )
        arrays = {"predicted": guess.astype(np.int32)}
        return StepResult(rows, arrays if P is None else {**arrays, "probabilities": P})

    def run_neighbor_split(
        self, context: RunContext, f: CandidateFamily, number: int
    ) -> StepResult:
        """Numbers of neighbours on one split and its folds; all splits share one search."""
        X, y, splits = self.samples(context)
        train, test = splits[number]
        candidates = [make(context) for make in f.candidates]
        ks = np.array([c.parameters["n_neighbors"] for c in candidates]) - 1
        shared = context.shared(
            ("neighbors", id(X), f.metric, int(ks.max())),  # it holds X, so the id stays unique
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
            wrong = np.mean(guesses[:, position] != codes[test])
            values = {"fold_error": errors[position], "test_error": wrong}
            rows += self._rows(f, c.parameters, number, values, part=splits[number])
        position = int(errors.argmin())
        guess = np.ascontiguousarray(guesses[:, position])
        chosen = candidates[position].parameters
        rows += self._chosen_rows(context, f, chosen, number, guess, None)
        return StepResult(rows, {"predicted": guess.astype(np.int32)})

    def evaluation(self, context: RunContext, f: CandidateFamily) -> Evaluation:
        """The results of all candidates of a family that shares a Gram matrix."""
        _, y, splits = self.samples(context)
        positions = range(len(f.candidates))
        found = [context.result(f.step(EVERY_SPLIT, i)) for i in positions]
        ends = np.cumsum([len(split.test) for split in splits])[:-1]
        guesses = [np.split(one.arrays["predicted"], ends) for one in found]
        leads = [np.split(one.arrays["lead"], ends) for one in found]

        def errors(metric: str) -> Any:
            return np.array([[r.value for r in one.rows if r.metric == metric] for one in found])

        fold_error = None
        if len(positions) > 1:
            fold_error = np.array(
                [[row.value for row in context.result(f.step(FOLDS, i)).rows] for i in positions]
            )
        cells = [(i, number) for i in positions for number in range(self.repeats)]
        return Evaluation(
            name=f.name,
            kernels=[params_json(**f.candidates[i](context).parameters) for i in positions],
            classes=np.unique(y),
            y=y,
            train_error=errors("train_error"),
            test_error=errors("test_error"),
            n_iter=errors("n_iter"),
            splits=splits,
            predicted={(i, s): guesses[i][s].astype(np.intp) for i, s in cells},
            lead={(i, s): leads[i][s] for i, s in cells},
            fold_error=fold_error,
            seconds=0.0,
        )

    def _chosen_rows(
        self,
        context: RunContext,
        f: CandidateFamily,
        parameters: Mapping[str, Any],
        number: int,
        guess: Any,
        P: Any,
        seconds: float = NAN,
        S: Any = None,
    ) -> list[Row]:
        """Every metric of the chosen candidate on the test part of one split."""
        _, y, splits = self.samples(context)
        true = np.searchsorted(np.unique(y), y[splits[number].test])
        found = compute_metrics(("error", *self.metrics), true, guess, P, S)
        values = {f"chosen_{metric}": value for metric, value in found.items()}
        return self._rows(f, parameters, number, values, seconds, splits[number])

    def _evaluate(self, context: RunContext, candidate: GridCandidate, **how: Any) -> Evaluation:
        X, y, splits = self.samples(context)
        with _ignore_convergence():
            return evaluate(
                candidate.model,
                X,
                y,
                kernels=[candidate.model.kernel],
                splits=splits,
                random_state=self.seed,
                products=context.shared("products", Products),
                progress=False,
                **how,
            )

    def _rows(
        self,
        f: CandidateFamily,
        parameters: Mapping[str, Any],
        number: int,
        values: Mapping[str, Any],
        seconds: float = NAN,
        part: Split | None = None,  # whose test rows the values are shares of
    ) -> list[Row]:
        return metric_rows(
            f.name,
            self.data,
            f.name,
            values,
            split=number,
            seconds=seconds,
            sizes=(0, 0) if part is None else (len(part.train), len(part.test)),
            **parameters,
        )


def _error(model: Any, X: Any, y: Any, split: Split) -> float:
    with _ignore_convergence():
        fitted = clone(model).fit(X[split.train], y[split.train])
    return float(np.mean(fitted.predict(X[split.test]) != y[split.test]))


@contextmanager
def _ignore_convergence() -> Iterator[None]:
    """Silence fits that stop at `max_iter`: the rows report `n_iter`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
