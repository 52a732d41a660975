"""The one-class support vector machine as an estimator: novelty detection."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import OutlierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import DataError
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import above_boundary
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import check_samples, check_weights
from separatrix.estimators.base.support import Support
from separatrix.estimators.base.support_sum import SupportSum
from separatrix.estimators.base.svc_certificate import Goal, SolvedData, certify_fits
from separatrix.estimators.base.svc_fit import SvcOptions, solve_in_precision
from separatrix.estimators.base.svc_training import (
    HOLD_AT_MOST,
    HOLD_BELOW,
    warn_if_unfinished,
)
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.gram.build import make_gram
from separatrix.runtime.device import DEVICES, DevicePolicy, as_numpy, like, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.svm.problem import SvmFit, SvmProblem, ticks_of
from separatrix.types import Codes, Gram, Vector


@with_parameters
class OneClassSVM(CallbackSupportMixin, OutlierMixin, SupportSum):
    """One-class support vector machine: is a new sample like those it was trained on?

    A drop-in for scikit-learn's `OneClassSVM`, exact to the same tolerance. At most a share `nu` of the
    training samples is outside; at least that share are support vectors. With labels for both kinds of
    samples, a classifier is better. Features must be scaled, and outliers in the training set shift the
    boundary: `nu` should be about their share. For more than some 50,000 samples train on a part.

    Parameters
    ----------
    kernel, degree, gamma, coef0
        Any kernel of `separatrix.kernels`, or scikit-learn's names and their parameters.
    tol
        Stop when the optimality conditions are violated by no more than this (as LIBSVM), and the
        relative duality gap is at most the larger of tol and 1e-3.
    nu
        Above 0, at most 1.
    shrinking
        Ignored: only violating rows enter the working set.
    cache_size
        Memory for kernel values in MB; by default 4096, or a quarter of the machine's if less.
    verbose, max_iter
        Above 0, a progress bar on stderr; steps on two coefficients, -1 for no limit.
    time_limit, n_jobs
        Seconds after which to stop with what was reached; threads, -1 or None for all cores.
    device
        "auto", "cpu" or "cuda", for predictions. Training is on the CPU.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_
        Rows with a coefficient, (s,); those samples; their number, (1,); their coefficients, (1, s).
    intercept_, offset_, coef_
        The score is the sum over support vectors plus `intercept_`, (1,); `offset_` = -`intercept_`;
        weights, (1, d), of a linear kernel.
    kernel_, shape_fit_, n_features_in_, n_iter_, fit_status_
        The kernel object in use; shape of X; steps; 0, or 1 if the fit stopped before its tolerance.
    violation_, dual_gap_, objective_
        The certificate: largest violation of the optimality conditions; relative duality gap
        (P - D) / max(|P|, 1) of the problem 1/2 |w|^2 - nu n r + sum of max(0, r - <w, x_i>); its dual
        objective.
    stop_, gram_
        Why the fit ended, and form and precision of the kernel matrix, as text.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> zeros, others = X[y == 0], X[y != 0]
    >>> model = OneClassSVM(nu=0.05, gamma=0.0005).fit(zeros[:120])
    >>> float((model.predict(zeros[120:]) == 1).mean().round(2))
    0.79
    >>> float((model.predict(others) == -1).mean().round(2))
    1.0

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, Estimating the Support of a High-Dimensional
    Distribution, Neural Computation 13 (2001).
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    tol: float = real(1e-3, above=0)
    nu: float = real(0.5, above=0, most=1)
    shrinking: bool = flag(True)
    cache_size: float | None = real(None, above=0)
    verbose: int = False
    max_iter: int = integer(-1, least=-1)
    time_limit: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n); y is ignored."""
        self._check_parameters()
        if self._precomputed and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; use X.toarray()")
        X = check_samples(self, X)
        weights = check_weights(sample_weight, X.shape[0])
        if not weights.any():
            raise DataError("`sample_weight` must have a weight above zero; all weights are zero")
        kernel = self._resolve_kernel(X)
        options = self._options().for_kernel(kernel, type(self).__name__)
        with monitored(self, X, y, steps=ticks_of(1), task="step") as monitor:
            solve = partial(
                _solve, kernel=kernel, X=X, weights=weights, options=options, monitor=monitor
            )
            gram, fit, tolerance = run_on(self._training_policy(X, kernel), solve)
        self.kernel_, self.shape_fit_ = kernel, tuple(X.shape)
        self.gram_, self._tolerance = gram, tolerance
        self._keep(X, fit)
        if fit.stop == "no margin":
            warn_user(
                "OneClassSVM found no boundary: a weighted mean of the samples is at the origin of the "
                "kernel's feature space, and all scores are about 0; use a Gaussian kernel",
                ConvergenceWarning,
            )
        else:
            warn_if_unfinished(type(self).__name__, options, [fit])
        return self

    def decision_function(self, X: Any) -> Any:
        """Signed score of each sample, (n,); above 0 for samples like the training samples."""
        return like(self._score(X)[:, 0], X)

    def score_samples(self, X: Any) -> Any:
        """Score of each sample without the offset, (n,)."""
        scores = self.decision_function(X)
        return scores + self.offset_[0]

    def predict(self, X: Any) -> Any:
        """1 for samples like the training samples, -1 for outliers, (n,)."""
        inside = above_boundary(as_numpy(self.decision_function(X)), self._class_at_zero)
        return like(np.where(inside, 1, -1), X)

    @property
    def offset_(self) -> Vector:
        """Minus the intercept, (1,)."""
        if not hasattr(self, "_support"):
            raise AttributeError("offset_")
        return -self.intercept_

    def _options(self) -> SvcOptions:
        return SvcOptions(
            C=1.0,
            multi_class="ovr",
            tol=self.tol,
            stop="kkt",
            max_iter=self.max_iter,
            calibration=None,
            memory=self._budget,
            threads=self._threads,
            hold_up_to=HOLD_AT_MOST if self.time_limit is None else HOLD_BELOW,
            nu=self.nu,
        )

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        policy = super()._training_policy(X, *kernels, owner=owner)
        return replace(policy, obstacle="training by nu")

    def _keep(self, X: Any, fit: SvmFit) -> None:
        """Set the fitted attributes."""
        rows: Codes = np.flatnonzero(fit.alpha)
        cuts, classes = np.array([0, len(rows)]), np.zeros(len(rows), dtype=np.int64)
        intercept = np.array([fit.intercept])
        self._support = Support(rows, classes, cuts, fit.alpha[None, rows], intercept, False)
        self.support_ = fit.rows[rows].astype(np.int32)
        precomputed = isinstance(self.kernel_, Precomputed)
        vectors = np.empty((0, 0)) if precomputed else X[like(self.support_, X)]
        self._keep_vectors(vectors)
        self._show_coefficients()
        self.n_iter_, self.stop_ = fit.n_iter, fit.stop
        self.fit_status_ = int(fit.stop != "tol")
        self.violation_, self.dual_gap_, self.objective_ = fit.violation, fit.gap, fit.dual


def _solve(
    device: Any,
    kernel: Kernel,
    X: Any,
    weights: Vector,
    options: SvcOptions,
    monitor: FitMonitor,
) -> tuple[str, SvmFit, float]:
    """The fit of all samples as one side, the form of the Gram matrix and its tolerance."""

    def build_gram(tolerance: float) -> Gram:
        return make_gram(
            kernel,
            as_numpy(X),
            memory=options.memory,
            tolerance=tolerance,
            threads=options.threads,
            hold=X.shape[0] <= options.hold_up_to,
            segments=(slice(0, X.shape[0]),),
            device=device,
        )

    problem = SvmProblem(np.array([1], dtype=np.int8), weights)
    everything, total = np.arange(X.shape[0]), np.array([options.nu * weights.sum()])
    goal = Goal.of(options.tol, options.stop, kernel)
    data = SolvedData(kernel, X, everything, goal, totals=total)
    gram, ((fit,), _), tolerance = solve_in_precision(
        build_gram,
        [problem],
        options,
        lambda _gram: None,
        lambda gram, fits: certify_fits(data, gram, fits, None),
        monitor,
    )
    return repr(gram), fit, tolerance
