"""Repeated random splits, optionally with cross-validation inside, over one set of inner products.

Every kernel is trained and tested on every split; or cross-validation inside each training part
chooses a kernel, and only that one is trained on the whole part and tested.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets

from separatrix.data.splits import Split, check_splits, fold_splits, random_splits
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.gram_training import (
    classify_many,
    resolve_kernels,
    with_coded_weights,
)
from separatrix.estimators.base.multiclass import RowsClassified
from separatrix.estimators.base.support import class_segments
from separatrix.evaluation.cluster_trials import ClusterTrials
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import check_samples, require_features
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing
from separatrix.evaluation.trial import Trial, by_class, fit_and_score, lead_of_others, rows_of
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.modelfile.model_card import data_hash
from separatrix.runtime.device import as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.progress import bar
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_flag, require_integer


def evaluate(
    model: Any,
    X: Any,  # shape: (n, d), or `CheckedSamples`
    y: Any = None,  # shape: (n,)
    *,
    kernels: Sequence[Any] | None = None,
    repeats: int = 20,
    test_size: float = 0.2,
    folds: int | None = None,
    random_state: int = 0,
    splits: Sequence[Split] | None = None,
    retrain: bool = True,
    products: Products | None = None,
    preprocessing: SharedPreprocessing | None = None,
    progress: bool | None = None,
    name: str | None = None,
    cluster: Any = None,
) -> Evaluation:
    """Train and test a classifier on many random splits; kernels share their inner products.

    Parameters
    ----------
    model
        Any classifier. A `KernelPerceptron` or an `SVC` is trained with each of `kernels` on one Gram
        matrix. Any other classifier, and one with `predict_proba` if kernels and folds are None, is
        fitted on each split, and its probabilities are kept; kernels must then be None.
    X, y
        Samples and their labels.
    kernels
        Kernel objects or names to compare. None: the kernel of the model.
    repeats, test_size
        Number of random splits, and the fraction of the rows in their test parts.
    folds
        Folds inside every training part that choose among the kernels; only the chosen kernel is
        trained on the whole part and tested. None: every kernel is trained and tested.
    random_state
        Seed of the order of the rows, of the splits and of the folds.
    splits
        Training and test rows in place of random ones; rows are visited in the given order.
    retrain
        With folds: train and test the chosen kernel. False: compute only `fold_error`.
    products
        Cache of inner products for later evaluations of the same samples.
    preprocessing
        Cache of the fitted first steps of pipelines for later evaluations on the same splits of the same
        samples.
    progress
        Whether to draw a progress bar on stderr. None: if stderr is a terminal.
    name
        Name of the model in the progress bar and in the result. None: its class.
    cluster
        Run each split as a task of a Dask cluster, with the same result: "local", the address of a
        scheduler, its JSON file, or a `distributed.Client`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import KernelPerceptron
    >>> from separatrix.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> found = evaluate(KernelPerceptron(max_iter=20), X, y,
    ...                  kernels=[Gaussian(0.1), Gaussian(1.0)], repeats=5)
    >>> found.test_error.shape
    (2, 5)
    """
    X, y = check_samples(as_numpy(X), as_numpy(y), missing=True)
    _require_parameters(model, X, y, folds, random_state, retrain)
    given = splits is not None
    if splits is None:
        splits = random_splits(len(y), repeats=repeats, test_size=test_size, seed=random_state)
    else:
        splits = check_splits(splits, len(y))
    begun = time.perf_counter()
    plan = plan_study(model, X, kernels, given, folds, random_state, retrain, name)
    study = plan.arrange(X, y, splits)
    if cluster is not None:
        with ClusterTrials.on(cluster, (X, y, splits), len(splits)) as trials:
            trials.submit(plan.title, run_piece, plan)
            study.fill(trials.collect(plan.title, progress))
    else:
        study.run(products or Products(), preprocessing, progress)
    return study.evaluation(begun)


def submit_evaluation(
    model: Any, samples: Any, seed: int, name: str, trials: ClusterTrials
) -> None:
    """Send the tasks of `evaluate` on given splits; the call of it then waits for them."""
    _require_parameters(model, samples[0], samples[1], None, seed, True)
    plan = plan_study(model, samples[0], None, True, None, seed, True, name)
    trials.submit(plan.title, run_piece, plan)


_CACHES: dict[str, tuple[Products, SharedPreprocessing]] = {}  # of this worker, by the run


class StudyPlan(NamedTuple):
    """An evaluation without its samples and splits."""

    model: Any
    kernels: list[Any]  # candidates; only the model if it does not share a Gram matrix
    shared: bool  # whether all runs share a Gram matrix
    given: bool  # whether the splits were given; otherwise rows are visited in a random order
    folds: int | None
    seed: int
    retrain: bool
    title: str

    def arrange(self, X: Any, y: Any, splits: Sequence[Split]) -> Study:
        """The evaluation of some samples on some splits, ready to run."""
        classes, codes = np.unique(y, return_inverse=True)
        order, splits = np.arange(len(y)), list(splits)
        if not self.given:
            order = np.random.default_rng(self.seed).permutation(len(y))
        if self.shared:  # rows in class order: a class is one segment of the Gram matrix
            by_class = np.argsort(codes[order], kind="stable")
            order, rank = order[by_class], np.argsort(by_class)
            splits = [Split(rank[split.train], rank[split.test]) for split in splits]
        in_place = not self.shared and self.given  # without a copy of all samples
        ordered = X if in_place else rows_of(self.model, X, order, order)
        model = with_coded_weights(self.model, classes) if self.shared else self.model
        plan = self._replace(model=model)
        return Study(plan, ordered, codes[order], splits, classes, order, y)


def plan_study(
    model: Any,
    X: Any,
    kernels: Sequence[Any] | None,
    given: bool,
    folds: int | None,
    seed: int,
    retrain: bool,
    name: str | None,
) -> StudyPlan:
    """Decide whether runs share a Gram matrix, and find the kernels."""
    no_search = kernels is None and folds is None
    # a shared fit has scores but no probabilities: models with probabilities are fitted one by one
    shared = hasattr(model, "classify_rows")
    shared = shared and not (no_search and hasattr(model, "predict_proba"))
    if not (shared or no_search):
        must_be = "None for a model without shared kernels"
        raise ParameterError("evaluate", "kernels and folds", must_be, (kernels, folds))
    candidates = _kernels(model, kernels, X) if shared else [model]
    title = type(model).__name__ if name is None else name
    return StudyPlan(model, candidates, shared, given, folds, seed, retrain, title)


def _require_parameters(
    model: Any, X: Any, y: Any, folds: int | None, random_state: int, retrain: bool
) -> None:
    if not hasattr(model, "fit") or not hasattr(model, "predict"):
        raise ParameterError("evaluate", "model", "a classifier with fit and predict", model)
    check_classification_targets(y)
    require_integer("evaluate", "random_state", random_state, least=0)
    require_flag("evaluate", "retrain", retrain)
    if folds is not None:
        require_integer("evaluate", "folds", folds, least=2)
    if len(np.unique(y)) < 2:
        raise DataError(f"evaluate needs samples of at least 2 classes; got one, {y.tolist()[0]!r}")
    if hasattr(model, "classify_rows"):
        require_features(X)
    if hasattr(model, "classify_rows") and (issparse(X) or X.dtype.kind == "f"):
        assert_all_finite(X, input_name="X")  # other models check their input themselves
    if get_tags(model).input_tags.pairwise:
        symmetric_matrix(X, name="X (kernel='precomputed')")


class Products:
    """Cache of the inner products of one data set; the key is the hash of the samples in their order."""

    def __init__(self) -> None:
        self._key: object = None
        self._kept: SharedProducts | None = None

    def of(
        self, model: Any, X: Any, y: Codes, n_classes: int, device: Any = None
    ) -> SharedProducts:
        """Those of these samples, as the model wants them; only the latest are kept."""
        terms = {
            "memory": model._budget,
            "tolerance": model._kernel_tolerance,
            "threads": model._threads,
            "segments": class_segments(y, n_classes),
            "device": device,
        }
        key = (data_hash(X), *map(str, terms.values()))
        if self._kept is None or key != self._key:
            self._key, self._kept = key, None  # the old ones go first: both may not fit
            self._kept = SharedProducts(X, **terms)
        return self._kept


def _kernels(model: Any, kernels: Sequence[Any] | None, X: Any) -> list[Kernel]:
    resolved = resolve_kernels("evaluate", [model.kernel] if kernels is None else kernels, model, X)
    given = get_tags(model).input_tags.pairwise
    for kernel in resolved:
        if isinstance(kernel, Precomputed) != given:
            what = "'precomputed', as the model's own" if given else "a kernel on samples"
            raise ParameterError("evaluate", "kernels", what, kernel)
    return resolved


class StudyPart(NamedTuple):
    """The results of some kernels on some splits."""

    numbers: list[int]  # of the splits
    errors: Any  # shape: (3, kernels, splits); NaN for other kernels
    fold_error: Any  # shape: (kernels, splits), or None
    by_cell: tuple[dict[tuple[int, int], Any], ...]  # predictions, leads, probabilities, scores
    trials: list[Trial]


class Study:
    """The results of an evaluation, filled in as runs end; NaN marks a kernel that was not run."""

    def __init__(
        self,
        plan: StudyPlan,
        X: Any,
        y: Codes,
        splits: list[Split],
        classes: Any,
        order: Codes,
        labels: Any,
    ) -> None:
        self.plan, self.X, self.y, self.splits, self.classes = plan, X, y, splits, classes
        self.model, self.kernels, self.order, self.labels = plan.model, plan.kernels, order, labels
        self.numbers = list(range(len(splits)))  # of the splits to run
        self.candidates = list(range(len(plan.kernels)))  # of the kernels to run
        self.errors = np.full((3, len(self.kernels), len(splits)), np.nan)  # train, test, epochs
        self.predicted: dict[tuple[int, int], Codes] = {}
        self.lead: dict[tuple[int, int], Vector] = {}
        self.probabilities: dict[tuple[int, int], Matrix] = {}
        self.scores: dict[tuple[int, int], Matrix] = {}
        self.fold_error: Any = None
        self.trials: list[Trial] = []

    def evaluation(self, begun: float) -> Evaluation:
        """The results as users see them."""
        shared, order = self.plan.shared, self.order
        return Evaluation(
            name=self.plan.title,
            kernels=[" ".join(repr(candidate).split()) for candidate in self.kernels],
            classes=self.classes,
            y=self.labels,
            train_error=self.errors[0],
            test_error=self.errors[1],
            n_iter=self.errors[2],
            splits=[Split(order[split.train], order[split.test]) for split in self.splits],
            predicted=self.predicted,
            lead=self.lead,
            fold_error=self.fold_error,
            seconds=time.perf_counter() - begun + sum(t.saved_seconds for t in self.trials),
            probabilities=self.probabilities,
            scores=self.scores,
            fit_seconds=None if shared else np.array([trial.fit_seconds for trial in self.trials]),
            predict_seconds=None if shared else np.array([t.predict_seconds for t in self.trials]),
            settings=[trial.settings for trial in self.trials if trial.settings],
            edges=[trial.edges for trial in self.trials],
        )

    def part(self) -> StudyPart:
        """The results of what was run."""
        errors = self.errors[:, :, self.numbers]
        return StudyPart(self.numbers, errors, self.fold_error, self._by_cell, self.trials)

    @property
    def _by_cell(self) -> tuple[dict[tuple[int, int], Any], ...]:
        return self.predicted, self.lead, self.probabilities, self.scores

    def fill(self, parts: Sequence[StudyPart]) -> None:
        """Take the results of all parts, in their order."""
        for part in parts:
            known = self.errors[:, :, part.numbers]
            self.errors[:, :, part.numbers] = np.where(np.isnan(part.errors), known, part.errors)
            for cells, more in zip(self._by_cell, part.by_cell, strict=True):
                cells.update(more)
            self.trials += part.trials
        if self.plan.folds:
            self.fold_error = np.concatenate([part.fold_error for part in parts], axis=1)

    def run(
        self, products: Products, preprocessing: SharedPreprocessing | None, progress: bool | None
    ) -> None:
        """Run all kernels on all splits, or cross-validate and then run the chosen kernels."""
        if not self.plan.shared:
            self._run_one_by_one(preprocessing, progress)
            return
        self.model._check_parameters()
        policy = self.model._training_policy(self.X, *self.kernels, owner="evaluate")
        run_on(policy, lambda device: self._run_shared(device, products, progress))

    def _run_shared(self, device: Any, products: Products, progress: bool | None) -> None:
        shared = products.of(self.model, self.X, self.y, len(self.classes), device)
        everywhere = dict.fromkeys(self.candidates, self.numbers)
        folds, n_splits = self.plan.folds, len(self.numbers)
        total = len(self.candidates) * n_splits * (folds or 1) + (
            n_splits if folds and self.plan.retrain else 0
        )
        with bar("evaluate", total, show=progress) as advance:
            monitor = FitMonitor(None, lambda _number: bool(advance()))
            if folds:
                self._cross_validate(shared, folds, monitor)
                if not self.plan.retrain:
                    return
                chosen = self.fold_error.argmin(axis=0)
                everywhere = {
                    int(c): [self.numbers[i] for i in np.flatnonzero(chosen == c)]
                    for c in np.unique(chosen)
                }
            for candidate, numbers in everywhere.items():
                self._train_and_test(shared, candidate, numbers, monitor)

    def _cross_validate(self, shared: SharedProducts, folds: int, monitor: FitMonitor) -> None:
        inner = [
            fold
            for number in self.numbers
            for fold in fold_splits(
                self.splits[number].train, folds=folds, seed=self.plan.seed + number
            )
        ]

        def held_out_error(run: int, result: RowsClassified) -> float:
            rows = inner[run].test
            return float(np.mean(result.codes(rows) != self.y[rows]))

        errors = self._classify(shared, self.kernels, inner, held_out_error, monitor)
        shape = (len(self.kernels), len(self.numbers), folds)
        self.fold_error = np.array(list(errors)).reshape(shape).mean(axis=2)

    def _train_and_test(
        self, shared: SharedProducts, candidate: int, numbers: list[int], monitor: FitMonitor
    ) -> None:
        def record(run: int, result: RowsClassified) -> None:
            train, test = self.splits[numbers[run]]
            values = result.values(test)
            self._record(
                candidate, numbers[run], result.codes(train), result.codes(test), result.n_iter
            )
            self.lead[candidate, numbers[run]] = lead_of_others(values, self.y[test])
            scores = by_class(values, len(self.classes))
            if scores is not None:
                self.scores[candidate, numbers[run]] = scores

        runs = [self.splits[number] for number in numbers]
        list(self._classify(shared, [self.kernels[candidate]], runs, record, monitor))

    def _classify(
        self, shared: Any, kernels: Any, runs: list[Split], keep: Any, monitor: FitMonitor
    ) -> Any:
        return classify_many(
            self.model,
            shared,
            self.y,
            kernels,
            [run.train for run in runs],
            keep,
            n_classes=len(self.classes),
            monitor=monitor,
        )

    def _record(
        self, candidate: int, number: int, on_train: Codes, on_test: Codes, n_iter: float
    ) -> None:
        train, test = self.splits[number]
        self.errors[:, candidate, number] = (
            np.mean(on_train != self.y[train]),
            np.mean(on_test != self.y[test]),
            n_iter,
        )
        self.predicted[candidate, number] = on_test

    def _run_one_by_one(
        self, preprocessing: SharedPreprocessing | None, progress: bool | None
    ) -> None:
        """Fit the classifier on each split."""
        with bar(self.plan.title, len(self.numbers), show=progress) as advance:
            for number in self.numbers:
                split = self.splits[number]
                found = fit_and_score(
                    self.model, self.X, self.y, split, self.classes, preprocessing
                )
                self.trials.append(found)
                self._record(0, number, found.on_train, found.on_test, found.n_iter)
                if found.scores is not None:
                    self.scores[0, number] = found.scores
                if found.probabilities is not None:
                    self.probabilities[0, number] = found.probabilities
                    own = self.y[split.test]
                    self.lead[0, number] = lead_of_others(found.probabilities, own)
                advance()


def run_piece(
    run: str, data: Any, plan: StudyPlan, candidates: list[int], numbers: list[int]
) -> StudyPart:
    """Some kernels on some splits, on a worker, which keeps what later tasks of the same run can use."""
    if run not in _CACHES:
        _CACHES.clear()  # of earlier runs
        _CACHES[run] = (Products(), SharedPreprocessing())
    study = plan.arrange(*data)
    study.candidates, study.numbers = candidates, numbers
    study.run(*_CACHES[run], progress=False)
    return study.part()
