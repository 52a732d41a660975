"""Choice of the kernel by cross-validation, all folds and kernels over shared inner products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import Tags

from separatrix.estimators.base.gram_training import classify_many
from separatrix.estimators.base.grid_widening import (
    Cell,
    edges_of_grid,
    find_edges,
    search_widening,
)
from separatrix.estimators.base.kernel_machine import tags_of_kernel
from separatrix.estimators.base.kernel_search import KernelGrid, KernelMachineCV
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import RowsClassified
from separatrix.estimators.base.parameters import choice, integer, with_parameters
from separatrix.estimators.base.prepare import Training, prepare
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.names import width
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.runtime.device import DEVICES, as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.types import Matrix

DEFAULT_FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16)


@with_parameters
class KernelPerceptronCV(KernelMachineCV):
    """Kernel perceptron whose kernel is chosen by cross-validation.

    All folds of all kernels share the inner products of the samples, and scores on the samples held
    out come with the training. The best kernel, the first among equals, is then trained on all.

    Parameters
    ----------
    kernels
        Kernel objects or names to choose from. None: nine Gaussians around gamma="scale".
    gammas
        Values of gamma for each of `kernels`; "scale": a quarter of gamma="scale", once and four times
        that. None: the kernels as they are.
    widen
        Values of gamma that may be added at either end while the best lies there.
    cv
        Number of stratified folds, or a splitter of scikit-learn.
    estimator
        A `KernelPerceptron` with all other parameters; its own kernel is not used. None: the default.
    verbose
        Above 0, a progress bar on stderr.
    device
        As in `KernelPerceptron`, for the search and for the training of the best kernel. A `device` of
        the `estimator` other than "auto" takes precedence. On a GPU all folds of a kernel train at
        the same time.

    Attributes
    ----------
    classes_, n_iter_
        Labels, (k,), and the passes of the perceptron on all samples.
    best_kernel_, best_score_, best_index_
        The kernel chosen, its mean accuracy over the folds, and its index in `kernels`.
    edges_
        {"gamma": "smallest"} or {"gamma": "largest"} if the best is the end of the values tried.
    cv_results_
        Kernels, accuracy of each fold, mean, standard deviation and rank, in scikit-learn's form.
    estimator_
        The `KernelPerceptron` trained on all samples with the best kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix.kernels import Polynomial
    >>> X, y = load_digits(return_X_y=True)
    >>> search = KernelPerceptronCV([Polynomial(degree) for degree in (1, 2, 3)], cv=3).fit(X, y)
    >>> search.best_kernel_.degree > 1
    True
    """

    kernels: Sequence[Any] | None = None
    _: KW_ONLY
    gammas: Sequence[Any] | str | None = None
    widen: int = integer(0, least=0)
    cv: Any = 5
    estimator: KernelPerceptron | None = None
    verbose: int = 0
    device: str = choice(*DEVICES)

    _kind = KernelPerceptron
    _best_name = "estimator_"

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the kernel on samples X, (n, d), with labels y, (n,), and train on all of them."""
        model, train = self._model(), prepare(self, X, y)
        return self._keep_best(model, train, self._search(model, train))

    def _search(
        self, model: KernelPerceptron, train: Training, some: slice = slice(None)
    ) -> KernelScores:
        """Accuracy of every kernel on every fold, or on some folds."""
        grid = self._grid(model, train.X)
        folds = list(check_cv(self.cv, train.y, classifier=True).split(train.X, train.y))[some]
        steps = None if self.widen else len(grid.kernels) * len(folds)
        with monitored(self, train.X, train.y, steps=steps, task="fold") as monitor:
            policy = model._training_policy(train.X, *grid.kernels, owner=type(self).__name__)
            scores, edges = run_on(
                policy, lambda device: _search(device, model, train, grid, folds, monitor)
            )
        if monitor.should_stop():
            warn_user(
                "KernelPerceptronCV was stopped before all folds were done; scores of those cut "
                "short are of unfinished fits",
                ConvergenceWarning,
            )
        cells = [{"kernel": grid.kernel(column)} for column in sorted(scores)]
        return KernelScores(cells, np.array([scores[column] for column in sorted(scores)]), edges)

    def _keep_best(self, model: KernelPerceptron, train: Training, found: KernelScores) -> Self:
        """Set the results of the search, and train the best kernel on all samples."""
        self.edges_ = found.edges
        self.best_kernel_ = self._keep_results(found.cells, found.scores)["kernel"]
        self.estimator_: KernelPerceptron = clone(model).set_params(
            kernel=self.best_kernel_, verbose=0
        )
        self.estimator_.fit(train.X, train.classes[train.y])
        self.classes_, self.n_iter_ = self.estimator_.classes_, self.estimator_.n_iter_
        return self

    def _merge_folds(
        self, model: KernelPerceptron, train: Training, parts: list[KernelScores]
    ) -> KernelScores:
        """The results of a search without widening, from those on some of its folds each."""
        table = np.hstack([part.scores for part in parts])
        axes = self._grid(model, train.X).axes
        return parts[0]._replace(scores=table, edges=edges_of_grid(axes, table))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags_of_kernel(tags, self._own_kernel)

    def _grid(self, model: KernelPerceptron, X: Any) -> KernelGrid:
        if self.kernels is not None or self.gammas is not None:
            return self._kernel_grid(model, X, "kernel")
        scale = width("KernelPerceptronCV", "scale", X)
        return KernelGrid([Gaussian(factor * scale) for factor in DEFAULT_FACTORS], None, "kernel")


class KernelScores(NamedTuple):
    """The results of a search."""

    cells: list[dict[str, Any]]  # kernels
    scores: Matrix  # shape: (kernels, folds); accuracies
    edges: dict[str, str]


def _search(
    device: Any,
    model: KernelPerceptron,
    train: Training,
    grid: KernelGrid,
    folds: list[Any],
    monitor: FitMonitor,
) -> tuple[dict[Cell, list[float]], dict[str, str]]:
    """Accuracy of every kernel on every fold, and the edges of the grid that the best lies on."""

    def accuracy(fold: int, result: RowsClassified) -> float:
        held_out = folds[fold][1]
        return float(np.mean(result.codes(held_out) == train.y[held_out]))

    X = as_numpy(train.X) if device is None else train.X
    shared = SharedProducts(X, memory=model._budget, threads=model._threads, device=device)
    how: dict[str, Any] = {"n_classes": len(train.classes), "monitor": monitor}
    scores: dict[Cell, list[float]] = {}

    def score(columns: list[Cell]) -> list[float]:
        kernels = [grid.kernel(column) for column in columns]
        runs = [rows for rows, _ in folds]
        found = classify_many(model, shared, train.y, kernels, runs, accuracy, **how)
        scores.update(zip(columns, found, strict=True))
        return [float(np.mean(scores[column])) for column in columns]

    best, tried = search_widening(list(grid.axes.values()), score)
    return scores, find_edges(grid.axes, tried, best)
