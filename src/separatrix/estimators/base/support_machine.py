"""Prediction from support vectors: scores, votes, probabilities, and their explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base.multiclass import vote, winners
from separatrix.estimators.base.prepare import require_fitted
from separatrix.estimators.base.support_sum import SupportSum
from separatrix.estimators.calibration import Calibration
from separatrix.runtime.device import as_numpy, like
from separatrix.solvers.svm.problem import SvmFit
from separatrix.types import Codes, Matrix
from separatrix.validation import require_integer


class SupportTerms(NamedTuple):
    """The training rows that decided each prediction: the largest terms of its score."""

    predicted: Any  # shape: (m,); the predicted label
    rows: Codes  # shape: (m, terms); training rows, the largest term first
    labels: Any  # shape: (m, terms); their labels
    terms: Matrix  # shape: (m, terms); above 0: for the predicted class


class SupportMachine(SupportSum):
    """A classifier whose boundaries are sums of kernel values with support vectors."""

    break_ties: bool
    decision_function_shape: str
    multi_class: str
    calibration: str | None
    probability: Any
    classes_: Any
    shape_fit_: tuple[int, ...]
    _fits: Sequence[SvmFit]
    _calibration: Calibration

    def decision_function(self, X: Any) -> Any:
        """Confidence in each class, (n, k), or in the second of two, (n,).

        With `decision_function_shape="ovo"` the score at each pair's boundary, (n, k (k - 1) / 2).
        """
        return like(self._values(self._score(X)), X)

    def boundary_scores(self, X: Any) -> Any:
        """Score of each sample at each of the p boundaries, positive on the first class's side."""
        return like(self._score(X), X)

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,): most votes, the lowest index among equals."""
        require_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return like(self.classes_[as_numpy(self._score(X, self._codes))], X)

    @available_if(lambda self: self._offers_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k). The most likely class is that of `predict`."""
        check_is_fitted(self)
        if not hasattr(self, "_calibration"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False or calibration=None; "
                "fit again"
            )
        S = as_numpy(self._score(X))
        return like(self._calibration.probabilities(S, self._codes(S)), X)

    @available_if(lambda self: self._offers_probabilities())
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`, (n, k)."""
        P: Matrix = self.predict_proba(X)
        return like(np.log(as_numpy(P)), X)

    def explain(self, X: Any, n_terms: int = 5) -> SupportTerms:
        """The training rows that decided each prediction: the largest terms of the predicted class's sum.

        The score of a class is the sum over its boundaries, each with the sign of its side.
        """
        check_is_fitted(self)
        require_integer(type(self).__name__, "n_terms", n_terms, least=1)
        checked = self._check_samples(X)
        n_terms = min(n_terms, len(self.support_))
        coef = self._support.by_class()  # (k, s)

        def largest_terms(K: Any) -> tuple[Codes, Codes, Matrix]:
            K = as_numpy(K)
            codes = self._codes(self._support.scores(K))
            terms = K * coef[codes]
            largest = np.argsort(-np.abs(terms), axis=1, kind="stable")[:, :n_terms]
            return codes, largest, np.take_along_axis(terms, largest, axis=1)

        found = self._map_kernel_values(checked, lambda blocks: [largest_terms(K) for K in blocks])
        codes, index, terms = (np.concatenate(part) for part in zip(*found, strict=True))
        labels = self.classes_[self._support.classes[index]]
        parts = (self.classes_[codes], self.support_[index], labels, terms)
        return SupportTerms(*(like(part, X) for part in parts))

    @property
    def _class_at_zero(self) -> str:
        return "second"  # as LIBSVM's vote

    @property
    def _method(self) -> str | None:
        """The calibration method, or None without probabilities."""
        if self.calibration is None and self.probability not in (False, "deprecated"):
            return "sigmoid"
        return self.calibration

    def _offers_probabilities(self) -> bool:
        if self._method is None:
            raise AttributeError("predict_proba is not available when calibration=None")
        return True

    def _codes(self, S: Matrix) -> Codes:
        """Predicted class codes from scores at the boundaries."""
        if self.break_ties and len(self.classes_) > 2:
            return winners(self._values(S))
        return vote(S, len(self.classes_), self.multi_class, getattr(self, "_ties", None))

    def _values(self, S: Matrix) -> Matrix:
        if len(self.classes_) == 2:
            return S[:, 0]
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return S
        S = as_numpy(S)
        values: Matrix = _ovr_decision_function(S < 0, -S, len(self.classes_))
        return values
