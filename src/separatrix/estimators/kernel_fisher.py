"""Fisher's discriminant with a kernel. The arithmetic is in `solvers/kernel_discriminant.py`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.estimators.base.gaussian_classes import class_priors
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import LabelledGram, RowsClassified
from separatrix.estimators.base.parameters import choice, integer, real, threads, with_parameters
from separatrix.estimators.base.prepare import Training
from separatrix.estimators.base.probabilistic_machine import (
    ProbabilisticKernelMachine,
    blas_threads,
)
from separatrix.estimators.base.svc_certificate import EXACT
from separatrix.estimators.base.svc_fit import class_order
from separatrix.kernels.gram.build import make_gram
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.device import DEVICES, as_numpy, like, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.kernel_discriminant import KernelFisherFit, solve_kernel_fisher
from separatrix.types import Codes, Matrix, Vector

SCORE_ERROR = 1e-6  # of coordinates, whose standard deviation within the classes is about 1


@with_parameters
class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ProbabilisticKernelMachine
):
    """Fisher's discriminant in the feature space of a kernel: an embedding and a classifier.

    `transform` gives at most k - 1 coordinates along which the classes lie far apart and the samples of
    a class close together; `predict` takes each class for a Gaussian there, all with the same spread. With
    a linear kernel it is `FisherDiscriminant`; with a polynomial one, that on the monomials. One Cholesky
    factorisation of the Gram matrix serves all classes. Its probabilities are those of Gaussians: where
    they matter, use `KernelLogisticRegression`. Not for more than some 20,000 samples: put `Nystroem`
    before `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    n_components
        Coordinates, at most k - 1; None is as many as there are.
    kernel, degree, gamma, coef0
        As in `SVC`: any kernel of `separatrix.kernels`, also on objects, or scikit-learn's names and
        their parameters. It must be positive semi-definite.
    ridge
        Added to the scatter within the classes, in the feature space. Above 0: without it the scatter
        is singular there. As 1 / C of an `SVC`, its scale is that of k(x, x).
    priors
        Probabilities of the classes, (k,); None: their shares; "uniform": equal, so that the nearest class
        mean wins.
    cache_size
        Memory for the kernel matrix in MB; by default 4096, or a quarter of the machine's if less.
    n_jobs
        Threads; -1 or None for all cores.
    device
        "auto", "cpu" or "cuda", for predictions. Training is on the CPU.

    Attributes
    ----------
    classes_, kernel_, shape_fit_, n_features_in_
        Labels, (k,), the kernel object in use, the shape of X.
    support_, support_vectors_, n_support_
        Rows with a coefficient, by class, (s,): all with a weight; those samples; how many of each class.
    dual_coef_, intercept_
        Coefficients of the axes, (c, s), and what puts the mean of all samples at 0, (c,).
    means_, priors_
        Class means in the coordinates of `transform`, (k, c); probabilities of the classes, (k,).
    scatter_ratio_
        Scatter between the classes over scatter within them along each axis, (c,). Along each the
        variance within the classes is 1, the ridge's part included.
    gram_
        Form and precision of the kernel matrix, as text.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelFisherDiscriminant(gamma=0.0005, ridge=0.1).fit(X[:1000], y[:1000])
    >>> model.transform(X[1000:]).shape
    (797, 9)
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.969

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf and Müller, Fisher Discriminant Analysis with Kernels, IEEE Neural
    Networks for Signal Processing (1999). Baudat and Anouar, Generalized Discriminant Analysis Using a
    Kernel Approach, Neural Computation 12 (2000).
    """

    n_components: int | None = integer(None, least=1)
    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    ridge: float = real(1.0, above=0)
    priors: Any = None
    cache_size: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        train = self._prepare(X, y, sample_weight)
        k = len(train.classes)
        if self.n_components is not None and self.n_components > k - 1:
            must_be = f"at most k - 1 = {k - 1} for {k} classes"
            raise ParameterError(type(self).__name__, "n_components", must_be, self.n_components)
        order = class_order(train.y, k)
        with monitored(self, train.X, train.y, steps=1, task="factorisation") as monitor:
            solve = partial(self._factorise, train=train, order=order)
            found = run_on(self._training_policy(train.X, self.kernel_), solve)
            monitor.step()
        self._keep_support(train, order, found.coef, -found.origin)
        self.means_, self.scatter_ratio_ = found.means, found.ratio
        weight = np.bincount(train.y, train.weights, minlength=k).astype(np.float64)
        self.priors_ = self._class_priors(weight)
        return self

    def transform(self, X: Any) -> Any:
        """Coordinates of samples along the axes, about the mean of all, (n, c)."""
        return like(self._score(X), X)

    def decision_function(self, X: Any) -> Any:
        """Log odds of the second of two classes, (n,); else log probabilities up to a constant, (n, k)."""
        Z = as_numpy(self._score(X))
        return like(_log_joint(Z, self.means_, self.priors_), X)

    def classify_rows(
        self,
        data: LabelledGram,
        rows: Codes,
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix and classify all of them."""
        gram, y, n_classes = data
        own = np.array(gram.tile(rows, rows), dtype=np.float64)
        with blas_threads(threads):
            found = self._solve(own, y[rows], np.ones(len(rows)), n_classes)
            K = gram.tile(rows, slice(0, len(y)))
            Z = (found.coef.astype(K.dtype) @ K).T - found.origin
        priors = self._class_priors(np.bincount(y[rows], minlength=n_classes).astype(np.float64))
        S = _log_joint(Z, found.means, priors)
        return RowsClassified(S[:, None] if S.ndim == 1 else S, n_classes, "ovr", "lowest", 1)

    def _factorise(self, device: Any, train: Training, order: Codes) -> KernelFisherFit:
        n = len(order)
        budget = default_budget() if self._budget is None else self._budget
        if 8 * n * n > budget:
            raise MemoryBudgetError(
                f"KernelFisherDiscriminant factorises the kernel matrix of {n} samples, which takes "
                f"{in_words(8 * n * n)}, more than the budget of {in_words(budget)}; raise `cache_size`, "
                "or use make_pipeline(Nystroem(...), LinearDiscriminantAnalysis())"
            )
        X, threads = as_numpy(train.X), self._threads
        gram = make_gram(
            self.kernel_, X, memory=budget, order=order, tolerance=EXACT, threads=threads
        )
        self._require_semidefinite(gram)
        self.gram_ = repr(gram)
        K = np.asarray(gram.tile(slice(0, n), slice(0, n)), dtype=np.float64)
        with blas_threads(threads):
            return self._solve(K, train.y[order], train.weights[order], len(train.classes))

    def _solve(self, K: Matrix, y: Codes, weights: Vector, n_classes: int) -> KernelFisherFit:
        """The axes wanted; K becomes scratch."""
        try:
            found = solve_kernel_fisher(K, y, weights, n_classes=n_classes, ridge=self.ridge)
        except np.linalg.LinAlgError:
            raise DataError(
                f"the kernel matrix plus ridge={self.ridge:g} is not positive definite; raise `ridge` of "
                "KernelFisherDiscriminant, or use a positive semi-definite kernel"
            ) from None
        if not len(found.ratio):
            raise DataError(
                "all class means are the same in the feature space of the kernel, so no axis separates "
                "them; use another kernel, or check the labels"
            )
        c = self.n_components
        return KernelFisherFit(
            found.coef[:c], found.origin[:c], found.means[:, :c], found.ratio[:c]
        )

    def _class_priors(self, weight: Vector) -> Vector:
        uniform = isinstance(self.priors, str) and self.priors == "uniform"
        given = np.full(len(weight), 1.0 / len(weight)) if uniform else self.priors
        return class_priors(type(self).__name__, given, weight)

    @property
    def _score_error(self) -> float:
        return SCORE_ERROR

    @property
    def _n_features_out(self) -> int:
        return len(self.intercept_)


def _log_joint(Z: Matrix, means: Matrix, priors: Vector) -> Matrix:
    """Log prior less half the squared distance to each mean, (n, k); of two, the difference, (n,)."""
    with np.errstate(divide="ignore"):
        S = np.log(priors) + Z @ means.T - 0.5 * np.einsum("kc,kc->k", means, means)
    return np.asarray(S[:, 1] - S[:, 0] if len(means) == 2 else S)
