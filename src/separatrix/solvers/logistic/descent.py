"""Logistic regression on a training set in blocks: choice of solver, starting point and preconditioner.

Newton's method costs n D^2 a step and takes few, L-BFGS n D and takes many. Where samples are many,
both first run on one in sixteen of them: that ends within the noise of the sample, and few steps with
all samples remain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from separatrix.errors import DataError, MemoryBudgetError
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import SumsItself, total
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.logistic.block_sums import (
    MOST_BLOCKS,
    class_weights_of,
    head_moments_of,
    moments_of,
    own_block,
    slope_of,
    squares_of,
    survey_block,
)
from separatrix.solvers.logistic.costs import VALUE, LogisticCosts
from separatrix.solvers.logistic.laplace import Posterior, laplace
from separatrix.solvers.logistic.lbfgs import MEMORY, LbfgsMemory, solve_lbfgs
from separatrix.solvers.logistic.newton import GAP, USUAL_TOL, LogisticFit, solve_newton
from separatrix.solvers.logistic.passes import Sums, merge, sums_of
from separatrix.solvers.logistic.preconditioner import (
    Diagonal,
    Factored,
    Partial,
    Preconditioner,
)
from separatrix.types import Block, Matrix, Samples, Vector

MAX_NEWTON = 2048  # parameters up to which Newton's method is used
BLOCK_WORK = 5e6  # multiply-adds of a block, at least, so that a thread costs little beside it
MERGED = 16  # stored values of a block for each feature, at least: then a merge costs little
SPARSE_PRODUCT = 8.0  # cost of a multiply-add with a stored value, in those of a dense pass
WIDE = 64  # features from which threads of BLAS beat threads over blocks
SUBSAMPLE_OF_VALUES = 8  # samples of a subsample of L-BFGS for each value that one stores
SUBSAMPLES = (16, 4)  # one in so many samples for the first steps
MIN_SUBSAMPLE = 1024  # samples, and at least 16 for each parameter
REFRESH = 20  # steps of L-BFGS after which the guess of the Hessian is made anew
FIRST_CHECK = 8  # steps after which the mean slope of scores is computed; then after twice as many
CHANGED = 4.0  # times the slope of the guess, or a part of it: then the guess is made anew
NEARLY = 10.0  # times tol: a smaller gradient needs too few steps for that
FIRST_STEPS = 12  # with a subsample, at most
LITTLE_WORK = 1e8  # n D^2 and D^3, up to which BLAS needs no second thread
RIDGE = 1e-11  # added to the diagonal of the guess of the Hessian, as a share of it
MOST_HEAD = 256  # frequent features of sparse samples whose second moments are computed, at most
HEAD_WORK = 8  # passes over the samples that cost as much as the factor of these moments may
FLAT = 0.01  # curvature in units of the prior's, below which a feature is left out of them
SURE = 1.0 / 32  # slope of scores of two classes that is typical there
SHRUNK = 0.01  # share of the diagonal of these moments, that is added to it
SEARCH_STEPS = 50  # for each C of the evidence search, at most
DECADES = 6.0  # of C in the evidence search, on either side of typical weights


class LogisticSolver:
    """One fit: solver, posterior and evidence; `words` names the solver and the reason."""

    def __init__(
        self,
        samples: Samples,
        *,
        solver: str,
        intercept: bool,
        intercept_precision: float,
        tol: float,
        max_iter: int,
        threads: int,
        monitor: FitMonitor,
        hessian: bool = False,
        gap: float | None = None,
    ) -> None:
        self.tol, self.max_iter, self.monitor = tol, max_iter, monitor
        self.gap = GAP * max(1.0, tol / USUAL_TOL) if gap is None else gap
        self._intercept, self._intercept_precision = intercept, intercept_precision
        self._threads, self._margin = threads, True  # whether margins are looked at
        self._slope = 1.0  # mean slope of scores in the guess of the Hessian
        sizes = total(survey_block, samples, np.add).tolist()
        self._weight, self.n_samples, self._values = float(sizes[0]), int(sizes[1]), int(sizes[2])
        self._sparse = not sizes[3]
        self.classes, _ = samples.in_class_order()
        self.d = samples.n_features
        self.p = 1 if len(self.classes) == 2 else len(self.classes)
        self.numbers = self.p * (self.d + intercept)
        self._costs = LogisticCosts(
            self.n_samples, self.d + intercept, self.p, self._values, self._sparse, tol
        )
        self._newton, self.words = self._choose(solver, hessian)
        self._all: Samples = samples
        self._samples = self._cut()
        self.at_the_end = False  # whether the evidence is largest at a limit of the search

    def _cut(self, **options: Any) -> Iterable[Block]:
        """Blocks that threads can share, the same for any number of threads; a stream as it is."""
        stored = max(1.0, self._values / max(1, self.n_samples))
        work = 2 * stored * (SPARSE_PRODUCT if self._sparse else 1.0) + VALUE
        least = max(BLOCK_WORK / (self.p * work), MERGED * self.d / stored)
        count = math.ceil(self.n_samples / max(least, self.n_samples / MOST_BLOCKS))
        blocks = self._all.cut(math.ceil(self.n_samples / count), **options)
        if blocks is None:
            return self._all
        return [own_block(block, self.n_samples) for block in blocks]

    def _choose(self, solver: str, hessian: bool) -> tuple[bool, str]:
        """Whether to use Newton's method, and why; `hessian`: the Hessian at the end is needed anyway."""
        n, numbers = self.n_samples, f"{self.numbers} parameters"
        small = self.numbers <= MAX_NEWTON
        if solver in ("newton-cholesky", "lbfgs") or (solver == "newton-cg" and small):
            newton = solver != "lbfgs"
            return newton, f"{'Newton' if newton else 'L-BFGS'}: solver={solver!r}"
        if small and (hessian or self._costs.newton_pays()):
            return True, f"Newton: n={n}, {numbers}"
        return False, f"L-BFGS: n={n}, {numbers}"

    def precision(self, C: float) -> Vector:
        """Of the prior on each column, (D,)."""
        weights = np.full(self.d, 1.0 / C)
        return np.append(weights, self._intercept_precision) if self._intercept else weights

    def solve(self, C: float, start: Matrix | None = None, most: int | None = None) -> LogisticFit:
        """The peak of the posterior under a prior of variance C, from `start` or from 0."""
        max_iter = self.max_iter if most is None else min(most, self.max_iter)
        self._margin = not np.isfinite(C)  # where they tell whether the classes are separated
        begin = np.zeros((self.p, self.d + self._intercept)) if start is None else start
        if self._sparse and not self._newton:
            begin = np.asfortranarray(begin)  # as passes over sparse samples read it
        found = None if self._newton else self._lbfgs(C, begin, max_iter)
        if found is not None and (found.stop != "rounding" or self.numbers > MAX_NEWTON):
            return found
        self._require_memory()
        if found is not None:  # where differences of the objective are rounding, gradients are not
            begin, max_iter = found.theta, max_iter - found.n_iter
        elif start is None:
            begin = self._start_with_subsample(C, begin)
        with self._blas_threads():
            last = self._newton_steps(self._samples, C, begin, self.tol, max_iter)
        return last if found is None else last._replace(n_iter=found.n_iter + last.n_iter)

    def _blas_threads(self) -> AbstractContextManager[None]:
        """BLAS on one thread for short Newton steps, in which more threads would only spin."""
        work = (self.n_samples + self.numbers) * float(self.numbers) ** 2
        return blas_on_one_thread() if work <= LITTLE_WORK else nullcontext()

    def most_evident(self, start: Matrix | None = None) -> tuple[float, LogisticFit]:
        """The variance of the prior under which the labels are most probable, and its peak."""
        self._require_memory()
        usual = self.d / self._size if self._size else 1.0  # a weight that moves scores by about 1
        begin = self._base_rates() if start is None else start  # the peak of the narrowest prior
        found = self.solve(usual * 10.0**-DECADES, begin)
        steps = found.n_iter

        def negative_evidence(power: float) -> float:
            nonlocal found, steps
            C = usual * 10.0**power
            found, posterior = self.posterior(self.solve(C, found.theta, SEARCH_STEPS), C)
            steps += found.n_iter
            return -posterior.log_evidence

        powers = np.arange(-DECADES, DECADES + 1.0)  # increasing, since each peak is near the last
        lowest = float(powers[np.argmin([negative_evidence(power) for power in powers])])
        around = (max(-DECADES, lowest - 1.0), min(DECADES, lowest + 1.0))
        from scipy.optimize import minimize_scalar  # slow to import, seldom needed

        best = minimize_scalar(
            negative_evidence, bounds=around, method="bounded", options={"xatol": 1e-3}
        )
        self.at_the_end = abs(float(best.x)) > DECADES - 0.01
        C = usual * 10.0 ** float(best.x)
        last = self.solve(C, found.theta)
        return C, last._replace(n_iter=steps + last.n_iter)

    def _base_rates(self) -> Matrix:
        """Weights of 0, with the biases that give every sample the shares of the classes, (p, D)."""
        theta = np.zeros((self.p, self.d + self._intercept))
        if self._intercept:
            k = len(self.classes)
            weights = total(partial(class_weights_of, k=k), self._samples, np.add)
            logs = np.log(np.maximum(weights, np.finfo(float).tiny))
            theta[:, -1] = logs[1] - logs[0] if self.p == 1 else logs - logs.mean()
        return theta

    @cached_property
    def _size(self) -> float:
        """Mean squared length of the samples."""
        squares = total(squares_of, self._samples, np.add, threads=self._threads)
        return float(squares.sum()) / self._weight

    def posterior(self, found: LogisticFit, C: float) -> tuple[LogisticFit, Posterior]:
        """The Gaussian at a peak, and the fit with its Hessian."""
        self._require_memory()
        precision = self.precision(C)
        if found.hessian is None:
            H = self._evaluate(self._samples)(found.theta, True).hessian
            assert H is not None
            H.flat[:: len(H) + 1] += np.tile(precision, self.p)
            found = found._replace(hessian=H)
        assert found.hessian is not None
        unit = (1.0 + C * self._size) ** 0.5 if np.isfinite(C) else 1.0
        with self._blas_threads():
            posterior = laplace(found.theta, found.hessian, found.objective, precision, unit)
        if posterior is None:
            raise DataError(
                "the posterior is flat in some direction, so no Gaussian describes it; use a finite C, "
                "give intercept_precision, or leave out features that others determine"
            )
        return found, posterior

    def _evaluate(
        self, samples: Iterable[Block], *, scale: float = 1.0, monitor: FitMonitor | None = None
    ) -> Any:
        """A function that computes sums over these samples, times `scale`, at a point.

        Where the monitor stops in the middle of a pass there is no Hessian.
        """

        intercept, margin = self._intercept, self._margin

        def at(theta: Matrix, hessian: bool) -> Sums:
            part = partial(
                sums_of, theta=theta, intercept=intercept, hessian=hessian, margin=margin
            )
            if hessian and monitor is not None and not isinstance(samples, SumsItself):
                part = partial(part, monitor=monitor)
            alone = hessian and self.numbers >= WIDE  # BLAS uses all cores
            if isinstance(samples, list) and not hessian:
                with blas_on_one_thread() if len(samples) > 1 else nullcontext():
                    sums = reduce(merge, in_threads(part, samples, threads=self._threads))
            else:
                sums = total(part, samples, merge, threads=1 if alone else self._threads)
            if scale == 1.0:
                return sums
            H = None if sums.hessian is None else scale * sums.hessian
            return sums._replace(loss=scale * sums.loss, gradient=scale * sums.gradient, hessian=H)

        return at

    def _newton_steps(
        self,
        samples: Iterable[Block],
        C: float,
        begin: Matrix,
        tol: float,
        max_iter: int,
        scale: float = 1.0,
    ) -> LogisticFit:
        monitor = self.monitor if scale == 1.0 else self.monitor.inner()
        return solve_newton(
            self._evaluate(samples, scale=scale, monitor=monitor),
            begin,
            precision=self.precision(C),
            weight=self._weight,
            tol=tol,
            max_iter=max_iter,
            near=bool(begin.any()),
            gap=self.gap if scale == 1.0 else np.inf,
            monitor=monitor,
        )

    def _start_with_subsample(self, C: float, begin: Matrix) -> Matrix:
        """The solution by Newton's method on a sixteenth of the samples, then on a quarter."""
        for few, scale, tol in self._subsamples(16 * self.numbers):
            found = self._newton_steps(few, C, begin, tol, FIRST_STEPS, scale)
            if not np.isfinite(found.theta).all() or (self._margin and found.most > 1e3):
                return begin  # separated, or of one class
            begin = found.theta
        return begin

    def _subsamples(self, least: float) -> Iterator[tuple[Iterable[Block], float, float]]:
        """Blocks of a part of the samples, the factor that stands for the others, and the noise."""
        for every in SUBSAMPLES:
            n = self.n_samples // every
            if n < MIN_SUBSAMPLE or n < least:
                continue
            few = self._cut(every=every)
            if few is self._all:  # a stream
                return
            k = len(self.classes)
            weights = sum(class_weights_of(block, k=k) for block in few)
            if np.all(weights):
                yield few, self._weight / float(np.sum(weights)), max(self.tol, 0.1 / n**0.5)

    def _lbfgs(self, C: float, begin: Matrix, max_iter: int) -> LogisticFit:
        precision, trial = self.precision(C), self._costs.trial_steps()
        guess = self._preconditioner(precision, moments=not trial)
        options: dict[str, Any] = {"precision": precision, "preconditioner": guess}
        options |= {"weight": self._weight, "memory": self._memory()}
        # threads are over blocks; those of BLAS would wait for them by spinning
        with blas_on_one_thread():
            if not begin.any():
                quiet = options | {"max_iter": FIRST_STEPS, "monitor": self.monitor.inner()}
                stored = self._values / max(1, self.n_samples)
                for few, scale, tol in self._subsamples(SUBSAMPLE_OF_VALUES * stored):
                    rough = self._evaluate(few, scale=scale)
                    begin = solve_lbfgs(rough, begin, tol=tol, **quiet).theta
            options |= {"tol": self.tol, "gap": self.gap, "monitor": self.monitor}
            steps = 0
            evaluate = self._evaluate(self._samples)
            # one guess for all of several classes is rough: it is kept while slopes are about the same,
            # and always where it costs many passes over the samples
            pays, narrow = self._costs.moments_pay(), self._costs.narrow
            regularly = self.p == 1 and pays
            first = REFRESH if regularly else FIRST_CHECK if narrow or not pays else max_iter
            until = trial or first
            while True:
                most = min(max_iter, until) - steps
                found = solve_lbfgs(evaluate, begin, max_iter=most, **options)
                if found.n_iter:  # without a step they differ by rounding
                    begin, steps = found.theta, steps + found.n_iter
                if found.stop != "max_iter" or steps >= max_iter:
                    solved = found.stop == "max_iter" and found.gradient <= self.tol
                    stop = "tol" if solved else found.stop
                    return found._replace(theta=begin, n_iter=steps, stop=stop)
                near = found.gradient <= NEARLY * self.tol
                if trial and until == trial and near:
                    until, anew = 2 * trial, False
                elif trial:
                    until, trial, anew = steps + first, 0, True
                    self._slope_changed(begin)
                else:
                    until += REFRESH if regularly else until
                    anew = not near if regularly else self._slope_changed(begin)
                if anew:
                    guess = self._preconditioner(precision, begin)
                    options |= {"preconditioner": guess, "memory": self._memory()}

    def _slope_changed(self, theta: Matrix) -> bool:
        """Whether the mean slope of scores at theta is far from the one in the guess of the Hessian."""
        part = partial(slope_of, theta=theta, intercept=self._intercept)
        slope = total(part, self._samples, np.add, threads=self._threads) / self._weight
        changed = slope < self._slope / CHANGED or slope > self._slope * CHANGED
        if changed:
            self._slope = slope
        return bool(changed)

    def _memory(self) -> LbfgsMemory:
        """Room for few steps where many would cost more than a pass over the samples."""
        few = self._values < 3 * MEMORY * self.d
        return LbfgsMemory(self.numbers, MEMORY // 2 if few else MEMORY)

    def _preconditioner(
        self, precision: Vector, theta: Matrix | None = None, *, moments: bool = True
    ) -> Preconditioner:
        """A guess of the Hessian of each class: the second moments of the samples times a mean slope.

        The softmax Hessian is at most half the moments (Bohning 1992); 1/k of that is typical. With
        theta, every sample has the mean slope of its scores there. Without moments, or where they cost
        too much, their diagonal.
        """
        bend, D = 0.5 / len(self.classes) if theta is None else 1.0, len(precision)
        self._slope = bend if theta is None else self._slope
        if moments and self._costs.moments_pay():
            part = partial(moments_of, theta=theta, intercept=self._intercept)
            guess = bend * total(part, self._samples, np.add, threads=self._threads)
            guess.flat[:: D + 1] += precision
            guess.flat[:: D + 1] += RIDGE * np.diag(guess) + np.finfo(float).tiny
            whole = Factored.of(guess)
            if whole is not None:
                return whole
        if self._sparse and self.p == 1 and theta is None:
            bend = self._slope = (
                SURE  # many features tell two classes apart: most are far from a half
            )
        part = partial(squares_of, theta=theta, intercept=self._intercept)
        squares = total(part, self._samples, np.add, threads=self._threads)
        if self._intercept:
            squares = np.append(squares, self._slope * self._weight / bend)
        guess = precision + bend * squares
        others = Diagonal.of(np.where(guess > 0, guess, 1.0))
        if not self._sparse:
            return others
        return self._with_head(others, precision, bend * squares, bend, theta)

    def _with_head(
        self,
        others: Diagonal,
        precision: Vector,
        curvatures: Vector,
        bend: float,
        theta: Matrix | None,
    ) -> Preconditioner:
        """Beside a diagonal guess the moments of the features with most curvature: frequent words.

        Moments of all samples and a share of their diagonal: positive but for rounding.
        """
        most = int(min(MOST_HEAD, (HEAD_WORK * self._values * self.p) ** (1 / 3)))
        steepest = np.argsort(-curvatures, kind="stable")[:most]
        head = np.sort(steepest[curvatures[steepest] > FLAT * precision[steepest]])
        if len(head) < 2:
            return others
        position = np.full(self.d + 1, -1)
        position[head] = np.arange(len(head))
        part = partial(head_moments_of, position=position, theta=theta, intercept=self._intercept)
        guess = bend * total(part, self._samples, np.add, threads=self._threads)
        guess.flat[:: len(head) + 1] += precision[head] + SHRUNK * curvatures[head]
        some = Factored.of(guess)
        return others if some is None else Partial(head, some, others)

    def _require_memory(self) -> None:
        size, budget = 8 * 4 * self.numbers**2, default_budget()
        if size > budget:
            raise MemoryBudgetError(
                f"the Hessian of {self.numbers} parameters needs {in_words(size)}, more than "
                f"{in_words(budget)}; drop the posterior, or use solver='lbfgs' and a number for C"
            )
