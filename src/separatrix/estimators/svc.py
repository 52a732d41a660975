"""The support vector machine as an estimator. The arithmetic is in `solvers/svm/smo.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError
from separatrix.estimators.base.kernel_machine import KernelMachine, TakesTensors, concatenate
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import RowsClassified, vote, winners
from separatrix.estimators.base.prepare import (
    Training,
    check_samples,
    class_weights,
    generator,
    prepare,
    require_whole,
    rollback_on_error,
)
from separatrix.estimators.base.support import Support, class_segments, stratified_folds
from separatrix.estimators.calibration import METHODS, Calibration, fit_calibration
from separatrix.kernels.base import FromCallable, Kernel, Precomputed
from separatrix.kernels.gram.host import make_gram
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.prepared import TOLERANCE
from separatrix.kernels.vector_kernels import Linear
from separatrix.runtime.device import (
    DEVICES,
    as_numpy,
    gpu_context,
    is_tensor,
    like,
    run_on,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.svm.smo import TICKS, SvmFit, SvmProblem, solve_svms
from separatrix.types import Codes, Gram, Matrix, Vector
from separatrix.validation import require_choice, require_flag, require_integer, require_real

FOLDS = 5  # of the margins that probabilities are learned from
HOLD_BELOW = 4096  # samples whose kernel matrix takes no time worth limiting
HOLD_AT_MOST = 16384  # samples beyond which the rows that are needed cost less than all
PROBABILITY = (
    "The `probability` parameter was deprecated in scikit-learn 1.9; `probability=True` is "
    "`calibration='sigmoid'` here"
)


class Explanation(NamedTuple):
    """The training rows that decided each prediction: the largest terms of its score."""

    predicted: Any  # shape: (m,); the predicted label
    rows: Codes  # shape: (m, terms); training rows, the largest term first
    labels: Any  # shape: (m, terms); their labels
    terms: Matrix  # shape: (m, terms); above 0: for the predicted class


class SVC(CallbackSupportMixin, TakesTensors, KernelMachine):
    """Support vector machine: the boundary with the widest margin in the feature space of a kernel.

    A drop-in for scikit-learn's `SVC`, exact to the same tolerance. All classes share one kernel
    matrix, both cores work, and the fit carries a certificate: how far every optimality condition
    is from being met, and the duality gap. Not for millions of samples; there, use `LinearSVC`.

    Parameters
    ----------
    C
        Weight of the loss, above 0. `inf` asks for a hard margin: the fit fails with a clear error
        where the classes cannot be separated.
    kernel, degree, gamma, coef0
        Any kernel of `separatrix.kernels`, or scikit-learn's names and their parameters.
    shrinking
        Without effect: rows that are not violated are never worked on.
    probability
        scikit-learn's deprecated name for `calibration="sigmoid"`.
    tol
        Stop when the optimality conditions are violated by no more than this (as LIBSVM), and the
        relative duality gap is at most the larger of tol and 1e-3 (while C k(x, x) <= 1000).
    cache_size
        Memory for kernel values in MB; by default 4096, or a quarter of the machine's if less; on a
        card nine tenths of what is free there.
    class_weight
        Factors of C for each class, as a dict or "balanced".
    verbose
        Above 0, a progress bar on stderr.
    max_iter
        Steps on two coefficients for each boundary, at most; -1 for no limit.
    decision_function_shape, break_ties
        As in scikit-learn.
    random_state
        Seed of the folds that probabilities are learned from.
    multi_class
        "ovo": one boundary for each pair of classes, most votes win. "ovr": one for each class
        against the rest, the highest score wins.
    stop
        "kkt": as said under tol. "gap": when the relative duality gap is at most tol.
    calibration
        None, "sigmoid" or "temperature": how `predict_proba` turns margins into probabilities.
    warm_start
        Begin from the coefficients of the last fit, where its labels were the same.
    time_limit
        Seconds after which to stop with what was learned so far.
    n_jobs
        Threads, -1 or None for all cores.
    device
        "auto": a card where there is one and the work is worth it, "cpu", or "cuda": an error where
        that cannot be. Tensors that lie on a card are worked on there, and answered with tensors.

    Attributes
    ----------
    classes_, kernel_, class_weight_, shape_fit_, n_features_in_
        Labels, (k,), the kernel object in use, the weight of each class, the shape of X.
    support_, support_vectors_, n_support_
        Rows with a coefficient, by class, (s,); those samples; how many of each class, (k,).
    dual_coef_, intercept_, coef_
        Coefficients in scikit-learn's layout, (k - 1, s), or (k, s) against the rest; biases, (p,);
        weights, (p, d), of a linear kernel.
    n_iter_, fit_status_
        Steps on each boundary, (p,); 0, or 1 where a fit stopped before its tolerance.
    violation_, dual_gap_, objective_
        The certificate of each boundary, (p,): largest violation of the optimality conditions,
        relative duality gap (P - D) / max(|P|, 1), dual objective.
    margin_width_
        2 / |w| of each boundary, (p,): the distance between the two margins.
    stop_
        Why each boundary's fit ended: "tol", "max_iter", "stopped" or "stalled".
    gram_
        In words: the form and precision of the kernel matrix that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SVC(C=10, gamma=0.001).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.97
    >>> bool(model.violation_.max() <= 1e-3)
    True

    References
    ----------
    Cortes and Vapnik, Support-Vector Networks, Machine Learning 20 (1995). Fan, Chen and Lin, Working
    Set Selection Using Second Order Information, JMLR 6 (2005).
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float | None = None,
        class_weight: Any = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        stop: str = "kkt",
        calibration: str | None = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.stop = stop
        self.calibration = calibration
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.device = device

    @with_callbacks
    @rollback_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        self._check_parameters()
        if self._precomputed and issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; use X.toarray()")
        train = prepare(self, X, y, sample_weight, class_weight=self.class_weight)
        kernel = resolve_kernel(
            type(self).__name__, self.kernel, train.X, **self._kernel_parameters()
        )
        place = self._place(train.X, train.X.shape[0], kernel=kernel)
        self.__dict__.pop("_on_card", None)
        start = self._last_coefficients(train)
        boundaries = coding(len(train.classes), self.multi_class).shape[1]
        steps = boundaries * TICKS * (FOLDS + 1 if self._method else 1)
        with monitored(self, train.X, train.y, steps=steps, task="step") as monitor:
            order = class_order(train.y, len(train.classes))
            support, fits, used = run_on(
                type(self).__name__,
                self.device,
                place,
                lambda place: self._solved(kernel, train, order, start, monitor, place),
            )
        self.kernel_, self.classes_, self.shape_fit_ = kernel, train.classes, tuple(train.X.shape)
        self._keep(train, order, support, fits, used)
        self._warn_if_unfinished(fits)
        return self

    def _solved(
        self,
        kernel: Kernel,
        train: Training,
        order: Codes,
        start: list[Vector] | None,
        monitor: FitMonitor,
        place: Any,
    ) -> tuple[Support, list[SvmFit], Any]:
        """All boundaries, and probabilities where they are wanted, worked out in one place: that too."""
        k = len(train.classes)
        sides = coding(k, self.multi_class)
        box = self._times_C(train.weights * train.class_weights)[order]
        self._exact = bool(np.isinf(self.C))
        gram = self._sorted_gram(kernel, train.X, train.y, order, place)
        fits = self._solve(gram, sides, box, start, monitor)
        if gram.dtype != np.float64 and gram.error * _largest_norm(fits) > self.tol:
            # errors of kernel values add up to more than the tolerance: once more, in float64
            self._exact = True
            del gram  # room for the next
            gram = self._sorted_gram(kernel, train.X, train.y, order, place)
            fits = self._solve(gram, sides, box, [fit.alpha for fit in fits], monitor)
        self.gram_ = repr(gram)
        self._refuse_unseparable(fits)
        support = Support.of(fits, k, self.multi_class, segments=gram.segments)
        if self._method:
            self._calibration = self._calibrated(gram, train, order, box, support, monitor)
        return support, fits, place

    def decision_function(self, X: Any) -> Matrix:
        """Confidence in each class, (n, k), or in the second of two, (n,).

        With `decision_function_shape="ovo"` the score at each pair's boundary, (n, k (k - 1) / 2).
        """
        values: Matrix = like(self._values(self._scored(X)), X)
        return values

    def boundary_scores(self, X: Any) -> Matrix:
        """Score of each sample at each of the p boundaries, positive on the first class's side."""
        S: Matrix = like(self._scored(X), X)
        return S

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,): most votes, the lowest index among equals."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return like(self.classes_[as_numpy(self._codes(self._scored(X)))], X)

    @available_if(lambda self: self._offers_probabilities())
    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, (n, k). The most likely one is what `predict` says."""
        check_is_fitted(self)
        if not hasattr(self, "_calibration"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False or calibration=None; "
                "fit again"
            )
        S = as_numpy(self._scored(X))
        P: Matrix = like(self._calibration.probabilities(S, self._codes(S)), X)
        return P

    @available_if(lambda self: self._offers_probabilities())
    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithm of `predict_proba`, (n, k)."""
        P: Matrix = self.predict_proba(X)
        logarithms: Matrix = like(np.log(as_numpy(P)), X)
        return logarithms

    def explain(self, X: Any, n_terms: int = 5) -> Explanation:
        """Which training rows decided each prediction: the largest terms of the predicted class's sum.

        The score of a class is the sum over its boundaries, each pointing to its side.
        """
        check_is_fitted(self)
        require_integer(type(self).__name__, "n_terms", n_terms, least=1)
        checked = self._checked(X)
        n_terms = min(n_terms, len(self.support_))
        coef = self._support.by_class()  # (k, s)

        def largest_terms(K: Any) -> tuple[Codes, Codes, Matrix]:
            K = as_numpy(K)
            codes = self._codes(self._support.scores(K))
            terms = K * coef[codes]
            largest = np.argsort(-np.abs(terms), axis=1, kind="stable")[:, :n_terms]
            return codes, largest, np.take_along_axis(terms, largest, axis=1)

        found = self._from_kernel_values(checked, lambda blocks: [largest_terms(K) for K in blocks])
        codes, places, terms = (np.concatenate(part) for part in zip(*found, strict=True))
        labels = self.classes_[self._support.classes[places]]
        parts = (self.classes_[codes], self.support_[places], labels, terms)
        return Explanation(*(like(part, X) for part in parts))

    def classify_rows(
        self,
        gram: Gram,
        y: Codes,  # shape: (n,); rising: rows lie in class order
        rows: Codes,
        *,
        n_classes: int,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix with a segment for each class, and classify all of them."""
        many = self.classify_rows_many(
            gram, y, [rows], n_classes=n_classes, monitor=monitor, threads=threads
        )
        return next(many)

    def classify_rows_many(
        self,
        gram: Gram,
        y: Codes,  # shape: (n,); rising: rows lie in class order
        runs: Sequence[Codes],
        *,
        n_classes: int,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> Iterator[RowsClassified]:
        """`classify_rows` for each of many runs: all boundaries of all runs are solved together."""
        sides = coding(n_classes, self.multi_class)
        boxes = [self._box_of(y, rows, n_classes) for rows in runs]
        problems = [SvmProblem(side, box) for box in boxes for side in sides.T]
        all_fits = self._solved_problems(gram, problems, monitor or FitMonitor(), threads)
        everyone = np.arange(len(y))
        for number in range(len(runs)):
            fits = all_fits[number * sides.shape[1] : (number + 1) * sides.shape[1]]
            self._refuse_unseparable(fits)
            support = Support.of(fits, n_classes, self.multi_class, segments=gram.segments)
            S = support.scores_of(gram, everyone)
            n_iter = max(fit.n_iter for fit in fits)
            yield RowsClassified(S, n_classes, self.multi_class, "lowest", n_iter)

    def _box_of(self, y: Codes, rows: Codes, n_classes: int) -> Vector:
        """The bounds of all rows where some of them train."""
        weights = np.zeros(len(y))
        weights[rows] = class_weights(self, self.class_weight, y[rows], np.arange(n_classes))
        return self._times_C(weights)

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

    @property
    def coef_(self) -> Any:
        """Weights of a linear kernel, (p, d)."""
        if not self._linear:
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
    def _linear(self) -> bool:
        return isinstance(getattr(self, "kernel_", None), Linear)

    @property
    def _method(self) -> str | None:
        """How probabilities are learned, if at all."""
        if self.calibration is None and self.probability not in (False, "deprecated"):
            return "sigmoid"
        return self.calibration

    def _offers_probabilities(self) -> bool:
        if self._method is None:
            raise AttributeError("predict_proba is not available when calibration=None")
        return True

    def _scored(self, X: Any) -> Any:
        """Scores at the boundaries, (m, p), where they were computed: NumPy, or a tensor on a card."""
        check_is_fitted(self)
        scores = self._support.scores
        return self._from_kernel_values(
            self._checked(X), lambda blocks: concatenate([scores(K) for K in blocks])
        )

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

    def _checked(self, X: Any) -> Any:
        X = check_samples(self, X, reset=False)
        if len(self.support_) != self.n_support_.sum() or (
            not isinstance(self.kernel_, Precomputed)
            and self.support_vectors_.shape[0] != len(self.support_)
        ):
            raise DataError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _sorted_gram(self, kernel: Any, X: Any, y: Codes, order: Codes, place: Any = None) -> Gram:
        """The kernel matrix with rows in class order, one segment for each class."""
        return make_gram(
            kernel,
            as_numpy(X) if place is None else X,
            memory=self._budget,
            order=order,
            segments=class_segments(y[order], int(y.max()) + 1),
            tolerance=self._kernel_tolerance,
            threads=self._threads,
            hold=len(order) <= (HOLD_AT_MOST if self.time_limit is None else HOLD_BELOW),
            device=place,
        )

    @property
    def _kernel_tolerance(self) -> float:
        """How far off kernel values may be: as float64 is, where that was found to be needed."""
        return 1e-12 if getattr(self, "_exact", False) else min(self.tol, TOLERANCE)

    def _times_C(self, weights: Vector) -> Vector:
        """The box of each row: C times its weight, 0 where that is 0 though C be infinite."""
        return np.where(weights > 0, self.C, 0.0) * np.where(weights > 0, weights, 1.0)

    def _solve(
        self,
        gram: Gram,
        sides: Any,
        box: Vector,
        start: list[Vector] | None,
        monitor: FitMonitor,
    ) -> list[SvmFit]:
        problems = [
            SvmProblem(sides[:, p], box, None if start is None else start[p])
            for p in range(sides.shape[1])
        ]
        return self._solved_problems(gram, problems, monitor, self._threads)

    def _solved_problems(
        self, gram: Gram, problems: list[SvmProblem], monitor: FitMonitor, threads: int
    ) -> list[SvmFit]:
        return solve_svms(
            gram,
            problems,
            tol=self.tol,
            stop=self.stop,
            max_iter=self.max_iter,
            monitor=monitor,
            threads=threads,
        )

    def _calibrated(
        self,
        gram: Gram,
        train: Training,
        order: Codes,
        box: Vector,
        support: Support,
        monitor: FitMonitor,
    ) -> Calibration:
        """Probabilities from the scores of rows that were left out, fold by fold."""
        method, k = self._method, len(train.classes)
        assert method is not None
        y = train.y[order]
        weights = (train.weights * train.class_weights)[order]
        folds = stratified_folds(y, box > 0, FOLDS, generator(self))
        sides = coding(k, self.multi_class)
        S: Matrix = np.zeros((len(y), sides.shape[1]))
        if folds is None:
            warn_user(
                "a class has fewer than 2 samples: probabilities are learned from the margins of "
                "samples that were trained on, and are too sure of themselves"
            )
            S = as_numpy(support.scores_of(gram, np.arange(len(y))))
            return fit_calibration(method, S, y, weights, k, self.multi_class)
        for held_out in folds:
            inside = box.copy()
            inside[held_out] = 0.0
            fits = self._solve(gram, sides, inside, support.alphas(gram.segments), monitor)
            if method == "temperature":
                left = Support.of(fits, k, self.multi_class, segments=gram.segments)
                S[held_out] = as_numpy(left.scores_of(gram, held_out))
                continue
            for p, fit in enumerate(fits):  # a sigmoid is learned from its own two classes alone
                left_out = fit.box == 0
                S[fit.rows[left_out], p] = fit.scores[left_out]
        return fit_calibration(method, S, y, weights, k, self.multi_class)

    def _keep(
        self, train: Training, order: Codes, support: Support, fits: list[SvmFit], place: Any
    ) -> None:
        self._support, self._last = support, (self.multi_class, train.y.tobytes())
        self.__dict__.pop("_ties", None)  # of a file of LIBSVM
        self.support_: Codes = order[support.rows].astype(np.int32)  # as scikit-learn's
        precomputed = isinstance(self.kernel_, Precomputed)
        vectors = np.empty((0, 0)) if precomputed else train.X[like(self.support_, train.X)]
        self.support_vectors_ = as_numpy(vectors)
        if is_tensor(vectors) and place is not None and len(vectors):
            with gpu_context(type(self).__name__, place):
                self._keep_on(place, self.support_vectors_, vectors)
        self._show_coefficients()
        first = np.searchsorted(train.y[order], np.arange(len(train.classes)))
        self.class_weight_ = train.class_weights[order][first]
        self.n_iter_ = np.array([fit.n_iter for fit in fits], dtype=np.int32)
        self.violation_ = np.array([fit.violation for fit in fits])
        self.dual_gap_ = np.array([fit.gap for fit in fits])
        self.objective_ = np.array([fit.dual for fit in fits])
        self.margin_width_ = np.array([fit.margin_width for fit in fits])
        self.stop_ = [fit.stop for fit in fits]
        self.fit_status_ = int(any(stop != "tol" for stop in self.stop_))
        self._fits = [fit._replace(rows=order[fit.rows]) for fit in fits]

    def _show_coefficients(self) -> None:
        """The coefficients and biases as scikit-learn has them."""
        sparse = issparse(self.support_vectors_) and not isinstance(self.kernel_, FromCallable)
        coef = self._support.coef
        self.dual_coef_ = csr_array(coef) if sparse else coef
        self.intercept_ = self._support.intercept.copy()

    def _last_coefficients(self, train: Training) -> list[Vector] | None:
        """Coefficients of the last fit for each boundary, where that was on the same labels."""
        if not self.warm_start or not hasattr(self, "_last"):
            return None
        if self._last != (self.multi_class, train.y.tobytes()):
            return None
        y = np.sort(train.y)
        return self._support.alphas(class_segments(y, len(train.classes)))

    def _refuse_unseparable(self, fits: list[SvmFit]) -> None:
        if any(fit.stop == "not separable" for fit in fits):
            raise DataError(
                "C=inf asks for a hard margin, but the classes cannot be separated (or only by a margin "
                "below a millionth of their size); give a finite C, a richer kernel, or check the labels"
            )

    def _warn_if_unfinished(self, fits: list[SvmFit]) -> None:
        name = type(self).__name__
        late = [fit for fit in fits if fit.stop != "tol"]
        if not late:
            return
        reached = max(fit.gap if self.stop == "gap" else fit.violation for fit in late)
        what = "relative duality gap" if self.stop == "gap" else "violation"
        where = (
            f"{len(late)} of {len(fits)} boundaries ended with a {what} of up to {reached:.2g}, "
            f"wanted {self.tol:g}"
        )
        if late[0].stop == "max_iter":
            said = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data "
                f"with StandardScaler or MinMaxScaler, or raise `max_iter`: {where}"
            )
        elif late[0].stop == "stopped":
            said = f"{name} was told to stop; raise `time_limit` for more: {where}"
        else:
            said = (
                f"{name} cannot come closer with numbers of this size; scale the features, lower C or "
                f"raise `tol`: {where}"
            )
        warn_user(said, ConvergenceWarning)

    def _kernel_parameters(self) -> dict[str, Any]:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def _check_parameters(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.C, Real) and np.isposinf(float(self.C))):
            require_real(name, "C", self.C, above=0)
        require_real(name, "tol", self.tol, above=0)
        require_integer(name, "max_iter", self.max_iter, least=-1)
        require_choice(name, "multi_class", self.multi_class, ("ovo", "ovr"))
        require_choice(
            name, "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
        )
        require_choice(name, "stop", self.stop, ("kkt", "gap"))
        require_choice(name, "calibration", self.calibration, (None, *METHODS))
        require_choice(name, "device", self.device, DEVICES)
        for flag in ("shrinking", "break_ties", "warm_start"):
            require_flag(name, flag, getattr(self, flag))
        if self.time_limit is not None:
            require_real(name, "time_limit", self.time_limit, above=0)
        if self.probability != "deprecated":
            require_flag(name, "probability", self.probability)
            warn_user(PROBABILITY, FutureWarning)
        self._check_resources()


def class_order(y: Codes, n_classes: int) -> Codes:
    """Rows by class, in their own order within each.

    >>> class_order(np.array([1, 0, 1]), 2).tolist()
    [1, 0, 2]
    """
    narrow = y.astype(np.uint16) if n_classes < 2**16 else y  # sorted by digits, not by comparing
    return np.argsort(narrow, kind="stable")


def _largest_norm(fits: list[SvmFit]) -> float:
    """Largest Euclidean norm of a boundary's coefficients: independent errors add up by that."""
    return float(max(np.sqrt(np.sum(fit.alpha**2)) for fit in fits))
