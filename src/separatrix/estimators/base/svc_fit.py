"""The fit of a support vector classifier: all boundaries and, if wanted, their calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.data.splits import stratified_folds
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.prepare import Training
from separatrix.estimators.base.support import Support, class_segments, with_weights
from separatrix.estimators.base.svc_certificate import (
    EXACT,
    CertifiedFits,
    Goal,
    SolvedData,
    certify_fits,
    has_weights,
    is_far,
)
from separatrix.estimators.calibration import Calibration, fit_calibration
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.prepared import TOLERANCE
from separatrix.kernels.vector_kernels import CentredLinear
from separatrix.runtime.device import as_numpy, beside_other_work
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import ClassSides, n_boundaries
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.nu import solve_nu_svms
from separatrix.solvers.svm.problem import LIBSVM, ROUNDING, RowLayout, SvmFit, SvmProblem, ticks_of
from separatrix.solvers.svm.stacked import FitNumbers, StackedFits, StackedProblems
from separatrix.types import Codes, DeviceMatrix, Flags, Gram, Matrix, Vector

FOLDS = 5  # of the scores that probabilities are learned from
HELD_ROWS = 1200  # a matrix of so many rows costs as much as the rounds of one boundary without it


class SvcOptions(NamedTuple):
    """The parameters of a fit."""

    C: float
    multi_class: str  # "ovo" or "ovr"
    tol: float
    stop: str  # "kkt" or "gap"
    max_iter: int
    calibration: str | None  # None, "sigmoid" or "temperature"
    memory: int | None
    threads: int
    hold_up_to: int  # samples up to which the full kernel matrix may be computed first
    nu: float | None = None  # of a nu-SVC, whose C is 1

    def progress_steps(self, n_classes: int) -> int:
        """Progress steps of a fit."""
        fits = FOLDS + 1 if self.calibration else 1
        n_problems = n_boundaries(n_classes, self.multi_class)
        return n_problems * ticks_of(n_problems) * fits

    def for_kernel(self, kernel: Kernel, owner: str) -> SvcOptions:
        """Without a duality gap the violation alone decides."""
        if kernel.positive_semidefinite:
            return self
        if self.stop == "gap":
            must_be = f"'kkt' with {kernel!r}, whose problem has no duality gap"
            raise ParameterError(owner, "stop", must_be, self.stop)
        return self._replace(stop=LIBSVM)

    def kernel_tolerance(self) -> float:
        """Upper bound of the error of kernel values, before the coefficients are known."""
        return EXACT if np.isinf(self.C) else min(self.tol, TOLERANCE)

    def computes_all(self, n: int, n_classes: int) -> bool:
        """Whether to compute the full kernel matrix of n samples first, not its rows when needed.

        That costs n^2 values, most of which are never used; without it every round of every boundary
        goes through Python.
        """
        n_problems = n_boundaries(n_classes, self.multi_class)
        return bool(n <= min(self.hold_up_to, HELD_ROWS * n_problems**0.5))

    def box(self, weights: Vector) -> Vector:
        """Upper bound of each coefficient: C times weight; 0 for zero weights, even if C is infinite."""
        with np.errstate(over="ignore"):  # a product beyond float64 asks for a hard margin
            return np.where(weights > 0, self.C, 0.0) * np.where(weights > 0, weights, 1.0)

    def solve(
        self, gram: Gram, problems: Sequence[SvmProblem], monitor: FitMonitor
    ) -> Sequence[SvmFit]:
        """Solve binary problems over a Gram matrix."""
        solve = solve_svms if self.nu is None else partial(solve_nu_svms, nu=self.nu)
        return solve(
            gram,
            problems,
            tol=self.tol,
            stop=self.stop,
            max_iter=self.max_iter,
            monitor=monitor,
            threads=self.threads,
        )

    def scales(self, fits: Sequence[SvmFit], box: Vector) -> Vector | None:
        """The margins that coefficients of nu-SVCs were divided by, (p,)."""
        if self.nu is None:
            return None
        first = [int(np.argmax(fit.box > 0)) for fit in fits]
        return np.array([box[fit.rows[i]] / fit.box[i] for fit, i in zip(fits, first, strict=True)])

    def require_feasible(self, weights: Vector, y: Codes, classes: Any) -> None:
        """Refuse a nu that the smaller side of a boundary cannot hold."""
        if self.nu is None:
            return
        sides = ClassSides.for_scheme(len(classes), self.multi_class)
        total = np.bincount(y, weights, minlength=len(classes))[sides.classes]
        plus, minus = (
            np.add.reduceat(np.where(sides.sides == side, total, 0.0), sides.starts[:-1])
            for side in (1, -1)
        )
        both = plus + minus
        most = 2.0 * np.minimum(plus, minus) / np.where(both > 0, both, 1.0)
        infeasible = np.flatnonzero(self.nu > most * (1.0 + ROUNDING))
        if len(infeasible):
            p = infeasible[0]
            smaller = np.flatnonzero(sides.codes(p) == (1 if plus[p] < minus[p] else -1))
            raise DataError(
                f"specified nu is infeasible: nu={self.nu:g}, and the boundary of "
                f"{classes[smaller].tolist()} allows at most {most[p]:g}, twice the share of the "
                "smaller side; lower nu, or use class_weight='balanced'"
            )


class SvcState(NamedTuple):
    """A fitted support vector classifier; rows are in class order."""

    order: Codes  # shape: (n,); training rows by class
    support: Support
    fits: Sequence[SvmFit]  # one for each boundary
    calibration: Calibration | None
    gram: str  # form and precision of the kernel matrix
    tolerance: float  # of kernel values at prediction


def solve_svc(
    device: Any,
    kernel: Kernel,
    train: Training,
    options: SvcOptions,
    last_fits: Sequence[SvmFit],
    random: Callable[[], np.random.Generator],
    monitor: FitMonitor,
    make: Callable[..., Gram] = make_gram,
) -> SvcState:
    """Solve all boundaries of a support vector classifier.

    Problem
        for each boundary of the coding: `solve_svms` on the kernel matrix of the training set

    Given
        device     a torch device, or None for NumPy
        kernel     the kernel object
        train      samples, class codes and weights
        options    the estimator's parameters
        last_fits  fits of an earlier call to start from: rows of X are those of that call, or follow them
        random     makes the generator of the calibration folds
        monitor    progress, time limit and cancellation
        make       makes the kernel matrix

    Returns the support vectors, the fit of each boundary and the calibration. If float32 kernel values
    miss the tolerance for the samples as given, the problems are solved again in float64. A linear
    kernel of dense samples far from the origin is computed about their mean, which the intercept
    absorbs; fits are about it too, the intercepts of the support are not. Others are computed as
    sparse samples are, or a matrix of theirs: so all three take the same steps.

    Reference: Cortes and Vapnik, Support-Vector Networks, Machine Learning 20 (1995).
    """
    options.require_feasible(train.weights * train.class_weights, train.y, train.classes)
    k, order = len(train.classes), _trained_order(train)
    weights = (train.weights * train.class_weights)[order]
    box = options.box(weights)
    X = train.X if device is not None else as_numpy(train.X)
    segments = class_segments(train.y[order], k)

    weighted = has_weights(kernel, X)
    centred = weighted and not issparse(X) and is_far(X)

    def build_gram(tolerance: float) -> Gram:
        return make(
            CentredLinear() if centred else kernel,
            X,
            memory=options.memory,
            order=order,
            segments=segments,
            tolerance=tolerance,
            threads=options.threads,
            hold=options.computes_all(len(order), k),
            device=device,
            monitor=monitor,
        )

    def certify(gram: Gram, fits: Sequence[SvmFit]) -> CertifiedFits:
        goal = Goal.of(options.tol, options.stop, kernel)
        data = SolvedData(
            kernel, X, order, goal, scales=options.scales(fits, box), threads=options.threads
        )
        return certify_fits(data, gram, fits, support_of(fits) if weighted else None)

    def support_of(fits: Sequence[SvmFit]) -> Support:
        support = Support.of(fits, k, options.multi_class, segments=segments)
        return with_weights(support, fits, X, order) if weighted else support

    problems = all_boundaries(segments, options.multi_class, [box], device is not None)
    with beside_other_work(device):
        gram, (fits, intercepts), tolerance = solve_in_precision(
            build_gram,
            problems,
            options,
            lambda gram: _last_starts(problems, last_fits, gram, order),
            certify,
            monitor,
        )
        support = support_of(fits)
        calibration = None
        if options.calibration:
            y = train.y[order]
            calibration = _calibrate(gram, y, weights, box, support, options, random(), monitor)
        support = replace(support, intercept=intercepts)
        return SvcState(order, support, fits, calibration, repr(gram), tolerance)


def solve_in_precision(
    build_gram: Callable[[float], Gram],
    problems: Sequence[SvmProblem],
    options: SvcOptions,
    starts: Callable[[Gram], Sequence[Vector] | None],
    certify: Callable[[Gram, Sequence[SvmFit]], CertifiedFits],
    monitor: FitMonitor,
) -> tuple[Gram, CertifiedFits, float]:
    """Solve problems over a Gram matrix; again in float64 if float32 values miss the tolerance.

    `build_gram` makes the matrix with a tolerance of its values, `starts` the initial coefficients, and
    `certify` the certificates. Returns the matrix, the certified fits and the tolerance.
    """
    tolerance = options.kernel_tolerance()
    gram = build_gram(tolerance)
    fits = options.solve(gram, _with_start(problems, starts(gram)), monitor)
    require_separable(fits)
    certified = certify(gram, fits)
    missed = np.isin(FitNumbers.of(certified.fits).stops, ("gap", "rounding", "stalled"))
    if gram.dtype == np.float64 or not missed.any():
        require_separable(certified.fits)
        return gram, certified, tolerance
    if monitor.should_stop():
        certified = certified._replace(fits=_stopped(certified.fits, missed))
    else:
        tolerance = EXACT
        del gram  # frees memory for the next one
        gram = build_gram(tolerance)
        again = options.solve(gram, _from_rough(problems, fits), monitor)
        certified = certify(gram, _with_steps_of(again, fits))
        require_separable(certified.fits)
    return gram, certified, tolerance


def _stopped(fits: Sequence[SvmFit], which: Flags) -> Sequence[SvmFit]:
    """Fits of which some had no time left for what they miss."""
    if isinstance(fits, StackedFits):
        numbers = FitNumbers.of(fits)
        stops = np.where(which, "stopped", numbers.stops)
        return fits.with_certificates(numbers.violations, numbers.gaps, stops)
    pairs = zip(fits, which, strict=True)
    return [fit._replace(stop="stopped") if late else fit for fit, late in pairs]


def _from_rough(problems: Sequence[SvmProblem], fits: Sequence[SvmFit]) -> Sequence[SvmProblem]:
    """The problems with the coefficients of fits to other kernel values."""
    if isinstance(problems, StackedProblems):
        return problems.again(problems.boxes, StackedFits.of(fits).alpha, None)
    return [
        problem._replace(start=fit.alpha, start_errors=fit.errors, rough=True)
        for problem, fit in zip(problems, fits, strict=True)
    ]


def _with_steps_of(fits: Sequence[SvmFit], before: Sequence[SvmFit]) -> Sequence[SvmFit]:
    """Fits that count the steps of earlier ones too."""
    if isinstance(fits, StackedFits):
        return fits.with_steps(fits.steps + FitNumbers.of(before).steps)
    return [
        fit._replace(n_iter=fit.n_iter + earlier.n_iter)
        for fit, earlier in zip(fits, before, strict=True)
    ]


def require_separable(fits: Sequence[SvmFit]) -> None:
    """Refuse a hard margin on classes that no boundary separates.

    A finite C has a solution whatever the samples: an infinite gap there only says that rounding hides it.
    """
    numbers = FitNumbers.of(fits)
    missed = np.isin(numbers.stops, ("gap", "rounding")) & np.isinf(numbers.gaps)
    for p in np.flatnonzero(missed).tolist():
        missed[p] = np.isinf(fits[p].box).any()
    if np.any((numbers.stops == "not separable") | missed):
        raise DataError(
            "C=inf asks for a hard margin, but the classes cannot be separated (or only by a margin "
            "below a millionth of their size); give a finite C, a richer kernel, or check the labels"
        )


def class_order(y: Codes, n_classes: int) -> Codes:
    """Rows by class, in their own order within each.

    >>> class_order(np.array([1, 0, 1]), 2).tolist()
    [1, 0, 2]
    """
    narrow = y.astype(np.uint16) if n_classes < 2**16 else y  # radix sort
    return np.argsort(narrow, kind="stable")


def _trained_order(train: Training) -> Codes:
    """Rows by class without those of weight 0, as no boundary needs them; all if a class has no others."""
    k, order = len(train.classes), class_order(train.y, len(train.classes))
    trained: Codes = order[(train.weights * train.class_weights)[order] > 0]
    return trained if np.bincount(train.y[trained], minlength=k).all() else order


def _last_starts(
    problems: Sequence[SvmProblem], last_fits: Sequence[SvmFit], gram: Gram, order: Codes
) -> list[Vector] | None:
    """Coefficients of earlier fits for the rows that those were on, 0 for others.

    None if a boundary has no such row, or if one is on another side now.
    """
    if len(last_fits) != len(problems):
        return None
    diagonal = np.zeros(len(order))
    starts: list[Vector] = []
    n = 1 + max(int(part.max(initial=0)) for part in (order, *(fit.rows for fit in last_fits)))
    for problem, fit in zip(problems, last_fits, strict=True):
        layout = RowLayout.of(gram, problem.sides, diagonal)
        own = order[layout.rows]
        sides, alpha = np.zeros(n), np.zeros(n)
        sides[fit.rows], alpha[fit.rows] = fit.y, fit.alpha
        known = sides[own] != 0
        if not known.any() or (sides[own] != layout.y)[known].any():
            return None
        starts.append(alpha[own])
    return starts


def all_boundaries(
    segments: tuple[slice, ...], scheme: str, boxes: Sequence[Vector], on_gpu: bool
) -> Sequence[SvmProblem]:
    """The problems of all boundaries for the first upper bounds, then for the next."""
    sides = ClassSides.for_scheme(len(segments), scheme)
    problems = StackedProblems.for_each(segments, sides, boxes)
    return list(problems) if on_gpu else problems  # a GPU needs no list of all their rows


def _with_start(
    problems: Sequence[SvmProblem], alphas: Sequence[Vector] | None
) -> Sequence[SvmProblem]:
    if alphas is None:
        return problems
    if isinstance(problems, StackedProblems):
        return problems.again(problems.boxes, np.concatenate(alphas), None)
    return [problem._replace(start=a) for problem, a in zip(problems, alphas, strict=True)]


def _calibrate(
    gram: Gram,
    y: Codes,
    weights: Vector,
    box: Vector,
    support: Support,
    options: SvcOptions,
    rng: np.random.Generator,
    monitor: FitMonitor,
) -> Calibration:
    """Learn probabilities from the scores of held-out rows, fold by fold."""
    method, scheme = options.calibration, options.multi_class
    assert method is not None
    k = len(gram.segments)
    S: Matrix = np.zeros((len(y), n_boundaries(k, scheme)))
    trained = np.flatnonzero(box > 0)
    if np.bincount(y[trained], minlength=k).min() < 2:
        warn_user(
            "a class has fewer than 2 samples: probabilities are learned from the scores of training "
            "samples, and are overconfident"
        )
        S = as_numpy(support.scores_of(gram, np.arange(len(y))))
        return fit_calibration(method, S, y, weights, k, scheme)
    start = support.alphas(gram.segments)
    folds = stratified_folds(
        y[trained], folds=min(FOLDS, len(trained)), seed=int(rng.integers(2**32))
    )
    for fold in folds:
        held_out = trained[fold.test]
        inside = box.copy()
        inside[held_out] = 0.0
        problems = all_boundaries(gram.segments, scheme, [inside], isinstance(gram, DeviceMatrix))
        fits = options.solve(gram, _with_start(problems, start), monitor)
        if method == "temperature":
            left = Support.of(fits, k, scheme, segments=gram.segments)
            S[held_out] = as_numpy(left.scores_of(gram, held_out))
            continue
        stacked = StackedFits.of(fits)
        left_out = stacked.box == 0  # a sigmoid is learned from its own two classes alone
        number = stacked.of_rows(np.arange(len(stacked)))[left_out]
        S[stacked.rows[left_out], number] = stacked.scores[left_out]
    return fit_calibration(method, S, y, weights, k, scheme)
