"""Nested evaluation of sequence classifiers: all settings are chosen inside training parts.

Every row is tested once. A step is a candidate: a kernel with all values of C, a kernel with all numbers
of neighbours, or a model. One Gram matrix over all rows serves every part. A further step is the choice of
a family: in each part the first candidate with the best accuracy in the inner folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, grouped_folds, stratified_folds, subsampled
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels import Spectrum
from separatrix.kernels.strings.sequences import count_unknown_letters
from separatrix.studies.sequence_candidates import SequenceCandidate, SequenceSamples
from separatrix.types import Codes

DATA = "data"
BASES = "ACGT"


class NestedSplits(NamedTuple):
    """Splits that test every row once, and folds inside each training part."""

    splits: list[Split]
    inner: list[list[Split]]  # rows are counted within the training part


@dataclass(frozen=True)
class SequenceStudy:
    """One data set, schemes of nested splits, and families of candidates."""

    data: str
    sequences: Callable[[RunContext], SequenceSamples]
    schemes: Mapping[str, Callable[[SequenceSamples], NestedSplits]]
    families: Mapping[str, Sequence[SequenceCandidate]]
    unions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of families

    def steps(self) -> list[Step]:
        """Every candidate under every scheme, then the choice of each family."""
        steps = []
        for name, candidates in self.families.items():
            steps += [
                Step(self._step(scheme, name, i), partial(self.test, scheme, name, i))
                for i in range(len(candidates))
                for scheme in self.schemes
            ]
            steps += [self._choice(scheme, name, [name]) for scheme in self.schemes]
        for name, members in self.unions.items():
            steps += [self._choice(scheme, name, members) for scheme in self.schemes]
        return steps

    def splits(self, context: RunContext, scheme: str) -> NestedSplits:
        """The splits of a scheme, made once; rejected if a training part lacks a class."""

        def make() -> NestedSplits:
            data = self.sequences(context)
            found = self.schemes[scheme](data)
            for train, _ in found.splits:
                missing = np.setdiff1d(data.y, data.y[train])
                if len(missing):
                    raise ExperimentError(
                        f"{scheme}: all sequences of class {missing[0]} would be left out at once; "
                        "they overlap or are identical, so more of them are needed"
                    )
            return found

        made: NestedSplits = context.shared(("splits", scheme), make)
        return made

    def test(self, scheme: str, family: str, position: int, context: RunContext) -> StepResult:
        """One candidate on all parts."""
        data, (splits, inner) = self.sequences(context), self.splits(context, scheme)
        candidate = self.families[family][position]
        classes, codes = np.unique(data.y, return_inverse=True)
        predicted = np.full(len(codes), -1, dtype=np.int32)
        rows: list[Row] = []
        accuracy = []
        for number, (split, folds) in enumerate(zip(splits, inner, strict=True)):
            found = candidate.fit_predict(context, data, split, folds)
            predicted[split.test] = np.searchsorted(classes, found.guess)
            accuracy.append(found.fold_accuracy)
            values = {"fold_accuracy": found.fold_accuracy}
            about = {**candidate.parameters, **found.settings}
            rows += metric_rows(scheme, self.data, family, values, split=number, **about)
        values = {"error_if_alone": np.mean(predicted != codes)}
        rows += metric_rows(scheme, self.data, family, values, **candidate.parameters)
        return StepResult(rows, {"predicted": predicted, "fold_accuracy": np.array(accuracy)})

    def choose(
        self, scheme: str, name: str, families: Sequence[str], context: RunContext
    ) -> StepResult:
        """The candidate that the folds of each part choose, and its predictions of the test rows."""
        data, (splits, _) = self.sequences(context), self.splits(context, scheme)
        found = [
            context.result(self._step(scheme, family, i))
            for family in families
            for i in range(len(self.families[family]))
        ]
        best = np.argmax([one.arrays["fold_accuracy"] for one in found], axis=0)
        classes, codes = np.unique(data.y, return_inverse=True)
        predicted = np.full(len(codes), -1, dtype=np.int32)
        rows: list[Row] = []
        for number, (position, (_, test)) in enumerate(zip(best, splits, strict=True)):
            predicted[test] = found[position].arrays["predicted"][test]
            error = {"chosen_error": np.mean(predicted[test] != codes[test])}
            [row] = metric_rows(scheme, self.data, name, error, split=number)
            rows.append(row._replace(parameters=found[position].rows[number].parameters))
        wrong = predicted != codes
        totals = {"errors": wrong.sum(), "accuracy": 1.0 - wrong.mean()}
        rows += metric_rows(scheme, self.data, name, totals)
        for code, label in enumerate(classes.tolist()):
            error = {"class_error": wrong[codes == code].mean()}
            rows += metric_rows(scheme, self.data, name, error, **{"class": label})
        return StepResult(rows, {"predicted": predicted})

    def _choice(self, scheme: str, name: str, families: Sequence[str]) -> Step:
        return Step(f"{scheme}: {name}", partial(self.choose, scheme, name, families))

    def _step(self, scheme: str, family: str, position: int) -> str:
        parameters = self.families[family][position].parameters.items()
        return f"{scheme}: {family}, " + ", ".join(f"{name} {value}" for name, value in parameters)


def describe_data(context: RunContext, study: SequenceStudy) -> StepResult:
    """Numbers of sequences, classes and groups, and letters that are not bases."""
    data = study.sequences(context)
    strange = count_unknown_letters(data.X, BASES)
    lengths = [len(sequence) for sequence in data.X]
    sizes = np.bincount(data.groups)
    counts = {
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
    row = partial(metric_rows, DATA, study.data, "")
    rows = row(counts)
    for letter, count in strange.most_common():
        rows += row({"letter": count}, letter=letter)
    classes, codes, sizes = np.unique(data.y, return_inverse=True, return_counts=True)
    for label, count in zip(classes, sizes, strict=True):
        rows += row({"class_size": count}, **{"class": label})
    return StepResult(rows, {"y": codes.astype(np.int32)})


def load_sequences(
    context: RunContext, data: str, subsample: int | None, seed: int, groups: Callable[[Any], Codes]
) -> SequenceSamples:
    """Sequences of a data set with their groups, made once."""
    made: SequenceSamples = context.shared(
        "sequences", lambda: to_sequences(subsampled(context.data(data), subsample, seed), groups)
    )
    return made


def to_sequences(data: Dataset, groups: Callable[[Any], Codes]) -> SequenceSamples:
    """The samples of a data set; rejected unless they are sequences with labels."""
    if data.kind != "sequences" or data.y is None:
        kind = data.kind if data.y is not None else "no labels"
        raise ExperimentError(f"sequences with labels are needed; {data.name} holds {kind}")
    X = np.empty(len(data.X), dtype=object)
    X[:] = data.X
    return SequenceSamples(X, np.asarray(data.y), groups(X))


def group_identical(X: Any) -> Codes:
    """The same number for the same sequence.

    >>> group_identical(np.array(["GAT", "ACA", "GAT"], dtype=object)).tolist()
    [1, 0, 1]
    """
    return np.unique(X.astype(str), return_inverse=True)[1]


def group_related(X: Any, letters: int) -> Codes:
    """The same number for sequences linked by shared runs of so many letters.

    >>> group_related(np.array(["AACGT", "ACGTT", "CGTTC", "GGGGG"], dtype=object), 4).tolist()
    [0, 0, 0, 1]
    """
    shares = Spectrum(letters).block(X, X) > 0
    return np.asarray(connected_components(shares, directed=False)[1], dtype=np.intp)


def stratified_scheme(data: SequenceSamples, *, folds: int, inner: int, seed: int) -> NestedSplits:
    """Folds stratified by class, outside and inside."""
    return _stratify_inside(data, stratified_folds(data.y, folds=folds, seed=seed), inner, seed)


def grouped_scheme(data: SequenceSamples, *, folds: int, inner: int, seed: int) -> NestedSplits:
    """Folds that do not divide groups, outside and inside."""
    return _group_inside(data, grouped_folds(data.groups, folds=folds, seed=seed), inner, seed)


def leave_one_out_scheme(data: SequenceSamples, *, inner: int, seed: int) -> NestedSplits:
    """Every row by itself; stratified folds inside."""
    rows = np.arange(len(data.y))
    splits = [Split(np.delete(rows, row), rows[row : row + 1]) for row in rows]
    return _stratify_inside(data, splits, inner, seed)


def leave_group_out_scheme(data: SequenceSamples, *, inner: int, seed: int) -> NestedSplits:
    """Every group by itself; folds inside do not divide groups."""
    splits = [
        Split(np.flatnonzero(data.groups != group), np.flatnonzero(data.groups == group))
        for group in np.unique(data.groups)
    ]
    return _group_inside(data, splits, inner, seed)


def _stratify_inside(
    data: SequenceSamples, splits: list[Split], folds: int, seed: int
) -> NestedSplits:
    inner = [
        stratified_folds(data.y[train], folds=folds, seed=seed + number)
        for number, (train, _) in enumerate(splits)
    ]
    return NestedSplits(splits, inner)


def _group_inside(
    data: SequenceSamples, splits: list[Split], folds: int, seed: int
) -> NestedSplits:
    inner = [
        grouped_folds(data.groups[train], folds=folds, seed=seed + number)
        for number, (train, _) in enumerate(splits)
    ]
    return NestedSplits(splits, inner)
