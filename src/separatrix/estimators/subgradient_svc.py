"""A linear support vector machine by subgradient descent. The arithmetic is in `solvers/subgradient.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning

from separatrix.estimators.base.linear_machine import LinearMachine, margin_widths
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.prepare import prepare
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.subgradient import LOSSES, Objective, SubgradientFit, solve_subgradient
from separatrix.types import Codes
from separatrix.validation import (
    require_integer,
)

DTYPES = [np.float64, np.float32, np.uint8]  # read as they are; all else becomes the first


@with_parameters
class SubgradientSVC(CallbackSupportMixin, ClassifierMixin, LinearMachine):
    """Linear support vector machine by subgradient descent with a fixed step.

    Minimises mu |w|^2 + mean of loss(y (w0 + <w, x>)), w0 free of the penalty. It starts at zero,
    z_1 = (w0, w) = 0, moves by z_(k+1) = z_k - alpha g_k, and goes on while k <= 1 or
    |f_k - f_(k-1)| > eps. A fixed step may circle the minimum for ever and never meet eps; max_iter
    ends that. With more than two classes there is one boundary for each class against the rest,
    each with its own descent. A score of exactly 0 is of the second of two classes.

    The defaults are for raw pixels, 0 to 255. They are an algorithm to study; for the minimum
    itself use `LinearSVC`. On features scaled to about 1 take alpha near 0.1 and eps near 1e-4:
    with the defaults the first step already changes f by less than eps.

    Parameters
    ----------
    loss
        "hinge", max(0, 1 - t) of the margin t = y f(x), whose slope is -1 at t = 1 too;
        "squared_hinge", its square; "logistic", -log sigma(t); or "sigmoid", -sigma(t), which is
        bounded and not convex: it can rest where it is not least.
    alpha, mu
        Step, above 0, and weight of the penalty, at least 0.
    eps, max_iter
        Stop when the objective changes by no more than eps, at least 0, in a step; or after max_iter
        steps, at least 1.
    average
        Predict with the mean of all iterates, the start among them, instead of the last.
    keep_iterates
        True: all. An integer m: those after 0, m, 2m, ... steps and the last. False: only the
        last. When they fill half the memory budget, every second one is dropped, with a warning.
    class_weight
        Dict from label to weight, or "balanced": multiplies the losses of samples of a class.
    time_limit, n_jobs, verbose
        As in `LinearSVC`.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d); biases, (p,); one row for two classes, else k.
    n_iter_, steps_
        Steps made, by the slowest boundary and by each, (p,).
    iterates_, iterate_steps_
        The iterates (w0, w) that were kept, bias first, (j, d + 1) for two classes, else
        (j, k, d + 1), and the steps made before each, (j,). The first is the start, 0. A boundary
        that has stopped stays where it is.
    average_iterate_
        Mean of all iterates of each boundary, (d + 1,) or (k, d + 1).
    loss_curve_
        The objective at every iterate, kept or not: n_iter_ + 1 values, or rows of k.
    margin_width_
        2 / |w|, the distance between the two margins, (p,); from boundary to margin it is half.
    stop_, stops_
        Why it stopped: "eps", "max_iter", "stopped" (cancelled or time_limit) or "diverged" (the
        objective overflowed: the step is too large), in one word and for each boundary, (p,). The
        one word is "eps" only when every boundary met it.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix.data.targets import indicator
    >>> X, digits = load_digits(return_X_y=True)
    >>> y = indicator(digits, {0, 2, 4, 6, 8})
    >>> model = SubgradientSVC(alpha=1e-3, eps=1e-4, mu=1e-3).fit(X, y)
    >>> model.stop_, model.score(X, y) > 0.85
    ('eps', True)

    References
    ----------
    Shor, Minimization Methods for Non-Differentiable Functions (1985).
    """

    _dtypes = DTYPES

    loss: str = choice(*LOSSES)
    _: KW_ONLY
    alpha: float = real(1e-5, above=0)
    eps: float = real(1e-2, least=0)
    mu: float = real(1e-1, least=0)
    max_iter: int = integer(1000, least=1)
    average: bool = flag(False)
    keep_iterates: bool | int = True
    class_weight: Any = None
    n_jobs: int | None = threads()
    verbose: int = 0
    time_limit: float | None = real(None, above=0)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), and their labels y, (n,); weights are those of the mean loss."""
        self._check_parameters()
        train = prepare(self, X, y, sample_weight, class_weight=self.class_weight, dtype=DTYPES)
        self.classes_ = train.classes
        shares = train.weights / train.weights.max()  # their sum cannot overflow
        objective = Objective(
            train.X if issparse(train.X) else np.ascontiguousarray(train.X),
            train.y,
            shares * train.class_weights,
            float(shares.sum()),
            self.loss,
            float(self.mu),
            thread_count(self.n_jobs),
        )
        return self._minimise(objective, train.X, train.y)

    def _minimise(self, objective: Any, X: Any, y: Any) -> Self:
        """Keep the minimum of an objective, and warn of what it lacks; X and y are for the callbacks."""
        with monitored(self, X, y, steps=self.max_iter, task="step") as monitor:
            found = solve_subgradient(
                objective,
                self._positive_classes,
                alpha=float(self.alpha),
                eps=float(self.eps),
                max_iter=self.max_iter,
                keep_every=int(self.keep_iterates),
                monitor=monitor,
            )
        self._keep(found)
        for sentence, kind in self._warnings_of(found):
            warn_user(f"SubgradientSVC: {sentence}", kind)
        return self

    @property
    def _class_at_zero(self) -> str:
        return "second"

    @property
    def _positive_classes(self) -> Codes:
        """Class on the positive side of each boundary, (p,)."""
        k = len(self.classes_)
        return np.array([1]) if k == 2 else np.arange(k)

    def _keep(self, found: SubgradientFit) -> None:
        Z = found.average if self.average else found.last
        self.coef_, self.intercept_ = Z[:, 1:].copy(), Z[:, 0].copy()
        one = len(Z) == 1
        self.iterates_ = found.iterates[:, 0] if one else found.iterates
        self.iterate_steps_ = found.kept
        self.average_iterate_ = found.average[0] if one else found.average
        self.loss_curve_ = found.losses[:, 0] if one else found.losses
        self.n_iter_, self.steps_ = len(found.losses) - 1, found.steps
        self.margin_width_ = margin_widths(self.coef_)
        self.stops_ = found.stops
        self.stop_ = next(
            word for word in ("diverged", "stopped", "max_iter", "eps") if word in found.stops
        )

    def _warnings_of(self, found: SubgradientFit) -> Iterator[tuple[str, type[Warning]]]:
        """Warnings of the fit: messages and categories."""
        if found.keep_every > int(self.keep_iterates):
            sentence = (
                f"all iterates do not fit in memory; kept those after every {found.keep_every} steps: "
                "set keep_iterates to an integer to choose"
            )
            yield sentence, UserWarning
        if self.stop_ == "diverged":
            step = 1 + found.steps[found.stops == "diverged"].min()
            sentence = (
                f"the objective overflowed in step {step}: alpha={self.alpha:g} is too large a step; "
                "lower it, or scale the features"
            )
            yield sentence, ConvergenceWarning
        elif self.stop_ != "eps":
            yield self._limit_reached(), ConvergenceWarning

    def _limit_reached(self) -> str:
        limit = "max_iter reached"
        if self.stop_ == "stopped":
            limit = "cancelled" if self.time_limit is None else "time_limit reached"
        if self.n_iter_ == 0:
            return f"no step was finished ({limit}); raise time_limit"
        change = np.abs(self.loss_curve_[-1] - self.loss_curve_[-2]).max()
        return (
            f"the objective still changed by {change:.3g} in step {self.n_iter_} ({limit}), more than "
            f"eps={self.eps:g}; a fixed step may never meet eps: lower alpha, raise eps or the limit, "
            "or use LinearSVC"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.keep_iterates, bool | np.bool_):
            require_integer("SubgradientSVC", "keep_iterates", self.keep_iterates, least=1)
