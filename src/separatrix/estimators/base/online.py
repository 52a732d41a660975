"""Online linear classifiers: passes over shuffled samples, averages and votes, streams, stopping rules.

A learner adds one rule: how a pass over the samples changes the weights (`_pass_over`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.linear_machine import LinearMachine
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.prepare import (
    Training,
    check_unchanged,
    classes_of_stream,
    generator,
    prepare,
    require_whole,
)
from separatrix.kernels.vector_kernels import inner_products, squared_norms
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import PREDICTORS, Mistakes, at_steps, votes
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.perceptron.primal import OnlineState, Pass
from separatrix.solvers.rows import CompiledRows, rows_of
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Flags, Matrix, Signs, Vector
from separatrix.validation import require_choice, require_flag, require_integer, require_real


class OnlineSamples(NamedTuple):
    """A training set as passes read it."""

    rows: CompiledRows
    sides: Signs  # shape: (n, p)
    rates: Matrix  # shape: (2, n); learning rate times weight, when added and when subtracted


class OnlineClassifier(CallbackSupportMixin, ClassifierMixin, LinearMachine):
    """Linear classifier that passes over the samples; a subclass adds `_pass_over` and its parameters."""

    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    eta0: float = 1.0
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    class_weight: Any
    warm_start: bool
    multi_class: str
    predictor: str
    bias: str
    min_gain: float | None
    min_iter: int
    time_limit: float | None

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
        for name, init, array in (
            ("coef_init", coef_init, self._state.W),
            ("intercept_init", intercept_init, self._state.b),
        ):
            if init is None:
                continue
            if self._keeps_log:
                must_be = f"'last' or 'average' with {name}"
                raise ParameterError(type(self).__name__, "predictor", must_be, self.predictor)
            values = np.asarray(init, dtype=np.float64)
            if values.shape != array.shape and (1, *values.shape) != array.shape:
                raise DataError(f"`{name}` must have shape {array.shape}; got {values.shape}")
            array[...] = values.reshape(array.shape)
        rng = generator(self)
        with monitored(self, train.X, train.y, steps=self.max_iter) as monitor:
            self.stop_ = self._learn(train, rng, monitor)
        from_zero = not resumed and coef_init is None and intercept_init is None
        self._summarize(train, from_zero=from_zero)
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
        self._record(self._pass_over(_samples_of(train, self.eta0), order, active, None), train.X)
        self.stop_ = "max_iter"
        self._summarize(None, from_zero=False)
        return self._keep()

    @available_if(lambda self: self.predictor in ("last", "average"))
    def signed_distance(self, X: Any) -> Matrix:
        """Distance to each boundary, positive on its own side: (<w, x> + b) / |w|."""
        return super().signed_distance(X)

    def _pass_over(
        self, samples: OnlineSamples, order: Codes, active: Flags, monitor: FitMonitor | None
    ) -> Pass:
        """Change `_state` by one pass over the samples in this order."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        name = type(self).__name__
        require_flag(name, "fit_intercept", self.fit_intercept)
        require_integer(name, "max_iter", self.max_iter, least=1)
        if self.tol is not None:
            require_real(name, "tol", self.tol, least=0)
        require_flag(name, "shuffle", self.shuffle)
        require_flag(name, "early_stopping", self.early_stopping)
        require_real(name, "validation_fraction", self.validation_fraction, above=0, below=1)
        require_integer(name, "n_iter_no_change", self.n_iter_no_change, least=1)
        require_flag(name, "warm_start", self.warm_start)
        require_choice(name, "multi_class", self.multi_class, ("argmax", "ovr"))
        require_choice(name, "predictor", self.predictor, PREDICTORS)
        require_choice(name, "bias", self.bias, ("constant", "radius"))
        if self.min_gain is not None:
            require_real(name, "min_gain", self.min_gain, least=0)
        require_integer(name, "min_iter", self.min_iter, least=1)
        if self.time_limit is not None:
            require_real(name, "time_limit", self.time_limit, above=0)

    def _summarize(self, train: Training | None, *, from_zero: bool) -> None:
        """Set further attributes after the last pass, from the training set of a `fit`."""

    @property
    def _rule(self) -> str:
        return "argmax" if self.multi_class == "argmax" and len(self.classes_) > 2 else "signs"

    @property
    def _keeps_log(self) -> bool:
        return self.predictor in ("vote", "random")

    @property
    def _constant(self) -> float:
        """The value of the constant feature whose weight is the bias."""
        if not self.fit_intercept:
            return 0.0
        return self._radius if self.bias == "radius" else 1.0

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, *, reset: bool
    ) -> Training:
        """The checked training set; with `reset`, everything learned before is dropped."""
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
            p = 1 if len(train.classes) == 2 else len(train.classes)
            self._state = OnlineState.zero(p, train.X.shape[1])
            self._begun = {
                name: getattr(self, name) for name in ("predictor", "multi_class", "bias")
            }
            if self.bias == "radius":
                self._radius = float(np.sqrt(squared_norms(train.X).max())) or 1.0
            self._past: list[tuple[Any, Mistakes]] = []  # samples and the corrections made on them
            self.n_iter_, self.t_ = 0, 1
            self.mistakes_, self.loss_curve_ = np.empty(0, dtype=np.intp), np.empty(0)
        return train

    def _learn(self, train: Training, rng: np.random.Generator, monitor: FitMonitor) -> str:
        """Pass over the samples until a stopping rule holds; returns its name."""
        samples = _samples_of(train, self.eta0)
        kept, held_out = np.flatnonzero(train.weights), np.empty(0, dtype=np.intp)
        if self.early_stopping:
            kept, held_out = _split_validation(kept, train.y, self.validation_fraction, rng)
        active = np.ones(1 if self._rule == "argmax" else len(self._state.b), dtype=np.bool_)
        best, stale = np.full(len(active), np.inf), np.zeros(len(active), dtype=np.intp)
        before = self.n_iter_
        for _ in range(self.max_iter):
            order = shuffled(kept, rng) if self.shuffle else kept
            seen = self._pass_over(samples, order, active, monitor)
            self._record(seen, train.X)
            monitor.step()
            reason = reason_to_stop(
                self.mistakes_[before:].tolist(),
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

    def _record(self, seen: Pass, X: Any) -> None:
        """Add the results of one pass to the attributes."""
        if not (np.isfinite(self._state.W).all() and np.isfinite(seen.losses).all()):
            del self._state  # nothing to resume from
            raise DataError(
                "weights overflowed; scale the features, for example with StandardScaler"
            )
        self.n_iter_ += 1
        self.t_ += seen.met
        self.mistakes_ = np.append(self.mistakes_, seen.wrong)
        self.loss_curve_ = np.append(self.loss_curve_, seen.losses.sum() / max(1, seen.met))
        if self._keeps_log:
            rows, positions = np.unique(seen.mistakes.rows, return_inverse=True)
            self._past.append((X[rows], seen.mistakes._replace(rows=positions)))

    def _losses(self, seen: Pass, train: Training, held_out: Codes) -> Vector:
        """Mean loss or validation error of each boundary that stops by itself."""
        if not self.early_stopping:
            return (seen.losses[:1] if self._rule == "argmax" else seen.losses) / seen.met
        S = np.asarray(safe_sparse_dot(train.X[held_out], self._state.W.T)) + self._state.b
        if self._rule == "argmax":
            return np.array([np.mean(S.argmax(axis=1) != train.y[held_out])])
        sides = coding(len(self.classes_), "ovr")[train.y[held_out]]
        return np.asarray(np.mean((S > 0) != (sides > 0), axis=0))

    def _scores(self, X: Any) -> Matrix:
        if self.predictor in ("last", "average"):
            return super()._scores(X)
        K = np.hstack([inner_products(X, Z) for Z, _ in self._past]) + self._constant**2
        offsets = np.cumsum([0] + [Z.shape[0] for Z, _ in self._past])
        parts = zip(self._past, offsets, strict=False)
        mistakes = Mistakes.concatenate(
            [part._replace(rows=part.rows + start) for (_, part), start in parts]
        )
        p, met = len(self._state.b), self.t_ - 1
        if self.predictor == "vote":
            return votes(K, mistakes, p, met, by_argmax=self._rule == "argmax")
        return at_steps(K, mistakes, p, generator(self).integers(met, size=len(K)))

    def _keep(self) -> Self:
        W, b = self._state.W, self._state.b
        if self.predictor == "average":
            W, b = self._state.average(self.t_ - 1)
        self.coef_, self.intercept_ = W.copy(), b.copy()
        return self


def _samples_of(train: Training, eta0: float) -> OnlineSamples:
    sides = coding(len(train.classes), "ovr")[train.y]
    return OnlineSamples(rows_of(train.X), sides, train.rates(eta0))


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
