"""Choice of C and the kernel by cross-validation: the whole grid over shared inner products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if

from separatrix.data.splits import Split
from separatrix.errors import ParameterError
from separatrix.estimators.base.kernel_combination import (
    CombinedKernels,
    combine,
    compute_matrices,
    default_kernels,
    search_combinations,
)
from separatrix.estimators.base.kernel_search import CostSearch
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.parameters import choice, real, with_parameters
from separatrix.estimators.base.prepare import Training, prepare, rollback_on_error
from separatrix.estimators.base.support import class_segments, in_order, scores_of_all
from separatrix.estimators.base.svc_path import solve_svc_path
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.combination import Combination
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.runtime.device import DEVICES, as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Gram, Matrix, Vector


@with_parameters
class SVCCV(CostSearch):
    """Support vector machine whose C and kernel are chosen by cross-validation.

    All folds, class pairs, widths and values of C share the inner products of the samples; along C
    each fit starts from the last one. For given values of gamma the accuracies are those of
    `GridSearchCV(SVC(), ...)` on the same folds; "scale" is that of all samples, not of each fold.
    The best cell, the first among equals, is then trained on all samples.

    Parameters
    ----------
    Cs
        Values of C to choose from.
    gammas
        Values of gamma for the estimator's kernel. None: only the estimator's own kernel.
    kernels
        Kernel objects or names to choose from, instead of gammas. `Combination([...])` of them learns one
        sum with weights of at least 0 instead, together with the machine (SimpleMKL's problem): each
        kernel is divided by its mean k(x, x), and the weights add up to 1. "combine" does so with the
        kernels of `gammas`, or else with a linear, two polynomial and five Gaussian kernels.
    cv
        Number of stratified folds, or a splitter of scikit-learn.
    estimator
        An `SVC` with all other parameters. None: the default.
    time_limit, verbose
        Seconds after which to stop searching; cells not reached count as 0. Above 0, a progress bar.
    device
        As in `SVC`, for the search and for the training of the best cell. A `device` of the `estimator`
        other than "auto" takes precedence.

    Attributes
    ----------
    best_params_, best_score_, best_index_
        The cell chosen, its mean accuracy over the folds, and its index in the table.
    cv_results_
        Parameters, accuracy of each fold, mean, standard deviation and rank, in scikit-learn's form
        and order (C first). No times: cells share their work.
    best_estimator_
        The `SVC` trained on all samples with the best cell.
    kernels_, kernel_weights_, combination_gap_
        Of a combination: its kernels, the weight of each, and the relative duality gap of weights and
        machines together, for the best C on all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> search = SVCCV(Cs=[1, 10], gammas=[0.0005, 0.001, 0.002], cv=3).fit(X, y)
    >>> search.best_params_
    {'C': 10, 'gamma': 0.001}
    """

    Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    gammas: Sequence[Any] | None = None
    _: KW_ONLY
    kernels: Sequence[Any] | None = None
    cv: Any = 5
    estimator: SVC | None = None
    time_limit: float | None = real(None, above=0)
    verbose: int = 0
    device: str = choice(*DEVICES)

    _kind = SVC
    _best_name = "best_estimator_"

    @with_callbacks
    @rollback_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose on samples X, (n, d), or their kernel matrix, and labels y, then train on all of them."""
        Cs, model = self._values_of_C(), self._model()
        train = prepare(self, X, y, sample_weight, class_weight=model.class_weight)
        candidates, kernels = self._candidates(model, train.X)
        labels = train.classes[train.y]
        splits = list(check_cv(self.cv, train.y, classifier=True).split(train.X, labels))
        order = np.argsort(train.y, kind="stable")
        rank = np.argsort(order)  # of each sample among rows in class order
        folds = [Split(rank[rows], rank[left]) for rows, left in splits]
        steps = len(Cs) * len(candidates) * len(folds)
        search = _search_combinations if self._combines else _search
        with monitored(self, train.X, train.y, steps=steps, task="fold") as monitor:
            policy = model._training_policy(train.X, *kernels, owner="SVCCV")
            if self._combines:
                policy = replace(policy, obstacle="a combination of kernels")
            found = run_on(
                policy,
                lambda device: search(device, model, train, order, folds, Cs, kernels, monitor),
            )
        _warn_if_unfinished(model, found, monitor)
        cells = [{"C": C, **candidate} for C in Cs for candidate in candidates]
        self.best_params_ = self._keep_results(cells, found.scores.reshape(-1, len(folds)))
        self._keep_combination(model, found.combined, _factors_of_C(train, order))
        self.best_estimator_: SVC = clone(model).set_params(**self.best_params_)
        self.best_estimator_.fit(train.X, labels, sample_weight=train.weights)
        self.classes_ = self.best_estimator_.classes_
        return self

    @available_if(lambda self: self._model()._offers_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k), where the estimator has a `calibration`."""
        return self._predict_best("predict_proba", X)

    @available_if(lambda self: self._model()._offers_probabilities())
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`, (n, k)."""
        return self._predict_best("predict_log_proba", X)

    @property
    def _combines(self) -> bool:
        """Whether the kernels are combined, not chosen from."""
        return isinstance(self.kernels, Combination) or (
            isinstance(self.kernels, str) and self.kernels == "combine"
        )

    def _keep_combination(
        self, model: SVC, combined: CombinedKernels | None, factors: Vector
    ) -> None:
        """Learn the weights of a combination for the best C; the combined kernel is a parameter."""
        for name in ("kernels_", "kernel_weights_", "combination_gap_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if combined is None:
            return
        found = combine(model, combined, self.best_params_["C"] * factors, FitMonitor())
        self.kernels_, self.kernel_weights_ = combined.kernels, found.weights
        self.combination_gap_ = float(found.gap)
        self.best_params_ = {**self.best_params_, "kernel": combined.kernel(found.weights)}
        model.set_params(gamma="scale", degree=3, coef0=0.0)  # of kernels given by name

    def _candidates(self, model: SVC, X: Any) -> tuple[list[dict[str, Any]], list[Kernel]]:
        """Parameters beside C of each column of the grid, and their kernels."""
        if isinstance(self.kernels, Combination):
            return [{}], self._resolve_kernels(model, X, self.kernels)
        if isinstance(self.kernels, str) and self.kernels == "combine":
            if model._precomputed:
                raise ParameterError("SVCCV", "kernels", "None for precomputed values", "combine")
            if self.gammas is None:
                return [{}], default_kernels("SVCCV", X)
            return [{}], self._of_gammas(model, X)[1]
        return super()._candidates(model, X)


class GridScores(NamedTuple):
    """The results of a search."""

    scores: Matrix  # shape: (Cs, kernels, folds), or (Cs, folds); accuracies
    unfinished: int  # boundaries or combinations that missed their tolerance
    combined: CombinedKernels | None = None


def _factors_of_C(train: Training, order: Codes) -> Vector:
    """Weight of each sample times that of its class, in another order, (n,)."""
    return np.asarray((train.weights * train.class_weights)[order])


def _warn_if_unfinished(model: SVC, found: GridScores, monitor: FitMonitor) -> None:
    if monitor.should_stop():
        warn_user(
            "SVCCV was told to stop before all folds were done; cells not reached count as 0",
            ConvergenceWarning,
        )
    elif found.unfinished:
        what = "boundaries" if found.combined is None else "combinations of kernels"
        warn_user(
            f"{found.unfinished} {what} in the folds of SVCCV missed tol={model.tol:g}; raise "
            "`max_iter` or `time_limit` of the estimator, scale the features, or lower `Cs`",
            ConvergenceWarning,
        )


def _search_combinations(
    _device: Any,
    model: SVC,
    train: Training,
    order: Codes,
    folds: Sequence[Split],
    Cs: Sequence[float],
    kernels: list[Kernel],
    monitor: FitMonitor,
) -> GridScores:
    """Accuracy of every C with kernels combined, (Cs, folds)."""
    combined, factors = compute_matrices(model, train, order, kernels), _factors_of_C(train, order)
    found = search_combinations(model, combined, factors, folds, Cs, monitor)
    return GridScores(*found, combined)


def _search(
    device: Any,
    model: SVC,
    train: Training,
    order: Codes,
    folds: Sequence[Split],
    Cs: Sequence[float],
    kernels: list[Kernel],
    monitor: FitMonitor,
) -> GridScores:
    """Accuracy of every cell, (Cs, kernels, folds)."""
    y, k = train.y[order], len(train.classes)
    shared = SharedProducts(
        in_order(kernels[0], as_numpy(train.X) if device is None else train.X, order),
        memory=model._budget,
        tolerance=model._kernel_tolerance,
        threads=model._threads,
        segments=class_segments(y, k),
        device=device,
    )
    factors, weights = _factors_of_C(train, order), np.zeros((len(folds), len(y)))
    for row, (trained, _) in zip(weights, folds, strict=True):
        row[trained] = factors[trained]
    scores = np.zeros((len(Cs), len(kernels), len(folds)))
    unfinished, begun = 0, list[Vector]()
    for g, gram in enumerate(shared.grams(kernels)):
        if not monitor.should_stop():
            scores[:, g], missed = _path(model, gram, y, k, folds, weights, Cs, monitor, begun)
            unfinished += missed
    return GridScores(scores, unfinished)


def _path(
    model: SVC,
    gram: Gram,
    y: Codes,  # shape: (n,); in class order
    n_classes: int,
    folds: Sequence[Split],
    weights: Matrix,  # shape: (folds, n); factors of C, 0 for rows held out
    Cs: Sequence[float],
    monitor: FitMonitor,
    begun: list[Vector],
) -> tuple[Matrix, int]:
    """Accuracy of every C on every fold, (Cs, folds), and boundaries that missed their tolerance.

    Each C starts from the last one, the first from that of the last kernel: `begun`.
    """
    path = solve_svc_path(model, gram, n_classes, weights, Cs, monitor, begun)
    accuracies = np.zeros((len(Cs), len(folds)))
    for number, fold in enumerate(folds if path.reached else []):
        S = scores_of_all(path.supports[number], gram, fold.test)
        for number_of_C, c in enumerate(path.reached):
            guess = as_numpy(vote(S[:, number_of_C], n_classes, model.multi_class))
            accuracies[c, number] = np.mean(guess == y[fold.test])
    return accuracies, path.unfinished
