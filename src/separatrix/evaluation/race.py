"""Candidates race within a time budget: growing subsets first, all splits for those that are left.

A rung is a subset of the training rows of the first split. After each rung, about half of the candidates
go on, unless there is time for all. The finalists then run split by split, so that whenever the time is
up, or Ctrl-C is pressed, all of them have the same splits.

Reference: Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization,
AISTATS 2016.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.splits import Split, subsample
from separatrix.evaluation.metrics import LOSSES
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing
from separatrix.evaluation.study import evaluate
from separatrix.runtime.compiled import timing_compilation
from separatrix.runtime.machine_load import expected_slowdown
from separatrix.runtime.time_limit import OutOfTime, time_limit
from separatrix.types import Codes

FIRST_ROWS, FACTOR = 500, 4  # of the first rung; between two rungs
WARM_UP = 60  # rows of a fit that is not timed: it may have to compile
SHORT = 0.5  # seconds: with fewer left, there is no such fit
MOST_TESTED = 2000  # rows of a rung
LATE = 3.0  # seconds on an idle machine beyond a budget that was too short for any answer
FEWEST_FINALISTS = 3
RACING = 0.4  # share of the budget for rungs
STEEP = 2.0  # power of the rows by which the time of a candidate grows at most, before it is known
_KERNELS = 3  # cost of a kernel machine

ProgressListener = Callable[[dict[str, Evaluation], str], None]


@dataclass
class RaceResult:
    """Evaluations on common splits, and what happened to the others."""

    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    raced: dict[str, str] = field(default_factory=dict)  # dropped: its error, in words
    not_tried: dict[str, str] = field(default_factory=dict)  # stopped by the budget: why
    failed: dict[str, Exception] = field(default_factory=dict)
    unfinished: dict[str, int] = field(default_factory=dict)  # convergence warnings
    rows: int | None = None  # of the subset, if no split was finished on all rows
    interrupted: bool = False


class Race:
    """One race; `on_progress` is called with the evaluations so far and a few words."""

    def __init__(
        self,
        models: Mapping[str, Any],
        samples: CheckedSamples,
        splits: Sequence[Split],
        *,
        budget: float,
        random_state: int,
        metric: str = "error",
        always: Sequence[str] = (),
        on_progress: ProgressListener | None = None,
    ) -> None:
        self.models, self.samples, self.splits = dict(models), samples, list(splits)
        self.budget, self.seed, self.always = budget, random_state, set(always)
        self.metric = metric
        self.begun = time.monotonic()
        self.result = RaceResult()
        self.seconds: dict[str, list[tuple[int, float]]] = {}  # rows and time of each rung
        self._rung: dict[str, Evaluation] = {}
        self._warm: set[str] = set()  # those whose loops are compiled
        self._preprocessing = SharedPreprocessing()
        self._on_progress = on_progress or (lambda _evaluations, _words: None)

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.budget - (time.monotonic() - self.begun)

    def run(self) -> RaceResult:
        """Race, then evaluate the finalists."""
        result = self.result
        try:
            self._evaluate_finalists(self._race())
        except KeyboardInterrupt:
            result.interrupted = True
        except OutOfTime:
            pass
        if not (result.evaluations or self._rung or result.interrupted):
            self._answer_late()
        if not result.evaluations and self._rung:  # the best so far, on a subset
            result.evaluations = self._rung
            used = next(iter(self._rung.values())).splits[0]
            if len(used.train) < len(self.splits[0].train):
                result.rows = len(used.train)
            for name in self._rung:
                result.not_tried.pop(name, None)
                result.raced.pop(name, None)
        known = {*result.evaluations, *result.raced, *result.failed}
        why = "interrupted" if result.interrupted else "out of time"
        for name in self.models:
            if name not in known:
                result.not_tried.setdefault(name, why)
        return result

    def _answer_late(self) -> None:
        """The cheapest candidate that works, on few rows: the budget was too short for any."""
        self.budget = time.monotonic() - self.begun + LATE * expected_slowdown()
        train, test = self.splits[0]
        rows = train[subsample(self.samples.y[train], min(FIRST_ROWS, len(train)), seed=self.seed)]
        cheap = sorted(
            self.models, key=lambda name: (name in self.always, _cost(self.models[name]))
        )
        for name in cheap:
            one = self._fit(name, [Split(rows, test[:MOST_TESTED])], self.left)
            if one is not None:
                self._rung = {name: one}
                return

    def _race(self) -> list[str]:
        """Candidates for all splits, cheap ones first; `_rung` keeps their evaluations on a subset."""
        train, test = self.splits[0]
        test = test[:MOST_TESTED]
        alive = sorted(self.models, key=lambda name: _cost(self.models[name]))
        size = FIRST_ROWS
        deadline = (1 - RACING) * self.budget  # seconds that must be left for the finalists
        while size * 2 <= len(train) and len(alive) > 1 and self.left > deadline:
            rows = train[subsample(self.samples.y[train], size, seed=self.seed)]
            found: dict[str, Evaluation] = {}
            if not self._rung:
                self._rung = found  # filled below; Ctrl-C leaves what there is
            for position, name in enumerate(alive):
                share = max(1.0, 2 * (self.left - deadline) / (len(alive) - position))
                if size == FIRST_ROWS:
                    self._warm_up(name, train, test)
                    # nobody is dropped for its time on so few rows, and the first is an answer
                    share = self.left / 3 if found else self.left
                one = self._fit(name, [Split(rows, test)], share)
                if one is not None:
                    found[name] = one
                    self._on_progress(found, f"{size} rows")
            if not found:
                break
            self._rung = found
            if self._time_for_all(list(found), len(train)):
                return list(found)
            alive = self._keep(found, size)
            size *= FACTOR
        return alive

    def _warm_up(self, name: str, train: Codes, test: Codes) -> float:
        """Fit to a few rows, so that loops are compiled; the time of that is added to the budget.

        Where there is hardly time for a fit, its loops are loaded in it. Returns what is added.
        """
        if name in self._warm or self.left < SHORT:
            return 0.0
        self._warm.add(name)
        few = train[subsample(self.samples.y[train], min(WARM_UP, len(train)), seed=self.seed)]
        with warnings.catch_warnings(), timing_compilation() as compiled:
            warnings.simplefilter("ignore")
            # so few rows may not suit it; a compilation is finished before the time is up
            with suppress(Exception, OutOfTime), time_limit(max(self.left, 0.0)):
                evaluate(
                    self.models[name],
                    self.samples,
                    splits=[Split(few, test[:WARM_UP])],
                    progress=False,
                    preprocessing=self._preprocessing,
                )
        self.budget += compiled[0]
        return compiled[0]

    def _fit(self, name: str, splits: list[Split], limit: float) -> Evaluation | None:
        """Evaluate one candidate within a limit; None if it failed or took too long."""
        rows, begun = len(splits[0].train), time.monotonic()
        limit = min(limit, self.left)
        if limit <= 0:
            self.result.not_tried[name] = "out of time"
            return None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with time_limit(limit):
                    found = evaluate(
                        self.models[name],
                        self.samples,
                        name=name,
                        splits=splits,
                        progress=False,
                        preprocessing=self._preprocessing,
                    )
            except OutOfTime:
                spent = time.monotonic() - begun
                self.result.not_tried[name] = f"stopped after {spent:.0f} s on {rows:,} rows"
                return None
            except Exception as error:
                self.result.failed[name] = error
                return None
        count = sum(issubclass(one.category, ConvergenceWarning) for one in caught)
        if count:
            self.result.unfinished[name] = self.result.unfinished.get(name, 0) + count
        self.seconds.setdefault(name, []).append((rows, time.monotonic() - begun))
        return found

    def _predict_time(self, name: str, rows: int) -> float:
        """Seconds of one split with so many training rows, by the growth between the last rungs."""
        known = self.seconds[name]
        size, seconds = known[-1]
        power = STEEP if _cost(self.models[name]) == _KERNELS else 1.0
        if len(known) > 1 and known[-2][0] < size:
            before, faster = known[-2]
            power = float(np.clip(np.log(seconds / faster) / np.log(size / before), 0.5, 3.0))
        return float(seconds * (rows / size) ** power)

    def _time_for_all(self, names: list[str], rows: int) -> bool:
        """Whether all splits of all candidates fit into the time that is left."""
        total = sum(self._predict_time(name, rows) for name in names) * len(self.splits)
        return total <= self.left

    def _keep(self, found: dict[str, Evaluation], size: int) -> list[str]:
        """The better half, and all that are not clearly worse than the best, in the order of cost."""
        wrong = {name: _wrong(evaluation) for name, evaluation in found.items()}
        ranked = sorted(wrong, key=lambda name: loss(found[name], self.metric))
        least = max(FEWEST_FINALISTS, -(-len(ranked) // 2))
        kept = set(ranked[:least]) | self.always
        for name in ranked:
            gap = wrong[name].astype(float) - wrong[ranked[0]]
            close = self.metric == "error" and gap.mean() <= gap.std() / len(gap) ** 0.5
            if name in kept or close:
                kept.add(name)
            else:
                error = 100 * float(np.mean(wrong[name]))
                self.result.raced[name] = f"{error:.1f} % on {size:,} rows"
        return [name for name in found if name in kept]

    def _evaluate_finalists(self, names: list[str]) -> None:
        """All splits, one after the other, as long as there is time for one more."""
        rounds: dict[str, list[Evaluation]] = {}
        for number, split in enumerate(self.splits):
            begun = time.monotonic()
            done: dict[str, Evaluation] = {}
            if number == 0:
                self.result.evaluations = done  # filled below; Ctrl-C leaves what there is
            for position, name in enumerate(names):
                begun += self._warm_up(name, *split)
                share = self.left if number else 2 * self.left / (len(names) - position)
                one = self._fit(name, [split], share)
                if one is not None:
                    done[name] = one
                    if number == 0:
                        self._on_progress({**done}, "1 split")
            if number and len(done) < len(names):  # the time ended within this round
                for name in names:
                    self.result.not_tried.pop(name, None)
                return
            names = list(done)
            if not names:
                return
            rounds = {name: [*rounds.get(name, []), done[name]] for name in names}
            self.result.evaluations = {n: merge_splits(parts) for n, parts in rounds.items()}
            self._on_progress(self.result.evaluations, f"{number + 1} of {len(self.splits)} splits")
            if self.left < 1.1 * (time.monotonic() - begun):
                return


def loss(found: Evaluation, metric: str) -> float:
    """The mean of a metric over the splits, lower is better; infinite for a model without it."""
    mean = float(np.mean(found.metric(metric)[0])) * (1.0 if metric in LOSSES else -1.0)
    return math.inf if math.isnan(mean) else mean


def merge_splits(parts: Sequence[Evaluation]) -> Evaluation:
    """One evaluation of several splits from evaluations of each of them."""
    first = parts[0]

    def renumber(name: str) -> dict[tuple[int, int], Any]:
        found, offset = {}, 0
        for part in parts:
            found.update({(c, s + offset): v for (c, s), v in getattr(part, name).items()})
            offset += len(part.splits)
        return found

    def join(name: str, axis: int) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if any(v is None for v in values) else np.concatenate(values, axis=axis)

    changes: dict[str, Any] = {
        **{name: join(name, 1) for name in ("train_error", "test_error", "n_iter")},
        **{name: renumber(name) for name in ("predicted", "lead", "probabilities", "scores")},
        **{name: join(name, 0) for name in ("fit_seconds", "predict_seconds")},
        "splits": [split for part in parts for split in part.splits],
        "seconds": sum(part.seconds for part in parts),
        "settings": [one for part in parts for one in part.settings],
        "edges": [one for part in parts for one in part.edges],
    }
    return replace(first, **changes)


def _wrong(found: Evaluation) -> Any:
    """Whether each test row of the first split is wrong, (m,)."""
    return found.predicted[0, 0] != found._true(0)


def _cost(model: Any) -> int:
    """Cheap candidates come first: 0 for one pass, 1 for a search, 2 for neighbours, 3 for kernels."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "kernels") or hasattr(last, "kernel"):
        return _KERNELS
    if hasattr(last, "k_max") or hasattr(last, "max_rows"):
        return 2
    return 1 if hasattr(last, "param_grid") else 0
