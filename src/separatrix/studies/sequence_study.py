"""Classifiers of sequences under nested choice: what has parameters has them chosen inside training parts.

Every row is tested once, so what a step finds is one guess for each row. A candidate is a step: a kernel
with all values of C, a kernel with all numbers of neighbours, or a model. The Gram matrix of a kernel is
that of all rows, made once, and every part reads its own rows of it. A family is a step more: in each
part it takes the candidate, the first among equals, that the folds inside the training part liked best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from separatrix.errors import ExperimentError
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, Step, StepResult, params_json
from separatrix.kernels.strings.sequences import count_unknown_letters
from separatrix.studies.sequence_candidates import Candidate
from separatrix.studies.sequence_samples import Sequences, Way
from separatrix.types import Codes

DATA = "data"
BASES = "ACGT"


@dataclass(frozen=True)
class Study:
    """One data set, ways to hold out rows of it, and families of candidates."""

    data: str
    sequences: Callable[[RunContext], Sequences]
    ways: Mapping[str, Callable[[Sequences], Way]]
    families: Mapping[str, Sequence[Candidate]]
    unions: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # families chosen from at once

    def steps(self) -> list[Step]:
        """Every candidate in every way, so that its matrix serves all; then what each family chooses."""
        steps = []
        for name, candidates in self.families.items():
            steps += [
                Step(self._step(way, name, position), partial(self.tried, way, name, position))
                for position in range(len(candidates))
                for way in self.ways
            ]
            steps += [self._choice(way, name, [name]) for way in self.ways]
        steps += [
            self._choice(way, name, of) for name, of in self.unions.items() for way in self.ways
        ]
        return steps

    def way(self, workshop: RunContext, name: str) -> Way:
        """The parts of a way, made once; refused where one leaves nothing to learn a class from."""

        def make() -> Way:
            data = self.sequences(workshop)
            found = self.ways[name](data)
            for train, _ in found.splits:
                missing = np.setdiff1d(data.y, data.y[train])
                if len(missing):
                    raise ExperimentError(
                        f"{name}: all sequences of class {missing[0]} would be left out at once; "
                        "they overlap or are identical, so more of them are needed"
                    )
            return found

        made: Way = workshop.once(("way", name), make)
        return made

    def tried(self, way: str, family: str, position: int, workshop: RunContext) -> StepResult:
        """One candidate on all parts."""
        data, (splits, inner) = self.sequences(workshop), self.way(workshop, way)
        candidate = self.families[family][position]
        classes, codes = np.unique(data.y, return_inverse=True)
        predicted = np.full(len(codes), -1, dtype=np.int32)
        rows, accuracy = [], []
        for number, (split, folds) in enumerate(zip(splits, inner, strict=True)):
            found = candidate.on(workshop, data, split, folds)
            predicted[split.test] = np.searchsorted(classes, found.guess)
            accuracy.append(found.fold_accuracy)
            how = params_json(**candidate.parameters, **found.settings)
            value = float(found.fold_accuracy)
            rows.append(Row(way, self.data, family, how, number, "fold_accuracy", value))
        wrong = float(np.mean(predicted != codes))
        how = params_json(**candidate.parameters)
        rows.append(Row(way, self.data, family, how, ALL_SPLITS, "error_if_alone", wrong))
        return StepResult(rows, {"predicted": predicted, "fold_accuracy": np.array(accuracy)})

    def choice(
        self, way: str, name: str, families: Sequence[str], workshop: RunContext
    ) -> StepResult:
        """What the folds of each part choose, and how the rows held out are classified by it."""
        data, (splits, _) = self.sequences(workshop), self.way(workshop, way)
        found = [
            workshop.found(self._step(way, family, position))
            for family in families
            for position in range(len(self.families[family]))
        ]
        best = np.argmax([one.arrays["fold_accuracy"] for one in found], axis=0)
        classes, codes = np.unique(data.y, return_inverse=True)
        predicted = np.full(len(codes), -1, dtype=np.int32)
        rows = []
        for number, (position, (_, test)) in enumerate(zip(best, splits, strict=True)):
            predicted[test] = found[position].arrays["predicted"][test]
            wrong = float(np.mean(predicted[test] != codes[test]))
            how = found[position].rows[number].parameters
            rows.append(Row(way, self.data, name, how, number, "chosen_error", wrong))
        rows += self._summed(way, name, classes, codes, predicted)
        return StepResult(rows, {"predicted": predicted})

    def guesses(self, way: str, family: str) -> str:
        """Name of the step that holds what a family guessed."""
        return f"{way}: {family}"

    def _summed(self, way: str, name: str, classes: Any, codes: Codes, predicted: Any) -> list[Row]:
        wrong = predicted != codes
        found = {"errors": wrong.sum(), "accuracy": 1.0 - wrong.mean()}
        rows = [
            Row(way, self.data, name, params_json(), ALL_SPLITS, metric, float(value))
            for metric, value in found.items()
        ]
        for code, label in enumerate(classes.tolist()):
            how, error = params_json(**{"class": label}), float(wrong[codes == code].mean())
            rows.append(Row(way, self.data, name, how, ALL_SPLITS, "class_error", error))
        return rows

    def _choice(self, way: str, name: str, families: Sequence[str]) -> Step:
        return Step(self.guesses(way, name), partial(self.choice, way, name, families))

    def _step(self, way: str, family: str, position: int) -> str:
        parameters = self.families[family][position].parameters.items()
        return f"{way}: {family}, " + ", ".join(f"{name} {value}" for name, value in parameters)


def look(workshop: RunContext, study: Study) -> StepResult:
    """How many sequences, classes and groups there are, and letters that are no base."""
    data = study.sequences(workshop)
    strange = count_unknown_letters(data.X, BASES)
    lengths = [len(sequence) for sequence in data.X]
    sizes = np.bincount(data.groups)
    found: dict[str, float] = {
        "sequences": len(data.X),
        "shortest": min(lengths),
        "longest": max(lengths),
        "letters": sum(lengths),
        "letters_that_are_no_base": strange.total(),
        "distinct": len(set(data.X)),
        "groups": len(sizes),
        "largest_group": int(sizes.max()),
        "in_groups": int(sizes[sizes > 1].sum()),
    }
    row = partial(Row, DATA, study.data, "")
    rows = [row(params_json(), ALL_SPLITS, metric, float(value)) for metric, value in found.items()]
    for letter, count in strange.most_common():
        rows.append(row(params_json(letter=letter), ALL_SPLITS, "letter", float(count)))
    for label, count in zip(*np.unique(data.y, return_counts=True), strict=True):
        rows.append(row(params_json(**{"class": label}), ALL_SPLITS, "class_size", float(count)))
    return StepResult(rows, {"y": np.unique(data.y, return_inverse=True)[1].astype(np.int32)})
