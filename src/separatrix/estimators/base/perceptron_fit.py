"""The fit of a kernel perceptron, and its predictors: last, average, vote and random hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.estimators.base.multiclass import combine_scores
from separatrix.estimators.base.prepare import Training
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.gram.operations import scores_of_rows
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_double, as_numpy, is_tensor, like
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.decomposition import Problems, coding, n_boundaries, problems_of
from separatrix.solvers.perceptron import solve_kernel_perceptron
from separatrix.solvers.perceptron.kernel_perceptron import KernelPerceptronFit, PassRule
from separatrix.solvers.perceptron.online_to_batch import Mistakes, at_steps, averaged, last, votes
from separatrix.solvers.perceptron.projectron import ProjectronFit, solve_projectron
from separatrix.types import Codes, Gram, Matrix, Signs, Vector

PRODUCT_ROWS = 256  # of scores that a thread computes at a time
PRODUCT_WORK = 2**23  # multiply-adds of scores that are worth a thread
PerceptronFit = KernelPerceptronFit | ProjectronFit


class PerceptronOptions(NamedTuple):
    """The parameters of a fit."""

    multi_class: str  # "auto", "argmax", "ovr" or "ovo"
    predictor: str  # "last", "average", "vote" or "random"
    max_iter: int
    min_iter: int
    min_gain: float | None
    shuffle: bool
    eta0: float
    budget: int | None
    memory: int | None
    threads: int
    ties: str = "lowest"
    bias: str | None = None  # "rosenblatt": a bias that moves by R^2

    @property
    def scheme(self) -> str:
        """The coding of the binary problems."""
        return "ovr" if self.multi_class == "auto" else self.multi_class

    @property
    def at_zero(self) -> str:
        """Which of two classes a score of 0 of one boundary is predicted as: Rosenblatt's sgn(0) is +1."""
        return "second" if self.bias and self.multi_class != "argmax" else "first"

    def coefficients(self, log: Mistakes, n: int, p: int, n_steps: int) -> Matrix:
        """Coefficients of the support, (n, p): of the mean of all hypotheses, else of the last."""
        return averaged(log, n, p, n_steps) if self.predictor == "average" else last(log, n, p)

    def scores(
        self,
        K: Any,
        alpha: Matrix,
        log: Mistakes,
        n_steps: int,
        rng: np.random.Generator,
        square: float = 0.0,
    ) -> Any:
        """Scores from kernel values with the support, (m, s) -> (m, p); votes are counted on the CPU.

        A bias that moves by R^2 = `square` is that of the kernel k + R^2.
        """
        p = alpha.shape[1]
        if self.predictor in ("last", "average"):
            S = as_double(K) @ like(alpha, K) if is_tensor(K) else self._product(K, alpha)
            return S + like(square * alpha.sum(axis=0), K) if square else S
        K = as_numpy(K) + square if square else as_numpy(K)
        if self.predictor == "vote":
            by_argmax = self.corrects_by_argmax(p)
            return votes(K, log, p, n_steps, by_argmax=by_argmax, at_zero=self.at_zero)
        return at_steps(K, log, p, rng.integers(max(1, n_steps), size=len(K)))

    def _product(self, K: Matrix, alpha: Matrix) -> Matrix:
        """K alpha, (m, p), by blocks of rows, so that the number of threads changes no bit."""
        S = np.empty((len(K), alpha.shape[1]))

        def multiply(rows: slice) -> None:
            np.matmul(as_double(K[rows]), alpha, out=S[rows])

        work = S.size * len(alpha)
        threads = min(self.threads, work // PRODUCT_WORK)
        with blas_on_one_thread(work):
            in_threads(multiply, row_blocks(len(K), PRODUCT_ROWS), threads=threads)
        return S

    def corrects_by_argmax(self, p: int) -> bool:
        """Whether the highest of p scores decides about a correction."""
        return self.multi_class in ("auto", "argmax") and p > 1

    def n_boundaries(self, n_classes: int) -> int:
        """p."""
        return n_boundaries(n_classes, self.scheme)

    def passes(self, n_classes: int, square: float = 0.0) -> PassRule:
        """The update rule and the limits of the passes."""
        limits = self.max_iter, self.min_iter, self.min_gain, self.shuffle
        if self.corrects_by_argmax(self.n_boundaries(n_classes)):
            return PassRule("argmax", *limits, square=square)
        terms: dict[str, Any] = {"n_classes": n_classes, "scheme": self.scheme, "ties": self.ties}
        terms["at_zero"] = self.at_zero
        return PassRule("signs", *limits, partial(combine_scores, **terms), square)

    def square_of(self, gram: Gram, rows: Codes) -> float:
        """R^2 = max k(x, x) over the training rows with a bias, else 0."""
        return float(as_numpy(gram.diagonal())[rows].max()) if self.bias else 0.0

    def projected_coefficients(self, found: ProjectronFit) -> Matrix:
        """Coefficients of a projectron's support, (s, p)."""
        return found.average() if self.predictor == "average" else found.coef


def fit_on_samples(
    device: Any,
    kernel: Kernel,
    train: Training,
    options: PerceptronOptions,
    random: Callable[[], np.random.Generator],
    monitor: FitMonitor | None,
) -> tuple[PerceptronFit, float, str]:
    """Train on the samples of a training set; the fit, its R^2, and the form of its kernel matrix as text.

    `device` is a torch device, or None for NumPy; `random` makes the generator of the orders.
    """
    X = as_numpy(train.X) if device is None else train.X
    how: dict[str, Any] = {"memory": options.memory, "threads": options.threads}
    gram = make_gram(kernel, X, device=device, monitor=monitor, **how)
    rows = np.flatnonzero(train.weights)
    square = options.square_of(gram, rows)
    found = fit_on_rows(gram, train, rows, options, random(), monitor, square=square)
    return found, square, repr(gram)


def fit_on_rows(
    gram: Gram,
    train: Training,
    rows: Codes,
    options: PerceptronOptions,
    rng: np.random.Generator,
    monitor: FitMonitor | None,
    *,
    start: Any = None,
    keep_scores: bool = False,
    square: float = 0.0,
) -> PerceptronFit:
    """Train on some rows of a Gram matrix; `square` is the R^2 of the bias."""
    k = len(train.classes)
    problems = problems_of(train.y, rows, coding(k, options.scheme))
    common: dict[str, Any] = options.passes(k, square)._asdict() | {
        "rates": train.rates(options.eta0, options.scheme)[:, rows],
        "rng": rng,
        "start": start,
        "monitor": monitor,
    }
    if options.budget is not None:
        del common["square"]
        return solve_projectron(gram, problems, budget=options.budget, **common)
    return solve_kernel_perceptron(
        gram, problems, keep_scores=keep_scores, threads=options.threads, **common
    )


def fit_pair(
    kernel: Kernel,
    X: Any,
    sides: Signs,  # shape: (n,)
    weights: Vector,  # shape: (n,)
    among: tuple[Codes, int],
    options: PerceptronOptions,
    rng: np.random.Generator,
    monitor: FitMonitor,
) -> KernelPerceptronFit:
    """Train one pair of classes, in the order in which a fit to all classes meets their samples.

    among: numbers of the samples among all, and how many those are.
    """
    gram = make_gram(kernel, X, memory=options.memory, threads=options.threads)
    problems = Problems(np.arange(len(sides)), sides[:, None], (sides < 0).astype(np.intp), among)
    return solve_kernel_perceptron(
        gram,
        problems,
        rule="signs",
        rates=np.tile(options.eta0 * weights, (2, 1)),
        max_iter=options.max_iter,
        shuffle=options.shuffle,
        rng=rng,
        keep_scores=False,
        threads=options.threads,
        monitor=monitor,
    )


def join_pairs(fits: Sequence[KernelPerceptronFit], n: int) -> KernelPerceptronFit:
    """The fit to n samples from those of all pairs of classes, whose rows are numbers among the n.

    Which samples all pairs together misclassified when they were met is not known, NaN: that takes their
    scores in pairs of other classes.
    """
    logs = [
        fit.mistakes._replace(columns=np.full_like(fit.mistakes.columns, p))
        for p, fit in enumerate(fits)
    ]
    log, n_iter = Mistakes.concatenate(logs), max(fit.n_iter for fit in fits)
    order = np.lexsort((log.columns, log.steps))
    log = Mistakes(log.rows[order], log.columns[order], log.deltas[order], log.steps[order])
    wrong = np.bincount(np.unique(log.steps) // n, minlength=n_iter)
    stop = next((fit.stop for fit in fits if fit.stop != "clean pass"), "clean pass")
    unknown = np.full(n_iter, np.nan)
    return KernelPerceptronFit(log, n_iter, n_iter * n, wrong, unknown, None, stop)


def scores_on_gram(
    gram: Gram,
    found: PerceptronFit,
    options: PerceptronOptions,
    p: int,
    rng: np.random.Generator,
    square: float = 0.0,
) -> Any:
    """Scores of all rows of the Gram that was trained on, (n, p); a tensor if its values are."""
    if isinstance(found, ProjectronFit):
        return scores_of_rows(gram, found.support, options.projected_coefficients(found))
    if options.predictor == "last" and found.scores is not None:
        return found.scores.T
    support, index = np.unique(found.mistakes.rows, return_inverse=True)
    log = found.mistakes._replace(rows=index)
    alpha = options.coefficients(log, len(support), p, found.n_steps)
    if options.predictor in ("last", "average"):
        S = scores_of_rows(gram, support, alpha)
        return S + square * alpha.sum(axis=0) if square else S
    K = as_numpy(gram.tile(support, slice(0, gram.shape[0]))).T
    return options.scores(K, alpha, log, found.n_steps, rng, square)


def pass_over_more(
    model: Any, train: Training, options: PerceptronOptions, rng: np.random.Generator
) -> KernelPerceptronFit:
    """One pass over new samples, which start from the scores that a fitted model's support gives them."""
    s, p = len(model.support_), options.n_boundaries(len(model.classes_))
    start = np.zeros((p, len(train.y)))
    coef = last(model._log, s, p)
    square = model._square
    for part, K in model._kernel_with_support(train.X, model.support_, model.support_vectors_):
        start[:, part] = (K @ coef + square * coef.sum(axis=0)).T
    gram = make_gram(model.kernel_, train.X, memory=options.memory, threads=options.threads)
    rows, once = np.flatnonzero(train.weights), options._replace(max_iter=1)
    found = fit_on_rows(gram, train, rows, once, rng, None, start=start, square=square)
    assert isinstance(found, KernelPerceptronFit)
    new = found.mistakes
    new = new._replace(rows=new.rows + s, steps=new.steps + model._n_steps)
    return found._replace(
        mistakes=Mistakes.concatenate([model._log, new]), n_steps=found.n_steps + model._n_steps
    )


def projectron_pass_over_more(
    model: Any, train: Training, X: Any, options: PerceptronOptions, rng: np.random.Generator
) -> ProjectronFit:
    """One pass over new samples of X, the support first: projections need the support's kernel values."""
    s = len(model.support_)
    both = train._replace(
        y=np.concatenate([np.zeros(s, dtype=np.intp), train.y]),
        weights=np.concatenate([np.zeros(s), train.weights]),
        class_weights=np.concatenate([np.ones(s), train.class_weights]),
    )
    start = model._projectron._replace(support=np.arange(s)) if model._projectron else None
    gram = make_gram(model.kernel_, X, memory=options.memory, threads=options.threads)
    rows, once = s + np.flatnonzero(train.weights), options._replace(max_iter=1)
    found = fit_on_rows(gram, both, rows, once, rng, None, start=start)
    assert isinstance(found, ProjectronFit)
    return found
