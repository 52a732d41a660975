"""Naive Bayes on counts, flags and numbers; `solvers/naive_bayes.py` computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import ArrayBlocks, StreamBlocks
from separatrix.estimators.base.device_samples import map_samples
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.linear_machine import weight_norms
from separatrix.estimators.base.one_pass import OnePass
from separatrix.estimators.base.parameters import choice, flag, real, with_parameters
from separatrix.estimators.base.prepare import check_samples, check_unchanged
from separatrix.runtime.blocks import rows_that_fit
from separatrix.runtime.device import DEVICES, as_numpy, is_tensor, like
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.moments import Moments, moments_of
from separatrix.solvers.moments import merge as merge_moments
from separatrix.solvers.naive_bayes import (
    Counts,
    Joint,
    Likelihood,
    bernoulli,
    concatenate,
    counts_of,
    flags_of,
    gaussian_log_joint,
    log_joint,
    log_of,
    merge,
    multinomial,
    total_variance,
)
from separatrix.types import Block, Vector
from separatrix.validation import require_real

LEAST_ALPHA = 1e-10  # with force_alpha=False
FEWEST_ENTRIES = 2**20  # of a block of sparse samples


class NaiveBayes(TakesTensors, OnePass):
    """A classifier from log p(x, c): the most probable class, and probabilities by Bayes' rule."""

    _least_classes: ClassVar[int] = 1
    _least_weighted: ClassVar[int] = 1

    def predict(self, X: Any) -> Any:
        """Most probable class of each sample, (n,); the first among equals."""
        values = self._joint(X).contenders()
        return like(self.classes_[values.argmax(axis=1)], X)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, (n, k)."""
        return like(np.exp(as_numpy(self.predict_log_proba(X))), X)

    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class, (n, k)."""
        return like(np.asarray(log_softmax(self._joint(X).contenders(), axis=1)), X)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log p(x, c) of each sample with each class, (n, k); -inf if it is impossible."""
        return like(self._joint(X).log_probabilities(), X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _joint(self, X: Any) -> Joint:
        check_is_fitted(self)
        parts = map_samples(self, check_samples(self, X, reset=False), self._joint_of)
        return parts[0] if len(parts) == 1 else concatenate(parts)

    def _joint_of(self, X: Any) -> Joint:
        raise NotImplementedError


class DiscreteBayes(NaiveBayes):
    """Naive Bayes with smoothed shares: `alpha` and the prior of the classes."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # numbers that are no counts
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if isinstance(self.alpha, Real):
            require_real(name, "alpha", self.alpha, least=0)
        else:
            self._check_alphas()
        _require_prior(name, "class_prior", self.class_prior)

    def _check_alphas(self) -> None:
        """Raise an error unless alpha, which is not a number, has one for each feature."""
        must_be = "at least 0, one number or a list"
        _require_numbers(type(self).__name__, "alpha", must_be, self.alpha)

    def _log_prior(self, weight: Vector) -> Vector:
        """log p(c) of each class, (k,), from the weights of their samples."""
        prior = _prior(type(self).__name__, "class_prior", self.class_prior, weight)
        even = self.class_prior is None and not self.fit_prior
        return log_of(np.full(len(weight), 1.0 / len(weight)) if even else prior)

    def _smoothing(self) -> float | Vector:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if not self.force_alpha and alpha.min() < LEAST_ALPHA:
            warn_user(
                "alpha too small will result in numeric errors, setting alpha = "
                f"{LEAST_ALPHA:.1e}; force_alpha=True keeps it, and 0 is no error here",
            )
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return alpha if alpha.ndim else float(alpha)


class CountingBayes(DiscreteBayes):
    """Naive Bayes from sums of features: the base of multinomial, complement and Bernoulli."""

    _merge_sums = staticmethod(merge)
    _after_sums = frozenset({"alpha", "force_alpha", "fit_prior", "class_prior"})
    _fit_likelihood: Callable[[Counts, float | Vector], Likelihood]  # a static method

    def signed_distance(self, X: Any) -> Any:
        """Distance to the boundary, positive for the second class; of several, score / |w| of each."""
        joint, W = self._joint(X), self._likelihood.weights
        if self._likelihood.zeros is not None:
            raise DataError("some probabilities are 0: there is no boundary; raise `alpha` above 0")
        S = joint.finite
        if len(self.classes_) == 2:
            S, W = S[:, 1] - S[:, 0], W[1:] - W[:1]
        norms = weight_norms(W)
        return like(np.asarray(S / np.where(norms > 0, norms, 1.0)), X)

    def _part(self, block: Block, n_classes: int) -> Counts:
        if np.ndim(self.alpha):
            _require_length(type(self).__name__, "alpha", self.alpha, block.X.shape[1], "feature")
        return counts_of(block._replace(X=self._counted(block.X)), n_classes)

    def _sum_up(self, blocks: ArrayBlocks | StreamBlocks) -> None:
        if isinstance(blocks, ArrayBlocks) and issparse(X := blocks.X):
            # every block has a table of all counts, which must not cost more than its samples
            entries = max(FEWEST_ENTRIES, 2 * blocks.n_classes * X.shape[1])
            blocks = ArrayBlocks(blocks.train, rows_that_fit(-(-X.nnz // X.shape[0]), entries))
        super()._sum_up(blocks)

    def _learn(self) -> Self:
        sums: Counts = self._sums
        self.class_log_prior_ = self._log_prior(sums.weight)
        self._likelihood = self._fit_likelihood(sums, self._smoothing())
        self.class_count_, self.feature_count_ = sums
        self.feature_log_prob_ = self._likelihood.log_prob
        return self

    def _joint_of(self, X: Any) -> Joint:
        return log_joint(self._likelihood, self.class_log_prior_, self._counted(X))

    def _counted(self, X: Any) -> Any:
        """What is counted of samples, (n, d)."""
        raise NotImplementedError


@with_parameters
class MultinomialNB(CountingBayes):
    """Naive Bayes on counts, such as words of a text.

    A class draws each word of a text anew, from its own shares. One pass over the data and a linear
    boundary. Words do come together, so its probabilities are far too sure of themselves; where they
    matter, or accuracy does, use `LogisticRegression` or `LinearSVC`.

    Parameters
    ----------
    alpha
        Count that every feature begins with, or one for each feature, (d,). At least 0. 0: plain
        shares; a class without a word of the sample has probability 0, and where that is so of all
        classes, those with the fewest such words remain.
    force_alpha
        False: an alpha below 1e-10 becomes 1e-10, with a warning.
    fit_prior
        Whether a class is as likely as it is frequent; False: all are equally likely.
    class_prior
        Probability of each class, (k,), instead. At least 0, with sum 1.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_
        Labels; how much the samples of each class weigh; log prior; each (k,).
    feature_count_, feature_log_prob_
        How often each class has each feature, and the log of its share, both (k, d); -inf for 0.

    Examples
    --------
    >>> X = [[2, 1, 0], [1, 0, 0], [0, 1, 3]]  # how often each of three words is in each text
    >>> model = MultinomialNB().fit(X, ["ham", "ham", "spam"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['ham', 'spam']
    """

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = flag(True)
    fit_prior: bool = flag(True)
    class_prior: Any = None
    device: str = choice(*DEVICES)

    _fit_likelihood = staticmethod(multinomial)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _counted(self, X: Any) -> Any:
        return require_counts(type(self).__name__, X)


@with_parameters
class BernoulliNB(CountingBayes):
    """Naive Bayes on features that a sample has or has not.

    Unlike with `MultinomialNB`, a word that is not there speaks too, and it does not matter how often
    one is. For short texts; in long ones counts say more.

    Parameters
    ----------
    alpha
        Samples with and samples without each feature that a class begins with; one number or (d,). At
        least 0. 0: plain shares; what all samples of a class have, or none, is then certain, and of
        classes that are all impossible those with the fewest contradictions remain.
    binarize
        A sample has the features that are above this. At least 0; None: X is 0 or 1 already, or
        in between, a probability.
    force_alpha, fit_prior, class_prior, device
        As in `MultinomialNB`.

    Attributes
    ----------
    feature_count_, feature_log_prob_
        How many samples of each class have each feature, and the log of their share, both (k, d).
    classes_, class_count_, class_log_prior_
        As in `MultinomialNB`.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> model = BernoulliNB().fit(X, ["ham", "ham", "spam"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['ham', 'spam']
    """

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = flag(True)
    binarize: float | None = real(0.0, least=0, also=(None,))
    fit_prior: bool = flag(True)
    class_prior: Any = None
    device: str = choice(*DEVICES)

    _fit_likelihood = staticmethod(bernoulli)

    def _require_sums(self, what: str) -> None:
        super()._require_sums(what)
        if hasattr(self, "classes_"):
            check_unchanged(self, {"binarize": self._binarized})

    def _learn(self) -> Self:
        self._binarized: float | None = self.binarize
        return super()._learn()

    def _require_like(self, other: Any) -> None:
        super()._require_like(other)
        if other.binarize != self.binarize:
            must_be = f"{self.binarize!r}, as in the model it is merged into"
            raise ParameterError("BernoulliNB", "binarize", must_be, other.binarize)

    def _counted(self, X: Any) -> Any:
        if self.binarize is not None:
            return flags_of(X, self.binarize)
        values = X.data if issparse(X) else X
        outside = values[(values < 0) | (values > 1)]
        if len(outside):
            raise DataError(f"with binarize=None X must lie between 0 and 1; got {outside[0]:g}")
        return X


@with_parameters
class GaussianNB(NaiveBayes):
    """Naive Bayes on numbers: in each class every feature has a Gaussian of its own.

    One pass and no matrix to factor; the boundary is quadratic. It does not see which features go
    together: where they do, use a discriminant analysis.

    Parameters
    ----------
    priors
        Probability of each class, (k,). At least 0, with sum 1. None: as frequent as they are.
    var_smoothing
        Share of the largest variance that a feature has over all samples; it is added to all
        variances. At least 0.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        Labels; how much the samples of each class weigh; prior; each (k,).
    theta_, var_, epsilon_
        Mean and variance of each feature in each class, (k, d), and what is added to the variances.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianNB().fit(X, y).score(X, y)
    0.96
    """

    _merge_sums = staticmethod(merge_moments)
    _after_sums = frozenset({"priors", "var_smoothing"})

    _: KW_ONLY
    priors: Any = None
    var_smoothing: float = real(1e-9, least=0)
    device: str = choice(*DEVICES)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _require_prior("GaussianNB", "priors", self.priors)

    def _part(self, block: Block, n_classes: int) -> Moments:
        return moments_of(block, n_classes=n_classes, form="features")

    def _learn(self) -> Self:
        sums: Moments = self._sums
        self.class_prior_ = _prior("GaussianNB", "priors", self.priors, sums.weight)
        self.epsilon_ = float(self.var_smoothing * total_variance(sums).max())
        weight = np.where(sums.weight > 0, sums.weight, 1.0)
        self.class_count_, self.theta_ = sums.weight, sums.mean
        self.var_ = sums.scatter / weight[:, None] + self.epsilon_
        return self

    def _joint_of(self, X: Any) -> Joint:
        prior = log_of(self.class_prior_ * (self.class_count_ > 0))  # of others nothing is known
        flat = np.argwhere((self.var_ == 0) & np.isfinite(prior)[:, None])
        if len(flat):
            label, j = self.classes_.tolist()[flat[0, 0]], flat[0, 1]
            raise DataError(
                f"feature {j} has no variance in class {label!r}; raise `var_smoothing`"
            )
        return Joint(gaussian_log_joint(self.theta_, self.var_, prior, X), None)


def require_counts(owner: str, X: Any) -> Any:
    """The samples, (n, d); raises an error if a value is negative."""
    if is_tensor(X):
        least = float(X.min()) if len(X) else 0.0
    else:
        least = (X.data if issparse(X) else X).min(initial=0)
    if least < 0:
        raise DataError(f"Negative values in data passed to {owner} (input X); got {least:g}")
    return X


def _prior(owner: str, name: str, given: Any, weight: Vector) -> Vector:
    """The prior given, or else the share of each class, (k,)."""
    if given is None:
        return np.asarray(weight / weight.sum())
    _require_length(owner, name, given, len(weight), "class")
    return np.array(given, dtype=np.float64)


def _require_numbers(owner: str, name: str, must_be: str, value: Any) -> Vector:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(owner, name, must_be, value) from None
    if numbers.ndim != 1 or not len(numbers):
        raise ParameterError(owner, name, must_be, numbers.tolist())
    bad = numbers[~(np.isfinite(numbers) & (numbers >= 0))]
    if len(bad):
        raise ParameterError(owner, name, must_be, float(bad[0]))
    return numbers


def _require_prior(owner: str, name: str, value: Any) -> None:
    must_be = "probabilities, at least 0 and with sum 1, or None"
    if value is not None:
        total = _require_numbers(owner, name, must_be, value).sum()
        if not np.isclose(total, 1.0):
            raise ParameterError(owner, name, must_be, np.asarray(value).tolist())


def _require_length(owner: str, name: str, value: Any, wanted: int, what: str) -> None:
    if len(value) != wanted:
        must_be = f"of length {wanted}, one number for each {what}"
        raise ParameterError(owner, name, must_be, len(value))
