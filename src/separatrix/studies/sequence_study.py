"""Nested evaluation of sequence classifiers: all settings are chosen inside training parts.

Every row is tested once. A step is a candidate: a kernel with all values of C, a kernel with all numbers
of neighbours, or a model. One Gram matrix over all rows serves every part. A further step is the choice of
a family: in each part the first candidate with the best accuracy in the inner folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from separatrix import SVC, SVCCV, KNeighborsClassifier
from separatrix.data.catalogue.find import find
from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split, grouped_folds, stratified_folds, subsampled
from separatrix.errors import ExperimentError
from separatrix.experiments.steps import Experiment, Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels import Kernel, Spectrum
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.strings.sequences import count_unknown_letters
from separatrix.studies.inputs import require_labelled
from separatrix.types import Codes, Matrix
from separatrix.validation import require_integer

DATA = "data"
BASES = "ACGT"


class SequenceSamples(NamedTuple):
    """Sequences with labels."""

    X: Any  # shape: (n,) of str
    y: Any  # shape: (n,)
    groups: Codes  # shape: (n,); rows of one group stay on one side of a split


class CandidateResult(NamedTuple):
    """A candidate on one training part."""

    fold_accuracy: float  # of the chosen settings, on the folds
    settings: dict[str, Any]
    guess: Any  # labels of the test rows


class SequenceCandidate(Protocol):
    """A model that is trained on a part, with settings chosen by its inner folds."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What sets it apart from the others of its family."""

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """Train on a part and predict its test rows."""


@dataclass(frozen=True)
class KernelCandidate:
    """A model with one kernel."""

    kernel: Kernel

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel."""
        return kernel_params(self.kernel)


@dataclass(frozen=True)
class SvmCandidate(KernelCandidate):
    """An SVM; folds choose C."""

    Cs: Sequence[float]
    family: Sequence[Kernel]  # kernels whose matrices are computed together

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """All folds read rows of one matrix."""
        matrices = context.shared("matrices", KernelMatrices)
        K = matrices.compute(data.X, self.kernel, self.family)
        train, test = split
        search = SVCCV(self.Cs, estimator=SVC(kernel="precomputed"), cv=inner)
        search.fit(K[np.ix_(train, train)], data.y[train])
        guess = search.predict(K[np.ix_(test, train)])
        return CandidateResult(search.best_score_, search.best_params_, guess)


@dataclass(frozen=True)
class NeighborsCandidate(KernelCandidate):
    """Nearest neighbours in the feature space of the kernel; folds choose k."""

    k_max: int

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """One search for each fold gives the accuracy of every k."""
        X, y = data.X[split.train], data.y[split.train]
        most = min(self.k_max, *(len(fold.train) for fold in inner))
        model = KNeighborsClassifier(kernel=self.kernel, ties="nearest")
        accuracy = np.mean(
            [clone(model).fit(X[a], y[a]).score_by_k(X[b], y[b], most) for a, b in inner], axis=0
        )
        best = int(np.argmax(accuracy))
        guess = model.fit(X, y).predict_by_k(data.X[split.test], best + 1)[:, best]
        return CandidateResult(float(accuracy[best]), {"n_neighbors": best + 1}, guess)


@dataclass(frozen=True)
class PipelineCandidate:
    """Any classifier of sequences, without settings to choose."""

    parameters: Mapping[str, Any]
    model: Any

    def fit_predict(
        self, context: RunContext, data: SequenceSamples, split: Split, inner: Sequence[Split]
    ) -> CandidateResult:
        """Fit to every fold, then to the part."""
        X, y = data.X[split.train], data.y[split.train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is low on purpose
            accuracy = [
                np.mean(clone(self.model).fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in inner
            ]
            guess = clone(self.model).fit(X, y).predict(data.X[split.test])
        return CandidateResult(float(np.mean(accuracy)), {}, guess)


class KernelMatrices:
    """Gram matrices of kernels that share their levels, computed together; the latest are kept."""

    def __init__(self) -> None:
        self._family: object = None
        self._kept: dict[Kernel, Matrix] = {}

    def compute(self, X: Any, kernel: Kernel, family: Sequence[Kernel]) -> Matrix:
        """The matrix of one kernel on all samples."""
        shared = _levels(kernel)
        if kernel not in self._kept or self._family != shared:
            self._kept.clear()
            alike = [other for other in family if _levels(other) == shared]
            self._kept = {
                other: gram.tile(np.arange(len(X)), slice(0, len(X)))
                for other, gram in zip(alike, SharedProducts(X).grams(alike), strict=True)
            }
            self._family = shared
        return self._kept[kernel]


def svm_candidates(kernels: Sequence[Kernel], Cs: Sequence[float]) -> list[SequenceCandidate]:
    """An SVM for each kernel."""
    return [SvmCandidate(kernel, Cs, kernels) for kernel in kernels]


def kernel_params(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters of the string kernel, inside `Normalized` or not.

    >>> from separatrix.kernels import Normalized, Spectrum
    >>> kernel_params(Normalized(Spectrum(3)))
    {'kernel': 'Spectrum', 'k': 3}
    """
    inside = kernel.base or kernel
    given = {name: value for name, value in inside.get_params().items() if value is not None}
    return {"kernel": type(inside).__name__, **given}


def _levels(kernel: Kernel) -> object:
    return kernel.base.family if kernel.base is not None else kernel


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

        return context.shared(("splits", scheme), make)

    def test(self, scheme: str, family: str, position: int, context: RunContext) -> StepResult:
        """One candidate on all parts."""
        data, (splits, inner) = self.sequences(context), self.splits(context, scheme)
        candidate = self.families[family][position]
        classes, codes = np.unique(data.y, return_inverse=True)
        predicted = np.full(len(codes), -1, dtype=np.int32)
        rows, accuracy = [], []
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
        for number, (position, (train, test)) in enumerate(zip(best, splits, strict=True)):
            predicted[test] = found[position].arrays["predicted"][test]
            error = {"chosen_error": np.mean(predicted[test] != codes[test])}
            sizes = (len(train), len(test))
            [row] = metric_rows(scheme, self.data, name, error, split=number, sizes=sizes)
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


def sequence_experiment(
    name: str,
    title: str,
    options: Mapping[str, Any],  # quick, seed, data and subsample
    *,
    fewest: int,
    quick_rows: int,
    groups: Callable[[Any], Codes],
    more: Mapping[str, Callable[..., StepResult]] | None = None,  # steps of its own
    **study: Any,
) -> Experiment:
    """The steps of a study: the data, every family under every scheme, and its own."""
    seed, data, subsample = options["seed"], options["data"], options["subsample"]
    if subsample is None and options["quick"]:
        subsample = quick_rows
    if subsample is not None:
        require_integer(name, "subsample", subsample, least=fewest)

    def load(context: RunContext) -> SequenceSamples:
        return context.shared(
            "sequences",
            lambda: to_sequences(subsampled(context.data(data), subsample, seed), groups),
        )

    made = SequenceStudy(data, load, **study)
    steps = [Step(DATA, partial(describe_data, study=made)), *made.steps()]
    steps += [Step(part, partial(run, study=made)) for part, run in (more or {}).items()]
    return Experiment(name, title, {**options, "subsample": subsample}, (data,), steps, find)


def to_sequences(data: Dataset, groups: Callable[[Any], Codes]) -> SequenceSamples:
    """The samples of a data set; rejected unless they are sequences with labels."""
    require_labelled("the study", data, "sequences")
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
    return _nest(data, stratified_folds(data.y, folds=folds, seed=seed), inner, seed)


def grouped_scheme(data: SequenceSamples, *, folds: int, inner: int, seed: int) -> NestedSplits:
    """Folds that do not divide groups, outside and inside."""
    splits = grouped_folds(data.groups, folds=folds, seed=seed)
    return _nest(data, splits, inner, seed, grouped=True)


def leave_one_out_scheme(data: SequenceSamples, *, inner: int, seed: int) -> NestedSplits:
    """Every row by itself; stratified folds inside."""
    return _nest(data, _leave_out(np.arange(len(data.y))), inner, seed)


def leave_group_out_scheme(data: SequenceSamples, *, inner: int, seed: int) -> NestedSplits:
    """Every group by itself; folds inside do not divide groups."""
    return _nest(data, _leave_out(data.groups), inner, seed, grouped=True)


def _leave_out(groups: Codes) -> list[Split]:
    return [
        Split(np.flatnonzero(groups != group), np.flatnonzero(groups == group))
        for group in np.unique(groups)
    ]


def _nest(
    data: SequenceSamples, splits: list[Split], folds: int, seed: int, *, grouped: bool = False
) -> NestedSplits:
    """The splits with folds inside each training part."""
    draw: Any = grouped_folds if grouped else stratified_folds
    by = data.groups if grouped else data.y
    inner = [draw(by[train], folds=folds, seed=seed + i) for i, (train, _) in enumerate(splits)]
    return NestedSplits(splits, inner)
