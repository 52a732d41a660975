"""Base of the linear online learners: passes over the samples, stopping rules, streams, averages."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.extmath import safe_sparse_dot

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.linear_machine import LinearMachine
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import above_boundary
from separatrix.estimators.base.prepare import (
    Training,
    check_unchanged,
    classes_of_stream,
    generator,
    prepare,
    require_whole,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.perceptron.primal import OnlineState, Pass, StepSize, pass_over
from separatrix.solvers.rows import CompiledRows, rows_of
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Flags, Matrix, Signs, Vector


class OnlineSamples(NamedTuple):
    """A training set as passes read it."""

    rows: CompiledRows
    sides: Signs  # shape: (n, p)
    rates: Matrix  # shape: (2, n); learning rate times weight, when added and when subtracted
    step: StepSize


class OnlineMachine(CallbackSupportMixin, ClassifierMixin, LinearMachine):
    """A linear classifier that corrects its weights after each sample."""

    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    random_state: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_weight: Any
    warm_start: bool
    min_gain: float | None = None
    min_iter: int = 1
    _least_weighted: ClassVar[int] = 1
    _resumed_with: ClassVar[tuple[str, ...]]  # parameters that must stay while a fit is resumed
    _advice: ClassVar[str]  # what to do when the passes end before a stopping rule holds

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from samples X, (n, d), and their labels y, (n,)."""
        self._check_parameters()
        if self.warm_start:
            require_whole(self, "warm_start")
        resumed = self.warm_start and hasattr(self, "_state")
        if resumed:
            check_unchanged(self, self._begun)
        classes = self.classes_ if resumed else None
        train = self._prepare(X, y, sample_weight, classes, reset=not resumed)
        self._start_from(coef_init, intercept_init)
        rng = generator(self)
        with monitored(self, train.X, train.y, steps=self.max_iter) as monitor:
            self.stop_ = self._learn(train, rng, monitor)
        self._warn_if_unfinished()
        from_zero = not resumed and coef_init is None and intercept_init is None
        self._summarize(train if from_zero else None)
        return self._keep()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more pass over X, (n, d); the first call must name all classes."""
        require_whole(self, "partial_fit")
        first = not hasattr(self, "_state")
        self._check_parameters()
        if not first:
            check_unchanged(self, self._begun)
        if self.class_weight == "balanced":
            must_be = "a dict or None for partial_fit"
            raise ParameterError(type(self).__name__, "class_weight", must_be, self.class_weight)
        train = self._prepare(X, y, sample_weight, classes_of_stream(self, classes), reset=first)
        kept = np.flatnonzero(train.weights)
        order = shuffled(kept, generator(self)) if self.shuffle else kept
        active = np.ones(1 if self._rule == "argmax" else len(self._state.b), dtype=np.bool_)
        self._record(self._pass_over(self._samples_of(train), order, active, None), train.X)
        self.stop_ = "max_iter"
        self._summarize(None)
        return self._keep()

    @property
    def _rule(self) -> str:
        return "signs"

    @property
    def _rate(self) -> float:
        """What multiplies the weight of each sample."""
        return 1.0

    @property
    def _keeps_log(self) -> bool:
        return False

    @property
    def _constant(self) -> float:
        """The value of the constant feature whose weight is the bias."""
        return float(self.fit_intercept)

    @property
    def _average_from(self) -> int:
        """The first sample, from 1, whose hypothesis is part of the average; 0: no average."""
        return 0

    def _step_size(self, train: Training) -> StepSize:
        """When a boundary is corrected, and by how much."""
        raise NotImplementedError

    def _n_weights(self, n_classes: int) -> int:
        """p."""
        return 1 if n_classes == 2 else n_classes

    def _summarize(self, from_zero: Training | None) -> None:
        """Further attributes after a fit, with its training set if it started from zero weights."""

    def _start_from(self, coef_init: Any, intercept_init: Any) -> None:
        """Take given weights and biases for the present ones."""
        for name, init, array in (
            ("coef_init", coef_init, self._state.W),
            ("intercept_init", intercept_init, self._state.b),
        ):
            if init is None:
                continue
            if self._keeps_log:
                must_be = f"'last' or 'average' with {name}"
                got = getattr(self, "predictor", None)
                raise ParameterError(type(self).__name__, "predictor", must_be, got)
            values = np.asarray(init, dtype=np.float64)
            if values.shape != array.shape and (1, *values.shape) != array.shape:
                raise DataError(f"`{name}` must have shape {array.shape}; got {values.shape}")
            array[...] = values.reshape(array.shape)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, *, reset: bool
    ) -> Training:
        """The checked training set; with `reset`, everything learned before is dropped.

        Without, passes change a copy: what was learned stays as it is if they fail.
        """
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            dtype=self._dtypes,
            classes=classes,
            reset=reset,
        )
        if reset:
            self.classes_ = train.classes
            p = self._n_weights(len(train.classes))
            self._state = OnlineState.zero(p, train.X.shape[1])
            self._begun = {name: getattr(self, name) for name in self._resumed_with}
            self._past: list[tuple[Any, Mistakes]] = []  # samples and the corrections made on them
            self.n_iter_, self.t_ = 0, 1
            self.mistakes_, self.loss_curve_ = np.empty(0, dtype=np.intp), np.empty(0)
            self.learning_curve_, self.boundary_curve_ = np.empty(0), np.empty(0)
        else:
            self._state = self._state.copy(averages=self._average_from > 0)
        return train

    def _samples_of(self, train: Training) -> OnlineSamples:
        k, p = len(train.classes), len(self._state.b)
        sides = coding(k, "argmax" if p == k else "ovr")[train.y]
        rates = train.rates(self._rate)
        return OnlineSamples(rows_of(train.X), sides, rates, self._step_size(train))

    def _learn(self, train: Training, rng: np.random.Generator, monitor: FitMonitor) -> str:
        """Pass over the samples until a stopping rule holds; returns its name."""
        samples = self._samples_of(train)
        kept, held_out = np.flatnonzero(train.weights), np.empty(0, dtype=np.intp)
        if self.early_stopping:
            kept, held_out = _split_validation(kept, train.y, self.validation_fraction, rng)
        active = np.ones(1 if self._rule == "argmax" else len(self._state.b), dtype=np.bool_)
        best, stale = np.full(len(active), np.inf), np.zeros(len(active), dtype=np.intp)
        misclassified: list[int] = []
        for _ in range(self.max_iter):
            order = shuffled(kept, rng) if self.shuffle else kept
            seen = self._pass_over(samples, order, active, monitor)
            self._record(seen, train.X)
            misclassified.append(seen.misclassified)
            monitor.step()
            reason = reason_to_stop(
                self.mistakes_[-len(misclassified) :].tolist(),
                misclassified,
                len(order),
                whole=seen.met == len(order) and bool(active.all()),
                min_iter=self.min_iter,
                min_gain=self.min_gain,
                monitor=monitor,
            )
            if reason:
                return reason
            if self.tol is not None:
                now = self._losses(seen, train, held_out)
                stale = np.where(now > best - self.tol, stale + 1, 0)
                best = np.minimum(best, now)
                active &= stale < self.n_iter_no_change
                if not active.any() or seen.wrong == 0:
                    return "validation" if self.early_stopping else "tol"
        return "max_iter"

    def _pass_over(
        self, samples: OnlineSamples, order: Codes, active: Flags, monitor: FitMonitor | None
    ) -> Pass:
        return pass_over(
            self._state,
            samples.rows,
            samples.sides,
            order,
            rule=self._rule,
            rates=samples.rates,
            bias_step=self._constant**2,
            active=active,
            step=samples.step,
            met=self.t_ - max(1, self._average_from),
            average=self._average_from > 0,
            keep_mistakes=self._keeps_log,
            monitor=monitor,
        )

    def _record(self, seen: Pass, X: Any) -> None:
        """Add the results of one pass to the attributes."""
        if not (np.isfinite(self._state.W).all() and np.isfinite(seen.losses).all()):
            del self._state  # nothing to resume from
            raise DataError(
                "weights overflowed; scale the features, for example with StandardScaler"
            )
        self.n_iter_ += 1
        self.t_ += seen.met
        met = max(1, seen.met)
        self.mistakes_ = np.append(self.mistakes_, seen.wrong)
        self.learning_curve_ = np.append(self.learning_curve_, 1.0 - seen.misclassified / met)
        self.boundary_curve_ = np.append(self.boundary_curve_, 1.0 - seen.wrong / met)
        self.loss_curve_ = np.append(self.loss_curve_, seen.losses.sum() / met)
        if self._keeps_log:
            rows, positions = np.unique(seen.mistakes.rows, return_inverse=True)
            self._past = [*self._past, (X[rows], seen.mistakes._replace(rows=positions))]

    def _losses(self, seen: Pass, train: Training, held_out: Codes) -> Vector:
        """Mean loss or validation error of each boundary that stops by itself."""
        if not self.early_stopping:
            return (seen.losses[:1] if self._rule == "argmax" else seen.losses) / seen.met
        S = np.asarray(safe_sparse_dot(train.X[held_out], self._state.W.T)) + self._state.b
        if self._rule == "argmax":
            return np.array([np.mean(S.argmax(axis=1) != train.y[held_out])])
        sides = coding(len(self.classes_), "ovr")[train.y[held_out]]
        at_zero = self._class_at_zero if S.shape[1] == 1 else "first"
        return np.asarray(np.mean(above_boundary(S, at_zero) != (sides > 0), axis=0))

    def _learn_in_passes(self, n_blocks: int, one_pass: Callable[[Any, int], Any]) -> Self:
        """Learn by passes over blocks: `one_pass` gives a copy after one more `partial_fit` of each."""
        state, best, stale, passes = deepcopy(self), np.inf, 0, []
        for name in ("_state", "classes_"):
            state.__dict__.pop(name, None)
        for number in range(self.max_iter):
            state = one_pass(state, number)
            passes.append(int(state.mistakes_[-n_blocks:].sum()))
            loss = float(state.loss_curve_[-n_blocks:].mean())
            stale = stale + 1 if self.tol is None or loss > best - self.tol else 0
            best = min(best, loss)
            if not passes[-1] or (self.tol is not None and stale >= self.n_iter_no_change):
                state.stop_ = "tol" if passes[-1] else "clean pass"
                break
        self.__dict__ |= state.__dict__
        self.n_iter_, self.mistakes_ = len(passes), np.array(passes, dtype=np.intp)
        self._warn_if_unfinished()
        return self

    def _warn_if_unfinished(self) -> None:
        if self.stop_ == "stopped" or (self.stop_ == "max_iter" and self.tol is not None):
            limit = "time_limit" if self.stop_ == "stopped" else "max_iter"
            warn_user(
                f"{type(self).__name__} still made {self.mistakes_[-1]} mistakes in pass {self.n_iter_} "
                f"({limit} reached); the classes may not be separable: raise it, {self._advice}",
                ConvergenceWarning,
            )

    def _keep(self) -> Self:
        W, b = self._state.W, self._state.b
        if 0 < self._average_from < self.t_:
            W, b = self._state.average(self.t_ - self._average_from)
        self.coef_, self.intercept_ = W, b
        return self


def _split_validation(
    rows: Codes, y: Codes, fraction: float, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """Training and validation rows; stratified if each class has two."""
    stratify = np.bincount(y[rows]).min() > 1
    splitter = (StratifiedShuffleSplit if stratify else ShuffleSplit)(
        1, test_size=fraction, random_state=int(rng.integers(2**31))
    )
    train, validation = next(splitter.split(rows, y[rows]))
    return np.sort(rows[train]), rows[validation]
