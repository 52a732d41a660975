"""Kernel logistic regression as an estimator. The algorithm is in `solvers/logistic/kernel_newton.py`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import DataError
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import LabelledGram, RowsClassified
from separatrix.estimators.base.parameters import choice, integer, real, threads, with_parameters
from separatrix.estimators.base.prepare import Training, class_weights
from separatrix.estimators.base.probabilistic_machine import (
    ProbabilisticKernelMachine,
    blas_threads,
)
from separatrix.estimators.base.support import class_segments
from separatrix.estimators.base.svc_certificate import EXACT
from separatrix.estimators.base.svc_fit import class_order
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.gram.held import HeldGram
from separatrix.kernels.prepared import TOLERANCE
from separatrix.runtime.device import DEVICES, as_numpy, like, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.logistic.kernel_certificate import certify_kernel_logistic
from separatrix.solvers.logistic.kernel_newton import KernelLogisticFit, solve_kernel_logistic
from separatrix.types import Codes, Gram, Matrix, Vector


@with_parameters
class KernelLogisticRegression(ProbabilisticKernelMachine):
    """Logistic regression in the feature space of a kernel, exact and with a certificate.

    The log odds of the classes are functions in the space of the kernel, with a penalty on their norm:
    the losses of `LogisticRegression` with the boundaries of an `SVC`. Probabilities are those that
    maximise the penalised likelihood; no second fit calibrates them. All classes, and in `evaluate` all
    folds, share one Gram matrix. Every sample has a coefficient: where only labels matter, `SVC` predicts
    faster. For more than some 20,000 samples use `Nystroem` and `LogisticRegression`.

    Parameters
    ----------
    C
        Inverse strength of the penalty, above 0.
    kernel, degree, gamma, coef0
        As in `SVC`: any kernel of `separatrix.kernels`, also on objects, or scikit-learn's names and
        their parameters. It must be positive semi-definite.
    tol
        Duality gap over max(1, objective) at which to stop.
    cache_size
        Memory for kernel values in MB; by default 4096, or a quarter of the machine's if less. If the
        Gram matrix does not fit, it is computed again for every product: the same result, slowly.
    class_weight
        Factors of the sample weights for each class, as a dict or "balanced".
    verbose
        Above 0, a progress bar on stderr.
    max_iter
        Newton steps, at most.
    time_limit, n_jobs
        Seconds after which to stop with what was reached; threads, -1 or None for all cores.
    device
        "auto", "cpu" or "cuda", for predictions. Training is on the CPU.

    Attributes
    ----------
    classes_, kernel_, shape_fit_, n_features_in_
        Labels, (k,), the kernel object in use, the shape of X.
    support_, support_vectors_, n_support_
        Rows with a coefficient, by class, (s,): all with a weight; those samples; how many of each class.
    dual_coef_, intercept_, coef_
        Coefficients of the samples, (p, s), and biases, (p,): p is 1 for two classes, else k; weights,
        (p, d), of a linear kernel.
    objective_, dual_gap_
        Summed -log p(y|x) plus |f|^2 / (2C); the duality gap of the stored coefficients over
        max(1, objective_), with the rounding of kernel values: no function has an objective lower by more.
    n_iter_, stop_, gram_
        Newton steps; "tol", "max_iter", "stopped" or "rounding"; form and precision of the kernel matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelLogisticRegression(C=10, gamma=0.001).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.961
    >>> bool(model.dual_gap_ <= 1e-6)
    True

    References
    ----------
    Zhu and Hastie, Kernel Logistic Regression and the Import Vector Machine, Journal of Computational and
    Graphical Statistics 14 (2005).
    """

    _: KW_ONLY
    C: float = real(1.0, above=0)
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    tol: float = real(1e-6, above=0)
    cache_size: float | None = real(None, above=0)
    class_weight: Any = None
    verbose: int = False
    max_iter: int = integer(100, least=1)
    time_limit: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        train = self._prepare(X, y, sample_weight, self.class_weight)
        order = class_order(train.y, len(train.classes))
        with monitored(self, train.X, train.y, steps=self.max_iter, task="iteration") as monitor:
            solve = partial(self._solve_in_precision, train=train, order=order, monitor=monitor)
            found = run_on(self._training_policy(train.X, self.kernel_), solve)
        if found.stop == "indefinite":
            raise DataError(
                "KernelLogisticRegression needs a positive semi-definite kernel, and the matrix of "
                f"{self.kernel_!r} on these samples is not; use another kernel, or for a function of your "
                "own FromCallable(k, check_psd='shift')"
            )
        self._keep_support(train, order, found.coef, found.intercept)
        self.objective_, self.dual_gap_ = found.objective, found.gap
        self.n_iter_, self.stop_ = found.n_iter, found.stop
        self._warn_unless_solved(found.rounding)
        return self

    def decision_function(self, X: Any) -> Any:
        """Log odds of the second of two classes, (n,); else log probabilities up to a constant, (n, k)."""
        S = self._score(X)
        return like(S[:, 0] if len(self.classes_) == 2 else S, X)

    def classify_rows(
        self,
        data: LabelledGram,
        rows: Codes,
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix and classify all of them.

        Rows held out have weight 0, so that their scores come with the training. If they are most of the
        rows, the matrix of the others is copied.
        """
        gram, y, n_classes = data
        weights = class_weights(self, self.class_weight, y[rows], np.arange(n_classes))
        if 2 * len(rows) < len(y):
            own = HeldGram(np.ascontiguousarray(gram.tile(rows, rows)))
            found = self._solve(own, y[rows], weights, n_classes, monitor, threads)
            K = gram.tile(rows, slice(0, len(y)))
            S: Matrix = (found.coef.astype(K.dtype) @ K).T + found.intercept
        else:
            spread = np.zeros(len(y))
            spread[rows] = weights
            found = self._solve(gram, y, spread, n_classes, monitor, threads)
            S = found.scores
        return RowsClassified(S, n_classes, "ovr", "lowest", found.n_iter)

    def _solve(
        self,
        gram: Gram,
        y: Codes,
        weights: Vector,
        n_classes: int,
        monitor: FitMonitor | None,
        threads: int,
        start: Any = None,
    ) -> KernelLogisticFit:
        with blas_threads(threads):
            return solve_kernel_logistic(
                gram,
                y,
                weights,
                n_classes=n_classes,
                C=self.C,
                tol=self.tol,
                max_iter=self.max_iter,
                start=start,
                monitor=monitor,
            )

    def _solve_in_precision(
        self, device: Any, train: Training, order: Codes, monitor: FitMonitor
    ) -> KernelLogisticFit:
        """The fit; again on float64 kernel values where its gap there is above tol."""
        y, k = train.y[order], len(train.classes)
        weights = (train.weights * train.class_weights)[order]
        if np.count_nonzero(np.bincount(y, weights)) < 2:
            raise DataError(
                "KernelLogisticRegression needs samples of at least 2 classes; all but one class have "
                "weight 0"
            )

        def build(tolerance: float) -> Gram:
            gram = make_gram(
                self.kernel_,
                as_numpy(train.X),
                memory=self._budget,
                order=order,
                segments=class_segments(y, k),
                tolerance=tolerance,
                threads=self._threads,
            )
            self._require_semidefinite(gram)
            return gram

        def certified(gram: Gram, fit: KernelLogisticFit) -> KernelLogisticFit:
            return certify_kernel_logistic(gram, y, weights, fit, float(self.C))

        gram = build(min(TOLERANCE, self._score_error))
        found = self._solve(gram, y, weights, k, monitor, self._threads)
        self.gram_ = repr(gram)
        if gram.dtype != np.float64:
            del gram  # frees memory for the next one
            gram = build(EXACT)
            indefinite = found.stop == "indefinite"
            first = found if indefinite else certified(gram, found)
            if not (indefinite or first.gap > self.tol) or found.stop in ("stopped", "max_iter"):
                return first
            start = None if indefinite else found.coef
            found = self._solve(gram, y, weights, k, monitor, self._threads, start)
            found = found._replace(n_iter=first.n_iter + found.n_iter)
            self.gram_ = repr(gram)
        return found if found.stop == "indefinite" else certified(gram, found)

    @property
    def _score_error(self) -> float:
        """Rounding error of scores that is allowed: a gap of tol allows errors of the order of its root."""
        return float(self.tol**0.5)

    def _warn_unless_solved(self, rounding: float) -> None:
        if self.dual_gap_ - rounding <= self.tol and rounding <= self.tol:
            return
        why = {
            "max_iter": f"did not converge in {self.n_iter_} iterations; raise max_iter",
            "stopped": "was stopped; raise time_limit",
        }.get(self.stop_, "reached the limit of floating point; scale the features or lower C")
        warn_user(
            f"KernelLogisticRegression {why}: the relative duality gap is {self.dual_gap_:.3g}, wanted "
            f"{self.tol:g}",
            ConvergenceWarning,
        )
