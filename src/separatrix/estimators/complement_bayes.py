"""Naive Bayes that counts, for each class, the samples of all other classes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from separatrix.estimators.base.parameters import choice, flag, with_parameters
from separatrix.estimators.naive_bayes import CountingBayes, require_counts
from separatrix.runtime.device import DEVICES
from separatrix.solvers.naive_bayes import Joint, complement, log_joint
from separatrix.types import Vector


@with_parameters
class ComplementNB(CountingBayes):
    """Naive Bayes on counts whose classes are very unequal in size.

    The weights of a class come from the counts of all other classes, so a rare class is judged by as
    much text as a frequent one. Often better than `MultinomialNB` on unbalanced texts. Its scores are
    not log probabilities: `predict_proba` ranks classes, and is calibrated even less; the prior has no
    effect, as in scikit-learn.

    Parameters
    ----------
    alpha
        Count that every feature begins with, or one for each feature, (d,). At least 0; 0 is an error if
        a feature occurs in one class only.
    force_alpha
        False: an alpha below 1e-10 becomes 1e-10, with a warning.
    fit_prior, class_prior
        As in `MultinomialNB`, for `class_log_prior_` only.
    norm
        Whether to divide the weights of a class by their sum, the second half of the paper's algorithm.
    device
        As in `LinearDiscriminantAnalysis`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_
        As in `MultinomialNB`.
    feature_all_
        How often all classes together have each feature, (d,).
    feature_log_prob_
        The weights, (k, d): minus the log share of each feature in all other classes.

    Examples
    --------
    >>> X = [[2, 1, 0], [1, 0, 0], [0, 1, 3]]  # how often each of three words is in each text
    >>> model = ComplementNB().fit(X, ["ham", "ham", "spam"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['ham', 'spam']

    References
    ----------
    Rennie, Shih, Teevan and Karger, Tackling the Poor Assumptions of Naive Bayes Text Classifiers, ICML
    2003.
    """

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = flag(True)
    fit_prior: bool = flag(True)
    class_prior: Any = None
    norm: bool = flag(False)
    device: str = choice(*DEVICES)

    _fit_likelihood = staticmethod(complement)

    @property
    def feature_all_(self) -> Vector:
        """How often all classes together have each feature, (d,)."""
        return np.asarray(self.feature_count_.sum(axis=0))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _learn(self) -> Self:
        super()._learn()
        if self.norm:
            weights = self._likelihood.weights
            sums = weights.sum(axis=1, keepdims=True)
            weights = weights / np.where(sums == 0.0, 1.0, sums)  # of a single feature all are 0
            self._likelihood = self._likelihood._replace(log_prob=weights, weights=weights)
            self.feature_log_prob_ = weights
        return self

    def _joint_of(self, X: Any) -> Joint:
        return log_joint(self._likelihood, np.zeros(len(self.classes_)), self._counted(X))

    def _counted(self, X: Any) -> Any:
        return require_counts(type(self).__name__, X)
