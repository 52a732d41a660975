"""Prediction from support vectors: scores, votes, probabilities, and their explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError
from separatrix.estimators.base.kernel_machine import KernelMachine, concatenate
from separatrix.estimators.base.multiclass import vote, winners
from separatrix.estimators.base.prepare import check_samples, require_fitted
from separatrix.estimators.base.support import Support
from separatrix.estimators.base.support_scores import score_samples
from separatrix.estimators.calibration import Calibration
from separatrix.kernels.base import Precomputed
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.vector_kernels import Linear
from separatrix.runtime.device import as_numpy, like, run_on
from separatrix.types import Codes, Matrix
from separatrix.validation import require_integer


class SupportTerms(NamedTuple):
    """The training rows that decided each prediction: the largest terms of its score."""

    predicted: Any  # shape: (m,); the predicted label
    rows: Codes  # shape: (m, terms); training rows, the largest term first
    labels: Any  # shape: (m, terms); their labels
    terms: Matrix  # shape: (m, terms); above 0: for the predicted class


class SupportMachine(KernelMachine):
    """A classifier whose boundaries are sums of kernel values with support vectors."""

    break_ties: bool
    decision_function_shape: str
    multi_class: str
    calibration: str | None
    probability: Any
    classes_: Any
    _support: Support
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
    def coef_(self) -> Any:
        """Weights of a linear kernel, (p, d)."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        columns = self._support.columns()
        if issparse(self.support_vectors_):
            columns = csr_array(columns)
        coef = columns @ self.support_vectors_
        values: Any = coef.data if issparse(coef) else coef
        values.flags.writeable = False
        return coef

    @property
    def n_support_(self) -> Codes:
        """Support vectors of each class, (k,)."""
        if not hasattr(self, "_support"):
            raise AttributeError("n_support_")
        return np.diff(self._support.cuts).astype(np.int32)

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

    def _score(self, X: Any, function: Callable[[Any], Any] = lambda S: S) -> Any:
        """`function` of scores at the boundaries, (m, p), itself by default.

        NumPy, or a tensor on the device of the computation.
        """
        require_fitted(self)
        X, scores = self._check_samples(X), self._support.scores

        def compute(device: Any) -> Any:
            parts = None
            if device is None and not isinstance(self.kernel_, Precomputed):
                parts = score_samples(
                    self.kernel_,
                    self._support,
                    self.support_vectors_,
                    as_numpy(X),
                    function,
                    tolerance=self._kernel_tolerance,
                    threads=self._threads,
                )
            if parts is None:
                parts = [function(scores(K)) for K in self._kernel_values(X, device)]
            return concatenate(parts)

        return run_on(self._prediction_policy(X), compute)

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

    def _check_samples(self, X: Any) -> Any:
        X = check_samples(self, X, reset=False)
        if len(self.support_) != self.n_support_.sum() or (
            not isinstance(self.kernel_, Precomputed)
            and self.support_vectors_.shape[0] != len(self.support_)
        ):
            raise DataError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _show_coefficients(self) -> None:
        """Set the coefficients and intercepts in scikit-learn's layout."""
        sparse = issparse(self.support_vectors_) and not isinstance(self.kernel_, FromCallable)
        coef = self._support.coef
        self.dual_coef_ = csr_array(coef) if sparse else coef
        self.intercept_ = self._support.intercept.copy()
