"""The linear perceptron as an estimator. The arithmetic is in `solvers/perceptron/primal.py`."""

from __future__ import annotations

import warnings
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
from separatrix.estimators.base.prepare import (
    Training,
    check_unchanged,
    classes_of_stream,
    generator,
    prepare,
    require_whole,
)
from separatrix.kernels.vector_kernels import inner_products, squared_norms
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import PREDICTORS, Mistakes, at_steps, votes
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.perceptron.primal import Pass, State, pass_over, rows_of
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Matrix, Signs, Vector
from separatrix.validation import require_choice, require_flag, require_integer, require_real


class Examples(NamedTuple):
    """A training set as passes read it."""

    rows: tuple[Any, ...]
    sides: Signs  # shape: (n, p)
    rates: Matrix  # shape: (2, n)


class Perceptron(CallbackSupportMixin, ClassifierMixin, LinearMachine):
    """Linear classifier that learns from its mistakes.

    Adds a mistaken sample to the weights of its own class and takes it from those of the class that
    was guessed; with two classes there is one weight vector and its sign decides. On separable data
    it stops after finitely many mistakes. Where classes overlap, use `predictor="average"`, or
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
        Draw a new order for every pass; otherwise rows are met as given.
    verbose
        Above 0, a progress bar on stderr.
    eta0
        Learning rate. Above 0. From zero weights it only scales them.
    n_jobs
        No effect: all boundaries are learned in one pass.
    random_state
        Seed for the order, for the validation part and for predictor="random".
    early_stopping
        Set validation_fraction of the samples aside, and stop when the accuracy on them has not
        risen by tol for n_iter_no_change passes.
    validation_fraction
        Share that early_stopping sets aside. Between 0 and 1.
    n_iter_no_change
        Passes without gain before stopping. At least 1.
    class_weight
        Dict from label to weight, or "balanced": multiplies what samples of a class add to its own
        weights (with two classes, also what they take off).
    warm_start
        Go on from the present weights when fit again.
    multi_class
        "argmax": one rule for all classes, the highest score wins and only mistakes of that guess
        are corrected. "ovr": one boundary for each class, each corrected on its own mistakes, as in
        scikit-learn.
    predictor
        "last" weights, their "average" over all samples met, the "vote" of all, or a "random" one.
    bias
        "constant": a constant feature of 1. "radius": of max |x|, so the bias moves by its square.
    min_gain, min_iter
        From pass min_iter on, stop when the share of samples classified right as they are met rises
        by less than min_gain.
    time_limit
        Seconds after which to stop with what was learned so far.

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
        After a clean pass from zero weights: no order of these samples leads to more mistakes than
        this (Novikoff, with the margin of the weights found). Otherwise infinite.
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

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        multi_class: str = "argmax",
        predictor: str = "last",
        bias: str = "constant",
        min_gain: float | None = None,
        min_iter: int = 1,
        time_limit: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.multi_class = multi_class
        self.predictor = predictor
        self.bias = bias
        self.min_gain = min_gain
        self.min_iter = min_iter
        self.time_limit = time_limit

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
        going_on = self.warm_start and hasattr(self, "_state")
        if going_on:
            check_unchanged(self, self._begun)
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            dtype=[np.float64, np.float32],
            classes=self.classes_ if going_on else None,
            reset=not going_on,
        )
        if not going_on:
            self._begin(train)
        self._start_from(coef_init, intercept_init)
        rng = generator(self)
        with monitored(self, train.X, train.y, steps=self.max_iter) as monitor:
            stop = self._passes(train, rng, monitor)

        if stop == "stopped" or (stop == "max_iter" and self.tol is not None):
            warnings.warn(
                f"Perceptron still made {self.mistakes_[-1]} mistakes in pass {self.n_iter_} "
                f"({'time_limit' if stop == 'stopped' else 'max_iter'} reached); the classes may not "
                "be separable: raise it, use predictor='average', or use SVC",
                ConvergenceWarning,
                stacklevel=3,  # past the wrapper that ends callbacks
            )
        cold = not going_on and coef_init is None and intercept_init is None
        self.mistake_bound_ = self._bound(train) if cold and stop == "clean pass" else float("inf")
        self.stop_ = stop
        return self._keep()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more pass over X, (n, d); the first call must name all classes."""
        require_whole(self, "partial_fit")
        first = not hasattr(self, "_state")
        self._check_parameters()
        if not first:
            check_unchanged(self, self._begun)
        if self.class_weight == "balanced":
            raise ParameterError(
                "Perceptron", "class_weight", "a dict or None for partial_fit", self.class_weight
            )
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            dtype=[np.float64, np.float32],
            classes=classes_of_stream(self, classes),
            reset=first,
        )
        if first:
            self._begin(train)
        kept = np.flatnonzero(train.weights)
        order = shuffled(kept, generator(self)) if self.shuffle else kept
        seen = self._one_pass(self._examples(train), order, self._all_active(), None)
        self._record(seen, train.X)
        self.mistake_bound_, self.stop_ = float("inf"), "max_iter"
        return self._keep()

    def _scores(self, X: Any) -> Matrix:
        if self.predictor in ("last", "average"):
            return super()._scores(X)
        return self._scores_of_the_past(X)

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

    def _begin(self, train: Training) -> None:
        self.classes_ = train.classes
        p = 1 if len(train.classes) == 2 else len(train.classes)
        self._state = State.zero(p, train.X.shape[1])
        self._begun = {name: getattr(self, name) for name in ("predictor", "multi_class", "bias")}
        if self.bias == "radius":
            self._radius = float(np.sqrt(squared_norms(train.X).max())) or 1.0
        self._past: list[tuple[Any, Mistakes]] = []  # samples and the corrections made on them
        self.n_iter_, self.t_ = 0, 1
        self.mistakes_, self.loss_curve_ = np.empty(0, dtype=np.intp), np.empty(0)

    def _start_from(self, coef_init: Any, intercept_init: Any) -> None:
        for name, init, room in (
            ("coef_init", coef_init, self._state.W),
            ("intercept_init", intercept_init, self._state.b),
        ):
            if init is None:
                continue
            if self._keeps_log:
                raise ParameterError(
                    "Perceptron", "predictor", f"'last' or 'average' with {name}", self.predictor
                )
            values = np.asarray(init, dtype=np.float64)
            if values.shape not in (room.shape, room.shape[1:] if len(room) == 1 else room.shape):
                raise DataError(f"`{name}` must have shape {room.shape}; got {values.shape}")
            room[...] = values.reshape(room.shape)

    def _passes(self, train: Training, rng: np.random.Generator, monitor: Any) -> str:
        """Pass over the samples until a stopping rule holds; returns its name."""
        examples = self._examples(train)
        kept, held_out = self._set_aside(train, rng)
        order, active = kept, self._all_active()
        best = np.full(len(active), np.inf)
        stale = np.zeros(len(active), dtype=np.intp)
        before = self.n_iter_
        for _ in range(self.max_iter):
            order = shuffled(kept, rng) if self.shuffle else kept
            seen = self._one_pass(examples, order, active, monitor)
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
                now = self._progress_measure(seen, train, held_out)
                stale = np.where(now > best - self.tol, stale + 1, 0)
                best = np.minimum(best, now)
                active &= stale < self.n_iter_no_change
                if not active.any() or seen.wrong == 0:
                    return "validation" if self.early_stopping else "tol"
        return "max_iter"

    def _one_pass(self, examples: Examples, order: Codes, active: Any, monitor: Any) -> Pass:
        return pass_over(
            self._state,
            *examples[:2],
            order,
            rule=self._rule,
            rates=examples.rates,
            bias_step=self._constant**2,
            active=active,
            met=self.t_ - 1,
            average=self.predictor == "average",
            keep_mistakes=self._keeps_log,
            monitor=monitor,
        )

    def _examples(self, train: Training) -> Examples:
        sides = coding(len(self.classes_), "ovr")[train.y]
        return Examples(rows_of(train.X), sides, train.rates(self.eta0))

    def _record(self, seen: Pass, X: Any) -> None:
        if not (np.isfinite(self._state.W).all() and np.isfinite(seen.losses).all()):
            del self._state  # nothing to go on from
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

    def _progress_measure(self, seen: Pass, train: Training, held_out: Codes) -> Vector:
        """What must fall, for each boundary that stops by itself: mean loss, or validation error."""
        if not self.early_stopping:
            losses = seen.losses[:1] if self._rule == "argmax" else seen.losses
            return losses / seen.met
        W, b = self._state.W, self._state.b
        S = np.asarray(safe_sparse_dot(train.X[held_out], W.T)) + b
        if self._rule == "argmax":
            return np.array([np.mean(S.argmax(axis=1) != train.y[held_out])])
        sides = coding(len(self.classes_), "ovr")[train.y[held_out]]
        return np.asarray(np.mean((S > 0) != (sides > 0), axis=0))

    def _set_aside(self, train: Training, rng: np.random.Generator) -> tuple[Codes, Codes]:
        rows = np.flatnonzero(train.weights)
        if not self.early_stopping:
            return rows, rows[:0]
        stratify = np.bincount(train.y[rows]).min() > 1
        splitter = (StratifiedShuffleSplit if stratify else ShuffleSplit)(
            1, test_size=self.validation_fraction, random_state=int(rng.integers(2**31))
        )
        learn, check = next(splitter.split(rows, train.y[rows]))
        return np.sort(rows[learn]), rows[check]

    def _all_active(self) -> Any:
        return np.ones(1 if self._rule == "argmax" else len(self._state.b), dtype=np.bool_)

    @property
    def _constant(self) -> float:
        """The value of the constant feature that carries the bias."""
        if not self.fit_intercept:
            return 0.0
        return self._radius if self.bias == "radius" else 1.0

    def _scores_of_the_past(self, X: Any) -> Matrix:
        """Scores from the list of mistakes: of all hypotheses by vote, or of one drawn for each row."""
        K = np.hstack([inner_products(X, Z) for Z, _ in self._past]) + self._constant**2
        offsets = np.cumsum([0] + [Z.shape[0] for Z, _ in self._past])
        mistakes = Mistakes.joined(
            [
                part._replace(rows=part.rows + start)
                for (_, part), start in zip(self._past, offsets, strict=False)
            ]
        )
        p, met = len(self._state.b), self.t_ - 1
        if self.predictor == "vote":
            return votes(K, mistakes, p, met, by_argmax=self._rule == "argmax")
        return at_steps(K, mistakes, p, generator(self).integers(met, size=len(K)))

    def _bound(self, train: Training) -> Any:
        """Novikoff: (R / margin)^2 over samples with their constant feature, by boundary."""
        rows = np.flatnonzero(train.weights)
        W, b = self._state.W, self._state.b
        S = np.asarray(safe_sparse_dot(train.X[rows], W.T)) + b
        constant = self._constant
        square = np.sum(W**2, axis=1) + (b / constant) ** 2 if constant else np.sum(W**2, axis=1)
        radius = float(squared_norms(train.X[rows]).max()) + constant**2
        rates = train.rates(self.eta0)[:, rows]
        if not np.array_equal(rates[0], rates[1]):
            return float("inf")  # the bound is for corrections that add and take off alike
        spread = (rates.max() / rates.min()) ** 2
        if self._rule == "argmax":
            own = S[np.arange(len(rows)), train.y[rows]]
            S[np.arange(len(rows)), train.y[rows]] = -np.inf
            margin = float((own - S.max(axis=1)).min())  # 0 where a tie was won by the lower class
            return (
                spread * 2.0 * radius * float(square.sum()) / margin**2 if margin else float("inf")
            )
        margins = (coding(len(self.classes_), "ovr")[train.y[rows]] * S).min(axis=0)
        with np.errstate(divide="ignore"):  # a margin that rounds to 0 bounds nothing
            return spread * radius * square / margins**2

    def _keep(self) -> Self:
        W, b = self._state.W, self._state.b
        if self.predictor == "average":
            W, b = self._state.average(self.t_ - 1)
        self.coef_, self.intercept_ = W.copy(), b.copy()
        return self

    def _check_parameters(self) -> None:
        require_choice("Perceptron", "penalty", self.penalty, (None,))
        require_flag("Perceptron", "fit_intercept", self.fit_intercept)
        require_integer("Perceptron", "max_iter", self.max_iter, least=1)
        if self.tol is not None:
            require_real("Perceptron", "tol", self.tol, least=0)
        require_flag("Perceptron", "shuffle", self.shuffle)
        require_real("Perceptron", "eta0", self.eta0, above=0)
        require_flag("Perceptron", "early_stopping", self.early_stopping)
        require_real(
            "Perceptron", "validation_fraction", self.validation_fraction, above=0, below=1
        )
        require_integer("Perceptron", "n_iter_no_change", self.n_iter_no_change, least=1)
        require_flag("Perceptron", "warm_start", self.warm_start)
        require_choice("Perceptron", "multi_class", self.multi_class, ("argmax", "ovr"))
        require_choice("Perceptron", "predictor", self.predictor, PREDICTORS)
        require_choice("Perceptron", "bias", self.bias, ("constant", "radius"))
        if self.min_gain is not None:
            require_real("Perceptron", "min_gain", self.min_gain, least=0)
        require_integer("Perceptron", "min_iter", self.min_iter, least=1)
        if self.time_limit is not None:
            require_real("Perceptron", "time_limit", self.time_limit, above=0)
