"""What the support vector classifiers share: the fit of all boundaries and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import weight_norms
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import LabelledGram, RowsClassified, boundary_distances
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import (
    Training,
    class_weights,
    generator,
    prepare,
    require_whole,
)
from separatrix.estimators.base.support import Support
from separatrix.estimators.base.support_machine import SupportMachine
from separatrix.estimators.base.svc_fit import (
    SvcOptions,
    SvcState,
    all_boundaries,
    require_separable,
    solve_svc,
)
from separatrix.estimators.calibration import METHODS
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.vector_kernels import Linear
from separatrix.runtime.device import DEVICES, DevicePolicy, as_numpy, like, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import n_boundaries
from separatrix.solvers.svm.problem import GAP, LIBSVM, SvmFit
from separatrix.solvers.svm.stacked import FitNumbers, StackedFits
from separatrix.solvers.svm.takeover import solved_at_once
from separatrix.types import Codes, DeviceMatrix, Matrix, Vector
from separatrix.validation import require_flag

HOLD_BELOW = 4096  # samples whose kernel matrix takes no time worth limiting
HOLD_AT_MOST = 16384  # samples beyond which computing only the needed rows costs less
PROBABILITY = (
    "The `probability` parameter was deprecated in scikit-learn 1.9; use `calibration='sigmoid'` "
    "for `probability=True`"
)


@with_parameters
class SupportVectorClassifier(CallbackSupportMixin, TakesTensors, SupportMachine):
    """A kernel support vector classifier; its class adds C or nu to the parameters."""

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    shrinking: bool = flag(True)
    probability: Any = "deprecated"
    tol: float = real(1e-3, above=0)
    cache_size: float | None = real(None, above=0)
    class_weight: Any = None
    verbose: int = False
    max_iter: int = integer(-1, least=-1)
    decision_function_shape: str = choice("ovr", "ovo")
    break_ties: bool = flag(False)
    random_state: Any = None
    multi_class: str = choice("ovo", "ovr")
    stop: str = choice("kkt", "gap")
    calibration: str | None = choice(None, *METHODS)
    warm_start: bool = flag(False)
    time_limit: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)
    _make_gram = staticmethod(make_gram)  # an instance may have one that keeps kernel values

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        self._check_parameters()
        if self._precomputed and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; use X.toarray()")
        train = prepare(self, X, y, sample_weight, class_weight=self.class_weight)
        kernel = self._resolve_kernel(train.X)
        options = self._options().for_kernel(kernel, type(self).__name__)
        steps = options.progress_steps(len(train.classes))
        with monitored(self, train.X, train.y, steps=steps, task="step") as monitor:
            solve = partial(
                solve_svc,
                kernel=kernel,
                train=train,
                options=options,
                last_fits=getattr(self, "_fits", ()) if self.warm_start else (),
                random=partial(generator, self),
                monitor=monitor,
                make=self._make_gram,
            )
            state = run_on(self._training_policy(train.X, kernel), solve)
        self.kernel_, self.classes_, self.shape_fit_ = kernel, train.classes, tuple(train.X.shape)
        self._keep(train, state)
        warn_if_unfinished(type(self).__name__, options, state.fits)
        return self

    def classify_rows(
        self,
        data: LabelledGram,
        rows: Codes,
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix with a segment for each class, and classify all of them."""
        return next(self.classify_rows_many(data, [rows], monitor=monitor, threads=threads))

    def classify_rows_many(
        self,
        data: LabelledGram,  # rows in class order
        runs: Sequence[Codes],
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> Iterator[RowsClassified]:
        """`classify_rows` for each of many runs: all boundaries of all runs are solved together."""
        gram, y, n_classes = data
        options = self._options()._replace(threads=threads)
        p = n_boundaries(n_classes, self.multi_class)
        boxes = []
        for rows in runs:
            weights = np.zeros(len(y))
            weights[rows] = class_weights(self, self.class_weight, y[rows], np.arange(n_classes))
            options.require_feasible(weights, y, np.arange(n_classes))
            boxes.append(options.box(weights))
        on_gpu = isinstance(gram, DeviceMatrix)
        problems = all_boundaries(gram.segments, self.multi_class, boxes, on_gpu)
        all_fits = options.solve(gram, problems, monitor or FitMonitor())
        for number in range(len(runs)):
            fits = all_fits[number * p : (number + 1) * p]
            require_separable(fits)
            support = Support.of(fits, n_classes, self.multi_class, segments=gram.segments)
            S = support.scores_of(gram, np.arange(len(y)))
            n_iter = int(FitNumbers.of(fits).steps.max())
            how = (n_classes, self.multi_class, "lowest", n_iter, self._class_at_zero)
            yield RowsClassified(S, *how)

    def training_margins(self) -> tuple[Matrix, Matrix]:
        """Margin y f(x) and slack max(0, 1 - y f(x)) of every training row, each (n, p).

        NaN where a row takes no part in a pair. With two classes (n,).
        """
        check_is_fitted(self)
        require_whole(self, "training_margins")
        margins = np.full((self.shape_fit_[0], len(self.intercept_)), np.nan)
        for p, fit in enumerate(self._fits):
            margins[fit.rows, p] = fit.y * fit.scores
        if margins.shape[1] == 1:
            margins = margins[:, 0]
        return margins, np.maximum(0.0, 1.0 - margins)

    @available_if(lambda self: self._has_feature_space())
    def signed_distance(self, X: Any) -> Any:
        """Signed distance to the boundary in the feature space, |f| / |w|, shaped as `decision_function`.

        Of two classes (n,), positive on the side of the second. Where pairs vote, of each class the least
        distance to its boundaries, (n, k): positive if it wins them all. At each boundary: with
        multi_class="ovr", (n, k), or decision_function_shape="ovo", (n, k (k - 1) / 2), positive on the
        side of a pair's first class. NaN if a'Ka is below 0: the kernel is not positive semidefinite.
        """
        paired = self.multi_class == "ovo" and self.decision_function_shape == "ovr"
        S, k = as_numpy(self.boundary_scores(X)), len(self.classes_)
        return like(boundary_distances(S, self._norms(), k, paired=paired), X)

    def _norms(self) -> Vector:
        """|w| of each boundary, (p,): of the weights, of the fit, or in its absence of the support."""
        if isinstance(self.kernel_, Linear):
            return weight_norms(self.coef_)
        widths = self.__dict__.get("margin_width_")
        if widths is None:
            return self._weight_norms(self._support.columns().T)
        exists = np.isfinite(widths) | self.kernel_.positive_semidefinite
        return np.where(exists, 2.0 / widths, np.nan)

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        """As of other machines; what a CPU solves without kernel rows is no work for a GPU."""
        policy = super()._training_policy(X, *kernels, owner=owner)
        linear = all(type(kernel) is Linear for kernel in kernels)
        return replace(policy, large=policy.large and not (linear and solved_at_once(*X.shape)))

    def _options(self) -> SvcOptions:
        """The parameters of the fit; C and nu are those of the class."""
        return SvcOptions(
            C=1.0,
            multi_class=self.multi_class,
            tol=self.tol,
            stop=self.stop,
            max_iter=self.max_iter,
            calibration=self._method,
            memory=self._budget,
            threads=self._threads,
            hold_up_to=HOLD_AT_MOST if self.time_limit is None else HOLD_BELOW,
        )

    def _keep(self, train: Training, state: SvcState, vectors: Any = None) -> None:
        """Set the fitted attributes; `vectors` are the support vectors if the samples are not here."""
        order, fits = state.order, state.fits
        self._support, self._tolerance, self.gram_ = state.support, state.tolerance, state.gram
        for name in ("_ties", "_calibration"):  # of an earlier fit, or of a LIBSVM file
            self.__dict__.pop(name, None)
        if state.calibration is not None:
            self._calibration = state.calibration
        self.support_: Codes = order[state.support.rows].astype(np.int32)  # as scikit-learn's
        if vectors is None:
            precomputed = isinstance(self.kernel_, Precomputed)
            vectors = np.empty((0, 0)) if precomputed else train.X[like(self.support_, train.X)]
        self._keep_vectors(vectors)
        self._show_coefficients()
        first = np.searchsorted(train.y[order], np.arange(len(train.classes)))
        self.class_weight_ = train.class_weights[order][first]
        numbers = FitNumbers.of(fits)
        self.n_iter_ = numbers.steps.astype(np.int32)
        self.violation_, self.dual_gap_ = numbers.violations.copy(), numbers.gaps
        self.objective_, self.margin_width_ = numbers.dual.copy(), numbers.margin_widths
        self.stop_ = numbers.stops.tolist()
        self.fit_status_ = int(any(stop != "tol" for stop in self.stop_))
        if isinstance(fits, StackedFits):
            self._fits = fits.with_rows(order[fits.rows])
        else:
            self._fits = [fit._replace(rows=order[fit.rows]) for fit in fits]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.probability != "deprecated":
            require_flag(type(self).__name__, "probability", self.probability)
            warn_user(PROBABILITY, FutureWarning)


def warn_if_unfinished(name: str, options: SvcOptions, fits: Sequence[SvmFit]) -> None:
    """Warn of boundaries that missed their tolerance: what was reached, and what to change."""
    numbers = FitNumbers.of(fits)
    flat = int(np.count_nonzero(numbers.stops == "no margin"))
    if flat:
        warn_user(
            f"nu={options.nu:g} of {name} leaves no margin at {flat} of {len(fits)} boundaries, whose "
            "scores mean little: the classes overlap more than this share of margin errors allows; raise "
            "nu, or give a richer kernel",
            ConvergenceWarning,
        )
    late = np.flatnonzero(~np.isin(numbers.stops, ("tol", "no margin")))
    if not len(late):
        return
    first = numbers.stops[late[0]]
    met = numbers.violations[late].max() <= options.tol
    wide = options.stop != LIBSVM and (met or first in ("gap", "rounding"))
    by_gap = options.stop == "gap" or (wide and numbers.gaps[late].max() > max(options.tol, GAP))
    what = "relative duality gap" if by_gap else "violation"
    reached = (numbers.gaps if by_gap else numbers.violations)[late].max()
    wanted = max(options.tol, GAP) if by_gap and options.stop != "gap" else options.tol
    where = (
        f"{len(late)} of {len(fits)} boundaries ended with a {what} of up to {reached:.2g}, "
        f"wanted {wanted:g}"
    )
    if first == "max_iter":
        message = (
            f"Solver terminated early (max_iter={options.max_iter}).  Consider pre-processing your data "
            f"with StandardScaler or MinMaxScaler, or raise `max_iter`: {where}"
        )
    elif first == "stopped":
        message = f"{name} was stopped; raise `time_limit` for more: {where}"
    elif first == "gap":
        message = (
            f"{name} met its tolerance of the violation, but not of the duality gap; scale the features, "
            f"lower C or lower `tol`: {where}"
        )
    else:
        message = (
            f"{name} cannot come closer at this precision; scale the features, lower C or raise "
            f"`tol`: {where}"
        )
    warn_user(message, ConvergenceWarning)
