"""Cost-sensitive decisions from probabilities: loss matrices, rejection and thresholds.

A loss matrix L has a row for each true class and a column for each decision, both in the order of
`classes_`. A threshold is the lowest probability of `classes_[1]` at which it is predicted.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.parameters import Estimator, real, with_parameters
from separatrix.estimators.base.prepare import check_weights
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.runtime.device import as_numpy
from separatrix.types import Codes, Flags, Matrix, Vector
from separatrix.validation import require_integer, require_real


@dataclass(frozen=True)
class CostCurve:
    """Mean cost of every distinct threshold, in ascending order.

    Between two adjacent thresholds the cost is that of the upper one. The last is infinite: the second
    class is never predicted.

    >>> p, second = np.array([0.1, 0.4, 0.8]), np.array([False, True, True])
    >>> curve = cost_curve(p, second, 1.0 - np.eye(2))
    >>> curve.thresholds.tolist(), curve.mean_cost.round(3).tolist()
    ([0.1, 0.4, 0.8, inf], [0.333, 0.0, 0.333, 0.667])
    >>> curve.best_threshold, curve.best_cost
    (0.25, 0.0)
    """

    thresholds: Vector  # shape: (t,); the distinct probabilities, then infinity
    mean_cost: Vector  # shape: (t,)
    best_threshold: float  # the midpoint of the two probabilities that it separates
    best_cost: float

    def rows(self) -> list[dict[str, float]]:
        """The curve as plain values, one dict for each threshold."""
        return [
            {"threshold": float(threshold), "mean_cost": float(cost)}
            for threshold, cost in zip(self.thresholds, self.mean_cost, strict=True)
        ]


def cost_curve(
    p: Vector,  # shape: (n,); probability of the second class
    second: Flags,  # shape: (n,); whether a row is of the second class
    L: Matrix,  # shape: (2, 2)
    weights: Vector | None = None,  # shape: (n,)
) -> CostCurve:
    """Mean cost of all thresholds, from one sort.

    The best of several with equal cost is the one nearest to `optimal_threshold(L)`.
    """
    weights = np.ones(len(p)) if weights is None else weights
    cuts, position = np.unique(p, return_inverse=True)
    of_first, of_second = (
        np.bincount(position, weights=weights * own, minlength=len(cuts))
        for own in (~second, second)
    )
    below_first, below_second = (
        np.concatenate([[0.0], np.cumsum(own)]) for own in (of_first, of_second)
    )
    above_first, above_second = (below[-1] - below for below in (below_first, below_second))
    total = (
        below_first * L[0, 0]
        + above_first * L[0, 1]
        + below_second * L[1, 0]
        + above_second * L[1, 1]
    )
    cost = total / weights.sum()
    middles = np.concatenate([[0.0], _midpoints(cuts[:-1], cuts[1:]), [np.inf]])
    distance = np.abs(np.minimum(middles, 1.0) - min(optimal_threshold(L), 1.0))
    best = int(np.lexsort((distance, cost))[0])
    return CostCurve(np.append(cuts, np.inf), cost, float(middles[best]), float(cost[best]))


def optimal_threshold(L: Matrix) -> float:
    """The probability of the second class above which predicting it has the lower expected loss.

    With the extra costs a = L[0, 1] - L[0, 0] of a false positive and b = L[1, 0] - L[1, 1] of a false
    negative it is a / (a + b); 0 if the second decision is always better, infinity if it never is.

    >>> optimal_threshold(np.array([[0.0, 1.0], [9.0, 0.0]]))
    0.1
    """
    L = L / 2.0 ** np.frexp(np.abs(L).max())[1]  # a + b must not overflow
    false_positive, false_negative = float(L[0, 1] - L[0, 0]), float(L[1, 0] - L[1, 1])
    if false_positive >= 0.0 >= false_negative:
        return math.inf
    return 0.0 if false_positive <= 0.0 else false_positive / (false_positive + false_negative)


@with_parameters
class BayesDecision(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """Predicts the class of lowest expected loss, or rejects the sample.

    Wraps any classifier with `predict_proba`: the expected loss of a decision is the average of its
    losses, weighted by the class probabilities, and the decision of lowest expected loss is taken, the
    first among equals. This is optimal for correct probabilities; otherwise calibrate them or use
    `threshold="tune"`. With 0-1 loss and no rejection it predicts what the classifier predicts.

    Parameters
    ----------
    estimator
        The classifier; it is cloned and fitted. None: `LogisticRegression()`. Wrap a fitted one in
        `sklearn.frozen.FrozenEstimator`.
    loss_matrix
        L[true, decision], (k, k), in the order of `classes_`. None: 0 if right and 1 if wrong.
    reject_cost
        Cost of a rejection. A sample whose best decision has a higher expected loss is rejected. At
        least 0; None: never reject. Not together with a threshold.
    reject_label
        Label of rejected samples in `predict`; not one of the classes. None: "reject" for string
        labels, -1 for numbers.
    threshold
        For two classes: the lowest probability of `classes_[1]` at which it is predicted, above 0 and
        below 1; or "tune": the one with the lowest mean cost on rows held out in `cv` folds, after
        which the estimator is fitted on all rows. The loss matrix is then used for costs only. None:
        minimise the expected loss.
    cv
        Number of stratified folds for "tune", or any other `cv` of scikit-learn. With a frozen
        estimator all rows are held out, provided it was not trained on them.

    Attributes
    ----------
    estimator_, classes_
        The fitted classifier, and its labels, (k,).
    actions_
        The possible values of `predict`: the classes, and the reject label if there is a reject cost.
    loss_matrix_
        Loss of each action, (k, actions).
    threshold_
        For two classes: the lowest probability of `classes_[1]` at which it is predicted. 0: always;
        infinity: never. At the threshold of a loss matrix both decisions cost the same, and the
        first is taken.
    held_out_curve_
        With "tune": the `CostCurve` from which the threshold was chosen.
    n_features_in_, feature_names_in_
        Those of the classifier, if it has them.

    Examples
    --------
    A missed tumour (0 predicted as 1) costs ten times a false alarm, and asking a person 0.3:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BayesDecision(GaussianNB(), [[0, 10], [1, 0]], reject_cost=0.3).fit(X, y)
    >>> round(model.threshold_, 3), model.actions_.tolist()
    (0.909, [0, 1, -1])
    >>> int((model.predict(X) == -1).sum()), round(model.mean_cost(X, y), 3)
    (14, 0.322)

    References
    ----------
    Chow, On Optimum Recognition Error and Reject Tradeoff, IEEE Transactions on Information Theory
    16 (1970). Elkan, The Foundations of Cost-Sensitive Learning, IJCAI 2001.
    """

    estimator: Any = None
    loss_matrix: Any = None
    _: KW_ONLY
    reject_cost: float | None = real(None, least=0)
    reject_label: Any = None
    threshold: float | str | None = None
    cv: Any = 5

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier on samples X, (n, d), and labels y, (n,), and tune the threshold."""
        self._check_parameters()
        model = _classifier(self.estimator)
        X, y, sample_weight = map(as_numpy, (X, y, sample_weight))  # any classifier accepts these
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if weights and not _takes_weights(model):
            must_be = "a classifier whose fit accepts sample_weight if weights are passed"
            raise ParameterError("BayesDecision", "estimator", must_be, model)
        fitted = clone(model).fit(X, y, **weights)
        classes = np.asarray(fitted.classes_)
        L = _check_loss_matrix(self.loss_matrix, len(classes))
        actions = classes if self.reject_cost is None else _actions(classes, self.reject_label)
        self._set_threshold(L, model, X, y, weights)
        if self.reject_cost is not None:
            L = np.column_stack([L, np.full(len(L), float(self.reject_cost))])
        self.loss_matrix_, self.actions_, self.classes_ = L, actions, classes
        self._by_threshold = self.threshold is not None
        self.estimator_ = fitted
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def predict(self, X: Any) -> Any:
        """The label of the cheapest action for each sample, (n,)."""
        actions = self._decide(self.predict_proba(X))
        return self.actions_[actions]

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, (n, k), from the classifier."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(as_numpy(X)))

    def expected_loss(self, X: Any) -> Matrix:
        """Expected loss of each action, (n, actions)."""
        return self._expected_loss(self.predict_proba(X))

    def mean_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean cost of the decisions on these samples, including rejections."""
        P, true, weights = self._with_labels(X, y, sample_weight)
        return float(np.average(self.loss_matrix_[true, self._decide(P)], weights=weights))

    def cost_curve(self, X: Any, y: Any, sample_weight: Any = None) -> CostCurve:
        """For two classes: mean cost of every threshold on these samples, without rejection."""
        P, true, weights = self._with_labels(X, y, sample_weight)
        if len(self.classes_) != 2:
            raise DataError(f"cost_curve supports 2 classes only; got {len(self.classes_)}")
        return cost_curve(P[:, 1], true == 1, self.loss_matrix_, weights)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; a rejected sample counts as wrong."""
        predicted, y = self.predict(X), column_or_1d(as_numpy(y))
        weights = as_numpy(sample_weight)
        check_consistent_length(predicted, y, weights)
        return float(np.average(predicted == y, weights=weights))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(_classifier(self.estimator)).input_tags
        tags.classifier_tags.multi_class = self.threshold is None
        return tags

    def _decide(self, P: Matrix) -> Codes:
        """The action for each row of probabilities, (n, k) -> (n,)."""
        if self._by_threshold:
            return (P[:, 1] >= self.threshold_).astype(np.intp)
        k = len(self.classes_)
        L = self.loss_matrix_[:, :k]
        # subtracting a row's maximum changes no decision, and with 0-1 loss it makes this the argmax
        # of P exactly, ties included
        best = (P @ (L - L.max(axis=1, keepdims=True))).argmin(axis=1)
        if len(self.actions_) == k:
            return np.asarray(best)
        E = self._expected_loss(P)
        return np.where(E[:, k] < E[np.arange(len(P)), best], k, best)

    def _expected_loss(self, P: Matrix) -> Matrix:
        E = P @ self.loss_matrix_
        if len(self.actions_) > len(self.classes_):
            E[:, -1] = self.loss_matrix_[0, -1]  # exactly, not through a sum
        return E

    def _with_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Matrix, Codes, Vector]:
        """Probabilities of samples, (n, k), codes of their labels, (n,), and weights, (n,)."""
        P, y = self.predict_proba(X), column_or_1d(as_numpy(y))
        check_consistent_length(P, y)
        codes = {label: code for code, label in enumerate(self.classes_.tolist())}
        unknown = sorted(set(y.tolist()) - set(codes), key=str)
        if unknown:
            raise DataError(f"y has labels {unknown} that are not in classes_ {list(codes)}")
        weights = check_weights(sample_weight, len(y))
        if not weights.any():
            raise DataError("`sample_weight` must have a weight above zero; all weights are zero")
        return P, np.array([codes[label] for label in y.tolist()], dtype=np.intp), weights

    def _check_parameters(self) -> None:
        """Checks that do not need the classes."""
        super()._check_parameters()
        name, model = "BayesDecision", _classifier(self.estimator)
        methods = hasattr(model, "fit") and hasattr(model, "predict_proba")
        if isinstance(model, type) or not methods:
            raise ParameterError(name, "estimator", "a classifier with predict_proba", model)
        if self.threshold is None:
            return
        if self.reject_cost is not None:
            must_be = "None with reject_cost, which is compared with expected losses"
            raise ParameterError(name, "threshold", must_be, self.threshold)
        if isinstance(self.threshold, str):
            if self.threshold != "tune":
                must_be = "a probability, 'tune' or None"
                raise ParameterError(name, "threshold", must_be, self.threshold)
            if not (self.cv is None or hasattr(self.cv, "split") or isinstance(self.cv, Iterable)):
                require_integer(name, "cv", self.cv, least=2)
        else:
            require_real(name, "threshold", self.threshold, above=0, below=1)

    def _set_threshold(
        self, L: Matrix, model: Any, X: Any, y: Any, weights: dict[str, Any]
    ) -> None:
        """For two classes, the threshold: given, tuned, or optimal for the losses."""
        for name in ("threshold_", "held_out_curve_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.threshold is not None and len(L) != 2:
            raise DataError(
                "Only binary classification is supported. With "
                f"threshold={self.threshold!r} there must be 2 classes; got {len(L)} class"
                + ("" if len(L) == 1 else "es")
            )
        if self.threshold == "tune":
            self.held_out_curve_ = self._held_out(L, model, X, column_or_1d(y), weights)
            self.threshold_ = self.held_out_curve_.best_threshold
        elif self.threshold is not None:
            self.threshold_ = float(self.threshold)
        elif len(L) == 2:
            self.threshold_ = optimal_threshold(L)

    def _held_out(
        self, L: Matrix, model: Any, X: Any, y: Any, weights: dict[str, Any]
    ) -> CostCurve:
        """Mean cost of every threshold on held-out rows."""
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if isinstance(self.cv, Integral) and counts.min() < self.cv:
            raise DataError(
                f"tuning a threshold in {self.cv} folds needs {self.cv} samples of each class; "
                f"got {counts.min()}"
            )
        folds = check_cv(self.cv, y, classifier=True)
        P = cross_val_predict(model, X, y, cv=folds, method="predict_proba", params=weights)
        each = check_weights(weights.get("sample_weight"), len(y))
        return cost_curve(P[:, 1], codes == 1, L, each)


def _classifier(estimator: Any) -> Any:
    return LogisticRegression() if estimator is None else estimator


def _check_loss_matrix(loss_matrix: Any, k: int) -> Matrix:
    """The loss matrix for k classes, (k, k)."""
    if loss_matrix is None:
        return 1.0 - np.eye(k)
    name = "BayesDecision"
    try:
        L = np.array(loss_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, "loss_matrix", "numbers", loss_matrix) from None
    if L.shape != (k, k):
        must_be = f"of shape {(k, k)}, a row and a column for each class"
        raise ParameterError(name, "loss_matrix", must_be, L.shape)
    if not np.isfinite(L).all():
        raise ParameterError(name, "loss_matrix", "finite", L.tolist())
    errors = L[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    if k > 1 and (np.diag(L)[:, None] > errors).all():
        must_be = "of losses, not of gains: every correct decision costs more than any wrong one"
        raise ParameterError(name, "loss_matrix", must_be, L.tolist())
    return L


def _actions(classes: Any, reject_label: Any) -> Any:
    """The classes and the reject label, (k + 1,)."""
    strings = all(isinstance(label, str) for label in classes.tolist())
    if reject_label is None:
        reject_label = "reject" if strings else -1
    if reject_label in classes.tolist():
        must_be = f"none of the classes {classes.tolist()}"
        raise ParameterError("BayesDecision", "reject_label", must_be, reject_label)
    if isinstance(reject_label, str) != strings:  # keep numbers from becoming strings
        classes = classes.astype(object)
    last = np.empty(1, dtype=object) if classes.dtype == object else np.asarray([reject_label])
    last[0] = reject_label
    return np.concatenate([classes, last])


def _takes_weights(model: Any) -> bool:
    """Whether fit accepts sample weights, by name or as any keyword."""
    parameters = inspect.signature(model.fit).parameters
    return "sample_weight" in parameters or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def _midpoints(lower: Vector, upper: Vector) -> Vector:
    """The midpoint of each pair, above the lower value even for adjacent floating-point numbers."""
    middle = lower + (upper - lower) / 2
    return np.where(middle > lower, middle, upper)
