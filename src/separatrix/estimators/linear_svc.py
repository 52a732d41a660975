"""Linear support vector machines; `solvers/linear_svm` computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.device_samples import require_room, sample_policy
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import (
    SolvedMachine,
    margin_widths,
    starting_point,
)
from separatrix.estimators.base.linear_plan import SolverPlan, plan_solver
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import Training, generator, prepare
from separatrix.runtime.device import DEVICES, as_numpy, as_tensor, run_on
from separatrix.runtime.device_rows import to_device
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.linear_svm.crammer_singer import solve_crammer_singer
from separatrix.solvers.linear_svm.dual_descent import (
    LinearFit,
    LinearProblem,
    LinearSamples,
    solve_dual,
)
from separatrix.solvers.linear_svm.hinge import solve_hinge
from separatrix.solvers.linear_svm.joint_newton import solve_newton_jointly
from separatrix.solvers.linear_svm.l1_penalty import columns_of, solve_l1
from separatrix.solvers.linear_svm.margin_certificate import certify_classes, certify_weights
from separatrix.solvers.linear_svm.offset import NearSamples, take_offset
from separatrix.solvers.linear_svm.primal_newton import solve_newton
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_choice, require_real

PASSES_TOGETHER = 100_000  # of "crammer_singer" from the usual max_iter on: LIBLINEAR's limit
USUAL_PASSES = 1000
GAP, STRICTER = 1e-3, 4  # largest relative duality gap; tolerances tried for it, each a tenth
DENSE_ENOUGH = 0.25  # density from which sparse samples are converted to dense ones


class LinearSolution(NamedTuple):
    """The solutions of all boundaries."""

    coef: Matrix  # shape: (p, d)
    intercept: Vector  # shape: (p,)
    objective: Vector  # shape: (p,), or (1,) where all classes are learned together
    gap: Vector
    violation: Vector
    n_iter: int
    stops: list[str]
    rounding: Vector | float = 0.0  # part of the gap that stands for rounding


@with_parameters
class LinearSVC(CallbackSupportMixin, TakesTensors, SolvedMachine):
    """Linear support vector machine.

    Minimises |w|^2 / 2 + C sum of loss(y (<w, x> + b)), by default with the bias as the weight of a
    constant feature, penalised like the others, as in scikit-learn. Several classes make one
    boundary for each class against the rest. Coordinate descent in the dual is fast for more features
    than samples, Newton's method in the primal for more samples than features; `solver_` names the
    choice and the reason. For curved boundaries and for probabilities use `SVC`.

    Parameters
    ----------
    penalty
        "l2", or "l1" for sparse weights; "l1" only with the squared hinge in the primal.
    loss
        "hinge", max(0, 1 - t), or "squared_hinge", its square.
    dual
        True: coordinate descent in the dual. False: the primal, not with the hinge. "auto":
        whichever suits n, d and the loss.
    tol
        Stopping tolerance. In the dual: largest spread of the projected gradient over one pass. In the
        primal: the gradient, against that at zero, times the share of the rarer class; with "l2"
        also the relative duality gap. Above 0.
    C
        Price of a sample inside the margin. Above 0; larger fits the training set closer.
    multi_class
        "ovr": each class against the rest. "crammer_singer": all together; loss, penalty and dual
        are then ignored.
    fit_intercept
        Whether each boundary has a bias.
    intercept_scaling
        Value of the constant feature that carries the bias; larger penalises the bias less.
    class_weight
        Dict from label to weight, or "balanced": multiplies C for samples of a class; against the
        rest, for its own boundary only.
    random_state
        Seed for the order in which coordinate descent meets the samples.
    max_iter
        Passes of coordinate descent and Newton steps, at most, for each boundary. From 1000
        on, "crammer_singer" makes up to 100,000 passes, as LIBLINEAR does.
    regularize_intercept
        False: the bias is free of the penalty, as in `SVC`, and intercept_scaling has no effect.
    time_limit, n_jobs, verbose
        Seconds after which to stop with the present weights; threads over boundaries, None for all
        cores, which do not change the result; above 0, a progress bar on stderr.
    device
        "auto", "cpu" or "cuda": where to compute. "auto" chooses a GPU if one is present and samples are
        there, or are dense and many. On a GPU only primal Newton is used.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d); biases, (p,); one row for two classes, else k.
    n_iter_
        Passes and Newton steps of the boundary that took the most.
    objective_
        The objective at the solution, for each boundary, (p,); (1,) for "crammer_singer".
    dual_gap_
        Relative duality gap, (P - D) / max(|P|, 1), of each boundary: P of coef_ and intercept_ as they
        are stored, D of the last dual variables, with all rounding. No other weights have an objective
        lower by more. A gap above max(tol, 0.001) comes with a ConvergenceWarning.
    margin_width_
        Distance between the two margins of each boundary, 2 / |w|, (p,).
    solver_
        Which algorithm was used, and why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=2.0).fit(X, y)
    >>> model
    LinearSVC(C=2.0)  # primal Newton: n=150 >= d=4
    >>> bool((model.dual_gap_ < 1e-4).all())
    True

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan, A Dual Coordinate Descent Method for Large-scale
    Linear SVM, ICML 2008. Keerthi and DeCoste, A Modified Finite Newton Method, JMLR 6 (2005).
    """

    _least_weighted: ClassVar[int] = 1
    _near: ClassVar[Any] = None  # a fitted model to start from, where a search sets it
    penalty: str = choice("l2", "l1")
    loss: str = choice("squared_hinge", "hinge")
    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = real(1e-4, above=0)
    C: float = real(1.0, above=0)
    multi_class: str = choice("ovr", "crammer_singer")
    fit_intercept: bool = flag(True)
    intercept_scaling: float = real(1, above=0)
    class_weight: Any = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = integer(1000, least=0)
    regularize_intercept: bool = flag(True)
    time_limit: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), and their labels y, (n,)."""
        self._check_parameters()
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            class_weight=self.class_weight,
            dtype=np.float64,
            balance="weights",
        )
        plan = plan_solver(self, *train.X.shape)
        rng = generator(self)
        p = 1 if len(train.classes) == 2 else len(train.classes)
        steps = max(1, self.max_iter) * p
        with monitored(self, train.X, train.y, steps=steps, task="iteration") as monitor:
            policy = sample_policy(self, train.X, passes=True, obstacle=plan.gpu_obstacle)
            found = run_on(policy, lambda device: self._solve_on(device, train, plan, rng, monitor))
        return self._keep(train.classes, found, plan.words)

    def _keep(self, classes: Any, found: LinearSolution, solver: str) -> Self:
        """Set the fitted attributes."""
        if not (np.isfinite(found.coef).all() and np.isfinite(found.objective).all()):
            raise DataError(
                "weights overflowed; scale the features, for example with StandardScaler"
            )
        self._warn_unless_solved(found)
        self.classes_ = classes
        self.coef_: Any = found.coef
        self.intercept_ = found.intercept if self.fit_intercept else np.zeros(len(found.coef))
        self.objective_, self.dual_gap_ = found.objective, found.gap
        self.margin_width_ = margin_widths(self.coef_)
        self.n_iter_, self.solver_ = found.n_iter, solver
        return self

    @property
    def _bias_step(self) -> float:
        """Square of the constant feature: 0 without a bias, infinite for a free one."""
        if not self.fit_intercept:
            return 0.0
        return float(self.intercept_scaling) ** 2 if self.regularize_intercept else np.inf

    def _solve_on(
        self,
        device: Any,
        train: Training,
        plan: SolverPlan,
        rng: np.random.Generator,
        monitor: FitMonitor,
    ) -> LinearSolution:
        """All boundaries on a device; None is NumPy on the CPU."""
        if device is None:
            train = train._replace(X=as_numpy(train.X))
            if self.multi_class == "crammer_singer":
                return self._solve_together(train, rng, monitor)
            return self._solve_each(train, plan, rng, monitor)
        from separatrix.solvers.linear_svm.cuda import solve_newton_on  # torch is optional

        codes = coding(len(train.classes), "ovr").T.astype(np.float64)
        n, d = train.X.shape
        require_room("LinearSVC", device, 8 * n * (2 * d + 12 * len(codes)))
        X, y = to_device(train.X, device), as_tensor(train.y, device)
        own, rest = (as_tensor(rates, device) for rates in train.rates(float(self.C)))
        kept = (own > 0) | (rest > 0)
        if not kept.all():
            X, y, own, rest = X[kept], y[kept], own[kept], rest[kept]
        sides = as_tensor(codes, device)[:, y]
        fits = solve_newton_on(
            X,
            sides,
            own.where(sides > 0, rest),
            bias_step=self._bias_step,
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=monitor,
        )
        return gather_fits(fits)

    def _solve_each(
        self, train: Training, plan: SolverPlan, rng: np.random.Generator, monitor: FitMonitor
    ) -> LinearSolution:
        """Each class against the rest, in threads."""
        kept, sides, prices = self._sides_and_prices(train)
        X = train.X if kept.all() else train.X[kept]
        if issparse(X) and plan.newton and X.nnz >= DENSE_ENOUGH * X.shape[0] * X.shape[1]:
            X = X.toarray()
        # one Newton's method for all boundaries, where a GPU could run it as well
        several = prices.shape[1] > 1 and bool(prices.all())
        jointly = several and plan.gpu_obstacle is None and not issparse(X)
        near = take_offset(X, self._bias_step) if plan.newton else NearSamples(X, self._bias_step)
        given, X = X, near.X
        samples = self._samples(X, seek_zeros=not jointly)
        free = self.fit_intercept and not self.regularize_intercept
        constant = 1.0 if free else float(self.intercept_scaling) * self.fit_intercept
        columns = columns_of(X, constant) if self.penalty == "l1" else None
        seeds = rng.integers(1, 2**63, size=sides.shape[1:])
        known = self._near if X is given else None
        start = starting_point(known, sides.shape[1], X.shape[1])
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor}
        if jointly:
            fits = solve_newton_jointly(
                samples,
                np.ascontiguousarray(sides.T),
                np.ascontiguousarray(prices.T),
                bias_step=near.bias_step,
                threads=thread_count(self.n_jobs),
                start=start,
                **limits,
            )
            fits = [near.original(fit) for fit in fits]
            return self._certified(gather_fits(fits), fits, given, sides, prices)

        begin = start and list(zip(*start, strict=True))

        def one(c: int) -> LinearFit:
            part, seed = np.flatnonzero(prices[:, c]), int(seeds[c])  # class weights may be 0
            whole = len(part) == len(prices)
            side, price = sides[part, c].copy(), prices[part, c].copy()
            if columns is None:
                own = samples if whole else self._samples(X[part])
                problem = LinearProblem(own, side, price, self.loss, near.bias_step)
                fit = self._solve(problem, plan, seed, monitor, begin[c] if begin else None)
                return near.original(spread(fit, part))
            penalty = np.append(np.ones(columns.shape[1] - 1), 0.0 if free else 1.0)
            own = columns if whole else columns[part]

            def descend(tol: float) -> LinearFit:
                rule = {**limits, "tol": tol}
                return solve_l1(own, side, price, penalty, seed=seed, **rule)

            fit = spread(self._with_small_gap(descend), part)
            return fit._replace(b=constant * fit.b)

        def spread(fit: LinearFit, part: Codes) -> LinearFit:
            a = np.zeros(len(prices))
            a[part] = fit.a
            return fit._replace(a=a)

        blas = plan.newton and not issparse(X)  # which has its own threads
        threads = 1 if blas else thread_count(self.n_jobs)
        fits = in_threads(one, range(len(seeds)), threads=threads, monitor=monitor)
        return self._certified(gather_fits(fits), fits, given, sides, prices)

    def _certified(
        self, found: LinearSolution, fits: list[LinearFit], X: Any, sides: Matrix, prices: Matrix
    ) -> LinearSolution:
        """The same with the certificates of the weights that are stored, for the samples as given."""
        A = np.stack([fit.a for fit in fits], axis=1)
        rest: dict[str, Any] = {"loss": self.loss, "bias_step": self._bias_step}
        rest["l1"] = self.penalty == "l1"
        objective, gap, rounding = certify_weights(
            X, sides, prices, found.coef, found.intercept, A, **rest
        )
        return found._replace(objective=objective, gap=gap, rounding=rounding)

    def _solve(
        self,
        problem: LinearProblem,
        plan: SolverPlan,
        seed: int,
        monitor: FitMonitor,
        begin_at: tuple[Vector, float] | None,
    ) -> LinearFit:
        """Coordinate descent, Newton's method, or both, as planned."""
        limits: dict[str, Any] = {"tol": self.tol, "monitor": monitor}
        begin, start = problem, None
        if begin_at is not None and not plan.passes and self.loss == "squared_hinge":
            w, b = begin_at
            start = LinearFit(w, float(b), np.zeros(len(problem.y)), np.inf, -np.inf, np.inf, 0, "")
        if plan.passes:
            if plan.newton and problem.free:  # only a starting point
                begin = problem._replace(bias_step=float(problem.samples.squares.mean()) or 1.0)
            passes = min(plan.passes, self.max_iter)
            last: LinearFit | None = None

            def descend(tol: float) -> LinearFit:
                nonlocal last
                met, a = (0, None) if last is None else (last.n_iter, last.a)
                rule = {**limits, "tol": tol, "max_iter": passes - met}
                fit = solve_dual(begin, seed=seed, start=a, **rule)
                last = fit._replace(n_iter=met + fit.n_iter)
                return last

            start = descend(self.tol) if plan.newton else self._with_small_gap(descend)
            solved = start.stop != "max_iter" and begin is problem
            # a small violation of the dual leaves a large gap where C is large
            solved = solved and (start.stop == "stopped" or start.gap <= max(self.tol, GAP))
            if solved or not plan.newton or start.n_iter >= self.max_iter:
                return start
        met = start.n_iter if start else 0
        if self.loss == "hinge":
            gap = max(self.tol, GAP)
            fit = solve_hinge(problem, gap=gap, max_iter=self.max_iter - met, monitor=monitor)
        else:
            fit = solve_newton(problem, max_iter=self.max_iter - met, start=start, **limits)
        return fit._replace(n_iter=met + fit.n_iter)

    def _with_small_gap(self, solve: Callable[[float], Any]) -> Any:
        """A fit at the first of ever stricter tolerances whose gap is small, or that ends otherwise.

        A small violation leaves a large gap where C is large.
        """
        for tol in self.tol * np.power(0.1, range(STRICTER)):
            fit = solve(float(tol))
            if fit.stop != "tol" or fit.gap <= max(self.tol, GAP):
                break
        return fit

    def _solve_together(
        self, train: Training, rng: np.random.Generator, monitor: FitMonitor
    ) -> LinearSolution:
        """Crammer and Singer's problem; with two classes one boundary stands for both."""
        price = self.C * train.weights * train.class_weights
        kept = price > 0
        samples, seed = self._samples(train.X[kept]), int(rng.integers(1, 2**63))
        least = PASSES_TOGETHER if self.max_iter >= USUAL_PASSES else 0
        fit = self._with_small_gap(
            lambda tol: solve_crammer_singer(
                samples,
                train.y[kept],
                price[kept],
                n_classes=len(train.classes),
                bias_step=self._bias_step,
                tol=tol,
                max_iter=max(self.max_iter, least),
                seed=seed,
                monitor=monitor,
            )
        )
        W, b = fit.w.T.copy(), fit.b
        two = len(train.classes) == 2
        if two:
            W, b = W[1:] - W[:1], b[1:] - b[:1]
        halves = np.array([[-0.5], [0.5]])  # of one boundary, for both classes
        objective, gap, rounding = certify_classes(
            train.X[kept],
            train.y[kept],
            price[kept],
            halves * W if two else W,
            halves[:, 0] * b if two else b,
            fit.a,
            bias_step=self._bias_step,
        )
        violation = np.array([fit.violation])
        return LinearSolution(W, b, objective, gap, violation, fit.n_iter, [fit.stop], rounding)

    def _sides_and_prices(self, train: Training) -> tuple[Any, Matrix, Matrix]:
        """Flags of samples with a positive weight; their +-1 and C times their weight, (kept, p) each."""
        sides = coding(len(train.classes), "ovr")[train.y].astype(np.float64)
        own, rest = train.rates(float(self.C))
        prices = np.where(sides > 0, own[:, None], rest[:, None])
        kept = prices.any(axis=1)
        return kept, sides[kept], prices[kept]

    def _samples(self, X: Any, *, seek_zeros: bool = True) -> LinearSamples:
        if issparse(X):
            X.sort_indices()
        samples = LinearSamples.of(X, seek_zeros=seek_zeros)
        if not np.isfinite(float(samples.squares.sum()) * float(self.C)):
            raise DataError(
                "C times the squares of the features overflows; scale the features, "
                "for example with StandardScaler"
            )
        return samples

    def _warn_unless_solved(self, found: LinearSolution) -> None:
        missed = [c for c, stop in enumerate(found.stops) if stop != "tol"]
        if not missed:
            self._warn_of_gap(found)
            return
        worst = max(missed, key=lambda c: found.violation[c])
        limit = "time_limit" if "stopped" in found.stops else "max_iter"
        if limit == "time_limit" and self.time_limit is None:
            limit = "cancelled"
        warn_user(
            f"LinearSVC stopped after {found.n_iter} iterations ({limit}) at a violation of "
            f"{found.violation[worst]:.2g}, with tol={self.tol:g} wanted; the relative duality gap is "
            f"{found.gap[worst]:.2g}: raise max_iter or tol, lower C, or scale the features",
            ConvergenceWarning,
        )

    def _warn_of_gap(self, found: LinearSolution) -> None:
        wanted, rounding = max(self.tol, GAP), float(np.max(found.rounding))
        gap = float(np.max(found.gap))
        if rounding <= wanted < gap:
            warn_user(
                f"LinearSVC met its tolerance of the violation, but ended with a relative duality gap of "
                f"{gap:.2g}, wanted {wanted:g}: lower tol or C, or scale the features, for example "
                "with StandardScaler",
                ConvergenceWarning,
            )
        if rounding > wanted:
            warn_user(
                f"LinearSVC reached the limit of floating point: rounding of weights, biases and margins "
                f"may make up {rounding:.2g} of the relative duality gap, with {wanted:g} wanted: scale "
                "the features, for example with StandardScaler, or lower C",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = "LinearSVC"
        if not isinstance(self.dual, np.bool_):
            require_choice(name, "dual", self.dual, ("auto", True, False))
        if self.fit_intercept:
            require_real(
                name, "intercept_scaling", self.intercept_scaling, least=1e-100, most=1e100
            )
        if self.multi_class == "crammer_singer":
            if self.fit_intercept and not self.regularize_intercept:
                raise ParameterError(
                    name, "regularize_intercept", "True with 'crammer_singer'", False
                )
            return
        combination = (
            f"Unsupported set of arguments: penalty={self.penalty!r}, "
            f"loss={self.loss!r}, dual={self.dual!r}"
        )
        if (self.penalty, self.loss) == ("l1", "hinge"):
            raise ParameterError(
                name, "loss", f"'squared_hinge' with penalty='l1' ({combination})", self.loss
            )
        wrong = {("l2", "hinge"): False, ("l1", "squared_hinge"): True}
        if self.dual != "auto" and wrong.get((self.penalty, self.loss)) == bool(self.dual):
            raise ParameterError(
                name,
                "dual",
                f"'auto' or {not self.dual} with this penalty and loss ({combination})",
                self.dual,
            )


def gather_fits(fits: list[LinearFit]) -> LinearSolution:
    """The fits of all boundaries as one solution."""
    return LinearSolution(
        np.stack([fit.w for fit in fits]),
        np.array([fit.b for fit in fits], dtype=np.float64),
        np.array([fit.objective for fit in fits]),
        np.array([fit.gap for fit in fits]),
        np.array([fit.violation for fit in fits]),
        max(fit.n_iter for fit in fits),
        [fit.stop for fit in fits],
    )
