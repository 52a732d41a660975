"""Logistic regression: maximum likelihood, with a prior, and with a posterior.

The arithmetic is in `solvers/logistic/newton.py` and `solvers/logistic/laplace.py`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import (
    ArrayBlocks,
    StreamBlocks,
    blocks_of,
    require_repeatable,
)
from separatrix.estimators.base.device_samples import (
    DeviceBlocks,
    in_memory,
    learn_on,
    map_rows,
    training_policy,
)
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import SolvedMachine
from separatrix.estimators.base.logistic_penalty import (
    SOLVERS,
    build_solver,
    check_penalty,
    resolve_penalty,
)
from separatrix.estimators.base.logistic_stream import learn_from_batch, suits_streams
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import log_probabilities, probabilities, winners
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import check_samples
from separatrix.estimators.calibration import match_predictions
from separatrix.runtime.device import DEVICES, as_numpy, is_tensor, like
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import dense
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.logistic.certificate import certify_logistic
from separatrix.solvers.logistic.descent import LogisticSolver
from separatrix.solvers.logistic.elastic_net_path import ElasticNetSolver
from separatrix.solvers.logistic.laplace import Posterior, mackay, mean_sigmoid, mean_softmax
from separatrix.solvers.logistic.newton import LogisticFit
from separatrix.solvers.logistic.separation import is_separated
from separatrix.types import Matrix
from separatrix.validation import (
    require_choice,
    require_real,
)

POSTERIOR_TOL = 1e-8  # tolerance for a posterior, whose width is computed at the peak
SURE = 5.0  # margins beyond this without a prior suggest that the classes are separable
LARGEST_PROGRAM = 5_000_000  # values of a linear program that decides this
SMALL_PROGRAM = 50_000  # values up to which it is always solved
POSTERIOR_ATTRIBUTES = ("coef_std_", "intercept_std_", "log_evidence_")


@with_parameters
class LogisticRegression(CallbackSupportMixin, TakesTensors, SolvedMachine):
    """Logistic regression: maximum likelihood, maximum a posteriori, or Bayesian.

    Minimises the sum of -log p(y|x) plus |w|^2 / (2 C): minus the log posterior under the prior
    w ~ N(0, C). C=inf is maximum likelihood. Several classes share one softmax. Newton's method for
    few weights, L-BFGS for more; `solver_` names the solver and the reason. With l1_ratio above 0 the
    penalty is l1_ratio |w|_1 / C + (1 - l1_ratio) |w|^2 / (2 C), and many weights are exactly 0:
    proximal Newton steps on a working set.

    Parameters
    ----------
    penalty
        Deprecated as in scikit-learn: "l2" is l1_ratio=0, the default, "l1" is l1_ratio=1,
        "elasticnet" takes l1_ratio as it is, None is C=inf.
    C
        Variance of the prior on each weight. Above 0; inf: no prior. "evidence": the value that
        maximises the marginal likelihood.
    l1_ratio
        Share of the l1 penalty: 0 is |w|^2 / 2, 1 is |w|_1, between them the elastic net. None is 0.
    dual
        Must be False: a dual form is not supported.
    tol
        Largest entry of the gradient of the mean loss at which to stop, as in scikit-learn. Above 0. It
        goes on while the next step promises to lower the objective by more than its 1e-7th, or by more
        in proportion to a tol above 1e-4.
        With l1_ratio above 0, also the relative duality gap at which to stop.
    fit_intercept
        Whether scores have a bias.
    intercept_scaling, random_state
        Ignored: the bias is never penalised as a weight, and the fit is deterministic.
    class_weight
        Dict from label to weight, or "balanced": multiplies the weight of samples of a class.
    solver
        "auto", "newton-cholesky" or "lbfgs". "newton-cg" is "newton-cholesky" up to 2048 parameters;
        it and scikit-learn's other names mean "auto" otherwise. With l1_ratio above 0 only "auto",
        "saga" and, for l1_ratio=1, "liblinear": all are proximal Newton.
    max_iter
        Steps of Newton's method or of L-BFGS, at most.
    warm_start
        Start from the weights of the last fit.
    posterior
        "laplace": compute a Gaussian posterior of the weights. Probabilities are then means over it,
        and `coef_std_`, `intercept_std_`, `covariance_`, `log_evidence_` are set.
    predictive
        With a posterior and two classes: "mackay", his formula, or "quadrature", the integral.
    intercept_precision
        Precision of a prior on the bias, which makes `log_evidence_` proper. None: no prior, and
        the evidence is known up to a constant.
    time_limit, n_jobs, verbose, device
        As in `LinearSVC`. `partial_fit` and an l1 penalty stay on the CPU.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d), and biases, (p,); one row for two classes, else k.
    C_, n_iter_, n_samples_seen_
        The C used; steps, or calls of `partial_fit`, (1,); samples of positive weight met.
    objective_, gradient_
        Of `fit`. The minimum: summed -log p(y|x), plus the penalty, and the bias's part with a prior;
        largest entry of its gradient, over the weight of all samples. Both are of coef_ and intercept_ as
        they are stored; gradient_ is an upper bound in exact arithmetic, at most tol and the rounding when
        solved.
    dual_gap_
        With l1_ratio above 0: the duality gap of coef_ and intercept_ over max(1, objective_), with all
        rounding; no weights have an objective lower by more. At most tol and the rounding when solved.
    coef_std_, intercept_std_
        Standard deviations of the posterior, shaped as coef_ and intercept_.
    covariance_
        Of the posterior: each row of weights, then its bias, (p (d + 1), p (d + 1)).
    log_evidence_
        Log marginal likelihood of the labels. A bias without a prior has a constant
        density of 1 per sqrt(1 + C r^2), r^2 the mean of |x|^2, so that values for different C can be
        compared.
    separated_
        Whether planes separate the classes, so that without a prior no maximum exists; None if not
        checked.
    solver_
        Which algorithm was used, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(C="evidence", posterior="laplace").fit(scale(X), y)
    >>> model.coef_.shape, model.coef_std_.shape
    ((1, 30), (1, 30))
    >>> model
    LogisticRegression(C='evidence', posterior='laplace')  # Newton: n=569, 31 parameters

    References
    ----------
    Minka, A Comparison of Numerical Optimizers for Logistic Regression (2003). MacKay, The Evidence
    Framework Applied to Classification Networks, Neural Computation 4 (1992).
    """

    _least_weighted: ClassVar[int] = 1
    _near: ClassVar[Any] = None  # a fitted model to start from, where a search sets it
    penalty: Any = choice("deprecated", "l2", "l1", "elasticnet", None)
    _: KW_ONLY
    C: Any = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = choice(False)
    tol: float = real(1e-4, above=0)
    fit_intercept: bool = flag(True)
    intercept_scaling: float = 1
    class_weight: Any = None
    random_state: Any = None
    solver: str = choice(*SOLVERS)
    max_iter: int = integer(100, least=0)
    verbose: int = 0
    warm_start: bool = flag(False)
    n_jobs: int | None = threads()
    posterior: str | None = choice(None, "laplace")
    predictive: str = choice("mackay", "quadrature")
    intercept_precision: float | None = real(None, above=0)
    time_limit: float | None = real(None, above=0)
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), and their labels y, (n,), or from an iterable of blocks.

        A block is (X, y) or (X, y, sample_weight); y is then left out. Blocks are read once for
        each step, so the iterable must be repeatable.
        """
        self._check_parameters()
        C, l1_ratio = resolve_penalty(self)
        blocks = blocks_of(
            self, X, y, sample_weight, class_weight=self.class_weight, balance="weights"
        )
        if isinstance(blocks, ArrayBlocks) and blocks.weightless:
            raise DataError("all samples have weight 0; raise a weight of a class or of a sample")
        require_repeatable(blocks, "LogisticRegression reads all samples once for each step")
        steps = None if C is None else self.max_iter  # unknown for a search
        obstacle = "an l1 penalty" if l1_ratio else None
        policy = training_policy(self, blocks, passes=True, obstacle=obstacle)
        with monitored(self, None, None, steps=steps, task="iteration") as monitor:
            descent, C, found = learn_on(
                policy, blocks, lambda own: self._descend(own, C, l1_ratio, monitor), held=True
            )
        if found.stop == "overflow" or not np.isfinite(found.theta).all():
            raise DataError(
                "weights overflowed; scale the features, for example with StandardScaler"
            )
        found = self._certified(descent, blocks, found, C, l1_ratio)
        self._keep(descent, found, C)
        self.separated_ = (
            None
            if np.isfinite(C)
            else _check_separation(in_memory(blocks), found, self.fit_intercept)
        )
        if self.separated_ and self.posterior is not None:
            raise DataError(
                "the classes can be separated by planes, so without a prior there is no posterior; "
                "use a finite C, or C='evidence'"
            )
        self._warn_unless_solved(found)
        return self

    def _certified(
        self, descent: Any, blocks: Any, found: LogisticFit, C: float, l1_ratio: float
    ) -> LogisticFit:
        """The same with bounds in exact arithmetic, for the weights as stored and the samples as given."""
        on_device = isinstance(blocks, ArrayBlocks) and is_tensor(blocks.X)
        if on_device or not isinstance(blocks, ArrayBlocks | StreamBlocks):
            return found
        prices = np.zeros((2, descent.d + self.fit_intercept))
        prices[:, : descent.d] = [[l1_ratio / C], [(1.0 - l1_ratio) / C]]
        if self.fit_intercept:
            prices[1, -1] = self.intercept_precision or 0.0
        objective, gradient, gap, rounding = certify_logistic(
            blocks, found.theta, l1=prices[0], l2=prices[1], intercept=self.fit_intercept
        )
        return found._replace(objective=objective, gradient=gradient, gap=gap, rounding=rounding)

    def _descend(
        self,
        blocks: ArrayBlocks | StreamBlocks | DeviceBlocks,
        C: float | None,
        l1_ratio: float,
        monitor: FitMonitor,
    ) -> tuple[LogisticSolver | ElasticNetSolver, float, LogisticFit]:
        """The solver of these samples, C, and the peak; then the posterior, if wanted."""
        hessian = self.posterior is not None or C is None  # at the peak
        on_device = isinstance(blocks, DeviceBlocks)
        descent = build_solver(
            blocks,
            l1_ratio=l1_ratio,
            solver=self.solver,
            intercept=self.fit_intercept,
            intercept_precision=self.intercept_precision or 0.0,
            tol=min(self.tol, POSTERIOR_TOL) if hessian else self.tol,
            max_iter=self.max_iter,
            threads=1 if on_device else thread_count(self.n_jobs),
            monitor=monitor,
            hessian=hessian,
        )
        self.classes_ = descent.classes
        start = self._start(descent)
        self._posterior: Posterior | None = None
        if isinstance(descent, ElasticNetSolver):
            assert C is not None
            return descent, C, descent.solve(C, start)
        return descent, *self._find_peak(descent, C, start)

    @available_if(suits_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of a stream, in the order of its rows; the first names all classes.

        One step of averaged stochastic gradient descent for each row, whatever the cuts between
        batches. The weights approach those of `fit` on all rows met so far, including those of `fit`
        itself if it was called before.
        """
        self._check_parameters()
        stream, C = learn_from_batch(self, as_numpy(X), y, classes, sample_weight)
        n_iter = 1 + (int(vars(self)["n_iter_"][0]) if hasattr(self, "_stream") else 0)
        for name in (*POSTERIOR_ATTRIBUTES, "dual_gap_", "objective_", "gradient_"):
            self.__dict__.pop(name, None)
        W, b = stream.average()
        self._stream, self.n_samples_seen_ = stream, stream.met
        self.coef_, self.intercept_ = W, b if self.fit_intercept else np.zeros(len(b))
        self.C_, self.solver_ = C, "averaged SGD: partial_fit"
        self.n_iter_ = np.array([n_iter], dtype=np.int32)
        self._posterior, self.separated_ = None, None
        return self

    def _find_peak(
        self, descent: LogisticSolver, C: float | None, start: Matrix | None
    ) -> tuple[float, LogisticFit]:
        """C, by the evidence if it is None, and the peak for it; then the posterior, if wanted."""
        if C is None:
            C, found = descent.most_evident(start)
            if descent.at_the_end:
                warn_user(
                    f"the evidence is largest at a limit of the search, C={C:.1g}: the features may "
                    "carry no information on the classes; set C, or check the data"
                )
        else:
            found = descent.solve(C, start)
        if self.posterior is not None:
            found, self._posterior = descent.posterior(found, C)
        return C, found

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k); with a posterior the mean over it."""
        check_is_fitted(self)
        if self._posterior is None:
            return like(probabilities(as_numpy(self.decision_function(X))), X)
        return like(self._mean_probabilities(self._posterior, X), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class, (n, k)."""
        check_is_fitted(self)
        if self._posterior is not None:
            with np.errstate(divide="ignore"):
                return like(np.log(as_numpy(self.predict_proba(X))), X)
        return like(log_probabilities(as_numpy(self.decision_function(X))), X)

    @property
    def covariance_(self) -> Matrix:
        """Covariance of the posterior: each row of weights, then its bias, (p (d + 1), p (d + 1))."""
        check_is_fitted(self)
        if self._posterior is None:
            raise AttributeError("covariance_ needs a fit with posterior='laplace'")
        return self._posterior.covariance()

    def _mean_probabilities(self, posterior: Posterior, X: Any) -> Matrix:
        X = check_samples(self, X, dtype=self._dtypes, reset=False)
        S, X = as_numpy(map_rows(self, X, self._scores)), dense(as_numpy(X))
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        V = posterior.score_covariances(X)
        if len(self.classes_) > 2:
            return match_predictions(mean_softmax(S, V), winners(S))
        mean = mean_sigmoid if self.predictive == "quadrature" else mackay
        second = mean(S[:, 0], V[:, 0, 0])
        return np.column_stack([1.0 - second, second])

    def _start(self, descent: LogisticSolver | ElasticNetSolver) -> Matrix | None:
        """The weights of the last fit, for warm_start, or of a near one, if the shape matches."""
        last = self if self.warm_start and hasattr(self, "coef_") else self._near
        if last is None:
            return None
        coef = last.coef_.toarray() if issparse(last.coef_) else last.coef_
        if coef.shape != (descent.p, descent.d):
            return None
        return np.column_stack([coef, last.intercept_]) if self.fit_intercept else coef.copy()

    def _keep(
        self, descent: LogisticSolver | ElasticNetSolver, found: LogisticFit, C: float
    ) -> None:
        d = descent.d
        self.coef_ = found.theta[:, :d].copy(
            order="F"
        )  # its transpose lies in rows, for sparse products
        self.intercept_ = found.theta[:, d].copy() if self.fit_intercept else np.zeros(descent.p)
        self.C_, self.solver_ = C, descent.words
        self.n_iter_ = np.array([found.n_iter], dtype=np.int32)
        self.objective_, self.gradient_ = found.objective, found.gradient
        self.n_samples_seen_ = descent.n_samples
        for name in (*POSTERIOR_ATTRIBUTES, "dual_gap_", "_stream"):
            self.__dict__.pop(name, None)
        if not np.isnan(found.gap):
            self.dual_gap_ = found.gap
        if self._posterior is not None:
            spread = self._posterior.deviations()
            self.coef_std_ = spread[:, :d]
            self.intercept_std_ = spread[:, d] if self.fit_intercept else np.zeros(descent.p)
            self.log_evidence_ = self._posterior.log_evidence

    def _warn_unless_solved(self, found: LogisticFit) -> None:
        if self.separated_:
            warn_user(
                "the classes can be separated by planes, so no weights are likeliest: those found "
                f"after {found.n_iter} steps would grow without bound. Use a finite C, or C='evidence'",
                ConvergenceWarning,
            )
        elif (
            found.stop in ("max_iter", "stopped")
            or found.gradient - found.rounding > self.tol
            or found.gap - found.rounding > self.tol  # not a number without an l1 penalty
            or found.rounding > self.tol
        ):
            why = {
                "max_iter": f"did not converge in {found.n_iter} iterations; raise max_iter",
                "stopped": "was cancelled or reached time_limit",
            }.get(found.stop, "reached the limit of floating point; scale the features")
            gap = f" and the duality gap {found.gap:.3g}" if not np.isnan(found.gap) else ""
            warn_user(
                f"LogisticRegression {why}: the gradient is {found.gradient:.3g}{gap}, wanted "
                f"{self.tol:g}",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if isinstance(self.C, str):
            require_choice(name, "C", self.C, ("evidence",))
        elif not (isinstance(self.C, float) and np.isposinf(self.C)):
            require_real(name, "C", self.C, above=0)
        check_penalty(self, self.l1_ratio, name="l1_ratio")
        if self.intercept_precision is not None and not self.fit_intercept:
            must_be = "None without a bias"
            raise ParameterError(name, "intercept_precision", must_be, self.intercept_precision)


def _check_separation(
    blocks: ArrayBlocks | StreamBlocks, found: LogisticFit, intercept: bool
) -> bool | None:
    """Whether planes separate the classes; None if unlikely or too expensive to decide."""
    if found.least > 0:
        return True
    if isinstance(blocks, StreamBlocks):
        return None
    train = blocks.train
    k = len(train.classes)
    size = train.X.nnz if issparse(train.X) else train.X.size
    size *= 1 if k == 2 else 2 * (k - 1)
    suspicious = found.stop != "tol" or found.most > SURE
    if size > (LARGEST_PROGRAM if suspicious else SMALL_PROGRAM):
        return None
    kept = train.weights * train.class_weights > 0
    return is_separated(train.X[kept], train.y[kept], n_classes=k, intercept=intercept)
