"""Learning a combination of kernels: for each C on each fold, and for the best C on all samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.splits import Split
from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.prepare import Training
from separatrix.estimators.base.support import Support, class_segments, in_order
from separatrix.kernels.base import Kernel
from separatrix.kernels.combination import weighted_sum
from separatrix.kernels.gram.held import HeldGram
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.names import width
from separatrix.kernels.vector_kernels import Gaussian, Linear, Polynomial
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.device import as_numpy
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import coding
from separatrix.solvers.kernel_combination import (
    CombinationFit,
    combine_matrices,
    solve_kernel_combination,
)
from separatrix.solvers.svm.problem import SvmProblem
from separatrix.types import Codes, Gram, Matrix, Vector

FACTORS = (1 / 16, 1 / 4, 1, 4, 16)  # of the widths of Gaussians


class CombinedKernels(NamedTuple):
    """The matrices of some kernels on a training set in class order, each of mean k(x, x) 1."""

    kernels: list[Kernel]
    matrices: Sequence[Matrix]
    scales: Vector  # shape: (kernels,); the mean k(x, x) of each
    y: Codes  # shape: (n,); sorted
    segments: tuple[slice, ...]

    def hold(self, K: Matrix) -> Gram:
        """The Gram of a combined matrix."""
        return HeldGram(K, segments=self.segments)

    def kernel(self, weights: Vector) -> Kernel:
        """The combined kernel as an object."""
        return weighted_sum(self.kernels, weights / self.scales)


def default_kernels(owner: str, X: Any) -> list[Kernel]:
    """A linear kernel, polynomials of degree 2 and 3 and five Gaussians around gamma="scale"."""
    if X.dtype == object:
        must_be = "Combination([...]) of kernels on these samples"
        raise ParameterError(owner, "kernels", must_be, "combine")
    gamma = width(owner, "scale", X)
    powers: list[Kernel] = [Polynomial(degree, gamma=gamma, coef0=1.0) for degree in (2, 3)]
    return [Linear(), *powers, *(Gaussian(factor * gamma) for factor in FACTORS)]


def compute_matrices(
    model: Any, train: Training, order: Codes, kernels: list[Kernel]
) -> CombinedKernels:
    """All kernel matrices over shared products, in memory together."""
    y, n = train.y[order], len(order)
    budget = default_budget() if model._budget is None else model._budget
    if 8 * n * n * (len(kernels) + 2) > budget:
        raise MemoryBudgetError(
            f"{len(kernels)} kernel matrices of {n} samples take {in_words(8 * n * n * len(kernels))}, "
            f"more than the budget of {in_words(budget)}; combine fewer kernels, train on fewer samples or "
            "raise `cache_size`"
        )
    segments = class_segments(y, len(train.classes))
    shared = SharedProducts(
        in_order(kernels[0], as_numpy(train.X), order),
        tolerance=model._kernel_tolerance,
        threads=model._threads,
        segments=segments,
    )
    matrices, scales = [], []
    for kernel, gram in zip(kernels, shared.grams(kernels), strict=True):
        scale = float(np.mean(gram.diagonal()))
        if not scale > 0:
            raise DataError(f"{kernel!r} is 0 for all samples with themselves: leave it out")
        scales.append(scale)
        matrices.append(np.asarray(gram.tile(slice(0, n), slice(0, n)), dtype=np.float64) / scale)
    return CombinedKernels(kernels, matrices, np.array(scales), y, segments)


def combine(
    model: Any,
    combined: CombinedKernels,
    box: Vector,  # shape: (n,); upper bounds, 0 for rows held out
    monitor: FitMonitor,
    start: Vector | None = None,
) -> CombinationFit:
    """Learn weights on the rows with an upper bound above 0."""
    sides = coding(len(combined.segments), model.multi_class)
    return solve_kernel_combination(
        combined.matrices,
        [SvmProblem(side, box) for side in sides.T],
        hold=combined.hold,
        tol=max(model.tol, 1e-6),
        start=start,
        monitor=monitor.inner(model.time_limit),
        threads=model._threads,
    )


def search_combinations(
    model: Any,
    combined: CombinedKernels,
    weights: Vector,  # shape: (n,); factors of C
    folds: Sequence[Split],
    Cs: Sequence[float],
    monitor: FitMonitor,
) -> tuple[Matrix, int]:
    """Accuracy of every C on every fold, (Cs, folds), and combinations that missed their tolerance."""
    k, scores, unfinished = len(combined.segments), np.zeros((len(Cs), len(folds))), 0
    for number, fold in enumerate(folds):
        inside = np.zeros(len(weights))
        inside[fold.train] = weights[fold.train]
        start = None
        for c in np.argsort(Cs, kind="stable"):
            if monitor.should_stop():
                return scores, unfinished
            found = combine(model, combined, Cs[c] * inside, monitor, start)
            unfinished += found.stop != "tol"
            start = found.weights
            support = Support.of(found.fits, k, model.multi_class, segments=combined.segments)
            gram = combined.hold(combine_matrices(combined.matrices, found.weights))
            guess = vote(support.scores_of(gram, fold.test), k, model.multi_class)
            scores[c, number] = np.mean(as_numpy(guess) == combined.y[fold.test])
            monitor.step()
    return scores, unfinished
