"""Kernel logistic regression with C and the kernel chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from separatrix.estimators.base.grid_widening import GridAxis, edges_of_grid
from separatrix.estimators.base.kernel_search import CostSearch
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import decision_values, log_probabilities, winners
from separatrix.estimators.base.parameters import choice, real, with_parameters
from separatrix.estimators.base.prepare import Training, prepare
from separatrix.estimators.kernel_logistic import KernelLogisticRegression
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.operations import concurrent_fits
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.runtime.device import DEVICES, as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Gram, Matrix, Vector


@with_parameters
class KernelLogisticRegressionCV(CostSearch):
    """Kernel logistic regression whose C and kernel are chosen by cross-validation.

    One Gram matrix of each kernel serves all folds, classes and values of C, and all kernels share the
    inner products of the samples: rows held out have weight 0, so that their scores come with the
    training, and along C each fit starts from the last one. For given values of gamma the scores are
    those of `GridSearchCV` on the same folds. The best cell, the first among equals, is then trained on
    all samples.

    Parameters
    ----------
    Cs
        Values of C to choose from.
    gammas
        Values of gamma for the estimator's kernel. None: only the estimator's own kernel.
    kernels
        Kernel objects or names to choose from, instead of gammas.
    cv
        Number of stratified folds, or a splitter of scikit-learn.
    scoring
        "neg_log_loss" or "accuracy" of the samples held out: which mean over the folds is to be largest.
    estimator
        A `KernelLogisticRegression` with all other parameters. None: the default.
    time_limit, verbose
        Seconds after which to stop searching; cells not reached are never chosen. Above 0, a progress bar.
    device
        As in `KernelLogisticRegression`.

    Attributes
    ----------
    classes_
        Labels, (k,).
    best_params_, best_score_, best_index_
        The cell chosen, its mean score over the folds, and its index in the table.
    cv_results_
        Parameters, score of each fold, mean, standard deviation and rank, in scikit-learn's form and
        order (C first).
    edges_
        Parameters whose best value is the "smallest" or the "largest" tried, and better than the next.
    best_estimator_
        The `KernelLogisticRegression` trained on all samples with the best cell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = KernelLogisticRegressionCV([1, 100], gammas=[0.01, 0.1], cv=3).fit(X, y)
    >>> search.best_params_
    {'C': 100, 'gamma': 0.1}
    """

    Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0)
    gammas: Sequence[Any] | None = None
    _: KW_ONLY
    kernels: Sequence[Any] | None = None
    cv: Any = 5
    scoring: str = choice("neg_log_loss", "accuracy")
    estimator: KernelLogisticRegression | None = None
    time_limit: float | None = real(None, above=0)
    verbose: int = 0
    device: str = choice(*DEVICES)

    widen = 0  # the grid stays as it is
    _kind = KernelLogisticRegression
    _best_name = "best_estimator_"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose on samples X, (n, d), or their kernel matrix, and labels y, then train on all of them."""
        Cs, model = self._values_of_C(), self._model()
        train = prepare(self, X, y, sample_weight, class_weight=model.class_weight)
        grid = self._columns(model, train.X)
        candidates, kernels = [grid.params(column) for column in grid.columns], grid.kernels
        labels = train.classes[train.y]
        folds = list(check_cv(self.cv, train.y, classifier=True).split(train.X, labels))
        steps = len(Cs) * len(candidates) * len(folds)
        with monitored(self, train.X, train.y, steps=steps, task="fold") as monitor:
            policy = model._training_policy(train.X, *kernels, owner=type(self).__name__)
            scores = run_on(
                policy, lambda _: self._search(model, train, Cs, kernels, folds, monitor)
            )
        if monitor.should_stop():
            warn_user(
                f"{type(self).__name__} was stopped before all folds were done; cells not reached are "
                "not chosen",
                ConvergenceWarning,
            )
        cells = [{"C": C, **candidate} for C in Cs for candidate in candidates]
        table = scores.reshape(len(cells), len(folds))
        self.edges_ = edges_of_grid({"C": GridAxis(Cs), **grid.axes}, table)
        self.best_params_ = self._keep_results(cells, table)
        self.best_estimator_: KernelLogisticRegression = clone(model).set_params(
            **self.best_params_
        )
        self.best_estimator_.fit(train.X, labels, sample_weight=train.weights)
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k)."""
        return self._predict_best("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class, (n, k)."""
        return self._predict_best("predict_log_proba", X)

    def _search(
        self,
        model: KernelLogisticRegression,
        train: Training,
        Cs: Sequence[float],
        kernels: list[Kernel],
        folds: list[tuple[Codes, Codes]],
        monitor: FitMonitor,
    ) -> Matrix:
        """Score of every cell, (Cs, kernels, folds)."""
        shared = SharedProducts(
            as_numpy(train.X),
            memory=model._budget,
            tolerance=model._kernel_tolerance,
            threads=model._threads,
        )
        scores = np.full((len(Cs), len(kernels), len(folds)), -np.inf)
        for number, gram in enumerate(shared.grams(kernels)):
            at_once = concurrent_fits(gram, shared.threads)
            inside = shared.threads if at_once == 1 else 1

            def path(fold: tuple[Codes, Codes], gram: Gram = gram, inside: int = inside) -> Vector:
                return self._path(model, gram, train, fold, Cs, monitor, inside)

            found = in_threads(path, folds, threads=at_once, monitor=monitor)
            scores[:, number] = np.array(found).T
        return scores

    def _path(
        self,
        model: KernelLogisticRegression,
        gram: Gram,
        train: Training,
        fold: tuple[Codes, Codes],
        Cs: Sequence[float],
        monitor: FitMonitor,
        threads: int,
    ) -> Vector:
        """Score of every C on the rows held out of one fold, (Cs,)."""
        rows, held_out = fold
        y, k, weights = train.y, len(train.classes), np.zeros(len(train.y))
        weights[rows] = (train.weights * train.class_weights)[rows]
        scores, start = np.full(len(Cs), -np.inf), None
        for number in np.argsort(Cs, kind="stable"):
            if monitor.should_stop():
                break
            inner, at = monitor.inner(model.time_limit), clone(model).set_params(C=Cs[number])
            found = at._solve(gram, y, weights, k, inner, threads, start)
            start = found.coef
            values = decision_values(found.scores[held_out], k, "ovr")
            if self.scoring == "accuracy":
                scores[number] = np.mean(winners(values, model._class_at_zero) == y[held_out])
            else:
                P = log_probabilities(values)
                scores[number] = P[np.arange(len(held_out)), y[held_out]].mean()
            monitor.step()
        return scores
