"""Scores that are sums of kernel values with support vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from separatrix.errors import DataError
from separatrix.estimators.base.kernel_machine import KernelMachine, concatenate
from separatrix.estimators.base.prepare import check_samples, require_fitted
from separatrix.estimators.base.support import Support, centred_weights
from separatrix.estimators.base.support_scores import score_samples, score_tolerance
from separatrix.kernels.base import Precomputed
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.prepared import TOLERANCE
from separatrix.kernels.vector_kernels import Linear
from separatrix.runtime.device import as_numpy, run_on
from separatrix.types import Codes


class SupportSum(KernelMachine):
    """An estimator whose scores are sums of kernel values with support vectors."""

    tol: float
    _support: Support

    @property
    def coef_(self) -> Any:
        """Weights of a linear kernel, (p, d)."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors = self.support_vectors_
        if issparse(vectors):
            own = self._support.weights
            coef: Any = (
                csr_array(self._support.columns()) @ vectors if own is None else csr_array(own)
            )
        else:
            coef = centred_weights(self._support, vectors)[0].view()
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
    def _kernel_tolerance(self) -> float:
        """Upper bound of the error of kernel values: of scores within `tol`, or of a fit to come."""
        tolerance: float = self.__dict__.get("_tolerance", min(self.tol, TOLERANCE))
        if "_support" not in self.__dict__:
            return tolerance
        return score_tolerance(self.kernel_, self._support, self._vectors, tolerance)

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

    def _check_samples(self, X: Any) -> Any:
        X = check_samples(self, X, reset=False)
        if len(self.support_) != self.n_support_.sum() or (
            not isinstance(self.kernel_, Precomputed)
            and self._vectors.shape[0] != len(self.support_)
        ):
            raise DataError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _show_coefficients(self) -> None:
        """Set the coefficients and intercepts in scikit-learn's layout."""
        sparse = issparse(self._vectors) and not isinstance(self.kernel_, FromCallable)
        coef = self._support.coef
        self.dual_coef_ = csr_array(coef) if sparse else coef.view()
        self.intercept_ = self._support.intercept.copy()
        self._protect()

    def _protect(self) -> None:
        """Refuse changes in place of what predictions do not read, or have prepared from it."""
        if isinstance(vectors := vars(self).get("support_vectors_"), np.ndarray):
            self.support_vectors_ = vectors.view()  # the array may be the user's
        for name in ("dual_coef_", "intercept_", "support_vectors_"):
            value: Any = vars(self).get(name)
            values = value.data if issparse(value) else value
            if isinstance(values, np.ndarray):
                values.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._protect()
