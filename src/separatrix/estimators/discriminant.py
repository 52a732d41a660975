"""Linear and quadratic discriminants. The arithmetic is in `solvers/discriminant.py`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, UnsupportedError
from separatrix.estimators.base.blocks import ArrayBlocks, StreamBlocks
from separatrix.estimators.base.device_samples import map_rows
from separatrix.estimators.base.gaussian_classes import (
    Estimates,
    GaussianClasses,
    class_priors,
    most_components,
    positions,
    require_spread,
    warn_of_lost_digits,
    warn_of_rank,
)
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import LinearMachine
from separatrix.estimators.base.multiclass import winners
from separatrix.estimators.base.parameters import choice, flag, integer, real, with_parameters
from separatrix.estimators.base.prepare import check_samples
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import DEVICES, as_numpy, is_tensor, like
from separatrix.runtime.sums import dense
from separatrix.runtime.threads import in_order, thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.discriminant import (
    CovarianceAxes,
    LinearRules,
    fast_inverse_root,
    inverse_root,
    means_of,
    principal_axes,
    quadratic,
    shrunk,
    solve_eigen,
    solve_lsqr,
    solve_svd,
    total_covariance,
    whitening,
    whitening_of_rows,
    within_covariance,
    without_rounding,
)
from separatrix.solvers.moments import Moments
from separatrix.solvers.nearly_collinear import CLOSE, least_spread, refine
from separatrix.types import Matrix, Vector

FEWEST_ROWS = 256  # scored at a time; the rows and what becomes of them stay in the cache
LEAST_TOL = 1e-10  # added to a singular covariance even where tol is less
SMALL = 50  # features: below, an eigendecomposition is over before a thread has begun


@with_parameters
class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    TakesTensors,
    LinearMachine,
    GaussianClasses,
):
    """Gaussian classes with one covariance: the likeliest class, by linear boundaries.

    Learns in one pass from the weight, mean and scatter of each class. Use
    `QuadraticDiscriminantAnalysis` where classes spread differently and samples are plenty, and
    `LogisticRegression` or `LinearSVC` where classes are far from Gaussian.

    Parameters
    ----------
    solver
        "svd" works in the space of the class means; "lsqr" takes any covariance; "eigen" takes any
        covariance and has axes. Without shrinkage all three give the same boundaries.
    shrinkage
        For "lsqr" and "eigen": share, 0 to 1, of a multiple of the identity in the covariance.
        "auto" finds it for each class (Ledoit and Wolf), in a second pass.
    priors
        Probability of each class, (k,); None takes the shares of the summed weights.
    n_components
        Axes of `transform`, at most min(k - 1, d); None is that many.
    store_covariance
        Whether "svd" keeps `covariance_`; the others always do.
    tol
        For "svd": least deviation of a direction, of features scaled to 1, that is not left out.
    covariance_estimator
        For "lsqr" and "eigen": anything with `fit` and `covariance_`, fitted to each class's rows.
    device
        "auto", "cpu" or "cuda": where to compute. "auto" stays on the CPU unless samples are on a GPU.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d), and biases, (p,); one row for two classes, else k. The bias of
        a class of prior 0 is minus infinity.
    means_, priors_, covariance_
        Class means, (k, d), priors, (k,), and the mean of the class covariances by priors, (d, d).
    scalings_, xbar_, explained_variance_ratio_
        Axes, (d, r), of variance 1 within the classes; the origin of `transform`, "svd" only; the
        share of the variance between classes along each axis.
    rank_
        Rank of the covariance. Directions without spread within the classes are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.transform(X).shape, round(model.score(X, y), 2)
    ((150, 2), 0.98)

    References
    ----------
    Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.3.
    """

    solver: str = choice("svd", "lsqr", "eigen")
    shrinkage: Any = None
    priors: Any = None
    n_components: int | None = integer(None, least=1)
    store_covariance: bool = flag(False)
    tol: float = real(1e-4, least=0)
    covariance_estimator: Any = None
    device: str = choice(*DEVICES)

    _flexible = ("lsqr", "eigen")
    _after_sums = frozenset({"shrinkage"})

    def transform(self, X: Any) -> Any:
        """Coordinates of samples along the axes, (n, c)."""
        check_is_fitted(self)
        if self.solver == "lsqr":
            raise UnsupportedError(
                "transform not implemented for 'lsqr', which has no axes; use solver='svd' or 'eigen'"
            )
        X = check_samples(self, X, reset=False)
        return positions(
            self, X, self.scalings_[:, : self._n_features_out], getattr(self, "xbar_", 0.0)
        )

    @property
    def _needed_form(self) -> str:
        weighs = self.priors is not None and (self.solver != "svd" or self.store_covariance)
        return "each" if weighs or isinstance(self.shrinkage, str) else "pooled"

    @property
    def _needs_total(self) -> bool:
        return self.solver == "eigen"

    def _choose_form(self, blocks: ArrayBlocks | StreamBlocks) -> str:
        """With fewer rows than features the rows replace the scatter."""
        if self.solver != "svd" or self.store_covariance or not isinstance(blocks, ArrayBlocks):
            return self._needed_form
        n, d = blocks.X.shape
        return "features" if n < d else self._needed_form

    def _learn(self, blocks: Any = None, estimates: Estimates | None = None) -> Self:
        for name in ("covariance_", "scalings_", "xbar_", "explained_variance_ratio_"):
            self.__dict__.pop(name, None)
        moments = self._sums if self._form == "features" else without_rounding(self._sums)
        k, d = moments.mean.shape
        most = most_components(self, k, d)
        self.priors_ = class_priors(type(self).__name__, self.priors, self._sums.weight)
        self.means_ = means_of(moments)
        found = self._solve(moments, blocks, estimates)
        require_spread(found.rank, moments, complete=blocks is not None)
        advice = "use solver='lsqr' or 'eigen' with shrinkage, or drop such features"
        warn_of_rank(self, found.rank, moments, advice, complete=blocks is not None)
        self.coef_, self.intercept_, self.rank_ = found.coef, found.intercept, found.rank
        if self.solver != "lsqr":
            self.scalings_, self.explained_variance_ratio_ = found.axes, found.ratio[:most]
            most = min(most, found.axes.shape[1])
        self._n_features_out = most
        return self

    def _solve(self, moments: Moments, blocks: Any, estimates: Estimates | None) -> LinearRules:
        mean, priors = self.means_, self.priors_
        if self.solver == "svd":
            self.xbar_ = priors @ mean
            if self.store_covariance:
                self.covariance_ = within_covariance(moments, priors)
            if self._form == "features":
                T = whitening_of_rows(*_deviating_rows(blocks.train, moments), self.tol)
            else:
                C = moments.pooled() / moments.weight.sum()
                T = self._refined(whitening(C, self.tol), C, moments, blocks)
            return solve_svd(T, mean, priors, self.tol)
        if estimates is None:
            C, total = within_covariance(moments, priors), total_covariance(moments)
            if self.shrinkage:
                C, total = shrunk(C, self.shrinkage), shrunk(total, self.shrinkage)
        else:
            C, total = np.tensordot(priors, np.stack(estimates.each), axes=1), estimates.total
        self.covariance_ = C
        T = fast_inverse_root(C) if self.solver == "lsqr" else inverse_root(C)
        if estimates is None and not self.shrinkage:
            T = self._refined(T, C, moments, blocks)
        if self.solver == "lsqr":
            return solve_lsqr(T, mean, priors)
        return solve_eigen(T, total - C, mean, priors)

    def _refined(self, T: Matrix, C: Matrix, moments: Moments, blocks: Any) -> Matrix:
        """T of a covariance of nearly collinear features with the digits of the samples."""
        if not T.shape[1] or (least := least_spread(T, C)) >= CLOSE:
            return T
        if not isinstance(blocks, ArrayBlocks):
            warn_of_lost_digits(self, least)
            return T
        shares = np.full(len(moments.weight), 1.0 / moments.weight.sum())
        if moments.form == "each":
            shares = self.priors_ / np.where(moments.weight > 0, moments.weight, 1.0)
        return refine(T, blocks, mean=moments.mean, shares=shares)[0]


@with_parameters
class QuadraticDiscriminantAnalysis(TakesTensors, GaussianClasses):
    """Gaussian classes, each with its own covariance: the likeliest class, by quadratic boundaries.

    Learns in one pass from the weight, mean and scatter of each class. It has d (d + 3) / 2 numbers to
    learn for each class; where samples are few use shrinkage, or `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    solver
        "svd" or "eigen"; here both are eigendecompositions of the class covariances, and only "eigen"
        takes shrinkage or an estimator.
    shrinkage, priors, covariance_estimator
        As of `LinearDiscriminantAnalysis`; for "eigen".
    reg_param
        For "svd": share, 0 to 1, of the identity in each covariance.
    store_covariance
        Whether `covariance_` is kept.
    tol
        A singular covariance of a class gets this share of each feature's variance within the classes
        added, and a warning says so. Other covariances are taken as they are.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    classes_, means_, priors_
        Labels, (k,); class means, (k, d); priors, (k,).
    rank_
        Of each class's covariance before anything was added, (k,).
    rotations_, scalings_, covariance_
        Of each class the axes, (d, d), the variances along them, (d,), and the covariance, (d, d).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(QuadraticDiscriminantAnalysis().fit(X, y).score(X, y), 2)
    0.98

    References
    ----------
    Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.3.
    """

    _: KW_ONLY
    solver: str = choice("svd", "eigen")
    shrinkage: Any = None
    priors: Any = None
    reg_param: float = real(0.0, least=0, most=1)
    store_covariance: bool = flag(False)
    tol: float = real(1e-4, least=0)
    covariance_estimator: Any = None
    device: str = choice(*DEVICES)

    _after_sums = frozenset({"reg_param", "shrinkage"})

    def decision_function(self, X: Any) -> Any:
        """Score of each class, (n, k), or of the second of two less that of the first, (n,)."""
        check_is_fitted(self, "rotations_")
        X = check_samples(self, X, reset=False)
        S = like(map_rows(self, X, self._scores), X)
        return S[:, 1] - S[:, 0] if S.shape[1] == 2 else S

    def _scores(self, X: Any) -> Matrix:
        """Score of each class, (n, k)."""
        model = quadratic(self.means_, self._axes, self.priors_)
        if is_tensor(X):
            return model.scores(X)
        S = np.empty((X.shape[0], len(self.classes_)))
        size = max(FEWEST_ROWS, rows_that_fit(8 * X.shape[1], MEBIBYTE))
        blocks = list(row_blocks(len(S), size))
        scored = in_order(
            lambda rows: model.scores(dense(X[rows])),
            blocks,
            threads=1 if len(blocks) == 1 else thread_count(),
        )
        for rows, part in zip(blocks, scored, strict=True):
            S[rows] = part
        return S

    def predict(self, X: Any) -> Any:
        """Likeliest class of each sample, (n,)."""
        values = self.decision_function(X)
        return like(self.classes_[as_numpy(winners(values, self._class_at_zero))], X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.reg_param and self.solver == "eigen":
            name = type(self).__name__
            warn_user(f"reg_param of {name} does nothing with solver='eigen'; use shrinkage")

    def _learn(self, blocks: Any = None, estimates: Estimates | None = None) -> Self:
        self.__dict__.pop("covariance_", None)
        moments = without_rounding(self._sums)
        self.priors_ = class_priors(type(self).__name__, self.priors, self._sums.weight)
        self.means_ = means_of(moments)
        d = moments.mean.shape[1]
        each: list[Matrix] = []
        for c, weight in enumerate(moments.weight):
            if not weight:
                each.append(np.eye(d))
            elif estimates is not None:
                each.append(estimates.each[c])
            else:
                each.append(self._regularise(moments.scatter[c] / weight))
        axes = list(in_order(principal_axes, each, threads=1 if d < SMALL else thread_count()))
        self.rank_ = np.full(len(each), d)
        for c, own in enumerate(axes):
            if not moments.weight[c]:
                continue
            if own.variances[-1] <= self.tol:
                self.rank_[c] = inverse_root(each[c]).shape[1]
            if self.rank_[c] < d:
                each[c] = each[c] + np.diag(max(self.tol, LEAST_TOL) * _usual_variances(moments))
                axes[c] = principal_axes(each[c])
            elif estimates is None and not (self.shrinkage or self.reg_param):
                axes[c] = self._refined(own, each[c], moments, blocks, c)
        self._warn_if_singular(moments, complete=blocks is not None)
        self._axes = axes
        self.scalings_ = [own.variances for own in axes]
        self.rotations_ = [own.axes for own in axes]
        if self.store_covariance:
            self.covariance_ = each
        return self

    def _refined(
        self, own: CovarianceAxes, C: Matrix, moments: Moments, blocks: Any, c: int
    ) -> CovarianceAxes:
        """Axes of a class whose features are nearly collinear with the digits of the samples."""
        if not np.isfinite(own.root).all() or (least := least_spread(own.root, C)) >= CLOSE:
            return own
        if not isinstance(blocks, ArrayBlocks):
            warn_of_lost_digits(self, least)
            return own
        shares = np.zeros(len(moments.weight))
        shares[c] = 1.0 / moments.weight[c]
        root, lost = refine(own.root, blocks, mean=moments.mean, shares=shares)
        return own._replace(root=root, log_determinant=own.log_determinant + lost)

    def _regularise(self, C: Matrix) -> Matrix:
        if self.solver == "eigen":
            return shrunk(C, self.shrinkage) if self.shrinkage else C
        C = (1.0 - self.reg_param) * C
        C.flat[:: len(C) + 1] += self.reg_param
        return np.asarray(C)

    def _warn_if_singular(self, moments: Moments, *, complete: bool) -> None:
        """Warn of singular class covariances; in a stream only after enough samples."""
        d = moments.mean.shape[1]
        labels = self.classes_.tolist()
        alone = np.flatnonzero((self.rank_ < d) & (moments.samples <= 1) & (moments.weight <= 1.0))
        if len(alone) and complete:
            raise DataError(
                f"y has only 1 sample in class {labels[alone[0]]!r}, too few for a covariance of {d} "
                "features; use LinearDiscriminantAnalysis, which shares one covariance"
            )
        singular = np.flatnonzero((self.rank_ < d) & (complete | (moments.samples > d)))
        if not len(singular):
            return
        c = singular[0]
        found = (
            f"the covariance of class {labels[c]!r} has rank {self.rank_[c]} of {d}, over "
            f"{moments.samples[c]} samples"
        )
        if len(singular) > 1:
            found += f", and {len(singular) - 1} more are singular"
        flat = np.flatnonzero(np.diag(moments.scatter[c]) == 0)
        if 0 < len(flat) <= 5:
            names = getattr(self, "feature_names_in_", np.arange(d))
            found += f"; constant there: {', '.join(str(names[j]) for j in flat)}"
        more = "shrinkage" if self.solver == "eigen" else "reg_param, solver='eigen' with shrinkage"
        warn_user(
            f"QuadraticDiscriminantAnalysis: {found}; tol={self.tol:g} of each feature's usual "
            f"variance is added; to control this use {more}, or use "
            "LinearDiscriminantAnalysis, which shares one covariance",
        )


def _usual_variances(moments: Moments) -> Vector:
    """Variance of each feature within the classes; 1 where there is none, (d,)."""
    variances = np.diag(moments.pooled()) / moments.weight.sum()
    return np.where(variances > 0, variances, 1.0)


def _deviating_rows(train: Any, moments: Moments) -> tuple[Matrix, Vector]:
    """Rows about their class means whose products are the covariance, and the scale of features."""
    kept = np.flatnonzero(train.weights)
    A = dense(train.X[kept]) - moments.mean[train.y[kept]]
    A *= np.sqrt(train.weights[kept] / moments.weight.sum())[:, None]
    return A, np.abs(moments.mean).max(axis=0)
