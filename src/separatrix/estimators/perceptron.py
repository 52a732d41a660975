"""The linear perceptron as an estimator; `solvers/perceptron/primal.py` computes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if

from separatrix.estimators.base.online_machine import OnlineMachine
from separatrix.estimators.base.parameters import choice, flag, integer, real, with_parameters
from separatrix.estimators.base.prepare import Training, generator
from separatrix.kernels.vector_kernels import inner_products, squared_norms
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import PREDICTORS, Mistakes, at_steps, votes
from separatrix.solvers.perceptron.primal import StepSize
from separatrix.types import Matrix, Vector


@with_parameters
class Perceptron(OnlineMachine):
    """Linear classifier that learns from its mistakes.

    Adds a misclassified sample to the weights of its class and subtracts it from those of the predicted
    class; two classes have one weight vector, and the sign of its score decides. On separable data
    it stops after finitely many mistakes. For classes that overlap use `predictor="average"`, or
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
        "ovr": one boundary for each class, each corrected on its own mistakes, as in scikit-learn; one in
        all for two classes. "argmax": one weight vector for each class; the highest score wins and only
        mistakes of that prediction are corrected. "auto": "ovr" for two classes, else "argmax".
    predictor
        "last" weights, their "average" over all samples met, the "vote" of all, or a "random" one.
    bias
        "constant": a constant feature of 1. "radius": of max |x|, so the bias moves by its square, and with
        two classes a score of 0 is predicted as the second: Rosenblatt's sgn(0) = +1.
    zero
        What a score of exactly 0 is while learning. "mistake": a mistake whatever the class, as in
        Rosenblatt's rule and in scikit-learn. "negative": the boundary predicts its negative side, the
        first of two classes, and is corrected only if that is wrong. It changes nothing where the highest
        score decides.
    min_gain, min_iter
        From pass min_iter on, stop when the share of samples classified right as they are met rises
        by less than min_gain.
    time_limit, n_jobs, verbose
        Seconds after which to stop with the present weights; no effect: all boundaries are learned in
        one pass; above 0, a progress bar on stderr.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d); biases, (p,); one row for two classes unless multi_class="argmax",
        else k.
    n_iter_, t_
        Passes made, and 1 + samples met.
    mistakes_
        Samples corrected in each pass, (n_iter_,): those that at least one boundary got wrong.
    learning_curve_, boundary_curve_
        Share of the samples of each pass that were predicted right when they were met, and share of those
        that every boundary got right, (n_iter_,).
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
    >>> Perceptron(predictor="average", multi_class="argmax").fit(X, y).score(X, y) > 0.95
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
    multi_class: str = choice("ovr", "auto", "argmax")
    predictor: str = choice(*PREDICTORS)
    bias: str = choice("constant", "radius")
    zero: str = choice("mistake", "negative")
    min_gain: float | None = real(None, least=0)
    min_iter: int = integer(1, least=1)
    time_limit: float | None = real(None, above=0)

    _resumed_with: ClassVar[tuple[str, ...]] = ("predictor", "multi_class", "bias")
    _advice: ClassVar[str] = "use predictor='average', or use SVC"

    @available_if(lambda self: self.predictor in ("last", "average"))
    def signed_distance(self, X: Any) -> Matrix:
        """Distance to each boundary, positive on its own side: (<w, x> + b) / |w|."""
        if len(self.classes_) == len(self.coef_) == 2:  # where both classes score the same
            norm = float(np.linalg.norm(self.coef_[1] - self.coef_[0]))
            return self.decision_function(X) / (norm or 1.0)
        return super().signed_distance(X)

    @property
    def _rule(self) -> str:
        return "argmax" if self.multi_class != "ovr" and len(self._state.b) > 1 else "signs"

    @property
    def _class_at_zero(self) -> str:
        rosenblatt = self.bias == "radius" and self.zero == "mistake"
        return "second" if rosenblatt and self.multi_class != "argmax" else "first"

    @property
    def _rate(self) -> float:
        return self.eta0

    @property
    def _average_from(self) -> int:
        return int(self.predictor == "average")

    @property
    def _keeps_log(self) -> bool:
        return self.predictor in ("vote", "random")

    @property
    def _constant(self) -> float:
        """The value of the constant feature whose weight is the bias."""
        if not self.fit_intercept:
            return 0.0
        return self._radius if self.bias == "radius" else 1.0

    def _step_size(self, train: Training) -> StepSize:
        side = 1 if self._class_at_zero == "second" else -1
        return StepSize(negative_at_zero=self.zero == "negative", predicts_at_zero=side)

    def _n_weights(self, n_classes: int) -> int:
        return n_classes if self.multi_class == "argmax" else super()._n_weights(n_classes)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, *, reset: bool
    ) -> Training:
        train = super()._prepare(X, y, sample_weight, classes, reset=reset)
        if reset and self.bias == "radius":
            self._radius = float(np.sqrt(squared_norms(train.X).max())) or 1.0
        return train

    def _summarize(self, from_zero: Training | None) -> None:
        """Bound the number of mistakes after a clean pass from zero weights."""
        self.mistake_bound_: Any = float("inf")
        if from_zero is not None and self.stop_ == "clean pass":
            terms = self._constant, from_zero.rates(self.eta0)
            self.mistake_bound_ = novikoff_bound(
                from_zero, *self._state[:2], *terms, by_argmax=self._rule == "argmax"
            )

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
            by_argmax = self._rule == "argmax"
            return votes(K, mistakes, p, met, by_argmax=by_argmax, at_zero=self._class_at_zero)
        return at_steps(K, mistakes, p, generator(self).integers(met, size=len(K)))


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
