"""The linear perceptron as an estimator; `solvers/perceptron/primal.py` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from separatrix.estimators.base.online import OnlineClassifier, OnlineSamples
from separatrix.estimators.base.prepare import Training
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.primal import Pass, pass_over
from separatrix.types import Codes, Flags, Matrix, Vector
from separatrix.validation import require_choice, require_real


class Perceptron(OnlineClassifier):
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
        Validation share of early_stopping. Between 0 and 1.
    n_iter_no_change
        Passes without gain before stopping. At least 1.
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
    time_limit
        Seconds after which to stop with the present weights.

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

    def _check_parameters(self) -> None:
        require_choice("Perceptron", "penalty", self.penalty, (None,))
        require_real("Perceptron", "eta0", self.eta0, above=0)
        super()._check_parameters()

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
