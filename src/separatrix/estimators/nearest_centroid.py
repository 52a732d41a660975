"""The nearest-centroid classifier; `solvers/nearest_centroid.py` computes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import ArrayBlocks
from separatrix.estimators.base.one_pass import finite
from separatrix.estimators.base.parameters import Estimator, choice, real, with_parameters
from separatrix.estimators.base.prepare import Training, check_samples, prepare
from separatrix.runtime.sums import total
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.moments import merge, moments_of
from separatrix.solvers.naive_bayes import log_of
from separatrix.solvers.nearest_centroid import (
    absolute_distances,
    class_medians,
    shrink_centroids,
    squared_distances,
)
from separatrix.types import Matrix, Vector


def _is_euclidean(model: Any) -> bool:
    return bool(model.metric == "euclidean")


@with_parameters
class NearestCentroid(ClassifierMixin, Estimator):
    """Predicts the class whose centre is nearest.

    One vector for each class, from one pass: the smallest model, and the first to try. With
    `shrink_threshold` features that do not separate the classes lose their effect, which selects genes
    or words. On tf-idf vectors it is Rocchio's classifier. Not for classes of several clusters, of
    different spread, or with correlated features: use `KNeighborsClassifier` or
    `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    metric
        "euclidean": centres are means; "manhattan": centres are medians, which outliers do not move.
    shrink_threshold
        By how many standard errors each centre is moved, feature by feature, towards the mean of all
        samples, at most onto it. Above 0; None: not at all.
    priors
        "uniform", "empirical" or a probability of each class, (k,). With unequal ones distances are in
        units of `within_class_std_dev_`, and squares less 2 log prior are compared.

    Attributes
    ----------
    classes_, class_prior_
        Labels and their prior, (k,).
    centroids_, deviations_
        Centres, and their distances from the mean of all samples in standard errors; after shrinking,
        (k, d).
    within_class_std_dev_
        Pooled standard deviation of each feature about the centres, before shrinking, (d,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NearestCentroid(shrink_threshold=10).fit(X, y)
    >>> (model.deviations_ != 0).any(axis=0).tolist()  # sepals do not count
    [False, False, True, True]

    References
    ----------
    Tibshirani, Hastie, Narasimhan and Chu, Diagnosis of Multiple Cancer Types by Shrunken Centroids of
    Gene Expression, PNAS 99 (2002).
    """

    metric: str = choice("euclidean", "manhattan")
    _: KW_ONLY
    shrink_threshold: float | None = real(None, above=0)
    priors: Any = "uniform"

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from samples X, (n, d), dense or sparse, and their labels y, (n,)."""
        self._check_parameters()
        train = prepare(self, X, y)
        k, blocks = len(train.classes), ArrayBlocks(train)
        moments = finite(
            total(
                lambda block: moments_of(block, n_classes=k, form="features"),
                blocks,
                merge,
                threads=thread_count(),
            )
        )
        centers = moments.mean
        if self.metric == "manhattan":
            centers = class_medians(train.X, train.y, k)
        if not (moments.scatter.any() or (moments.mean != moments.mean[0]).any()):
            raise DataError("All features have zero variance, so no class has a centre of its own")
        found = shrink_centroids(moments, centers, self.shrink_threshold or 0.0)
        self.class_prior_ = self._prior(train)
        self.classes_ = train.classes
        self.centroids_, self.deviations_, self.within_class_std_dev_ = found
        return self

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,); the first among equals."""
        check_is_fitted(self)
        if np.isclose(self.class_prior_, 1.0 / len(self.classes_)).all():
            distances = self._distances(check_samples(self, X, reset=False), None)
            return self.classes_[distances.argmin(axis=1)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    @available_if(_is_euclidean)
    def decision_function(self, X: Any) -> Any:
        """Minus the squared distance in standard deviations, plus 2 log prior, (n, k).

        For two classes, the score of the second less that of the first, (n,).
        """
        S = self._scores(X)
        return S[:, 1] - S[:, 0] if len(self.classes_) == 2 else S

    @available_if(_is_euclidean)
    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, (n, k): the softmax of `decision_function`, as in scikit-learn."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(_is_euclidean)
    def predict_log_proba(self, X: Any) -> Matrix:
        """Log probability of each class, (n, k)."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.priors, str) and self.priors in ("uniform", "empirical"):
            return
        try:
            prior = np.asarray(self.priors, dtype=np.float64)
            good = (
                prior.ndim == 1 and np.isfinite(prior).all() and (prior >= 0).all() and prior.any()
            )
        except (TypeError, ValueError):
            good = False
        if not good:
            must_be = "'uniform', 'empirical' or probabilities; priors must be non-negative"
            raise ParameterError("NearestCentroid", "priors", must_be, self.priors)

    def _prior(self, train: Training) -> Vector:
        k = len(train.classes)
        if isinstance(self.priors, str):
            counts = np.bincount(train.y, minlength=k) if self.priors == "empirical" else np.ones(k)
            return np.asarray(counts / counts.sum())
        prior = np.array(self.priors, dtype=np.float64)
        if len(prior) != k:
            must_be = f"of length {k}, one number for each class"
            raise ParameterError("NearestCentroid", "priors", must_be, len(prior))
        if not np.isclose(prior.sum(), 1.0):
            warn_user("The priors do not sum to 1. Normalizing such that it sums to one.")
            prior /= prior.sum()
        return prior

    def _scores(self, X: Any) -> Matrix:
        """Discriminant scores, (n, k)."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False)
        spread = self.within_class_std_dev_
        distances = self._distances(X, np.where(spread > 0, spread, 1.0))
        if self.metric == "manhattan":
            distances **= 2
        return np.asarray(2.0 * log_of(self.class_prior_) - distances)

    def _distances(self, X: Any, scale: Vector | None) -> Matrix:
        """Distances to the centres, (n, k); for "euclidean" their squares."""
        compute = squared_distances if self.metric == "euclidean" else absolute_distances
        return compute(X, self.centroids_, scale)
