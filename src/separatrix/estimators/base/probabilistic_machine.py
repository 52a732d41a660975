"""What kernel classifiers with probabilities of their own share: predictions and the fitted attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin

from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.multiclass import (
    LabelledGram,
    RowsClassified,
    log_probabilities,
    probabilities,
    winners,
)
from separatrix.estimators.base.prepare import Training, prepare, require_fitted
from separatrix.estimators.base.support import Support
from separatrix.estimators.base.support_scores import score_weight
from separatrix.estimators.base.support_sum import SupportSum
from separatrix.estimators.base.svc_certificate import EXACT
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import require_semidefinite
from separatrix.kernels.prepared import TOLERANCE
from separatrix.kernels.vector_kernels import Sigmoid
from separatrix.runtime.device import DevicePolicy, as_numpy, like
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.types import Codes, Gram, Matrix, Vector


class ProbabilisticKernelMachine(CallbackSupportMixin, TakesTensors, SupportSum):
    """A kernel classifier whose decision values are log probabilities, up to a constant for each sample."""

    classes_: Any
    shape_fit_: tuple[int, ...]

    def decision_function(self, X: Any) -> Any:
        """Log odds of the second of two classes, (n,); else log probabilities up to a constant, (n, k)."""
        raise NotImplementedError

    def classify_rows(
        self,
        data: LabelledGram,
        rows: Codes,
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix and classify all of them."""
        raise NotImplementedError

    def classify_rows_many(
        self, data: LabelledGram, runs: Sequence[Codes], *, monitor: FitMonitor | None = None
    ) -> Iterator[RowsClassified]:
        """`classify_rows` for each of many runs."""
        for rows in runs:
            yield self.classify_rows(data, rows, monitor=monitor)

    def predict(self, X: Any) -> Any:
        """Most likely class of each sample, (n,); the first among equals."""
        require_fitted(self)
        values = as_numpy(self.decision_function(X))
        return like(self.classes_[winners(values, self._class_at_zero)], X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k)."""
        return like(probabilities(as_numpy(self.decision_function(X))), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class, (n, k); finite even if the probability is 0."""
        return like(log_probabilities(as_numpy(self.decision_function(X))), X)

    @property
    def _score_error(self) -> float:
        """Rounding error of scores that is allowed."""
        raise NotImplementedError

    @property
    def _kernel_tolerance(self) -> float:
        """Upper bound of the error of kernel values, from the coefficients once they are known."""
        if "_support" not in self.__dict__:
            return min(TOLERANCE, self._score_error)
        weight = score_weight(self.kernel_, self._support, self.support_vectors_)
        return float(np.clip(10.0 * self._score_error / max(weight, 1e-300), EXACT, TOLERANCE))

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        policy = super()._training_policy(X, *kernels, owner=owner)
        return replace(policy, obstacle=f"training of {type(self).__name__}")

    def _prepare(self, X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Training:
        """The checked training set, with its kernel."""
        self._check_parameters()
        if self._precomputed and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; use X.toarray()")
        train = prepare(self, X, y, sample_weight, class_weight=class_weight)
        self.kernel_, self.classes_ = self._resolve_kernel(train.X), train.classes
        self.shape_fit_ = tuple(train.X.shape)
        return train

    def _require_semidefinite(self, gram: Gram) -> None:
        """Refuse a kernel that need not be positive semi-definite, and is not."""
        parts = [self.kernel_, *self.kernel_.get_params().values()]
        if any(isinstance(part, Precomputed | Sigmoid) for part in parts):
            whole = slice(0, gram.shape[0])
            require_semidefinite(type(self).__name__, self.kernel_, gram.tile(whole, whole))

    def _keep_support(self, train: Training, order: Codes, coef: Matrix, intercept: Vector) -> None:
        """Keep the samples with a coefficient; coefficients are (p, n), in class order."""
        k = len(train.classes)
        rows = np.flatnonzero(coef.any(axis=0))
        classes = train.y[order][rows]
        cuts = np.searchsorted(classes, np.arange(k + 1))
        self._support = Support(rows, classes, cuts, coef[:, rows], intercept, False)
        self.support_: Codes = order[rows].astype(np.int32)
        precomputed = isinstance(self.kernel_, Precomputed)
        vectors = np.empty((0, 0)) if precomputed else train.X[like(self.support_, train.X)]
        self._keep_vectors(vectors)
        self._show_coefficients()


def blas_threads(threads: int) -> AbstractContextManager[None]:
    """BLAS on one thread if that is all there is, as in a fold that trains beside others."""
    return blas_on_one_thread() if threads == 1 else nullcontext()
