"""Choice of C and the kernel by cross-validation: the whole grid over shared inner products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if

from separatrix.data.splits import Split
from separatrix.errors import ParameterError
from separatrix.estimators.base.fold_race import FoldRace
from separatrix.estimators.base.grid_widening import (
    Cell,
    GridAxis,
    edges_of_grid,
    find_edges,
    search_widening,
)
from separatrix.estimators.base.kernel_combination import (
    CombinedKernels,
    combine,
    compute_matrices,
    default_kernels,
    search_combinations,
)
from separatrix.estimators.base.kernel_search import CostSearch, KernelGrid
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.parameters import choice, flag, integer, real, with_parameters
from separatrix.estimators.base.prepare import Training, prepare
from separatrix.estimators.base.support import class_segments, in_order
from separatrix.estimators.base.svc_path import scores_of_rows, solve_svc_path
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.combination import Combination
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.runtime.device import DEVICES, as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Flags, Gram, Matrix, Vector


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
        Values of gamma for the estimator's kernel, or for each of `kernels`; "scale": a quarter of
        gamma="scale", once and four times that. None: only the estimator's own kernel.
    kernels
        Kernel objects or names to choose from. `Combination([...])` of them learns one
        sum with weights of at least 0 instead, together with the machine (SimpleMKL's problem): each
        kernel is divided by its mean k(x, x), and the weights add up to 1. "combine" does so with the
        kernels of `gammas`, or else with a linear, two polynomial and five Gaussian kernels.
    cv
        Number of stratified folds, or a splitter of scikit-learn.
    widen
        Values of C and of gamma that may be added at either end while the best lies there; the progression
        continues. 0: the grid as given, in its order.
    search_tol
        Tolerance of the machines in the folds. None: `tol` of the estimator, which the final machine
        always meets. Accuracies hardly change up to 0.1, at half the time.
    race
        Cells that are behind the best so far on the first fold by three standard errors of the difference
        skip the other folds, where they are taken to be as far behind. Kernels in the middle of the grid
        come first.
    estimator
        An `SVC` with all other parameters. None: the default.
    time_limit, verbose
        Seconds after which to stop searching; cells not reached count as 0. Above 0, a progress bar.
    device
        As in `SVC`, for the search and for the training of the best cell. A `device` of the `estimator`
        other than "auto" takes precedence.

    Attributes
    ----------
    classes_
        Labels, (k,).
    best_params_, best_score_, best_index_
        The cell chosen, its mean accuracy over the folds, and its index in the table.
    cv_results_
        Parameters, accuracy of each fold, mean, standard deviation and rank, in scikit-learn's form
        and order (C first). No times: cells share their work.
    edges_
        Parameters whose best value is the "smallest" or the "largest" tried, and better than the next.
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
    gammas: Sequence[Any] | str | None = None
    _: KW_ONLY
    kernels: Sequence[Any] | None = None
    cv: Any = 5
    widen: int = integer(0, least=0)
    search_tol: float | None = real(None, above=0)
    race: bool = flag(False)
    estimator: SVC | None = None
    time_limit: float | None = real(None, above=0)
    verbose: int = 0
    device: str = choice(*DEVICES)

    _kind = SVC
    _best_name = "best_estimator_"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose on samples X, (n, d), or their kernel matrix, and labels y, then train on all of them."""
        model = self._model()
        train = prepare(self, X, y, sample_weight, class_weight=model.class_weight)
        return self._keep_best(model, train, self._search(model, train))

    def _search(self, model: SVC, train: Training, some: slice = slice(None)) -> GridScores:
        """Accuracy of every cell on every fold, or on some folds."""
        Cs = self._values_of_C()
        grid = self._grid(model, train.X, Cs)
        labels = train.classes[train.y]
        splits = list(check_cv(self.cv, train.y, classifier=True).split(train.X, labels))[some]
        order = np.argsort(train.y, kind="stable")
        rank = np.argsort(order)  # of each sample among rows in class order
        folds = [Split(rank[rows], rank[left]) for rows, left in splits]
        steps = None if self.widen else len(Cs) * len(grid.kernels) * len(folds)
        with monitored(self, train.X, train.y, steps=steps, task="fold") as monitor:
            policy = model._training_policy(train.X, *grid.kernels, owner="SVCCV")
            if self._combines:
                policy = replace(policy, obstacle="a combination of kernels")
            tol = model.tol if self.search_tol is None else self.search_tol
            searched = clone(model).set_params(tol=tol)
            found = run_on(
                policy,
                lambda device: grid.search(device, searched, train, order, folds, monitor),
            )
        _warn_if_unfinished(searched, found, monitor)
        return found

    def _keep_best(self, model: SVC, train: Training, found: GridScores) -> Self:
        """Set the results of the search, and train the best cell on all samples."""
        self.edges_ = found.edges
        self.best_params_ = self._keep_results(found.cells, found.scores)
        order = np.argsort(train.y, kind="stable")
        self._keep_combination(model, found.combined, _factors_of_C(train, order))
        self.best_estimator_: SVC = clone(model).set_params(**self.best_params_)
        self.best_estimator_.fit(train.X, train.classes[train.y], sample_weight=train.weights)
        self.classes_ = self.best_estimator_.classes_
        return self

    def _merge_folds(self, model: SVC, train: Training, parts: list[GridScores]) -> GridScores:
        """The results of a search without widening, from those on some of its folds each."""
        grid = self._grid(model, train.X, self._values_of_C())
        assert isinstance(grid, SvmGrid)
        table = np.hstack([part.scores for part in parts])
        unfinished = sum(part.unfinished for part in parts)
        return parts[0]._replace(
            scores=table, edges=edges_of_grid(grid.axes, table), unfinished=unfinished
        )

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

    def _grid(self, model: SVC, X: Any, Cs: list[float]) -> SvmGrid | CombinationGrid:
        """The cells to choose from, each with its kernel."""
        if isinstance(self.kernels, Combination):
            return CombinationGrid(Cs, self._resolve_kernels(model, X, self.kernels))
        if isinstance(self.kernels, str) and self.kernels == "combine":
            if model._precomputed:
                raise ParameterError("SVCCV", "kernels", "None for precomputed values", "combine")
            if self.gammas is None:
                return CombinationGrid(Cs, default_kernels("SVCCV", X))
            return CombinationGrid(Cs, self._kernel_grid(model, X, "kernel").kernels)
        axis = GridAxis(sorted(Cs) if self.widen else Cs, self.widen)
        return SvmGrid(axis, self._columns(model, X), self.race)


class GridScores(NamedTuple):
    """The results of a search."""

    cells: list[dict[str, Any]]  # parameters
    scores: Matrix  # shape: (cells, folds); accuracies
    edges: dict[str, str]
    unfinished: int  # boundaries or combinations that missed their tolerance
    combined: CombinedKernels | None = None


def _factors_of_C(train: Training, order: Codes) -> Vector:
    """Weight of each sample times that of its class, in another order, (n,)."""
    return np.asarray((train.weights * train.class_weights)[order])


def _warn_if_unfinished(model: SVC, found: GridScores, monitor: FitMonitor) -> None:
    if monitor.should_stop():
        warn_user(
            "SVCCV was stopped before all folds were done; cells not reached count as 0",
            ConvergenceWarning,
        )
    elif found.unfinished:
        what = "boundaries" if found.combined is None else "combinations of kernels"
        warn_user(
            f"{found.unfinished} {what} in the folds of SVCCV missed tol={model.tol:g}; raise "
            "`max_iter` or `time_limit` of the estimator, scale the features, or lower `Cs`",
            ConvergenceWarning,
        )


class CombinationGrid(NamedTuple):
    """Values of C for a combination of all kernels."""

    Cs: list[float]
    kernels: list[Kernel]

    def search(
        self,
        _device: Any,
        model: SVC,
        train: Training,
        order: Codes,
        folds: Sequence[Split],
        monitor: FitMonitor,
    ) -> GridScores:
        """Accuracy of every C on every fold."""
        combined = compute_matrices(model, train, order, self.kernels)
        factors = _factors_of_C(train, order)
        scores, missed = search_combinations(model, combined, factors, folds, self.Cs, monitor)
        return GridScores([{"C": C} for C in self.Cs], scores, {}, missed, combined)


class SvmGrid(NamedTuple):
    """Values of C, kernels, and values of their gamma."""

    Cs: GridAxis
    columns: KernelGrid
    race: bool = False

    @property
    def kernels(self) -> list[Kernel]:
        """Those of the grid before it is widened."""
        return self.columns.kernels

    @property
    def axes(self) -> dict[str, GridAxis]:
        """C, the kernels, and their gamma."""
        return {"C": self.Cs, **self.columns.axes}

    def search(
        self,
        device: Any,
        model: SVC,
        train: Training,
        order: Codes,
        folds: Sequence[Split],
        monitor: FitMonitor,
    ) -> GridScores:
        """Accuracy of every cell on every fold."""
        y, k = train.y[order], len(train.classes)
        shared = SharedProducts(
            in_order(self.kernels[0], as_numpy(train.X) if device is None else train.X, order),
            memory=model._budget,
            tolerance=model._kernel_tolerance,
            threads=model._threads,
            segments=class_segments(y, k),
            device=device,
        )
        factors, weights = _factors_of_C(train, order), np.zeros((len(folds), len(y)))
        for row, (trained, _) in zip(weights, folds, strict=True):
            row[trained] = factors[trained]
        path = FoldPath(model, y, k, folds, weights, monitor)
        race = FoldRace(len(folds), skips=self.race)
        scores: dict[Cell, Vector] = {}

        def score(cells: list[Cell]) -> list[float]:
            by_kernel: dict[Cell, list[int]] = {}
            for cell in sorted(cells, key=self._from_middle) if self.race else cells:
                by_kernel.setdefault(cell[1:], []).append(cell[0])
            kernels = [self.columns.kernel(column) for column in by_kernel]
            grams = shared.grams(kernels, monitor)
            for (column, numbers), gram in zip(by_kernel.items(), grams, strict=True):
                found = race.accuracies(
                    [self.Cs.at(c) for c in numbers], partial(path.right_rows, gram)
                )
                scores.update(zip([(c, *column) for c in numbers], found, strict=True))
            return [float(scores[cell].mean()) for cell in cells]

        best, tried = search_widening(list(self.axes.values()), score)
        tried_in_order = sorted(tried)
        cells = [
            {"C": self.Cs.at(cell[0]), **self.columns.params(cell[1:])} for cell in tried_in_order
        ]
        table = np.array([scores[cell] for cell in tried_in_order])
        return GridScores(cells, table, find_edges(self.axes, tried, best), path.unfinished)

    def _from_middle(self, cell: Cell) -> float:
        """How far the kernel of a cell is from the middle of the grid: there the best is likely."""
        middle = [(len(axis.values) - 1) / 2 for axis in self.columns.axes.values()]
        return max(abs(at - half) for at, half in zip(cell[1:], middle, strict=True))


class FoldPath:
    """The machines of a search on some of its folds: each C starts from the last one.

    The first C starts from that of the last kernel, if this had the same first one.
    """

    def __init__(
        self,
        model: SVC,
        y: Codes,  # shape: (n,); in class order
        n_classes: int,
        folds: Sequence[Split],
        weights: Matrix,  # shape: (folds, n); factors of C, 0 for rows held out
        monitor: FitMonitor,
    ) -> None:
        self.model, self.y, self.n_classes, self.folds = model, y, n_classes, folds
        self.weights, self.monitor = weights, monitor
        self.unfinished = 0  # boundaries that missed their tolerance
        self._begun: dict[tuple[Any, ...], list[Vector]] = {}

    def right_rows(self, gram: Gram, Cs: Sequence[float], some: slice) -> list[list[Flags]]:
        """Whether each row held out is right, for each C and each of some folds; if stopped, none is."""
        right = [[np.zeros(len(fold.test), np.bool_) for fold in self.folds[some]] for _ in Cs]
        if self.monitor.should_stop():
            return right
        begun = self._begun.setdefault((some.start, min(Cs)), [])
        path = solve_svc_path(
            self.model, gram, self.n_classes, self.weights[some], Cs, self.monitor, begun
        )
        self.unfinished += path.unfinished
        for number, fold in enumerate(self.folds[some] if path.reached else []):
            S = scores_of_rows(path, number, gram, fold.test)
            for number_of_C, c in enumerate(path.reached):
                guess = as_numpy(vote(S[:, number_of_C], self.n_classes, self.model.multi_class))
                right[c][number] = guess == self.y[fold.test]
        return right
