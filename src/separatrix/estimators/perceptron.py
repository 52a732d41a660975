"""The linear perceptron as an estimator; `solvers/perceptron/primal.py` computes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.linear_machine import LinearMachine
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.parameters import choice, flag, integer, real, with_parameters
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
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import PREDICTORS, Mistakes, at_steps, votes
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.perceptron.primal import OnlineState, Pass, pass_over
from separatrix.solvers.rows import CompiledRows, rows_of
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Flags, Matrix, Signs, Vector


class OnlineSamples(NamedTuple):
    """A training set as passes read it."""

    rows: CompiledRows
    sides: Signs  # shape: (n, p)
    rates: Matrix  # shape: (2, n); learning rate times weight, when added and when subtracted


@with_parameters
class Perceptron(CallbackSupportMixin, ClassifierMixin, LinearMachine):
    """Linear classifier that learns from its mistakes.

    Adds a misclassified sample to the weights of its class and subtracts it from those of the predicted
    class; with two classes there is one weight vector, and the sign of its score decides. On separable
    data it stops after finitely many mistakes. For classes that overlap use `predictor="average"`, or
    another method: the last weights depend on the last rows met.

    Parameters
    ----------
    penalty, alpha, l1_ratio
        Only penalty=None: the perceptron has no objective to add a penalty to. For regularised
        linear models use `LinearSVC` or `LogisticRegression`. The other two have no effect.
    fit_intercept
        Whether each boundary has a bias.
    max_iter
        Passes over the samples, at most. At least 1.
    tol
        Stop when the mean loss of a pass has not fallen by tol below the best for n_iter_no_change
        passes. None: only a clean pass, `min_gain` or max_iter stops.
    shuffle
        Draw a new order for every pass; False: rows are met in the order of X.
    eta0
        Learning rate. Above 0. From zero weights it only scales them.
    random_state
        Seed for the order, for the validation part and for predictor="random".
    early_stopping, validation_fraction, n_iter_no_change
        Set this share of the samples aside, above 0 and below 1, and stop when the accuracy on them
        has not risen by tol for that many passes, at least 1.
    class_weight
        Dict from label to weight, or "balanced": multiplies what samples of a class add to its own
        weights (with two classes, also what they subtract).
    warm_start
        Resume from the present weights when fit again.
    multi_class
        "argmax": one rule for all classes, the highest score wins and only mistakes of that prediction
        are corrected. "ovr": one boundary for each class, each corrected on its own mistakes, as in
        scikit-learn.
    predictor
        "last" weights, their "average" over all samples met, the "vote" of all, or a "random" one.
    bias
        "constant": a constant feature of 1. "radius": of max |x|, so the bias moves by its square.
    min_gain, min_iter
        From pass min_iter on, stop when the share of samples classified right as they are met rises
        by less than min_gain.
    time_limit, n_jobs, verbose
        Seconds after which to stop with the present weights; no effect: all boundaries are learned in
        one pass; above 0, a progress bar on stderr.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d); biases, (p,); one row for two classes, else k.
    n_iter_, t_
        Passes made, and 1 + samples met.
    mistakes_
        Samples mistaken in each pass, (n_iter_,).
    loss_curve_
        Mean loss of each pass: how far scores were on the wrong side, (n_iter_,).
    mistake_bound_
        After a clean pass from zero weights: upper bound of the mistakes in any order of these samples
        (Novikoff, with the margin of the weights found). Otherwise infinite.
    stop_
        Why it stopped: "clean pass", "tol", "validation", "min_gain", "max_iter" or "stopped".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> Perceptron(predictor="average").fit(X, y).score(X, y) > 0.95
    True

    References
    ----------
    Rosenblatt, The Perceptron, Psychological Review 65 (1958). Crammer and Singer, Ultraconservative
    Online Algorithms for Multiclass Problems, JMLR 3 (2003).
    """

    _: KW_ONLY
    penalty: str | None = choice(None)
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = flag(True)
    max_iter: int = integer(1000, least=1)
    tol: float | None = real(1e-3, least=0, also=(None,))
    shuffle: bool = flag(True)
    verbose: int = 0
    eta0: float = real(1.0, above=0)
    n_jobs: int | None = None
    random_state: Any = 0
    early_stopping: bool = flag(False)
    validation_fraction: float = real(0.1, above=0, below=1)
    n_iter_no_change: int = integer(5, least=1)
    class_weight: Any = None
    warm_start: bool = flag(False)
    multi_class: str = choice("argmax", "ovr")
    predictor: str = choice(*PREDICTORS)
    bias: str = choice("constant", "radius")
    min_gain: float | None = real(None, least=0)
    min_iter: int = integer(1, least=1)
    time_limit: float | None = real(None, above=0)

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
            met=self.t_ - 1,
            average=self.predictor == "average",
            keep_mistakes=self._keeps_log,
            monitor=monitor,
        )

    def _summarize(self, train: Training | None, *, from_zero: bool) -> None:
        """Warn if the last pass made mistakes; bound the number of mistakes after a clean pass."""
        self.mistake_bound_: Any = float("inf")
        if train is None:
            return
        if self.stop_ == "stopped" or (self.stop_ == "max_iter" and self.tol is not None):
            limit = "time_limit" if self.stop_ == "stopped" else "max_iter"
            warn_user(
                f"Perceptron still made {self.mistakes_[-1]} mistakes in pass {self.n_iter_} "
                f"({limit} reached); the classes may not be separable: raise it, use "
                "predictor='average', or use SVC",
                ConvergenceWarning,
            )
        if from_zero and self.stop_ == "clean pass":
            rates = train.rates(self.eta0)
            self.mistake_bound_ = novikoff_bound(
                train, *self._state[:2], self._constant, rates, by_argmax=self._rule == "argmax"
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


def novikoff_bound(
    train: Training, W: Matrix, b: Vector, constant: float, rates: Matrix, *, by_argmax: bool
) -> Any:
    """(R / margin)^2 over samples with their constant feature; by signs one for each boundary, (p,)."""
    rows = np.flatnonzero(train.weights)
    X, y, rates = train.X[rows], train.y[rows], rates[:, rows]
    if not np.array_equal(rates[0], rates[1]):
        return float("inf")  # the bound is for corrections that add and subtract alike
    S = np.asarray(safe_sparse_dot(X, W.T)) + b
    square = np.sum(W**2, axis=1) + (b / constant) ** 2 if constant else np.sum(W**2, axis=1)
    radius = float(squared_norms(X).max()) + constant**2
    spread = (rates.max() / rates.min()) ** 2
    if by_argmax:
        everyone = np.arange(len(rows))
        own = S[everyone, y]
        S[everyone, y] = -np.inf
        margin = float((own - S.max(axis=1)).min())  # 0 if the lower class won a tie
        bound = spread * 2.0 * radius * float(square.sum())
        return bound / margin**2 if margin else float("inf")
    margins = (coding(len(train.classes), "ovr")[y] * S).min(axis=0)
    with np.errstate(divide="ignore"):  # a margin that rounds to 0 bounds nothing
        return spread * radius * square / margins**2
