"""Base of the discriminants: moments of Gaussian classes, priors, covariances that need the rows."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from separatrix.errors import DataError, MemoryBudgetError, ParameterError, UnsupportedError
from separatrix.estimators.base.blocks import (
    ArrayBlocks,
    StreamBlocks,
    require_repeatable,
)
from separatrix.estimators.base.device_samples import in_memory, map_rows
from separatrix.estimators.base.multiclass import log_probabilities, probabilities
from separatrix.estimators.base.one_pass import OnePass
from separatrix.runtime.blocks import MEBIBYTE, default_budget, in_words, row_blocks
from separatrix.runtime.device import as_numpy, is_tensor, like
from separatrix.runtime.sums import dense, rows_of_a_block, total
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.discriminant import (
    class_rows,
    deviations,
    fourth_powers,
    ledoit_wolf,
    total_covariance,
    varying,
    without_rounding,
)
from separatrix.solvers.moments import Moments, merge, moments_of
from separatrix.solvers.nearly_collinear import TOO_CLOSE
from separatrix.types import Block, Matrix, Vector
from separatrix.validation import require_choice, require_real

LITTLE = MEBIBYTE  # which every machine has: no check of the memory
PRIOR_TOLERANCE = 1e-5  # as in scikit-learn: priors whose sum is this close to 1 are not rescaled


class Estimates(NamedTuple):
    """Covariances that the moments alone do not give."""

    each: list[Matrix]  # of each class, (d, d)
    total: Matrix  # of all samples; (0, 0) if not needed


class GaussianClasses(OnePass):
    """Classes by their means and covariances: the base of linear and quadratic discriminants."""

    solver: str
    shrinkage: Any
    covariance_estimator: Any
    _form: str
    _flexible: ClassVar[tuple[str, ...]] = ("eigen",)  # solvers that take any covariance
    _merge_sums = staticmethod(merge)

    def _fit_blocks(self, blocks: ArrayBlocks | StreamBlocks, sample_weight: Any) -> Self:
        if isinstance(self.shrinkage, str):
            require_repeatable(blocks, "shrinkage='auto' needs a second pass")
        if self.covariance_estimator is not None:
            _require_plain_rows(blocks, sample_weight)
        self._form = self._choose_form(blocks)
        self._sum_up(blocks)
        blocks = in_memory(blocks)
        return self._learn(blocks, self._estimate(blocks))

    def _can_fit_again(self, other: Self, changed: Set[str]) -> bool:
        from_sums = self.covariance_estimator is None and not isinstance(self.shrinkage, str)
        kept = other._form in ("each", self._needed_form)
        return from_sums and kept and super()._can_fit_again(other, changed)

    def _learn_all(self) -> Self:
        return self._learn(blocks=())

    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class, (n, k); finite even if the probability underflows to 0."""
        return like(log_probabilities(as_numpy(self.decision_function(X))), X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k)."""
        return like(probabilities(as_numpy(self.decision_function(X))), X)

    def decision_function(self, X: Any) -> Any:
        """Scores: logarithms of probabilities, up to a constant for each sample."""
        raise NotImplementedError

    @property
    def _needed_form(self) -> str:
        return "each"

    @property
    def _needs_total(self) -> bool:
        return False

    def _choose_form(self, blocks: ArrayBlocks | StreamBlocks) -> str:
        return self._needed_form

    def _learn(self, blocks: Any = None, estimates: Estimates | None = None) -> Self:
        """Set the attributes that predictions use, from sums, and in a `fit` from blocks."""
        raise NotImplementedError

    def _part(self, block: Block, n_classes: int) -> Moments:
        require_memory(block.X.shape[1], n_classes, self._form)
        return moments_of(block, n_classes=n_classes, form=self._form)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if isinstance(self.shrinkage, str):
            require_choice(name, "shrinkage", self.shrinkage, ("auto",))
        elif self.shrinkage is not None:
            require_real(name, "shrinkage", self.shrinkage, least=0, most=1)
        others = " or ".join(map(repr, self._flexible))
        if self.solver == "svd" and self.shrinkage is not None:
            raise UnsupportedError(
                f"shrinkage of {name} is not supported with solver='svd'; use {others}"
            )
        if self.covariance_estimator is None:
            return
        if not hasattr(self.covariance_estimator, "fit"):
            raise ParameterError(
                name, "covariance_estimator", "an object with fit", self.covariance_estimator
            )
        if self.solver == "svd":
            raise UnsupportedError(
                f"covariance_estimator is not supported with solver='svd' of {name}; use {others}"
            )
        if self.shrinkage:
            raise ParameterError(
                name, "shrinkage", "None with covariance_estimator", self.shrinkage
            )

    def _require_sums(self, what: str) -> None:
        super()._require_sums(what)
        name = type(self).__name__
        if isinstance(self.shrinkage, str):
            must_be = f"None or a number for {what}: rows are not kept"
            raise ParameterError(name, "shrinkage", must_be, self.shrinkage)
        if self.covariance_estimator is not None:
            must_be = f"None for {what}: rows are not kept"
            raise ParameterError(name, "covariance_estimator", must_be, self.covariance_estimator)
        held = getattr(self, "_form", None)
        if held == "features" or (held == "pooled" and self._needed_form == "each"):
            kept = "no covariance" if held == "features" else "one covariance for all classes"
            raise DataError(
                f"{what} with these parameters needs sums that the fit before did not keep: it kept "
                f"{kept}; start again with partial_fit"
            )
        if not hasattr(self, "classes_"):
            self._form = self._needed_form

    def _require_like(self, other: Any) -> None:
        super()._require_like(other)
        if other._form != self._form:
            raise DataError(
                f"models to merge must have kept the same sums; got {self._form!r} and "
                f"{other._form!r}: fit them with the same solver, priors and store_covariance"
            )

    def _estimate(self, blocks: Any) -> Estimates | None:
        """Covariances of an estimator, or with Ledoit and Wolf's shrinkage."""
        if self.covariance_estimator is not None:
            X, y = blocks.train.X, blocks.train.y
            of = partial(_fit_covariance, type(self).__name__, self.covariance_estimator)
            parts = [of(X[rows]) for rows in class_rows(y, blocks.n_classes)]
            return Estimates(parts, of(X) if self._needs_total else np.empty((0, 0)))
        if not isinstance(self.shrinkage, str):
            return None
        moments = without_rounding(self._sums)
        weights = moments.weight
        safe = np.where(weights > 0, weights, 1.0)
        C, mean, k = [*(moments.scatter / safe[:, None, None])], moments.mean, len(weights)
        if self._needs_total:
            C, mean = [*C, total_covariance(moments)], np.vstack([mean, moments.grand_mean])
        scale = np.stack([deviations(one) for one in C])

        def part(block: Block) -> Vector:
            own = fourth_powers(block, mean=mean[:k], scale=scale[:k])
            if not self._needs_total:
                return own
            as_one = block._replace(y=np.zeros_like(block.y))
            return np.append(own, fourth_powers(as_one, mean=mean[k:], scale=scale[k:]))

        threads = 1 if isinstance(blocks, ArrayBlocks) and len(blocks) == 1 else thread_count()
        fourth = total(part, blocks, np.add, threads=threads)
        sums = zip(C, np.append(weights, weights.sum())[: len(C)], fourth, strict=True)
        each = [ledoit_wolf(one, float(w), float(q)) for one, w, q in sums]
        return Estimates(each[:k], each[k] if self._needs_total else np.empty((0, 0)))


def class_priors(name: str, given: Any, weight: Vector) -> Vector:
    """Given priors, or the shares of the classes, (k,); 0 for a class without samples."""
    if given is None:
        return np.asarray(weight / weight.sum())
    k = len(weight)
    try:
        priors = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, "priors", "numbers", given) from None
    if priors.shape != (k,):
        raise ParameterError(name, "priors", f"{k} numbers, one a class", given)
    if not np.isfinite(priors).all() or (priors < 0).any() or not priors.any():
        must_be = "finite, at least 0 and not all 0"
        raise ParameterError(name, "priors", must_be, priors.tolist())
    summed = float(priors.sum())
    if abs(summed - 1.0) > PRIOR_TOLERANCE:
        warn_user(
            f"priors of {name} sum to {summed:g}, not to 1; they are rescaled",
            UserWarning,
        )
        priors /= summed
    if not weight.all():
        priors[weight == 0] = 0.0
        if not priors.any():  # only classes of prior 0 so far
            return np.asarray(weight / weight.sum())
        priors /= priors.sum()
    return priors


def _require_plain_rows(blocks: ArrayBlocks | StreamBlocks, sample_weight: Any) -> None:
    why = "covariance_estimator is fitted to the rows of each class, "
    if not isinstance(blocks, ArrayBlocks):
        raise DataError(why + "which must be one array; got an iterable of blocks")
    if sample_weight is not None:
        raise DataError(why + "without weights; leave out sample_weight, or use shrinkage")


def _fit_covariance(owner: str, estimator: Any, X: Any) -> Matrix:
    """The covariance that an estimator finds for rows X."""
    fitted = clone(estimator, safe=False)
    fitted.fit(dense(X))
    C = getattr(fitted, "covariance_", None)
    d = X.shape[1]
    if C is None or np.shape(C) != (d, d) or not np.isfinite(C).all():
        must_be = f"one whose fit gives a finite covariance_ of shape {(d, d)}"
        raise ParameterError(owner, "covariance_estimator", must_be, estimator)
    return np.asarray(C, dtype=np.float64)


def most_components(estimator: Any, k: int, d: int) -> int:
    """Number of axes: `n_components`, at most what the class means span."""
    most, wanted = min(k - 1, d), estimator.n_components
    if wanted is not None and wanted > most:
        must_be = f"at most min(k - 1, d) = {most} for {k} classes and {d} features"
        raise ParameterError(type(estimator).__name__, "n_components", must_be, wanted)
    return most if wanted is None else int(wanted)


def require_memory(d: int, k: int, form: str) -> None:
    """Raise an error if the moments do not fit into memory: two sums and one part for each thread."""
    if form == "features":
        return
    held = (k if form == "each" else 1) * (2 + thread_count())
    needed = held * 8 * d * d
    if needed > LITTLE and needed > (budget := default_budget()):
        whose = f"{k} covariances" if form == "each" else "The covariance"
        raise MemoryBudgetError(
            f"{whose} of {d} features take {in_words(needed)}, more than the {in_words(budget)} "
            "there are; take fewer features, or project them first"
        )


def require_spread(rank: int, moments: Moments, *, complete: bool) -> None:
    """Raise an error if all samples equal the mean of their class, unless more may come."""
    if complete and not rank:
        raise DataError(
            "The number of samples must be more than the number of classes, and some must differ "
            f"within a class; got {moments.samples.sum()} samples of {len(moments.weight)} classes, "
            "each at the mean of its class"
        )


def warn_of_rank(
    estimator: Any, rank: int, moments: Moments, advice: str, *, complete: bool
) -> None:
    """Warn of dropped directions; in a stream only after enough samples."""
    features = int(varying(moments).sum())
    if rank >= features:
        return
    if not complete and moments.samples.sum() - len(moments.weight) <= rank:
        return
    warn_user(
        f"{type(estimator).__name__}: the covariance within the classes has rank {rank}, and "
        f"{features} features vary; directions without spread within the classes are dropped, even "
        f"if they separate classes; {advice}",
        UserWarning,
    )


def warn_of_lost_digits(estimator: Any, least: float) -> None:
    """Warn of nearly collinear features, where the samples are not there to give what sums have lost."""
    if least < TOO_CLOSE:
        warn_user(
            f"{type(estimator).__name__}: features are nearly collinear, the least variance of a direction "
            f"is {least:.1g} of theirs, and sums over blocks keep few of its digits; fit to arrays, which "
            "are read again, or drop such features",
        )


def positions(model: Any, X: Any, axes: Matrix, origin: Any) -> Any:
    """(X - origin) @ axes of a model's samples, (n, c), where the model computes."""
    return map_rows(model, X, lambda part: _positions(part, axes, origin))


def _positions(X: Any, axes: Matrix, origin: Any) -> Any:
    if is_tensor(X):
        from separatrix.solvers.device_sums import product_on  # torch is optional

        return product_on(X.double() - like(np.asarray(origin), X), axes.T)
    Z = np.empty((X.shape[0], axes.shape[1]))
    for rows in row_blocks(len(Z), rows_of_a_block(X.shape[1])):
        Z[rows] = (dense(X[rows]) - origin) @ axes
    return Z
