"""Logistic regression whose penalty is chosen by cross-validation, over shared work.

The values of C of a fold are a path: each starts from the weights of the last. Later folds start at every
C from the weights of the first one, which differ by few samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import ArrayBlocks
from separatrix.estimators.base.linear_machine import SolvedMachine
from separatrix.estimators.base.logistic_penalty import (
    SOLVERS,
    build_solver,
    check_penalty,
    effective_l1_ratio,
    warn_of_penalty,
)
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import log_probabilities, probabilities
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import Training, prepare
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.logistic.newton import LogisticFit
from separatrix.types import Codes, Matrix
from separatrix.validation import require_choice, require_real

GRID = (-4, 4)  # decades of C if only their number is given


@with_parameters
class LogisticRegressionCV(CallbackSupportMixin, ClassifierMixin, SolvedMachine):
    """Logistic regression with C and l1_ratio chosen by cross-validation.

    The minimum of every fold, C and l1_ratio is found as by `LogisticRegression`, each from a
    neighbouring one. With `refit`, the best cell is then trained on all samples.

    Parameters
    ----------
    Cs
        Values of C, or how many of them between 1e-4 and 1e4 in equal steps of the logarithm.
    l1_ratios
        Shares of the l1 penalty to choose from; "warn" and None: only 0.
    cv
        Number of stratified folds, or a splitter of scikit-learn. None: 5.
    penalty
        Deprecated as in scikit-learn: "l2" is l1_ratios=(0,), "l1" is l1_ratios=(1,), "elasticnet"
        takes l1_ratios as they are.
    scoring
        Name of a score of scikit-learn, or a function of model, X and y. "warn" and None: accuracy.
    fit_intercept, dual, solver, tol, max_iter, class_weight, n_jobs, intercept_scaling, random_state
        As in `LogisticRegression`; balanced class weights are those of all samples.
    refit
        Train on all samples with the best cell. False: the mean of the best weights of each fold.
    use_legacy_attributes
        Shapes of attributes as in scikit-learn 1.7, or, if False, those that 1.10 will have. "warn":
        True.
    verbose, time_limit
        Above 0, a progress bar; seconds after which cells not reached score minus infinity.

    Attributes
    ----------
    classes_, coef_, intercept_, solver_
        As in `LogisticRegression`.
    Cs_, l1_ratios_
        The values tried.
    C_, l1_ratio_
        The values chosen: one for each row of weights, or numbers without legacy attributes.
    scores_, coefs_paths_, n_iter_
        Scores, weights with bias, and steps of all cells. Legacy: dicts from class to (folds, Cs) and
        (folds, Cs, d + 1), with l1_ratios after Cs if given, and an array (1, folds, Cs). Else arrays
        (folds, l1_ratios, Cs), weights (folds, l1_ratios, Cs, p, d + 1).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> options = {"max_iter": 300, "use_legacy_attributes": False}
    >>> search = LogisticRegressionCV(Cs=5, l1_ratios=(0, 1), **options)
    >>> search.fit(scale(X), y).scores_.shape
    (5, 2, 5)

    References
    ----------
    Friedman, Hastie and Tibshirani, Regularization Paths for Generalized Linear Models via Coordinate
    Descent, J. of Statistical Software 33 (2010).
    """

    _: KW_ONLY
    Cs: Any = 10
    l1_ratios: Any = "warn"
    fit_intercept: bool = flag(True)
    cv: Any = None
    dual: bool = choice(False)
    penalty: Any = choice("deprecated", "l2", "l1", "elasticnet")
    scoring: Any = "warn"
    solver: str = choice(*SOLVERS)
    tol: float = real(1e-4, above=0)
    max_iter: int = integer(100, least=0)
    class_weight: Any = None
    n_jobs: int | None = threads()
    verbose: int = 0
    refit: bool = flag(True)
    intercept_scaling: float = 1.0
    random_state: Any = None
    use_legacy_attributes: Any = "warn"
    time_limit: float | None = real(None, above=0)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose C and l1_ratio on samples X, (n, d), with labels y, (n,), then train on all of them."""
        self._check_parameters()
        if self.penalty != "deprecated":
            warn_of_penalty("l1_ratios", "Cs=(np.inf,)")
        train = prepare(
            self, X, y, sample_weight, class_weight=self.class_weight, balance="weights"
        )
        self.classes_, self.Cs_ = train.classes, self._values_of_C()
        labels = train.classes[train.y]
        folds = list(check_cv(self.cv, labels, classifier=True).split(train.X, labels))
        cells = len(folds) * len(self.Cs_) * len(self._ratios())
        with monitored(self, train.X, train.y, steps=cells, task="fold") as monitor:
            search = _Search(self, train, self._ratios(), monitor)
            for number, (rows, left) in enumerate(folds):
                search.run_fold(number, len(folds), rows, left, sample_weight is not None)
            self._fold_scores, self._fold_paths, self._fold_steps = (
                search.scores,
                search.paths,
                search.steps,
            )
            found = self._choose(search) if self.refit else self._average()
        d = train.X.shape[1]
        self.coef_ = np.asfortranarray(found[:, :d])
        self.intercept_ = found[:, d].copy() if self.fit_intercept else np.zeros(len(found))
        self.solver_ = search.words
        if monitor.should_stop():
            message = "was stopped before all folds were done; cells not reached do not count"
            warn_user(f"LogisticRegressionCV {message}", ConvergenceWarning)
        elif search.unsolved:
            warn_user(
                f"{search.unsolved} fits of LogisticRegressionCV missed tol={self.tol:g}; raise "
                "max_iter, scale the features, or lower Cs",
                ConvergenceWarning,
            )
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, (n, k)."""
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithm of the probability of each class, (n, k)."""
        return log_probabilities(self.decision_function(X))

    def score(self, X: Any, y: Any, *, sample_weight: Any = None) -> float:
        """The score named by `scoring` on samples X, (n, d), with labels y, (n,)."""
        check_is_fitted(self)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._scorer()(self, X, y, **weights))

    @property
    def l1_ratios_(self) -> Any:
        """The shares of the l1 penalty tried; [None] if none were given."""
        check_is_fitted(self)
        given = self._given_ratios()
        return np.array([None]) if given is None else np.asarray(given, np.float64)

    @property
    def C_(self) -> Any:
        """The C chosen, repeated for each row of weights with legacy attributes."""
        return self._repeat(self._best[0])

    @property
    def l1_ratio_(self) -> Any:
        """The l1_ratio chosen, repeated for each row of weights with legacy attributes."""
        return self._repeat(self._best[1])

    @property
    def scores_(self) -> Any:
        """Score of each fold and cell."""
        if not self._legacy:
            return self._fold_scores.transpose(0, 2, 1)
        return {label: self._without_ratios(self._fold_scores) for label in self._rows()}

    @property
    def coefs_paths_(self) -> Any:
        """Weights, with the bias last, of each fold and cell."""
        if not self._legacy:
            return self._fold_paths.transpose(0, 2, 1, 3, 4)
        paths = np.moveaxis(self._fold_paths, 3, 0)
        squeezed = (path[:, :, 0] if self._given_ratios() is None else path for path in paths)
        return dict(zip(self._rows(), squeezed, strict=True))

    @property
    def n_iter_(self) -> Any:
        """Steps of each fold and cell."""
        if not self._legacy:
            return self._fold_steps.transpose(0, 2, 1)
        return self._without_ratios(self._fold_steps)[None]

    @property
    def _legacy(self) -> bool:
        return self.use_legacy_attributes is not False

    def _rows(self) -> Any:
        """The class of each row of weights."""
        return (self.classes_[1:] if len(self.classes_) == 2 else self.classes_).tolist()

    def _without_ratios(self, table: Any) -> Any:
        return table[:, :, 0] if self._given_ratios() is None else table

    def _repeat(self, value: float) -> Any:
        return np.full(len(self._rows()), value) if self._legacy else value

    def _choose(self, search: _Search) -> Matrix:
        """Weights on all samples for the cell with the highest mean score, of those with most folds."""
        reached = np.isfinite(self._fold_scores)
        folds = reached.sum(axis=0)
        total = np.where(reached, self._fold_scores, 0.0).sum(axis=0)
        total[folds < folds.max()] = -np.inf
        c, r = np.unravel_index(int(np.argmax(total)), total.shape)
        self._best = float(self.Cs_[c]), float(search.ratios[int(r)])
        start = self._fold_paths[reached[:, c, r], c, r].mean(axis=0)
        return search.solve_all(float(self.Cs_[c]), int(r), start)

    def _average(self) -> Matrix:
        """The mean over folds of the weights of their best cells; folds not reached do not count."""
        folds = np.flatnonzero(np.isfinite(self._fold_scores).any(axis=(1, 2)))
        ratios = self._fold_scores.shape[2]
        best = self._fold_scores[folds].reshape(len(folds), -1).argmax(axis=1)
        c, r = best // ratios, best % ratios
        self._best = float(self.Cs_[c].mean()), float(np.mean(np.asarray(self._ratios())[r]))
        return np.asarray(self._fold_paths[folds, c, r].mean(axis=0))

    def _given_ratios(self) -> Any:
        absent = self.l1_ratios is None or isinstance(self.l1_ratios, str)
        return None if absent else self.l1_ratios

    def _ratios(self) -> list[float]:
        given = self._given_ratios()
        return [effective_l1_ratio(self.penalty, r) for r in ([None] if given is None else given)]

    def _values_of_C(self) -> Any:
        if isinstance(self.Cs, Integral):
            return np.logspace(*GRID, int(self.Cs))
        return np.asarray(self.Cs, np.float64)

    def _scorer(self) -> Any:
        absent = self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "warn")
        try:
            return get_scorer("accuracy" if absent else self.scoring)
        except ValueError as error:
            must_be = "the name of a score of scikit-learn, a scorer or None"
            raise ParameterError(type(self).__name__, "scoring", must_be, self.scoring) from error

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        many = np.iterable(self.Cs) and not isinstance(self.Cs, str) and len(list(self.Cs)) > 0
        counted = (
            isinstance(self.Cs, Integral) and not isinstance(self.Cs, bool) and int(self.Cs) > 0
        )
        if not (many or counted):
            must_be = "a number of values of at least 1, or a list of them"
            raise ParameterError(name, "Cs", must_be, self.Cs)
        for C in self.Cs if many else ():
            if not (isinstance(C, float) and np.isposinf(C)):
                require_real(name, "Cs", C, above=0)
        if isinstance(self.l1_ratios, str):
            require_choice(name, "l1_ratios", self.l1_ratios, ("warn",))
        given = self._given_ratios()
        if given is not None and (not np.iterable(given) or not len(list(given))):
            raise ParameterError(name, "l1_ratios", "a list of numbers from 0 to 1", given)
        for ratio in [None] if given is None else given:
            check_penalty(self, ratio, name="l1_ratios")
        if not isinstance(self.use_legacy_attributes, bool):
            choices = (True, False, "warn")
            require_choice(name, "use_legacy_attributes", self.use_legacy_attributes, choices)
        self._scorer()


class _Search:
    """Scores, weights and steps of all cells, filled fold by fold."""

    def __init__(
        self,
        model: LogisticRegressionCV,
        train: Training,
        ratios: Sequence[float],
        monitor: FitMonitor,
    ) -> None:
        self.model, self.train, self.ratios, self.monitor = model, train, ratios, monitor
        self.Cs, self.scorer = model.Cs_, model._scorer()
        self.unsolved, self.words = 0, ""
        self.scores: Any = np.empty(0)
        self.steps: Any = self.scores
        self.paths: Any = self.scores

    def run_fold(self, number: int, folds: int, rows: Codes, left: Codes, weighted: bool) -> None:
        """All cells of one fold: of growing C, from the last C, or from the first fold at this C."""
        train = self._part(rows)
        if len(np.unique(train.y[train.weights * train.class_weights > 0])) < 2:
            raise DataError(
                f"fold {number} of LogisticRegressionCV trains on one class only; use fewer folds, or a "
                "stratified cv"
            )
        test = self._part(left)
        labels = self.train.classes[test.y]
        weights = {"sample_weight": test.weights} if weighted else {}
        for r in range(len(self.ratios)):
            solvers: dict[bool, Any] = {}
            start: Matrix | None = None
            for c in np.argsort(self.Cs, kind="stable"):
                if self.monitor.should_stop() and self.paths.size:  # the first cell is always done
                    return
                near = self.paths[0, c, r] if number else start
                found = self._solve(train, float(self.Cs[c]), r, near, solvers)
                start = found.theta
                if not self.paths.size:
                    shape = folds, len(self.Cs), len(self.ratios)
                    self.scores = np.full(shape, -np.inf)
                    self.steps = np.zeros(shape, np.int32)
                    self.paths = np.zeros((*shape, *found.theta.shape))
                self.paths[number, c, r], self.steps[number, c, r] = found.theta, found.n_iter
                fitted = self._fitted(found.theta)
                self.scores[number, c, r] = self.scorer(fitted, test.X, labels, **weights)
                self.monitor.step()

    def solve_all(self, C: float, r: int, start: Matrix) -> Matrix:
        """Weights on all samples."""
        return self._solve(self.train, C, r, start, {}).theta

    def _part(self, rows: Codes) -> Training:
        train = self.train
        parts = (train.y[rows], train.classes, train.weights[rows], train.class_weights[rows])
        return Training(train.X[rows], *parts)

    def _solve(
        self, train: Training, C: float, r: int, start: Matrix | None, solvers: dict[bool, Any]
    ) -> LogisticFit:
        """The minimum of one cell; the solver of a fold serves all values of C."""
        model, finite = self.model, bool(np.isfinite(C))
        if finite not in solvers:
            solvers[finite] = build_solver(
                ArrayBlocks(train),
                l1_ratio=self.ratios[r] if finite else 0.0,
                solver=model.solver,
                intercept=model.fit_intercept,
                intercept_precision=0.0,
                tol=model.tol,
                max_iter=model.max_iter,
                threads=thread_count(model.n_jobs),
                monitor=self.monitor.inner(),
            )
        found: LogisticFit = solvers[finite].solve(C, None if start is None else start.copy())
        if not np.isfinite(found.theta).all():
            raise DataError(
                "weights overflowed; scale the features, for example with StandardScaler"
            )
        self.unsolved += found.stop in ("max_iter", "rounding") and not (
            found.gradient <= model.tol
        )
        self.words = solvers[finite].words
        return found

    def _fitted(self, theta: Matrix) -> LogisticRegression:
        """A model with these weights, for the scorer."""
        model, d = LogisticRegression(), self.train.X.shape[1]
        model.coef_ = np.asfortranarray(theta[:, :d])
        model.intercept_ = theta[:, d].copy() if self.model.fit_intercept else np.zeros(len(theta))
        model.classes_, model.n_features_in_, model._posterior = self.train.classes, d, None
        return model
