"""Fisher's discriminant as an embedding. The arithmetic is in `solvers/discriminant.py`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.blocks import ArrayBlocks, StreamBlocks
from separatrix.estimators.base.gaussian_classes import (
    most_components,
    positions,
    require_memory,
    require_spread,
    warn_of_rank,
)
from separatrix.estimators.base.labels import as_labels
from separatrix.estimators.base.multiclass import winners
from separatrix.estimators.base.one_pass import OnePass
from separatrix.estimators.base.parameters import choice, integer, real, with_parameters
from separatrix.estimators.base.prepare import check_samples
from separatrix.runtime.device import DEVICES, as_numpy, like
from separatrix.solvers.discriminant import means_of, solve_fisher, without_rounding
from separatrix.solvers.moments import Moments, merge, moments_of
from separatrix.types import Block
from separatrix.validation import require_real


def _is_classifier(model: Any) -> bool:
    if model.threshold is not None:
        return True
    raise AttributeError(
        "FisherDiscriminant without a threshold is an embedding, not a classifier; set "
        "threshold='midpoint' or a number, or use LinearDiscriminantAnalysis"
    )


@with_parameters
class FisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OnePass):
    """Axes along which class means lie far apart and the samples of a class close together.

    It is an embedding, not a classifier: it says where to look, not where to cut. With a `threshold`
    it becomes, explicitly, a classifier of two classes. For a cut that follows from a model of the
    classes, and for several classes, use `LinearDiscriminantAnalysis`.

    Parameters
    ----------
    n_components
        Axes, at most min(k - 1, d); None is as many as there are.
    ridge
        Added to the diagonal of the scatter within the classes. At least 0; above 0 where features
        are many or nearly the same. A sum over samples, as in `LeastSquaresClassifier`.
    threshold
        None: no `predict`. "midpoint": for two classes, cut the first axis halfway between their means.
        A number: cut it there, in the coordinates of `transform`.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    axes_
        (d, c), by falling ratio. Along each the variance within the classes, pooled, is 1 (with a
        ridge: that plus ridge / n times the axis's squared length), and axes are not correlated
        within the classes. The last of the classes lies above the first along every axis; where the
        two are level, the largest entry is positive.
    scatter_ratio_
        Scatter between the classes over scatter within them along each axis, (c,).
    means_, xbar_
        Class means, (k, d); mean of all samples, which is the origin of `transform`, (d,).
    classes_, rank_, threshold_
        Labels, (k,); rank of the scatter within, ridge included; where the first axis is cut.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> model.scatter_ratio_.round(2).tolist(), model.transform(X).shape
    ([32.19, 0.29], (150, 2))
    >>> hasattr(model, "predict")
    False

    References
    ----------
    Fisher, The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7 (1936).
    """

    _merge_sums = staticmethod(merge)

    n_components: int | None = integer(None, least=1)
    _: KW_ONLY
    ridge: float = real(0.0, least=0)
    threshold: Any = None
    device: str = choice(*DEVICES)

    def _fit_blocks(self, blocks: ArrayBlocks | StreamBlocks, sample_weight: Any) -> Self:
        self._sum_up(blocks)
        return self._learn(complete=True)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more samples; all `classes` are named in the first call, or are all in it."""
        if classes is None and y is not None and not hasattr(self, "classes_"):
            classes = np.unique(as_labels(as_numpy(y)))
        return super().partial_fit(X, y, classes, sample_weight)

    def transform(self, X: Any) -> Any:
        """Coordinates of samples along the axes, about the mean of all, (n, c)."""
        check_is_fitted(self)
        return positions(self, check_samples(self, X, reset=False), self.axes_, self.xbar_)

    @available_if(_is_classifier)
    def decision_function(self, X: Any) -> Any:
        """How far beyond the threshold samples lie along the first axis, (n,)."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False)
        if not self.axes_.shape[1]:
            raise DataError("FisherDiscriminant has met one class only: there is no axis yet")
        return positions(self, X, self.axes_[:, :1], self.xbar_)[:, 0] - self.threshold_

    @available_if(_is_classifier)
    def signed_distance(self, X: Any) -> Any:
        """Distance to the threshold in the space of the samples, positive beyond it, (n,)."""
        values = self.decision_function(X)
        return values / float(np.linalg.norm(self.axes_[:, 0]))

    @available_if(_is_classifier)
    def predict(self, X: Any) -> Any:
        """The second class beyond the threshold, else the first, (n,)."""
        values = self.decision_function(X)
        return like(self.classes_[as_numpy(winners(values, self._class_at_zero))], X)

    @available_if(_is_classifier)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of samples on the right side."""
        labels, weights = as_numpy(y), as_numpy(sample_weight)
        return float(accuracy_score(labels, as_numpy(self.predict(X)), sample_weight=weights))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if self.threshold is not None:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if isinstance(self.threshold, str):
            if self.threshold != "midpoint":
                must_be = "None, 'midpoint' or a number"
                raise ParameterError(name, "threshold", must_be, self.threshold)
        elif self.threshold is not None:
            require_real(name, "threshold", self.threshold)

    def _part(self, block: Block, n_classes: int) -> Moments:
        require_memory(block.X.shape[1], n_classes, "pooled")
        return moments_of(block, n_classes=n_classes, form="pooled")

    def _learn(self, *, complete: bool = False) -> Self:
        moments = without_rounding(self._sums)
        k, d = moments.mean.shape
        most = most_components(self, k, d)
        if self.threshold is not None and k > 2:
            raise DataError(
                "Only binary classification is supported by FisherDiscriminant with a threshold; got "
                f"{k} classes: use LinearDiscriminantAnalysis, or leave out the threshold to embed"
            )
        found = solve_fisher(moments, float(self.ridge))
        require_spread(found.rank, moments, complete=complete)
        advice = "set ridge above 0, or drop such features"
        warn_of_rank(self, found.rank, moments, advice, complete=complete)
        self.axes_, self.scatter_ratio_ = found.axes[:, :most], found.ratio[:most]
        self.rank_ = found.rank
        self.means_, self.xbar_ = means_of(moments), moments.grand_mean
        self.__dict__.pop("threshold_", None)
        if self.threshold == "midpoint":
            middle = self.means_.mean(axis=0) - self.xbar_
            self.threshold_ = float((middle @ self.axes_[:, :1]).sum())
        elif self.threshold is not None:
            self.threshold_ = float(self.threshold)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.axes_.shape[1])
