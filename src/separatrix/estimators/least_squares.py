"""Least squares as a classifier. The arithmetic is in `solvers/least_squares.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import (
    ArrayBlocks,
    StreamBlocks,
    require_repeatable,
)
from separatrix.estimators.base.device_samples import in_memory
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import LinearMachine
from separatrix.estimators.base.monitoring import monitored
from separatrix.estimators.base.one_pass import OnePass
from separatrix.estimators.base.parameters import choice, real, with_parameters
from separatrix.estimators.base.prepare import check_unchanged
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import DEVICES
from separatrix.runtime.sums import BLOCK_BYTES, dense, total
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.least_squares import (
    LeaveOneOut,
    RidgePath,
    SampleSpectrum,
    ScatterSpectrum,
    leave_one_out,
    merge_leave_one_out,
    normal_equations,
    ridges_within,
    rows_spectrum,
    solve_ridge,
    solve_within,
    spectrum_of,
    targets,
)
from separatrix.solvers.least_squares_products import (
    iterations_needed,
    largest_eigenvalue,
    products_are_cheaper,
    solve_products,
)
from separatrix.solvers.least_squares_rows import solve_rows
from separatrix.solvers.moments import Moments, merge, moments_of
from separatrix.types import Block, Codes, Matrix, Vector
from separatrix.validation import require_real

N_RIDGES = 50  # ridges of "loo"
LOO_ROWS = 2048  # samples that are left out in one go, each on its own, under every ridge
UNSOLVED = 1e-6  # gradient, over that at 0, from which on weights are not those of least squares
FREE = 0.9  # parameters for each sample from which on a fit without a ridge interpolates
SPREAD = (-7, 3)  # powers of ten of the least and the largest, in mean eigenvalues of the scatter


def _from_sums_alone(model: Any) -> bool:
    """Whether sums are all that the fit needs: no second pass, and no transformer to be fitted."""
    name = type(model).__name__
    if model._searches:
        raise ParameterError(name, "ridge", "a number to learn in parts", model.ridge)
    if model.features is not None and not isinstance(model.features, FrozenEstimator):
        must_be = "a fitted transformer in a FrozenEstimator to learn in parts"
        raise ParameterError(name, "features", must_be, model.features)
    return True


@with_parameters
class LeastSquaresClassifier(TakesTensors, LinearMachine, OnePass):
    """Least squares on class labels, with or without a ridge.

    Two classes have the targets -1 and +1, several one column each, 1 for the own class and 0 for
    the others; the highest value wins. One pass and one factorisation: a baseline that is there at
    once. A sample far on its right side costs as much as one on the wrong side and pulls the
    boundary over; where that happens use `LogisticRegression` or `LinearSVC`.

    Parameters
    ----------
    ridge
        Penalty on |w|^2; the bias is free of it. At least 0. "loo": of 50 values, evenly spread in
        their logarithm, the one with the least squared error when each sample is left out in turn;
        a list: of its values. One factorisation serves them all, and the errors are exact.
    max_norm
        Largest |w|^2 of each boundary; the ridge is then found, not given. Above 0.
    features
        A transformer that X goes through first, such as `PolynomialMap(2)`. It is cloned and fitted.
    device
        As in `LinearDiscriminantAnalysis`; only the CPU with `features`.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d), and biases, (p,); one row for two classes, else k.
    ridge_
        The ridge used; with max_norm one for each boundary, (p,).
    rank_
        Directions in which samples differ, where that was looked at, else as many as there can be,
        min(n - 1, d). Below d the weights without a ridge are the shortest of those that fit equally well.
    loo_
        After ridge="loo" or a list: `ridges`, the `error` (share mistaken) and the `squared_error`
        when each sample is left out in turn, each (r,).
    features_
        The fitted transformer, or None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LeastSquaresClassifier(ridge="loo").fit(X, y)
    >>> model.coef_.shape, len(model.loo_.ridges)
    ((3, 4), 50)

    References
    ----------
    Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.2.
    """

    _merge_sums = staticmethod(merge)

    ridge: Any = 0.0
    _: KW_ONLY
    max_norm: float | None = real(None, above=0)
    features: Any = None
    device: str = choice(*DEVICES)

    def _fit_blocks(self, blocks: ArrayBlocks | StreamBlocks, sample_weight: Any) -> Self:
        self.__dict__.pop("loo_", None)
        if self._searches:
            require_repeatable(blocks, "ridge='loo' needs a second pass")
        self._fit_features(blocks)
        if isinstance(blocks, ArrayBlocks) and blocks.X.shape[0] < self._map(blocks.X[:1]).shape[1]:
            n = self._fit_rows(in_memory(blocks))
        else:
            self._sum_up(blocks)
            n = int(self._sums.samples.sum())
            if self._searches:
                self._search(in_memory(blocks))
            else:
                self._learn()
        self._warn_if_interpolating(n, blocks)
        return self

    @available_if(_from_sums_alone)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more samples; all `classes` are named in the first call."""
        if hasattr(self, "classes_"):
            check_unchanged(self, {"features": self.features_})
        self.features_: Any = self.features
        return super().partial_fit(X, y, classes, sample_weight)

    @available_if(_from_sums_alone)
    def merge(self, *others: Any) -> Self:
        """Add what other models of this type and with the same classes learned from other samples."""
        return super().merge(*others)

    @property
    def _gpu_obstacle(self) -> str | None:
        return None if self.features is None else "`features`"

    @property
    def _searches(self) -> bool:
        return isinstance(self.ridge, str | Sequence | np.ndarray)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if isinstance(self.ridge, str):
            if self.ridge != "loo":
                raise ParameterError(name, "ridge", "at least 0, 'loo' or a list", self.ridge)
        elif self._searches:
            if not len(self.ridge):
                raise ParameterError(name, "ridge", "a list of at least one value", self.ridge)
            for value in self.ridge:
                require_real(name, "ridge", value, least=0)
        else:
            require_real(name, "ridge", self.ridge, least=0)
        if self.max_norm is not None and (self._searches or self.ridge):
            raise ParameterError(name, "ridge", "0 with max_norm, which determines it", self.ridge)
        if self.features is not None and not hasattr(self.features, "transform"):
            raise ParameterError(name, "features", "a transformer or None", self.features)

    def _require_like(self, other: Any) -> None:
        super()._require_like(other)
        if other.features_ is not self.features_:
            must_be = "the same object in models to merge"
            raise ParameterError(type(self).__name__, "features", must_be, other.features)

    def _require_sums(self, what: str) -> None:
        super()._require_sums(what)
        if getattr(self, "_sums", 0) is None:
            raise DataError(
                f"{what} needs moments, which a fit to fewer samples than features does not keep; "
                "start with partial_fit"
            )

    def _fit_features(self, blocks: ArrayBlocks | StreamBlocks) -> None:
        self.features_ = None if self.features is None else clone(self.features)
        if self.features_ is None:
            return
        if isinstance(blocks, ArrayBlocks):
            self.features_.fit(blocks.train.X, blocks.train.classes[blocks.train.y])
        elif not isinstance(self.features, FrozenEstimator):
            raise ParameterError(
                type(self).__name__,
                "features",
                "a fitted transformer in a FrozenEstimator for an iterable of blocks",
                self.features,
            )

    def _map(self, X: Any) -> Any:
        return X if self.features_ is None else self.features_.transform(X)

    def _scores(self, X: Any) -> Matrix:
        return super()._scores(self._map(X))

    def _part(self, block: Block, n_classes: int) -> Moments:
        return moments_of(block._replace(X=self._map(block.X)), n_classes=n_classes, form="pooled")

    def _learn(self) -> Self:
        normal = normal_equations(self._sums)
        if self.max_norm is not None:
            found = solve_within(normal, self.max_norm)
            self.ridge_: Any = found.ridge
        else:
            found = solve_ridge(normal, float(self.ridge))
            self.ridge_ = float(self.ridge)
        self.coef_, self.intercept_, self.rank_ = found.coef, found.intercept, found.rank
        return self

    def _search(self, blocks: ArrayBlocks | StreamBlocks) -> Self:
        """Leave-one-out errors of every ridge, in a second pass."""
        normal = normal_equations(self._sums)
        spectrum = spectrum_of(normal)
        ridges = _ridge_grid(self.ridge, spectrum, len(normal.A))
        ours: dict[str, Any] = {
            "spectrum": spectrum,
            "target_mean": normal.target_mean,
            "total": normal.weight,
            "ridges": ridges,
        }

        def part(block: Block) -> LeaveOneOut:
            kept = block.weights > 0
            Z = spectrum.positions(self._map(block.X[kept]), normal.mean)
            return leave_one_out(Z, block.y[kept], block.weights[kept], **ours)

        values = 8 * max(len(spectrum.s), len(ridges) * spectrum.C.shape[1])
        parts = blocks.cut(rows_that_fit(values, BLOCK_BYTES, most=LOO_ROWS)) or blocks
        self._choose(ridges, total(part, parts, merge_leave_one_out, threads=thread_count()))
        W = spectrum.weights(self.ridge_)
        self.coef_, self.intercept_ = np.ascontiguousarray(W.T), normal.bias(W)
        self.rank_ = spectrum.rank
        return self

    def _fit_rows(self, blocks: ArrayBlocks) -> int:
        """Fewer samples than features: all from their inner products; how many have a weight."""
        train = blocks.train
        kept = np.flatnonzero(train.weights)
        X, y, weights = self._map(train.X[kept]), train.y[kept], train.weights[kept]
        X = X.astype(np.float64) if issparse(X) else dense(X)
        self.classes_, self._sums = train.classes, None
        total_weight = float(weights.sum())
        mean = np.asarray(weights @ X).ravel() / total_weight
        T = targets(y, len(train.classes))
        target_mean = weights @ T / total_weight
        T -= target_mean
        if self._searches or self.max_norm is not None:
            rows = rows_spectrum(_products_about(X, mean), T, weights)
            alpha = self._search_rows(rows, X.shape[1], y, weights, target_mean)
            W, self.rank_ = _combined(X, mean, alpha), rows.spectrum.rank
        else:
            W = self._solve_rows(X, mean, T, weights)
        self.coef_, self.intercept_ = np.ascontiguousarray(W.T), target_mean - mean @ W
        return len(y)

    def _solve_rows(self, X: Any, mean: Vector, T: Matrix, weights: Vector) -> Matrix:
        """The weights under one ridge, (d, p), by the way that takes fewer operations."""
        root, ridge = np.sqrt(weights)[:, None], float(self.ridge)
        (n, d), p = X.shape, T.shape[1]
        products: dict[str, Any] = {
            "ridge": ridge,
            "multiply": lambda W: root * (np.asarray(X @ W) - mean @ W),
            "combine": lambda V: _combined(X, mean, root * V),
        }
        self.ridge_ = ridge
        if issparse(X) and products_are_cheaper(n, d, p, X.nnz, 1):
            largest = largest_eigenvalue(n, products["multiply"], products["combine"])
            most = iterations_needed(ridge, largest)
            if products_are_cheaper(n, d, p, X.nnz, most):
                return self._iterate(root * T, most, products)
        K = _products_about(X, mean)
        K *= root
        K *= root.T
        found = solve_rows(K, root * T, **products)
        self.rank_ = found.rank
        if found.gradient > UNSOLVED:
            warn_user(
                "LeastSquaresClassifier reached the limit of floating point: the gradient of the "
                f"squared error is {found.gradient:.2g} of that at 0, wanted {UNSOLVED:g}; scale the "
                "features, or use a ridge",
                ConvergenceWarning,
            )
        return found.W

    def _iterate(self, T: Matrix, most: int, products: dict[str, Any]) -> Matrix:
        """The weights by conjugate gradients, whose rank is not known."""
        self.rank_ = len(T) - 1
        with monitored(self, None, None, steps=most, task="iteration") as monitor:
            found = solve_products(T, max_iter=most, monitor=monitor, **products)
        if found.gradient > UNSOLVED:
            warn_user(
                f"LeastSquaresClassifier stopped after {found.n_iter} iterations: the gradient of the "
                f"squared error is {found.gradient:.2g} of that at 0, wanted {UNSOLVED:g}; scale the "
                "features, or use a larger ridge",
                ConvergenceWarning,
            )
        return found.W

    def _search_rows(
        self, rows: SampleSpectrum, d: int, y: Codes, weights: Vector, target_mean: Vector
    ) -> Matrix:
        """The ridge by leave-one-out errors or by max_norm; coefficients of the samples, (n, p)."""
        if self.max_norm is not None:
            self.ridge_ = ridges_within(rows.spectrum, self.max_norm)
        else:
            ridges = _ridge_grid(self.ridge, rows.spectrum, d)
            found = leave_one_out(
                rows.positions(),
                y,
                weights,
                spectrum=rows.spectrum,
                target_mean=target_mean,
                total=float(weights.sum()),
                ridges=ridges,
            )
            self._choose(ridges, found)
        return rows.coefficients(self.ridge_)

    def _warn_if_interpolating(self, n: int, blocks: ArrayBlocks | StreamBlocks) -> None:
        """Warn where a fit without a ridge follows almost any labels: n is the number of samples."""
        if np.all(self.ridge_) or self.rank_ + 1 <= FREE * n:
            return
        warn_user(
            f"LeastSquaresClassifier: {self.rank_ + 1} parameters are fitted to {n} samples without a "
            f"ridge, so that it reproduces almost any labels: the training error says nothing, and the "
            f"norm of the weights is {np.linalg.norm(self.coef_):.3g}; use a ridge above 0, such as "
            f"{self._mean_square(blocks):.2g} (the mean squared distance from the mean), or ridge='loo'"
        )

    def _mean_square(self, blocks: ArrayBlocks | StreamBlocks) -> float:
        """The mean squared distance of a sample from the mean of all."""
        if self._sums is not None:
            normal = normal_equations(self._sums)
            return float(np.trace(normal.A) / normal.weight)
        train = in_memory(blocks).train
        weights, X = train.weights / train.weights.sum(), self._map(train.X)
        mean = np.asarray(weights @ X).ravel()
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        return float(weights @ np.asarray(squares).ravel() - mean @ mean)

    def _choose(self, ridges: Vector, found: LeaveOneOut) -> None:
        self.loo_ = RidgePath(ridges, found.mistaken / found.weight, found.squares / found.weight)
        self.ridge_ = float(ridges[np.argmin(self.loo_.squared_error)])


def _ridge_grid(ridge: Any, spectrum: ScatterSpectrum, d: int) -> Vector:
    """The given ridges, or for "loo" a grid about the mean eigenvalue."""
    if not isinstance(ridge, str):
        return np.asarray(ridge, dtype=np.float64)
    mean = float(spectrum.s.sum()) / d or 1.0
    return mean * np.logspace(*SPREAD, N_RIDGES)


def _products_about(X: Any, mean: Vector) -> Matrix:
    """Inner products of samples about their mean, (n, n); sparse samples stay sparse."""
    if not issparse(X):
        centred = X - mean
        return np.asarray(centred @ centred.T)
    n, along = X.shape[0], np.asarray(X @ mean)
    K, turned = np.empty((n, n)), X.T.tocsr()
    for rows in row_blocks(n, rows_that_fit(16 * n, BLOCK_BYTES)):
        K[rows] = (X[rows] @ turned).toarray()
        K[rows] -= along[rows, None] + along
    K += mean @ mean
    return K


def _combined(X: Any, mean: Vector, alpha: Matrix) -> Matrix:
    """The sum of samples about their mean, each times its row of alpha, (d, p)."""
    return np.asarray(X.T @ alpha) - np.outer(mean, alpha.sum(axis=0))
