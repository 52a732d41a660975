"""Calibrated probabilities for any classifier, learned from scores of held-out rows."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.parameters import Estimator, choice, with_parameters
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.runtime.device import as_numpy
from separatrix.types import Flags, Matrix, Vector

MAX_STEPS = 100  # of Newton's method, which needs about ten
FLAT = 1e-10  # largest gradient, per row, at the solution


class ScoreCurve(NamedTuple):
    """Probability of a class as a function of its score, linear between points or a sigmoid."""

    x: Vector  # shape: (t,); rising scores; empty for a sigmoid
    y: Vector  # shape: (t,)
    slope: float
    offset: float

    def probabilities(self, scores: Vector) -> Vector:
        """Probability at each score, (n,)."""
        if len(self.x):
            return np.asarray(np.interp(scores, self.x, self.y))
        return np.asarray(expit(self.slope * scores + self.offset))


def fit_isotonic(scores: Vector, positive: Flags) -> ScoreCurve:
    """The non-decreasing function of least squared error; equal scores are one point.

    Reference: Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates, KDD 2002.
    """
    x, position, counts = np.unique(scores, return_inverse=True, return_counts=True)
    share = np.bincount(position, weights=positive) / counts
    y = np.asarray(isotonic_regression(share, weights=counts).x)
    # of equal values the first and the last say it all
    ends = np.r_[True, (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:]), True][: len(y)]
    return ScoreCurve(x[ends], y[ends], 0.0, 0.0)


def fit_sigmoid(scores: Vector, positive: Flags) -> ScoreCurve:
    """Platt's sigmoid 1 / (1 + exp(-(a f + b))) with his smoothed targets, by Newton's method.

    Reference: Lin, Lin and Weng, A Note on Platt's Probabilistic Outputs for Support Vector Machines,
    Machine Learning 68 (2007).
    """
    plus = float(positive.sum())
    minus = len(positive) - plus
    targets = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    scale = float(np.abs(scores).max()) or 1.0
    F = np.column_stack([scores / scale, np.ones(len(scores))])

    def loss(w: Vector) -> float:
        z = F @ w
        return float(-(targets * log_expit(z) + (1.0 - targets) * log_expit(-z)).sum())

    w = np.array([0.0, np.log((plus + 1.0) / (minus + 1.0))])
    now = loss(w)
    for _ in range(MAX_STEPS):
        p = expit(F @ w)
        gradient = F.T @ (p - targets)
        if np.abs(gradient).max() <= FLAT * len(scores):
            break
        H = (F * (p * (1.0 - p))[:, None]).T @ F + 1e-12 * np.eye(2)
        step, size = np.linalg.solve(H, gradient), 1.0
        while loss(w - size * step) > now - 1e-4 * size * float(gradient @ step) and size > 1e-10:
            size /= 2.0
        w = w - size * step
        now = loss(w)
    return ScoreCurve(np.empty(0), np.empty(0), float(w[0] / scale), float(w[1]))


FITS = {"sigmoid": fit_sigmoid, "isotonic": fit_isotonic}


@with_parameters
class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """Any classifier, with probabilities that are learned from its scores of held-out rows.

    Equal to scikit-learn's `CalibratedClassifierCV(ensemble=False)`: folds give a score of every row by a
    model that has not seen it, each class gets a curve from its score to its probability, and the
    classifier is fitted to all rows. Not for few rows: "isotonic" overfits below some thousand, and
    "sigmoid" assumes a sigmoid.

    Parameters
    ----------
    estimator
        The classifier; it is cloned and fitted. None: `LinearSVC()`.
    method
        "sigmoid": Platt's; "isotonic": any non-decreasing function.
    cv
        Number of stratified folds, or any other `cv` of scikit-learn.

    Attributes
    ----------
    estimator_, classes_
        The fitted classifier, and its labels, (k,).
    curves_
        The `ScoreCurve` of the second of two classes, or of each class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> CalibratedClassifier(Perceptron(), method="isotonic").fit(X, y).predict_proba(X[:1]).shape
    (1, 3)
    """

    estimator: Any = None
    _: KW_ONLY
    method: str = choice("sigmoid", "isotonic")
    cv: Any = 5

    def fit(self, X: Any, y: Any) -> Self:
        """Score all rows out of fold, fit a curve to each class, and the classifier to all rows."""
        self._check_parameters()
        model = self._model()
        X, y = as_numpy(X), as_numpy(y)
        response = _response(model)
        folds = check_cv(self.cv, y, classifier=True)
        scores = cross_val_predict(model, X, y, cv=folds, method=response)
        self.estimator_ = clone(model).fit(X, y)
        self.classes_ = np.asarray(self.estimator_.classes_)
        S = _columns(scores, len(self.classes_))
        classes = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        fit = FITS[self.method]
        labels = np.asarray(y)
        self.curves_ = [fit(S[:, c], labels == label) for c, label in enumerate(classes)]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, (n, k); of several, the curves divided by their sum."""
        check_is_fitted(self)
        response = getattr(self.estimator_, _response(self.estimator_))
        S = _columns(np.asarray(response(as_numpy(X))), len(self.classes_))
        P = np.column_stack([c.probabilities(S[:, j]) for j, c in enumerate(self.curves_)])
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - P[:, 0], P[:, 0]])
        total = P.sum(axis=1, keepdims=True)
        even = np.full_like(P, 1.0 / P.shape[1])
        return np.where(total > 0, P / np.where(total > 0, total, 1.0), even)

    def predict(self, X: Any) -> Any:
        """The most probable class of each sample, (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._model()).input_tags
        return tags

    def _model(self) -> Any:
        model = LinearSVC() if self.estimator is None else self.estimator
        if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
            must_be = "a classifier with decision_function or predict_proba"
            raise ParameterError("CalibratedClassifier", "estimator", must_be, model)
        return model


def calibrate(
    model: Any, X: Any, y: Any, *, method: str = "sigmoid", cv: Any = 5
) -> CalibratedClassifier:
    """Fit a classifier with calibrated probabilities: `CalibratedClassifier(model, ...).fit(X, y)`.

    Parameters
    ----------
    model
        The classifier; it is cloned and fitted.
    X, y
        Samples and their labels.
    method, cv
        As in `CalibratedClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> calibrate(LinearSVC(), X, y).predict_proba(X[:1]).shape
    (1, 3)
    """
    return CalibratedClassifier(model, method=method, cv=cv).fit(X, y)


def _response(model: Any) -> str:
    return "decision_function" if hasattr(model, "decision_function") else "predict_proba"


def _columns(scores: Matrix, n_classes: int) -> Matrix:
    """One column for two classes, else one for each class."""
    if scores.ndim == 1:
        return scores[:, None]
    if scores.shape[1] == n_classes:
        return scores[:, 1:] if n_classes == 2 else scores
    must_be = f"with a score of each of {n_classes} classes, as decision_function_shape='ovr' gives"
    raise ParameterError("CalibratedClassifier", "estimator", must_be, scores.shape[1])
